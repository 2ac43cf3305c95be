package mask_test

import (
	"encoding/base64"
	"fmt"
	"html"
	"net/url"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/pipeline/mask"
)

func wrapAt(s string, width int, sep string) string {
	var lines []string
	for len(s) > width {
		lines = append(lines, s[:width])
		s = s[width:]
	}
	return strings.Join(append(lines, s), sep)
}

func entities(s, form string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		fmt.Fprintf(&b, form, c)
	}
	return b.String()
}

func cutInHalf(s string) (string, string) { return quoteJSON(s[:len(s)/2]), quoteJSON(s[len(s)/2:]) }

// manyCarriers lists further forms in which a secret may travel. except names the samples that a form takes apart so that
// nothing is left that tells what they are.
func manyCarriers() []struct {
	id, except string
	wrap       func(string) string
} {
	type c = struct {
		id, except string
		wrap       func(string) string
	}
	return []c{
		{"emphasis", "", func(s string) string { return "_" + s + "_" }},
		{"strong", "", func(s string) string { return "**" + s + "**" }},
		{"element", "", func(s string) string { return "<config><item>" + html.EscapeString(s) + "</item></config>" }},
		{"attribute", "", func(s string) string { return `<add key="x" value="` + html.EscapeString(s) + `"/>` }},
		{"cdata", "", func(s string) string { return "<v><![CDATA[" + s + "]]></v>" }},
		{"block scalar", "", func(s string) string {
			return "data:\n  value: |\n    " + strings.ReplaceAll(s, "\n", "\n    ") + "\nother: x\n"
		}},
		{"folded scalar", "bearer cookie", func(s string) string {
			return "data:\n  value: >-\n    " + wrapAt(strings.ReplaceAll(s, "\n", " "), 40, "\n    ") + "\nother: x\n"
		}},
		{"table cell", "", func(s string) string { return "| name | value |\n|---|---|\n| x | " + s + " | y |\n" }},
		{"table cell as code", "", func(s string) string { return "| x | `" + s + "` |\n" }},
		{"decimal entities", "", func(s string) string { return entities(s, "&#%d;") }},
		{"hex entities", "", func(s string) string { return entities(s, "&#x%x;") }},
		{"escaped entities", "", func(s string) string { return entities(s, "&amp;#%d;") }},
		{"query", "", func(s string) string { return "a=" + url.QueryEscape(s) + "&b=1" }},
		{"base64 of 76 columns", "", func(s string) string {
			return wrapAt(base64.StdEncoding.EncodeToString([]byte("some text before it: "+s+" and after it")), 76, "\n")
		}},
		{"base64 of 64 columns, CRLF", "", func(s string) string { return wrapAt(base64.StdEncoding.EncodeToString([]byte(s)), 64, "\r\n") }},
		{"base64 twice", "", func(s string) string {
			return base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString([]byte("x " + s))))
		}},
		{"64 columns", "bearer cookie pem pem_open", func(s string) string { return wrapAt(s, 64, "\n") }},
		{"40 columns, quoted", "bearer cookie pem pem_open", func(s string) string { return wrapAt(s, 40, "\n> ") }},
		{"continued lines", "pem pem_open", func(s string) string { return wrapAt(s, 20, "\\\n") }},
		{"five documents", "", func(s string) string {
			for range 5 {
				s = `{"c":` + quoteJSON(s) + `}`
			}
			return s
		}},
		{"documents in prose", "", func(s string) string {
			for range 3 {
				s = `see {"c":` + quoteJSON(s) + `} there`
			}
			return s
		}},
		{"two parts", "", func(s string) string {
			a, b := cutInHalf(s)
			return `[{"role":"user","parts":[{"type":"text","content":` + a + `},{"type":"text","content":` + b + `}]}]`
		}},
		{"two blocks", "", func(s string) string {
			a, b := cutInHalf(s)
			return `{"role":"assistant","content":[{"type":"text","text":` + a + `},{"type":"text","text":` + b + `}]}`
		}},
		{"many deltas", "", func(s string) string {
			var b strings.Builder
			for i := 0; i < len(s); i += 3 {
				b.WriteString(`{"choices":[{"delta":{"content":` + quoteJSON(s[i:min(len(s), i+3)]) + `}}]}` + "\n")
			}
			return b.String()
		}},
		{"two parts in a document", "", func(s string) string {
			a, b := cutInHalf(s)
			return `{"body":` + quoteJSON(`{"content":[{"text":`+a+`},{"text":`+b+`}]}`) + `}`
		}},
		{"UTF-16", "", func(s string) string { return entities(s, "%c\x00") }},
	}
}

// readable reports whether a piece of the secret can be read from the text once its markup and its line breaks are undone.
func readable(out, secret string) bool {
	const piece = 9
	strip := strings.NewReplacer("\n", "", "\r", "", "    ", "", "> ", "", `\`, "", "\x00", "", `"}}]}`, "", `{"choices":[{"delta":{"content":"`, "").Replace
	secret = strip(strings.TrimLeft(secret, "-"))
	forms := []string{out, html.UnescapeString(html.UnescapeString(out))}
	if u, err := url.QueryUnescape(out); err == nil {
		forms = append(forms, u)
	}
	for _, f := range forms {
		f = strip(f)
		for i := 0; i+piece <= len(secret); i++ {
			if p := secret[i : i+piece]; strings.Contains(f, p) && !strings.Contains("BEGIN RSA PRIVATE KEY----- BEGIN OPENSSH PRIVATE KEY-----", p) {
				return true
			}
		}
	}
	return false
}

func TestMasker_String_CorpusInManyCarriers(t *testing.T) {
	m := mask.New(mask.Options{})
	for _, c := range manyCarriers() {
		t.Run(c.id, func(t *testing.T) {
			for _, s := range corpus() {
				if strings.Contains(" "+c.except+" ", " "+s.id+" ") {
					continue
				}
				out := m.String(c.wrap(s.text), nil)
				if readable(out, s.secret) || !mask.ContainsMarker(out) {
					t.Errorf("%s can be read\n in %q\nout %q", s.id, c.wrap(s.text), out)
				}
				if again := m.String(out, nil); again != out {
					t.Errorf("%s: not idempotent\n  1 %q\n  2 %q", s.id, out, again)
				}
			}
		})
	}
}

// Passwords that only their place gives away: in commands, in files of other programs, in markup.
func TestMasker_String_Places(t *testing.T) {
	m := mask.New(mask.Options{})
	const secret = "hun" + "ter22aa"
	for _, text := range []string{
		"curl -u admin:% https://api.example.invalid/x", "curl --user admin:% https://h", "curl --user=admin:% https://h", "curl -uadmin:% https://h",
		"curl -u 'admin:%' https://h", "curl -sS -X POST -u \"ci-bot:%\" https://h", "curl -sSu ci-bot:% https://h", "curl https://h \\\n  -u ci:% \\\n  -d x",
		"wget --user=bob --password=% http://h", "wget --http-password % http://h", "mysql -u root -p% db", "mysqldump -uroot -p'%' db", "PGPASSWORD=% psql",
		"sshpass -p % ssh a@b", "sshpass -p '%' ssh", "sshpass -p% ssh", "docker login -u bob -p % reg.invalid", "redis-cli -h x -a % ping",
		"smbclient -U bob%% //h/x", "ldapsearch -x -w %", "zip -P % x.zip y", "7z x -p% f.7z", "http -a bob:% GET h", "keytool -storepass %", "openssl rsa -passin pass:%",
		"machine api.example.invalid login bob password %", "machine h\n  login bob\n  password %\n", "machine h\n  password %\n  login bob", "default login anonymous password %",
		"db.example.invalid:5432:app:bob:%", "localhost:5432:*:postgres:%\n", "*:*:*:bob:%",
		"PuTTY-User-Key-File-2: ssh-rsa\nEncryption: none\nPublic-Lines: 1\nAAAAB3Nza\nPrivate-Lines: 2\nFAKEdemo\n%\nPrivate-MAC: 0fa4e0",
		"<password>%</password>", "<password type=\"plain\">%</password>", "<server><username>x</username><password>\n %\n</password></server>", "<add key=\"ApiKey\" value=\"%\"/>",
		"<user name=\"x\" password=\"%\"/>", "<property name=\"password\" value=\"%\" />", "<property name=\"connection.password\">%</property>", "<ns:password xml:space=\"preserve\">%</ns:password>",
		"<entry key='db.password'>%</entry>", "<setting name=\"ApiKey\" serializeAs=\"String\"><value>%</value></setting>", "<key>Password</key>\n<string>%</string>", "<password><![CDATA[%]]></password>",
		"password: |\n  %\nother: 1", "password: >-\n    %\n", "db:\n  password: |-\n    % is long\n  user: bob", "api_key: |2\n  %\n", "- token: |\n    %\n",
		"| password | % |", "| user | password |\n|---|---|\n| bob | % |", "| **Password** | `%` |", "|api key|%|", "| user | API key |\n|:--|--:|\n| a | `${KEY}` |\n| bob | `%` |\n",
		"password&#61;%", "password&#x3D;%", "&lt;password&gt;%&lt;/password&gt;", "password=&quot;%&quot;", "{&quot;password&quot;:&quot;%&quot;}", "&amp;quot;password&amp;quot;: &amp;quot;%&amp;quot;",
		"password%3D%", "user=x&password=%&y=1", "password%3A%20%", "API key: %", "api key = '%'",
		"IDENTIFIED BY '%'", "identified by password '%'", "CREATE USER bob WITH PASSWORD '%'", "ALTER ROLE bob PASSWORD '%'", "//registry.npmjs.org/:_authToken=%", "_auth=%",
		"kind: Secret\ndata:\n  anything: %\n", "apiVersion: v1\ndata:\n  x: %\nkind: Secret\nmetadata:\n  name: y\n",
		`{"apiVersion":"v1","data":{"x":"%"},"kind":"Secret"}`, `{"kind":"Secret","stringData":{"x":"%"}}`,
		`{"auths":{"r.invalid":{"auth":"%"}}}`, `["curl","-u","bob:%","https://h"]`, `{"name":"password","default":"%"}`,
	} {
		in := strings.Replace(text, "%", secret, 1)
		switch {
		case strings.Contains(text, "%3D"), strings.Contains(text, "%3A"), strings.Contains(text, "%%"):
			in = text[:strings.LastIndexByte(text, '%')] + secret + text[strings.LastIndexByte(text, '%')+1:]
		}
		out := m.String(in, nil)
		if strings.Contains(out, secret) || !strings.Contains(in, secret) {
			t.Errorf("%q\n became %q", in, out)
		}
		if again := m.String(out, nil); again != out {
			t.Errorf("not idempotent\n  1 %q\n  2 %q", out, again)
		}
		for _, kept := range []string{"https://h", "Private-MAC: 0fa4e0", "user: bob", "metadata:\n  name: y", "`${KEY}`"} {
			if strings.Contains(in, kept) && !strings.Contains(out, kept) {
				t.Errorf("%q is lost: %q", kept, out)
			}
		}
	}
}

// What looks like one of these places and holds no secret stays as it is.
func TestMasker_String_NoPlaces(t *testing.T) {
	checkClean(t, mask.New(mask.Options{}), []string{
		"curl -u \"$USER:$PASS\" https://h", "curl -u user:password https://h", "curl -sSL https://h -o out.txt", "mysql -u root -p db", "docker login -u bob -p $TOKEN", "sshpass -p \"$PW\" ssh a@b",
		"the machine learning login page", "machine h login bob", "redis-cli -h x ping", "login -p", "7z x -p f.7z", "zip -r x.zip y",
		"http://localhost:5432/app", "localhost:5432: connection refused", "a:*:b", "| password | string | required |", "| name | password |\n|---|---|\n| bob | yes |\n",
		"| token | The token of the user |", "cat token | grep x | wc -l", "type T = token | null | undefined", "<password>${env.PASS}</password>", "<input name=\"password\" type=\"text\"/>",
		"<label for=\"password\">Password</label>", "password: |\nother: 1", "a && b; c &amp; d", "&nbsp;&lt;div&gt;", "identified by the user", "PASSWORD 'x'", "kind: SecretStore\nspec:\n  data:\n    x: abcdefgh",
		"kind: Secret\nmetadata:\n  name: abcdefgh", "twitter: the sentry release of 2026-11-30 is out", "linear = nn.Linear(128, 256)", "sentry_release=frontend-2026.11.30",
		"cmd/internal/pipeline/mask/masker.go\ncmd/internal/pipeline/mask/scanner.go\n", "authentication_middleware\nsession_store_backend2\n",
		"discord_channel: general", `{"kind":"Deployment","data":{"x":"abcdefgh1"}}`, `[{"content":"the password is here:"},{"content":"Enter the value."}]`,
		`{"messages":[{"role":"user","content":"What is a token?"},{"role":"assistant","content":"A token is a word."}]}`, `["ls","-la","sk-"]`,
	})
}
