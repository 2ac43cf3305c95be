package skillfollowing_test

import (
	"strings"
	"testing"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/evaluator/invocation"
	it "github.com/tracejury/tracejury/judge/evaluator/invocation/invocationtest"
	"github.com/tracejury/tracejury/judge/evaluator/skillfollowing"
)

// The cases that the Strands evaluator of instruction following is tested by, one each.
func TestStrandsCompatibility(t *testing.T) {
	e := mustNew(t, skillfollowing.Options{Compat: true})
	item := it.Item(t, e, e.Split(it.Loaded())[0])
	read := func(t *testing.T, text string) judge.Answer {
		t.Helper()
		answers, err := e.Read(&item.Request, text)
		if err != nil {
			t.Fatal(err)
		}
		return answers[0]
	}
	t.Run("defaults", func(t *testing.T) {
		if v := e.Version(); v.Evaluator != "skill_following" || v.PromptVersion != "v0" || v.Kind != "skill" {
			t.Errorf("%+v", v)
		}
	})
	t.Run("coverage", func(t *testing.T) {
		for want, steps := range map[float64][]skillfollowing.Step{
			0: nil, 0.5: {{Status: "covered"}, {Status: "skipped"}}, 0.75: {{Status: "covered"}, {Status: "partial"}}, 1: {{Status: "covered"}},
		} {
			if got := skillfollowing.Coverage(steps); got != want {
				t.Errorf("%v: %v, want %v", steps, got, want)
			}
		}
		if a := read(t, reply("Mostly Followed", three()...)); *a.Coverage != 2.0/3 {
			t.Errorf("coverage %v", *a.Coverage)
		}
	})
	t.Run("empty steps are accepted and are not applicable", func(t *testing.T) {
		a := read(t, reply("Not Followed"))
		if a.Verdict != judge.NotApplicable || a.Label != "not_applicable" || !invocation.Has(a, invocation.FindingNoSteps) || !*a.Pass || a.Score != nil || !strings.Contains(a.Explanation, "log-triage") {
			t.Errorf("%+v", a)
		}
	})
	t.Run("empty texts of steps and evidence are accepted", func(t *testing.T) {
		if a := read(t, reply("Fully Followed", step("", "", "covered"))); *a.Score != 1 {
			t.Errorf("%+v", a)
		}
	})
	t.Run("five labels, their scores, the threshold and what the reason holds", func(t *testing.T) {
		for label, score := range map[string]float64{"Fully Followed": 1, "Mostly Followed": 0.75, "Partially Followed": 0.5, "Minimally Followed": 0.25, "Not Followed": 0} {
			a := read(t, reply(label, three()...))
			g := e.Grade([]judge.Answer{a})
			if a.Label != label || *a.Score != score || *a.Pass != (score >= 0.75) || *g.Score != score || *g.Pass != *a.Pass {
				t.Errorf("%s: %+v, grade %+v", label, a, g)
			}
			for _, want := range []string{"log-triage: Two of three.", "Coverage: 0.67", "- [skipped] count []", "- [covered] name the first [8 9]"} {
				if !strings.Contains(a.Explanation, want) {
					t.Errorf("%s: the reason lacks %q: %s", label, want, a.Explanation)
				}
			}
		}
	})
	t.Run("the label is the rating, also against its coverage, and that is flagged", func(t *testing.T) {
		a := read(t, reply("Fully Followed", step("sort", "", "skipped")))
		if a.Label != "Fully Followed" || *a.Score != 1 || !*a.Pass || *a.Coverage != 0 || !invocation.Has(a, skillfollowing.FindingContradicts) {
			t.Errorf("%+v", a)
		}
		if a := read(t, reply("Mostly Followed", three()...)); len(a.Findings) != 0 {
			t.Errorf("flagged: %+v", a)
		}
	})
	t.Run("the prompt has the instructions, the trajectory and the response", func(t *testing.T) {
		for _, want := range []string{"1. Sort the lines by level.", `"command\":\"sort api.log\"`, "The first error says that the disk was full."} {
			if !strings.Contains(item.Request.User, want) {
				t.Errorf("lacks %q", want)
			}
		}
	})
	t.Run("one row a skill, and one question for repeated loads", func(t *testing.T) {
		parts := e.Split(it.Two())
		if len(parts) != 2 || len(parts[0].Focus) != 2 || len(parts[1].Focus) != 1 {
			t.Fatalf("%+v", parts)
		}
		if user := it.Item(t, e, parts[1]).Request.User; !strings.Contains(user, "Open the form") || strings.Contains(user, `"instruction":"1. Sort`) {
			t.Error("another skill's instructions")
		}
	})
	t.Run("read twice, the fullest body that holds the other is kept", func(t *testing.T) {
		s := it.Loaded()
		again := s.Skills[0]
		again.Attempt, again.Body = 2, it.Body+"\n4. Say what is not proven."
		s.Skills = append(s.Skills, again)
		if user := it.Item(t, e, e.Split(s)[0]).Request.User; !strings.Contains(user, "4. Say what is not proven.") {
			t.Error("the shorter body was kept")
		}
		s.Skills[1].Body = "Something else that is longer than the body which was kept, but does not hold it anywhere at all in its text."
		if user := it.Item(t, e, e.Split(s)[0]).Request.User; strings.Contains(user, "Something else") {
			t.Error("an unrelated body displaced the kept one")
		}
	})

	for name, tc := range map[string]struct {
		subject evaluator.Subject
		finding string
		holds   string
		pass    bool
	}{
		"no skill":             {it.NothingInvoked(), invocation.FindingNothingInvoked, "", true},
		"missing trajectory":   {it.NoSteps(), invocation.FindingNoTrajectory, "", false},
		"body missing":         {it.Withheld(), invocation.FindingBodyMissing, "custom_skill: ", true},
		"refused with message": {it.Refused(), invocation.FindingLoadRefused, "Skill 'log-triag' not found", true},
	} {
		t.Run(name, func(t *testing.T) {
			a := it.Answer(t, e, e.Split(tc.subject)[0])
			if a.Verdict != judge.NotApplicable || a.Label != "not_applicable" || !invocation.Has(a, tc.finding) || *a.Pass != tc.pass || !strings.Contains(a.Explanation, tc.holds) {
				t.Errorf("%+v", a)
			}
			c := invocation.CaseOf([]judge.Answer{a})
			if c.Score != 0 || c.Pass != tc.pass || c.Counts == tc.pass {
				t.Errorf("aggregated: %+v", c)
			}
		})
	}
	t.Run("attempted without an outcome has no body", func(t *testing.T) {
		s := it.Loaded()
		s.Skills[0].Outcome, s.Skills[0].Body, s.Skills[0].BodyState = "attempted", "", "missing"
		if a := it.Answer(t, e, e.Split(s)[0]); !invocation.Has(a, invocation.FindingBodyMissing) {
			t.Errorf("%+v", a)
		}
	})
	t.Run("aggregator", func(t *testing.T) {
		rows := []judge.Answer{read(t, reply("Fully Followed", three()[0])), read(t, reply("Partially Followed", three()...)), it.Answer(t, e, e.Split(it.Refused())[0])}
		if c := invocation.CaseOf(rows); c.Score != 0.75 || c.Pass || c.NotApplicable {
			t.Errorf("%+v", c)
		}
		if m := invocation.MeanOf([]invocation.Case{invocation.CaseOf(rows[:1]), invocation.CaseOf([]judge.Answer{it.Answer(t, e, e.Split(it.NoSteps())[0])})}); m != 0.5 {
			t.Errorf("a missing trajectory must count as 0: %v", m)
		}
	})
}
