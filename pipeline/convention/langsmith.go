package convention

import "github.com/tracejury/tracejury/pipeline/otlp"

// LangSmith reads the spans of LangSmith's OpenTelemetry mode: whole requests and responses as JSON in gen_ai.prompt and
// gen_ai.completion, for model calls, tools and chains alike. A span's status is ok although it holds an exception.
type LangSmith struct{}

const langSmith = "langsmith"

// Name implements [Convention].
func (LangSmith) Name() string { return langSmith }

// Match implements [Convention].
func (LangSmith) Match(r *Record) bool { return r.Attributes.Has("langsmith.span.kind") }

// Internal implements [Convention].
func (LangSmith) Internal(*Record) bool { return false }

// Exports implements [Convention].
func (LangSmith) Exports(r *Record) Content {
	a := r.Attributes
	var c Content
	in, out := a.Str("gen_ai.prompt") != "", a.Str("gen_ai.completion") != ""
	switch a.Str("langsmith.span.kind") {
	case "llm":
		if in {
			c |= ContentUserPrompt | ContentToolArguments | ContentToolResults | ContentSkillCatalogue | ContentSkillBody
		}
		if out {
			c |= ContentAssistantText | ContentToolArguments
		}
	case "tool":
		if in {
			c |= ContentToolArguments
		}
		if out {
			c |= ContentToolResults | ContentSkillBody
		}
	}
	return c
}

// Events implements [Convention].
func (LangSmith) Events(r *Record, emit func(Event)) {
	a := r.Attributes
	t := newTeller(r, langSmith, emit)
	kind := a.Str("langsmith.span.kind")
	t.meta.Witness = langSmith + "/" + kind
	t.tell(&Identity{Harness: langSmith, Version: r.Row.ScopeVersion})
	switch kind {
	case "llm":
		langSmithExchange(r, t)
		langSmithFailure(r, t)
		t.tellAt(r.end(), genAIUsage(r, false))
	case "tool":
		langSmithTool(r, t)
	default:
		t.meta.Summary = true
		langSmithExchange(r, t)
		t.meta.Summary = false
		langSmithFailure(r, t)
	}
}

func langSmithExchange(r *Record, t *teller) {
	a := r.Attributes
	if x, ok := t.requestOf(a.Str("gen_ai.prompt")); ok {
		if x.system != "" {
			t.tell(&System{History: History{Origin: OriginHistory, Call: r.Row.SpanID, Position: -1}, Text: x.system, Truncated: isCut(x.system)})
		}
		t.history(0, r.Row.SpanID, false, x.messages)
		tellDefinitions(t, x.tools)
	}
	if tr, ok := parseTree(a.Str("gen_ai.completion")); ok {
		x := responseOf(tr)
		if x.id == "" {
			x.id = a.Str("gen_ai.response.id")
		}
		t.output(0, x.id, x.messages)
	}
}

// langSmithFailure believes an exception event more than the status.
func langSmithFailure(r *Record, t *teller) {
	if text := exceptionText(r); text != "" {
		t.tellAt(r.end(), &Failure{Type: exceptionType(r), Text: text})
		return
	}
	genAIFailure(r, t)
}

func langSmithTool(r *Record, t *teller) {
	a := r.Attributes
	call := &ToolCall{Source: SourceExecution, CallID: toolCallID(a), Tool: toolName(r)}
	if tr, ok := parseTree(a.Str("gen_ai.prompt")); ok {
		if in := field(tr, "input"); in != nil && len(asMap(tr)) == 1 {
			tr = in
		}
		call.Arguments = argumentsText(tr)
	} else {
		call.Arguments = a.Str("gen_ai.prompt")
	}
	call.Truncated = isCut(call.Arguments)
	t.tell(call)
	result := &ToolResult{Source: SourceExecution, CallID: call.CallID, Tool: call.Tool, Outcome: toolOutcome(r)}
	if s := a.Str("gen_ai.completion"); s != "" {
		result.Text, result.Outcome = langSmithResult(s, result.Outcome)
	}
	if text := exceptionText(r); text != "" {
		result.Outcome = geminiTextOutcome(text)
		if result.Text == "" {
			result.Text = text
		}
	}
	result.Truncated = isCut(result.Text)
	t.tellAt(r.end(), result)
}

// langSmithResult reads a tool's output, which is wrapped as {outputs} or {output}.
func langSmithResult(text string, known Outcome) (string, Outcome) {
	tr, ok := parseTree(text)
	if !ok {
		return text, known
	}
	if m := asMap(tr); len(m) == 1 {
		if inner := field(tr, "outputs", "output"); inner != nil {
			if s, ok := inner.(string); ok {
				return s, known
			}
			return resultText(otlp.StringValue(encodeTree(inner)), known)
		}
	}
	return resultText(otlp.StringValue(text), known)
}

// asMap is an object, nil for anything else.
func asMap(t tree) map[string]any {
	m, _ := t.(map[string]any)
	return m
}
