package exports_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"

	pq "github.com/parquet-go/parquet-go"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/exports/exporttest"
	"github.com/tracejury/tracejury/exports/jsonl"
	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/schema"
)

func subjects(list ...exports.Session) func(context.Context) iter.Seq2[exports.Session, error] {
	return func(context.Context) iter.Seq2[exports.Session, error] {
		return func(yield func(exports.Session, error) bool) {
			for _, s := range list {
				if !yield(s, nil) {
					return
				}
			}
		}
	}
}

// parts are what two further evaluators found: one about skills, with two verdicts of one criterion, and one about a tool, which is
// of no session.
func parts() []exports.Part {
	one := func(name string) judge.Rubric {
		return judge.Rubric{Name: name, Version: 1, Title: name, Criteria: []judge.Criterion{{ID: name, Question: "Was it right?", Scale: judge.ScaleYesNo}}}
	}
	base := exporttest.Session(1, judge.Met, judge.Met)
	base.Subject = &exports.Subject{ID: base.Key + "/log-triage", Kind: "skill", Skill: "log-triage", SpanID: "00f067aa0ba902b7", Score: new(0.5)}
	base.Criteria = []exports.Criterion{{ID: "skill_selection", Item: "b", Verdict: judge.Scored, Label: "Yes", Score: new(1.0)}, {ID: "skill_selection", Item: "a", Verdict: judge.Scored, Label: "No", Score: new(0.0)}}
	tool := exports.Session{Service: "shop", Graded: true, Subject: &exports.Subject{ID: "shop/refund@1", Kind: "tool", Server: "shop", Tool: "=refund", Grade: "B"},
		Criteria: []exports.Criterion{{ID: "tool_purpose", Verdict: judge.Scored, Label: "Good", Score: new(0.75)}}}
	run := func(evaluator, kind string) schema.Run {
		return schema.Run{RunID: "2026-11-30-0123456789ab", Evaluator: evaluator, Kind: kind, State: "finished", Graded: 1, RubricSHA256: strings.Repeat("ab", 32)}
	}
	return []exports.Part{{Run: run("skill_selection", "skill"), Rubric: one("skill_selection"), Subjects: subjects(base)},
		{Run: run("My Tools", "tool"), Rubric: one("tool_purpose"), Subjects: subjects(tool)},
		{Run: run("my-tools", "tool"), Rubric: one("tool_purpose"), Subjects: subjects(tool)}}
}

// What further evaluators found goes out where there is room for it, in files that carry their names, and is a named loss elsewhere.
func TestParts(t *testing.T) {
	in := exporttest.Full()
	in.Parts = parts()
	whole, without := exporttest.Write(t, in, allTargets()...), exporttest.Write(t, exporttest.Full(), allTargets()...)
	for name, data := range without {
		if name != "manifest.json" && !bytes.Equal(whole[name], data) {
			t.Errorf("%s changes with the parts", name)
		}
	}
	for _, word := range []string{"skill_selection", "my_tools", "my_tools_2"} {
		for _, name := range []string{"criteria_%.json", "jsonl/graded_%.jsonl", "csv/graded_%.csv", "csv/verdicts_%.csv", "parquet/grades_%.parquet", "parquet/verdicts_%.parquet", "otlp/evaluation_results_%.jsonl"} {
			if name = strings.ReplaceAll(name, "%", word); len(whole[name]) == 0 {
				t.Errorf("no %s", name)
			}
		}
	}
	for _, target := range allTargets() {
		held := slices.Contains([]string{"jsonl", "csv", "parquet", "otlp"}, target.Name())
		if named := slices.ContainsFunc(target.Loss(in), func(l exports.Loss) bool { return l.What == "evaluators" }); named == held {
			t.Errorf("%s: holds the parts %t, names them as lost %t", target.Name(), held, named)
		}
	}
	var back []byte
	for rec, err := range jsonl.Read(bytes.NewReader(whole["jsonl/graded_skill_selection.jsonl"])) {
		if err != nil {
			t.Fatal(err)
		}
		s := rec.Session()
		if s.Subject == nil || s.Subject.Skill != "log-triage" || *s.Subject.Score != 0.5 || len(s.Criteria) != 2 || s.Criteria[0].Item != "a" {
			t.Errorf("read back: %+v %+v", s, s.Subject)
		}
		if back, err = rec.Append(back); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(back, whole["jsonl/graded_skill_selection.jsonl"]) {
		t.Errorf("read and written again:\n%s", back)
	}
	sheet, err := csv.NewReader(bytes.NewReader(whole["csv/verdicts_skill_selection.csv"])).ReadAll()
	if err != nil || len(sheet) != 3 || sheet[1][2] != "log-triage" || !slices.Contains(sheet[1], "a") {
		t.Errorf("%v %q", err, sheet)
	}
	if sheet, err = csv.NewReader(bytes.NewReader(whole["csv/graded_my_tools.csv"])).ReadAll(); err != nil || sheet[1][4] != "'=refund" || !slices.Contains(sheet[1], "B") {
		t.Errorf("%v %q", err, sheet)
	}
	verdicts, err := pq.Read[schema.Verdict](bytes.NewReader(whole["parquet/verdicts_skill_selection.parquet"]), int64(len(whole["parquet/verdicts_skill_selection.parquet"])))
	if err != nil || len(verdicts) != 2 || verdicts[0].Skill != "log-triage" || verdicts[0].SpanID != "00f067aa0ba902b7" || verdicts[0].Item != "a" || verdicts[0].SubjectKind != "skill" {
		t.Errorf("%v %+v", err, verdicts)
	}
	if otlp := string(whole["otlp/evaluation_results_my_tools.jsonl"]); !strings.Contains(otlp, `"gen_ai.tool.name"`) || strings.Contains(otlp, `"session.id"`) {
		t.Errorf("a tool is of no session: %s", otlp)
	}
}

// A run without sessions gives what it has; a target with no room for that says so before anything is written.
func TestWithoutSessions(t *testing.T) {
	in := exporttest.Input()
	in.Rubric, in.Sessions, in.Parts = judge.Rubric{}, nil, parts()
	for _, target := range allTargets() {
		err := target.Check(t.Context(), in)
		var refused *exports.Refusal
		if want := slices.Contains([]string{"jsonl", "csv", "parquet", "otlp"}, target.Name()); (err == nil) != want || !want && !errors.As(err, &refused) {
			t.Errorf("%s: %v", target.Name(), err)
		}
	}
	in.Tools = exporttest.Tools(exporttest.ToolList()...)
	for _, target := range allTargets() {
		if slices.Contains([]string{"labels", "agentarts"}, target.Name()) {
			continue
		}
		files := exporttest.Write(t, in, target)
		for name := range files {
			if strings.Contains(name, "graded_sessions") || strings.HasSuffix(name, "evaluator.json") || strings.HasSuffix(name, "rubric.md") || name == "criteria.json" {
				t.Errorf("%s wrote %s without sessions", target.Name(), name)
			}
		}
		for _, l := range exports.Losses(target, in, manifestFiles(files)) {
			if _, ok := files[l.File]; l.File != "" && !ok {
				t.Errorf("%s: a loss of %s, which was not written", target.Name(), l.File)
			}
		}
	}
	for name, broken := range map[string]func(*exports.Input){
		"a part's rubric": func(in *exports.Input) { in.Parts[0].Rubric.Version = 0 }, "no subjects": func(in *exports.Input) { in.Parts[0].Subjects = nil },
	} {
		bad := exporttest.Full()
		bad.Parts = parts()
		broken(bad)
		if err := bad.Check(); err == nil {
			t.Errorf("%s: not refused", name)
		}
	}
}

func manifestFiles(files map[string][]byte) (out []exports.ManifestFile) {
	for name := range files {
		out = append(out, exports.ManifestFile{Path: name})
	}
	return out
}

// A rubric and tasks go out without a run.
func TestRubricAlone(t *testing.T) {
	full := exporttest.Full()
	in := &exports.Input{Rubric: full.Rubric, Suite: full.Suite, AsOf: full.AsOf, Mask: full.Mask}
	for _, target := range allTargets() {
		err := target.Check(t.Context(), in)
		if want := slices.Contains([]string{"agentcore", "foundry", "outcomes", "jsonl"}, target.Name()); (err == nil) != want {
			t.Errorf("%s: %v", target.Name(), err)
		}
		if err != nil {
			continue
		}
		for name, data := range exporttest.Write(t, in, target) {
			if strings.Contains(name, "graded") || len(data) == 0 {
				t.Errorf("%s wrote %s of %d bytes", target.Name(), name, len(data))
			}
		}
	}
}
