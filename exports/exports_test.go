package exports_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/exports/agentcore"
	"github.com/tracejury/tracejury/exports/csv"
	"github.com/tracejury/tracejury/exports/exporttest"
	"github.com/tracejury/tracejury/exports/foundry"
	"github.com/tracejury/tracejury/exports/jsonl"
	"github.com/tracejury/tracejury/exports/labels"
	"github.com/tracejury/tracejury/exports/otlp"
	"github.com/tracejury/tracejury/exports/outcomes"
	"github.com/tracejury/tracejury/exports/parquet"
	"github.com/tracejury/tracejury/judge"
)

func allTargets() []exports.Target {
	return []exports.Target{agentcore.Target{}, csv.Target{}, foundry.Target{}, jsonl.Target{}, labels.Target{}, otlp.Target{}, outcomes.Target{}, parquet.Target{}}
}

func TestWrite_Manifest(t *testing.T) {
	in := exporttest.Small()
	in.Run.NotAttempted = 2
	in.Run.JudgeModels = []string{"openai:http://user:hunter2@host#m"}
	in.Mask = func(s string) string { return strings.ReplaceAll(s, "hunter2", "[MASKED:password]") }
	var sink exporttest.Sink
	listed, err := exports.Write(context.Background(), in, allTargets(), &sink)
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(sink.Files["manifest.json"].Bytes()))
	dec.DisallowUnknownFields()
	var m exports.Manifest
	if err := dec.Decode(&m); err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, f := range listed {
		paths = append(paths, f.Path)
		data := sink.Files[f.Path].Bytes()
		sum := sha256.Sum256(data)
		if f.Bytes != int64(len(data)) || f.SHA256 != hex.EncodeToString(sum[:]) || f.Lines != int64(bytes.Count(data, []byte("\n"))) {
			t.Errorf("%s is listed as %+v", f.Path, f)
		}
	}
	if want := slices.Sorted(maps.Keys(sink.Files)); !slices.Equal(paths, want) {
		t.Errorf("listed %v, written %v", paths, want)
	}
	if want := slices.DeleteFunc(slices.Clone(listed), func(f exports.ManifestFile) bool { return f.Path == "manifest.json" }); !slices.Equal(m.Files, want) {
		t.Errorf("the manifest lists %v, want all but itself: %v", m.Files, want)
	}
	for _, target := range allTargets() {
		if !slices.Equal(m.Losses[target.Name()], target.Loss(in)) {
			t.Errorf("losses of %s: %v", target.Name(), m.Losses[target.Name()])
		}
	}
	if m.Sampled != 8 || m.Graded != 6 || m.Ungraded != 2 || m.NotAttempted != 2 || !m.Informational || m.RubricSHA256 != in.Rubric.SHA256() {
		t.Errorf("manifest %+v", m)
	}
	if want := []string{"openai:http://user:[MASKED:password]@host#m"}; !slices.Equal(m.JudgeModels, want) {
		t.Errorf("judge models %v", m.JudgeModels)
	}
	var r judge.Rubric
	if err := json.Unmarshal(sink.Files["criteria.json"].Bytes(), &r); err != nil || r.SHA256() != m.RubricSHA256 {
		t.Errorf("criteria.json is not the rubric: %v", err)
	}
}

// The losses that must be named, by target and by what the run holds.
func TestTarget_Loss_Names(t *testing.T) {
	for target, wants := range map[exports.Target][]string{
		agentcore.Target{}: {"weight", "gate", "safety", "pass", "explanation", "evidence_steps", "ungraded", "unclear"},
		foundry.Target{}:   {"unclear", "gate", "score", "explanation", "evidence_steps", "ungraded"},
		outcomes.Target{}:  {"unclear", "weight", "gate", "score", "explanation", "ungraded", "import", "not_applicable"},
		jsonl.Target{}:     {"explanation"},
	} {
		in := exporttest.Weighted()
		in.Run.Ungraded = 1
		for _, what := range wants {
			if !slices.ContainsFunc(target.Loss(in), func(l exports.Loss) bool { return l.What == what }) {
				t.Errorf("%s does not say that it loses %s", target.Name(), what)
			}
		}
	}
	if l := (jsonl.Target{}).Loss(exporttest.Small()); len(l) != 0 {
		t.Errorf("jsonl loses %v", l)
	}
}

// rogue writes one file of any path.
type rogue struct{ paths []string }

func (rogue) Name() string                                { return "rogue" }
func (rogue) Check(context.Context, *exports.Input) error { return nil }
func (rogue) Loss(*exports.Input) []exports.Loss          { return nil }
func (r rogue) Files(_ context.Context, _ *exports.Input, sink exports.Sink) error {
	for _, p := range r.paths {
		if err := exports.WriteFile(sink, p, nil); err != nil {
			return err
		}
	}
	return nil
}

func TestWrite_Paths(t *testing.T) {
	for _, bad := range []string{"", ".", "..", "../a", "a/..", "a/../b", "/a", "a//b", "A", "a/b/c", "a\\b", "a b", "a/", "ä", "a\n", "c:a"} {
		var sink exporttest.Sink
		if _, err := exports.Write(context.Background(), exporttest.Input(), []exports.Target{rogue{[]string{bad}}}, &sink); err == nil || len(sink.Files) != 0 {
			t.Errorf("path %q was written", bad)
		}
	}
	if _, err := exports.Write(context.Background(), exporttest.Input(), []exports.Target{rogue{[]string{"a/b.json", "a/b.json"}}}, &exporttest.Sink{}); err == nil {
		t.Error("one path was written twice")
	}
	if _, err := exports.Write(context.Background(), exporttest.Input(), []exports.Target{rogue{[]string{"criteria.json"}}}, &exporttest.Sink{}); err == nil {
		t.Error("a target took criteria.json")
	}
}

func TestWrite_Faults(t *testing.T) {
	for k := 1; ; k++ {
		calls, fired := 0, false
		sink := exporttest.Sink{Fail: func(string, string) bool { calls++; fired = fired || calls == k; return calls == k }}
		_, err := exports.Write(context.Background(), exporttest.Small(), allTargets(), &sink)
		if !fired {
			break
		}
		if !errors.Is(err, exporttest.ErrFault) {
			t.Errorf("call %d failed, the error is %v", k, err)
		}
	}
}

func TestAlign(t *testing.T) {
	r := exporttest.Rubric()
	s := exporttest.Session(1, judge.Met)
	s.UngradedReason = "timeout"
	got, err := exports.Align(&r, &s)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || got[0].Verdict != judge.Met || got[1].Verdict != judge.Ungraded || got[1].UngradedReason != "timeout" || !got[1].Safety {
		t.Errorf("got %+v", got)
	}
	if exports.Complete(&s, got) {
		t.Error("a session that lacks verdicts is complete")
	}
	whole := exporttest.Session(1, judge.Met, judge.Unclear, judge.NotApplicable)
	if got, err = exports.Align(&r, &whole); err != nil || !exports.Complete(&whole, got) {
		t.Errorf("unclear and not applicable are verdicts: %v", err)
	}
	whole.Graded = false
	if exports.Complete(&whole, got) {
		t.Error("a session that is called ungraded is complete")
	}
}

func TestCut(t *testing.T) {
	for _, test := range []struct {
		in    string
		limit int
		want  string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"äöüß", 4, "äöüß"}, {"äöüßx", 4, "äöü…"}, {"", 1, ""}, {"ab", 1, "…"},
		{"key [MASKED:password] is", 12, "key …"}, {"key [MASKED:password] is long", 24, "key [MASKED:password] i…"},
	} {
		if got := exports.Cut(test.in, test.limit); got != test.want {
			t.Errorf("cut %q at %d: %q, want %q", test.in, test.limit, got, test.want)
		}
	}
}

func TestInput_Text_Laws(t *testing.T) {
	in := exporttest.Input()
	in.Mask = func(s string) string { return strings.ReplaceAll(s, "aa", "[MASKED:test]") }
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text") + rapid.StringMatching(`a{0,40}`).Draw(t, "secrets")
		limit := rapid.IntRange(1, 50).Draw(t, "limit")
		got := in.Text(s, limit)
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > limit || strings.Contains(got, "aa") {
			t.Fatalf("%q at %d: %q", s, limit, got)
		}
		if strings.ContainsFunc(got, func(r rune) bool { return r < 0x20 && r != '\n' && r != '\t' || r == 0x7f }) {
			t.Fatalf("control characters in %q", got)
		}
		if whole := in.Text(s, 0); utf8.RuneCountInString(whole) <= limit && whole != got {
			t.Fatalf("%q fits and was changed to %q", whole, got)
		}
	})
}

func TestInput_HashID(t *testing.T) {
	in := exporttest.Input()
	in.Mask = func(string) string { return "masked" }
	for text, want := range map[string]string{strings.Repeat("0a", 16): strings.Repeat("0a", 16), strings.Repeat("0A", 16): "masked", "abc": "masked", strings.Repeat("a", 65): "masked"} {
		if got := in.HashID(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestRefusal_Error(t *testing.T) {
	err := exports.Refuse("a/b.json", "field", "%d: want %d", 1, 2)
	if err.Error() != "a/b.json: field: 1: want 2" {
		t.Error(err)
	}
	if err := exports.Refuse("", "field", "rule"); err.Error() != "field: rule" {
		t.Error(err)
	}
}
