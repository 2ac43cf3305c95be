package paired

import (
	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
)

// Entries tells a run of this evaluator.
func Entries() []evaluator.Entry {
	return []evaluator.Entry{{
		Name: "paired", Of: evaluator.OfTasks, Rubrics: []string{"task"}, Help: "answers to the tasks of a suite, without and with skills",
		New: func(r judge.Rubric, o evaluator.Options) (evaluator.Evaluator, error) {
			return New(r, Options{Mask: o.Mask, MaskVersion: o.MaskVersion, MaxTokens: o.MaxTokens, Prompts: o.Prompts})
		},
	}, {
		Name: "task-control", Of: evaluator.OfControls, Rubrics: []string{"task"}, Help: "planted answers, to calibrate a judge (evaluate calibrate)",
		New: func(r judge.Rubric, o evaluator.Options) (evaluator.Evaluator, error) {
			return NewControl(r, Options{Mask: o.Mask, MaskVersion: o.MaskVersion, MaxTokens: o.MaxTokens, Prompts: o.Prompts})
		},
	}}
}
