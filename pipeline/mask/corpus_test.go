package mask_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
)

// sample is an invented credential. It is stored in parts, so that no scanner mistakes this file for a leak.
type sample struct {
	id     string
	text   string // as it stands in a text
	secret string // what must not survive; a part of text
}

func rep(s string, n int) string { return strings.Repeat(s, n/len(s)+1)[:n] }

// corpus assembles one sample of every format.
func corpus() []sample {
	up, lo, mixed, hx := "FAKEDEMO7", "fakedemo", "FAKEfake7demo", "0fa4e0d3"
	plain := func(id string, parts ...string) sample {
		t := strings.Join(parts, "")
		return sample{id, t, t}
	}
	in := func(id, before, secret, after string) sample { return sample{id, before + secret + after, secret} }
	return []sample{
		plain("aws_id", "AK", "IA", rep("FAKEDEMO", 16)),
		plain("aws_temporary_id", "AS", "IA", rep("FAKEDEMO", 16)),
		in("aws_secret", "aws_secret_access_"+"key=", rep("FAKEfake/+7", 40), ""),
		in("aws_session", "aws_session_"+"token=", "FwoGZXIv"+rep(mixed, 120), ""),
		plain("aws_doc_secret", "wJalr", "XUtnFEMI/K7MDENG/", "bPxRfiCY", "EXAMPLE", "KEY"),
		plain("github_classic", "gh", "p_", rep(up, 36)),
		plain("github_server", "gh", "s_", rep(mixed, 40)),
		plain("github_fine", "github", "_pat_", rep(up, 22), "_", rep(up, 59)),
		plain("gitlab", "gl", "pat-", rep(up, 20)),
		plain("slack_bot", "xo", "xb-", "000000000000-000000000000-", rep(up, 24)),
		plain("slack_app", "xa", "pp-1-A00FAKE000-0000000000000-", rep(lo, 64)),
		in("slack_hook", "https://hooks.slack."+"com/services/", "T00FAKE00/B00FAKE00/"+rep(up, 24), ""),
		plain("openai", "sk", "-proj-", rep(mixed, 48)),
		plain("openai_old", "s", "k-", rep(mixed, 48)),
		plain("anthropic", "sk", "-ant-", "api03-", rep(mixed, 93), "AA"),
		plain("anthropic_oauth", "sk", "-ant-", "oat01-", rep(mixed, 93), "AA"),
		plain("openrouter", "sk", "-or-", "v1-", rep(hx, 64)),
		plain("bedrock_long", "AB", "SK", rep(mixed, 130)),
		plain("bedrock_short", "bedrock-api-", "key-", rep(mixed, 120)),
		plain("google_key", "AI", "za", rep(up, 35)),
		plain("google_oauth", "ya", "29.", rep(up, 40)),
		plain("pem", "-----BEGIN RSA ", "PRIVATE KEY-----\n", rep(mixed, 64), "\n", rep(mixed, 64), "\n-----END RSA ", "PRIVATE KEY-----"),
		plain("pem_open", "-----BEGIN OPENSSH ", "PRIVATE KEY-----\n", rep(mixed, 64), "\n", rep(mixed, 64), "\n-----END OPENSSH ", "PRIVATE KEY-----"),
		in("azure_storage", "DefaultEndpointsProtocol=https;AccountName=fake;Account"+"Key=", rep(mixed, 86)+"==", ""),
		in("azure_sas", "https://fake.blob.core.windows.net/c/b?sv=2022-11-02&"+"sig=", rep(mixed, 43)+"%3D", ""),
		plain("entra", "fak", "8Q~", rep(mixed, 34)),
		plain("stripe", "sk", "_live_", rep(up, 24)),
		plain("npm", "np", "m_", rep(up, 36)),
		plain("pypi", "py", "pi-AgEIcHlwaS5vcmc", rep(up, 60)),
		plain("docker", "dc", "kr_pat_", rep(up, 27)),
		plain("huggingface", "h", "f_", rep("fakeDemo", 34)),
		plain("jwt", "ey", "J", rep(lo, 20), ".ey", "J", rep(lo, 30), ".", rep(lo, 43)),
		in("bearer", "Authoriz"+"ation: Bear"+"er ", rep(lo, 30), ""),
		in("basic", "Authorization: Ba"+"sic ", base64.StdEncoding.EncodeToString([]byte("fake:fakefake")), ""),
		in("url_password", "postgres://fakeuser:", "fakepass", "@db.example.invalid:5432/app"),
		in("url_token", "https://x-access-"+"token:", rep(up, 16), "@github.com/fake/fake.git"),
		in("assignment", "DB_PASS"+"WORD=", "fake-not-a-pass"+"word", ""),
		in("assignment_quoted", "client_sec"+"ret: '", "fake-demo-71", "'"),
		in("cookie", "Set-Coo"+"kie: ", "session="+rep(lo, 32)+"; Path=/", ""),
		plain("sendgrid", "S", "G.", rep(up, 22), ".", rep(up, 43)),
		plain("twilio", "S", "K", rep(hx, 32)),
		plain("vault", "hv", "s.", rep(up, 24)),
		plain("databricks", "da", "pi", rep(hx, 32)),
		plain("age", "AGE-SECRET-", "KEY-1", rep("QPZRY9X8GF2TVDW0", 58)),
		plain("telegram", "0000000000:", "AA", rep(mixed, 33)),
	}
}

// carrier puts a text into another form. json says that the result must stay a document.
type carrier struct {
	id   string
	wrap func(string) string
	json bool
}

func quoteJSON(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func unicodeEscaped(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		fmt.Fprintf(&b, `\u%04x`, c)
	}
	return b.String()
}

func percentAll(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		fmt.Fprintf(&b, "%%%02X", c)
	}
	return b.String()
}

func eachLine(s, prefix, end string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = prefix + lines[i]
	}
	return strings.Join(lines, end)
}

// carriers lists the forms in which a secret may travel.
func carriers() []carrier {
	return []carrier{
		{"bare", func(s string) string { return s }, false},
		{"prose", func(s string) string { return "I found this in the file: " + s + " and went on.\nThen more." }, false},
		{"own line", func(s string) string { return "first\n" + s + "\nlast" }, false},
		{"fence", func(s string) string { return "```\n" + s + "\n```\n" }, false},
		{"double quotes", func(s string) string { return `x "` + s + `".` }, false},
		{"backticks", func(s string) string { return "see `" + s + "`, please" }, false},
		{"parentheses", func(s string) string { return "(" + s + ")" }, false},
		{"json", func(s string) string { return `{"text":` + quoteJSON(s) + `,"n":1}` }, true},
		{"json in json", func(s string) string { return `{"text":` + quoteJSON(`{"text":`+quoteJSON("a "+s)+`}`) + `}` }, true},
		{"json three times", func(s string) string {
			return `[` + quoteJSON(`{"a":`+quoteJSON(`{"b":[`+quoteJSON(s)+`]}`)+`}`) + `]`
		}, true},
		{"unicode escapes", func(s string) string { return `{"text":"` + unicodeEscaped(s) + `"}` }, true},
		{"escaped in prose", func(s string) string {
			return `output: {\"text\": ` + strings.ReplaceAll(quoteJSON(s), `"`, `\"`) + `, \"n\"`
		}, false},
		{"cut json", func(s string) string { return `{"text":` + quoteJSON(s) + `,"more":"and th` }, false},
		{"cut json with unicode escapes", func(s string) string { return `{"text":"` + unicodeEscaped(s) + `","more":"and th` }, false},
		{"base64", func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }, false},
		{"base64 raw", func(s string) string { return "data: " + base64.RawStdEncoding.EncodeToString([]byte(s)) + " end" }, false},
		{"base64 url", func(s string) string { return "v=" + base64.URLEncoding.EncodeToString([]byte("x "+s)) + "." }, false},
		{"base64 url raw", func(s string) string {
			return `"` + base64.RawURLEncoding.EncodeToString([]byte("more: "+s+"\n")) + `"`
		}, false},
		{"base64 behind a path", func(s string) string { return "/blob/" + base64.RawURLEncoding.EncodeToString([]byte(s)) }, false},
		{"base64 in json", func(s string) string {
			return `{"blob":"` + base64.StdEncoding.EncodeToString([]byte("env\n"+s+"\n")) + `"}`
		}, true},
		{"hex", func(s string) string { return hex.EncodeToString([]byte(s)) }, false},
		{"percent", func(s string) string { return "https://h.invalid/?q=" + url.QueryEscape(s) }, false},
		{"percent all", func(s string) string { return percentAll(s) }, false},
		{"percent twice", func(s string) string { return "q=" + url.QueryEscape(percentAll(s)) }, false},
		{"quoted mail", func(s string) string { return "> " + eachLine(s, "> ", "\r\n") }, false},
		{"indented", func(s string) string { return eachLine(s, "    ", "\n") }, false},
		{"numbered", func(s string) string { return eachLine(s, "     7\t", "\n") }, false},
		{"crlf", func(s string) string { return eachLine(s, "", "\r\n") + "\r\n" }, false},
		{"zero width", func(s string) string { return s[:len(s)/2] + "\u200b" + s[len(s)/2:] }, false},
		{"soft hyphen", func(s string) string { return s[:len(s)-5] + "\u00ad" + s[len(s)-5:] }, false},
	}
}

// survives reports whether the secret, or a long piece of it, can be read from the text, in any of the forms above.
func survives(out, secret string) bool {
	flat := strings.NewReplacer("\u200b", "", "\u00ad", "", `\`, "", "\r", "", "> ", "", "    ", "", "     7\t", "").Replace(out)
	for _, line := range strings.FieldsFunc(secret, func(r rune) bool { return r == '\n' || r == '-' && strings.Contains(secret, "BEGIN") }) {
		if len(line) < 8 || strings.Contains(line, "PRIVATE") {
			continue
		}
		for _, form := range []string{line, url.QueryEscape(line), percentAll(line), hex.EncodeToString([]byte(line)), unicodeEscaped(line), strings.ReplaceAll(unicodeEscaped(line), `\`, "")} {
			if strings.Contains(out, form) || strings.Contains(flat, form) {
				return true
			}
		}
		for shift := range 3 {
			enc := base64.RawStdEncoding.EncodeToString([]byte(rep(" ", shift+1)[1:] + line))
			if len(enc) > 12 {
				enc = enc[4 : len(enc)-4]
				if strings.Contains(out, enc) || strings.Contains(out, strings.NewReplacer("+", "-", "/", "_").Replace(enc)) {
					return true
				}
			}
		}
	}
	return false
}

// clean lists texts that must stay as they are.
func clean() []string {
	return []string{
		"", "x", "the word " + "token in prose: the token budget is 4000", "status: 401", "HTTP 403 Forbidden",
		"commit 3f786850e387550fdab836ed7e6dc881de23001b", "sha256:" + rep("e3b0c44298fc1c14", 64), "trace_id 4bf92f3577b34da6a3ce929d0e0e4736",
		"550e8400-e29b-41d4-a716-446655440000", "pass" + "word: ${DB_PASSWORD}", "api_" + "key = os.environ['API_KEY']", "sec" + "ret: null",
		"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----", "-----BEGIN PUBLIC KEY-----", "https://example.invalid/path?x=1@2",
		"git@github.com:fake/fake.git", "data:image/png;base64,iVBORw0KGgoAAAANSUhEUg", "skip-ant-colony", "risk-averse-proposal-document-about-nothing",
		"AKIA is a prefix", "arn:aws:iam::000000000000:role/fake", "max_tokens: 4096, total_tokens=123456789", `{"max_tokens":4096,"token_count":123456,"status":403}`,
		`{"gen_ai.usage.input_tokens":1234567,"gen_ai.usage.output_tokens":"98765432"}`, "/home/demo/project/pipeline/mask/masker.go:120",
		"func (t *Token) String() string { return t.token }", "token := lexer.Next(); if token == nil {", "const tokenizer = new Tokenizer(key)",
		"for key, value := range m {", "self.password = password", "if password != confirm_password:", "password: string;", "export type Token = { token: string }",
		"login(user, password=getpass.getpass())", "input(\"Enter the password: \")", "print('token: ' + name)", "npm_config_registry", "npm_lifecycle_event",
		"pip install hf_transfer", "class=\"sk-parallel-item-container\"", "Set the API_KEY environment variable.", "the cookie is small", "document.cookie",
		base64.StdEncoding.EncodeToString([]byte("an ordinary text without anything secret in it, really")), "eyJhIjoxLCJiIjoyfQ", "name: key\nvalue: 12",
		`{"type":"object","properties":{"password":{"type":"string","description":"The password of the user"}},"required":["password"]}`,
		`{"key":"session.id","value":{"stringValue":"8d2c1f6e-1111-4222-8333-944445555666"}}`, `{"idempotency_key":"a8f5f167f44f4964e6c998dee827110c"}`,
		"postgres://localhost:5432/app", "http://localhost:8080/@scope/pkg", "ssh://git@host.invalid:22/x", "postgres://user:${PASS}@host/db",
		"token.Type == token.EOF", "use std::token::Token;", "nextPageToken=CAEQAA3f9d8c7b6a5", "The key: value pairs are sorted.", "PWD=/srv/demo/work",
		"Password: required", "secret_name: db-credentials-prod", "tokens: 123456", "cache_key: user-12345678", "100% of %d items, %s", `C:\new\table\users.txt`,
		"session_key 9f86d081884c7d659a2feaa0c55ad015", "the secret of success is patience", "authorization: required", "pwd: absWork,", "FS_ENCRYPTION_KEY = 0xc0406618", "EnvToken = \"DEMO_API_TOKEN\"", "[Default Credentials]: https://example.invalid/docs/x1", "Authorization header missing",
	}
}

func TestCorpusIsAssembled(t *testing.T) {
	for _, s := range corpus() {
		if !strings.Contains(s.text, s.secret) || len(s.secret) < 8 {
			t.Errorf("%s: secret %q is no part of %q", s.id, s.secret, s.text)
		}
	}
}
