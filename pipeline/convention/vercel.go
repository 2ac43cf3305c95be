package convention

import (
	"strings"

	"github.com/tracejury/tracejury/pipeline/otlp"
)

// VercelAI reads the AI SDK of Vercel: its own ai.* attributes (up to version 6, and on request in 7), and the spans of
// version 7 in OpenTelemetry's convention.
type VercelAI struct{}

const vercelAI = "vercel_ai_sdk"

// Name implements [Convention].
func (VercelAI) Name() string { return vercelAI }

// Match implements [Convention].
func (VercelAI) Match(r *Record) bool {
	return r.Attributes.Has("ai.operationId") || r.Row.ScopeName == "gen_ai" && hasPrefix(r.Attributes, "gen_ai.")
}

// Internal implements [Convention].
func (VercelAI) Internal(*Record) bool { return false }

// Exports implements [Convention].
func (VercelAI) Exports(r *Record) Content { return genAIExports(r) | aiExports(r.Attributes) }

// Events implements [Convention].
func (VercelAI) Events(r *Record, emit func(Event)) {
	t := newTeller(r, vercelAI, emit)
	if !r.Attributes.Has("ai.operationId") {
		genAITell(r, t, genAIStyle{harness: vercelAI})
		return
	}
	t.meta.Agent = r.Attributes.Str("ai.telemetry.functionId")
	t.tell(&Identity{Harness: vercelAI, Version: r.Row.ScopeVersion})
	aiTell(r, t)
}

func aiExports(a Attributes) Content {
	var c Content
	if a.Str("ai.prompt", "ai.prompt.messages") != "" {
		c |= ContentUserPrompt | ContentToolArguments | ContentToolResults | ContentSkillCatalogue | ContentSkillBody
	}
	if a.Str("ai.response.text", "ai.response.toolCalls", "ai.response.object") != "" {
		c |= ContentAssistantText | ContentToolArguments
	}
	if a.Str("ai.toolCall.args") != "" {
		c |= ContentToolArguments
	}
	if a.Str("ai.toolCall.result") != "" {
		c |= ContentToolResults | ContentSkillBody
	}
	return c
}

// aiTell reads a span with ai.* attributes. The outer span of a generation repeats the calls below it.
func aiTell(r *Record, t *teller) {
	a := r.Attributes
	op := a.Str("ai.operationId")
	t.meta.Witness = r.Row.ScopeName + "/" + op
	switch {
	case op == "ai.toolCall":
		aiTool(r, t)
		return
	case strings.HasSuffix(op, ".doGenerate"), strings.HasSuffix(op, ".doStream"):
		aiInput(r, t, a.Str("ai.prompt.messages"))
		if v, ok := a.Get("ai.prompt.tools"); ok {
			if tr, ok := treeOf(v); ok {
				tellDefinitions(t, tr)
			}
		}
		aiOutput(r, t)
		genAIFailure(r, t)
		t.tellAt(r.end(), aiUsage(r, false))
	case strings.HasPrefix(op, "ai.embed"):
	default:
		t.meta.Summary = true
		aiInput(r, t, a.Str("ai.prompt"))
		aiOutput(r, t)
		t.tellAt(r.end(), aiUsage(r, true))
		t.meta.Summary = false
		genAIFailure(r, t)
	}
}

func aiInput(r *Record, t *teller, text string) {
	x, ok := t.requestOf(text)
	if !ok {
		return
	}
	if x.system != "" {
		t.tell(&System{History: History{Origin: OriginHistory, Call: r.Row.SpanID, Position: -1}, Text: x.system, Truncated: isCut(x.system)})
	}
	t.history(0, r.Row.SpanID, false, x.messages)
}

func aiOutput(r *Record, t *teller) {
	a := r.Attributes
	m := message{role: "assistant"}
	if s := a.Str("ai.response.reasoning"); s != "" {
		m.parts = append(m.parts, part{kind: partReasoning, text: s})
	}
	if s := a.Str("ai.response.text", "ai.response.object"); s != "" {
		m.parts = append(m.parts, part{kind: partText, text: s})
	}
	if tr, ok := parseTree(a.Str("ai.response.toolCalls")); ok {
		for _, c := range asList(tr) {
			m.parts = appendCall(m.parts, toolCallPart(c))
		}
	}
	if len(m.parts) > 0 {
		t.output(0, a.Str("ai.response.id", "gen_ai.response.id"), []message{m})
	}
}

func aiUsage(r *Record, total bool) *Usage {
	u := genAIUsage(r, total)
	a := r.Attributes
	if u.Model == "" {
		u.Model = a.Str("ai.response.model", "ai.model.id")
	}
	if u.Provider == "" {
		u.Provider = a.Str("ai.model.provider")
	}
	if u.ResponseID == "" {
		u.ResponseID = a.Str("ai.response.id")
	}
	if u.InputTokens == nil {
		u.InputTokens = a.count("ai.usage.inputTokens", "ai.usage.promptTokens")
	}
	if u.OutputTokens == nil {
		u.OutputTokens = a.count("ai.usage.outputTokens", "ai.usage.completionTokens")
	}
	if u.CacheReadTokens == nil {
		u.CacheReadTokens = a.count("ai.usage.cachedInputTokens", "ai.usage.inputTokenDetails.cacheReadTokens")
	}
	if u.CacheWriteTokens == nil {
		u.CacheWriteTokens = a.count("ai.usage.inputTokenDetails.cacheWriteTokens")
	}
	return u
}

func aiTool(r *Record, t *teller) {
	a := r.Attributes
	call := &ToolCall{Source: SourceExecution, CallID: a.Str("ai.toolCall.id"), Tool: a.Str("ai.toolCall.name"), Arguments: compactText(a.Str("ai.toolCall.args"))}
	call.Redacted, call.Truncated = call.Arguments == "", isCut(call.Arguments)
	t.tell(call)
	result := &ToolResult{Source: SourceExecution, CallID: call.CallID, Tool: call.Tool, Outcome: toolOutcome(r)}
	if s := a.Str("ai.toolCall.result"); s != "" {
		result.Text, result.Outcome = resultText(otlp.StringValue(s), result.Outcome)
		if tr, ok := parseTree(s); ok && str(tr, "output") != "" && field(tr, "metadata") != nil { // opencode: {title, output, metadata}
			result.Text = str(tr, "output")
		}
		if result.Outcome == OutcomeUnknown {
			result.Outcome = OutcomeOK
		}
	}
	if r.failed() {
		if result.Text == "" {
			if result.Text = exceptionText(r); result.Text == "" {
				result.Text = r.Row.StatusMessage
			}
		}
		result.Outcome = geminiTextOutcome(result.Text)
		if strings.Contains(exceptionType(r), "PermissionDenied") || strings.Contains(exceptionType(r), "RejectedError") {
			result.Outcome = OutcomeDenied
			t.tellAt(r.end(), &Denial{CallID: call.CallID, Tool: call.Tool, Arguments: call.Arguments, By: deniedBy(exceptionType(r)), Text: result.Text})
		}
	}
	result.Truncated = isCut(result.Text)
	t.tellAt(r.end(), result)
}

// deniedBy tells a person's no from a rule's by the type of the error.
func deniedBy(kind string) string {
	if strings.Contains(kind, "Rejected") {
		return "user"
	}
	return "config"
}

// exceptionType is the type of the last exception event.
func exceptionType(r *Record) string {
	for i := len(r.Events) - 1; i >= 0; i-- {
		if r.Events[i].Name == "exception" {
			if s := Attributes(r.Events[i].Attributes).Str("exception.type"); s != "" {
				return s
			}
		}
	}
	return ""
}
