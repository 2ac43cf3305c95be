package judgetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// messagesRequest is the part of the Messages API that a judge may use.
type messagesRequest struct {
	Model       string   `json:"model"`
	MaxTokens   int      `json:"max_tokens"`
	Temperature *float64 `json:"temperature"`
	System      []struct {
		Type  string `json:"type"`
		Text  string `json:"text"`
		Cache *struct {
			Type string `json:"type"`
			TTL  string `json:"ttl"`
		} `json:"cache_control"`
	} `json:"system"`
	Messages []struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	} `json:"messages"`
	Output *struct {
		Format *struct {
			Type   string          `json:"type"`
			Schema json.RawMessage `json:"schema"`
		} `json:"format"`
	} `json:"output_config"`
	Tools []struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Schema      json.RawMessage `json:"input_schema"`
	} `json:"tools"`
	Choice *struct {
		Type string `json:"type"`
		Name string `json:"name"`
	} `json:"tool_choice"`
}

func (s *Server) messages(w http.ResponseWriter, r *http.Request) {
	body, attempt, ok := s.arrive(w, r)
	if !ok {
		return
	}
	if r.Header.Get("X-Api-Key") == "" || r.Header.Get("Authorization") != "" || r.Header.Get("Anthropic-Version") == "" {
		s.refuse(w, http.StatusUnauthorized, "authentication_error", "want x-api-key and anthropic-version, and no bearer token")
		return
	}
	c, tool, err := parseMessages(body)
	if err == nil {
		err = s.takes(&c)
	}
	if err != nil {
		s.refuse(w, http.StatusBadRequest, "invalid_request_error", err.Error())
		return
	}
	c.Attempt = attempt
	a, done := s.answer(w, r, body, c)
	if done {
		return
	}
	content, stop := []any{}, "end_turn"
	switch {
	case tool != "" && strings.HasPrefix(a.Text, "{") && json.Valid([]byte(a.Text)):
		content = append(content, map[string]any{"type": "tool_use", "id": "toolu_1", "name": tool, "input": json.RawMessage(a.Text)})
		stop = "tool_use"
	case a.Text != "":
		content = append(content, map[string]any{"type": "text", "text": a.Text})
	}
	switch a.StopReason {
	case "":
	case "guardrail_intervened":
		stop = "refusal"
	default:
		stop = a.StopReason
	}
	w.Header().Set("Content-Type", "application/json")
	writeJSON(w, map[string]any{
		"id": "msg_1", "type": "message", "role": "assistant", "model": c.Model, "content": content, "stop_reason": stop,
		"usage": map[string]any{"input_tokens": len(body) / 4, "output_tokens": len(a.Text)/4 + 1, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0},
	})
}

func parseMessages(body []byte) (c Call, tool string, err error) {
	var q messagesRequest
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&q); err != nil {
		return c, "", fmt.Errorf("malformed request: %w", err)
	}
	if q.Model == "" || q.MaxTokens < 1 || len(q.System) != 1 || q.System[0].Type != "text" || q.System[0].Text == "" || len(q.Messages)%2 == 0 {
		return c, "", errors.New("want a model, max_tokens, one system text and an odd number of messages")
	}
	for i, m := range q.Messages {
		if want := [...]string{"user", "assistant"}[i%2]; m.Role != want || strings.TrimSpace(m.Content) == "" {
			return c, "", fmt.Errorf("messages.%d: want a text by the %s", i, want)
		}
	}
	c = Call{Model: q.Model, System: q.System[0].Text, User: q.Messages[0].Content}
	if n := len(q.Messages); n > 1 {
		c.Repair = q.Messages[n-1].Content
	}
	switch {
	case q.Output != nil && q.Output.Format != nil && len(q.Tools) == 0:
		if q.Output.Format.Type != "json_schema" {
			return c, "", errors.New("output_config.format: want json_schema")
		}
		c.Mode, c.Schema = "native_schema", string(q.Output.Format.Schema)
	case len(q.Tools) == 1 && q.Output == nil && q.Choice != nil:
		c.Mode, c.Schema, tool = "auto_tool", string(q.Tools[0].Schema), q.Tools[0].Name
		if !schemaName.MatchString(tool) || q.Choice.Type == "tool" && q.Choice.Name != tool {
			return c, "", errors.New("tool_choice names no tool")
		}
		if q.Choice.Type == "tool" {
			c.Mode = "forced_tool"
		}
	case len(q.Tools) == 0 && q.Output == nil && q.Choice == nil:
		c.Mode = "text"
	default:
		return c, "", errors.New("no schema: neither output_config.format nor one tool")
	}
	return c, tool, nil
}
