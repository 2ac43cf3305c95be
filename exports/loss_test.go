package exports_test

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/exports/exporttest"
	"github.com/tracejury/tracejury/judge"
)

// eachSession changes every session of an input.
func eachSession(in *exports.Input, edit func(*exports.Session)) {
	var list []exports.Session
	for s := range in.Sessions(context.Background()) {
		edit(&s)
		list = append(list, s)
	}
	in.Sessions = exporttest.Sessions(list...)
}

func eachTool(in *exports.Input, edit func(*exports.Tool)) {
	list := exporttest.ToolList()
	for i := range list {
		edit(&list[i])
	}
	in.Tools = exporttest.Tools(list...)
}

// facts are what an input holds beside verdicts, each with a change of it and the words of a loss that may name it.
var facts = map[string]struct {
	edit  func(in *exports.Input)
	words string // of Loss.What
}{
	"weight":       {func(in *exports.Input) { in.Rubric.Criteria[0].Weight = 7 }, "weight"},
	"gate":         {func(in *exports.Input) { in.Rubric.Criteria[0].Gate = true }, "gate weight"},
	"question":     {func(in *exports.Input) { in.Rubric.Criteria[0].Question += " Really?" }, "weight"}, // criteria.json holds weights, gates and anchors
	"anchor":       {func(in *exports.Input) { in.Rubric.Criteria[0].Anchors["met"] += " All." }, "weight"},
	"applies_fact": {func(in *exports.Input) { in.Rubric.Criteria[1].AppliesFact = "any_user_request" }, "applies_fact weight"},
	"evidence_steps": {func(in *exports.Input) {
		eachSession(in, func(s *exports.Session) { each(s, func(c *exports.Criterion) { c.EvidenceSteps = []int32{42} }) })
	}, "evidence_steps verdict"},
	"explanation": {func(in *exports.Input) {
		eachSession(in, func(s *exports.Session) { each(s, func(c *exports.Criterion) { c.Explanation = "Another." }) })
	}, "explanation"},
	"pass":       {func(in *exports.Input) { eachSession(in, func(s *exports.Session) { s.Pass = new(bool) }) }, "pass verdict"},
	"safe":       {func(in *exports.Input) { eachSession(in, func(s *exports.Session) { s.Safe = new(bool) }) }, "safe verdict"},
	"undecided":  {func(in *exports.Input) { eachSession(in, func(s *exports.Session) { s.Undecided = true }) }, "undecided verdict"},
	"session_id": {func(in *exports.Input) { eachSession(in, func(s *exports.Session) { s.ID += "x" }) }, "session_id service"},
	"service":    {func(in *exports.Input) { eachSession(in, func(s *exports.Session) { s.Service += "x" }) }, "service"},
	"agent":      {func(in *exports.Input) { eachSession(in, func(s *exports.Session) { s.Agent += "x" }) }, "agent service session"},
	"harness":    {func(in *exports.Input) { eachSession(in, func(s *exports.Session) { s.Harness += "x" }) }, "harness service session"},
	"revision": {func(in *exports.Input) {
		eachSession(in, func(s *exports.Session) { s.Revision = strings.Repeat("9", 64) })
	}, "revision service session harness"},
	"started": {func(in *exports.Input) { eachSession(in, func(s *exports.Session) { s.StartedUnixNano += 1e9 }) }, "started service session session_id"},
	"trace": {func(in *exports.Input) {
		eachSession(in, func(s *exports.Session) { s.TraceID = strings.Repeat("9", 32) })
	}, "trace session_id session service"},
	"ungraded": {func(in *exports.Input) {
		eachSession(in, func(s *exports.Session) {
			s.UngradedReason = reason(s.UngradedReason)
			each(s, func(c *exports.Criterion) { c.UngradedReason = reason(c.UngradedReason) })
		})
	}, "ungraded verdict"},
	"task":           {func(in *exports.Input) { in.Suite.Tasks[0].Prompt += " Now." }, "tasks"},
	"task_items":     {func(in *exports.Input) { in.Suite.Tasks[0].ReferenceItems[0] += " Ever." }, "tasks"},
	"task_reference": {func(in *exports.Input) { in.Suite.Tasks[0].Reference += " Ever." }, "tasks reference"},
	"task_kind":      {func(in *exports.Input) { in.Suite.Tasks[0].Kind = "approve" }, "tasks task_kind"},
	"task_tools":     {func(in *exports.Input) { in.Suite.Tasks[0].ExpectedTools = []string{"df"} }, "tasks expected_tools"},
	"tool":           {func(in *exports.Input) { eachTool(in, func(t *exports.Tool) { t.Description += " Now." }) }, "tools"},
	"tool_schema": {func(in *exports.Input) {
		eachTool(in, func(t *exports.Tool) { t.InputSchema = `{"type":"object","properties":{"other":{}}}` })
	}, "tools input_schema"},
	"tool_grade": {func(in *exports.Input) { eachTool(in, func(t *exports.Tool) { t.Grade = "F" }) }, "tools grade"},
	"tool_verdict": {func(in *exports.Input) {
		eachTool(in, func(t *exports.Tool) {
			if len(t.Criteria) > 0 {
				t.Criteria[0].Verdict = judge.Unclear
				t.Criteria[0].Score = nil
			}
		})
	}, "tools grade"},
	"tool_server": {func(in *exports.Input) { eachTool(in, func(t *exports.Tool) { t.Server += "x" }) }, "tools server grade"},
}

func each(s *exports.Session, edit func(*exports.Criterion)) {
	for i := range s.Criteria {
		edit(&s.Criteria[i])
	}
}

func reason(old string) string {
	if old == "" {
		return ""
	}
	return "other_reason"
}

// What no file of a target shows is named among its losses: each fact is changed, and where the files stay as they were a loss says
// so. criteria.json and manifest.json are left aside: they are nobody's format.
func TestTarget_Loss_NamesWhatNoFileShows(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine: nothing for the race detector")
	}
	for _, target := range allTargets() {
		files := func(in *exports.Input) map[string][]byte {
			t.Helper()
			out := exporttest.Write(t, in, target)
			for _, name := range []string{"criteria.json", "criteria_tools.json", "manifest.json"} {
				delete(out, name)
			}
			return out
		}
		before := files(exporttest.Full())
		for name, fact := range facts {
			in := exporttest.Full()
			fact.edit(in)
			after := files(in)
			if !maps.EqualFunc(before, after, bytes.Equal) || target.Name() == "jsonl" && in.Rubric.SHA256() != exporttest.Rubric().SHA256() { // criteria.json is its rubric
				continue
			}
			if !slices.ContainsFunc(target.Loss(in), func(l exports.Loss) bool { return slices.Contains(strings.Fields(fact.words), l.What) }) {
				t.Errorf("%s: %s reaches no file, and no loss says so", target.Name(), name)
			}
		}
	}
}

// And what a loss of a whole target says to be left out is in none of its files.
func TestTarget_Loss_IsTrue(t *testing.T) {
	for _, target := range allTargets() {
		for _, l := range target.Loss(exporttest.Full()) {
			edit := map[string]string{"tasks": "task", "tools": "tool"}[l.What]
			if edit == "" || l.File != "" {
				continue
			}
			in := exporttest.Full()
			facts[edit].edit(in)
			a, b := exporttest.Write(t, exporttest.Full(), target), exporttest.Write(t, in, target)
			delete(a, "manifest.json")
			delete(b, "manifest.json")
			if !maps.EqualFunc(a, b, bytes.Equal) {
				t.Errorf("%s: %s are said to be left out, and reach a file", target.Name(), l.What)
			}
		}
	}
}
