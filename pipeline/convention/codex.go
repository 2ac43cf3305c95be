package convention

import "strings"

// Codex reads the logs of Codex CLI. Its spans, about a thousand a turn, describe the program and never the conversation:
// they are internal. The assistant's text is exported only when a user switched it on, the catalogue of skills never.
type Codex struct{}

const codex = "codex"

// Name implements [Convention].
func (Codex) Name() string { return codex }

// Match implements [Convention]. A log's own name is a line of source code, so its attribute decides.
func (Codex) Match(r *Record) bool {
	if strings.HasPrefix(r.Row.ScopeName, "codex_otel") || strings.HasPrefix(codexEvent(r), "codex.") {
		return true
	}
	for _, name := range [...]string{r.Row.ScopeName, r.Row.Service} {
		if strings.HasPrefix(name, "codex_") || strings.HasPrefix(name, "codex-") || name == codex {
			return true
		}
	}
	return false
}

func codexEvent(r *Record) string {
	if name := r.Attributes.Str("event.name"); name != "" {
		return name
	}
	return r.Row.Name
}

// Internal implements [Convention].
func (Codex) Internal(r *Record) bool {
	if !r.isLog() {
		return true
	}
	switch codexEvent(r) {
	case "codex.conversation_starts", "codex.user_prompt", "codex.tool_decision", "codex.tool_result", "codex.skill_invocation",
		"codex.agent_response", "codex.sandbox_outcome":
		return false
	case "codex.sse_event", "codex.websocket_event", "codex.api_request", "codex.websocket_request":
		return codexUsage(r.Attributes) == nil && codexFailure(r) == nil
	}
	return true
}

// Exports implements [Convention]. Tool arguments and results are exported even where prompts are withheld; the body of a
// skill is the result of the command that read it.
func (Codex) Exports(r *Record) Content {
	if !r.isLog() {
		return 0
	}
	c := ContentToolArguments | ContentToolResults | ContentSkillBody | ContentOffersSkills
	switch codexEvent(r) {
	case "codex.user_prompt":
		if p := r.Attributes.Str("prompt"); p != "" && !isWithheld(p) {
			c |= ContentUserPrompt
		}
	case "codex.agent_response":
		c |= ContentAssistantText
	}
	return c
}

// Events implements [Convention].
func (Codex) Events(r *Record, emit func(Event)) {
	if !r.isLog() {
		return
	}
	a := r.Attributes
	t := newTeller(r, codex, emit)
	t.meta.Turn = a.Str("turn.id")
	t.meta.Agent = codexAgent(a.Str("agent_name"))
	switch codexEvent(r) {
	case "codex.conversation_starts":
		t.tell(&Identity{Harness: codex, Version: codexVersion(r)})
	case "codex.user_prompt":
		t.tell(&Identity{Harness: codex, Version: codexVersion(r)})
		text := a.Str("prompt")
		p := &Prompt{Text: text, Redacted: text == "" || isWithheld(text), Truncated: isCut(text)}
		if p.Redacted {
			p.Text = ""
		}
		t.tell(p)
	case "codex.agent_response":
		if text := a.Str("response", "text", "message", "content"); text != "" {
			t.tell(&Message{Text: text, Redacted: isWithheld(text), Truncated: isCut(text), ResponseID: a.Str("response_id")})
		}
	case "codex.tool_decision":
		codexDecision(a, t)
	case "codex.tool_result":
		codexResult(a, t)
	case "codex.sandbox_outcome":
		if isRejection(a.Str("outcome", "sandbox_outcome.outcome")) {
			t.tell(&Denial{CallID: a.Str("call_id"), Tool: a.Str("tool_name"), By: "sandbox"})
		}
	case "codex.skill_invocation":
		codexSkill(a, t)
	case "codex.sse_event", "codex.websocket_event", "codex.api_request", "codex.websocket_request":
		if u := codexUsage(a); u != nil {
			t.tell(u)
		}
		if f := codexFailure(r); f != nil {
			t.tell(f)
		}
	}
}

func codexVersion(r *Record) string {
	if v := r.Resource.Str("service.version"); v != "" {
		return v
	}
	return r.Attributes.Str("app.version")
}

// codexAgent is the sub-agent's name; the main agent is called /root.
func codexAgent(name string) string {
	if name == "/root" || name == "root" {
		return ""
	}
	return strings.TrimPrefix(name, "/root/")
}

// codexTool joins the parts of an MCP tool's name; a tool of the program itself keeps its own.
func codexTool(a Attributes) (tool, server string) {
	tool = a.Str("tool_name")
	if ns := a.Str("tool_namespace"); strings.HasPrefix(ns, "mcp__") {
		server = strings.TrimSuffix(strings.TrimPrefix(ns, "mcp__"), "__")
		if !strings.HasPrefix(tool, "mcp__") {
			tool = "mcp__" + server + "__" + tool
		}
	}
	if s := a.Str("mcp_server"); s != "" {
		server = s
	}
	return tool, server
}

func codexCall(a Attributes) *ToolCall {
	call := &ToolCall{Source: SourceExecution, CallID: a.Str("call_id"), Arguments: a.Str("arguments")}
	call.Tool, call.Server = codexTool(a)
	call.Redacted = isWithheld(call.Arguments)
	call.Truncated = isCut(call.Arguments) || a.cutAttribute("arguments")
	return call
}

func codexDecision(a Attributes, t *teller) {
	call := codexCall(a)
	t.tell(call)
	if isRejection(a.Str("decision")) {
		t.tell(&Denial{CallID: call.CallID, Tool: call.Tool, Arguments: call.Arguments, By: codexDenier(a.Str("source"))})
	}
}

func codexDenier(source string) string {
	switch by := strings.ToLower(source); by {
	case "user", "config", "hook", "policy", "sandbox":
		return by
	case "automatedreviewer", "automated_reviewer", "guardian":
		return "classifier"
	}
	return ""
}

func codexResult(a Attributes, t *teller) {
	call := codexCall(a)
	t.tell(call)
	raw := a.Str("output")
	result := &ToolResult{
		Source: SourceExecution, CallID: call.CallID, Tool: call.Tool, Outcome: a.outcomeOf("success"),
		Redacted: isWithheld(raw), Truncated: a.cutAttribute("output") || isCut(raw),
	}
	result.Text, result.ExitCode = codexOutput(raw)
	switch {
	case result.Outcome == OutcomeError && codexRejected(raw):
		result.Outcome = OutcomeDenied
		t.tell(&Denial{CallID: call.CallID, Tool: call.Tool, Arguments: call.Arguments, By: "policy", Text: result.Text})
	case result.Outcome == OutcomeError && (strings.HasPrefix(raw, "unsupported call") || strings.HasPrefix(raw, "failed to parse function arguments")):
		result.Outcome = OutcomeRefused
	case isRejection(a.Str("sandbox_outcome.outcome", "sandbox_outcome")):
		result.Outcome = OutcomeDenied
		t.tell(&Denial{CallID: call.CallID, Tool: call.Tool, Arguments: call.Arguments, By: "sandbox", Text: result.Text})
	case result.Outcome == OutcomeOK && result.ExitCode != nil && *result.ExitCode != 0 && *result.ExitCode != 141:
		// "success" only says that the command was run; 141 is a reader that closed its pipe early.
		result.Outcome = OutcomeError
	}
	t.tell(result)
}

// codexRejected says that a failed call's output is the no of a rule or a person.
func codexRejected(output string) bool {
	if i := strings.Index(output, "Rejected("); i >= 0 && i < 4096 {
		return true
	}
	return strings.HasPrefix(output, "rejected by user") || strings.HasPrefix(output, "exec command rejected by user") ||
		strings.HasPrefix(output, "patch rejected by user")
}

// codexOutput takes the lines that the harness puts before a command's output off, and the exit code in them.
func codexOutput(raw string) (text string, exit *int32) {
	text = raw
	for range 3 { // apply_patch inside a command writes such lines twice
		rest, code, ok := codexPreamble(text)
		if !ok {
			break
		}
		if text = rest; exit == nil {
			exit = code
		}
	}
	return text, exit
}

func codexPreamble(text string) (rest string, exit *int32, ok bool) {
	rest = text
	for range 8 {
		line, after, more := strings.Cut(rest, "\n")
		switch {
		case line == "Output:":
			return after, exit, true
		case strings.HasPrefix(line, "Process exited with code "):
			exit = exitCodeAfter(line, "Process exited with code")
		case strings.HasPrefix(line, "Exit code: "):
			exit = exitCodeAfter(line, "Exit code:")
		case strings.HasPrefix(line, "Chunk ID: "), strings.HasPrefix(line, "Wall time: "), strings.HasPrefix(line, "Original token count: "),
			strings.HasPrefix(line, "Process running with session ID "), strings.HasPrefix(line, "Total output lines: "):
		default:
			return "", nil, false
		}
		if !more {
			return "", nil, false
		}
		rest = after
	}
	return "", nil, false
}

// codexSkill reads the event of a skill. An implicit one is a command that reads or runs a skill's files, not yet done; an
// explicit one was named by the user, and its body injected without being exported.
func codexSkill(a Attributes, t *teller) {
	load := &SkillLoad{Skill: a.Str("skill.name"), CallID: a.Str("call_id"), Via: ViaRead, Outcome: "attempted"}
	if a.Str("skill.invocation_type") == "explicit" {
		load.Via, load.Outcome = ViaUser, "loaded"
	}
	if load.Skill != "" {
		t.tell(load)
	}
}

// codexUsage reads the counts of a finished response; nil when the event has none: each response is told of twice.
func codexUsage(a Attributes) *Usage {
	input := a.count("input_token_count")
	if input == nil {
		return nil
	}
	return &Usage{
		Model: a.Str("model", "slug"), Provider: "openai", ResponseID: a.Str("response_id", "response.id"),
		InputTokens: input, CacheReadTokens: a.count("cached_token_count"), CacheWriteTokens: a.count("cache_write_token_count"),
		OutputTokens: a.count("output_token_count"), DurationNano: a.milliseconds("duration_ms"),
	}
}

func codexFailure(r *Record) *Failure {
	a := r.Attributes
	text := a.Str("error.message", "error")
	kind := a.Str("error.type", "error.code")
	if status := a.count("http.response.status_code"); status != nil && *status >= 400 && kind == "" {
		kind = decimal(*status)
	}
	if text == "" && kind == "" {
		switch a.Str("event.kind") {
		case "response.failed", "error":
			kind = a.Str("event.kind")
		default:
			return nil
		}
	}
	return &Failure{Type: kind, Text: text}
}
