package model_test

import (
	"errors"
	"testing"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/model"
)

// An evaluator that the rules know nothing of is answered with what its own code can tell, else unclear, never by a guess.
func TestRules_EvaluatorWithoutRules(t *testing.T) {
	const schema = `{"type":"object","required":["evidence_steps","reason","verdict"],"properties":{"evidence_steps":{"type":"array","items":{"type":"integer"}},` +
		`"reason":{"type":"string"},"verdict":{"type":"string","enum":["Yes","No","Unclear"]}}}`
	ask := func(req judge.Request) (judge.Reply, error) { return model.Rules().Judge(t.Context(), &req) }
	r, err := ask(judge.Request{Evaluator: "new_one", Schema: schema})
	if err != nil || r.Text != `{"evidence_steps":[],"reason":"Code cannot tell: it needs a model.","verdict":"Unclear"}` {
		t.Errorf("%q %v", r.Text, err)
	}
	if r, err := ask(judge.Request{Evaluator: "new_one", Schema: schema, ByCode: `{"a":1}`}); err != nil || r.Text != `{"a":1}` {
		t.Errorf("%q %v", r.Text, err)
	}
	_, err = ask(judge.Request{Evaluator: "new_one", Schema: `{"type":"object","properties":{"verdict":{"type":"string","enum":["Yes","No"]}}}`})
	if ce, ok := errors.AsType[*judge.CallError](err); !ok || ce.Class != judge.ClassInvalid || ce.Hint == "" {
		t.Errorf("no way to say unclear: %v", err)
	}
}
