// Package evaluatortest is the contract suite of evaluators.
package evaluatortest

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/judgetest"
)

// Run checks what every evaluator promises, over subjects of its kind. At least one of them must become a question.
func Run(t *testing.T, ev evaluator.Evaluator, subjects []evaluator.Subject) {
	const nonce, other = "7f3a90bc11d2", "0123456789ab"
	v := ev.Version()
	t.Run("VersionIsWholeAndStable", func(t *testing.T) {
		for name, s := range map[string]string{
			"evaluator": v.Evaluator, "kind": v.Kind, "prompt version": v.PromptVersion, "prompt hash": v.PromptSHA256,
			"rubric hash": v.RubricSHA256, "schema hash": v.SchemaSHA256, "rendering": v.Rendering,
		} {
			if s == "" {
				t.Errorf("%s is empty", name)
			}
		}
		if !reflect.DeepEqual(v, ev.Version()) {
			t.Error("two versions of one evaluator")
		}
	})
	asked := 0
	prefix := ""
	for _, s := range subjects {
		t.Run(s.ID, func(t *testing.T) {
			before := mustJSON(t, s)
			item, answers, err := ev.Item(s, nonce)
			if err != nil {
				t.Fatal(err)
			}
			again, moreAnswers, err := ev.Item(s, nonce)
			if err != nil || !reflect.DeepEqual(again, item) || !reflect.DeepEqual(answers, moreAnswers) {
				t.Fatalf("one subject, two questions (error %v)", err)
			}
			if mustJSON(t, s) != before {
				t.Error("the subject was changed")
			}
			if item == nil {
				if len(answers) == 0 {
					t.Fatal("neither a question nor an answer")
				}
				for _, a := range answers {
					if a.Label == "" {
						t.Errorf("%s: no label says why nothing was asked", a.Criterion)
					}
				}
				ev.Grade(answers)
				return
			}
			asked++
			if prefix == "" {
				prefix = item.Request.System
			}
			if item.Request.System != prefix {
				t.Error("the prefix changes from subject to subject: it cannot be cached")
			}
			question(t, ev, s, item, other)
			reading(t, ev, &item.Request)
		})
	}
	if asked == 0 {
		t.Error("no subject became a question")
	}
}

func question(t *testing.T, ev evaluator.Evaluator, s evaluator.Subject, item *evaluator.Item, nonce string) {
	t.Helper()
	req := &item.Request
	if item.Subject != s.ID || req.Subject != s.ID || req.Evaluator != ev.Version().Evaluator || item.RenderingSHA256 == "" {
		t.Errorf("item of %q: subject %q, evaluator %q, rendering %q", s.ID, item.Subject, req.Evaluator, item.RenderingSHA256)
	}
	if req.System == "" || req.User == "" || req.Schema == "" || req.SchemaName == "" || req.MaxTokens <= 0 || len(req.Criteria) == 0 {
		t.Error("the request is not whole")
	}
	moved, _, err := ev.Item(s, nonce)
	if err != nil {
		t.Fatal(err)
	}
	if moved.RenderingSHA256 != item.RenderingSHA256 || moved.Transcript != item.Transcript {
		t.Error("the nonce reached a hash")
	}
	if moved.Request.User == req.User {
		t.Error("the nonce does not fence the data")
	}
	if moved.Request.System != req.System || moved.Request.Schema != req.Schema {
		t.Error("the nonce reached the prefix")
	}
}

func reading(t *testing.T, ev evaluator.Evaluator, req *judge.Request) {
	t.Helper()
	good, err := judgetest.ValidReply(req.Schema, req.User)
	if err != nil {
		t.Fatal(err)
	}
	answers, err := ev.Read(req, good)
	if err != nil || len(answers) == 0 {
		t.Fatalf("a valid reply was refused: %v\n%s", err, good)
	}
	for _, a := range answers {
		if a.Verdict == "" || a.Verdict == judge.Ungraded {
			t.Errorf("%s: verdict %q from a valid reply", a.Criterion, a.Verdict)
		}
	}
	if g := ev.Grade(answers); !g.Graded {
		t.Errorf("a whole set of answers is ungraded: %+v", g)
	}
	if _, err := ev.Read(req, "```json\n"+good+"\n```"); err != nil {
		t.Errorf("a code fence was refused: %v", err)
	}
	for _, bad := range []string{"", "All met.", "{}", "[]", "null", good + good, good[:len(good)/2], strings.Replace(good, "{", `{"extra":1,`, 1)} {
		answers, err := ev.Read(req, bad)
		if _, ok := errors.AsType[*evaluator.InvalidReply](err); !ok || answers != nil {
			t.Errorf("reply %.60q: answers %v, error %v", bad, answers, err)
		}
	}
	ungraded := slices.Clone(answers)
	ungraded[0].Verdict, ungraded[0].Reason = judge.Ungraded, string(judge.ClassThrottled)
	if g := ev.Grade(ungraded); g.Graded || g.Pass != nil || g.Reason == "" {
		t.Errorf("graded with an ungraded answer: %+v", g)
	}
}

func mustJSON(tb testing.TB, v any) string {
	tb.Helper()
	b, err := judge.CanonicalJSON(v)
	if err != nil {
		tb.Fatal(err)
	}
	return string(b)
}
