package skillfollowing_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/evaluator/evaluatortest"
	it "github.com/tracejury/tracejury/judge/evaluator/invocation/invocationtest"
	"github.com/tracejury/tracejury/judge/evaluator/skillfollowing"
)

func mustNew(tb testing.TB, opts skillfollowing.Options) *skillfollowing.Evaluator {
	tb.Helper()
	e, err := skillfollowing.New(it.Rubric(tb, "skill_following"), opts)
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

func TestContract(t *testing.T) {
	it.Contract(t, func(opts skillfollowing.Options) *skillfollowing.Evaluator { return mustNew(t, opts) })
}

func TestItem_GoldenPrompts(t *testing.T) {
	e, compat := mustNew(t, skillfollowing.Options{}), mustNew(t, skillfollowing.Options{Compat: true})
	loaded := it.Item(t, e, e.Split(it.Loaded())[0])
	evaluatortest.Golden(t, map[string]string{
		"system.txt": loaded.Request.System, "user.txt": loaded.Request.User, "schema.json": loaded.Request.Schema,
		"system-strands.txt": it.Item(t, compat, compat.Split(it.Loaded())[0]).Request.System,
	})
}

// The whole session is context; the load is marked, and the instructions are sent once.
func TestItem_WholeSessionWithThePlaceOfTheLoad(t *testing.T) {
	e := mustNew(t, skillfollowing.Options{})
	user := it.Item(t, e, e.Split(it.Loaded())[0]).Request.User
	for _, want := range []string{"Good morning.", "Thanks, that was it.", `"loaded_at_step":5`, `{"instruction":"2. Count the errors."}`, "acted_after_load: yes; 1 calls, 1 messages"} {
		if !strings.Contains(user, want) {
			t.Errorf("lacks %q", want)
		}
	}
	if n := strings.Count(user, "the skill is loaded here"); n != 1 || !strings.Contains(user, `"outcome":"ok","note":"the skill is loaded here"`) {
		t.Errorf("the load is marked %d times", n)
	}
	if n := strings.Count(user, "Count the errors"); n != 1 {
		t.Errorf("the instructions are sent %d times", n)
	}
}

// step is one step of a reply.
func step(text, evidence, status string) string {
	return fmt.Sprintf(`{"step":%q,"evidence_steps":[%s],"status":%q}`, text, evidence, status)
}

func reply(rating string, steps ...string) string {
	return fmt.Sprintf(`{"steps":[%s],"reason":"Two of three.","rating":%q}`, strings.Join(steps, ","), rating)
}

func three() []string {
	return []string{step("sort", "7", "covered"), step("count", "", "skipped"), step("name the first", "8,9", "covered")}
}

func TestRead(t *testing.T) {
	e, compat := mustNew(t, skillfollowing.Options{}), mustNew(t, skillfollowing.Options{Compat: true})
	req := &it.Item(t, e, e.Split(it.Loaded())[0]).Request
	for name, tc := range map[string]struct {
		ev   *skillfollowing.Evaluator
		text string
		want string // of the error; "" none
	}{
		"good":              {e, reply("Mostly Followed", three()...), ""},
		"unclear":           {e, reply("Unclear", three()[0]), ""},
		"no way out":        {compat, reply("Unclear", three()...), `"Unclear" is none of`},
		"spelling":          {e, reply("Mostly followed", three()...), `did you mean "Mostly Followed"`},
		"no evidence":       {e, reply("Fully Followed", step("sort", "", "covered")), "without evidence"},
		"a step not shown":  {e, reply("Fully Followed", step("sort", "77", "covered")), "77 is not among"},
		"another status":    {e, reply("Fully Followed", step("sort", "7", "done")), `"done" is none of covered, partial, skipped`},
		"an empty step":     {e, reply("Fully Followed", step(" ", "7", "covered")), "step is empty"},
		"coverage as well":  {e, strings.Replace(reply("Fully Followed", three()...), "{", `{"coverage":1,`, 1), `unknown key "coverage"`},
		"an extra step key": {e, strings.Replace(reply("Fully Followed", three()...), `"step":"sort"`, `"step":"sort","why":"x"`, 1), `unknown key "why"`},
	} {
		t.Run(name, func(t *testing.T) { it.Read(t, tc.ev, req, tc.text, judge.ClassSchema, tc.want) })
	}
}

func TestRead_StepsAreKeptMaskedAndUnquoted(t *testing.T) {
	e := mustNew(t, skillfollowing.Options{Mask: func(s string) string { return strings.ReplaceAll(s, "hunter2", "[MASKED:password]") }})
	req := &it.Item(t, e, e.Split(it.Loaded())[0]).Request
	answers, err := e.Read(req, reply("Mostly Followed", step("use hunter2", "7", "covered"), step("The first error says that the disk was full.", "9", "covered")))
	if err != nil {
		t.Fatal(err)
	}
	var steps []skillfollowing.Step
	if err := json.Unmarshal([]byte(answers[0].Steps), &steps); err != nil || len(steps) != 2 {
		t.Fatalf("%v %v", steps, err)
	}
	if steps[0].Step != "use [MASKED:password]" || !strings.Contains(steps[1].Step, "withheld") {
		t.Errorf("%+v", steps)
	}
}

func TestRead_MissingIsNotBad(t *testing.T) {
	e := mustNew(t, skillfollowing.Options{})
	s := it.Loaded()
	s.Session.ContentState, s.Session.Missing = "partial", []string{"tool_arguments"}
	for i := range s.Steps {
		s.Steps[i].Arguments = ""
	}
	req := &it.Item(t, e, e.Split(s)[0]).Request
	if !strings.Contains(req.User, "never exported: arguments of tool calls") {
		t.Error("the prompt does not say what is missing")
	}
	_, err := e.Read(req, reply("Not Followed", step("sort", "", "skipped")))
	if bad, ok := errors.AsType[*evaluator.InvalidReply](err); !ok || bad.Class != judge.ClassContradict {
		t.Errorf("error %v", err)
	}
}

func TestContradicts(t *testing.T) {
	of := func(covered, partial, skipped int) (out []skillfollowing.Step) {
		for status, n := range map[string]int{skillfollowing.Covered: covered, skillfollowing.Partial: partial, skillfollowing.Skipped: skipped} {
			for range n {
				out = append(out, skillfollowing.Step{Status: status})
			}
		}
		return out
	}
	for name, tc := range map[string]struct {
		score float64
		steps []skillfollowing.Step
		want  bool
	}{
		"full":                   {1, of(3, 0, 0), false},
		"full but skipped":       {1, of(9, 0, 1), true},
		"mostly":                 {0.75, of(3, 0, 1), false},
		"mostly of a half":       {0.75, of(2, 0, 2), false},
		"mostly of nothing":      {0.75, of(0, 0, 4), true},
		"fully of nothing":       {1, of(0, 0, 4), true},
		"nothing of all":         {0, of(4, 0, 0), true},
		"nothing with one":       {0, of(1, 0, 9), true},
		"minimally of a partial": {0.25, of(0, 1, 1), false},
	} {
		if got := skillfollowing.Contradicts(tc.score, tc.steps); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestCoverage_Laws(t *testing.T) {
	status := rapid.SampledFrom([]string{skillfollowing.Covered, skillfollowing.Partial, skillfollowing.Skipped})
	rapid.Check(t, func(t *rapid.T) {
		var steps []skillfollowing.Step
		for range rapid.IntRange(1, 20).Draw(t, "n") {
			steps = append(steps, skillfollowing.Step{Status: status.Draw(t, "status")})
		}
		c := skillfollowing.Coverage(steps)
		if c < 0 || c > 1 {
			t.Fatalf("coverage %v", c)
		}
		if better := skillfollowing.Coverage(append(steps, skillfollowing.Step{Status: skillfollowing.Covered})); better < c {
			t.Fatalf("one more covered step: %v after %v", better, c)
		}
	})
}

func FuzzRead(f *testing.F) {
	f.Add(reply("Mostly Followed", three()...))
	f.Add(reply("Not Followed"))
	e := mustNew(f, skillfollowing.Options{})
	req := &it.Item(f, e, e.Split(it.Loaded())[0]).Request
	f.Fuzz(func(t *testing.T, text string) {
		answers, err := e.Read(req, text)
		if (err == nil) != (len(answers) == 1) {
			t.Errorf("%d answers, error %v", len(answers), err)
		}
	})
}
