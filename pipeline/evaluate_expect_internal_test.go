package pipeline

import (
	"strings"
	"testing"
)

// The forms that expectations come in, and what is told of those that are none.
func TestParseExpectations(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"a list":               {"- session: a\n  expected_skill: x\n", ""},
		"after a comment":      {"# mine\n\n- session: a\n  expected_skill: x\n", ""},
		"an object with cases": {"cases:\n  - session: a\n    expected_skill: x\n", ""},
		"JSON lines":           {"{\"session\":\"a\",\"expected_skill\":\"x\"}\n{\"session\":\"b\",\"expected_tool\":\"y\"}\n", ""},
		"one JSON line":        {"{\"session\":\"a\",\"expected_skill\":\"x\"}\n", ""},
		"a Strands case":       {"[{\"name\":\"n\",\"input\":\"hi\",\"expected_output\":\"o\",\"expected_trajectory\":[],\"metadata\":{\"expected_skill\":\"x\"}}]", ""},
		"a misspelled key":     {"- session: a\n  expected_skil: x\n", `did you mean "expected_skill"`},
		"text":                 {"hello", "want a list of cases"},
		"a number":             {"7", "want a list of cases"},
		"not YAML":             {"- [", "["},
	} {
		cases, err := parseExpectations([]byte(tt.text))
		if tt.want == "" && (err != nil || len(cases) == 0) || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %d cases, %v", name, len(cases), err)
		}
	}
}
