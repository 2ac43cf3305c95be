package mask_test

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tracejury/tracejury/pipeline/mask"
)

func TestMasker_Leaf(t *testing.T) {
	m := mask.New(mask.Options{})
	for _, tc := range []struct{ key, value, want string }{
		{"password", "short1", "[MASKED:password]"},
		{"password", "correct horse battery staple", "[MASKED:password]"},
		{"PASSWORD", "x", "[MASKED:password]"},
		{"db.passwd", "hunter2", "[MASKED:password]"},
		{"userPassword", "hunter2", "[MASKED:password]"},
		{"user[password]", "hunter2", "[MASKED:password]"},
		{"client_secret", "abc", "[MASKED:secret]"},
		{"token", "abcdef", "[MASKED:token]"},
		{"accessToken", "abcdef", "[MASKED:token]"},
		{"api_key", "abc", "[MASKED:api_key]"},
		{"x-api-key", "abc", "[MASKED:api_key]"},
		{"OPENAI_API_KEY2", "abc", "[MASKED:api_key]"},
		{"http.request.header.authorization", "Bearer abc", "Bearer [MASKED:authorization]"},
		{"Authorization", "abc", "[MASKED:authorization]"},
		{"cookie", "a=b", "[MASKED:cookie]"},
		{"Set-Cookie", "sid=1; Path=/", "[MASKED:cookie]"},
		{"connection_string", "Server=x;", "[MASKED:connection_string]"},
		{"aws.auth.account.access_key", "abcdef", "[MASKED:api_key]"},
		{"aws_secret_access_key", "abcdef", "[MASKED:aws_secret_access_key]"},
		{"credentials", `{"user":"bob","level":3}`, `{"user":"[MASKED:credential]","level":3}`},
		{"password", "", ""},
		{"password", "null", "null"},
		{"password", "true", "true"},
		{"password", "1234", "1234"},
		{"password", "12345678", "[MASKED:password]"},
		{"password", "${DB_PASSWORD}", "${DB_PASSWORD}"},
		{"password", "${DB_PASSWORD:-hunter2}", "[MASKED:password]"},
		{"password", "<your password>", "<your password>"},
		{"password", "********", "********"},
		{"api_key", "os.environ['API_KEY']", "os.environ['API_KEY']"},
		{"password", "[MASKED:password]", "[MASKED:password]"},
		{"password", "[MASKED:hunter2]", "[MASKED:password]"},
		{"password", "[MASKED:password]x", "[MASKED:password]"},
		{"pwd", "/srv/demo", "/srv/demo"},
		{"pwd", "hunter22", "[MASKED:password]"},
		{"max_tokens", "hunter22", "hunter22"},
		{"gen_ai.usage.input_tokens", "123456", "123456"},
		{"gen_ai.token.type", "input", "input"},
		{"session.id", "abcdef-abcdef", "abcdef-abcdef"},
		{"session_key", "9f86d081884c7d659a2feaa0c55ad015", "9f86d081884c7d659a2feaa0c55ad015"},
		{"public_key", "abcdef", "abcdef"},
		{"auth.env_openai_api_key_present", "maybe", "maybe"},
		{"user.email", "who@example.invalid", "who@example.invalid"},
		{"http.status_code", "401", "401"},
	} {
		t.Run(tc.key+"="+tc.value, func(t *testing.T) {
			got := m.Leaf(tc.key, tc.value, nil)
			if got != tc.want {
				t.Errorf("Leaf(%q, %q) = %q, want %q", tc.key, tc.value, got, tc.want)
			}
			if again := m.Leaf(tc.key, got, nil); again != got {
				t.Errorf("not idempotent: %q, then %q", got, again)
			}
		})
	}
}

func TestMasker_SensitiveKey(t *testing.T) {
	m := mask.New(mask.Options{})
	for key, want := range map[string]bool{
		"password": true, "secret": true, "token": true, "api_key": true, "apiKey": true, "APIKEY": true, "authorization": true, "cookie": true,
		"set-cookie": true, "private_key": true, "client_secret": true, "connection_string": true, "connectionString": true, "refresh_token": true,
		"id_token": true, "SMTP_PASS": true, "jwt": true, "x-amz-security-token": true, "sharedAccessKey": true, "secretAccessKey": true, "db-password": true,
		"max_tokens": false, "token_count": false, "tokens": false, "nextPageToken": false, "eos_token": false, "key": false, "cache_key": false,
		"session_key": false, "primary_key": false, "session.id": false, "status": false, "password_hint": false, "tokenizer": false, "author": false,
		"keyboard": false, "secretary": false, "": false, "a": false, "pass": false, "compass": false, "description": false, "public_key": false,
	} {
		if got := m.SensitiveKey(key); got != want {
			t.Errorf("SensitiveKey(%q) = %t, want %t", key, got, want)
		}
	}
}

func TestMasker_JSON(t *testing.T) {
	m := mask.New(mask.Options{})
	gh := func(c string) string { return "gh" + "p_" + rep("FAKEDEMO"+c, 36) }
	for _, tc := range []struct{ name, in, want string }{
		{"object key", `{"password": "short1"}`, `{"password": "[MASKED:password]"}`},
		{"number", `{"password": 12345678, "n": 12345678}`, `{"password": "[MASKED:password]", "n": 12345678}`},
		{"number in JSON", `{"a":"{\"password\": 12345678}"}`, `{"a":"{\"password\": \"[MASKED:password]\"}"}`},
		{"small number", `{"password": 12345, "x": null}`, `{"password": 12345, "x": null}`},
		{"list", `{"tokens":["a"],"passwords":["abc","def"]}`, `{"tokens":["a"],"passwords":["[MASKED:password]","[MASKED:password]"]}`},
		{"object below", `{"secrets":{"db":"abc","more":{"x":"y"}}}`, `{"secrets":{"db":"[MASKED:secret]","more":{"x":"[MASKED:secret]"}}}`},
		{"schema below", `{"token":{"type":"string","value":"abc"}}`, `{"token":{"type":"string","value":"[MASKED:token]"}}`},
		{"pair", `{"name":"password","value":"abc"}`, `{"name":"password","value":"[MASKED:password]"}`},
		{"pair, value first", `{"value":"abc","name":"password"}`, `{"value":"[MASKED:password]","name":"password"}`},
		{"attribute", `{"key":"api_key","value":{"stringValue":"abc"}}`, `{"key":"api_key","value":{"stringValue":"[MASKED:api_key]"}}`},
		{"arguments", `["curl","--password","abc","--token=abcdef12"]`, `["curl","--password","[MASKED:password]","--token=[MASKED:assignment]"]`},
		{"key is the secret", `{"` + gh("A") + `":1,"` + gh("B") + `":2}`, `{"[MASKED:github_token]":1,"[MASKED:github_token]#2":2}`},
		{"lines", `["-----BEGIN ` + `PRIVATE KEY-----","abc","-----END ` + `PRIVATE KEY-----","abc"]`, `["[MASKED:private_key]","[MASKED:private_key]","[MASKED:private_key]","abc"]`},
		{"spaces stay", " { \"a\" : [ 1 , \"x\\ty\" ] } \n", " { \"a\" : [ 1 , \"x\\ty\" ] } \n"},
		{"several documents", "{\"password\":\"a b\"}\n{\"password\":\"c d\"}\n", "{\"password\":\"[MASKED:password]\"}\n{\"password\":\"[MASKED:password]\"}\n"},
		{"a number that is hex of a secret", " 796132392e7070707070707070000000 ", `"[MASKED:google_oauth_token]"`},
		{"no JSON", `{"password":"hunter22"`, `{"password":"[MASKED:assignment]"`},
		{"header", `{"headers":{"Authorization":["Bearer abcdefgh"],"cookie":"a=b"}}`, `{"headers":{"Authorization":["Bearer [MASKED:authorization]"],"cookie":"[MASKED:cookie]"}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := string(m.JSON([]byte(tc.in), nil))
			if got != tc.want {
				t.Errorf("JSON(%s)\n got %s\nwant %s", tc.in, got, tc.want)
			}
			if again := string(m.JSON([]byte(got), nil)); again != got {
				t.Errorf("not idempotent: %s, then %s", got, again)
			}
			if json.Valid([]byte(tc.in)) && !json.Valid([]byte(got)) {
				t.Errorf("no longer JSON: %s", got)
			}
		})
	}
}

func TestMasker_String_Text(t *testing.T) {
	m := mask.New(mask.Options{})
	for _, tc := range []struct{ in, want string }{
		{"password: swordfish\n", "password: [MASKED:assignment]\n"},
		{"Password=abc123;Server=x", "Password=[MASKED:assignment];Server=x"},
		{"export API_KEY=abc-1(def)&more\n", "export API_KEY=[MASKED:assignment]\n"},
		{`os.environ["API_KEY"] = "abcdef"`, `os.environ["API_KEY"] = "[MASKED:assignment]"`},
		{`setenv("API_KEY", "abcdef")`, `setenv("API_KEY", "[MASKED:assignment]")`},
		{"mysql --password hunter22 -u root", "mysql --password [MASKED:assignment] -u root"},
		{"<password>hunter22</password>", "<password>[MASKED:assignment]</password>"},
		{"- name: DB_PASSWORD\n  value: hunter22\n", "- name: DB_PASSWORD\n  value: [MASKED:assignment]\n"},
		{"**Password:** hunter22", "**Password:** [MASKED:assignment]"},
		{"https://h.invalid/?code=abc123def456&x=1", "https://h.invalid/?code=[MASKED:url_password]&x=1"},
		{"https://h.invalid/?access_token=abcdef12&x=1", "https://h.invalid/?access_token=[MASKED:assignment]&x=1"},
		{"https://h.invalid/?X-Amz-Signature=" + rep("0fa4e0d3", 64), "https://h.invalid/?X-Amz-Signature=[MASKED:url_signature]"},
		{"redis://:fakepass@h:6379/0", "redis://:[MASKED:url_password]@h:6379/0"},
		{"http://u:p@ss@h.invalid/", "http://u:[MASKED:url_password]@h.invalid/"},
		{"curl -H 'Authorization: Basic ZmFrZTpmYWtl' x", "curl -H 'Authorization: Basic [MASKED:authorization]' x"},
		{"Cookie: a=bcdefg; d=e\nnext", "Cookie: [MASKED:cookie]\nnext"},
		{"id " + "AK" + "IA" + rep("FAKE", 16) + " and " + rep("FAKEfake7/+", 40) + " too", "id [MASKED:aws_access_key_id] and [MASKED:aws_secret_access_key] too"},
		{"cut " + "gh" + "p_FAKEFAKE", "cut [MASKED:github_token]"},
		{"cut " + "gh" + "p_FAKEFAKE... [truncated 500 characters]", "cut [MASKED:github_token]... [truncated 500 characters]"},
		{"bad \xff utf8", "bad \uFFFD utf8"},
	} {
		got := m.String(tc.in, nil)
		if got != tc.want {
			t.Errorf("String(%q)\n got %q\nwant %q", tc.in, got, tc.want)
		}
		if again := m.String(got, nil); again != got {
			t.Errorf("not idempotent: %q, then %q", got, again)
		}
	}
}

func TestMasker_String_CutTail(t *testing.T) {
	m := mask.New(mask.Options{})
	for _, s := range mustFixture(t).Samples {
		n, ok := strings.CutPrefix(s.Keep, "prefix")
		if !ok {
			continue
		}
		keep := 0
		if err := json.Unmarshal([]byte(n), &keep); err != nil {
			t.Fatalf("%s: keep %q: %v", s.ID, s.Keep, err)
		}
		text := "x " + strings.Join(s.Parts, "")[:keep+8]
		if out := m.String(text, nil); !mask.ContainsMarker(out) {
			t.Errorf("%s: %q stays", s.ID, text)
		}
	}
}

func TestMasker_Joined(t *testing.T) {
	m := mask.New(mask.Options{})
	for _, s := range corpus() {
		text := "before " + s.text + " after"
		at := strings.Index(text, s.secret)
		for _, cut := range []int{at + 1, at + len(s.secret)/2, at + len(s.secret) - 1} {
			parts := []string{text[:cut], text[cut:]}
			counts := mask.Counts{}
			out := m.Joined(parts, counts)
			if len(out) != 2 || survives(strings.Join(out, ""), s.secret) || len(counts) == 0 {
				t.Errorf("%s: %q became %q, counts %v", s.id, parts, out, counts)
				continue
			}
			if !mask.ContainsMarker(out[0]) || !mask.ContainsMarker(out[1]) {
				t.Errorf("%s: a part has no marker: %q", s.id, out)
			}
			if again := m.Joined(out, nil); !slices.Equal(again, out) {
				t.Errorf("%s: not idempotent: %q, then %q", s.id, out, again)
			}
		}
	}
	for _, tc := range []struct{ in, want []string }{
		{nil, nil},
		{[]string{"a", "", "b"}, []string{"a", "", "b"}},
		{[]string{`{"password":"hun`, `ter`, `2","a":1}`}, []string{`{"password":"[MASKED:password]`, `[MASKED:password]`, `[MASKED:password]","a":1}`}},
		{[]string{`{"password": 1234`, `5678}`}, []string{`{"password": "[MASKED:password]`, `[MASKED:password]"}`}},
		{[]string{"pass", "word=hunter22", " x"}, []string{"pass", "word=[MASKED:assignment]", " x"}},
		{[]string{`{"password":"a b"}`, "prose"}, []string{`{"password":"[MASKED:password]"}`, "prose"}},
	} {
		got := m.Joined(tc.in, nil)
		if !slices.Equal(got, tc.want) {
			t.Errorf("Joined(%q)\n got %q\nwant %q", tc.in, got, tc.want)
		}
		if again := m.Joined(got, nil); !slices.Equal(again, got) {
			t.Errorf("not idempotent: %q, then %q", got, again)
		}
	}
}

func TestMasker_Hash(t *testing.T) {
	secret := "gh" + "p_" + rep("FAKEDEMO7", 36)
	m := mask.New(mask.Options{Key: []byte("one")})
	out := m.String("a "+secret+" b "+percentAll(secret)+` {"x": "`+unicodeEscaped(secret)+`"}`, nil)
	marks := strings.Fields(out)
	if marks[1] != marks[3] || !strings.Contains(marks[5], marks[1]) || len(mask.Markers(out)) != 3 {
		t.Errorf("the same secret has different markers: %q", out)
	}
	if other := mask.New(mask.Options{Key: []byte("two")}).String(secret, nil); other == marks[1] {
		t.Errorf("another key gives the same marker %q", other)
	}
	if got := mask.New(mask.Options{}).String(secret, nil); got != "[MASKED:github_token]" {
		t.Errorf("without a key: %q", got)
	}
}

func TestMasker_FailsClosed(t *testing.T) {
	m := mask.New(mask.Options{MaxValueBytes: 32})
	long := strings.Repeat("harmless ", 9)
	c := mask.Counts{}
	if got := m.String(long, c); got != "[MASKED:error]" {
		t.Errorf("String = %q", got)
	}
	if got := m.JSON([]byte(`"`+long+`"`), c); string(got) != `"[MASKED:error]"` {
		t.Errorf("JSON = %q", got)
	}
	if got := m.Joined([]string{long, "x"}, c); !slices.Equal(got, []string{"[MASKED:error]", "[MASKED:error]"}) {
		t.Errorf("Joined = %q", got)
	}
	if c[mask.Failed] != 3 {
		t.Errorf("counts %v", c)
	}
}

func TestMasker_Version(t *testing.T) {
	seen := map[string]bool{}
	for _, o := range []mask.Options{{}, {Key: []byte("k")}, {PII: true}, {MaxDecodeDepth: 2}, {MaxValueBytes: 100}} {
		v := mask.New(o).Version()
		if seen[v] || v != mask.New(o).Version() {
			t.Errorf("version %q is not stable or not distinct", v)
		}
		seen[v] = true
	}
	if mask.New(mask.Options{Key: []byte("a")}).Version() != mask.New(mask.Options{Key: []byte("b")}).Version() {
		t.Error("the version depends on the bytes of the key")
	}
}

func TestMasker_PII(t *testing.T) {
	m := mask.New(mask.Options{PII: true})
	for in, want := range map[string]string{
		"mail to who.ever+x@mail.example.com.":                         "mail to [MASKED:email].",
		"call +49 30 901820 or +14155550123":                           "call [MASKED:phone] or [MASKED:phone]",
		"IBAN DE89 3704 0044 0532 0130 00 ok":                          "IBAN [MASKED:iban] ok",
		"IBAN DE88370400440532013000 wrong":                            "IBAN DE88370400440532013000 wrong",
		"card 4111 1111 1111 1111, not 4111 1111 1111 1112":            "card [MASKED:payment_card], not 4111 1111 1111 1112",
		"from 8.8.8.8:53 and 192.168.1.1, 2001:4860:4860::8888":        "from [MASKED:ip_address]:53 and 192.168.1.1, [MASKED:ip_address]",
		"ssn 123-45-6789, date 2026-11-30":                             "ssn [MASKED:us_ssn], date 2026-11-30",
		"version 1.26.8 at 12:30:45, 1764526521000000000":              "version 1.26.8 at 12:30:45, 1764526521000000000",
		"git@github.com:fake/fake.git":                                 "git@github.com:fake/fake.git",
		`{"user.account_uuid":"550e8400-e29b-41d4-a716-446655440000"}`: `{"user.account_uuid":"[MASKED:identity]"}`,
		`{"key":"organization.id","value":{"stringValue":"550e8400"}}`: `{"key":"organization.id","value":{"stringValue":"[MASKED:identity]"}}`,
	} {
		got := m.String(in, nil)
		if got != want {
			t.Errorf("String(%q)\n got %q\nwant %q", in, got, want)
		}
		if again := m.String(got, nil); again != got {
			t.Errorf("not idempotent: %q, then %q", got, again)
		}
		if plain := mask.New(mask.Options{}).String(in, nil); plain != in {
			t.Errorf("without PII %q became %q", in, plain)
		}
	}
	if got := m.Leaf("user.id", "someone", nil); got != "[MASKED:identity]" {
		t.Errorf("Leaf(user.id) = %q", got)
	}
}

func TestMarkers(t *testing.T) {
	for in, want := range map[string][]mask.Kind{
		"":                          nil,
		"[MASKED:jwt]":              {mask.JWT},
		"a [MASKED:jwt:0123abcd] b": {mask.JWT},
		"[MASKED:jwt:0123abc]":      nil,
		"[MASKED:unknown]":          nil,
		"[MASKED:[MASKED:email]":    {mask.Email},
		"[MASKED:jwt][MASKED:error": {mask.JWT},
	} {
		if got := mask.Markers(in); !slices.Equal(got, want) {
			t.Errorf("Markers(%q) = %q, want %q", in, got, want)
		}
		if got := mask.ContainsMarker(in); got != (len(want) > 0) {
			t.Errorf("ContainsMarker(%q) = %t", in, got)
		}
	}
}

func TestMasker_Concurrent(t *testing.T) {
	m := mask.New(mask.Options{Key: []byte("k")})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for _, s := range corpus() {
				if out := m.String(s.text, mask.Counts{}); survives(out, s.secret) {
					t.Errorf("%s survives", s.id)
				}
			}
		})
	}
	wg.Wait()
}

func TestMasker_String_CleanAllocatesNothing(t *testing.T) {
	m := mask.New(mask.Options{})
	text := "The token budget is 4000; see https://example.invalid/a/b and /srv/demo/project/internal/handlers for the key."
	if n := testing.AllocsPerRun(100, func() { m.Leaf("gen_ai.response", text, nil) }); n > 0 {
		t.Errorf("%v allocations for a clean text", n)
	}
}
