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

// partFacts are what a part holds, each with a change of it and the words of a loss that may name it.
var partFacts = map[string]struct {
	edit  func(*exports.Session)
	words string // of Loss.What
}{
	"id":          {func(s *exports.Session) { s.Subject.ID += "x" }, ""},
	"kind":        {func(s *exports.Session) { s.Subject.Kind = "other" }, ""},
	"skill":       {func(s *exports.Session) { s.Subject.Skill += "x" }, ""},
	"server":      {func(s *exports.Session) { s.Subject.Server += "x" }, ""},
	"tool":        {func(s *exports.Session) { s.Subject.Tool += "x" }, ""},
	"span":        {func(s *exports.Session) { s.Subject.SpanID = "1111111111111111" }, ""},
	"grade":       {func(s *exports.Session) { s.Subject.Grade = "F" }, ""},
	"score":       {func(s *exports.Session) { s.Subject.Score = new(0.125) }, ""},
	"arm":         {func(s *exports.Session) { s.Subject.Arm = "with" }, ""},
	"category":    {func(s *exports.Session) { s.Subject.Category = "storage" }, ""},
	"task_kind":   {func(s *exports.Session) { s.Subject.TaskKind = "trap" }, ""},
	"item":        {func(s *exports.Session) { s.Criteria[0].Item = "zz" }, ""},
	"verdict":     {func(s *exports.Session) { s.Criteria[0].Verdict, s.Criteria[0].Score = judge.Unclear, nil }, ""},
	"pass":        {func(s *exports.Session) { s.Pass = new(false) }, ""},
	"explanation": {func(s *exports.Session) { s.Criteria[0].Explanation = "Another." }, "explanation"},
}

// What a further evaluator found is in the files of a target that holds it, or named as lost; a target that says it holds none changes
// in nothing. With -short each fact is changed in one part only, in every part some.
func TestTarget_Loss_OfParts(t *testing.T) {
	quick := testing.Short()
	names := slices.Sorted(maps.Keys(partFacts))
	for _, target := range allTargets() {
		in := exporttest.Full()
		in.WithExplanations, in.Parts = true, parts()
		before := exporttest.Write(t, in, target)
		delete(before, "manifest.json")
		for n, name := range names {
			fact := partFacts[name]
			for i := range parts() {
				if quick && n%len(parts()) != i {
					continue
				}
				changed := exporttest.Full()
				changed.WithExplanations, changed.Parts = true, parts()
				var list []exports.Session
				for s := range changed.Parts[i].Subjects(context.Background()) {
					fact.edit(&s)
					list = append(list, s)
				}
				changed.Parts[i].Subjects = subjects(list...)
				after := exporttest.Write(t, changed, target)
				delete(after, "manifest.json")
				same := maps.EqualFunc(before, after, bytes.Equal)
				whole := slices.ContainsFunc(target.Loss(changed), func(l exports.Loss) bool { return l.What == "evaluators" })
				named := slices.ContainsFunc(target.Loss(changed), func(l exports.Loss) bool { return slices.Contains(strings.Fields(fact.words), l.What) })
				if whole != same && !(same && named) {
					t.Errorf("%s: %s of part %d: files the same %t, parts named as lost %t", target.Name(), name, i, same, whole)
				}
			}
		}
	}
}
