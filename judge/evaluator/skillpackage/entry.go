package skillpackage

import (
	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
)

// Entries tells a run of the three evaluators. The rubric says which language is spoken.
func Entries() []evaluator.Entry {
	entry := func(name, criterion, help string) evaluator.Entry {
		return evaluator.Entry{
			Name: name, Of: evaluator.OfPackages, Rubrics: []string{criterion, criterion + "_" + Chinese}, Takes: []string{"compat"}, Help: help,
			New: func(r judge.Rubric, o evaluator.Options) (evaluator.Evaluator, error) {
				return New(r, Options{Compat: o.Compat, Mask: o.Mask, MaskVersion: o.MaskVersion, MaxTokens: o.MaxTokens, Prompts: o.Prompts})
			},
		}
	}
	return []evaluator.Entry{
		entry("skill-relevance", Relevance, "how well a skill package fits a task"),
		entry("skill-completeness", Completeness, "how completely a skill package guides an agent"),
		entry("skill-threat", Threat, "what threat is in a skill package"),
	}
}
