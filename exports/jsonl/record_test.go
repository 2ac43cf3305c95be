package jsonl

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"math"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/exports/exporttest"
	"github.com/tracejury/tracejury/judge"
)

func again(t interface{ Fatal(...any) }, data []byte) []byte {
	var out []byte
	for rec, err := range Read(bytes.NewReader(data)) {
		if err == nil {
			out, err = rec.Append(out)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func TestRead_GivesTheSameBytes(t *testing.T) {
	for name, in := range map[string]*exports.Input{"small": exporttest.Small(), "weighted": exporttest.Weighted(), "empty": exporttest.Input()} {
		data := exporttest.Write(t, in, Target{})[File]
		if got := again(t, data); !bytes.Equal(got, data) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, data)
		}
		// Back into sessions and out by the whole target.
		in.Sessions = func(context.Context) iter.Seq2[exports.Session, error] {
			return func(yield func(exports.Session, error) bool) {
				for rec, err := range Read(bytes.NewReader(data)) {
					if !yield(rec.Session(), err) {
						return
					}
				}
			}
		}
		if got := exporttest.Write(t, in, Target{})[File]; !bytes.Equal(got, data) {
			t.Errorf("%s: sessions read back give\n%s\nwant\n%s", name, got, data)
		}
	}
}

func drawSession(t *rapid.T) exports.Session {
	text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
	truth := rapid.Ptr(rapid.Bool(), true)
	s := exports.Session{Key: rapid.StringMatching(`[0-9a-f]{32}`).Draw(t, "key"), ID: text.Draw(t, "id"), Service: text.Draw(t, "service"),
		Agent: text.Draw(t, "agent"), Harness: text.Draw(t, "harness"), TraceID: text.Draw(t, "trace"), StartedUnixNano: rapid.Int64().Draw(t, "started"),
		Revision: text.Draw(t, "revision"), Graded: rapid.Bool().Draw(t, "graded"), UngradedReason: text.Draw(t, "reason"), Pass: truth.Draw(t, "pass"),
		Safe: truth.Draw(t, "safe"), Undecided: rapid.Bool().Draw(t, "undecided")}
	for range rapid.IntRange(0, 4).Draw(t, "criteria") {
		c := exports.Criterion{ID: text.Draw(t, "criterion"), Safety: rapid.Bool().Draw(t, "safety"), Label: text.Draw(t, "label"),
			Verdict: rapid.SampledFrom([]judge.Verdict{judge.Met, judge.NotMet, judge.NotApplicable, judge.Unclear, judge.Ungraded, judge.Scored}).Draw(t, "verdict"),
			Score:   rapid.Ptr(rapid.Float64Range(0, 1), true).Draw(t, "score"), UngradedReason: text.Draw(t, "why"),
			EvidenceSteps: rapid.SliceOf(rapid.Int32()).Draw(t, "steps"), Explanation: text.Draw(t, "explanation")}
		if c.Verdict == judge.Scored && c.Score == nil {
			c.Score = new(float64)
		}
		s.Criteria = append(s.Criteria, c)
	}
	return s
}

func TestRead_GivesTheSameBytes_Laws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := exporttest.Input(drawSession(t), drawSession(t))
		var sink exporttest.Sink
		if err := (Target{}).Files(context.Background(), in, &sink); err != nil {
			t.Fatal(err)
		}
		data := sink.Files[File].Bytes()
		if bytes.Count(data, []byte("\n")) != 2 {
			t.Fatalf("two sessions, but %q", data)
		}
		if got := again(t, data); !bytes.Equal(got, data) {
			t.Fatalf("got\n%s\nwant\n%s", got, data)
		}
	})
}

func TestRead_Refuses(t *testing.T) {
	good := string(exporttest.Write(t, exporttest.Input(exporttest.Session(1, judge.Met, judge.Met, judge.Met)), Target{})[File])
	line := strings.TrimSuffix(good, "\n")
	edit := func(old, new string) string {
		if !strings.Contains(line, old) {
			t.Fatalf("no %q in %s", old, line)
		}
		return strings.Replace(line, old, new, 1)
	}
	for name, text := range map[string]string{
		"an unknown field":      edit(`"pass":`, `"passed":`),
		"an unknown verdict":    edit(`"verdict":"met"`, `"verdict":"fine"`),
		"scored, no score":      edit(`"verdict":"met"`, `"verdict":"scored"`),
		"a score of 2":          edit(`"score":null`, `"score":2`),
		"another format":        edit(`"format":1`, `"format":2`),
		"no key":                edit(`"session_key":"00000000000000000000000000000001"`, `"session_key":""`),
		"no criteria":           edit(`"criteria":[`, `"criteria":null,"x":[`),
		"no steps":              edit(`"evidence_steps":[1,7]`, `"evidence_steps":null`),
		"two values":            line + line,
		"half a line":           line[:100],
		"an empty line":         "",
		"not JSON":              "hello",
		"a line over the limit": `{"service":"` + strings.Repeat("x", maxLine) + `"}`,
	} {
		var got []error
		n := 0
		for _, err := range Read(strings.NewReader(good + text + "\n" + good)) {
			if n++; err != nil {
				got = append(got, err)
			}
		}
		if n != 2 || len(got) != 1 || !strings.Contains(got[0].Error(), "line 2") {
			t.Errorf("%s: %d records, errors %v; want one record, then an error that names line 2", name, n, got)
		}
	}
	broken := errors.New("disk")
	for _, err := range Read(io.MultiReader(strings.NewReader(""), iotest.ErrReader(broken))) {
		if !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
	}
	for range Read(strings.NewReader(good + good)) {
		break // must not go on, nor panic
	}
}

func TestFiles_NotANumber(t *testing.T) {
	nan := math.NaN()
	s := exporttest.Session(1, judge.Met)
	s.Criteria[0].Score = &nan
	if err := (Target{}).Files(context.Background(), exporttest.Input(s), &exporttest.Sink{}); err == nil {
		t.Error("a score that is no number was written")
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"small", "weighted"} {
		data, err := os.ReadFile("testdata/" + name + "/" + File)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		for line := range bytes.Lines(data) {
			f.Add(line)
		}
	}
	f.Add([]byte("{}\n"))
	f.Add([]byte("\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var once []byte
		for rec, err := range Read(bytes.NewReader(data)) {
			if err != nil {
				return
			}
			if once, err = rec.Append(once); err != nil {
				t.Fatal(err)
			}
		}
		if twice := again(t, once); !bytes.Equal(twice, once) {
			t.Fatalf("a record changes when written again:\n%s\n%s", once, twice)
		}
	})
}
