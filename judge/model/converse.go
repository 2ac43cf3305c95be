package model

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	"github.com/tracejury/tracejury/judge"
)

// converseJSON is a request as a batch record holds it: what Converse takes, without the model, in the mode native_schema.
func (b *bedrock) converseJSON(req *judge.Request) (json.RawMessage, error) {
	text := func(s string) map[string]any { return map[string]any{"text": s} }
	config := map[string]any{"maxTokens": min(max(req.MaxTokens, 1), 1<<20)}
	if t := b.temperature(); t != nil {
		config["temperature"] = *t
	}
	return json.Marshal(map[string]any{
		"system": []any{text(req.System)},
		"messages": messages(req, func(role, s string) map[string]any {
			return map[string]any{"role": role, "content": []any{text(s)}}
		}),
		"inferenceConfig": config,
		"outputConfig": map[string]any{"textFormat": map[string]any{"type": "json_schema", "structure": map[string]any{
			"jsonSchema": map[string]any{"name": req.SchemaName, "schema": req.Schema},
		}}},
	})
}

// converseOutput is an answer as a batch record holds it.
type converseOutput struct {
	StopReason string `json:"stopReason"`
	Output     struct {
		Message struct {
			Content []struct {
				Text *string `json:"text"`
			} `json:"content"`
		} `json:"message"`
	} `json:"output"`
	Usage struct {
		Input      *int64 `json:"inputTokens"`
		Output     *int64 `json:"outputTokens"`
		CacheRead  *int64 `json:"cacheReadInputTokens"`
		CacheWrite *int64 `json:"cacheWriteInputTokens"`
	} `json:"usage"`
}

func (o *converseOutput) reply() judge.Reply {
	var texts []string
	for _, c := range o.Output.Message.Content {
		if c.Text != nil {
			texts = append(texts, *c.Text)
		}
	}
	u := o.Usage
	return judge.Reply{Text: strings.Join(texts, "\n"), StopReason: o.StopReason,
		Usage: judge.Usage{InputTokens: u.Input, OutputTokens: u.Output, CacheReadTokens: u.CacheRead, CacheWriteTokens: u.CacheWrite}}
}

// stopError is the failure that a reply's stop reason tells, or nil.
func stopError(r *judge.Reply) *judge.CallError {
	class, what := stopClass(types.StopReason(r.StopReason))
	if class == "" {
		return nil
	}
	return &judge.CallError{Class: class, StopReason: r.StopReason, Usage: r.Usage, Err: fmt.Errorf("the model stopped: %s", what)}
}

// stopClass says what kind of failure a stop reason of Converse is; "" none.
func stopClass(stop types.StopReason) (judge.Class, string) {
	switch stop {
	case types.StopReasonEndTurn, types.StopReasonToolUse, types.StopReasonStopSequence:
		return "", ""
	case types.StopReasonMaxTokens:
		return judge.ClassTruncated, "the reply reached max_tokens"
	case types.StopReasonGuardrailIntervened, types.StopReasonContentFiltered, "refusal":
		return judge.ClassRefused, string(stop)
	case types.StopReasonMalformedModelOutput, types.StopReasonMalformedToolUse:
		return judge.ClassMalformed, string(stop)
	case types.StopReasonModelContextWindowExceeded:
		return judge.ClassOverflow, string(stop)
	}
	return judge.ClassUnknown, fmt.Sprintf("unknown stop reason %q", stop)
}
