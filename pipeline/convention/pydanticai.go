package convention

import "strings"

// PydanticAI reads Pydantic AI (Logfire): model spans in OpenTelemetry's convention, or with a list of events in one
// attribute (version 1); agent spans that repeat the whole history in pydantic_ai.all_messages; tools by tool_arguments and
// tool_response; tool definitions in model_request_parameters.
type PydanticAI struct{}

const pydanticAI = "pydantic_ai"

// Name implements [Convention].
func (PydanticAI) Name() string { return pydanticAI }

// Match implements [Convention].
func (PydanticAI) Match(r *Record) bool {
	return r.Row.ScopeName == "pydantic-ai" || strings.HasPrefix(r.Row.ScopeName, "pydantic_ai") || hasPrefix(r.Attributes, "pydantic_ai.")
}

// Internal implements [Convention]: the span around tools that run side by side says nothing of its own.
func (PydanticAI) Internal(*Record) bool { return false }

// Exports implements [Convention].
func (PydanticAI) Exports(r *Record) Content {
	a := r.Attributes
	c := genAIExports(r)
	if a.Has("events") || a.Has("all_messages_events") || a.Has("pydantic_ai.all_messages") {
		c |= ContentUserPrompt | ContentAssistantText | ContentToolArguments | ContentToolResults | ContentSkillCatalogue | ContentSkillBody
	}
	if a.Has("tool_arguments") {
		c |= ContentToolArguments
	}
	if a.Has("tool_response") {
		c |= ContentToolResults | ContentSkillBody
	}
	return c
}

// Events implements [Convention].
func (PydanticAI) Events(r *Record, emit func(Event)) {
	a := r.Attributes
	if r.isLog() || operationOf(r) != opTool && !a.Has("agent_name") && !strings.HasSuffix(r.Row.Name, " run") {
		t := newTeller(r, pydanticAI, emit)
		genAITell(r, t, genAIStyle{harness: pydanticAI})
		pydanticEvents(r, t, "events")
		pydanticDefinitions(a, t)
		return
	}
	t := newTeller(r, pydanticAI, emit)
	t.meta.Witness = r.Row.ScopeName + "/" + a.Str("gen_ai.operation.name")
	t.meta.AgentID = a.Str("gen_ai.agent.call.id")
	if operationOf(r) == opTool {
		pydanticTool(r, t)
		return
	}
	t.meta.Agent = a.Str("gen_ai.agent.name", "agent_name")
	t.tell(&Identity{Harness: pydanticAI, Version: r.Row.ScopeVersion})
	t.tell(&AgentStart{})
	t.meta.Summary = true
	if v, ok := a.Get("pydantic_ai.all_messages"); ok {
		t.history(0, r.Row.SpanID, false, t.parseMessages(v))
	} else {
		pydanticEvents(r, t, "all_messages_events")
	}
	genAIMessages(r, t, genAIStyle{}, a)
	if s := a.Str("final_result"); s != "" {
		t.tellAt(r.end(), &Message{Text: s, Truncated: isCut(s)})
	}
	t.tellAt(r.end(), genAIUsage(r, true))
	t.meta.Summary = false
	genAIFailure(r, t)
	t.tellAt(r.end(), &AgentEnd{Status: endStatus(r)})
}

// pydanticEvents reads the messages of version 1: a list of the events that OpenTelemetry had, in one attribute.
func pydanticEvents(r *Record, t *teller, key string) {
	v, ok := r.Attributes.Get(key)
	if !ok {
		return
	}
	tr, ok := treeOf(v)
	if !ok {
		return
	}
	for i, e := range asList(tr) {
		name := str(e, "event.name")
		if name == "gen_ai.choice" {
			if m, ok := messageOf(field(e, "message")); ok {
				m.role = "assistant"
				t.output(r.end(), r.Attributes.Str("gen_ai.response.id"), []message{m})
			}
			continue
		}
		if _, ok := eventRole(name); !ok {
			continue
		}
		m, ok := messageOf(e)
		if !ok {
			continue
		}
		if m.role == "tool" { // {id, content}
			m.parts = []part{resultPart(str(e, "id"), str(e, "name"), field(e, "content"), nil)}
		}
		t.message(0, History{Origin: OriginHistory, Call: r.Row.SpanID, Position: i}, "", m)
	}
}

func pydanticTool(r *Record, t *teller) {
	a := r.Attributes
	name := toolName(r)
	if rest, ok := strings.CutPrefix(name, "running tool: "); ok {
		name = rest
	}
	server, tool := SplitMCP(name)
	call := &ToolCall{Source: SourceExecution, CallID: toolCallID(a), Tool: tool, Server: server}
	for _, k := range [...]string{"gen_ai.tool.call.arguments", "tool_arguments"} {
		if v, ok := a.Get(k); ok && call.Arguments == "" {
			call.Arguments = valueArguments(v)
		}
	}
	result := &ToolResult{Source: SourceExecution, CallID: call.CallID, Tool: tool, Outcome: toolOutcome(r)}
	for _, k := range [...]string{"gen_ai.tool.call.result", "tool_response"} {
		if v, ok := a.Get(k); ok && result.Text == "" {
			result.Text, result.Outcome = resultText(v, result.Outcome)
		}
	}
	if result.Outcome == OutcomeUnknown && result.Text != "" && !r.failed() {
		result.Outcome = OutcomeOK
	}
	if result.Text == "" && r.failed() {
		if result.Text = exceptionText(r); result.Text == "" {
			result.Text = r.Row.StatusMessage
		}
	}
	if a.Str("pydantic_ai.tool.deferral.name") != "" { // it waits for a person or another system
		result.Outcome = OutcomeNotExecuted
	}
	call.Truncated, result.Truncated = isCut(call.Arguments), isCut(result.Text)
	t.tell(call)
	t.tellAt(r.end(), result)
}

func pydanticDefinitions(a Attributes, t *teller) {
	v, ok := a.Get("model_request_parameters")
	if !ok {
		return
	}
	if tr, ok := treeOf(v); ok {
		tellDefinitions(t, field(tr, "function_tools"))
	}
}
