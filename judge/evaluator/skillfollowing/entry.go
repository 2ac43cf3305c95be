package skillfollowing

import (
	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/evaluator/invocation"
)

// Entries tells a run of this evaluator.
func Entries() []evaluator.Entry {
	return []evaluator.Entry{{
		Name: "skill-following", Of: evaluator.OfSessions, Rubrics: []string{"skill_following"}, Takes: []string{"rows", "compat"}, Help: "were the steps of each loaded skill carried out",
		New: func(r judge.Rubric, o evaluator.Options) (evaluator.Evaluator, error) {
			return New(r, invocation.OptionsOf(o))
		},
	}}
}
