package convention

import (
	"strings"

	"github.com/tracejury/tracejury/pipeline/otlp"
)

// genAITool emits an execute_tool span or an MCP tools/call span: the call at its start, its result at its end.
func genAITool(r *Record, t *teller) {
	a := r.Attributes
	name := toolName(r)
	server := a.Str("mcp.server.name", "gen_ai.tool.server.name")
	if server == "" {
		server, name = SplitMCP(name)
	}
	call := &ToolCall{Source: SourceExecution, CallID: toolCallID(a), Tool: name, Server: server}
	result := &ToolResult{Source: SourceExecution, CallID: call.CallID, Tool: name}
	for _, k := range [...]string{"gen_ai.tool.call.arguments", "gen_ai.tool.input", "input.value", "mcp.request.arguments"} {
		if v, ok := a.Get(k); ok && call.Arguments == "" {
			call.Arguments = valueArguments(v)
		}
	}
	result.Outcome = toolOutcome(r)
	for _, k := range [...]string{"gen_ai.tool.call.result", "gen_ai.tool.output", "output.value"} {
		if v, ok := a.Get(k); ok && result.Text == "" {
			result.Text, result.Outcome = resultText(v, result.Outcome)
		}
	}
	if n := a.count("process.exit.code"); n != nil && *n <= 255 {
		code := int32(*n)
		result.ExitCode = &code
	}
	genAIToolEvents(r, call, result)
	if result.Text == "" && result.Outcome == OutcomeError {
		if result.Text = exceptionText(r); result.Text == "" {
			result.Text = r.Row.StatusMessage
		}
	}
	call.Truncated, result.Truncated = isCut(call.Arguments), isCut(result.Text)
	t.tell(call)
	t.tellAt(r.end(), result)
	if skill := a.Str("gen_ai.skill.name"); skill != "" && !a.Has("gen_ai.skill.resource.name") && !a.Has("process.executable.name") {
		load := &SkillLoad{Skill: skill, CallID: call.CallID, Via: ViaAttribute, Outcome: "loaded",
			Description: a.Str("gen_ai.skill.description"), Directory: directory(a.Str("gen_ai.skill.source.uri"))}
		if result.Outcome == OutcomeError || result.Outcome == OutcomeDenied {
			load.Outcome, load.Refusal = "refused", result.Text
		}
		t.tellAt(r.end(), load)
	}
	if d := a.Str("gen_ai.tool.description"); d != "" {
		t.tell(&ToolDefinition{Server: server, Tool: name, Description: d})
	}
}

func toolName(r *Record) string {
	if n := r.Attributes.Str("gen_ai.tool.name", "mcp.tool.name"); n != "" {
		return n
	}
	for _, prefix := range [...]string{"execute_tool ", "tools/call "} {
		if n, ok := strings.CutPrefix(r.Row.Name, prefix); ok {
			return n
		}
	}
	return r.Row.Name
}

// toolCallID is the call's id; placeholders that an SDK writes for none are none.
func toolCallID(a Attributes) string {
	id := a.Str("gen_ai.tool.call.id", "gen_ai.tool.call_id")
	if strings.HasPrefix(id, "<") || id == "None" || id == "null" || id == "undefined" || id == "unknown" {
		return ""
	}
	return id
}

func valueArguments(v otlp.Value) string {
	if tr, ok := treeOf(v); ok {
		return argumentsText(tr)
	}
	return v.Str()
}

// resultText is a result attribute as text. What the result itself says of failure outweighs a span that ended well.
func resultText(v otlp.Value, known Outcome) (string, Outcome) {
	tr, ok := treeOf(v)
	if !ok {
		return v.Str(), known
	}
	inner, said := unwrapResult(tr, OutcomeUnknown)
	if said == OutcomeError || said == OutcomeDenied || known == OutcomeUnknown {
		known = said
	}
	return unquote(flatten(inner)), known
}

// toolOutcome is what the span says: its own status word first, then error.type, then the span's status.
func toolOutcome(r *Record) Outcome {
	if o := StatusOutcome(r.Attributes.Str("gen_ai.tool.status", "tool.status")); o != OutcomeUnknown {
		return o
	}
	if e := r.Attributes.Str("error.type"); e != "" {
		if o := StatusOutcome(e); o == OutcomeDenied {
			return o
		}
		return OutcomeError
	}
	switch r.Row.Status {
	case "error":
		return OutcomeError
	case "ok":
		return OutcomeOK
	}
	if r.Row.EndedUnixNano != 0 && (r.Attributes.Has("gen_ai.tool.call.result") || r.Attributes.Has("gen_ai.tool.output") || r.Attributes.Has("output.value")) {
		return OutcomeOK
	}
	return OutcomeUnknown
}

// genAIToolEvents reads arguments and result from the events of a tool span: tool.message and choice, or operation.details.
func genAIToolEvents(r *Record, call *ToolCall, result *ToolResult) {
	for i := range r.Events {
		a := Attributes(r.Events[i].Attributes)
		switch r.Events[i].Name {
		case "gen_ai.tool.message":
			if v, ok := a.Get("content"); ok && call.Arguments == "" {
				call.Arguments = valueArguments(v)
			}
			setID(call, result, a.Str("id"))
		case "gen_ai.choice":
			if v, ok := a.Get("message"); ok && result.Text == "" {
				result.Text, result.Outcome = resultText(v, result.Outcome)
			}
			setID(call, result, a.Str("id"))
		case "gen_ai.client.inference.operation.details":
			toolDetails(a, call, result)
		}
	}
	toolDetails(r.Attributes, call, result)
}

func setID(call *ToolCall, result *ToolResult, id string) {
	if call.CallID == "" {
		call.CallID, result.CallID = id, id
	}
}

// toolDetails reads the messages by which Strands describes a tool span: its call as input, its response as output.
func toolDetails(a Attributes, call *ToolCall, result *ToolResult) {
	for _, key := range [...]string{"gen_ai.input.messages", "gen_ai.output.messages"} {
		v, ok := a.Get(key)
		if !ok {
			continue
		}
		for _, m := range parseMessages(v) {
			for _, p := range m.parts {
				switch {
				case p.kind == partCall && call.Arguments == "":
					call.Arguments = p.args
				case p.kind == partResult && result.Text == "":
					result.Text = p.text
					if p.outcome == OutcomeError {
						result.Outcome = OutcomeError
					}
				}
				if p.kind == partCall || p.kind == partResult {
					setID(call, result, p.id)
				}
			}
		}
	}
}
