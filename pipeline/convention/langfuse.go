package convention

import (
	"slices"
	"strings"

	"github.com/tracejury/tracejury/pipeline/otlp"
)

// Langfuse reads the spans of Langfuse's SDKs: an observation with its type, input, output, usage and cost in attributes of
// their own. Spans of other instrumentations that pass through the SDK keep their own convention.
type Langfuse struct{}

const (
	langfuse      = "langfuse"
	langfuseInput = "langfuse.observation.input"
	langfuseOut   = "langfuse.observation.output"
)

// Name implements [Convention].
func (Langfuse) Name() string { return langfuse }

// Match implements [Convention].
func (Langfuse) Match(r *Record) bool {
	a := r.Attributes
	return !r.isLog() && (a.Has("langfuse.observation.type") || a.Has(langfuseInput) || a.Has(langfuseOut) || a.Has("langfuse.trace.input") || r.Row.ScopeName == "langfuse-sdk")
}

// Internal implements [Convention].
func (Langfuse) Internal(*Record) bool { return false }

// Exports implements [Convention].
func (Langfuse) Exports(r *Record) Content {
	in, out := r.Attributes.Str(langfuseInput) != "", r.Attributes.Str(langfuseOut) != ""
	var c Content
	switch langfuseKind(r) {
	case opModel:
		if in {
			c |= ContentUserPrompt | ContentToolArguments | ContentToolResults | ContentSkillCatalogue | ContentSkillBody
		}
		if out {
			c |= ContentAssistantText | ContentToolArguments
		}
	case opTool:
		if in {
			c |= ContentToolArguments
		}
		if out {
			c |= ContentToolResults | ContentSkillBody
		}
	}
	return c
}

func langfuseKind(r *Record) operation {
	switch strings.ToLower(r.Attributes.Str("langfuse.observation.type")) {
	case "generation":
		return opModel
	case "tool":
		return opTool
	case "agent":
		return opAgent
	}
	return opOther
}

// Events implements [Convention].
func (Langfuse) Events(r *Record, emit func(Event)) {
	a := r.Attributes
	t := newTeller(r, langfuse, emit)
	kind := langfuseKind(r)
	t.meta.Witness = r.Row.ScopeName + "/" + a.Str("langfuse.observation.type")
	t.tell(&Identity{Harness: langfuse, Version: r.Row.ScopeVersion})
	switch kind {
	case opModel:
		langfuseExchange(r, t, langfuseInput, langfuseOut)
		langfuseFailure(r, t)
		t.tellAt(r.end(), langfuseUsage(r))
	case opTool:
		langfuseTool(r, t)
	default:
		if kind == opAgent {
			t.meta.Agent = r.Row.Name
			t.tell(&AgentStart{})
		}
		t.meta.Summary = true
		if r.Row.ParentSpanID == "" && !a.Has(langfuseInput) && !a.Has(langfuseOut) {
			langfuseExchange(r, t, "langfuse.trace.input", "langfuse.trace.output")
		} else {
			langfuseExchange(r, t, langfuseInput, langfuseOut)
		}
		t.meta.Summary = false
		langfuseFailure(r, t)
		if kind == opAgent {
			t.tellAt(r.end(), &AgentEnd{Status: endStatus(r)})
		}
	}
}

// langfuseExchange reads what went in and came out: a request and response body, messages, or for a model plain text.
func langfuseExchange(r *Record, t *teller, in, out string) {
	a := r.Attributes
	plain := !t.meta.Summary || r.Row.ParentSpanID == ""
	if v, ok := a.Get(in); ok {
		if tr, ok := treeOf(v); ok {
			x := requestOf(tr)
			if x.system != "" && !hasSystem(x.messages) {
				tellSystem(t, r.Row.StartedUnixNano, otlp.StringValue(x.system), r.Row.SpanID)
			}
			x.messages, x.tools = langfuseTools(x.messages, tr, x.tools)
			langfuseRoles(x.messages)
			t.history(0, r.Row.SpanID, false, x.messages)
			if !t.meta.Summary {
				tellDefinitions(t, x.tools)
			}
		} else if s := v.Str(); s != "" && plain {
			t.tell(&Prompt{History: History{Origin: OriginHistory, Call: r.Row.SpanID}, Text: s, Truncated: isCut(s)})
		}
	}
	if v, ok := a.Get(out); ok {
		tr, structured := treeOf(v)
		if s, quoted := tr.(string); quoted {
			structured, v = false, otlp.StringValue(s)
		}
		switch {
		case structured:
			msgs := responseOf(tr).messages
			if len(msgs) == 0 {
				msgs = messagesOf(tr)
			}
			if t.meta.Summary {
				msgs = lastAnswer(msgs)
			}
			t.output(r.end(), "", msgs)
		case v.Str() != "" && plain:
			t.tellAt(r.end(), &Message{Text: v.Str(), Truncated: isCut(v.Str())})
		}
	}
}

// langfuseTools takes out the definitions that the SDK's LangChain handler writes among the messages, as messages of a tool
// that hold a function.
func langfuseTools(msgs []message, tr tree, tools tree) ([]message, tree) {
	list := asList(tr)
	if len(list) != len(msgs) {
		return msgs, tools
	}
	var kept []message
	var found []any
	for i, e := range list {
		if f, ok := field(e, "content").(map[string]any); ok && str(e, "role") == "tool" && field(f, "function") != nil {
			found = append(found, f)
			continue
		}
		kept = append(kept, msgs[i])
	}
	if found != nil {
		tools = found
	}
	return kept, tools
}

// langfuseRoles makes results of messages whose role is the tool's name.
func langfuseRoles(msgs []message) {
	for i := range msgs {
		m := &msgs[i]
		switch m.role {
		case "system", "user", "assistant", "tool":
			continue
		}
		for j, p := range m.parts {
			if p.kind == partText {
				m.parts = slices.Clone(m.parts) // they may be remembered
				m.parts[j] = part{kind: partResult, id: "", name: m.role, text: p.text, outcome: OutcomeUnknown}
			}
		}
		m.role = "tool"
	}
}

func langfuseTool(r *Record, t *teller) {
	a := r.Attributes
	server, tool := SplitMCP(r.Row.Name)
	call := &ToolCall{Source: SourceExecution, Tool: tool, Server: server, CallID: toolCallID(a)}
	if v, ok := a.Get(langfuseInput); ok {
		call.Arguments = valueArguments(v)
	}
	result := &ToolResult{Source: SourceExecution, Tool: tool, Outcome: toolOutcome(r)}
	if v, ok := a.Get(langfuseOut); ok {
		var id string
		text := v.Str()
		if tr, ok := treeOf(v); ok {
			text = encodeTree(tr)
		}
		result.Text, result.Outcome, id = toolOutput(text, result.Outcome)
		if call.CallID == "" {
			call.CallID = id
		}
	}
	if strings.EqualFold(a.Str("langfuse.observation.level"), "error") {
		result.Outcome = OutcomeError
	} else if result.Outcome == OutcomeUnknown && result.Text != "" {
		result.Outcome = OutcomeOK
	}
	if result.Text == "" {
		result.Text = firstText(a.Str("langfuse.observation.status_message"), r.Row.StatusMessage)
	}
	result.CallID = call.CallID
	call.Truncated, result.Truncated = isCut(call.Arguments), isCut(result.Text)
	t.tell(call)
	t.tellAt(r.end(), result)
}

func langfuseFailure(r *Record, t *teller) {
	a := r.Attributes
	if !strings.EqualFold(a.Str("langfuse.observation.level"), "error") {
		genAIFailure(r, t)
		return
	}
	t.tellAt(r.end(), &Failure{Type: a.Str("error.type"), Text: firstText(a.Str("langfuse.observation.status_message"), r.Row.StatusMessage)})
}

// langfuseUsage reads usage_details and cost_details, objects of counts whose names are the vendor's.
func langfuseUsage(r *Record) *Usage {
	u := genAIUsage(r, false)
	a := r.Attributes
	if u.Model == "" {
		u.Model = a.Str("langfuse.observation.model.name", "model")
	}
	details := detailsAt(a, "langfuse.observation.usage_details")
	u.InputTokens = orCount(u.InputTokens, details.count("input", "prompt_tokens", "input_tokens", "promptTokens", "inputTokens"))
	u.OutputTokens = orCount(u.OutputTokens, details.count("output", "completion_tokens", "output_tokens", "completionTokens", "outputTokens"))
	u.CacheReadTokens = orCount(u.CacheReadTokens, details.count("input_cached_tokens", "cache_read_input_tokens", "input_cache_read"))
	u.CacheWriteTokens = orCount(u.CacheWriteTokens, details.count("cache_creation_input_tokens", "input_cache_creation"))
	if u.CostMicroUSD == nil {
		u.CostMicroUSD = detailsAt(a, "langfuse.observation.cost_details").microUSD("total")
	}
	u.wholeInput(details.count("total", "total_tokens"), false)
	return u
}

func orCount(a, b *int64) *int64 {
	if a != nil {
		return a
	}
	return b
}

// detailsAt is a JSON object of numbers as attributes.
func detailsAt(a Attributes, key string) Attributes {
	v, ok := a.Get(key)
	if !ok {
		return nil
	}
	if v.Kind() == otlp.KindMap {
		return v.Map()
	}
	parsed, err := otlp.ParseAttributes(v.Str())
	if err != nil {
		return nil
	}
	return parsed
}
