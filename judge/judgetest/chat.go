package judgetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// chatRequest is the part of chat completions that a judge may use.
type chatRequest struct {
	Model    string `json:"model"`
	Messages []struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	} `json:"messages"`
	MaxTokens     int      `json:"max_tokens"`
	MaxCompletion int      `json:"max_completion_tokens"`
	Temperature   *float64 `json:"temperature"`
	Format        *struct {
		Type   string `json:"type"`
		Schema *struct {
			Name   string          `json:"name"`
			Strict bool            `json:"strict"`
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`
	Tools []struct {
		Type     string `json:"type"`
		Function *struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
	Choice json.RawMessage `json:"tool_choice"`
}

func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	body, attempt, ok := s.arrive(w, r)
	if !ok {
		return
	}
	c, tool, err := s.parseChat(body)
	if err == nil && c.Schema != "" {
		_, err = s.schemas.of(c.Schema)
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
	finish := map[string]string{"": "stop", "max_tokens": "length", "guardrail_intervened": "content_filter"}[a.StopReason]
	if finish == "" {
		finish = a.StopReason
	}
	message := map[string]any{"role": "assistant", "content": a.Text}
	if tool != "" && strings.HasPrefix(a.Text, "{") && json.Valid([]byte(a.Text)) {
		message = map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{map[string]any{
			"id": "call_1", "type": "function", "function": map[string]any{"name": tool, "arguments": a.Text}}}}
		if finish == "stop" && c.Mode == "auto_tool" { // of a forced call, the service says stop
			finish = "tool_calls"
		}
	}
	w.Header().Set("Content-Type", "application/json")
	writeJSON(w, map[string]any{
		"id": "chatcmpl-1", "object": "chat.completion", "model": c.Model,
		"choices": []any{map[string]any{"index": 0, "finish_reason": finish, "message": message}},
		"usage":   map[string]any{"prompt_tokens": len(body) / 4, "completion_tokens": len(a.Text)/4 + 1, "total_tokens": len(body)/4 + len(a.Text)/4 + 1},
	})
}

// parseChat reads a request as strictly as the strictest server does. tool is the name of the one that the model is given; "" none.
func (s *Server) parseChat(body []byte) (c Call, tool string, err error) {
	var q chatRequest
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&q); err != nil {
		return c, "", fmt.Errorf("malformed request: %w", err)
	}
	if s.opts.NewLimit {
		if q.MaxTokens != 0 {
			return c, "", errors.New("unsupported parameter: 'max_tokens' is not supported with this model, use 'max_completion_tokens' instead")
		}
		q.MaxTokens, q.MaxCompletion = q.MaxCompletion, 0
	}
	if len(q.Messages) < 2 || len(q.Messages)%2 != 0 || q.Messages[0].Role != "system" || q.Messages[1].Role != "user" || q.MaxTokens < 1 || q.MaxCompletion != 0 || q.Model == "" {
		return c, "", errors.New("want a model, max_tokens, a system message and then user and assistant in turn")
	}
	c = Call{Model: q.Model, System: q.Messages[0].Content, User: q.Messages[1].Content, Mode: "text"}
	if n := len(q.Messages); n > 2 {
		c.Repair = q.Messages[n-1].Content
	}
	switch {
	case q.Format != nil && len(q.Tools) > 0:
		return c, "", errors.New("response_format and tools together")
	case q.Format != nil:
		if q.Format.Type != "json_schema" || q.Format.Schema == nil || !schemaName.MatchString(q.Format.Schema.Name) {
			return c, "", errors.New("response_format: want json_schema with a name and a schema")
		}
		c.Mode, c.Schema = "native_schema", string(q.Format.Schema.Schema)
	case len(q.Tools) > 0 || len(q.Choice) > 0:
		tool, err = q.tool(&c)
	default:
		c.Schema = s.schemaIn(c.System)
	}
	return c, tool, err
}

// schemaIn is the schema that stands in a prompt, on a line of its own; "" where there is none.
func (s *Server) schemaIn(prompt string) string {
	for line := range strings.SplitSeq(prompt, "\n") {
		if strings.HasPrefix(line, `{"`) {
			if _, err := s.schemas.of(line); err == nil {
				return line
			}
		}
	}
	return ""
}

// tool reads the one tool of a request and how it is to be chosen.
func (q *chatRequest) tool(c *Call) (string, error) {
	if len(q.Tools) != 1 || q.Tools[0].Type != "function" || q.Tools[0].Function == nil || !schemaName.MatchString(q.Tools[0].Function.Name) {
		return "", errors.New("tools: want one function with a name")
	}
	f := q.Tools[0].Function
	c.Mode, c.Schema = "auto_tool", string(f.Parameters)
	if string(q.Choice) == `"auto"` {
		return f.Name, nil
	}
	var choice struct {
		Type     string `json:"type"`
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if err := json.Unmarshal(q.Choice, &choice); err != nil || choice.Type != "function" || choice.Function.Name != f.Name {
		return "", errors.New("tool_choice: want auto or the function of tools")
	}
	c.Mode = "forced_tool"
	return f.Name, nil
}
