package model

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
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
	switch mode {
	case ModeNativeSchema, ModeText:
	default:
		return nil, fmt.Errorf("judge openai:%s#%s: mode %q is none of %s, %s", base, name, mode, ModeNativeSchema, ModeText)
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
	MaxTokens      int           `json:"max_tokens"`
	Temperature    *float64      `json:"temperature,omitempty"`
	ResponseFormat any           `json:"response_format,omitempty"`
}

type chatMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type chatResponse struct {
	Choices []struct {
		FinishReason string `json:"finish_reason"`
		Message      struct {
			Content *string `json:"content"`
			Refusal *string `json:"refusal"`
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
	body := chatRequest{Model: o.name, MaxTokens: req.MaxTokens, Temperature: o.opts.Temperature}
	body.Messages = append([]chatMessage{{"system", req.System}}, messages(req, func(role, text string) chatMessage { return chatMessage{role, text} })...)
	if o.opts.Mode == ModeNativeSchema && req.Schema != "" {
		body.ResponseFormat = map[string]any{"type": "json_schema", "json_schema": map[string]any{
			"name": req.SchemaName, "strict": true, "schema": json.RawMessage(req.Schema),
		}}
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
	case choice.Message.Content == nil:
		return fail(judge.ClassMalformed, "no text in the answer")
	}
	r.Text = *choice.Message.Content
	return r, nil
}
