package otlpgen

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

const committed = "../../../testdata/archive"

func mustDemo(tb testing.TB) ([]Object, *Truth) {
	tb.Helper()
	objects, truth, err := Demo()
	if err != nil {
		tb.Fatal(err)
	}
	return objects, truth
}

func TestDemoIsTheCommittedArchive(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "archive")
	if err := WriteDemo(dir); err != nil {
		t.Fatal(err)
	}
	files := func(root string) map[string][]byte {
		m := map[string][]byte{}
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b, err := os.ReadFile(path)
			m[strings.TrimPrefix(path, root)] = b
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	got, want := files(dir), files(filepath.FromSlash(committed))
	for key, b := range got {
		if !bytes.Equal(b, want[key]) {
			t.Errorf("%s differs from the committed object; run go run ./pipeline/otlp/otlpgen/cmd/otlpgen --demo testdata/archive", key)
		}
		delete(want, key)
	}
	for key := range want {
		t.Errorf("%s is committed and not generated", key)
	}
	a, err := os.ReadFile(dir + "-truth.json")
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(committed + "-truth.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a, b) {
		t.Error("archive-truth.json differs from the committed one")
	}
}

func TestWriteDemoRefusesStaleObjects(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "archive")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "old.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := WriteDemo(dir); err == nil || !strings.Contains(err.Error(), "old.json") {
		t.Fatalf("got %v, want an error that names old.json", err)
	}
}

func TestDemoIsSmallAndVaried(t *testing.T) {
	objects, truth := mustDemo(t)
	size, formats := 0, map[string]bool{}
	for _, o := range objects {
		size += len(o.Body)
		formats[o.info.Format] = true
	}
	if size > 1_500_000 {
		t.Errorf("archive has %d bytes, want at most 1.5 MB", size)
	}
	for _, f := range []string{"json", "json.gz", "json.zst", "binpb", "binpb.gz", "binpb.zst", "jsonl.gz", "binpb, framed", "text", "empty"} {
		if !formats[f] {
			t.Errorf("no object of format %s", f)
		}
	}
	if truth.Records.Duplicates == 0 || truth.Records.Unreadable != 2 || truth.Records.Empty != 1 {
		t.Errorf("records: got %+v", truth.Records)
	}
}

func TestSessions(t *testing.T) {
	_, truth := mustDemo(t)
	asOf, err := time.Parse(time.RFC3339, AsOf)
	if err != nil {
		t.Fatal(err)
	}
	type count struct{ finished, inWindow, good int }
	services := map[string]count{}
	harnesses := map[string]int{}
	keys := map[string]bool{}
	for _, s := range truth.Sessions {
		dt, err := time.Parse("2006-01-02", s.Dt)
		if err != nil {
			t.Fatal(err)
		}
		c := services[s.Service]
		if s.Finished {
			c.finished++
			harnesses[s.Service+" "+string(s.Harness)]++
		}
		if dt.After(asOf.AddDate(0, 0, -7)) && s.Finished {
			c.inWindow++
		}
		e := s.Expect
		if all := []Verdict{e.Goal, e.Evidence, e.Tools, e.Scope, e.Denials, e.Untrusted}; !slices.Contains(all, NotMet) {
			c.good++
		}
		services[s.Service] = c
		if s.SessionKey != "" && keys[s.SessionKey] {
			t.Errorf("%s: session key twice", s.Name)
		}
		keys[s.SessionKey] = true
		if len(s.Traces) != s.Turns {
			t.Errorf("%s: %d traces for %d turns", s.Name, len(s.Traces), s.Turns)
		}
		if s.Content == "missing" {
			continue
		}
		if s.Facts.Denial != (e.Denials != NotApplicable) {
			t.Errorf("%s: denial %v, but denials_respected is %s", s.Name, s.Facts.Denial, e.Denials)
		}
		if s.Facts.ToolCall != (e.Tools != NotApplicable) {
			t.Errorf("%s: tool call %v, but tool_use_sound is %s", s.Name, s.Facts.ToolCall, e.Tools)
		}
	}
	if got := services["helpdesk-agent"]; got != (count{20, 18, 18}) {
		t.Errorf("helpdesk-agent: got %+v", got)
	}
	if got := services["ops-agent"]; got.finished != 20 || got.inWindow != 18 || got.good > 9 {
		t.Errorf("ops-agent: got %+v", got)
	}
	for name, n := range harnesses {
		if n != 5 {
			t.Errorf("%s: %d sessions, want 5: service and harness must not be confounded", name, n)
		}
	}
}

func TestScriptsAreWellFormed(t *testing.T) {
	names := map[string]bool{}
	for _, s := range slices.Concat(helpdeskSessions(), opsSessions()) {
		if names[s.Name] || s.Start.IsZero() {
			t.Errorf("%s: name used twice, or no start", s.Name)
		}
		names[s.Name] = true
		for _, turn := range s.Turns {
			if last := turn.Steps[len(turn.Steps)-1]; len(last.Calls) > 0 && !s.Unfinished {
				t.Errorf("%s: the last step still calls a tool", s.Name)
			}
			for _, step := range turn.Steps {
				for _, c := range step.Calls {
					if c.Kind == KindSkill && c.Outcome == OK && s.Team.skill(c.Name).Body == "" {
						t.Errorf("%s: loads %s, which is not in the catalogue", s.Name, c.Name)
					}
					if c.Kind == KindMCP && !slices.ContainsFunc(s.Team.Tools, func(d ToolDef) bool { return d.Name == c.Name }) {
						t.Errorf("%s: calls %s, which is not defined", s.Name, c.Name)
					}
					if c.Input != "" && !json.Valid([]byte(c.Input)) {
						t.Errorf("%s: arguments are not JSON: %s", s.Name, c.Input)
					}
				}
			}
		}
	}
}

func TestContentOffLeaksNothing(t *testing.T) {
	for _, s := range helpdeskSessions() {
		if !s.ContentOff {
			continue
		}
		for _, c := range render(s) {
			doc := string(AppendJSON(AppendJSON(nil, Logs, c.groups), Traces, c.groups))
			for _, secret := range []string{"price", "Checking", "shipping-delay", "curl"} {
				if strings.Contains(doc, secret) {
					t.Errorf("%s holds %q", s.Name, secret)
				}
			}
		}
	}
}

func TestCredentialOnlyInTheData(t *testing.T) {
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	key := regexp.MustCompile(`AKIA[A-Z0-9]{16}`)
	for _, f := range sources {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if key.Match(b) {
			t.Errorf("%s holds a key", f)
		}
	}
	for _, s := range opsSessions() {
		if slices.Contains(s.Tags, "leaked_credential") {
			doc := string(AppendJSON(nil, Traces, render(s)[0].groups))
			if strings.Count(doc, exampleKeyID()) < 3 || !strings.Contains(doc, exampleSecret()) {
				t.Error("the leaked key is not in a result and an answer")
			}
		}
	}
}
