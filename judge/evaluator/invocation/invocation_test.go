package invocation_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/evaluator/invocation"
	it "github.com/tracejury/tracejury/judge/evaluator/invocation/invocationtest"
	"github.com/tracejury/tracejury/schema"
)

// How attempts become one row a skill, as the Strands extractor folds them.
func TestFolding(t *testing.T) {
	attempt := func(skill, outcome, body string) schema.Skill {
		return schema.Skill{Skill: skill, SkillKey: strings.ReplaceAll(strings.ToLower(skill), "_", "-"), Via: "tool", Outcome: outcome, Body: body, Refusal: map[bool]string{true: "no " + skill}[outcome == "refused"]}
	}
	for name, tc := range map[string]struct {
		attempts []schema.Skill
		want     []string // skill outcome body refusal
	}{
		"retry after a refusal is loaded":            {[]schema.Skill{attempt("A_b", "refused", ""), attempt("a-b", "loaded", "x")}, []string{"a-b loaded x "}},
		"always refused is refused, the first error": {[]schema.Skill{attempt("a", "refused", ""), attempt("A", "refused", "")}, []string{"a refused  no a"}},
		"a later refusal keeps the body":             {[]schema.Skill{attempt("a", "loaded", "x"), attempt("a", "refused", "")}, []string{"a loaded x "}},
		"attempted is not refused":                   {[]schema.Skill{attempt("a", "refused", ""), attempt("a", "attempted", "")}, []string{"a attempted  "}},
		"a fuller body that holds the first":         {[]schema.Skill{attempt("a", "loaded", "x"), attempt("a", "loaded", "wxy")}, []string{"a loaded wxy "}},
		"another body never displaces":               {[]schema.Skill{attempt("a", "loaded", "x"), attempt("a", "loaded", "longer")}, []string{"a loaded x "}},
		"a body fills an empty one":                  {[]schema.Skill{attempt("a", "attempted", ""), attempt("a", "loaded", "x")}, []string{"a loaded x "}},
		"in the order of first attempts":             {[]schema.Skill{attempt("b", "loaded", "x"), attempt("a", "loaded", "y"), attempt("b", "loaded", "")}, []string{"b loaded x ", "a loaded y "}},
		"a dot is no hyphen":                         {[]schema.Skill{attempt("data.clean", "loaded", "x"), attempt("data-clean", "loaded", "y")}, []string{"data.clean loaded x ", "data-clean loaded y "}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, part := range invocation.Split(evaluator.Subject{ID: "s", Skills: tc.attempts}, invocation.PerSkill, invocation.Any) {
				l, err := invocation.Of(&part, invocation.Any)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, fmt.Sprintf("%s %s %s %s", l.Skill, l.Row.Outcome, l.Row.Body, l.Refusal))
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestSplit_EveryAttemptOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := evaluator.Subject{ID: "s"}
		for i := range rapid.IntRange(0, 12).Draw(t, "n") {
			name := rapid.SampledFrom([]string{"a", "A", "a_b", "a-b", "p:a", strings.Repeat("x", 300)}).Draw(t, "name")
			via := rapid.SampledFrom([]string{"tool", "read", "user", "injected"}).Draw(t, "via")
			s.Skills = append(s.Skills, schema.Skill{Attempt: int32(i + 1), Skill: name, Via: via, Outcome: rapid.SampledFrom([]string{"loaded", "refused", "attempted"}).Draw(t, "outcome")})
		}
		for _, mode := range []invocation.Mode{invocation.PerSkill, invocation.PerLoad} {
			seen, ids := map[int]bool{}, map[string]bool{}
			parts := invocation.Split(s, mode, invocation.ByAgent)
			for _, p := range parts {
				if ids[p.ID] || len(p.ID) > 200 || p.Kind != "skill" {
					t.Fatalf("subject %q of kind %s", p.ID, p.Kind)
				}
				ids[p.ID] = true
				if mode == invocation.PerLoad && len(p.Focus) > 1 {
					t.Fatal("two attempts in one row")
				}
				for _, i := range p.Focus {
					if seen[i] || !invocation.ByAgent(&s.Skills[i]) {
						t.Fatalf("attempt %d", i)
					}
					seen[i] = true
				}
				if _, err := invocation.Of(&p, invocation.ByAgent); err != nil {
					t.Fatal(err)
				}
			}
			chosen := 0
			for i := range s.Skills {
				if invocation.ByAgent(&s.Skills[i]) {
					chosen++
				}
			}
			if len(seen) != chosen || len(parts) == 0 {
				t.Fatalf("%d of %d attempts in %d subjects", len(seen), chosen, len(parts))
			}
		}
	})
}

func TestRequest(t *testing.T) {
	s := it.Loaded()
	for at, want := range map[int]string{-1: "2 4 10", 4: "4", 3: "2", 1: "", 9: "4", 10: "10"} {
		var got []string
		for _, r := range invocation.Request(s.Steps, at) {
			got = append(got, fmt.Sprint(r.Step))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("before place %d: %v, want %s", at, got, want)
		}
	}
}

func TestCatalogue(t *testing.T) {
	s := it.Loaded()
	part := invocation.Split(s, "", invocation.Any)[0]
	l, err := invocation.Of(&part, invocation.Any)
	if err != nil {
		t.Fatal(err)
	}
	state, entries := invocation.Catalogue(&part, l)
	if state != "listed" || fmt.Sprint(entries) != "[{log-triage Find the cause of an error in a log.} {pdf:forms Fill in PDF forms.} {bare-one }]" {
		t.Errorf("%s %v", state, entries)
	}
	part.Steps = part.Steps[1:]
	l.At--
	if _, entries = invocation.Catalogue(&part, l); len(entries) != 1 || entries[0].Skill != "log-triage" {
		t.Errorf("without the listing's step: %v", entries)
	}
}

func TestCaseOf(t *testing.T) {
	pass := evaluator.PassAt(0.75)
	good, bad := evaluator.Scored("c", "l", 1, pass), evaluator.Scored("c", "l", 0.5, pass)
	na, none := invocation.NotApplicable("c", invocation.FindingNothingInvoked, "", true)[0], invocation.NotApplicable("c", invocation.FindingNoTrajectory, "", true)[0]
	for name, tc := range map[string]struct {
		rows []judge.Answer
		want invocation.Case
	}{
		"mean and all pass":              {[]judge.Answer{good, bad}, invocation.Case{Score: 0.75, Counts: true}},
		"not applicable is dropped":      {[]judge.Answer{good, na}, invocation.Case{Score: 1, Pass: true, Counts: true}},
		"only not applicable":            {[]judge.Answer{na, na}, invocation.Case{Pass: true, NotApplicable: true}},
		"a missing trajectory counts":    {[]judge.Answer{none}, invocation.Case{NotApplicable: true, Counts: true}},
		"no rows count":                  {nil, invocation.Case{Pass: true, Counts: true}},
		"a failed one hides in no mean":  {[]judge.Answer{na, none}, invocation.Case{NotApplicable: true, Counts: true}},
		"unclear is none of the scored":  {append(evaluator.Unclear("c", "x", ""), good), invocation.Case{Score: 1, Pass: true, Counts: true}},
		"an ungraded one is no pass now": {[]judge.Answer{{Verdict: judge.Ungraded}}, invocation.Case{Counts: true}},
	} {
		if got := invocation.CaseOf(tc.rows); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}
