package skillselection

import (
	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/evaluator/invocation"
)

// Entries tells a run of this evaluator.
func Entries() []evaluator.Entry {
	return []evaluator.Entry{{
		Name: "skill-selection", Of: evaluator.OfSessions, Rubrics: []string{"skill_selection"}, Takes: []string{"rows", "compat"}, Help: "was each skill that an agent asked for the right choice",
		New: func(r judge.Rubric, o evaluator.Options) (evaluator.Evaluator, error) {
			return New(r, invocation.OptionsOf(o))
		},
	}}
}
