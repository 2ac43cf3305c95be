package skillselection_test

import (
	"strings"
	"testing"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator/evaluatortest"
	it "github.com/tracejury/tracejury/judge/evaluator/invocation/invocationtest"
	"github.com/tracejury/tracejury/judge/evaluator/skillselection"
)

func mustNew(tb testing.TB, opts skillselection.Options) *skillselection.Evaluator {
	tb.Helper()
	e, err := skillselection.New(it.Rubric(tb, "skill_selection"), opts)
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

func TestContract(t *testing.T) {
	it.Contract(t, func(opts skillselection.Options) *skillselection.Evaluator { return mustNew(t, opts) })
}

func TestItem_GoldenPrompts(t *testing.T) {
	e, compat := mustNew(t, skillselection.Options{}), mustNew(t, skillselection.Options{Compat: true})
	loaded := it.Item(t, e, e.Split(it.Loaded())[0])
	strands := it.Item(t, compat, compat.Split(it.Refused())[0])
	evaluatortest.Golden(t, map[string]string{
		"system.txt": loaded.Request.System, "user.txt": loaded.Request.User, "schema.json": loaded.Request.Schema,
		"system-strands.txt": strands.Request.System, "user-refused-strands.txt": strands.Request.User,
	})
}

// What came after the load must not be in the question: no step, no count, no outcome.
func TestItem_NoHindsight(t *testing.T) {
	e := mustNew(t, skillselection.Options{})
	user := it.Item(t, e, e.Split(it.Loaded())[0]).Request.User
	for _, later := range []string{"disk", "sort api.log", "Thanks", "Sort the lines", `"turns":3`, `"outcome":"loaded"`, `"step":5,"turn"`} {
		if strings.Contains(user, later) {
			t.Errorf("the question holds %q, which came after the choice", later)
		}
	}
	for _, before := range []string{"Why did api.log fail", "Good morning", "Find the cause", `"skill":"pdf:forms"`, `"turns":2`} {
		if !strings.Contains(user, before) {
			t.Errorf("the question lacks %q, which came before the choice", before)
		}
	}
	if strings.Contains(user, `{"task":"Good morning`) {
		t.Error("the task is not the request of the turn that led to the load")
	}
}

func reply(verdict string) string {
	return `{"evidence_steps":[4],"reason":"It fits.","verdict":"` + verdict + `"}`
}

func TestRead(t *testing.T) {
	e, compat := mustNew(t, skillselection.Options{}), mustNew(t, skillselection.Options{Compat: true})
	req := &it.Item(t, e, e.Split(it.Loaded())[0]).Request
	for name, tc := range map[string]struct {
		ev   *skillselection.Evaluator
		text string
		want string // of the error; "" none
	}{
		"yes":             {e, reply("Yes"), ""},
		"no":              {e, reply("No"), ""},
		"unclear":         {e, reply("Unclear"), ""},
		"no way out":      {compat, reply("Unclear"), `"Unclear" is none of Yes, No`},
		"spelling":        {e, reply("yes"), `did you mean "Yes"`},
		"a later step":    {e, strings.Replace(reply("Yes"), "4", "8", 1), "8 is not among"},
		"no reason":       {e, strings.Replace(reply("Yes"), "It fits.", "", 1), "reason is empty"},
		"score as well":   {e, strings.Replace(reply("Yes"), "{", `{"score":1,`, 1), `unknown key "score"`},
		"lacks a verdict": {e, `{"evidence_steps":[],"reason":"r"}`, `lacks the key "verdict"`},
	} {
		t.Run(name, func(t *testing.T) { it.Read(t, tc.ev, req, tc.text, judge.ClassSchema, tc.want) })
	}
}

func TestNew_WantsItsRubric(t *testing.T) {
	r := it.Rubric(t, "skill_following")
	if _, err := skillselection.New(r, skillselection.Options{}); err == nil {
		t.Error("a five point rubric was taken")
	}
	if _, err := skillselection.New(it.Rubric(t, "skill_selection"), skillselection.Options{Mode: "session"}); err == nil {
		t.Error("an unknown mode was taken")
	}
}

func TestItem_WholeSessionIsAnError(t *testing.T) {
	if _, _, err := mustNew(t, skillselection.Options{}).Item(it.Loaded(), it.Nonce); err == nil {
		t.Error("a session that was not split became a question")
	}
}

func FuzzRead(f *testing.F) {
	f.Add(reply("Yes"))
	f.Add("```json\n{}\n```")
	e := mustNew(f, skillselection.Options{})
	req := &it.Item(f, e, e.Split(it.Loaded())[0]).Request
	f.Fuzz(func(t *testing.T, text string) {
		answers, err := e.Read(req, text)
		if (err == nil) != (len(answers) == 1) {
			t.Errorf("%d answers, error %v", len(answers), err)
		}
	})
}
