package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/tracejury/tracejury/judge"
)

// anthropic asks a model by the Messages API. The key goes into x-api-key: a bearer token is for accounts that sign in.
type anthropic struct {
	client   *http.Client
	endpoint string
	header   http.Header
	name     string
	cap      Capability
	opts     Options
	identity judge.Identity
}

const anthropicBase = "https://api.anthropic.com"

func openAnthropic(base, name string, opts Options) (judge.Judge, error) {
	if base == "" {
		base = anthropicBase
	}
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return nil, fmt.Errorf("judge anthropic:%s: ANTHROPIC_BASE_URL is no plain http or https address", name)
	}
	if opts.APIKey == "" {
		return nil, fmt.Errorf("judge anthropic:%s: no key: set ANTHROPIC_API_KEY", name)
	}
	c, _ := CapabilityOf("anthropic:"+name, opts.Table)
	if opts.Mode != "" {
		if !slices.Contains([]string{ModeNativeSchema, ModeForcedTool, ModeAutoTool}, opts.Mode) {
			return nil, fmt.Errorf("judge anthropic:%s: mode %q is none of %s, %s, %s", name, opts.Mode, ModeNativeSchema, ModeForcedTool, ModeAutoTool)
		}
		c.Mode = opts.Mode
	}
	a := &anthropic{client: opts.client(), endpoint: strings.TrimSuffix(u.String(), "/") + "/v1/messages", name: name, cap: c, opts: opts,
		header: http.Header{"X-Api-Key": {opts.APIKey}, "Anthropic-Version": {"2023-06-01"}}}
	parameters, err := judge.CanonicalJSON(struct {
		Temperature *float64 `json:"temperature,omitempty"`
		Server      string   `json:"server"`
	}{a.temperature(), u.Host})
	if err != nil {
		return nil, fmt.Errorf("judge anthropic:%s: %w", name, err)
	}
	a.identity = judge.Identity{Model: name, Mode: c.Mode, Parameters: string(parameters)}
	return a, nil
}

func (a *anthropic) temperature() *float64 {
	if a.opts.Temperature != nil || !a.cap.Temperature {
		return a.opts.Temperature
	}
	return new(float64)
}

// Identity names the model, the mode, the server and the parameters.
func (a *anthropic) Identity() judge.Identity { return a.identity }

type messagesRequest struct {
	Model       string        `json:"model"`
	MaxTokens   int           `json:"max_tokens"`
	Temperature *float64      `json:"temperature,omitempty"`
	System      []systemText  `json:"system"`
	Messages    []chatMessage `json:"messages"`
	Output      any           `json:"output_config,omitempty"`
	Tools       []messageTool `json:"tools,omitempty"`
	Choice      any           `json:"tool_choice,omitempty"`
}

type systemText struct {
	Type  string `json:"type"`
	Text  string `json:"text"`
	Cache any    `json:"cache_control,omitempty"`
}

type messageTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"input_schema"`
}

// Judge makes one request.
func (a *anthropic) Judge(ctx context.Context, req *judge.Request) (judge.Reply, error) {
	body := messagesRequest{Model: a.name, MaxTokens: req.MaxTokens, Temperature: a.temperature(), System: []systemText{{Type: "text", Text: req.System}}}
	if a.cap.Cache {
		cache := map[string]string{"type": "ephemeral"}
		if a.opts.CacheTTL != "" {
			cache["ttl"] = a.opts.CacheTTL
		}
		body.System[0].Cache = cache
	}
	body.Messages = messages(req, func(role, text string) chatMessage { return chatMessage{role, text} })
	switch {
	case req.Schema == "":
	case a.cap.Mode == ModeNativeSchema:
		body.Output = map[string]any{"format": map[string]any{"type": "json_schema", "schema": json.RawMessage(req.Schema)}}
	default:
		body.Tools = []messageTool{{Name: req.SchemaName, Description: "Records the answer. Call it exactly once.", Schema: json.RawMessage(req.Schema)}}
		body.Choice = map[string]string{"type": "auto"}
		if a.cap.Mode == ModeForcedTool {
			body.Choice = map[string]string{"type": "tool", "name": req.SchemaName}
		}
	}
	answer, latency, err := postJSON(ctx, a.client, a.endpoint, a.header, body)
	if err != nil {
		return judge.Reply{}, err
	}
	return messagesReply(answer, latency)
}

type messagesResponse struct {
	StopReason string `json:"stop_reason"`
	Content    []struct {
		Type  string          `json:"type"`
		Text  string          `json:"text"`
		Input json.RawMessage `json:"input"`
	} `json:"content"`
	Usage *struct {
		Input      *int64 `json:"input_tokens"`
		Output     *int64 `json:"output_tokens"`
		CacheRead  *int64 `json:"cache_read_input_tokens"`
		CacheWrite *int64 `json:"cache_creation_input_tokens"`
	} `json:"usage"`
}

func messagesReply(answer []byte, latency time.Duration) (judge.Reply, error) {
	var m messagesResponse
	if err := json.Unmarshal(answer, &m); err != nil {
		return judge.Reply{}, &judge.CallError{Class: judge.ClassTransient, Err: fmt.Errorf("the server's answer is no message: %w", err)}
	}
	r := judge.Reply{StopReason: m.StopReason, Latency: latency}
	if u := m.Usage; u != nil {
		r.Usage = judge.Usage{InputTokens: u.Input, OutputTokens: u.Output, CacheReadTokens: u.CacheRead, CacheWriteTokens: u.CacheWrite}
	}
	class := judge.Class("")
	switch m.StopReason {
	case "end_turn", "tool_use", "stop_sequence":
	case "max_tokens":
		class = judge.ClassTruncated
	case "refusal":
		class = judge.ClassRefused
	case "model_context_window_exceeded":
		class = judge.ClassOverflow
	case "": // another service's answer, or none
		return judge.Reply{}, &judge.CallError{Class: judge.ClassMalformed, Usage: r.Usage, Err: errors.New("the server's answer is no message of a model: it has no stop reason")}
	default: // pause_turn too: we give no tool that a server runs
		class = judge.ClassUnknown
	}
	if class != "" {
		return judge.Reply{}, &judge.CallError{Class: class, StopReason: m.StopReason, Usage: r.Usage, Err: fmt.Errorf("the model stopped: %q", m.StopReason)}
	}
	var texts, inputs []string
	for _, c := range m.Content {
		switch c.Type {
		case "text":
			texts = append(texts, c.Text)
		case "tool_use":
			inputs = append(inputs, string(c.Input))
		}
	}
	if len(inputs) > 0 { // words beside a call are talk
		texts = inputs
	}
	r.Text = strings.Join(texts, "\n")
	return r, nil
}
