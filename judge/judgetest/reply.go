package judgetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
)

// ValidReply is a reply that fits a schema, always the same for the same schema and question: every value of an enum of
// ids gets one element, verdicts follow what the question's lines say about applicability.
//
// The question's lines are JSON objects after the end of the fenced data: {"criterion":…,"applies":"yes|no|judge"}, with
// "verdicts" where facts leave only some of them open.
func ValidReply(schema, user string) (string, error) {
	root := new(node)
	if err := json.Unmarshal([]byte(schema), root); err != nil {
		return "", fmt.Errorf("no default answer without a schema: %w", err)
	}
	return root.reply(user)
}

func (root *node) reply(user string) (string, error) {
	v, err := root.value(questions(user), "", "")
	if err != nil {
		return "", err
	}
	b, err := json.Marshal(v)
	return string(b), err
}

// schemas remembers the schemas that were checked: a run sends the same one with every call.
type schemas struct {
	mu    sync.Mutex
	known map[string]*node
}

const maxSchemas = 1000

// of is the schema that text holds, or why the service would refuse it.
func (s *schemas) of(text string) (*node, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.known[text]; n != nil {
		return n, nil
	}
	n := new(node)
	if err := errors.Join(checkSchema([]byte(text)), json.Unmarshal([]byte(text), n)); err != nil {
		return nil, err
	}
	if s.known == nil || len(s.known) >= maxSchemas {
		s.known = map[string]*node{}
	}
	s.known[text] = n
	return n, nil
}

// node is a JSON schema of the kind that judges use.
type node struct {
	Type       string          `json:"type"`
	Properties map[string]node `json:"properties"`
	Items      *node           `json:"items"`
	Enum       []any           `json:"enum"`
}

// question is what the question says about one criterion.
type question struct {
	Criterion string   `json:"criterion"`
	Applies   string   `json:"applies"`
	Verdicts  []string `json:"verdicts"`
}

func questions(user string) map[string]question {
	if at := strings.LastIndex(user, "\n<</DATA "); at >= 0 {
		user = user[at:]
	}
	out := map[string]question{}
	for line := range strings.SplitSeq(user, "\n") {
		var q question
		if strings.HasPrefix(line, `{"criterion"`) && json.Unmarshal([]byte(line), &q) == nil {
			out[q.Criterion] = q
		}
	}
	return out
}

// value is the smallest value of a schema. key is the property that it stands in, id the element's id.
func (n *node) value(asked map[string]question, key, id string) (any, error) {
	switch n.Type {
	case "object":
		out := make(map[string]any, len(n.Properties))
		for k, p := range n.Properties {
			v, err := p.value(asked, k, id)
			if err != nil {
				return nil, err
			}
			out[k] = v
		}
		return out, nil
	case "array":
		list := []any{}
		if n.Items == nil {
			return nil, errors.New("array without items")
		}
		if ids, ok := n.Items.Properties["id"]; ok {
			for _, id := range ids.Enum {
				v, err := n.Items.value(asked, key, fmt.Sprint(id))
				if err != nil {
					return nil, err
				}
				list = append(list, v)
			}
		}
		return list, nil
	case "boolean":
		return key == "applicable" && asked[id].Applies != "no", nil
	case "integer", "number":
		return 1, nil
	case "string":
		switch {
		case key == "id" && id != "":
			return id, nil
		case key == "verdict" && asked[id].Applies == "no":
			return "not_applicable", nil
		case key == "verdict" && len(asked[id].Verdicts) > 0:
			return asked[id].Verdicts[0], nil
		case key == "verdict" && asked[id].Applies == "judge":
			return "unclear", nil
		case len(n.Enum) > 0:
			return n.Enum[0], nil
		}
		return "Default answer of the test server.", nil
	}
	return nil, fmt.Errorf("no default for the type %q", n.Type)
}
