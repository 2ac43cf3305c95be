package model

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tracejury/tracejury/judge"
)

// openAI asks any server that speaks chat completions: vLLM, Ollama, LiteLLM, a gateway.
type openAI struct {
	client   *http.Client
	endpoint string
	name     string
	opts     Options
	identity judge.Identity
	limited  atomic.Bool // the model wants max_completion_tokens, which is the newer name
}

func openOpenAI(base, name string, opts Options) (judge.Judge, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("judge openai:%s#%s: want openai:http://host/v1#<model>", base, name)
	}
	if u.User != nil {
		return nil, fmt.Errorf("judge openai:%s#%s: a password in the address would be stored: set OPENAI_API_KEY", u.Redacted(), name)
	}
	c, _ := CapabilityOf("openai:#"+name, opts.Table)
	mode := cmp.Or(opts.Mode, c.Mode)
	if !slices.Contains(Modes, mode) {
		return nil, fmt.Errorf("judge openai:%s#%s: mode %q is none of %s", base, name, mode, strings.Join(Modes, ", "))
	}
	if opts.Temperature == nil && c.Temperature {
		opts.Temperature = new(float64)
	}
	opts.Mode = mode
	settings := map[string]any{"server": u.Host}
	if opts.Temperature != nil {
		settings["temperature"] = *opts.Temperature
	}
	parameters, err := judge.CanonicalJSON(settings)
	if err != nil {
		return nil, fmt.Errorf("judge openai:%s#%s: %w", base, name, err)
	}
	return &openAI{
		client: opts.client(), endpoint: strings.TrimSuffix(u.String(), "/") + "/chat/completions", name: name, opts: opts,
		identity: judge.Identity{Model: name, Mode: mode, Parameters: string(parameters)},
	}, nil
}

// Identity names the model, the mode, the server and the parameters.
func (o *openAI) Identity() judge.Identity { return o.identity }

type chatRequest struct {
	Model          string        `json:"model"`
	Messages       []chatMessage `json:"messages"`
	MaxTokens      int           `json:"max_tokens,omitempty"`
	MaxCompletion  int           `json:"max_completion_tokens,omitempty"`
	Temperature    *float64      `json:"temperature,omitempty"`
	ResponseFormat any           `json:"response_format,omitempty"`
	Tools          []any         `json:"tools,omitempty"`
	ToolChoice     any           `json:"tool_choice,omitempty"`
}

type chatMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type chatResponse struct {
	Choices []struct {
		FinishReason string `json:"finish_reason"`
		Message      struct {
			Content   *string `json:"content"`
			Refusal   *string `json:"refusal"`
			ToolCalls []struct {
				Function struct {
					Arguments string `json:"arguments"`
				} `json:"function"`
			} `json:"tool_calls"`
		} `json:"message"`
	} `json:"choices"`
	Usage *struct {
		PromptTokens     *int64 `json:"prompt_tokens"`
		CompletionTokens *int64 `json:"completion_tokens"`
		Details          *struct {
			CachedTokens *int64 `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	} `json:"usage"`
}

// Judge makes one request.
func (o *openAI) Judge(ctx context.Context, req *judge.Request) (judge.Reply, error) {
	limited := o.limited.Load()
	r, err := o.ask(ctx, req, limited)
	if ce, ok := errors.AsType[*judge.CallError](err); ok && ce.Class == judge.ClassInvalid && !limited && strings.Contains(ce.Err.Error(), "max_completion_tokens") {
		o.limited.Store(true) // the name changes nothing that is answered
		return o.ask(ctx, req, true)
	}
	return r, err
}

func (o *openAI) ask(ctx context.Context, req *judge.Request, limited bool) (judge.Reply, error) {
	body := chatRequest{Model: o.name, MaxTokens: req.MaxTokens, Temperature: o.opts.Temperature}
	if limited {
		body.MaxTokens, body.MaxCompletion = 0, req.MaxTokens
	}
	system := req.System
	if req.Schema != "" && o.opts.Mode == ModeText && !strings.Contains(system, req.Schema) { // a prompt of the user's may hold it
		system += "\n\nThe JSON Schema of the answer:\n" + req.Schema
	}
	body.Messages = append([]chatMessage{{"system", system}}, messages(req, func(role, text string) chatMessage { return chatMessage{role, text} })...)
	if req.Schema != "" {
		o.structure(&body, req)
	}
	header := http.Header{}
	if o.opts.APIKey != "" {
		header.Set("Authorization", "Bearer "+o.opts.APIKey)
	}
	answer, latency, err := postJSON(ctx, o.client, o.endpoint, header, body)
	if err != nil {
		return judge.Reply{}, err
	}
	return chatReply(answer, latency)
}

// structure asks for an answer in the schema, in the way of the mode. In [ModeText] only the prompt does.
func (o *openAI) structure(body *chatRequest, req *judge.Request) {
	switch o.opts.Mode {
	case ModeNativeSchema:
		body.ResponseFormat = map[string]any{"type": "json_schema", "json_schema": map[string]any{
			"name": req.SchemaName, "strict": true, "schema": json.RawMessage(req.Schema),
		}}
	case ModeForcedTool, ModeAutoTool:
		body.Tools = []any{map[string]any{"type": "function", "function": map[string]any{
			"name": req.SchemaName, "description": "Records the answer. Call it exactly once.", "parameters": json.RawMessage(req.Schema),
		}}}
		body.ToolChoice = "auto"
		if o.opts.Mode == ModeForcedTool {
			body.ToolChoice = map[string]any{"type": "function", "function": map[string]string{"name": req.SchemaName}}
		}
	}
}

func chatReply(answer []byte, latency time.Duration) (judge.Reply, error) {
	var c chatResponse
	if err := json.Unmarshal(answer, &c); err != nil {
		return judge.Reply{}, &judge.CallError{Class: judge.ClassTransient, Err: fmt.Errorf("the server's answer is no chat completion: %w", err)}
	}
	r := judge.Reply{Latency: latency}
	if u := c.Usage; u != nil {
		r.Usage = judge.Usage{InputTokens: u.PromptTokens, OutputTokens: u.CompletionTokens}
		if u.Details != nil && u.Details.CachedTokens != nil && u.PromptTokens != nil {
			fresh := *u.PromptTokens - *u.Details.CachedTokens // here the input includes what came from the cache
			r.Usage.InputTokens, r.Usage.CacheReadTokens = &fresh, u.Details.CachedTokens
		}
	}
	fail := func(class judge.Class, what string) (judge.Reply, error) {
		return judge.Reply{}, &judge.CallError{Class: class, StopReason: r.StopReason, Usage: r.Usage, Err: fmt.Errorf("the model stopped: %s", what)}
	}
	if len(c.Choices) == 0 {
		return fail(judge.ClassMalformed, "no choice in the answer")
	}
	choice := c.Choices[0]
	r.StopReason = choice.FinishReason
	switch {
	case choice.Message.Refusal != nil && *choice.Message.Refusal != "", choice.FinishReason == "content_filter":
		return fail(judge.ClassRefused, "refusal")
	case choice.FinishReason == "length":
		return fail(judge.ClassTruncated, "the reply reached max_tokens")
	case len(choice.Message.ToolCalls) > 0: // words beside a call are talk; two calls are two answers, and reading them fails
		var inputs []string
		for _, c := range choice.Message.ToolCalls {
			inputs = append(inputs, c.Function.Arguments)
		}
		r.Text = strings.Join(inputs, "\n")
		return r, nil
	case choice.Message.Content == nil:
		return fail(judge.ClassMalformed, "no text in the answer")
	}
	r.Text = *choice.Message.Content
	return r, nil
}
