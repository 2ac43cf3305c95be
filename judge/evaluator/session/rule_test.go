package session_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/evaluator/session"
	"github.com/tracejury/tracejury/schema"
)

// Criteria may have weights and gates under a pass rule, and be for some services only.
func TestPassRuleAndServices(t *testing.T) {
	r, err := judge.ParseRubric([]byte(`
name: shop
version: 1
title: Shop
evaluator: session
pass: {min_score: 0.6}
criteria:
  - {id: polite, question: "Was it polite?", weight: 3, anchors: {met: Yes., not_met: No.}}
  - {id: quick, question: "Was it quick?", anchors: {met: Yes., not_met: No.}}
  - {id: legal, question: "Was it legal?", gate: true, anchors: {met: Yes., not_met: No.}}
  - {id: refunds, question: "Were refunds right?", services: [shop], anchors: {met: Yes., not_met: No.}}
`), "shop.yaml")
	if err != nil {
		t.Fatal(err)
	}
	e, err := session.New(r, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	grade := func(verdicts ...judge.Verdict) evaluator.Grade {
		var a []judge.Answer
		for i, v := range verdicts {
			a = append(a, judge.Answer{Criterion: r.Criteria[i].ID, Verdict: v})
		}
		return e.Grade(a)
	}
	const m, n, u, na = judge.Met, judge.NotMet, judge.Unclear, judge.NotApplicable
	for name, tc := range map[string]struct {
		verdicts []judge.Verdict
		score    float64
		pass     bool
	}{
		"weighted, enough":        {[]judge.Verdict{m, n, m, n}, 4.0 / 6, true},
		"weighted, not enough":    {[]judge.Verdict{n, m, m, m}, 0.5, false},
		"a gate":                  {[]judge.Verdict{m, m, n, m}, 5.0 / 6, false},
		"unclear does not weigh":  {[]judge.Verdict{u, m, m, na}, 1, true},
		"nothing applies to most": {[]judge.Verdict{na, na, m, na}, 1, true},
	} {
		if g := grade(tc.verdicts...); g.Score == nil || *g.Score != tc.score || g.Pass == nil || *g.Pass != tc.pass {
			t.Errorf("%s: %+v", name, g)
		}
	}
	if g := grade(u, u, u, na); g.Score != nil || !g.Undecided {
		t.Errorf("nothing decided: %+v", g)
	}

	ask := func(service string) *evaluator.Item {
		t.Helper()
		s := evaluator.Subject{Kind: "session", ID: "k", Session: &schema.Session{SessionKey: "k", Service: service},
			Steps: []schema.Step{{SessionKey: "k", Step: 1, Turn: 1, Role: "user", Kind: "message", Text: "Send me a shoe."}}}
		item, _, err := e.Item(s, "abcdef0123456789")
		if err != nil {
			t.Fatal(err)
		}
		return item
	}
	if n := len(ask("shop").Request.Criteria); n != 4 {
		t.Errorf("%d criteria of the shop", n)
	}
	item := ask("desk")
	if len(item.Request.Criteria) != 3 || strings.Contains(item.Request.User, "refunds") {
		t.Error("the shop's criterion is asked of the desk")
	}
	type reply struct {
		ID         string `json:"id"`
		Steps      []int  `json:"evidence_steps"`
		Applicable bool   `json:"applicable"`
		Reason     string `json:"reason"`
		Verdict    string `json:"verdict"`
	}
	var list []reply
	for _, c := range item.Request.Criteria {
		list = append(list, reply{c.ID, []int{1}, true, "so", "met"})
	}
	text, _ := json.Marshal(map[string]any{"criteria": list, "transcript_gaps_matter": false})
	answers, err := e.Read(&item.Request, string(text))
	if err != nil || len(answers) != 4 || answers[3].Verdict != judge.NotApplicable || answers[3].Label != session.LabelForOthers {
		t.Errorf("%+v %v", answers, err)
	}
	if g := e.Grade(answers); !g.Graded || !*g.Pass {
		t.Errorf("%+v", g)
	}
}
