package convention

import "strings"

// GoogleADK reads the spans of Google's Agent Development Kit, Python and JavaScript: whole requests and responses as JSON on
// call_llm, arguments and response of a tool on execute_tool. A tool that throws leaves a span without any attribute; its call
// is told by the response before it and its error by the request after it.
type GoogleADK struct{}

const (
	googleADK   = "google_adk"
	adkScope    = "gcp.vertex.agent"
	adkRequest  = "gcp.vertex.agent.llm_request"
	adkResponse = "gcp.vertex.agent.llm_response"
)

// Name implements [Convention].
func (GoogleADK) Name() string { return googleADK }

// Match implements [Convention].
func (GoogleADK) Match(r *Record) bool {
	return r.Row.ScopeName == adkScope || hasPrefix(r.Attributes, adkScope+".")
}

// Internal implements [Convention].
func (GoogleADK) Internal(r *Record) bool { return strings.Contains(r.Row.Name, "(merged tools)") }

// Exports implements [Convention]. Without content the JSON attributes are empty objects.
func (GoogleADK) Exports(r *Record) Content {
	a := r.Attributes
	c := genAIExports(r)
	if s := a.Str(adkRequest); s != "" && s != "{}" {
		c |= ContentUserPrompt | ContentToolArguments | ContentToolResults | ContentSkillBody
	}
	if s := a.Str(adkResponse); s != "" && s != "{}" {
		c |= ContentAssistantText
	}
	if s := a.Str("gcp.vertex.agent.tool_call_args"); s != "" && s != "{}" {
		c |= ContentToolArguments
	}
	if s := a.Str("gcp.vertex.agent.tool_response"); s != "" && s != "{}" {
		c |= ContentToolResults | ContentSkillBody
		if isSkillList(a.Str("gen_ai.tool.name")) {
			c |= ContentSkillCatalogue
		}
	}
	if strings.Contains(a.Str(adkRequest), "<available_skills>") {
		c |= ContentSkillCatalogue
	}
	return c
}

// isSkillList says that a tool lists the skills, under whatever prefix of a toolset.
func isSkillList(tool string) bool {
	return strings.HasSuffix(tool, "list_skills") || strings.HasSuffix(tool, "search_skills")
}

// Events implements [Convention].
func (GoogleADK) Events(r *Record, emit func(Event)) {
	t := newTeller(r, googleADK, emit)
	a := r.Attributes
	t.meta.Agent = a.Str("gen_ai.agent.name")
	t.meta.Turn = a.Str("gcp.vertex.agent.invocation_id")
	t.meta.Witness = adkScope + "/" + spanKind(r.Row.Name)
	switch {
	case a.Has(adkRequest) && operationOf(r) != opTool, r.Row.Name == "call_llm":
		adkModel(r, t)
	case operationOf(r) == opTool:
		adkTool(r, t)
	case operationOf(r) == opAgent:
		t.tell(&Identity{Harness: googleADK, Version: r.Row.ScopeVersion})
		t.tell(&AgentStart{})
		t.tellAt(r.end(), &AgentEnd{Status: endStatus(r)})
	case operationOf(r) == opModel: // generate_content below call_llm, in newer versions
		genAITell(r, t, genAIStyle{harness: googleADK})
	}
}

// spanKind is a span's name without what follows its first word.
func spanKind(name string) string {
	kind, _, _ := strings.Cut(name, " ")
	return kind
}

func adkModel(r *Record, t *teller) {
	a := r.Attributes
	if tr, ok := parseTree(a.Str(adkRequest)); ok {
		x := requestOf(tr)
		if x.system != "" {
			t.tell(&System{History: History{Origin: OriginHistory, Call: r.Row.SpanID, Position: -1}, Text: x.system, Truncated: isCut(x.system)})
		}
		for i := range x.messages {
			x.messages[i].parts = judgeParts(x.messages[i].parts)
		}
		t.history(0, r.Row.SpanID, false, x.messages)
		tellDefinitions(t, x.tools)
	}
	if tr, ok := parseTree(a.Str(adkResponse)); ok {
		if m, ok := messageOf(field(tr, "content")); ok {
			m.role = "assistant"
			t.output(0, "", []message{m})
		}
		if s := str(tr, "errorMessage", "error_message"); s != "" {
			t.tellAt(r.end(), &Failure{Type: str(tr, "errorCode", "error_code"), Text: s})
		}
	}
	genAIFailure(r, t)
	t.tellAt(r.end(), genAIUsage(r, false))
}

// judgeParts reads the failure of a function from the error in its response, which is all that tells of it.
func judgeParts(parts []part) []part {
	for i := range parts {
		if p := &parts[i]; p.kind == partResult {
			p.text, p.outcome = adkResult(p.text, p.outcome)
		}
	}
	return parts
}

// adkResult is the text of a tool's response and how the call ended by it.
func adkResult(text string, known Outcome) (string, Outcome) {
	tr, ok := parseTree(text)
	if !ok {
		return text, known
	}
	message := str(tr, "error", "errorMessage")
	if message == "" {
		if r := field(tr, "result"); r != nil {
			text = flatten(r)
		}
		return text, known
	}
	if code := str(tr, "error_code", "errorCode"); strings.HasSuffix(code, "NOT_FOUND") || strings.HasPrefix(code, "MISSING_") || strings.HasPrefix(code, "INVALID_ARG") {
		return message, OutcomeRefused
	}
	return message, OutcomeError
}

func adkTool(r *Record, t *teller) {
	a := r.Attributes
	if len(a) == 0 || strings.Contains(toolName(r), "(merged tools)") {
		return
	}
	call := &ToolCall{Source: SourceExecution, CallID: toolCallID(a), Tool: toolName(r)}
	if s := a.Str("gcp.vertex.agent.tool_call_args"); s != "{}" || a.Str("gcp.vertex.agent.tool_response") != "{}" {
		call.Arguments = compactText(s)
	} else {
		call.Redacted = true
	}
	call.Truncated = isCut(call.Arguments)
	t.tell(call)
	result := &ToolResult{Source: SourceExecution, CallID: call.CallID, Tool: call.Tool, Outcome: toolOutcome(r)}
	if s := a.Str("gcp.vertex.agent.tool_response"); s != "" && s != "{}" {
		result.Text, result.Outcome = adkResult(s, result.Outcome)
		if result.Outcome == OutcomeUnknown {
			result.Outcome = OutcomeOK
		}
	} else if s == "{}" {
		result.Redacted = true
	}
	result.Truncated = isCut(result.Text)
	t.tellAt(r.end(), result)
	if d := a.Str("gen_ai.tool.description"); d != "" {
		t.tell(&ToolDefinition{Tool: call.Tool, Description: d})
	}
}
