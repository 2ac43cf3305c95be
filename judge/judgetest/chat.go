package judgetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
)

// chatRequest is the part of chat completions that a judge may use.
type chatRequest struct {
	Model    string `json:"model"`
	Messages []struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	} `json:"messages"`
	MaxTokens   int      `json:"max_tokens"`
	Temperature *float64 `json:"temperature"`
	Format      *struct {
		Type   string `json:"type"`
		Schema *struct {
			Name   string          `json:"name"`
			Strict bool            `json:"strict"`
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`
}

func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	body, attempt, ok := s.arrive(w, r)
	if !ok {
		return
	}
	c, err := parseChat(body)
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
	w.Header().Set("Content-Type", "application/json")
	writeJSON(w, map[string]any{
		"id": "chatcmpl-1", "object": "chat.completion", "model": c.Model,
		"choices": []any{map[string]any{"index": 0, "finish_reason": finish, "message": map[string]any{"role": "assistant", "content": a.Text}}},
		"usage":   map[string]any{"prompt_tokens": len(body) / 4, "completion_tokens": len(a.Text)/4 + 1, "total_tokens": len(body)/4 + len(a.Text)/4 + 1},
	})
}

func parseChat(body []byte) (Call, error) {
	var q chatRequest
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&q); err != nil {
		return Call{}, fmt.Errorf("malformed request: %w", err)
	}
	if len(q.Messages) < 2 || len(q.Messages)%2 != 0 || q.Messages[0].Role != "system" || q.Messages[1].Role != "user" || q.MaxTokens < 1 || q.Model == "" {
		return Call{}, fmt.Errorf("want a model, max_tokens, a system message and then user and assistant in turn")
	}
	c := Call{Model: q.Model, System: q.Messages[0].Content, User: q.Messages[1].Content, Mode: "text"}
	if n := len(q.Messages); n > 2 {
		c.Repair = q.Messages[n-1].Content
	}
	if q.Format == nil {
		return c, nil
	}
	if q.Format.Type != "json_schema" || q.Format.Schema == nil || !schemaName.MatchString(q.Format.Schema.Name) {
		return Call{}, fmt.Errorf("response_format: want json_schema with a name and a schema")
	}
	c.Mode, c.Schema = "native_schema", string(q.Format.Schema.Schema)
	return c, nil
}
