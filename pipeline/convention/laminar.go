package convention

import (
	"strings"

	"github.com/tracejury/tracejury/pipeline/otlp"
)

// Laminar reads Laminar's SDK (lmnr), by which OpenHands exports to any OpenTelemetry backend: spans of a type (LLM, TOOL,
// DEFAULT) with an input and an output, model calls in OpenAI's shape below gen_ai. names, and the id of a tool call in the
// metadata. OpenHands' own names (conversation, agent.step) make it the harness.
type Laminar struct{}

const laminar = "laminar"

// metadata of a span, its own and the trace's.
const laminarMetadata = "lmnr.association.properties.metadata."

// Name implements [Convention].
func (Laminar) Name() string { return laminar }

// Match implements [Convention].
func (Laminar) Match(r *Record) bool {
	return !r.isLog() && (r.Row.ScopeName == "lmnr.tracer" || hasPrefix(r.Attributes, "lmnr.span."))
}

// Internal implements [Convention]: sessions need the wrappers to find what lies above a call.
func (Laminar) Internal(*Record) bool { return false }

// Exports implements [Convention].
func (Laminar) Exports(r *Record) Content {
	a := r.Attributes
	c := Traceloop{}.Exports(r)
	in, out := a.Has("lmnr.span.input"), a.Has("lmnr.span.output")
	switch a.Str("lmnr.span.type") {
	case "TOOL":
		if in {
			c |= ContentToolArguments
		}
		if out {
			c |= ContentToolResults | ContentSkillBody
		}
	case "LLM":
		if in {
			c |= ContentUserPrompt
		}
		if out {
			c |= ContentAssistantText
		}
	}
	if strings.Contains(a.Str("gen_ai.input.messages"), `"role":"system"`) || strings.Contains(a.Str("gen_ai.input.messages"), `"role": "system"`) {
		c |= ContentSkillCatalogue
	}
	return c
}

// Events implements [Convention].
func (Laminar) Events(r *Record, emit func(Event)) {
	t := newTeller(r, laminar, emit)
	a := r.Attributes
	t.meta.Witness = r.Row.ScopeName + "/" + a.Str("lmnr.span.type")
	harness := laminar
	if isOpenHandsSpan(r) {
		harness = openHands
	}
	t.tell(&Identity{Harness: harness, Version: a.Str("lmnr.span.sdk_version")})
	if a.Str(laminarMetadata+"openhands.operation") != "" { // a title or an aside: the agent said nothing
		if a.Str("lmnr.span.type") == "LLM" {
			t.tellAt(r.end(), genAIUsage(r, false))
		}
		return
	}
	switch a.Str("lmnr.span.type") {
	case "LLM":
		laminarModel(r, t)
	case "TOOL":
		laminarTool(r, t)
	default:
		if r.Row.Name == "conversation.send_message" {
			laminarPrompt(a, t)
		}
		if r.failed() {
			genAIFailure(r, t)
		}
	}
}

// isOpenHandsSpan knows the names that OpenHands gives its spans.
func isOpenHandsSpan(r *Record) bool {
	n := r.Row.Name
	for _, p := range [...]string{"conversation", "agent.step", "agent.astep", "acp_agent."} {
		if n == p || strings.HasPrefix(n, p+".") || strings.HasSuffix(p, ".") && strings.HasPrefix(n, p) {
			return true
		}
	}
	return hasPrefix(r.Attributes, laminarMetadata+"openhands.")
}

// laminarModel reads a model call: by gen_ai. names where an instrumentation wrote it, else by the span's input and output.
func laminarModel(r *Record, t *teller) {
	a := r.Attributes
	if hasPrefix(a, "gen_ai.input.") || hasPrefix(a, "gen_ai.prompt.") || hasPrefix(a, "gen_ai.output.") || hasPrefix(a, "gen_ai.completion.") {
		traceloopModel(r, t)
		return
	}
	if v, ok := a.Get("lmnr.span.input"); ok {
		msgs := parseMessages(v)
		if len(msgs) == 0 {
			msgs = contentMessages("user", v)
		}
		t.history(r.Row.StartedUnixNano, r.Row.SpanID, false, msgs)
	}
	if v, ok := a.Get("lmnr.span.output"); ok {
		t.output(r.end(), "", contentMessages("assistant", v))
	}
	genAIFailure(r, t)
	t.tellAt(r.end(), genAIUsage(r, false))
}

// laminarPrompt reads what a user sent: {"message": text or message}.
func laminarPrompt(a Attributes, t *teller) {
	tr, ok := parseTree(a.Str("lmnr.span.input"))
	if !ok {
		return
	}
	text := flatten(field(tr, "message"))
	if m, ok := messageOf(field(tr, "message")); ok {
		var parts []string
		for _, p := range m.parts {
			parts = append(parts, p.text)
		}
		text = strings.Join(parts, "\n")
	}
	if text != "" {
		t.tell(&Prompt{Text: text, Truncated: isCut(text), Redacted: isWithheld(text)})
	}
}

// laminarTool reads a tool's span. Its input is the action, alone or as the one argument of the function that ran it; its output
// is an observation, or the message in which OpenHands tells a model of an error or a rejection.
func laminarTool(r *Record, t *teller) {
	a := r.Attributes
	server, name := SplitMCP(a.Str("gen_ai.tool.name"))
	if name == "" {
		name = r.Row.Name
	}
	id := a.Str(laminarMetadata + "tool_call_id")
	if id == "" {
		id = toolCallID(a)
	}
	call := &ToolCall{Source: SourceExecution, CallID: id, Tool: name, Server: server}
	if v, ok := a.Get("lmnr.span.input"); ok {
		call.Arguments = laminarArguments(v)
	}
	result := &ToolResult{Source: SourceExecution, CallID: id, Tool: name, Outcome: toolOutcome(r)}
	if v, ok := a.Get("lmnr.span.output"); ok {
		tr, isJSON := treeOf(v)
		if m := asMap(tr); isJSON && m != nil {
			result.Text = flatten(field(m, "content", "output", "result", "text"))
			result.Outcome = orOutcome(failureOnly(m), result.Outcome)
			if result.Text == "" {
				result.Text = textOf(v)
			}
			if n, ok := wholeNumber(firstOf(field(m, "exit_code"), field(field(m, "metadata"), "exit_code"))); ok && n >= 0 {
				result.ExitCode = &n
			}
		} else {
			result.Text = v.Str()
		}
	}
	if result.Outcome == OutcomeUnknown && r.Row.EndedUnixNano != 0 && result.Text != "" {
		result.Outcome = OutcomeOK
	}
	denied := strings.HasPrefix(result.Text, "Action rejected:")
	switch {
	case denied:
		result.Outcome = OutcomeDenied
	case strings.HasPrefix(result.Text, "Tool call cancelled by interrupt"):
		result.Outcome = OutcomeNotExecuted
	case strings.HasPrefix(result.Text, "Error executing tool '"), strings.HasPrefix(result.Text, "Error validating "):
		result.Outcome = OutcomeError
	case strings.HasPrefix(result.Text, "Tool '") && strings.Contains(result.Text, "not found"):
		result.Outcome = OutcomeRefused
	}
	call.Truncated, result.Truncated = isCut(call.Arguments), isCut(result.Text)
	t.tell(call)
	t.tellAt(r.end(), result)
	if denied {
		t.tellAt(r.end(), &Denial{CallID: id, Tool: name, By: "user", Text: result.Text})
	}
}

// failureOnly is what an observation says of failure: that it says of none proves nothing.
func failureOnly(m map[string]any) Outcome {
	if o := statusOutcome(m); o != OutcomeOK {
		return o
	}
	return OutcomeUnknown
}

// laminarArguments takes the action out of {"action": {…}} and {"tool_input": {…}}, and the arguments out of a model's call.
func laminarArguments(v otlp.Value) string {
	tr, ok := treeOf(v)
	if !ok {
		return v.Str()
	}
	m := asMap(tr)
	for _, k := range [...]string{"action", "tool_input"} {
		if inner := asMap(m[k]); len(m) == 1 && inner != nil {
			m = inner
		}
	}
	if m == nil {
		return argumentsText(tr)
	}
	if args := m["arguments"]; args != nil && str(m, "name") != "" {
		return argumentsText(args)
	}
	own := make(map[string]any, len(m))
	for k, e := range m {
		switch k {
		case "kind", "security_risk", "summary", "structured_output":
		default:
			own[k] = e
		}
	}
	return encodeTree(own)
}

func firstOf(list ...tree) tree {
	for _, t := range list {
		if t != nil {
			return t
		}
	}
	return nil
}

// wholeNumber is a JSON number that an exit code can be.
func wholeNumber(t tree) (int32, bool) {
	n, ok := t.(interface{ Int64() (int64, error) })
	if !ok {
		return 0, false
	}
	i, err := n.Int64()
	return int32(i), err == nil && i >= -1<<31 && i < 1<<31
}
