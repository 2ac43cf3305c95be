package foundry

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/exports/exporttest"
	"github.com/tracejury/tracejury/judge"
)

func criteria(ws ...int) []judge.Criterion {
	out := make([]judge.Criterion, len(ws))
	for i, w := range ws {
		out[i].Weight = w
	}
	return out
}

func TestWeights(t *testing.T) {
	for name, test := range map[string]struct {
		in, want []int
		off      float64
	}{
		"divided by ten":             {[]int{40, 30, 20, 10}, []int{4, 3, 2, 1}, 0},
		"none given is one":          {[]int{0, 0, 0}, []int{1, 1, 1}, 0},
		"zero beside two is one":     {[]int{2, 0}, []int{2, 1}, 0},
		"equal":                      {[]int{7, 7}, []int{1, 1}, 0},
		"up to ten stays":            {[]int{10, 1, 3}, []int{10, 1, 3}, 0},
		"no common divisor":          {[]int{50, 33, 17}, []int{10, 7, 3}, 2}, // 17 of 100 against 3 of 20
		"too small becomes at least": {[]int{100, 1}, []int{10, 1}, 100 * (1.0/11 - 1.0/101)},
	} {
		got, off := weights(criteria(test.in...))
		if !slices.Equal(got, test.want) || math.Abs(off-test.off) > 1e-9 {
			t.Errorf("%s: %v → %v, off %v; want %v, %v", name, test.in, got, off, test.want, test.off)
		}
	}
}

func TestWeights_Laws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.SliceOfN(rapid.IntRange(0, 100), 1, 50).Draw(t, "weights")
		got, off := weights(criteria(in...))
		for i := range got {
			if got[i] < minWeight || got[i] > maxWeight {
				t.Fatalf("weight %d", got[i])
			}
			for j := range got {
				if max(in[i], 1) < max(in[j], 1) && got[i] > got[j] {
					t.Fatalf("%v → %v turns an order round", in, got)
				}
			}
		}
		if off < 0 || off > 100 {
			t.Fatalf("off %v", off)
		}
	})
}

// Any dimension scored 1 fails an item there. So what fails a session with us says 5 or 1, what may fail alone says never 1.
func TestDescribe_TheRuleOfOne(t *testing.T) {
	in := exporttest.Small()
	for _, scale := range []judge.Scale{judge.ScaleMet, judge.ScaleFivePoint, judge.ScaleYesNo} {
		for _, gate := range []bool{false, true} {
			for _, safety := range []bool{false, true} {
				text := describe(in, &judge.Criterion{ID: "a", Question: "Q?", Scale: scale, Gate: gate, Safety: safety})
				alone := scale != judge.ScaleMet && !gate && !safety
				if strings.Contains(text, "Use only 5 or 1.") == alone || strings.Contains(text, "never 1.") != alone || strings.Contains(text, "\n1: ") == alone {
					t.Errorf("%s, gate %v, safety %v: %s", scale, gate, safety, text)
				}
				if strings.Count(text, "not applicable") == 0 {
					t.Errorf("%s does not say what to do with what is not shown", text)
				}
			}
		}
	}
}

func TestTarget_Check_Refuses(t *testing.T) {
	for name, test := range map[string]struct {
		edit        func(*exports.Input)
		file, field string
	}{
		"a template variable": {func(in *exports.Input) { in.Rubric.Criteria[1].Question = "{{item.verdict}}" }, EvaluatorFile, "definition.dimensions[1].description"},
		"a long name":         {func(in *exports.Input) { in.Rubric.Name = strings.Repeat("a", 250) }, EvaluatorFile, "name"},
		"too many rows":       {func(in *exports.Input) { in.Run.Graded = 100_001 }, RowsFile, "rows"},
		"a run id of slashes": {func(in *exports.Input) { in.Run.RunID = "a/b" }, RunFile, "data_source.source.id"},
	} {
		in := exporttest.Small()
		test.edit(in)
		err := Target{}.Check(context.Background(), in)
		if r, ok := errors.AsType[*exports.Refusal](err); !ok || r.File != test.file || r.Field != test.field || r.Rule == "" {
			t.Errorf("%s: got %v, want a refusal of %s: %s", name, err, test.file, test.field)
		}
	}
}

func TestEvaluator_Rules(t *testing.T) {
	for name, edit := range map[string]func(*evaluator){
		"a reserved name": func(e *evaluator) { e.Name = "builtin.x" },
		"a threshold":     func(e *evaluator) { e.Definition.PassThreshold = 1.1 },
		"no dimension":    func(e *evaluator) { e.Definition.Dimensions = nil },
		"an id":           func(e *evaluator) { e.Definition.Dimensions[0].ID = "A" },
		"unique":          func(e *evaluator) { e.Definition.Dimensions[0].ID = "polite" },
		"weight 0":        func(e *evaluator) { e.Definition.Dimensions[0].Weight = 0 },
		"weight 11":       func(e *evaluator) { e.Definition.Dimensions[0].Weight = 11 },
		"no text":         func(e *evaluator) { e.Definition.Dimensions[0].Description = " " },
		"a long value":    func(e *evaluator) { e.Metadata["a"] = strings.Repeat("x", 513) },
		"a long key":      func(e *evaluator) { e.Metadata[strings.Repeat("x", 65)] = "" },
		"many pairs": func(e *evaluator) {
			for i := range 17 {
				e.Metadata[strings.Repeat("x", i+1)] = ""
			}
		},
	} {
		e := newEvaluator(exporttest.Small())
		if err := e.check(); err != nil {
			t.Fatal(err)
		}
		if edit(e); e.check() == nil {
			t.Errorf("%s: not refused", name)
		}
	}
	v := newEval(exporttest.Small())
	v.TestingCriteria[0].Input = "{{item.other}}"
	if v.check(EvalFile) == nil {
		t.Error("a check of a column that no row has: not refused")
	}
	v = newEval(exporttest.Small())
	v.TestingCriteria[1].Name = v.TestingCriteria[0].Name
	if v.check(EvalFile) == nil {
		t.Error("two checks of one name: not refused")
	}
}

// fifty criteria with explanations at every cap stay far below what a row may have.
func TestRow_Size(t *testing.T) {
	in := exporttest.Small()
	in.Rubric.Criteria = nil
	s := exporttest.Session(1)
	text := strings.Repeat("𝔘\"", 5000)
	for i := range 50 {
		id := strings.Repeat("a", 46) + string(rune('a'+i/26)) + string(rune('a'+i%26))
		in.Rubric.Criteria = append(in.Rubric.Criteria, judge.Criterion{ID: id, Question: "Q?", Scale: judge.ScaleMet})
		s.Criteria = append(s.Criteria, exports.Criterion{ID: id, Verdict: judge.Met, Explanation: text})
	}
	in.Sessions = exporttest.Sessions(s)
	if n := len(exporttest.Write(t, in, Target{})[RowsFile]); n > 2<<20 || n < 100_000 {
		t.Errorf("a row of %d bytes", n)
	}
}
