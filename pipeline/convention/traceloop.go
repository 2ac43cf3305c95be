package convention

import (
	"slices"
	"strings"

	"github.com/tracejury/tracejury/pipeline/otlp"
)

// Traceloop reads OpenLLMetry: numbered gen_ai.prompt and gen_ai.completion attributes of its older versions, OpenTelemetry's
// messages of its newer ones, and entity input and output of workflows, tasks, tools and MCP calls. Tools of LangChain lose
// their name, which the message in their output still has.
type Traceloop struct{}

const traceloop = "traceloop"

// Name implements [Convention].
func (Traceloop) Name() string { return traceloop }

// Match implements [Convention].
func (Traceloop) Match(r *Record) bool {
	a := r.Attributes
	if a.Has("openinference.span.kind") {
		return false
	}
	return strings.HasPrefix(r.Row.ScopeName, "@traceloop/") || hasPrefix(a, "traceloop.") || hasPrefix(a, "gen_ai.prompt.0") || hasPrefix(a, "gen_ai.completion.0")
}

// Internal implements [Convention].
func (Traceloop) Internal(r *Record) bool {
	return r.Row.Name == "mcp.client.session"
}

// Exports implements [Convention].
func (Traceloop) Exports(r *Record) Content {
	a := r.Attributes
	c := genAIExports(r)
	if hasPrefix(a, "gen_ai.prompt.") {
		c |= ContentUserPrompt | ContentToolArguments | ContentToolResults | ContentSkillBody
	}
	if hasPrefix(a, "gen_ai.completion.") {
		c |= ContentAssistantText | ContentToolArguments
	}
	if strings.Contains(a.Str("gen_ai.input.messages"), `"role":"system"`) || foldRole(a.Str("gen_ai.prompt.0.role")) == "system" {
		c |= ContentSkillCatalogue
	}
	if traceloopKind(r) == opTool {
		if a.Str("traceloop.entity.input") != "" {
			c |= ContentToolArguments
		}
		if a.Str("traceloop.entity.output") != "" {
			c |= ContentToolResults | ContentSkillBody
		}
	}
	return c
}

func traceloopKind(r *Record) operation {
	a := r.Attributes
	switch {
	case a.Str("traceloop.span.kind") == "tool", a.Str("gen_ai.operation.name") == "execute_tool", strings.HasSuffix(r.Row.Name, ".tool") && a.Has("traceloop.entity.input"):
		return opTool
	case a.Has("traceloop.span.kind"), strings.HasSuffix(r.Row.Name, ".mcp"):
		return opAgent
	}
	return opModel
}

// Events implements [Convention].
func (Traceloop) Events(r *Record, emit func(Event)) {
	t := newTeller(r, traceloop, emit)
	a := r.Attributes
	t.meta.Agent = a.Str("gen_ai.agent.name")
	if t.meta.Agent == "" && a.Str("traceloop.span.kind") == "agent" {
		t.meta.Agent = a.Str("traceloop.entity.name")
	}
	t.meta.Witness = r.Row.ScopeName + "/" + a.Str("gen_ai.operation.name") + a.Str("traceloop.span.kind")
	t.tell(&Identity{Harness: traceloop, Version: r.Row.ScopeVersion})
	if r.Row.Name == "initialize.mcp" {
		if tr, ok := parseTree(a.Str("traceloop.entity.output")); ok {
			if name := str(field(tr, "serverInfo"), "name"); name != "" {
				t.tell(&ToolServer{Server: name})
			}
		}
		return
	}
	if r.Row.Name == "tools/list.mcp" {
		if tr, ok := parseTree(a.Str("traceloop.entity.output")); ok {
			tellDefinitions(t, field(tr, "tools"))
		}
		return
	}
	switch traceloopKind(r) {
	case opTool:
		traceloopTool(r, t)
	case opAgent:
		agent := a.Str("traceloop.span.kind") == "agent"
		if agent {
			t.tell(&AgentStart{})
		}
		t.meta.Summary = true
		traceloopEntity(r, t)
		t.meta.Summary = false
		genAIFailure(r, t)
		if agent {
			t.tellAt(r.end(), &AgentEnd{Status: endStatus(r)})
		}
	default:
		traceloopModel(r, t)
	}
}

func traceloopModel(r *Record, t *teller) {
	a := r.Attributes
	genAIDefinitions(a, t)
	if v, ok := a.Get("gen_ai.system_instructions"); ok {
		tellSystem(t, r.Row.StartedUnixNano, v, r.Row.SpanID)
	}
	if v, ok := a.Get("gen_ai.input.messages"); ok {
		t.history(0, r.Row.SpanID, false, decodedTwice(t.parseMessages(v)))
	} else {
		t.history(0, r.Row.SpanID, false, traceloopMessages(a, "gen_ai.prompt."))
	}
	id := a.Str("gen_ai.response.id")
	if v, ok := a.Get("gen_ai.output.messages"); ok {
		t.output(0, id, parseMessages(v))
	} else {
		out := traceloopMessages(a, "gen_ai.completion.")
		for i := range out {
			out[i].role = "assistant"
		}
		t.output(0, id, out)
	}
	genAISpanEvents(r, t, genAIStyle{})
	genAIFailure(r, t)
	t.tellAt(r.end(), genAIUsage(r, false))
}

// traceloopMessages reads prefix<N>.{role,content,tool_call_id,tool_calls.K.*}.
func traceloopMessages(a Attributes, prefix string) []message {
	var out []message
	for _, f := range numbered(a, prefix) {
		m := message{role: foldRole(str(f, "role"))}
		content := contentParts(otlp.StringValue(str(f, "content")))
		if calls := callList(str(f, "content")); calls != nil { // Koog writes calls as the text of a message
			out = append(out, message{role: "assistant", parts: calls})
			continue
		}
		if id := str(f, "tool_call_id"); id != "" || m.role == "tool" {
			text := make([]string, 0, len(content))
			for _, p := range content {
				text = append(text, p.text)
			}
			content = []part{{kind: partResult, id: id, text: strings.Join(text, "\n"), outcome: OutcomeUnknown}}
		}
		m.parts = content
		for _, c := range sub(f, "tool_calls.") {
			m.parts = appendCall(m.parts, toolCallPart(c))
		}
		out = append(out, m)
	}
	return out
}

// callList reads text that is a list of tool calls and nothing else.
func callList(text string) []part {
	if !strings.HasPrefix(text, `[{"`) || !strings.Contains(text, `"function":{`) {
		return nil
	}
	tr, ok := parseTree(text)
	if !ok {
		return nil
	}
	var out []part
	for _, e := range asList(tr) {
		p := toolCallPart(e)
		if _, isCall := field(e, "function").(map[string]any); !isCall || p.name == "" {
			return nil
		}
		out = append(out, p)
	}
	return out
}

// decodedTwice undoes content that was encoded as JSON although it is the text of a part already, and a whole history that
// stands in one user message.
func decodedTwice(messages []message) []message {
	if len(messages) > 0 {
		if last := messages[len(messages)-1]; last.role == "user" && len(last.parts) == 1 && last.parts[0].kind == partText {
			if inner := itemsIn(last.parts[0].text); inner != nil {
				messages = append(messages[:len(messages)-1:len(messages)-1], inner...)
			}
		}
	}
	for i := range messages {
		m := &messages[i]
		if m.role != "system" && m.role != "user" {
			continue
		}
		for j := range m.parts {
			p := &m.parts[j]
			if p.kind != partText || !strings.HasPrefix(p.text, `[{"type":`) {
				continue
			}
			if tr, ok := parseTree(p.text); ok {
				if text := flatten(tr); text != "" {
					m.parts = slices.Clone(m.parts) // they may be remembered
					m.parts[j].text = text
				}
			}
		}
	}
	return messages
}

// itemsIn reads a list of the Responses API's input items; nil for any other text.
func itemsIn(text string) []message {
	if !strings.HasPrefix(text, `[{"`) {
		return nil
	}
	tr, ok := parseTree(text)
	if !ok {
		return nil
	}
	list := asList(tr)
	for _, e := range list {
		switch kind := str(e, "type"); {
		case str(e, "role") != "", kind == "message", kind == "reasoning",
			strings.HasPrefix(kind, "function_call"), strings.HasPrefix(kind, "custom_tool_call"):
		default:
			return nil
		}
	}
	return messagesOf(list)
}

// traceloopEntity reads what a workflow or task was given and gave back, as a summary of what lies below it.
func traceloopEntity(r *Record, t *teller) {
	a := r.Attributes
	if tr, ok := parseTree(a.Str("traceloop.entity.input")); ok {
		if inner := field(tr, "inputs", "kwargs"); inner != nil {
			tr = inner
		}
		t.history(0, r.Row.SpanID, false, requestOf(tr).messages)
	}
	if tr, ok := parseTree(a.Str("traceloop.entity.output")); ok {
		if inner := field(tr, "outputs"); inner != nil {
			tr = inner
		}
		t.output(r.end(), "", lastAnswer(messagesOf(tr)))
	}
}

func traceloopTool(r *Record, t *teller) {
	a := r.Attributes
	call := &ToolCall{Source: SourceExecution, CallID: toolCallID(a), Tool: a.Str("gen_ai.tool.name", "traceloop.entity.name")}
	if call.Tool == "" {
		call.Tool = toolName(r)
	}
	call.Arguments = traceloopArguments(a.Str("traceloop.entity.input", "mcp.request.argument"), call)
	result := &ToolResult{Source: SourceExecution, Outcome: toolOutcome(r)}
	traceloopResult(a.Str("traceloop.entity.output", "mcp.response.value"), call, result)
	if call.Arguments == "" {
		if v, ok := a.Get("gen_ai.tool.call.arguments"); ok {
			call.Arguments = valueArguments(v)
		}
	}
	if result.Text == "" && result.Outcome == OutcomeError {
		if result.Text = exceptionText(r); result.Text == "" {
			result.Text = r.Row.StatusMessage
		}
	}
	call.Truncated, result.Truncated = isCut(call.Arguments), isCut(result.Text)
	result.CallID, result.Tool = call.CallID, call.Tool
	t.tell(call)
	t.tellAt(r.end(), result)
}

// traceloopArguments reads {tool_name, arguments}, {args: [JSON]} or {inputs}, else the whole text.
func traceloopArguments(text string, call *ToolCall) string {
	tr, ok := parseTree(text)
	if !ok {
		return text
	}
	if name := str(tr, "tool_name"); name != "" {
		call.Tool = name
	}
	if list := asList(field(tr, "args")); len(list) == 1 {
		return argumentsText(list[0])
	}
	if inner := field(tr, "arguments", "inputs", "kwargs"); inner != nil {
		return argumentsText(inner)
	}
	if s := str(tr, "input_str"); s != "" {
		return argumentsText(s)
	}
	return argumentsText(tr)
}

// traceloopResult reads {result, is_error}, a message with the call's id and the tool's own name, or plain text.
func traceloopResult(text string, call *ToolCall, result *ToolResult) {
	if text == "" {
		return
	}
	tr, ok := parseTree(text)
	if !ok {
		result.Text = text
		return
	}
	if inner := field(tr, "output", "outputs"); inner != nil {
		tr = inner
	}
	for _, m := range messagesOf(tr) {
		for _, p := range m.parts {
			if p.kind != partResult {
				continue
			}
			call.CallID = firstText(p.id, call.CallID)
			call.Tool = firstText(p.name, call.Tool)
			result.Text = p.text
			if p.outcome != OutcomeUnknown {
				result.Outcome = p.outcome
			}
			return
		}
	}
	failed, _ := field(tr, "is_error", "isError").(bool)
	if r := field(tr, "result"); r != nil {
		tr = r
	}
	result.Text = unquote(flatten(tr))
	if failed {
		result.Outcome = OutcomeError
	}
}

func firstText(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
