package tooldescription

import (
	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
)

// Entries tells a run of this evaluator.
func Entries() []evaluator.Entry {
	return []evaluator.Entry{{
		Name: "tool-description", Of: evaluator.OfTools, Rubrics: []string{"tool_description"}, Help: "the descriptions of a server's tools, from A to F",
		New: func(r judge.Rubric, o evaluator.Options) (evaluator.Evaluator, error) {
			return New(r, Options{Mask: o.Mask, MaskVersion: o.MaskVersion, MaxTokens: o.MaxTokens, Prompts: o.Prompts})
		},
	}}
}
