package model

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/judge"
)

// ruleUnclear is the answer of every evaluator but the session's where code cannot tell.
const ruleUnclear = "Unclear"

// otherRules answers the requests about skills, skill packages and tool descriptions.
func otherRules(req *judge.Request) (judge.Reply, error) {
	var out any
	switch req.Evaluator {
	case "skill_selection":
		out = selectionReply(req)
	case "skill_following":
		out = followingReply(req)
	case "skill_relevance", "skill_completeness", "skill_threat":
		out = packageReply(req)
	case "tool_description":
		out = toolReply(req)
	default:
		if req.ByCode != "" {
			return judge.Reply{Text: req.ByCode, StopReason: "end_turn"}, nil
		}
		if out = unclearReply(req.Schema); out == nil {
			return judge.Reply{}, noRules(fmt.Errorf("code cannot tell, and the schema of the evaluator %q has no %s", req.Evaluator, ruleUnclear))
		}
	}
	text, err := json.Marshal(out)
	if err != nil {
		return judge.Reply{}, &judge.CallError{Class: judge.ClassUnknown, Err: fmt.Errorf("encode reply: %w", err)}
	}
	if strings.Contains(string(text), `:"`+ruleUnclear+`"`) && !strings.Contains(req.Schema, `"`+ruleUnclear+`"`) {
		return judge.Reply{}, noRules(fmt.Errorf("code cannot tell, and the evaluator %s takes no %s", req.Evaluator, ruleUnclear))
	}
	return judge.Reply{Text: string(text), StopReason: "end_turn"}, nil
}

// unclearReply is a reply of a schema that says unclear and nothing else; nil where the schema has no word for it. It is the answer to
// evaluators whose questions code knows nothing of.
func unclearReply(schema string) any {
	var s replySchema
	if json.Unmarshal([]byte(schema), &s) != nil {
		return nil
	}
	said := false
	out := s.unclear(&said)
	if !said {
		return nil
	}
	return out
}

// replySchema is what evaluators use of JSON Schema.
type replySchema struct {
	Type       string                 `json:"type"`
	Enum       []string               `json:"enum"`
	Properties map[string]replySchema `json:"properties"`
}

func (s *replySchema) unclear(said *bool) any {
	switch s.Type {
	case "object":
		o := make(map[string]any, len(s.Properties))
		for k, p := range s.Properties {
			o[k] = p.unclear(said)
		}
		return o
	case "array":
		return []any{}
	case "integer", "number":
		return 0
	case "boolean":
		return false
	}
	switch {
	case slices.Contains(s.Enum, ruleUnclear):
		*said = true
		return ruleUnclear
	case len(s.Enum) > 0:
		return s.Enum[0]
	}
	return "Code cannot tell: it needs a model."
}

func noRules(err error) error {
	return &judge.CallError{Class: judge.ClassInvalid, Err: err, Hint: "ask a model instead: --judge bedrock:<model id>"}
}

// linesOf are the lines of a kind.
func linesOf(req *judge.Request, kind string) []judge.Line {
	var out []judge.Line
	for _, l := range req.Lines {
		if l.Kind == kind {
			out = append(out, l)
		}
	}
	return out
}

// factOf is a fact of a request; unknown where it holds none.
func factOf(req *judge.Request, name string) judge.Fact {
	for _, f := range req.Facts {
		if f.Name == name {
			return f
		}
	}
	return judge.Fact{Name: name, Truth: judge.Unknown}
}

// anchorLabel is the label of a score of a criterion: what stands before the colon of its anchor.
func anchorLabel(c judge.Criterion, score string) string {
	text := c.Anchors[score]
	if at := strings.IndexAny(text, ":："); at > 0 {
		return strings.TrimSpace(text[:at])
	}
	return ruleUnclear
}

// atMost are the first ten numbers, never null.
func atMost(steps []int) []int {
	return append([]int{}, steps[:min(len(steps), 10)]...)
}
