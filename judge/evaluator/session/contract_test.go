package session_test

import (
	"testing"

	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/evaluator/evaluatortest"
	"github.com/tracejury/tracejury/judge/evaluator/session"
	"github.com/tracejury/tracejury/schema"
)

func TestContract(t *testing.T) {
	question := denied()
	question.ID, question.Steps, question.Session = "question", question.Steps[:1], &schema.Session{ContentState: "full"}
	partial := denied()
	partial.ID = "partial"
	partial.Session = &schema.Session{ContentState: "partial", Missing: []string{"assistant_text", "tool_results"}}
	bare := denied()
	bare.ID, bare.Session = "no session row", nil
	evaluatortest.Run(t, mustNew(t, session.Options{}), []evaluator.Subject{
		denied(), question, partial, bare, {Kind: "session", ID: "empty", Session: &schema.Session{ContentState: "full"}},
	})
}
