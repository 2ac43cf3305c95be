package parquet

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/exports/exporttest"
	"github.com/tracejury/tracejury/schema"
)

func TestTarget(t *testing.T) { exporttest.Run(t, Target{}) }

func read[T any](t *testing.T, data []byte) []T {
	t.Helper()
	rows, err := parquet.Read[T](bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// Every verdict and grade comes back, in the order of the tables, with nothing but what the losses name left out.
func TestFiles_ReadBack(t *testing.T) {
	for name, in := range map[string]*exports.Input{"small": exporttest.Small(), "weighted": exporttest.Weighted()} {
		files := exporttest.Write(t, in, Target{})
		grades, verdicts := read[schema.Grade](t, files[GradesFile]), read[schema.Verdict](t, files[VerdictsFile])
		if !slices.IsSortedFunc(grades, schema.Grade.Compare) || !slices.IsSortedFunc(verdicts, schema.Verdict.Compare) {
			t.Errorf("%s: rows are not in the order of their table", name)
		}
		byKey := map[string]schema.Verdict{}
		for _, v := range verdicts {
			byKey[v.Subject+v.Criterion] = v
		}
		explained := map[string]string{}
		if data, ok := files[ExplanationsFile]; ok != in.WithExplanations {
			t.Errorf("%s: explanations written: %v", name, ok)
		} else if ok {
			for _, e := range read[schema.Explanation](t, data) {
				explained[e.Subject+e.Criterion] = e.Explanation
			}
		}
		i, n := 0, 0
		err := exports.EachSession(t.Context(), in, func(s *exports.Session) error {
			g := grades[i]
			i++
			criteria, err := exports.Align(&in.Rubric, s)
			if err != nil {
				return err
			}
			if g.Subject != s.Key || !reflect.DeepEqual(g.Pass, s.Pass) || !reflect.DeepEqual(g.Safe, s.Safe) || g.Undecided != s.Undecided || (g.State == "graded") != exports.Complete(s, criteria) {
				t.Errorf("%s: %s came back as %+v", name, s.Key, g)
			}
			for _, c := range criteria {
				n++
				v := byKey[s.Key+c.ID]
				if v.Verdict != string(c.Verdict) || !reflect.DeepEqual(v.Score, c.Score) || !slices.Equal(v.EvidenceSteps, c.EvidenceSteps) || v.UngradedReason != c.UngradedReason || v.Label != c.Label {
					t.Errorf("%s: %+v came back as %+v", name, c, v)
				}
				if got := explained[s.Key+c.ID]; in.WithExplanations && got != c.Explanation {
					t.Errorf("%s: explanation %q", name, got)
				}
			}
			return nil
		})
		if err != nil || i != len(grades) || n != len(verdicts) {
			t.Errorf("%s: %v: %d grades, %d verdicts", name, err, len(grades), len(verdicts))
		}
	}
}

// Compressed pages hide what the suite looks for: the mask is held against what is read back.
func TestFiles_Masked(t *testing.T) {
	in := exporttest.Small()
	in.Mask = func(s string) string { return strings.ReplaceAll(s, "helpdesk", "[MASKED:name]") }
	files := exporttest.Write(t, in, Target{})
	for _, g := range read[schema.Grade](t, files[GradesFile]) {
		if g.Service != "[MASKED:name]" {
			t.Errorf("service %q", g.Service)
		}
	}
	for _, v := range read[schema.Verdict](t, files[VerdictsFile]) {
		if v.Service != "[MASKED:name]" {
			t.Errorf("service %q", v.Service)
		}
	}
}
