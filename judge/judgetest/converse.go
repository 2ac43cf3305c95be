package judgetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// converseRequest is the part of Converse that a judge may use. What is not here is refused.
type converseRequest struct {
	Messages []message     `json:"messages"`
	System   []systemBlock `json:"system"`
	Config   *struct {
		MaxTokens   *int     `json:"maxTokens"`
		Temperature *float64 `json:"temperature"`
		TopP        *float64 `json:"topP"`
		Stop        []string `json:"stopSequences"`
	} `json:"inferenceConfig"`
	Tools *struct {
		Tools []struct {
			Spec  *toolSpec   `json:"toolSpec"`
			Cache *cachePoint `json:"cachePoint"`
		} `json:"tools"`
		Choice *struct {
			Auto *struct{} `json:"auto"`
			Any  *struct{} `json:"any"`
			Tool *struct {
				Name string `json:"name"`
			} `json:"tool"`
		} `json:"toolChoice"`
	} `json:"toolConfig"`
	Output *struct {
		Effort *string `json:"effort"`
		Format *struct {
			Type      string `json:"type"`
			Structure struct {
				JSONSchema *struct {
					Schema      string `json:"schema"`
					Name        string `json:"name"`
					Description string `json:"description"`
				} `json:"jsonSchema"`
			} `json:"structure"`
		} `json:"textFormat"`
	} `json:"outputConfig"`
	Metadata  map[string]string `json:"requestMetadata"`
	Tier      *json.RawMessage  `json:"serviceTier"`
	Guardrail *json.RawMessage  `json:"guardrailConfig"`
	Extra     *json.RawMessage  `json:"additionalModelRequestFields"`
}

type message struct {
	Role    string `json:"role"`
	Content []struct {
		Text  *string     `json:"text"`
		Cache *cachePoint `json:"cachePoint"`
	} `json:"content"`
}

type systemBlock struct {
	Text  *string     `json:"text"`
	Cache *cachePoint `json:"cachePoint"`
}

type cachePoint struct {
	Type string `json:"type"`
	TTL  string `json:"ttl"`
}

type toolSpec struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Strict      *bool  `json:"strict"`
	Input       struct {
		JSON json.RawMessage `json:"json"`
	} `json:"inputSchema"`
}

var (
	schemaName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	modelID    = regexp.MustCompile(`^[a-zA-Z0-9_.:/-]{1,1000}$`)
)

func (s *Server) converse(w http.ResponseWriter, r *http.Request) {
	body, attempt, ok := s.arrive(w, r)
	if !ok {
		return
	}
	if auth := r.Header.Get("Authorization"); !strings.HasPrefix(auth, "AWS4-HMAC-SHA256 ") && !strings.HasPrefix(auth, "Bearer ") {
		s.refuse(w, http.StatusForbidden, "MissingAuthenticationTokenException", "Missing Authentication Token")
		return
	}
	c, tool, err := parseConverse(body)
	if err == nil {
		err = s.takes(&c)
	}
	c.Model, c.Attempt = unescape(r.PathValue("model")), attempt
	if err == nil && !modelID.MatchString(c.Model) {
		err = fmt.Errorf("modelId %q", c.Model)
	}
	if err != nil {
		s.refuse(w, http.StatusBadRequest, "ValidationException", err.Error())
		return
	}
	a, done := s.answer(w, r, body, c)
	if done {
		return
	}
	content := []any{}
	stop := a.StopReason
	switch {
	case tool != "" && c.Mode != "auto_tool" && json.Valid([]byte(a.Text)), tool != "" && strings.HasPrefix(a.Text, "{") && json.Valid([]byte(a.Text)):
		content = append(content, map[string]any{"toolUse": map[string]any{"toolUseId": "tooluse_1", "name": tool, "input": json.RawMessage(a.Text)}})
		if stop == "" {
			stop = "tool_use"
		}
	case a.Text != "":
		content = append(content, map[string]any{"text": a.Text})
	}
	if stop == "" {
		stop = "end_turn"
	}
	in, out := len(body)/4, len(a.Text)/4+1
	w.Header().Set("Content-Type", "application/json")
	writeJSON(w, map[string]any{
		"output":     map[string]any{"message": map[string]any{"role": "assistant", "content": content}},
		"stopReason": stop,
		"usage": map[string]any{
			"inputTokens": in, "outputTokens": out, "totalTokens": in + out, "cacheReadInputTokens": 0, "cacheWriteInputTokens": 0,
		},
		"metrics": map[string]any{"latencyMs": 1},
	})
}

// parseConverse reads a request as strictly as the service does.
func parseConverse(body []byte) (c Call, tool string, err error) {
	var q converseRequest
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&q); err != nil {
		return c, "", fmt.Errorf("malformed input request: %w", err)
	}
	for _, b := range q.System {
		if (b.Text == nil) == (b.Cache == nil) {
			return c, "", errors.New("system: each block is a text or a cache point")
		}
		if b.Cache != nil && (b.Cache.Type != "default" || !slices.Contains([]string{"", "5m", "1h"}, b.Cache.TTL)) {
			return c, "", errors.New("system: cache point")
		}
		if b.Text != nil {
			if *b.Text == "" {
				return c, "", errors.New("system: empty text")
			}
			c.System += *b.Text
		}
	}
	if err := conversation(q.Messages, &c); err != nil {
		return c, "", err
	}
	switch {
	case q.Config == nil || q.Config.MaxTokens == nil || *q.Config.MaxTokens < 1:
		return c, "", errors.New("inferenceConfig.maxTokens is missing")
	case q.Config.Temperature != nil && (*q.Config.Temperature < 0 || *q.Config.Temperature > 1):
		return c, "", errors.New("inferenceConfig.temperature must be between 0 and 1")
	case q.Output != nil && q.Output.Format != nil && q.Tools != nil:
		return c, "", errors.New("outputConfig.textFormat and toolConfig together")
	}
	name := ""
	switch {
	case q.Output != nil && q.Output.Format != nil:
		f := q.Output.Format
		if f.Type != "json_schema" || f.Structure.JSONSchema == nil {
			return c, "", errors.New("outputConfig.textFormat: want type json_schema with a jsonSchema")
		}
		c.Mode, c.Schema, name = "native_schema", f.Structure.JSONSchema.Schema, f.Structure.JSONSchema.Name
	case q.Tools != nil && len(q.Tools.Tools) == 1 && q.Tools.Tools[0].Spec != nil:
		spec := q.Tools.Tools[0].Spec
		c.Mode, c.Schema, name, tool = "auto_tool", string(spec.Input.JSON), spec.Name, spec.Name
		if ch := q.Tools.Choice; ch != nil && ch.Tool != nil {
			if ch.Tool.Name != spec.Name {
				return c, "", errors.New("toolConfig.toolChoice names no tool")
			}
			c.Mode = "forced_tool"
		}
	case q.Tools == nil && q.Output == nil:
		c.Mode = "text"
		return c, "", nil
	default:
		return c, "", errors.New("no schema: neither outputConfig.textFormat nor one tool")
	}
	if !schemaName.MatchString(name) {
		return c, "", fmt.Errorf("schema name %q", name)
	}
	return c, tool, nil
}

func conversation(list []message, c *Call) error {
	if len(list) == 0 || len(list)%2 == 0 {
		return errors.New("messages: want an odd number, the last by the user")
	}
	for i, m := range list {
		if want := [...]string{"user", "assistant"}[i%2]; m.Role != want {
			return fmt.Errorf("messages[%d]: role %q, want %s: roles must alternate", i, m.Role, want)
		}
		text := ""
		for _, b := range m.Content {
			if b.Text != nil {
				text += *b.Text
			}
		}
		switch {
		case strings.TrimSpace(text) == "":
			return fmt.Errorf("messages[%d]: empty text", i)
		case i == 0:
			c.User = text
		case i == len(list)-1:
			c.Repair = text
		}
	}
	return nil
}

// allowed are the schema keywords that every structured-output mode takes.
var allowed = []string{"type", "properties", "required", "additionalProperties", "items", "enum", "description"}

// checkSchema refuses a schema that the service would refuse: not closed, with an optional property or an unknown keyword.
func checkSchema(data []byte) error {
	var root map[string]any
	if err := json.Unmarshal(data, &root); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	return checkNode(root, "schema", 0)
}

func checkNode(n map[string]any, where string, depth int) error {
	if depth > 10 {
		return fmt.Errorf("%s: nested too deep", where)
	}
	for k := range n {
		if !slices.Contains(allowed, k) {
			return fmt.Errorf("%s: keyword %q is not supported", where, k)
		}
	}
	switch n["type"] {
	case "object":
		properties, _ := n["properties"].(map[string]any)
		required, _ := n["required"].([]any)
		if n["additionalProperties"] != false || len(required) != len(properties) {
			return fmt.Errorf("%s: objects must be closed and all properties required", where)
		}
		for k, v := range properties {
			child, ok := v.(map[string]any)
			if !ok {
				return fmt.Errorf("%s.%s: no schema", where, k)
			}
			if err := checkNode(child, where+"."+k, depth+1); err != nil {
				return err
			}
		}
	case "array":
		child, ok := n["items"].(map[string]any)
		if !ok {
			return fmt.Errorf("%s: items is missing", where)
		}
		return checkNode(child, where+"[]", depth+1)
	case "string", "integer", "number", "boolean":
	default:
		return fmt.Errorf("%s: type %v", where, n["type"])
	}
	return nil
}
