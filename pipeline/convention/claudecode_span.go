package convention

import "strings"

// claudeSpan reads a span. What the model said stands at the start of its span, since the tools it calls start while the
// response still streams.
func claudeSpan(r *Record, t *teller) {
	a := r.Attributes
	kind := a.Str("span.type")
	if kind == "" {
		kind = claudeEvent(r)
	}
	switch kind {
	case "interaction":
		claudeInteraction(r, t)
	case "llm_request":
		claudeRequestSpan(r, t)
	case "tool":
		claudeToolSpan(r, t)
	case "tool.execution":
		claudeExecutionSpan(r, t)
	case "tool.blocked_on_user":
		// The span names neither call nor tool; its parent is the tool span, and the tool_decision log carries its span id.
		if isRejection(a.Str("decision")) {
			t.tell(&Denial{CallID: a.Str("tool_use_id", "gen_ai.tool.call.id"), By: claudeDenier(a.Str("source"))})
		}
	case "subagent.spawn":
		t.tell(&AgentStart{Parent: a.Str("parent_agent_id")})
	}
}

// claudeInteraction reads the root span of a prompt, which the user_prompt log tells of as well.
func claudeInteraction(r *Record, t *teller) {
	claudeIdentity(r, t)
	text := r.Attributes.Str("user_prompt")
	p := &Prompt{
		Text: text, Redacted: text == "" || isWithheld(text), Truncated: r.Attributes.cutAttribute("user_prompt") || isCut(text),
	}
	if p.Redacted {
		if p.Text = ""; r.Attributes.count("user_prompt_length") == nil {
			return
		}
	}
	t.tell(p)
}

func claudeRequestSpan(r *Record, t *teller) {
	a := r.Attributes
	if !claudeSideQuery(a.Str("query_source", "query_source_safe")) {
		h := History{Origin: OriginHistory, Call: r.Row.SpanID, Delta: true}
		if text := a.Str("system_reminders"); text != "" {
			claudeReminder(t, h, text, a.cutAttribute("system_reminders"))
		}
		claudeContext(t, h, a.Str("new_context"), a.cutAttribute("new_context"))
		if text := a.Str("response.model_output"); text != "" {
			t.tell(&Message{
				Text: text, Redacted: isWithheld(text), Truncated: a.cutAttribute("response.model_output") || isCut(text),
				ResponseID: a.Str("request_id", "gen_ai.response.id"),
			})
		}
	}
	if yes, known := a.flag("success"); known && !yes {
		t.tellAt(r.Row.EndedUnixNano, &Failure{Type: a.Str("error.type", "error_type"), Text: a.Str("error", "error.message")})
		return
	}
	u := claudeUsage(a)
	if u.DurationNano == 0 && r.Row.EndedUnixNano > r.Row.StartedUnixNano {
		u.DurationNano = r.Row.EndedUnixNano - r.Row.StartedUnixNano
	}
	t.tellAt(r.Row.EndedUnixNano, u)
}

// claudeSideQuery says that a request served the harness itself (a title, a summary, a check), not the conversation.
func claudeSideQuery(source string) bool {
	if source == "" || source == "sdk" || strings.HasPrefix(source, "repl_main_thread") || strings.HasPrefix(source, "agent:") {
		return false
	}
	for _, word := range [...]string{"title", "topic", "prefix", "summar", "compact", "hook", "classif", "quota", "suggest", "probe"} {
		if strings.Contains(source, word) {
			return true
		}
	}
	return false
}

func claudeToolSpan(r *Record, t *teller) {
	a := r.Attributes
	call := &ToolCall{Source: SourceExecution, CallID: a.Str("tool_use_id", "gen_ai.tool.call.id")}
	call.Tool, call.Server = claudeTool(a.Str("tool_name", "gen_ai.tool.name", "tool_name_safe"), nil)
	output := claudeOutput(r)
	call.Arguments, call.Truncated = claudeSpanArguments(a, call.Tool, output)
	call.Redacted = call.Arguments == ""
	t.tell(call)

	text := ""
	if !claudeWrites(call.Tool) {
		text = output.Str("output", "content", "result", "response", "text")
	}
	cut := output.cutAttribute("output") || output.cutAttribute("content")
	if text == "" && call.Tool != claudeSkillTool { // its structured result says no more than that it was launched
		if piece := a.Str("new_context"); piece != "" {
			_, text, _ = strings.Cut(piece, "]\n")
			cut = a.cutAttribute("new_context")
		}
	}
	if text != "" {
		t.tellAt(r.Row.EndedUnixNano, &ToolResult{
			Source: SourceExecution, CallID: call.CallID, Tool: call.Tool, Text: text, Outcome: OutcomeUnknown, Truncated: cut || isCut(text),
		})
	}
}

// claudeOutput is the attributes of the span event with a tool's output.
func claudeOutput(r *Record) Attributes {
	for i := range r.Events {
		if r.Events[i].Name == "tool.output" {
			return r.Events[i].Attributes
		}
	}
	return nil
}

// claudeWrites says that the content in a tool's output event is what the tool was given to write.
func claudeWrites(tool string) bool {
	return tool == "Write" || tool == "Edit" || tool == "MultiEdit" || tool == "NotebookEdit"
}

// claudeSpanArguments is a call's input as far as its span tells it: all of it under detailed tracing, else the command, path
// or skill alone.
func claudeSpanArguments(a Attributes, tool string, output Attributes) (string, bool) {
	if input := a.Str("tool_input"); input != "" {
		if _, rest, ok := strings.Cut(input, "]\n"); ok && strings.HasPrefix(input, "[TOOL INPUT") {
			input = rest
		}
		return input, a.cutAttribute("tool_input") || isCut(input)
	}
	if command := a.Str("full_command"); command != "" {
		return jsonPair("command", command), a.cutAttribute("full_command") || isCut(command)
	}
	if skill := a.Str("skill_name"); skill != "" && tool == claudeSkillTool {
		return jsonPair("skill", skill), false
	}
	if path := a.Str("file_path"); path != "" {
		content := output.Str("content")
		if claudeWrites(tool) && content != "" {
			return jsonPairs("file_path", path, "content", content), output.cutAttribute("content") || isCut(content)
		}
		return jsonPair("file_path", path), false
	}
	return "", false
}

func claudeExecutionSpan(r *Record, t *teller) {
	a := r.Attributes
	id := a.Str("tool_use_id", "gen_ai.tool.call.id")
	outcome := a.outcomeOf("success")
	if id == "" || outcome == OutcomeUnknown {
		return
	}
	text := a.Str("error", "error.message")
	if outcome == OutcomeError {
		outcome = claudeTextOutcome(text, OutcomeError)
	}
	t.tellAt(r.Row.EndedUnixNano, &ToolResult{
		Source: SourceExecution, CallID: id, Text: text, Outcome: outcome, ExitCode: exitCodeAfter(text, "Exit code"), Truncated: isCut(text),
	})
}
