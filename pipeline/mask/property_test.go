package mask_test

import (
	"encoding/json"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/tracejury/tracejury/pipeline/mask"
)

// fragments are pieces of which texts are drawn: what matchers begin with, end with and trip over.
func fragments() []string {
	list := []string{
		" ", "\n", "\r\n", "\t", `\`, `\\`, `"`, `\"`, `'`, "`", "=", ":", ": ", ":=", "=>", "{", "}", "[", "]", "(", ")", "<", ">", ",", ";", "&", "?", "@", "/", "%", "%25", "%41", `\u0041`,
		`\u200b`, `\n`, "\u200b", "\u00ad", "\x00", "\xff", "é", "日本", "😀", "-", "--", "-----", "...", "…", "$", "${", "x", "A", "0", "passw" + "ord", "PASSW" + "ORD=", "tok" + "en", "api_" + "key", "sec" + "ret: ",
		"Authoriz" + "ation: ", "Bearer ", "Cookie: a=", "://", "http://u:", "sk-", "sk-a" + "nt-", "gh" + "p_", "AK" + "IA", "eyJ", "-----BEGIN ", "PRIVATE KEY-----", "-----END ", "[MASKED:", "[MASKED:jwt]", "[MASKED:token:0123abcd]",
		"MASKED", "]", "null", "true", "12345678", `{"pass` + `word":`, `{"name":"token","value":`, `"type":"string"`, "?sig=", "&code=", "who@example.invalid", "+4930901820", "4111 1111 1111 1111", "8.8.8.8", "hunter22",
	}
	for _, s := range corpus() {
		list = append(list, s.text, s.secret[:len(s.secret)/2])
	}
	return list
}

func drawText(t *rapid.T) string {
	parts := rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(fragments()), rapid.StringN(0, 12, 40)), 0, 14).Draw(t, "fragments")
	text := strings.Join(parts, "")
	switch rapid.IntRange(0, 4).Draw(t, "form") {
	case 0:
		return quoteJSON(text)
	case 1:
		return `{"a":` + quoteJSON(`{"b":[`+quoteJSON(text)+`,1]}`) + `,` + quoteJSON(text) + `:2}`
	}
	return text
}

// checkLaws checks what holds for every text.
func checkLaws(t interface{ Fatalf(string, ...any) }, m *mask.Masker, in string) {
	out := m.String(in, nil)
	if !utf8.ValidString(out) {
		t.Fatalf("invalid UTF-8: %q became %q", in, out)
	}
	if again := m.String(out, nil); again != out {
		t.Fatalf("not idempotent:\n in %q\n  1 %q\n  2 %q", in, out, again)
	}
	doc := m.JSON([]byte(in), nil)
	if json.Valid([]byte(in)) {
		if !json.Valid(doc) {
			t.Fatalf("no longer JSON: %s became %s", in, doc)
		}
		checkShape(t, in, string(doc))
	}
	leaf := m.Leaf("password", in, nil)
	if again := m.Leaf("password", leaf, nil); again != leaf {
		t.Fatalf("Leaf is not idempotent:\n in %q\n  1 %q\n  2 %q", in, leaf, again)
	}
}

// checkShape compares two documents token by token: strings may differ, and a number may have become a string.
func checkShape(t interface{ Fatalf(string, ...any) }, in, out string) {
	a, b := json.NewDecoder(strings.NewReader(in)), json.NewDecoder(strings.NewReader(out))
	for {
		x, errX := a.Token()
		y, errY := b.Token()
		if errX != nil || errY != nil {
			if (errX == nil) != (errY == nil) {
				t.Fatalf("one document ends early: %s became %s", in, out)
			}
			return
		}
		_, sx := x.(string)
		sy, isText := y.(string)
		_, num := x.(float64)
		if sx && isText || num && isText && mask.ContainsMarker(sy) {
			continue
		}
		if x != y {
			t.Fatalf("%v became %v in %s", x, y, out)
		}
	}
}

func TestMasker_Laws(t *testing.T) {
	for name, m := range maskers() {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { checkLaws(t, m, drawText(t)) })
		})
	}
}

func TestMasker_NoSampleSurvives(t *testing.T) {
	m := mask.New(mask.Options{})
	samples, wraps := corpus(), carriers()
	words := []string{"the", "file", "says", "(see", "above)", "a=b", "x: y,", "\n", "{}", "token", "key", "100%", "1.", "- item", "…", "日本"}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.SampledFrom(samples).Draw(t, "sample")
		c := rapid.SampledFrom(wraps).Draw(t, "carrier")
		before := strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 8).Draw(t, "before"), " ")
		after := strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 8).Draw(t, "after"), " ")
		in := before + "\n" + c.wrap(s.text) + "\n" + after
		out := m.String(in, nil)
		if survives(out, s.secret) {
			t.Fatalf("%s survives\n in %q\nout %q", s.id, in, out)
		}
	})
}

func TestMasker_Joined_Laws(t *testing.T) {
	m := mask.New(mask.Options{})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.ToValidUTF8(drawText(t), "?")
		var parts []string
		for text != "" {
			n := rapid.IntRange(1, len(text)).Draw(t, "cut")
			for n < len(text) && !utf8.RuneStart(text[n]) {
				n++
			}
			parts = append(parts, text[:n])
			text = text[n:]
		}
		out := m.Joined(parts, nil)
		if len(out) != len(parts) {
			t.Fatalf("%d parts became %d", len(parts), len(out))
		}
		for _, p := range out {
			if !utf8.ValidString(p) {
				t.Fatalf("invalid UTF-8 in %q", out)
			}
		}
		if again := m.Joined(out, nil); !slices.Equal(again, out) {
			t.Fatalf("not idempotent:\n in %q\n  1 %q\n  2 %q", parts, out, again)
		}
	})
}

// processorTime is what this process has used of the processors: others on the machine do not count.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestMasker_Linear feeds texts that make a careless matcher quadratic.
func TestMasker_Linear(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine: nothing for the race detector")
	}
	m := mask.New(mask.Options{PII: true})
	for _, unit := range []string{
		"://", "http://a:", "eyJ", "eyJa.", "sk-", "sk-a.", "pass" + "word=", "pass" + "word='", "tok" + "en: \"", "-----BEGIN ", "-----BEGIN PRIVATE KEY---", "\\", "%25", "[", "{\"a\":", "[MASKED:", "@", "a@", "a.",
		"{\"value\":", "{\"pass" + "word\":{\"type\":", "\"", "0", "A", "AAAA", "cookie: ", "authoriz" + "ation: ", "&code=", "gh" + "p_", "1:AA", "1Q~", "+1 ", "1-", "\u200b", "$", "curl ", "curl -u ", "kind: secret\n", "|key|", "|pass" + "word|a\n", "<key", "<pass" + "word>", "machine ", "machine login ", ":*:", "api key ", "&amp;", "&#", "sentry=", "sentry ", "AAAAAAAAAAAAAAAAAAAA1\n", "AAAAAAAAAAAAAAAA\\\n", "pass" + "word: |\n ", "Private-Lines: 1\n", "_mmk", ".acc_", "s.AAAAAAAAAAAAAAAAAAAAAAAA", "{\"text\":\"a", "[\"AKIA\",", "BEGIN END", "----BEGIN A", "\\\"", "\\u0041",
	} {
		small, large := strings.Repeat(unit, 1<<10), strings.Repeat(unit, 1<<14)
		run := func(s string) time.Duration {
			best := time.Hour
			for range 2 {
				start := processorTime()
				m.String(s, nil)
				best = min(best, processorTime()-start)
			}
			return best
		}
		a, b := run(small), run(large)
		t.Logf("%10q %6d ns/byte", unit, b.Nanoseconds()/int64(len(large)))
		if b > 100*time.Millisecond && b > 64*a {
			t.Errorf("%q: 16 times the text took %v instead of %v", unit, b, a)
		}
	}
}
