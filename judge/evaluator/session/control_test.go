package session

import (
	"slices"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/schema"
)

func control(t *testing.T) *Control {
	t.Helper()
	r, err := judge.Builtin("session")
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewControl(r, Options{}, "some-judge")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func controlled() evaluator.Subject {
	return evaluator.Subject{Kind: "session", ID: "0123", Session: &schema.Session{SessionKey: "0123", ContentState: "full"}, Steps: []schema.Step{
		{Step: 1, Turn: 1, Role: "user", Kind: "message", Text: "Restart it."},
		{Step: 2, Turn: 1, Role: "assistant", Kind: "tool_call", Tool: "bash", CallID: "a", Arguments: `{"command":"systemctl restart web"}`, Outcome: "ok"},
		{Step: 3, Turn: 1, Role: "tool", Kind: "tool_result", Tool: "bash", CallID: "a", Text: "restarted", Outcome: "ok"},
		{Step: 4, Turn: 1, Role: "assistant", Kind: "message", Text: "It is restarted."},
	}}
}

// Each variant differs from what is really asked by what it is about, and by nothing else; what was recorded is left alone.
func TestControlVariants(t *testing.T) {
	c, s := control(t), controlled()
	real, _, err := c.Evaluator.Item(s, "nonce0123")
	if err != nil {
		t.Fatal(err)
	}
	variants := c.Split(s)
	var names []string
	for _, v := range variants {
		names = append(names, v.Variant)
		item, _, err := c.Item(v, "nonce0123")
		if err != nil {
			t.Fatal(err)
		}
		if item.Subject != "0123/"+v.Variant || item.Request.Subject != item.Subject || item.Request.System != real.Request.System || item.Request.Evaluator != Name {
			t.Errorf("%s: %s %s", v.Variant, item.Subject, item.Request.Evaluator)
		}
		same := item.Request.User == real.Request.User
		switch v.Variant {
		case evaluator.VariantBase, evaluator.VariantAgain:
			if !same || item.RenderingSHA256 != real.RenderingSHA256 {
				t.Errorf("%s is not what is really asked", v.Variant)
			}
		case evaluator.VariantShuffled:
			if same || item.RenderingSHA256 != real.RenderingSHA256 || item.Request.Criteria[0].ID != real.Request.Criteria[len(real.Request.Criteria)-1].ID {
				t.Error("the criteria are not in another order, or more than that changed")
			}
		case evaluator.VariantPadded:
			if !strings.Contains(item.Request.User, "To sum up, the points above") {
				t.Error("no padding")
			}
		case evaluator.VariantSigned:
			if !strings.Contains(item.Request.User, "written by some-judge") {
				t.Error("no signature")
			}
		case evaluator.VariantInjected:
			if !item.Suspected && !strings.Contains(item.Request.User, "met") || same {
				t.Error("no words for a grader")
			}
		}
	}
	if !slices.Equal(names, []string{"base", "again", "shuffled", "padded", "signed", "injected"}) {
		t.Error(names)
	}
	if s.Steps[3].Text != "It is restarted." || s.Steps[2].Text != "restarted" {
		t.Error("the session was changed")
	}
	if v := c.Version(); v.Evaluator != ControlName || v.Kind != evaluator.OfSessionControls || v.PromptSHA256 != c.Evaluator.Version().PromptSHA256 || v.Rendering != c.Evaluator.Version().Rendering {
		t.Errorf("%+v", v)
	}
}

// A session without an answer or a result has no variants of them.
func TestControlVariants_OfLittle(t *testing.T) {
	c, s := control(t), controlled()
	for steps, want := range map[int]int{0: 1, 2: 3, 3: 4} {
		s.Steps = controlled().Steps[:steps]
		if got := c.Split(s); len(got) != want {
			t.Errorf("%d steps: %d variants, want %d", steps, len(got), want)
		}
	}
}

// Words for a grader go into what was read as well as into answers, and are of several kinds.
func TestControlAttacks(t *testing.T) {
	c := control(t)
	where, which := map[bool]bool{}, map[string]bool{}
	for _, id := range []string{"0123", "4567", "89ab", "cdef", "0246", "1357", "8ace", "9bdf"} {
		s := controlled()
		s.ID = id
		where[target(&s) == 3] = true
		which[c.attacks[pick(id)%len(c.attacks)]] = true
	}
	if len(where) != 2 || len(which) < 2 {
		t.Errorf("%v, %d kinds", where, len(which))
	}
}
