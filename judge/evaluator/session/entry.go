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
	}, {
		Name: "session-control", Of: evaluator.OfSessionControls, Rubrics: []string{"session"}, Help: "sessions in several variants, to calibrate a judge (evaluate calibrate)",
		New: func(r judge.Rubric, o evaluator.Options) (evaluator.Evaluator, error) {
			return NewControl(r, Options{Mask: o.Mask, MaskVersion: o.MaskVersion, MaxTokens: o.MaxTokens, Prompts: o.Prompts}, o.Judge)
		},
	}}
}
