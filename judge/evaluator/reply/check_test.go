package reply_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/evaluator/reply"
)

func TestChecks(t *testing.T) {
	o, err := reply.Parse(`{"verdict":"Yse","reason":"  ","long":"` + strings.Repeat("é", 30) + `","steps":[3,1,3],"far":[9],"many":[1,2,3],"words":["b","a","b"],"odd":["a",5],"text":"x"}`)
	if err != nil {
		t.Fatal(err)
	}
	shown := map[int]bool{1: true, 2: true, 3: true}
	if _, err := o.Enum("r", "verdict", []string{"Yes", "No"}); err == nil || !strings.Contains(err.Error(), `did you mean "Yes"`) {
		t.Errorf("enum: %v", err)
	}
	if _, err := o.Text("r", "reason", 10); err == nil {
		t.Error("an empty text was taken")
	}
	if s, err := o.Text("r", "long", 10); err != nil || s != strings.Repeat("é", 10)+"…" {
		t.Errorf("text: %q %v", s, err)
	}
	if n, err := o.Evidence("r", "steps", 5, shown); err != nil || !slices.Equal(n, []int{1, 3}) {
		t.Errorf("evidence: %v %v", n, err)
	}
	for _, key := range []string{"far", "many", "text"} {
		if n, err := o.Evidence("r", key, 2, shown); err == nil {
			t.Errorf("%s: %v", key, n)
		}
	}
	if w, err := o.Enums("r", "words", []string{"a", "b", "c"}); err != nil || !slices.Equal(w, []string{"a", "b"}) {
		t.Errorf("enums: %v %v", w, err)
	}
	for _, key := range []string{"odd", "text"} {
		if w, err := o.Enums("r", key, []string{"a"}); err == nil {
			t.Errorf("%s: %v", key, w)
		}
	}
}

func TestOne(t *testing.T) {
	class := func(err error) judge.Class {
		bad, ok := errors.AsType[*evaluator.InvalidReply](err)
		if !ok {
			return ""
		}
		return bad.Class
	}
	for want, fault := range map[judge.Class]error{judge.ClassSchema: errors.New("x"), judge.ClassContradict: reply.Invalid(judge.ClassContradict, errors.New("x"))} {
		if answers, err := reply.One(`{"a":1}`, func(reply.Object) (judge.Answer, error) { return judge.Answer{}, fault }, "a"); answers != nil || class(err) != want {
			t.Errorf("%v: %v %v", want, answers, err)
		}
	}
	if answers, err := reply.One(`{"a":1}`, func(reply.Object) (judge.Answer, error) { return judge.Answer{Label: "l"}, nil }, "a"); err != nil || len(answers) != 1 {
		t.Errorf("%v %v", answers, err)
	}
	if _, err := reply.One(`{"b":1}`, nil, "a"); class(err) != judge.ClassSchema {
		t.Errorf("error %v", err)
	}
}
