package mask_test

import (
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tracejury/tracejury/pipeline/mask"
)

// publicPart is what of a secret everybody knows: the prefix that tells what it is, the header of a token, the name of a cookie, the
// number of a bot.
var publicPart = regexp.MustCompile(`^(A[KS]IA|gh[ps]_|github_pat_|glpat-|xoxb-|xapp-1-|sk-proj-|sk-ant-(api03|oat01)-|sk-or-v1-|sk-|ABSK|bedrock-api-key-|AIza|ya29\.|sk_live_|npm_|pypi-AgE|` +
	`dckr_pat_|hf_|eyJ[a-z]+\.?|SG\.|SK|hvs\.|dapi|AGE-SECRET-KEY-1|[0-9]+:AA|fake?8Q~|session=|-----BEGIN (RSA |OPENSSH )?PRIVATE KEY-----)`)

var (
	base64Run = regexp.MustCompile(`[A-Za-z0-9+/_-]{20,}`) // shorter ones are not opened: they cannot be told from words
	hexRun    = regexp.MustCompile(`[0-9a-f]{32,}`)
	escapes   = regexp.MustCompile(`\\u[0-9a-f]{4}`)
	percents  = regexp.MustCompile(`%[0-9A-F]{2}`)
)

// readings are a text and what it says once a layer of encoding is undone.
func readings(out string) []string {
	list := []string{out, strings.NewReplacer("\u200b", "", "\u00ad", "", `\`, "", "\r", "", "> ", "", "    ", "", "     7\t", "").Replace(out)}
	if strings.Contains(out, `\u`) {
		list = append(list, escapes.ReplaceAllStringFunc(out, func(e string) string {
			n, _ := strconv.ParseUint(e[2:], 16, 16)
			return string(rune(n))
		}))
	}
	for plain := out; strings.Contains(plain, "%") && len(list) < 5; {
		plain = percents.ReplaceAllStringFunc(plain, func(p string) string {
			s, _ := url.PathUnescape(p)
			return s
		})
		list = append(list, plain)
	}
	for _, run := range base64Run.FindAllString(out, -1) {
		run = strings.NewReplacer("-", "+", "_", "/").Replace(run)
		for phase := range 4 {
			b, _ := base64.RawStdEncoding.DecodeString(run[phase:][:len(run[phase:])/4*4])
			list = append(list, string(b))
		}
	}
	for _, run := range hexRun.FindAllString(out, -1) {
		b, _ := hex.DecodeString(run[:len(run)/2*2])
		list = append(list, string(b))
	}
	return list
}

// visible is the longest piece of the secret, beyond its public part, that can be read from a text.
func visible(out, secret string) string {
	public := publicPart.FindString(secret)
	secret, _, _ = strings.Cut(secret[len(public):], "-----END")
	best := ""
	for _, text := range readings(out) {
		for n := len(public); n >= min(4, len(public)) && n > 0; n-- {
			if strings.Contains(text, public[:n]) {
				text = strings.ReplaceAll(text, public[:n], "\x00")
				break
			}
		}
		for i := range secret {
			for n := len(best) + 1; i+n <= len(secret) && strings.Contains(text, secret[i:i+n]); n++ {
				best = secret[i : i+n]
			}
		}
	}
	return best
}

// A text that was truncated anywhere inside of a secret shows less than eight characters of it: what is left of a token after its prefix,
// of a value after its name. Nothing can be done where the secret has neither: the bare secret key of the AWS documentation is known by its end.
func TestMasker_String_CutAnywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine: nothing for the race detector")
	}
	m := mask.New(mask.Options{})
	samples := corpus()
	if os.Getenv("TRACEJURY_SHARED") != "" {
		samples = append(samples, mustFixture(t).samples(t)...)
	}
	for _, c := range carriers() {
		t.Run(c.id, func(t *testing.T) {
			t.Parallel()
			for _, s := range samples {
				if s.id == "aws_doc_secret" {
					continue
				}
				whole := c.wrap(s.text)
				for cut := 0; cut < len(whole); cut++ {
					if cut > 120 {
						cut += 4 // far behind the head, all are alike
					}
					if cut >= len(whole) || !utf8.RuneStart(whole[cut]) {
						continue
					}
					signs := []string{"", "…", "... [truncated]"}
					for _, sign := range signs[:1+2*(cut%5/4)] {
						in := whole[:cut] + sign
						out := m.String(in, nil)
						if v := visible(out, s.secret); len(v) >= 8 {
							t.Errorf("%s: %q can be read\n in %q\nout %q", s.id, v, in, out)
							return
						}
					}
				}
			}
		})
	}
}

// The same of a credential that nothing but its name gives away.
func TestMasker_String_CutValue(t *testing.T) {
	m := mask.New(mask.Options{})
	const secret = "fakeDemo" + "fakeDemofakeXq"
	for _, before := range []string{
		"Authoriz" + "ation: ", "> Authoriz" + "ation: ", `{"headers":{"Authoriz` + `ation":"`, `{\"Authoriz` + `ation\": \"`, "Proxy-Authoriz" + "ation: Basic ", "authoriz" + "ation: tok" + "en ", "DB_PASS" + "WORD=", "pass" + "word: ",
		`pass` + `word = "my `, "pass" + "word: 'a ", "--pass" + "word ", "api_" + "key: ", "tok" + "en = ", "client_sec" + "ret: \"", "aws_session_" + "token=", "https://bob:", "postgres://bob:", "//registry.npmjs.org/:_authTok" + "en=",
		"Cookie: sid=", "?code=1", "&sig=",
	} {
		for n := 8; n <= len(secret); n++ {
			for _, sign := range []string{"", "…", "...", "... [truncated 12 characters]"} {
				out := m.String("x\n"+before+secret[:n]+sign, nil)
				if v := visible(out, secret); len(v) >= 8 {
					t.Errorf("%q can be read in %q", v, out)
				}
				if again := m.String(out, nil); again != out {
					t.Errorf("not idempotent: %q became %q", out, again)
				}
			}
		}
	}
	checkClean(t, m, []string{"SyntaxError: Unexpected token: function", "authorization: required", "http://localhost:8080", "docker://alpine:3.19.1-slim", "http://[2001:db8::1234:5678]", "the bearer certificate"})
}
