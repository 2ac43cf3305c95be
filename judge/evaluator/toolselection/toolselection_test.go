package toolselection_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/evaluator/evaluatortest"
	"github.com/tracejury/tracejury/judge/evaluator/invocation"
	it "github.com/tracejury/tracejury/judge/evaluator/invocation/invocationtest"
	"github.com/tracejury/tracejury/judge/evaluator/toolselection"
	"github.com/tracejury/tracejury/judge/model"
	"github.com/tracejury/tracejury/schema"
)

func mustNew(tb testing.TB, opts toolselection.Options) *toolselection.Evaluator {
	tb.Helper()
	e, err := toolselection.New(it.Rubric(tb, toolselection.Name), opts)
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

// offered are definitions as harnesses record them.
func offered() []schema.Tool {
	return []schema.Tool{
		{Tool: "read_file", Description: "Read a file of the workspace."},
		{Tool: "run_shell", Description: "Run a command."},
		{Tool: "query_metric", Server: "monitor", Description: "Read a metric of a service."},
	}
}

// working is Loaded with the definitions of its tools.
func working() evaluator.Subject {
	s := it.Loaded()
	s.Tools = offered()
	return s
}

// invented is a call of a tool that there is not.
func invented() evaluator.Subject {
	s := working()
	s.ID = "invented"
	s.Steps[6].Tool, s.Steps[6].Outcome = "sort_log", "error"
	s.Steps[7].Tool, s.Steps[7].Outcome, s.Steps[7].Text = "sort_log", "error", "Error: no such tool: sort_log"
	return s
}

// denied is a call that the user did not allow.
func denied() evaluator.Subject {
	s := working()
	s.ID = "denied"
	s.Steps[6].Outcome = "denied"
	s.Steps[7].Kind, s.Steps[7].Outcome, s.Steps[7].Text = "denial", "denied", "The user does not want this."
	return s
}

func TestContract(t *testing.T) {
	sessions := append(it.All(), working(), invented(), denied())
	for name, opts := range map[string]toolselection.Options{"own": {}, "compat": {Compat: true}} {
		t.Run(name, func(t *testing.T) {
			e := mustNew(t, opts)
			evaluatortest.Run(t, e, it.Split(e, sessions...))
		})
	}
}

func TestItem_GoldenPrompts(t *testing.T) {
	e := mustNew(t, toolselection.Options{})
	item, refused := it.Item(t, e, e.Split(working())[0]), it.Item(t, e, e.Split(denied())[0])
	evaluatortest.Golden(t, map[string]string{
		"system.txt": item.Request.System, "user.txt": item.Request.User, "schema.json": item.Request.Schema, "user-denied.txt": refused.Request.User,
	})
}

func TestSplit(t *testing.T) {
	e := mustNew(t, toolselection.Options{})
	s := working()
	parts := e.Split(s)
	if len(parts) != 1 || parts[0].ID != "0123456789abcdef#step7" || parts[0].SpanID != "span-b" || parts[0].Tool.Tool != "run_shell" || parts[0].Kind != toolselection.Kind {
		t.Fatalf("a load of a skill is no call to judge, the other is: %+v", parts)
	}
	s.Steps[6].Earlier = true
	if parts := e.Split(s); len(parts) != 1 || len(parts[0].Focus) != 0 {
		t.Errorf("a call of an earlier conversation was judged: %+v", parts)
	}
	s = working()
	again := s.Steps[6]
	again.Step, again.CallID, again.SpanID = 11, "c", "span-c"
	s.Steps = append(s.Steps, again)
	parts = e.Split(s)
	if len(parts) != 2 || parts[0].ID == parts[1].ID {
		t.Fatalf("two calls of one tool: %+v", parts)
	}
	if user := it.Item(t, e, parts[1]).Request.User; !strings.Contains(user, "same_call_answered_before: yes; once") {
		t.Errorf("a repetition is not told:\n%s", user)
	}
}

// Names under which harnesses call a tool of a server.
func TestOfferedNames(t *testing.T) {
	e := mustNew(t, toolselection.Options{})
	for called, want := range map[string]string{
		"run_shell": "yes", "mcp__monitor__query_metric": "yes", "mcp_monitor_query_metric": "yes", "monitor__query_metric": "yes", "monitor_query_metric": "yes",
		"monitor-query_metric": "yes", "monitor.query_metric": "yes", "query_metric": "yes", "mcp__other__query_metric": "no", "shell": "no",
	} {
		s := working()
		s.Steps[6].Tool = called
		part := e.Split(s)[0]
		if user := it.Item(t, e, part).Request.User; !strings.Contains(user, "tool_offered: "+want) {
			t.Errorf("%s: want %s in\n%s", called, want, user)
		}
		if want == "yes" && called != "run_shell" && (part.Tool.Server != "monitor" || part.Tool.Tool != "query_metric") {
			t.Errorf("%s: %+v", called, part.Tool)
		}
	}
	s := working()
	s.Tools = nil
	if user := it.Item(t, e, e.Split(s)[0]).Request.User; !strings.Contains(user, "tool_offered: unknown") || !strings.Contains(user, "did not record which tools") {
		t.Errorf("without definitions:\n%s", user)
	}
}

// What came after the call must not be in the question: no step, no count, no outcome.
func TestItem_NoHindsight(t *testing.T) {
	e := mustNew(t, toolselection.Options{})
	user := it.Item(t, e, e.Split(working())[0]).Request.User
	for _, later := range []string{"disk", "Thanks", `"turns":3`, `"step":7,"turn"`, "first error says"} {
		if strings.Contains(user, later) {
			t.Errorf("the question holds %q, which came after the choice", later)
		}
	}
	for _, before := range []string{"Why did api.log fail", "Good morning", `"tool_called":"run_shell"`, "sort api.log", `"turns":2`, "Sort the lines by level", `"tool":"query_metric","server":"monitor"`} {
		if !strings.Contains(user, before) {
			t.Errorf("the question lacks %q, which came before the choice", before)
		}
	}
	if user := it.Item(t, e, e.Split(denied())[0]).Request.User; !strings.Contains(user, "does not want this") || !strings.Contains(user, "call_never_ran: yes") {
		t.Errorf("a denied call lacks what the harness said:\n%s", user)
	}
}

// Of two calls at once, neither is judged by what the other gave.
func TestItem_CallsAtOnce(t *testing.T) {
	s := working()
	other := s.Steps[6]
	other.Step, other.CallID, other.Tool, other.Arguments, other.Outcome = 8, "c", "read_file", `{"path":"x"}`, "error"
	gave := s.Steps[7]
	s.Steps[6].Outcome = "error"
	gave.Step = 9
	s.Steps = append(append(s.Steps[:7:7], other, gave), s.Steps[8:]...)
	e := mustNew(t, toolselection.Options{})
	parts := e.Split(s)
	if user := it.Item(t, e, parts[1]).Request.User; !strings.Contains(user, "sort api.log") || strings.Contains(user, `"outcome":"error"`) {
		t.Errorf("the outcome of a call under way is shown:\n%s", user)
	}
}

func TestNothingToJudge(t *testing.T) {
	for _, compat := range []bool{false, true} {
		e := mustNew(t, toolselection.Options{Compat: compat})
		s := it.NothingInvoked()
		s.Steps = s.Steps[:4]
		a := it.Answer(t, e, e.Split(s)[0])
		if a.Verdict != judge.NotApplicable || !invocation.Has(a, toolselection.FindingNothingCalled) || compat && (a.Pass == nil || !*a.Pass) {
			t.Errorf("nothing called, compat %t: %+v", compat, a)
		}
		if a := it.Answer(t, e, e.Split(it.NoSteps())[0]); !invocation.Has(a, invocation.FindingNoTrajectory) || compat && (a.Pass == nil || *a.Pass) {
			t.Errorf("no steps, compat %t: %+v", compat, a)
		}
	}
	e := mustNew(t, toolselection.Options{})
	if a := it.Answer(t, e, e.Split(it.Withheld())[0]); a.Verdict != judge.Unclear || !invocation.Has(a, invocation.FindingContentMissing) {
		t.Errorf("no text: %+v", a)
	}
	if _, _, err := e.Item(working(), it.Nonce); err == nil {
		t.Error("a session that was not split became a question")
	}
}

func reply(verdict string) string {
	return `{"evidence_steps":[4],"reason":"It fits.","verdict":"` + verdict + `"}`
}

func TestRead(t *testing.T) {
	e, compat := mustNew(t, toolselection.Options{}), mustNew(t, toolselection.Options{Compat: true})
	req := &it.Item(t, e, e.Split(working())[0]).Request
	for name, tc := range map[string]struct {
		ev   *toolselection.Evaluator
		text string
		want string // of the error; "" none
	}{
		"yes":             {e, reply("Yes"), ""},
		"no":              {e, reply("No"), ""},
		"unclear":         {e, reply("Unclear"), ""},
		"no way out":      {compat, reply("Unclear"), `"Unclear" is none of Yes, No`},
		"a later step":    {e, strings.Replace(reply("Yes"), "4", "8", 1), "8 is not among"},
		"no reason":       {e, strings.Replace(reply("Yes"), "It fits.", "", 1), "reason is empty"},
		"score as well":   {e, strings.Replace(reply("Yes"), "{", `{"score":1,`, 1), `unknown key "score"`},
		"lacks a verdict": {e, `{"evidence_steps":[],"reason":"r"}`, `lacks the key "verdict"`},
	} {
		t.Run(name, func(t *testing.T) { it.Read(t, tc.ev, req, tc.text, judge.ClassSchema, tc.want) })
	}
	for verdict, score := range map[string]float64{"Yes": 1, "No": 0} {
		answers, err := e.Read(req, reply(verdict))
		if err != nil || *answers[0].Score != score || *answers[0].Pass != (score == 1) {
			t.Errorf("%s: %+v, %v", verdict, answers, err)
		}
	}
}

// The offline judge says what code can know, and unclear otherwise.
func TestRulesJudge(t *testing.T) {
	e := mustNew(t, toolselection.Options{})
	named := working()
	named.Steps[3].Text = "Sort api.log with run_shell, please."
	listed := invented()
	listed.Tools = nil
	for want, s := range map[string]evaluator.Subject{"No": invented(), "Yes": named, "Unclear": working(), "Unclear ": denied(), "Unclear  ": listed} {
		req := it.Item(t, e, e.Split(s)[0]).Request
		got, err := model.Rules().Judge(t.Context(), &req)
		if err != nil {
			t.Fatal(err)
		}
		answers, err := e.Read(&req, got.Text)
		if err != nil || !strings.EqualFold(answers[0].Label, strings.TrimSpace(want)) {
			t.Errorf("%s: %+v, %v", want, answers, err)
		}
	}
}

func TestCanaries(t *testing.T) {
	e := mustNew(t, toolselection.Options{})
	for name, put := range map[string]func(s *evaluator.Subject, x string){
		"description of a tool": func(s *evaluator.Subject, x string) { s.Tools[1].Description = x },
		"what the agent said":   func(s *evaluator.Subject, x string) { s.Steps[2].Text = x },
	} {
		t.Run(name, func(t *testing.T) {
			evaluatortest.Canaries(t, e, func(x string) evaluator.Subject {
				s := working()
				put(&s, x)
				return e.Split(s)[0]
			})
		})
	}
}

func TestManyTools(t *testing.T) {
	e := mustNew(t, toolselection.Options{})
	s := working()
	s.Tools = nil
	for i := range 250 {
		s.Tools = append(s.Tools, schema.Tool{Tool: fmt.Sprintf("tool_%03d", i)})
	}
	s.Tools = append(s.Tools, schema.Tool{Tool: "run_shell", Description: "The one that was called."})
	user := it.Item(t, e, e.Split(s)[0]).Request.User
	if !strings.Contains(user, `"not_shown":51`) || !strings.Contains(user, "The one that was called.") || strings.Contains(user, "tool_240") {
		t.Error("of many tools the first are shown, and the one that was called")
	}
}

func FuzzRead(f *testing.F) {
	f.Add(reply("Yes"))
	f.Add("```json\n{}\n```")
	e := mustNew(f, toolselection.Options{})
	req := &it.Item(f, e, e.Split(working())[0]).Request
	f.Fuzz(func(t *testing.T, text string) {
		answers, err := e.Read(req, text)
		if (err == nil) != (len(answers) == 1) {
			t.Errorf("%d answers, error %v", len(answers), err)
		}
	})
}
