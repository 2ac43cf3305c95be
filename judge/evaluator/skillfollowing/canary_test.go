package skillfollowing_test

import (
	"testing"

	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/evaluator/evaluatortest"
	it "github.com/tracejury/tracejury/judge/evaluator/invocation/invocationtest"
	"github.com/tracejury/tracejury/judge/evaluator/skillfollowing"
)

func TestCanaries(t *testing.T) {
	e := mustNew(t, skillfollowing.Options{})
	for name, put := range map[string]func(s *evaluator.Subject, x string){
		"SKILL.md":      func(s *evaluator.Subject, x string) { s.Skills[0].Body += "\n" + x },
		"a tool result": func(s *evaluator.Subject, x string) { s.Steps[7].Text = x },
	} {
		t.Run(name, func(t *testing.T) {
			evaluatortest.Canaries(t, e, func(x string) evaluator.Subject {
				s := it.Loaded()
				put(&s, x)
				return e.Split(s)[0]
			})
		})
	}
}
