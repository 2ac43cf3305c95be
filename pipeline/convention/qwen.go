package convention

import (
	"strings"
)

// QwenCode reads the logs and spans of Qwen Code, which began as a fork of Gemini CLI: events of those names under its own
// prefix, calls with ids, and spans with OpenTelemetry's messages. Logs cut the response's text to 4,096 characters, spans do not.
type QwenCode struct{}

const (
	qwenCode    = "qwen_code"
	qwenService = "qwen-code"
	qwenPrefix  = "qwen-code."
	// Agents of this name keep the program's memory of the user and take no part in the conversation.
	qwenHousekeeper = "managed-auto-"
)

// Name implements [Convention].
func (QwenCode) Name() string { return qwenCode }

// Match implements [Convention].
func (QwenCode) Match(r *Record) bool {
	return r.Row.ScopeName == qwenService || r.Row.Service == qwenService || strings.HasPrefix(r.Row.Name, qwenPrefix)
}

func qwenKind(r *Record) string {
	name := r.Row.Name
	if r.isLog() {
		if event := r.Attributes.Str("event.name"); event != "" {
			name = event
		}
	}
	return strings.TrimPrefix(name, qwenPrefix)
}

// Internal implements [Convention].
func (QwenCode) Internal(r *Record) bool {
	switch kind := qwenKind(r); {
	case r.isLog():
		switch kind {
		case "config", "user_prompt", "api_request", "api_response", "api_error", "tool_call", "skill_launch", "subagent_execution":
			return false
		}
		return true
	case strings.HasPrefix(r.Row.Name, qwenPrefix):
		return kind != "interaction" && kind != "llm_request" && kind != "tool" && kind != "tool.execution" && kind != "subagent"
	}
	return true // spans of its HTTP client
}

// Exports implements [Convention].
func (QwenCode) Exports(r *Record) Content {
	a := r.Attributes
	c := ContentOffersSkills
	if a.Str("prompt") != "" {
		c |= ContentUserPrompt
	}
	if a.Str("response_text") != "" {
		c |= ContentAssistantText
	}
	if a.Str("function_args", "gen_ai.tool.call.arguments") != "" {
		c |= ContentToolArguments
	}
	if a.Str("gen_ai.tool.call.result") != "" {
		c |= ContentToolResults | ContentSkillBody
	}
	if a.Str("skills") != "" {
		c |= ContentSkillCatalogue
	}
	if a.Str("request_text", "gen_ai.input.messages") != "" && qwenKind(r) != "interaction" {
		c |= ContentUserPrompt | ContentAssistantText | ContentToolArguments | ContentToolResults | ContentSkillCatalogue | ContentSkillBody
	}
	return c
}

// Events implements [Convention].
func (QwenCode) Events(r *Record, emit func(Event)) {
	a := r.Attributes
	t := newTeller(r, qwenCode, emit)
	t.meta.Turn = a.Str("prompt_id", "qwen-code.prompt_id")
	t.meta.Agent, t.meta.AgentID = geminiAgent(a)
	if strings.HasPrefix(t.meta.Agent, qwenHousekeeper) {
		if u := geminiUsage(a); u != nil {
			t.tell(u)
		}
		return
	}
	if !r.isLog() {
		qwenSpan(r, t)
		return
	}
	switch qwenKind(r) {
	case "config":
		t.tell(&Identity{Harness: qwenCode, Version: r.Resource.Str("service.version")})
		qwenConfig(a, t)
	case "user_prompt":
		t.tell(&Identity{Harness: qwenCode, Version: r.Resource.Str("service.version")})
		logPrompt(a, t)
	case "api_request":
		qwenInput(t, r, a.Str("request_text"))
	case "api_response":
		qwenResponse(r, t)
	case "api_error":
		logFailure(a, t)
	case "tool_call":
		logToolCall(a, t)
	case "skill_launch":
		load := &SkillLoad{Skill: a.Str("skill_name"), CallID: a.Str("call_id"), Via: ViaTool, Outcome: "loaded"}
		if yes, known := a.flag("success"); known && !yes {
			load.Outcome = "refused"
			load.Refusal = a.Str("error", "error.message")
		}
		if load.Skill != "" {
			t.tell(load)
		}
	case "subagent_execution":
		qwenSubagent(a, t)
	}
}

// qwenConfig reads the names of the skills, the whole of what is known of them where requests are not exported.
func qwenConfig(a Attributes, t *teller) {
	v, ok := a.Get("skills")
	if !ok {
		return
	}
	list := &Catalogue{}
	for _, name := range strings.Split(v.Str(), ",") {
		if name = strings.TrimSpace(name); name != "" {
			list.Skills = append(list.Skills, CatalogueSkill{Name: name})
		}
	}
	t.meta.Summary = true
	t.tell(list)
	t.meta.Summary = false
}

// qwenInput tells a request's contents and the catalogue that the first of them holds.
func qwenInput(t *teller, r *Record, text string) {
	geminiInput(t, r, text)
	qwenCatalogue(t, text)
}

// qwenCatalogue reads the catalogue out of messages in JSON, where a reminder before the first prompt carries it.
func qwenCatalogue(t *teller, text string) {
	end := strings.Index(text, "</available_skills>")
	if end < 0 {
		end = len(text)
	}
	at := strings.LastIndex(text[:end], "<available_skills>")
	if at < 0 {
		return
	}
	rest := text[at:min(len(text), end+len("</available_skills>"))]
	plain, ok := cutString(`"`+rest, `"`)
	if !ok {
		return
	}
	if skills, ok := skillsElement(plain); ok {
		t.tell(&Catalogue{Skills: skills})
	}
}

func qwenResponse(r *Record, t *teller) {
	a := r.Attributes
	id := a.Str("response_id")
	if text := a.Str("response_text"); text != "" {
		// A shortened text is believed only where no span has the whole one.
		t.meta.Summary = isCut(text)
		t.tell(&Message{Text: text, Truncated: isCut(text), ResponseID: id})
		t.meta.Summary = false
	}
	if u := geminiUsage(a); u != nil {
		t.tell(u)
	}
}

func qwenSubagent(a Attributes, t *teller) {
	if name := a.Str("subagent_name"); name != "" {
		t.meta.Agent = name
	}
	switch a.Str("status") {
	case "started":
		t.tell(&AgentStart{})
	case "completed":
		t.tell(&AgentEnd{Status: "ok"})
	case "failed", "cancelled":
		t.tell(&AgentEnd{Status: "error"})
	}
}

func qwenSpan(r *Record, t *teller) {
	a := r.Attributes
	switch qwenKind(r) {
	case "interaction":
		t.tell(&Identity{Harness: qwenCode, Version: r.Resource.Str("service.version")})
		if v, ok := a.Get("gen_ai.input.messages"); ok {
			qwenPrompt(t, parseMessages(v))
		}
		if v, ok := a.Get("gen_ai.output.messages"); ok {
			t.meta.Summary = true
			t.output(r.end(), "", parseMessages(v))
			t.meta.Summary = false
		}
	case "llm_request":
		qwenModelSpan(r, t)
	case "tool":
		qwenToolSpan(r, t)
	case "tool.execution":
		if id := a.Str("tool.call_id", "gen_ai.tool.call.id", "call_id"); id != "" {
			if outcome := a.outcomeOf("success"); outcome != OutcomeUnknown {
				t.tellAt(r.Row.EndedUnixNano, &ToolResult{Source: SourceExecution, CallID: id, Tool: a.Str("gen_ai.tool.name"), Outcome: outcome, Text: a.Str("error", "error.message")})
			}
		}
	}
}

// qwenPrompt tells the messages of an interaction as the prompt that it is.
func qwenPrompt(t *teller, messages []message) {
	for _, m := range messages {
		for _, p := range m.parts {
			if p.kind != partText || p.text == "" {
				continue
			}
			if e := injected(p.text, History{}); e != nil {
				t.tell(e)
				continue
			}
			t.tell(&Prompt{Text: p.text, Redacted: isWithheld(p.text), Truncated: isCut(p.text)})
		}
	}
}

func qwenModelSpan(r *Record, t *teller) {
	a := r.Attributes
	h := r.Row.SpanID
	if v, ok := a.Get("gen_ai.input.messages"); ok {
		t.history(0, h, false, t.parseMessages(v))
		qwenCatalogue(t, v.Str())
	}
	if v, ok := a.Get("gen_ai.output.messages"); ok {
		messages := parseMessages(v)
		for i := range messages {
			messages[i].parts = reasoningFirst(messages[i].parts)
		}
		t.output(0, a.Str("gen_ai.response.id"), messages)
	}
	if v, ok := a.Get("gen_ai.tool.definitions"); ok {
		qwenDefinitions(t, v.Str())
	}
	if r.failed() {
		t.tellAt(r.Row.EndedUnixNano, &Failure{Type: a.Str("error.type"), Text: r.Row.StatusMessage})
	}
	if u := geminiUsage(a); u != nil {
		t.tellAt(r.Row.EndedUnixNano, u)
	}
}

// reasoningFirst puts thoughts before the text that they led to: the exporter appends them.
func reasoningFirst(parts []part) []part {
	out := make([]part, 0, len(parts))
	for _, p := range parts {
		if p.kind == partReasoning {
			out = append(out, p)
		}
	}
	for _, p := range parts {
		if p.kind != partReasoning {
			out = append(out, p)
		}
	}
	return out
}

func qwenDefinitions(t *teller, text string) {
	tree, ok := parseTree(text)
	if !ok {
		return
	}
	for _, d := range asList(tree) {
		if f := field(d, "function"); f != nil {
			d = f
		}
		name := str(d, "name")
		if name == "" {
			continue
		}
		schema := ""
		if s := field(d, "parameters", "input_schema"); s != nil {
			schema = encodeTree(s)
		}
		t.tell(&ToolDefinition{Tool: name, Description: str(d, "description"), InputSchema: schema})
	}
}

func qwenToolSpan(r *Record, t *teller) {
	a := r.Attributes
	call := &ToolCall{
		Source: SourceExecution, CallID: a.Str("gen_ai.tool.call.id", "tool.call_id", "call_id"), Tool: a.Str("gen_ai.tool.name", "tool_name"),
		Server: a.Str("mcp_server_name"), Arguments: compactText(a.Str("gen_ai.tool.call.arguments")),
	}
	// A call that was refused has none either.
	call.Redacted = call.Arguments == "" && !r.failed()
	call.Truncated = isCut(call.Arguments)
	t.tell(call)

	raw := a.Str("gen_ai.tool.call.result")
	result := &ToolResult{Source: SourceExecution, CallID: call.CallID, Tool: call.Tool, Outcome: a.outcomeOf("success"), Truncated: isCut(raw)}
	result.Text, _ = geminiResult([]byte(raw))
	if jsonObject(raw) == nil {
		if result.Text = raw; result.Truncated {
			if s, ok := cutString(raw, `{"output":"`); ok {
				result.Text = s
			}
		}
	}
	if result.Text == "" && r.failed() {
		result.Text = r.Row.StatusMessage
	}
	if result.Outcome == OutcomeUnknown && r.failed() {
		result.Outcome = OutcomeError
	}
	result.Outcome = geminiOutcome(result.Outcome, a.Str("error.type", "tool.failure_kind"))
	shellResult(result)
	if result.Outcome == OutcomeDenied {
		t.tellAt(r.Row.EndedUnixNano, &Denial{CallID: call.CallID, Tool: call.Tool, Arguments: call.Arguments, By: "policy", Text: result.Text})
	}
	t.tellAt(r.Row.EndedUnixNano, result)
}
