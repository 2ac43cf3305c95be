// Package invocationtest holds small invented sessions with skills, with the checks that their evaluators share, for the tests of
// evaluators.
package invocationtest

import (
	"errors"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/evaluator/evaluatortest"
	"github.com/tracejury/tracejury/judge/evaluator/invocation"
	"github.com/tracejury/tracejury/schema"
)

// Nonce of tests.
const Nonce = "7f3a90bc11d2"

// Rubric is a built-in rubric.
func Rubric(tb testing.TB, name string) judge.Rubric {
	tb.Helper()
	r, err := judge.Builtin(name)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// Body of the skill that Loaded loads.
const Body = "# Log triage\n\n1. Sort the lines by level.\n2. Count the errors.\n3. Name the first error."

// Catalogue of the sessions.
const Catalogue = "- log-triage: Find the cause of an error in a log.\n- pdf:forms: Fill in PDF forms.\n- bare-one"

func step(n, turn int32, role, kind, text string) schema.Step {
	return schema.Step{Step: n, Turn: turn, Role: role, Kind: kind, Text: text, Agent: "ops"}
}

func call(n, turn int32, tool, id, args, outcome string) schema.Step {
	return schema.Step{Step: n, Turn: turn, Role: "assistant", Kind: "tool_call", Tool: tool, CallID: id, Arguments: args, Outcome: outcome, Agent: "ops", SpanID: "span-" + id}
}

func result(n, turn int32, tool, id, outcome, text string) schema.Step {
	return schema.Step{Step: n, Turn: turn, Role: "tool", Kind: "tool_result", Tool: tool, CallID: id, Outcome: outcome, Text: text, Agent: "ops", SpanID: "span-" + id}
}

// Loaded is a session of two turns; the second loads log-triage and follows two of its three steps.
func Loaded() evaluator.Subject {
	return evaluator.Subject{
		Kind: "session", ID: "0123456789abcdef", Revision: "r1",
		Session: &schema.Session{SessionKey: "0123456789abcdef", Service: "ops", Harness: "demo", NTurns: 3, NToolCalls: 2, NSkillsOffered: new(int32(3)), NSkillsLoaded: 1, ContentState: "full"},
		Steps: []schema.Step{
			step(1, 0, "system", "skill_catalogue", Catalogue),
			step(2, 1, "user", "message", "Good morning."),
			step(3, 1, "assistant", "message", "Good morning. What can I do?"),
			step(4, 2, "user", "message", "Why did api.log fail at noon?"),
			call(5, 2, "load_skill", "a", `{"skill_name":"log-triage"}`, "ok"),
			result(6, 2, "load_skill", "a", "ok", Body),
			call(7, 2, "run_shell", "b", `{"command":"sort api.log"}`, "ok"),
			result(8, 2, "run_shell", "b", "ok", "ERROR disk full"),
			step(9, 2, "assistant", "message", "The first error says that the disk was full."),
			step(10, 3, "user", "message", "Thanks, that was it."),
		},
		Skills: []schema.Skill{{Attempt: 1, Skill: "log-triage", SkillKey: "log-triage", Via: "tool", Outcome: "loaded", CatalogueState: "listed", Offered: new(true),
			Description: "Find the cause of an error in a log.", BodyState: "captured", Body: Body, Step: new(int32(5)), Agent: "ops", CallID: "a", SpanID: "span-a"}},
	}
}

// Refused is a session in which a skill is refused that does not exist.
func Refused() evaluator.Subject {
	s := Loaded()
	s.ID = "refused"
	s.Steps[5].Text, s.Steps[5].Outcome, s.Steps[4].Outcome = "Skill 'log-triag' not found. Available skills: log-triage", "refused", "refused"
	s.Steps[4].Arguments = `{"skill_name":"log-triag"}`
	k := &s.Skills[0]
	k.Skill, k.SkillKey, k.Outcome, k.Refusal = "log-triag", "log-triag", "refused", s.Steps[5].Text
	k.Offered, k.Description, k.BodyState, k.Body = new(false), "", "missing", ""
	return s
}

// Retried is Refused, and then a load under the right name; the harness folds both to one skill.
func Retried() evaluator.Subject {
	s := Loaded()
	s.ID = "retried"
	first := s.Skills[0]
	first.Skill, first.Outcome, first.Refusal, first.BodyState, first.Body = "Log_Triage", "refused", "Skill 'Log_Triage' not found.", "missing", ""
	s.Skills[0].Attempt, s.Skills[0].Step, s.Skills[0].SpanID = 2, new(int32(7)), "span-b"
	s.Skills = append([]schema.Skill{first}, s.Skills...)
	return s
}

// Two is a session that loads two skills, the first of them twice.
func Two() evaluator.Subject {
	s := Loaded()
	s.ID = "two"
	again, other := s.Skills[0], s.Skills[0]
	other.Attempt, other.Skill, other.SkillKey, other.Step, other.SpanID = 2, "pdf:forms", "pdf:forms", new(int32(7)), "span-b"
	other.Body, other.Description = "1. Open the form.\n2. Fill it in.", "Fill in PDF forms."
	again.Attempt, again.Step, again.SpanID, again.Body = 3, new(int32(9)), "span-c", ""
	again.BodyState = "missing"
	s.Skills = append(s.Skills, other, again)
	return s
}

// NothingInvoked is a session that was offered skills and loaded none.
func NothingInvoked() evaluator.Subject {
	s := Loaded()
	s.ID, s.Skills = "nothing-invoked", nil
	return s
}

// NothingAvailable is a session without a catalogue and without a load.
func NothingAvailable() evaluator.Subject {
	s := Loaded()
	s.ID, s.Skills, s.Steps = "nothing-available", nil, s.Steps[1:]
	s.Session.NSkillsOffered = nil
	return s
}

// Unrecorded is a load by a harness that records no catalogue.
func Unrecorded() evaluator.Subject {
	s := Loaded()
	s.ID, s.Steps = "unrecorded", s.Steps[1:]
	s.Session.NSkillsOffered = nil
	k := &s.Skills[0]
	k.CatalogueState, k.Offered, k.Description = "unrecorded", nil, ""
	return s
}

// Withheld is a load in a session of which no text was exported.
func Withheld() evaluator.Subject {
	s := Unrecorded()
	s.ID = "withheld"
	s.Session.ContentState, s.Session.Missing = "missing", []string{"user_prompt", "assistant_text", "tool_arguments", "tool_results"}
	for i := range s.Steps {
		s.Steps[i].Text, s.Steps[i].Arguments = "", ""
	}
	k := &s.Skills[0]
	k.BodyState, k.Body, k.Skill, k.SkillKey = "missing", "", "custom_skill", "custom-skill"
	return s
}

// NoSteps is a session without a step.
func NoSteps() evaluator.Subject {
	return evaluator.Subject{Kind: "session", ID: "no-steps", Session: &schema.Session{ContentState: "full"}}
}

// Split is every subject that an evaluator makes of sessions.
func Split(ev evaluator.Splitter, sessions ...evaluator.Subject) []evaluator.Subject {
	var out []evaluator.Subject
	for _, s := range sessions {
		out = append(out, ev.Split(s)...)
	}
	return out
}

// Item is the question that an evaluator asks about a subject.
func Item(tb testing.TB, ev evaluator.Evaluator, s evaluator.Subject) *evaluator.Item {
	tb.Helper()
	item, answers, err := ev.Item(s, Nonce)
	if err != nil || item == nil {
		tb.Fatalf("subject %s: item %v, answers %v, error %v", s.ID, item, answers, err)
	}
	return item
}

// Answer is the one answer that an evaluator gives without asking.
func Answer(tb testing.TB, ev evaluator.Evaluator, s evaluator.Subject) judge.Answer {
	tb.Helper()
	item, answers, err := ev.Item(s, Nonce)
	if err != nil || item != nil || len(answers) != 1 {
		tb.Fatalf("subject %s: item %v, answers %v, error %v", s.ID, item, answers, err)
	}
	return answers[0]
}

// All is every session of this package.
func All() []evaluator.Subject {
	return []evaluator.Subject{Loaded(), Refused(), Retried(), Two(), NothingInvoked(), NothingAvailable(), Unrecorded(), Withheld(), NoSteps()}
}

// Contract runs the contract suite over every session, in each mode and in compatibility with Strands.
func Contract[E interface {
	evaluator.Evaluator
	evaluator.Splitter
}](t *testing.T, make func(invocation.Options) E) {
	t.Helper()
	for name, opts := range map[string]invocation.Options{"per skill": {}, "per invocation": {Mode: invocation.PerLoad}, "strands": {Compat: true}} {
		t.Run(name, func(t *testing.T) {
			e := make(opts)
			evaluatortest.Run(t, e, Split(e, All()...))
		})
	}
}

// Read checks what an evaluator makes of a reply: one that it takes, with want "", or an error of a class that holds want.
func Read(t *testing.T, ev evaluator.Evaluator, req *judge.Request, text string, class judge.Class, want string) {
	t.Helper()
	answers, err := ev.Read(req, text)
	if want == "" {
		if err != nil || len(answers) == 0 {
			t.Errorf("answers %v, error %v", answers, err)
		}
		return
	}
	if bad, ok := errors.AsType[*evaluator.InvalidReply](err); !ok || bad.Class != class || !strings.Contains(bad.Message, want) || answers != nil {
		t.Errorf("answers %v, error %v, want %s with %q", answers, err, class, want)
	}
}
