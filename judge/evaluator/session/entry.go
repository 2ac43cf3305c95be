package session

import (
	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
)

// Entries tells a run of this evaluator.
func Entries() []evaluator.Entry {
	return []evaluator.Entry{{
		Name: "session", Of: evaluator.OfSessions, Rubrics: []string{"session"}, Help: "whole sessions by the criteria of a rubric",
		New: func(r judge.Rubric, o evaluator.Options) (evaluator.Evaluator, error) {
			return New(r, Options{Mask: o.Mask, MaskVersion: o.MaskVersion, MaxTokens: o.MaxTokens, Prompts: o.Prompts})
		},
	}}
}
