package companions_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/evaluator/companions"
	it "github.com/tracejury/tracejury/judge/evaluator/invocation/invocationtest"
	"github.com/tracejury/tracejury/schema"
)

func mustNew(tb testing.TB, expected ...evaluator.Expectation) *companions.Evaluator {
	tb.Helper()
	e, err := companions.New(it.Rubric(tb, companions.Name), expected)
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

// told is what was answered to one criterion, item by item: "item verdict label".
func told(tb testing.TB, e *companions.Evaluator, s evaluator.Subject, criterion string) []string {
	tb.Helper()
	item, answers, err := e.Item(s, it.Nonce)
	if err != nil || item != nil {
		tb.Fatalf("%v, %v: these checks ask nobody", item, err)
	}
	var out []string
	for _, a := range answers {
		if a.Criterion == criterion {
			out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s", a.Item, a.Verdict, a.Label)))
		}
	}
	return out
}

func expects(skill, tool string) evaluator.Expectation {
	return evaluator.Expectation{Session: "0123456789abcdef", Skill: skill, Tool: tool}
}

// The nine cases that the Strands check SkillInvoked is tested by, and the harness that records nothing.
func TestSkillInvoked(t *testing.T) {
	same := func(s evaluator.Subject) evaluator.Subject { s.ID = "0123456789abcdef"; return s }
	attempted := it.Loaded()
	attempted.Skills[0].Outcome = "attempted"
	byUser := it.Loaded()
	byUser.Skills[0].Via = "user"
	for name, tt := range map[string]struct {
		subject evaluator.Subject
		skill   string
		want    string
	}{
		"loaded":                                 {it.Loaded(), "log-triage", "log-triage met loaded"},
		"another skill was loaded":               {it.Loaded(), "pdf:forms", "pdf:forms not_met never_asked"},
		"names are compared exactly":             {it.Loaded(), "Log_Triage", "Log_Triage not_met never_asked"},
		"refused":                                {same(it.Refused()), "log-triag", "log-triag not_met refused"},
		"refused under one name, then loaded":    {same(it.Retried()), "log-triage", "log-triage met loaded"},
		"the refused spelling alone":             {same(it.Retried()), "Log_Triage", "Log_Triage not_met refused"},
		"nothing was invoked":                    {same(it.NothingInvoked()), "log-triage", "log-triage not_met never_asked"},
		"asked for, and no result is recorded":   {attempted, "log-triage", "log-triage unclear attempted"},
		"the user chose it":                      {byUser, "log-triage", "log-triage not_met never_asked"},
		"the second of two":                      {same(it.Two()), "pdf:forms", "pdf:forms met loaded"},
		"no step is recorded":                    {same(it.NoSteps()), "log-triage", "log-triage unclear not_recorded"},
		"a name that the harness did not tell":   {same(it.Withheld()), "log-triage", "log-triage unclear not_recorded"},
		"no task expects a skill of the session": {it.Loaded(), "", "not_applicable not_applicable"},
	} {
		e := mustNew(t, expects(tt.skill, ""))
		if got := told(t, e, tt.subject, companions.SkillInvoked); len(got) != 1 || got[0] != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// Expectations are about the sessions that they name: by key, by the harness's id, or by the first thing that the user said.
func TestExpectationsFindTheirSessions(t *testing.T) {
	named := it.Loaded()
	named.Session.SessionID = "chat-7"
	for name, tt := range map[string]struct {
		x    evaluator.Expectation
		want bool
	}{
		"key":             {evaluator.Expectation{Session: "0123456789abcdef", Skill: "x"}, true},
		"id":              {evaluator.Expectation{Session: "chat-7", Skill: "x"}, true},
		"another session": {evaluator.Expectation{Session: "chat-8", Skill: "x"}, false},
		"first request":   {evaluator.Expectation{Input: "Good morning.", Skill: "x"}, true},
		"a later request": {evaluator.Expectation{Input: "Why did api.log fail at noon?", Skill: "x"}, false},
		"id before input": {evaluator.Expectation{Session: "chat-8", Input: "Good morning.", Skill: "x"}, false},
	} {
		got := told(t, mustNew(t, tt.x), named, companions.SkillInvoked)
		if about := got[0] != "not_applicable not_applicable"; about != tt.want {
			t.Errorf("%s: %q", name, got)
		}
	}
	twice := told(t, mustNew(t, expects("log-triage", ""), expects("log-triage", "")), it.Loaded(), companions.SkillInvoked)
	if len(twice) != 1 {
		t.Errorf("expected twice, answered %q", twice)
	}
}

func TestToolCalled(t *testing.T) {
	same := func(s evaluator.Subject) evaluator.Subject { s.ID = "0123456789abcdef"; return s }
	for name, tt := range map[string]struct {
		subject    evaluator.Subject
		tool, want string
	}{
		"called":       {it.Loaded(), "run_shell", "run_shell met called"},
		"never called": {it.Loaded(), "web_search", "web_search not_met never_called"},
		"no steps":     {same(it.NoSteps()), "run_shell", "run_shell unclear not_recorded"},
		"no task":      {it.Loaded(), "", "not_applicable not_applicable"},
	} {
		if got := told(t, mustNew(t, expects("", tt.tool)), tt.subject, companions.ToolCalled); len(got) != 1 || got[0] != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// Offered and never used, asked for and refused, asked for though not on offer: each skill has an answer of its own, once.
func TestSkillsOffered(t *testing.T) {
	for name, tt := range map[string]struct {
		subject evaluator.Subject
		want    []string
	}{
		"one of three used": {it.Loaded(), []string{"met loaded", "log-triage scored loaded", "pdf:forms scored unused", "bare-one scored unused"}},
		"none used":         {it.NothingInvoked(), []string{"not_met unused", "log-triage scored unused", "pdf:forms scored unused", "bare-one scored unused"}},
		"a name that is not on offer": {it.Refused(), []string{"not_met unused", "log-triage scored unused", "pdf:forms scored unused", "bare-one scored unused",
			"log-triag scored refused"}},
		"refused in one spelling, loaded in another": {it.Retried(), []string{"met loaded", "log-triage scored loaded", "pdf:forms scored unused", "bare-one scored unused"}},
		"nothing recorded":                           {it.NothingAvailable(), []string{"unclear not_recorded"}},
		"loaded without a catalogue":                 {it.Unrecorded(), []string{"unclear not_recorded", "log-triage scored loaded"}},
	} {
		if got := told(t, mustNew(t), tt.subject, companions.SkillsOffered); !slices.Equal(got, tt.want) {
			t.Errorf("%s:\n got %q\nwant %q", name, got, tt.want)
		}
	}
	none := it.NothingAvailable()
	none.Session.NSkillsOffered = new(int32(0))
	if got := told(t, mustNew(t), none, companions.SkillsOffered); got[0] != "not_applicable not_applicable" {
		t.Errorf("an empty catalogue: %q", got)
	}
}

func TestNoErrorUnhandled(t *testing.T) {
	// failing is a session whose calls end as told, with what the agent says last; "" it says nothing.
	failing := func(said string, outcomes ...string) evaluator.Subject {
		s := it.Loaded()
		s.Steps = s.Steps[:4]
		n := int32(5)
		for i, o := range outcomes {
			id := fmt.Sprint("c", i)
			tool, outcome, _ := strings.Cut(o, ":")
			s.Steps = append(s.Steps, schema.Step{Step: n, Turn: 2, Role: "assistant", Kind: "tool_call", Tool: tool, CallID: id, Arguments: `{"same":true}`, Outcome: outcome},
				schema.Step{Step: n + 1, Turn: 2, Role: "tool", Kind: "tool_result", Tool: tool, CallID: id, Outcome: outcome, Text: "out"})
			n += 2
		}
		if said != "" {
			s.Steps = append(s.Steps, schema.Step{Step: n, Turn: 2, Role: "assistant", Kind: "message", Text: said})
		}
		return s
	}
	withheld := failing("", "a:error")
	withheld.Session.ContentState = "partial"
	earlier := failing("Done.", "a:error")
	for i := range earlier.Steps {
		earlier.Steps[i].Earlier = true
	}
	for name, tt := range map[string]struct {
		subject evaluator.Subject
		want    string
	}{
		"no call failed":                       {failing("Done.", "a:ok"), "not_applicable not_applicable"},
		"tried again and it worked":            {failing("Done.", "a:error", "a:ok"), "met handled"},
		"another tool worked, nothing is said": {failing("Done.", "a:error", "b:ok"), "unclear unclear"},
		"the answer owns up":                   {failing("The search failed, so I could not tell.", "a:error"), "met handled"},
		"nothing came after it":                {failing("", "a:error"), "not_met passed_over"},
		"what came after is not recorded":      {withheld, "unclear unclear"},
		"three times the same":                 {failing("It failed.", "a:error", "a:error", "a:error"), "not_met passed_over"},
		"a denial is no error":                 {failing("Done.", "a:denied"), "not_applicable not_applicable"},
		"of an earlier conversation":           {earlier, "not_applicable not_applicable"},
	} {
		if got := told(t, mustNew(t), tt.subject, companions.NoErrorUnhandled); len(got) != 1 || got[0] != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// A missed expectation or an error passed over fails; what was on offer and not used fails nothing.
func TestGrade(t *testing.T) {
	for name, tt := range map[string]struct {
		expected  []evaluator.Expectation
		subject   evaluator.Subject
		pass      string
		undecided bool
	}{
		"expected and done":   {[]evaluator.Expectation{expects("log-triage", "run_shell")}, it.Loaded(), "true", false},
		"expected and missed": {[]evaluator.Expectation{expects("pdf:forms", "")}, it.Loaded(), "false", false},
		"nothing expected":    {nil, it.Loaded(), "", false},
		"skills not used":     {nil, it.NothingInvoked(), "", false},
	} {
		e := mustNew(t, tt.expected...)
		_, answers, err := e.Item(tt.subject, it.Nonce)
		if err != nil {
			t.Fatal(err)
		}
		g := e.Grade(answers)
		got := ""
		if g.Pass != nil {
			got = fmt.Sprint(*g.Pass)
		}
		if got != tt.pass || g.Undecided != tt.undecided || !g.Graded {
			t.Errorf("%s: pass %q, %+v", name, got, g)
		}
	}
	if _, err := mustNew(t).Read(&judge.Request{}, "{}"); err == nil {
		t.Error("a reply to a question that nobody asked was read")
	}
}

func TestVersionNamesTheExpectations(t *testing.T) {
	a, b, c := mustNew(t).Version(), mustNew(t, expects("x", "")).Version(), mustNew(t, expects("x", "")).Version()
	if a.Rendering == b.Rendering || b.Rendering != c.Rendering {
		t.Error("what is expected is part of what identifies the evaluator")
	}
	r := it.Rubric(t, companions.Name)
	r.Criteria = r.Criteria[1:]
	if _, err := companions.New(r, nil); err == nil {
		t.Error("a rubric of other criteria was taken")
	}
}

// Whatever a session holds: every criterion is answered, no criterion and item twice, and evidence names steps that there are.
func TestItem_Laws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := evaluator.Subject{Kind: "session", ID: "s", Session: &schema.Session{ContentState: rapid.SampledFrom([]string{"full", "partial", "missing"}).Draw(t, "content")}}
		names := []string{"a", "A", "a_b", "a-b", ""}
		for i := range rapid.IntRange(0, 8).Draw(t, "steps") {
			s.Steps = append(s.Steps, schema.Step{Step: int32(i + 1), Kind: rapid.SampledFrom([]string{"message", "tool_call", "tool_result", "skill_catalogue"}).Draw(t, "kind"),
				Role: rapid.SampledFrom([]string{"user", "assistant", "tool", "system"}).Draw(t, "role"), Tool: rapid.SampledFrom(names).Draw(t, "tool"), CallID: rapid.SampledFrom(names).Draw(t, "id"),
				Outcome: rapid.SampledFrom([]string{"ok", "error", "denied", ""}).Draw(t, "outcome"), Text: rapid.SampledFrom([]string{"", "- a: x\n- a_b", "It failed."}).Draw(t, "text")})
		}
		for i := range rapid.IntRange(0, 4).Draw(t, "skills") {
			s.Skills = append(s.Skills, schema.Skill{Attempt: int32(i + 1), Skill: rapid.SampledFrom(names).Draw(t, "skill"), Via: "tool",
				Outcome: rapid.SampledFrom([]string{"loaded", "refused", "attempted"}).Draw(t, "of")})
		}
		e, err := companions.New(mustRubric(t), []evaluator.Expectation{{Session: "s", Skill: "a", Tool: "a"}})
		if err != nil {
			t.Fatal(err)
		}
		_, answers, err := e.Item(s, it.Nonce)
		if err != nil {
			t.Fatal(err)
		}
		seen, criteria := map[[2]string]bool{}, map[string]bool{}
		for _, a := range answers {
			key := [2]string{a.Criterion, a.Item}
			if seen[key] {
				t.Fatalf("%v is answered twice", key)
			}
			seen[key], criteria[a.Criterion] = true, true
			for _, n := range a.EvidenceSteps {
				if n < 0 || n > len(s.Steps) {
					t.Fatalf("%v: step %d of %d", key, n, len(s.Steps))
				}
			}
		}
		if len(criteria) != 4 || !e.Grade(answers).Graded {
			t.Fatalf("%d criteria are answered", len(criteria))
		}
	})
}

func mustRubric(t *rapid.T) judge.Rubric {
	r, err := judge.Builtin(companions.Name)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
