// Package registry owns the list of evaluators: a run finds one here by its name.
//
// It does not know what they ask.
package registry

import (
	"slices"

	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/evaluator/companions"
	"github.com/tracejury/tracejury/judge/evaluator/paired"
	"github.com/tracejury/tracejury/judge/evaluator/session"
	"github.com/tracejury/tracejury/judge/evaluator/skillfollowing"
	"github.com/tracejury/tracejury/judge/evaluator/skillpackage"
	"github.com/tracejury/tracejury/judge/evaluator/skillselection"
	"github.com/tracejury/tracejury/judge/evaluator/tooldescription"
	"github.com/tracejury/tracejury/judge/evaluator/toolselection"
)

// All lists every evaluator. A new one is one line here.
func All() []evaluator.Entry {
	return slices.Concat(
		companions.Entries(),
		paired.Entries(),
		session.Entries(),
		skillfollowing.Entries(),
		skillpackage.Entries(),
		skillselection.Entries(),
		tooldescription.Entries(),
		toolselection.Entries(),
	)
}

// Of lists the evaluators that are given one kind of subjects.
func Of(kind string) []evaluator.Entry {
	return slices.DeleteFunc(All(), func(e evaluator.Entry) bool { return e.Of != kind })
}

// Names are the names of entries, in their order.
func Names(entries []evaluator.Entry) []string {
	out := make([]string, len(entries))
	for i, e := range entries {
		out[i] = e.Name
	}
	return out
}
