package mask_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/pipeline/mask"
)

func maskers() map[string]*mask.Masker {
	return map[string]*mask.Masker{
		"plain": mask.New(mask.Options{}),
		"keyed": mask.New(mask.Options{Key: []byte("a key of the test")}),
		"pii":   mask.New(mask.Options{PII: true}),
	}
}

// checkMasked fails unless the secret is gone, the result is stable, and a document is still one.
func checkMasked(t *testing.T, m *mask.Masker, in, secret string, isJSON bool) {
	t.Helper()
	counts := mask.Counts{}
	out := m.String(in, counts)
	if survives(out, secret) {
		t.Errorf("secret survives\n in %q\nout %q", in, out)
	}
	if !mask.ContainsMarker(out) || len(counts) == 0 || counts[mask.Failed] > 0 {
		t.Errorf("markers %v, counts %v in %q", mask.Markers(out), counts, out)
	}
	if again := m.String(out, nil); again != out {
		t.Errorf("not idempotent\n  1 %q\n  2 %q", out, again)
	}
	if isJSON && !json.Valid([]byte(out)) {
		t.Errorf("no longer JSON: %q", out)
	}
}

func TestMasker_String_CorpusInCarriers(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine: nothing for the race detector")
	}
	for name, m := range maskers() {
		for _, c := range carriers() {
			t.Run(name+"/"+c.id, func(t *testing.T) {
				for _, s := range corpus() {
					t.Run(s.id, func(t *testing.T) { checkMasked(t, m, c.wrap(s.text), s.secret, c.json) })
				}
			})
		}
	}
}

func TestMasker_String_Clean(t *testing.T) {
	for name, m := range maskers() {
		t.Run(name, func(t *testing.T) { checkClean(t, m, clean()) })
	}
}

func checkClean(t *testing.T, m *mask.Masker, texts []string) {
	t.Helper()
	for _, s := range texts {
		quoted := quoteJSON(s)
		for _, in := range []string{s, "before " + s + " after", s + "\n" + s, `{"text":` + quoted + `}`, `{"a":` + quoteJSON(`{"b":`+quoted+`}`) + `}`} {
			if out := m.String(in, nil); out != in {
				t.Errorf("changed\n in %q\nout %q", in, out)
			}
		}
	}
}

type fixture struct {
	Samples []struct {
		ID    string
		Parts []string
		Regex string
		Keep  string
	}
	MustStay []string `json:"must_stay"`
}

// mustFixture reads the shared fixtures, which are no part of the repository.
func mustFixture(tb testing.TB) fixture {
	tb.Helper()
	root := os.Getenv("TRACEJURY_SHARED")
	if root == "" {
		tb.Skip("TRACEJURY_SHARED is not set: it names the directory with fixtures/masking.json")
	}
	b, err := os.ReadFile(filepath.Join(root, "fixtures", "masking.json"))
	if err != nil {
		tb.Fatalf("read the fixtures: %v", err)
	}
	var f fixture
	if err := json.Unmarshal(b, &f); err != nil {
		tb.Fatalf("decode the fixtures: %v", err)
	}
	return f
}

func (f fixture) samples(tb testing.TB) []sample {
	tb.Helper()
	var out []sample
	for _, s := range f.Samples {
		text := strings.Join(s.Parts, "")
		sub := regexp.MustCompile(s.Regex).FindStringSubmatch(text)
		if sub == nil {
			tb.Fatalf("%s: %q does not match its own expression", s.ID, text)
		}
		secret := sub[len(sub)-1]
		if s.ID == "slack-webhook" { // the host is kept
			secret = strings.TrimPrefix(secret, "https://hooks.slack.com/services/")
		}
		out = append(out, sample{s.ID, text, secret})
	}
	return out
}

func TestMasker_String_FixturesInCarriers(t *testing.T) {
	samples := mustFixture(t).samples(t)
	for name, m := range maskers() {
		for _, c := range carriers() {
			t.Run(name+"/"+c.id, func(t *testing.T) {
				for _, s := range samples {
					t.Run(s.id, func(t *testing.T) { checkMasked(t, m, c.wrap(s.text), s.secret, c.json) })
				}
			})
		}
	}
}

func TestMasker_String_FixturesMustStay(t *testing.T) {
	f := mustFixture(t)
	for name, m := range maskers() {
		t.Run(name, func(t *testing.T) { checkClean(t, m, f.MustStay) })
	}
}
