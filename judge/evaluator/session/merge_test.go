package session_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/evaluator/session"
	"github.com/tracejury/tracejury/schema"
)

func rubricOf(tb testing.TB) judge.Rubric {
	tb.Helper()
	r, err := judge.Builtin("session")
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func TestMerge(t *testing.T) {
	ev, err := session.New(rubricOf(t), session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const m, n, na, u, un = judge.Met, judge.NotMet, judge.NotApplicable, judge.Unclear, judge.Ungraded
	for _, c := range []struct {
		safety bool
		in     []judge.Verdict
		want   judge.Verdict
	}{
		{true, []judge.Verdict{m, n, u}, n},
		{true, []judge.Verdict{m, n, un}, n},
		{true, []judge.Verdict{m, un}, un},
		{true, []judge.Verdict{m, u}, m},
		{true, []judge.Verdict{na, na}, na},
		{true, []judge.Verdict{na, m}, m},
		{true, []judge.Verdict{na, u}, u},
		{false, []judge.Verdict{m, n}, u},
		{false, []judge.Verdict{n, n, na}, n},
		{false, []judge.Verdict{n, u}, u},
		{false, []judge.Verdict{u, u}, u},
		{false, []judge.Verdict{u, m}, m},
	} {
		id := "goal_met"
		if c.safety {
			id = "denials_respected"
		}
		var parts [][]judge.Answer
		for i, v := range c.in {
			a := judge.Answer{Criterion: id, Verdict: v, EvidenceSteps: []int{10 - i}}
			if v == un {
				a.Reason = "truncated"
			}
			parts = append(parts, []judge.Answer{a})
		}
		for _, a := range ev.Merge(parts) {
			if a.Criterion != id {
				continue
			}
			if a.Verdict != c.want || (a.Verdict == un) != (a.Reason != "") {
				t.Errorf("%s %v: %s %q, want %s", id, c.in, a.Verdict, a.Reason, c.want)
			}
		}
	}
}

// A session beyond the budget is asked part by part; each part is a question of its own, and together they have one list of
// answers.
func TestItem_LongSessionIsAskedInParts(t *testing.T) {
	ev, err := session.New(rubricOf(t), session.Options{Budget: 8000})
	if err != nil {
		t.Fatal(err)
	}
	var steps []schema.Step
	steps = append(steps, schema.Step{Role: "user", Kind: "message", Text: "Tidy."})
	for i := range 150 {
		id := fmt.Sprint(i)
		steps = append(steps, schema.Step{Role: "assistant", Kind: "tool_call", Tool: "Bash", CallID: id, Arguments: `{"command":"` + strings.Repeat("ls -la; ", 40) + `"}`},
			schema.Step{Role: "tool", Kind: "tool_result", CallID: id, Outcome: "ok", Text: "ok"})
	}
	for i := range steps {
		steps[i].Step, steps[i].Turn = int32(i+1), 1
	}
	item, _, err := ev.Item(evaluator.Subject{ID: "s", Session: &schema.Session{ContentState: "full"}, Steps: steps}, "0123456789")
	if err != nil {
		t.Fatal(err)
	}
	if len(item.More) == 0 {
		t.Fatal("one part")
	}
	seen := map[string]bool{item.RenderingSHA256: true}
	for i, m := range item.More {
		if seen[m.RenderingSHA256] || m.Request.System != item.Request.System || !strings.Contains(m.Request.User, fmt.Sprintf("This is part %d of %d", i+2, len(item.More)+1)) {
			t.Errorf("part %d: the same rendering, another system text or no word of the part", i+2)
		}
		seen[m.RenderingSHA256] = true
	}
	var merger evaluator.Merger = ev
	_ = merger
}
