package convention

import (
	"strings"

	"github.com/tracejury/tracejury/pipeline/otlp"
)

// OpenInference reads OpenInference (Arize): spans by openinference.span.kind, messages flattened into numbered attributes
// and, richer and less lossy, as the request and response bodies in input.value and output.value.
type OpenInference struct{}

// Name implements [Convention].
func (OpenInference) Name() string { return "openinference" }

// Match implements [Convention].
func (OpenInference) Match(r *Record) bool {
	return !r.isLog() && (r.Attributes.Has("openinference.span.kind") || r.Attributes.Has("llm.input_messages.0.message.role"))
}

// Internal implements [Convention].
func (OpenInference) Internal(*Record) bool { return false }

// framework is what was instrumented, from the scope's name.
func (OpenInference) framework(r *Record) string {
	s := r.Row.ScopeName
	for _, p := range [...]string{"openinference.instrumentation.", "openinference-instrumentation-"} {
		if i := strings.LastIndex(s, p); i >= 0 {
			return snake(s[i+len(p):])
		}
	}
	return ""
}

// snake is a name in lower snake case.
func snake(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '_'
	}, s)
}

// Events implements [Convention].
func (c OpenInference) Events(r *Record, emit func(Event)) {
	t := newTeller(r, c.Name(), emit)
	kind := strings.ToUpper(r.Attributes.Str("openinference.span.kind"))
	t.meta.Witness = r.Row.ScopeName + "/" + kind
	t.meta.Agent = r.Attributes.Str("agent.name")
	if t.meta.Agent == "" {
		if m, ok := parseTree(r.Attributes.Str("metadata")); ok {
			t.meta.Agent = str(m, "lc_agent_name")
		}
	}
	if f := c.framework(r); f != "" {
		t.tell(&Identity{Harness: c.Name() + "_" + f, Version: r.Row.ScopeVersion})
	} else {
		t.tell(&Identity{Harness: c.Name()})
	}
	switch kind {
	case "LLM", "":
		c.model(r, t)
	case "TOOL":
		c.tool(r, t)
	case "AGENT":
		if t.meta.Agent == "" {
			t.meta.Agent = r.Row.Name
		}
		t.tell(&AgentStart{})
		c.summary(r, t)
		t.tellAt(r.end(), &AgentEnd{Status: endStatus(r)})
	case "CHAIN":
		if r.Row.ParentSpanID == "" { // inner chains repeat the messages of the calls below them
			c.summary(r, t)
		}
	}
}

// model emits an LLM span.
func (c OpenInference) model(r *Record, t *teller) {
	a := r.Attributes
	start, end := r.Row.StartedUnixNano, r.end()
	var req, resp exchange
	if x, ok := t.requestOf(a.Str("input.value")); ok {
		req = x
	}
	if tr, ok := parseTree(a.Str("output.value")); ok {
		resp = responseOf(tr)
	}
	flatIn, flatOut := flatMessages(a, "llm.input_messages."), flatMessages(a, "llm.output_messages.")
	if richer(flatIn, req.messages) {
		req.messages = flatIn
	}
	if richer(flatOut, resp.messages) {
		resp.messages = flatOut
	}
	if req.system != "" && !hasSystem(req.messages) {
		tellSystem(t, start, otlp.StringValue(req.system), r.Row.SpanID)
	}
	t.history(start, r.Row.SpanID, false, req.messages)
	t.output(end, resp.id, resp.messages)
	c.definitions(a, t, req.tools)
	if r.failed() {
		text := exceptionText(r)
		if text == "" {
			text = r.Row.StatusMessage
		}
		t.tellAt(end, &Failure{Text: text})
	}
	t.tellAt(end, c.usage(r, resp.id, false))
}

func hasSystem(msgs []message) bool {
	for _, m := range msgs {
		if m.role == "system" && len(m.parts) > 0 {
			return true
		}
	}
	return false
}

// richer says whether flattened messages tell more than those read from the body.
func richer(flat, body []message) bool {
	return content(flat) > content(body)
}

func content(msgs []message) int {
	n := 0
	for _, m := range msgs {
		n += len(m.parts)
	}
	return n
}

func (OpenInference) usage(r *Record, responseID string, total bool) *Usage {
	a := r.Attributes
	u := &Usage{
		Model:            a.Str("llm.response.model_name", "llm.model_name", "llm.request.model_name"),
		Provider:         a.Str("llm.provider", "llm.system"),
		ResponseID:       responseID,
		InputTokens:      a.count("llm.token_count.prompt"),
		OutputTokens:     a.count("llm.token_count.completion"),
		CacheReadTokens:  a.count("llm.token_count.prompt_details.cache_read"),
		CacheWriteTokens: a.count("llm.token_count.prompt_details.cache_write"),
		CostMicroUSD:     firstCost(a, "llm.cost.total"),
		Total:            total,
		DurationNano:     max(0, r.end()-r.Row.StartedUnixNano),
	}
	u.wholeInput(a.count("llm.token_count.total"), false)
	return u
}

// tool emits a TOOL span. Its own result is often a message dump that alone tells the call's id.
func (c OpenInference) tool(r *Record, t *teller) {
	a := r.Attributes
	name := a.Str("tool.name", "tool_call.function.name")
	if name == "" {
		name = r.Row.Name
	}
	server, tool := SplitMCP(name)
	call := &ToolCall{Source: SourceExecution, Tool: tool, Server: server, CallID: a.Str("tool_call.id", "tool.id")}
	call.Arguments = a.Str("tool_call.function.arguments")
	for _, k := range [...]string{"input.value", "tool.parameters"} {
		if v, ok := a.Get(k); ok && call.Arguments == "" {
			call.Arguments = valueArguments(v)
		}
	}
	result := &ToolResult{Source: SourceExecution, Tool: tool, Outcome: OutcomeUnknown}
	switch r.Row.Status {
	case "error":
		result.Outcome = OutcomeError
	case "ok":
		result.Outcome = OutcomeOK
	}
	if v, ok := a.Get("output.value"); ok {
		var id string
		result.Text, result.Outcome, id = toolOutput(textOf(v), result.Outcome)
		if call.CallID == "" {
			call.CallID = id
		}
	}
	if result.Outcome == OutcomeError && result.Text == "" {
		if result.Text = firstParagraph(exceptionText(r)); result.Text == "" {
			result.Text = firstParagraph(r.Row.StatusMessage)
		}
		if o := StatusOutcome(result.Text); o == OutcomeNotExecuted { // "Abandoned": the harness gave the call up
			result.Outcome = o
		}
	}
	result.CallID = call.CallID
	call.Truncated, result.Truncated = isCut(call.Arguments), isCut(result.Text)
	t.tell(call)
	t.tellAt(r.end(), result)
	if d := a.Str("tool.description"); d != "" {
		t.tell(&ToolDefinition{Server: server, Tool: tool, Description: d})
	}
}

// toolOutput reads a tool's output: text, JSON, or a message dump with the call's id.
func toolOutput(s string, known Outcome) (text string, o Outcome, callID string) {
	tr, ok := parseTree(s)
	if !ok {
		return s, known, ""
	}
	if m, ok := tr.(map[string]any); ok && len(m) == 1 && m["output"] != nil {
		tr = m["output"]
	}
	if m, ok := tr.(map[string]any); ok {
		if kw := langchainFields(m); kw != nil {
			callID = str(kw, "tool_call_id")
		} else if id := str(m, "tool_call_id"); id != "" && m["content"] != nil {
			callID, known = id, orOutcome(StatusOutcome(str(m, "status")), known)
			tr = m["content"]
		}
	}
	inner, said := unwrapResult(tr, OutcomeUnknown)
	return unquote(flatten(inner)), orOutcome(said, known), callID
}

// firstParagraph is an error's message without the stack that some instrumentations append after a blank line.
func firstParagraph(s string) string {
	if i := strings.Index(s, "\n\n"); i > 0 && strings.Contains(s[i:], "\n    at ") {
		return s[:i]
	}
	return s
}

// summary emits what an agent or root chain repeats of the calls below it.
func (c OpenInference) summary(r *Record, t *teller) {
	a := r.Attributes
	t.meta.Summary = true
	if s := a.Str("input.value"); s != "" {
		if x, ok := t.requestOf(s); ok {
			t.history(r.Row.StartedUnixNano, r.Row.SpanID, false, x.messages)
		} else if !isRepr(s) {
			t.tell(&Prompt{History: History{Origin: OriginHistory, Call: r.Row.SpanID}, Text: s, Truncated: isCut(s)})
		}
	}
	if s := a.Str("output.value"); s != "" {
		if tr, ok := parseTree(s); ok {
			t.output(r.end(), "", lastAnswer(messagesOf(tr)))
		} else if s != "__end__" {
			t.tellAt(r.end(), &Message{Text: s, Truncated: isCut(s)})
		}
	}
	if u := c.usage(r, "", true); u.InputTokens != nil || u.OutputTokens != nil || u.CostMicroUSD != nil {
		t.tellAt(r.end(), u)
	}
	t.meta.Summary = false
}

// lastAnswer is the text of the last assistant message, the answer of a run whose output is its whole state.
func lastAnswer(msgs []message) []message {
	for i := len(msgs) - 1; i >= 0; i-- {
		if msgs[i].role != "assistant" {
			continue
		}
		m := message{role: "assistant"}
		for _, p := range msgs[i].parts {
			if p.kind == partText {
				m.parts = append(m.parts, p)
			}
		}
		return []message{m}
	}
	return nil
}

// definitions emits tool definitions from the numbered attributes, else from the request body.
func (OpenInference) definitions(a Attributes, t *teller, body tree) {
	flat := numbered(a, "llm.tools.")
	if len(flat) == 0 {
		if body != nil {
			tellDefinitions(t, body)
		}
		return
	}
	var list []any
	for _, e := range flat {
		if s := str(e, "tool.json_schema"); s != "" {
			list = append(list, s)
		}
	}
	tellDefinitions(t, list)
}

// Exports implements [Convention].
func (OpenInference) Exports(r *Record) Content {
	a := r.Attributes
	in := a.Has("input.value") || hasPrefix(a, "llm.input_messages.")
	out := a.Has("output.value") || hasPrefix(a, "llm.output_messages.")
	hidden := isHidden(a.Str("input.value")) && !hasPrefix(a, "llm.input_messages.")
	var c Content
	switch strings.ToUpper(a.Str("openinference.span.kind")) {
	case "TOOL":
		if in && !hidden {
			c |= ContentToolArguments
		}
		if out && !isHidden(a.Str("output.value")) {
			c |= ContentToolResults | ContentSkillBody
		}
	case "AGENT", "CHAIN":
		if in && !hidden {
			c |= ContentUserPrompt
		}
		if out && !isHidden(a.Str("output.value")) {
			c |= ContentAssistantText
		}
	case "LLM":
		if in && !hidden {
			c |= ContentUserPrompt | ContentToolArguments | ContentToolResults | ContentSkillCatalogue | ContentSkillBody
		}
		if out && (!isHidden(a.Str("output.value")) || hasPrefix(a, "llm.output_messages.")) {
			c |= ContentAssistantText | ContentToolArguments
		}
	}
	return c
}

// isHidden says that OpenInference masked a value.
func isHidden(s string) bool { return s == "__REDACTED__" }
