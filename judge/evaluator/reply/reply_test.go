package reply_test

import (
	"strings"
	"testing"

	"github.com/tracejury/tracejury/judge/evaluator/reply"
)

func TestParse(t *testing.T) {
	for name, tc := range map[string]struct {
		in   string
		want string // part of the error; "" accepts
	}{
		"plain":              {`{"a":1}`, ""},
		"fence":              {"```json\n{\"a\":1}\n```", ""},
		"prose around":       {"Here it is: {\"a\":1} as asked.", ""},
		"prose with braces":  {"The set {x, y}: {\"a\":1}", ""},
		"two objects":        {`{"a":1} {"a":2}`, "2 JSON objects"},
		"echo and answer":    {"You said {\"a\":0}.\n```json\n{\"a\":1}\n```", "2 JSON objects"},
		"cut":                {`{"a":[1,2`, "no complete JSON object"},
		"empty":              {" \n", "empty"},
		"list":               {`[{"a":1},{"a":2}]`, "2 JSON objects"},
		"key twice":          {`{"a":1,"a":2}`, `"a" twice`},
		"key twice below":    {`{"a":[{"b":1,"b":1}]}`, `"b" twice`},
		"deep":               {`{"a":` + strings.Repeat("[", 20) + strings.Repeat("]", 20) + "}", "deep"},
		"many open brackets": {strings.Repeat("{", 500_000), "no complete JSON object"},
		"huge":               {strings.Repeat(" ", 2<<20), "bytes long"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := reply.Parse(tc.in)
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("error %v", err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

func TestObject_FieldsAreStrict(t *testing.T) {
	o, err := reply.Parse(`{"id":"a","steps":[1,2.5],"ok":"true","Verdict":"met"}`)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Only("x", "id", "steps", "ok"); err == nil || !strings.Contains(err.Error(), `unknown key "Verdict"`) {
		t.Errorf("error %v", err)
	}
	if err := o.Only("x", "id", "steps", "ok", "verdict"); err == nil || !strings.Contains(err.Error(), `lacks the key "verdict"`) {
		t.Errorf("another case passed for the key: %v", err)
	}
	if _, err := o.Ints("x", "steps"); err == nil {
		t.Error("2.5 is a step")
	}
	if _, err := o.Bool("x", "ok"); err == nil {
		t.Error(`"true" is a truth value`)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("```json\n{\"criteria\":[]}\n```")
	f.Add(`{"a":{"a":{"a":1e999}}}`)
	f.Add(`x{y{"a":1}`)
	f.Fuzz(func(t *testing.T, text string) {
		o, err := reply.Parse(text)
		if err == nil && o == nil {
			t.Error("neither object nor error")
		}
	})
}
