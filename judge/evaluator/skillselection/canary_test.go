package skillselection_test

import (
	"strings"
	"testing"

	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/evaluator/evaluatortest"
	it "github.com/tracejury/tracejury/judge/evaluator/invocation/invocationtest"
	"github.com/tracejury/tracejury/judge/evaluator/skillselection"
)

func TestCanaries(t *testing.T) {
	e := mustNew(t, skillselection.Options{})
	for name, put := range map[string]func(s *evaluator.Subject, x string){
		"description of a skill": func(s *evaluator.Subject, x string) {
			s.Steps[0].Text = strings.Replace(it.Catalogue, "Fill in PDF forms.", x, 1)
		},
		"what the agent said": func(s *evaluator.Subject, x string) { s.Steps[2].Text = x },
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
