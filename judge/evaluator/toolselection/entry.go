package toolselection

import (
	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/evaluator/invocation"
)

// Entries tells a run of this evaluator.
func Entries() []evaluator.Entry {
	return []evaluator.Entry{{
		Name: "tool-selection", Of: evaluator.OfSessions, Rubrics: []string{Name}, Takes: []string{"compat"}, Help: "was each tool that an agent called the right choice; a question for each call",
		New: func(r judge.Rubric, o evaluator.Options) (evaluator.Evaluator, error) {
			return New(r, invocation.OptionsOf(o))
		},
	}}
}
