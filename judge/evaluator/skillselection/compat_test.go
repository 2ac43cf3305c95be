package skillselection_test

import (
	"strings"
	"testing"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/evaluator/invocation"
	it "github.com/tracejury/tracejury/judge/evaluator/invocation/invocationtest"
	"github.com/tracejury/tracejury/judge/evaluator/skillselection"
	"github.com/tracejury/tracejury/schema"
)

// The cases that the Strands evaluator of skill selection is tested by, one each.
func TestStrandsCompatibility(t *testing.T) {
	e := mustNew(t, skillselection.Options{Compat: true})
	ask := func(t *testing.T, s evaluator.Subject) *judge.Request {
		t.Helper()
		return &it.Item(t, e, e.Split(s)[0]).Request
	}
	holds := func(t *testing.T, text string, want ...string) {
		t.Helper()
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("lacks %q in:\n%s", w, text)
			}
		}
	}
	read := func(t *testing.T, verdict string) judge.Answer {
		t.Helper()
		answers, err := e.Read(ask(t, it.Loaded()), reply(verdict))
		if err != nil {
			t.Fatal(err)
		}
		return answers[0]
	}

	t.Run("defaults", func(t *testing.T) {
		v := e.Version()
		if v.Evaluator != "skill_selection" || v.PromptVersion != "v0" || v.Kind != "skill" {
			t.Errorf("%+v", v)
		}
	})
	t.Run("not applicable rows are dropped from the mean", func(t *testing.T) {
		na := it.Answer(t, e, e.Split(it.NothingInvoked())[0])
		c := invocation.CaseOf([]judge.Answer{na, read(t, "Yes")})
		if c.Score != 1 || !c.Pass || c.NotApplicable || !c.Counts {
			t.Errorf("%+v", c)
		}
		only := invocation.CaseOf([]judge.Answer{na})
		if only.Score != 0 || !only.Pass || !only.NotApplicable || only.Counts {
			t.Errorf("%+v", only)
		}
		if m := invocation.MeanOf([]invocation.Case{c, only}); m != 1 {
			t.Errorf("mean %v", m)
		}
		if m := invocation.MeanOf([]invocation.Case{only}); m != 0 {
			t.Errorf("mean of nothing %v", m)
		}
	})
	t.Run("the prompt names catalogue, skill, trajectory, task and response", func(t *testing.T) {
		holds(t, ask(t, it.Loaded()).User, `{"skill":"log-triage","description":"Find the cause of an error in a log."}`, `"skill_asked_for":"log-triage"`,
			`"command\":\"sort api.log\"`, `{"task":"Good morning."`, "The first error says that the disk was full.")
	})
	t.Run("wording of an unrecorded catalogue", func(t *testing.T) {
		holds(t, ask(t, it.Unrecorded()).User, "did not record which skills it offered", `"catalogue":"unrecorded"`)
	})
	t.Run("wording of an empty catalogue", func(t *testing.T) {
		s := it.Loaded()
		s.Steps[0].Text, s.Skills[0].CatalogueState, s.Skills[0].Offered = "", "empty", new(false)
		holds(t, ask(t, s).User, "a catalogue without any skill", `"catalogue":"empty"`)
	})
	t.Run("wording of a refusal and its message", func(t *testing.T) {
		user := ask(t, it.Refused()).User
		holds(t, user, "refused the load", "judge whether asking for it was right", `"harness_message":"Skill 'log-triag' not found`)
		if strings.Contains(ask(t, it.Loaded()).User, "refused the load") {
			t.Error("a loaded skill reads as refused")
		}
	})
	t.Run("no way to abstain", func(t *testing.T) {
		req := ask(t, it.Loaded())
		if strings.Contains(req.System, "Unclear") || strings.Contains(req.Schema, "Unclear") {
			t.Error("unclear is offered")
		}
	})
	t.Run("yes and no", func(t *testing.T) {
		for verdict, score := range map[string]float64{"Yes": 1, "No": 0} {
			a := read(t, verdict)
			g := e.Grade([]judge.Answer{a})
			if a.Label != verdict || *a.Score != score || *a.Pass != (score == 1) || a.Verdict != judge.Scored || a.Explanation == "" || *g.Score != score || *g.Pass != (score == 1) {
				t.Errorf("%s: %+v, grade %+v", verdict, a, g)
			}
		}
	})
	t.Run("one row and one fresh question a skill", func(t *testing.T) {
		parts := e.Split(it.Two())
		if len(parts) != 2 || parts[0].Skill != "log-triage" || parts[1].Skill != "pdf:forms" || len(parts[0].Focus) != 2 || parts[0].SpanID != "span-a" {
			t.Fatalf("%+v", parts)
		}
		if a, b := it.Item(t, e, parts[0]), it.Item(t, e, parts[1]); a.Request.User == b.Request.User || a.Subject == b.Subject || a.Request.RepairOf != "" {
			t.Error("two skills share a question")
		}
	})
	t.Run("a missing trajectory fails without a question", func(t *testing.T) {
		a := it.Answer(t, e, e.Split(it.NoSteps())[0])
		c := invocation.CaseOf([]judge.Answer{a})
		if !invocation.Has(a, invocation.FindingNoTrajectory) || *a.Pass || c.Pass || !c.Counts || c.Score != 0 {
			t.Errorf("%+v %+v", a, c)
		}
	})
	for name, tc := range map[string]struct {
		subject evaluator.Subject
		finding string
	}{
		"nothing invoked, no catalogue":   {it.NothingAvailable(), invocation.FindingNothingAvailable},
		"nothing invoked, with catalogue": {it.NothingInvoked(), invocation.FindingNothingInvoked},
	} {
		t.Run(name, func(t *testing.T) {
			parts := e.Split(tc.subject)
			a := it.Answer(t, e, parts[0])
			if len(parts) != 1 || a.Label != "not_applicable" || a.Verdict != judge.NotApplicable || !invocation.Has(a, tc.finding) || !*a.Pass || a.Explanation == "" {
				t.Errorf("%+v", a)
			}
		})
	}
	t.Run("an empty catalogue is nothing available", func(t *testing.T) {
		s := it.NothingInvoked()
		s.Steps[0].Text, s.Session.NSkillsOffered = "", new(int32(0))
		if a := it.Answer(t, e, e.Split(s)[0]); !invocation.Has(a, invocation.FindingNothingAvailable) {
			t.Errorf("%+v", a)
		}
	})
	t.Run("invoked without a catalogue is judged", func(t *testing.T) { ask(t, it.Unrecorded()) })
	t.Run("a refused load is judged", func(t *testing.T) { ask(t, it.Refused()) })
	t.Run("a refusal and a load are one row, loaded", func(t *testing.T) {
		parts := e.Split(it.Retried())
		if len(parts) != 1 || parts[0].SpanID != "span-b" || strings.Contains(it.Item(t, e, parts[0]).Request.User, "refused the load") {
			t.Errorf("%+v", parts)
		}
	})
}

// As AgentCore's built-in evaluator: a row for each invocation, anchored to its span, on what came before the call.
func TestPerInvocation(t *testing.T) {
	e := mustNew(t, skillselection.Options{Mode: invocation.PerLoad})
	parts := e.Split(it.Retried())
	if len(parts) != 2 || parts[0].SpanID != "span-a" || parts[1].SpanID != "span-b" || parts[0].ID == parts[1].ID {
		t.Fatalf("%+v", parts)
	}
	first, second := it.Item(t, e, parts[0]).Request.User, it.Item(t, e, parts[1]).Request.User
	if !strings.Contains(first, "refused the load") || strings.Contains(second, "refused the load") {
		t.Error("an attempt is judged by another's outcome")
	}
}

func TestSkillsThatTheAgentDidNotChoose(t *testing.T) {
	e := mustNew(t, skillselection.Options{})
	for _, via := range []string{"user", "injected"} {
		s := it.Loaded()
		s.Skills[0].Via = via
		if a := it.Answer(t, e, e.Split(s)[0]); !invocation.Has(a, invocation.FindingNothingInvoked) {
			t.Errorf("%s: %+v", via, a)
		}
	}
}

func TestMissingIsNotBad(t *testing.T) {
	e := mustNew(t, skillselection.Options{})
	if a := it.Answer(t, e, e.Split(it.Withheld())[0]); a.Verdict != judge.Unclear || !invocation.Has(a, invocation.FindingContentMissing) || a.Score != nil {
		t.Errorf("%+v", a)
	}
	s := it.Unrecorded()
	for i := range s.Steps {
		if s.Steps[i].Role == "user" {
			s.Steps[i].Text = ""
		}
	}
	if a := it.Answer(t, e, e.Split(s)[0]); a.Verdict != judge.Unclear || !invocation.Has(a, invocation.FindingRequestMissing) {
		t.Errorf("%+v", a)
	}
	s = it.Loaded()
	s.Skills[0].Step, s.Skills[0].SpanID = nil, ""
	item := it.Item(t, e, e.Split(s)[0])
	if !strings.Contains(item.Request.User, "is not recorded: only what the user said") || strings.Contains(item.Request.User, "disk was full") {
		t.Errorf("a load without a place:\n%s", item.Request.User)
	}
}

func TestCatalogueOfTheAgent(t *testing.T) {
	s := it.Loaded()
	other := s.Steps[0]
	other.Agent, other.Text = "sub", "- other: Something else."
	s.Steps = append([]schema.Step{s.Steps[0], other}, s.Steps[1:]...)
	e := mustNew(t, skillselection.Options{})
	user := it.Item(t, e, e.Split(s)[0]).Request.User
	if !strings.Contains(user, `{"skill":"pdf:forms","description":"Fill in PDF forms."}`) || strings.Contains(user, `{"skill":"other"`) {
		t.Errorf("another agent's catalogue:\n%s", user)
	}
}
