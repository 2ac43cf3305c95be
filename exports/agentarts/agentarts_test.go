package agentarts

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/exports/exporttest"
	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator/skillpackage"
)

func packages(list ...exports.Package) *exports.Packages {
	rubric := judge.Rubric{Name: "skill_package", Version: 1, Title: "Skill package", Criteria: []judge.Criterion{
		{ID: "completeness", Question: "Is it complete?", Scale: judge.ScaleFivePoint}, {ID: "relevance", Question: "Does it fit?", Scale: judge.ScaleFivePoint}}}
	return &exports.Packages{Rubric: rubric, All: func(context.Context) iter.Seq2[exports.Package, error] {
		return func(yield func(exports.Package, error) bool) {
			for _, p := range list {
				if !yield(p, nil) {
					return
				}
			}
		}
	}}
}

// input is a run over two skill packages, scored on two criteria.
func input() *exports.Input {
	in := exporttest.Input()
	in.Run.Kind, in.Run.Evaluator = "skill_package", "skillpackage"
	in.Rubric, in.Sessions = judge.Rubric{}, nil
	in.Packages = packages(
		exports.Package{Name: "restart-service", Manifest: `{"name":"restart-service"}`, Body: "1. Ask.\n2. Restart.", Task: "Restart nginx.", Criteria: []exports.Criterion{
			{ID: "completeness", Verdict: judge.Scored, Score: new(0.75), Label: "4 - Good", Explanation: "=Steps are there; errors are not."},
			{ID: "relevance", Verdict: judge.Scored, Score: new(1.0), Label: "5 - Full"}}},
		exports.Package{Name: "free-disk", Body: "Delete.", Criteria: []exports.Criterion{{ID: "completeness", Verdict: judge.Ungraded, UngradedReason: "timeout"},
			{ID: "relevance", Verdict: judge.Unclear, Label: "Unclear"}}})
	return in
}

func TestTarget_Golden(t *testing.T) { exporttest.Golden(t, "packages", input(), Target{}) }

func TestCheck_RefusesSessions(t *testing.T) {
	err := Target{}.Check(t.Context(), exporttest.Small())
	var r *exports.Refusal
	if !errors.As(err, &r) || !strings.Contains(r.Rule, "graded no skill package") {
		t.Errorf("got %v", err)
	}
	in := input()
	in.Packages = packages()
	if err := (Target{}).Check(t.Context(), in); err == nil {
		t.Error("an empty set is not refused")
	}
	in.Packages = packages(exports.Package{Name: "x"})
	if err := (Target{}).Check(t.Context(), in); err == nil {
		t.Error("a package without a body is not refused")
	}
}

// Both files come back through the reader of evaluation sets as what was graded.
func TestFiles_ReadBack(t *testing.T) {
	files := exporttest.Write(t, input(), Target{})
	lines, err := skillpackage.ReadJSONL(bytes.NewReader(files[LinesFile]))
	if err != nil {
		t.Fatal(err)
	}
	sheet, err := skillpackage.ReadCSV(bytes.NewReader(files[SheetFile]))
	if err != nil {
		t.Fatal(err)
	}
	for name, rows := range map[string][]skillpackage.Row{"jsonl": lines, "csv": sheet} {
		if len(rows) != 4 || rows[0].Package.Name != "restart-service" || rows[0].Package.Body != "1. Ask.\n2. Restart." || *rows[0].Score != 0.75 || rows[1].Extra["criterion"] != "relevance" {
			t.Errorf("%s: %+v", name, rows)
		}
		if rows[2].Score != nil || rows[2].Reason != "Not graded: timeout" || rows[3].Score != nil || rows[3].Extra["verdict"] != "unclear" {
			t.Errorf("%s: %+v %+v", name, rows[2], rows[3])
		}
	}
	records, err := csv.NewReader(bytes.NewReader(files[SheetFile])).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		for _, cell := range r {
			if cell != "" && strings.ContainsRune("=+-@", rune(cell[0])) {
				t.Errorf("cell %q runs", cell)
			}
		}
	}
}

func TestFiles_Masked(t *testing.T) {
	in := input()
	in.Mask = func(s string) string { return strings.ReplaceAll(s, "nginx", "[MASKED:name]") }
	for name, data := range exporttest.Write(t, in, Target{}) {
		if bytes.Contains(data, []byte("nginx")) {
			t.Errorf("%s is not masked", name)
		}
	}
}
