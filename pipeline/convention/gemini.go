package convention

import "strings"

// GeminiCLI reads the logs and spans of Gemini CLI. Every model call and every batch of tool calls is a trace of its own. The
// logs hold the content whole, the spans cut to 10,000 characters, which leaves broken JSON: what stands before a cut is read.
// The id of a call is prefixed with its tool's name in some places; here it never is.
type GeminiCLI struct{}

const (
	geminiCLI       = "gemini_cli"
	geminiPrefix    = "gemini_cli."
	geminiService   = "gemini-cli"
	geminiOperation = "gen_ai.client.inference.operation.details"
)

// Name implements [Convention].
func (GeminiCLI) Name() string { return geminiCLI }

// Match implements [Convention].
func (GeminiCLI) Match(r *Record) bool {
	return r.Row.ScopeName == geminiService || r.Row.Service == geminiService || strings.HasPrefix(r.Row.Name, geminiPrefix)
}

// geminiKind is the kind of a record: a log's event without prefix, a span's operation.
func geminiKind(r *Record) string {
	if r.isLog() {
		name := r.Attributes.Str("event.name")
		if name == "" {
			name = r.Row.Name
		}
		return strings.TrimPrefix(name, geminiPrefix)
	}
	if op := r.Attributes.Str("gen_ai.operation.name"); op != "" {
		return op
	}
	return r.Row.Name
}

// Internal implements [Convention].
func (GeminiCLI) Internal(r *Record) bool {
	switch geminiKind(r) {
	case "config", "user_prompt", "api_request", "api_response", "api_error", "tool_call", geminiOperation, "llm_call",
		"schedule_tool_calls", "agent_call", "agent.start", "agent.finish":
		return false
	}
	return true
}

// Exports implements [Convention]. System prompt and catalogue are exported even where prompts are not.
func (GeminiCLI) Exports(r *Record) Content {
	a := r.Attributes
	c := ContentSkillCatalogue
	on := a.Str("prompt", "request_text", "response_text", "function_args", "gen_ai.input.messages", "gen_ai.output.messages") != ""
	if yes, known := a.flag("log_user_prompts_enabled"); known {
		on = on || yes
	}
	if on {
		c |= ContentUserPrompt | ContentAssistantText | ContentToolArguments | ContentToolResults | ContentSkillBody
	}
	return c
}

// Events implements [Convention].
func (GeminiCLI) Events(r *Record, emit func(Event)) {
	a := r.Attributes
	t := newTeller(r, geminiCLI, emit)
	t.meta.Turn = a.Str("prompt_id", "gen_ai.prompt.name")
	t.meta.Agent, t.meta.AgentID = geminiAgent(a)
	if !r.isLog() {
		geminiSpan(r, t)
		return
	}
	switch geminiKind(r) {
	case "config":
		t.tell(&Identity{Harness: geminiCLI})
	case "user_prompt":
		t.tell(&Identity{Harness: geminiCLI})
		logPrompt(a, t)
	case "api_request":
		if !geminiSideCall(a) {
			geminiInput(t, r, a.Str("request_text"))
		}
	case "api_response":
		geminiResponse(r, t)
	case "api_error":
		logFailure(a, t)
	case "tool_call":
		logToolCall(a, t)
	case geminiOperation:
		// Told twice a call, with the messages that api_request and api_response tell; only the system prompt is new.
		if a.Str("gen_ai.response.id") == "" {
			geminiSystem(t, a.Str("gen_ai.system_instructions"))
		}
	case "agent.start":
		t.tell(&AgentStart{})
	case "agent.finish":
		t.tell(&AgentEnd{Status: agentStatus(a.Str("terminate_reason"))})
	}
}

func agentStatus(reason string) string {
	switch strings.ToLower(reason) {
	case "goal", "ok", "success", "completed":
		return "ok"
	case "":
		return ""
	}
	return "error"
}

func geminiAgent(a Attributes) (name, id string) {
	name, id = a.Str("agent_name", "gen_ai.agent.name", "subagent_name"), a.Str("agent_id")
	if name == geminiService || name == "qwen-code" || name == "main" {
		name = ""
	}
	return name, id
}

// geminiSideCall says that a model call served the program (routing, summaries), not the conversation.
func geminiSideCall(a Attributes) bool { return strings.HasPrefix(a.Str("role"), "utility") }

// logPrompt reads the user_prompt log of Gemini CLI and its forks.
func logPrompt(a Attributes, t *teller) {
	text := a.Str("prompt")
	p := &Prompt{Text: text, Redacted: text == "" || isWithheld(text), Truncated: isCut(text)}
	if p.Redacted {
		p.Text = ""
	}
	t.tell(p)
}

// logFailure reads the api_error log of Gemini CLI and its forks.
func logFailure(a Attributes, t *teller) {
	f := &Failure{Type: a.Str("error_type", "error.type"), Text: a.Str("error", "error.message", "error_message")}
	if f.Type == "" {
		if n := a.count("status_code", "http.status_code"); n != nil {
			f.Type = decimal(*n)
		}
	}
	t.tell(f)
}

// logToolCall reads the tool_call log of Gemini CLI and its forks. It holds no result but that of a failure.
func logToolCall(a Attributes, t *teller) {
	call := &ToolCall{
		Source: SourceExecution, CallID: geminiCallID(a.Str("call_id", "tool_call_id"), a.Str("function_name")), Tool: a.Str("function_name"),
		Server: a.Str("mcp_server_name"), Arguments: compactText(a.Str("function_args")), ResponseID: a.Str("response_id"),
	}
	call.Redacted = call.Arguments == ""
	call.Truncated = isCut(call.Arguments)
	t.tell(call)
	text := a.Str("error", "error.message")
	kind := a.Str("error_type", "error.type")
	outcome := geminiOutcome(a.outcomeOf("success"), kind)
	decision := a.Str("decision")
	if isRejection(decision) {
		outcome = OutcomeDenied
	}
	if outcome == OutcomeDenied {
		by := "policy"
		if isRejection(decision) {
			by = "user"
		}
		t.tell(&Denial{CallID: call.CallID, Tool: call.Tool, Arguments: call.Arguments, By: by, Text: text})
	}
	t.tell(&ToolResult{Source: SourceExecution, CallID: call.CallID, Tool: call.Tool, Text: text, Outcome: outcome, Truncated: isCut(text)})
}

// geminiOutcome sharpens a failure by its type.
func geminiOutcome(known Outcome, kind string) Outcome {
	if known == OutcomeOK {
		return known
	}
	switch kind {
	case "policy_violation", "execution_denied", "permission_denied":
		return OutcomeDenied
	case "invalid_tool_params", "tool_not_registered", "tool_not_found":
		return OutcomeRefused
	case "":
		return known
	}
	return OutcomeError
}

// geminiUsage reads the counts of an api_response log or a model span; of both, thoughts are counted apart in Gemini CLI.
func geminiUsage(a Attributes) *Usage {
	u := &Usage{
		Model: a.Str("gen_ai.response.model", "model", "gen_ai.request.model"), Provider: a.Str("gen_ai.provider.name"),
		ResponseID:      a.Str("gen_ai.response.id", "response_id"),
		InputTokens:     a.count("input_token_count", "gen_ai.usage.input_tokens"),
		CacheReadTokens: a.count("cached_content_token_count", "gen_ai.usage.cache_read.input_tokens"),
		OutputTokens:    a.count("output_token_count", "gen_ai.usage.output_tokens"),
		DurationNano:    a.milliseconds("duration_ms"),
	}
	if u.InputTokens == nil && u.OutputTokens == nil {
		return nil
	}
	u.wholeOutput(a.count("thoughts_token_count"), a.count("total_token_count"))
	return u
}
