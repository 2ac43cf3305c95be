package convention

import "strings"

// claudeLog reads a log record.
func claudeLog(r *Record, t *teller) {
	a := r.Attributes
	switch claudeEvent(r) {
	case "user_prompt":
		claudeIdentity(r, t)
		text := a.Str("prompt", "prompt_text")
		p := &Prompt{Text: text, Redacted: text == "" || isWithheld(text), Truncated: a.cutAttribute("prompt") || isCut(text)}
		if p.Redacted {
			p.Text = ""
		}
		t.tell(p)
	case "assistant_response":
		text := a.Str("response")
		m := &Message{Text: text, Redacted: isWithheld(text), Truncated: a.cutAttribute("response") || isCut(text), ResponseID: a.Str("request_id")}
		if m.Redacted {
			m.Text = ""
		} else if text == "" {
			// Without the opt-in only the length is told; without a length nothing was said.
			if n := a.count("response_length"); n == nil || *n == 0 {
				return
			}
			m.Redacted = true
		}
		t.tell(m)
	case "tool_decision":
		claudeDecision(a, t)
	case "tool_result":
		claudeResult(a, t)
	case "api_request":
		t.tell(claudeUsage(a))
	case "api_error", "api_refusal", "api_retries_exhausted", "internal_error":
		claudeFailure(r, t)
	case "skill_activated":
		claudeSkillActivated(a, t)
	case "subagent_completed":
		claudeSubagent(a, t)
	case "system_prompt":
		if text := a.Str("system_prompt"); text != "" {
			t.tell(&System{Text: text, Truncated: a.cutAttribute("system_prompt") || isCut(text)})
		}
	case "tool":
		claudeDefinition(a, t)
	case "api_request_body":
		claudeRequestBody(r, t)
	case "api_response_body":
		claudeResponseBody(r, t)
	}
}

// claudeCall is the call that a tool_decision or tool_result log is about.
func claudeCall(a Attributes) *ToolCall {
	digest := a.Str("tool_parameters")
	parameters := jsonObject(digest)
	call := &ToolCall{Source: SourceExecution, CallID: a.Str("tool_use_id", "gen_ai.tool.call.id"), ResponseID: a.Str("request_id")}
	call.Tool, call.Server = claudeTool(a.Str("tool_name"), parameters)
	switch {
	case a.Str("tool_input") != "":
		call.Arguments = a.Str("tool_input")
		call.Truncated = a.cutAttribute("tool_input")
	case parameters != nil:
		call.Arguments = claudeArguments(call.Tool, parameters)
	default:
		call.Arguments = digest
	}
	call.Truncated = call.Truncated || isCut(call.Arguments)
	call.Redacted = call.Arguments == "" && digest == ""
	return call
}

func claudeDecision(a Attributes, t *teller) {
	call := claudeCall(a)
	t.tell(call)
	if isRejection(a.Str("decision")) {
		t.tell(&Denial{CallID: call.CallID, Tool: call.Tool, Arguments: call.Arguments, By: claudeDenier(a.Str("source")), Text: a.Str("reason", "message")})
	}
}

// isRejection says that a decision, in any harness's words, forbids the call.
func isRejection(decision string) bool {
	switch strings.ToLower(decision) {
	case "reject", "rejected", "deny", "denied", "abort", "cancel", "block", "blocked":
		return true
	}
	return false
}

// claudeDenier is who said no, from the source of a decision.
func claudeDenier(source string) string {
	switch {
	case strings.HasPrefix(source, "user"):
		return "user"
	case source == "config" || source == "hook" || source == "classifier" || source == "sandbox" || source == "policy":
		return source
	case strings.Contains(source, "classifier"):
		return "classifier"
	case strings.Contains(source, "hook"):
		return "hook"
	}
	return ""
}

func claudeResult(a Attributes, t *teller) {
	call := claudeCall(a)
	t.tell(call)
	text := a.Str("error", "error_message")
	result := &ToolResult{
		Source: SourceExecution, CallID: call.CallID, Tool: call.Tool, Text: text,
		Outcome: a.outcomeOf("success"), ExitCode: exitCodeAfter(text, "Exit code"), Truncated: isCut(text),
	}
	if isRejection(a.Str("decision")) || isRejection(a.Str("decision_type")) {
		t.tell(&Denial{CallID: call.CallID, Tool: call.Tool, Arguments: call.Arguments, By: claudeDenier(a.Str("source", "decision_source")), Text: text})
		result.Outcome = OutcomeDenied
	} else if result.Outcome == OutcomeError {
		result.Outcome = claudeTextOutcome(text, OutcomeError)
	}
	t.tell(result)
}

// claudeTextOutcome is the outcome that the text of a result states in the harness's own words; otherwise it is other.
func claudeTextOutcome(text string, other Outcome) Outcome {
	inner, tagged := strings.CutPrefix(strings.TrimSpace(text), "<tool_use_error>")
	line, _, _ := strings.Cut(inner, "\n")
	switch {
	case strings.HasPrefix(line, "Permission to use ") && strings.Contains(line, "denied"),
		strings.HasPrefix(line, "The user doesn't want to "),
		strings.HasPrefix(line, "Permission for this action has been denied"),
		strings.HasPrefix(line, "Claude requested permissions to ") && strings.Contains(line, "haven't granted"):
		return OutcomeDenied
	case tagged && (strings.HasPrefix(line, "Unknown skill") || strings.Contains(line, "cannot be used with Skill tool") ||
		strings.Contains(line, "No such tool available") || strings.HasPrefix(line, "InputValidationError")):
		return OutcomeRefused
	case tagged:
		return OutcomeError
	}
	return other
}

// claudeUsage reads an api_request log or an llm_request span. input_tokens leaves the cache out there.
func claudeUsage(a Attributes) *Usage {
	u := &Usage{
		Model:            a.Str("gen_ai.response.model", "model", "gen_ai.request.model"),
		Provider:         "anthropic",
		ResponseID:       a.Str("request_id", "gen_ai.response.id"),
		CacheReadTokens:  a.count("cache_read_tokens", "gen_ai.usage.cache_read.input_tokens"),
		CacheWriteTokens: a.count("cache_creation_tokens", "gen_ai.usage.cache_write.input_tokens"),
		OutputTokens:     a.count("output_tokens", "gen_ai.usage.output_tokens"),
		CostMicroUSD:     a.count("cost_usd_micros"),
		DurationNano:     a.milliseconds("duration_ms"),
	}
	u.InputTokens = a.count("gen_ai.usage.input_tokens")
	if u.InputTokens == nil {
		if bare := a.count("input_tokens"); bare != nil {
			u.InputTokens = sumOf(bare, u.CacheReadTokens, u.CacheWriteTokens)
		}
	}
	if u.CostMicroUSD == nil {
		u.CostMicroUSD = a.microUSD("cost_usd")
	}
	return u
}

func claudeFailure(r *Record, t *teller) {
	a := r.Attributes
	kind := a.Str("error_type", "error.type", "error_name")
	if kind == "" {
		if status, ok := a.Get("status_code"); ok {
			if kind = status.Str(); kind == "" {
				if n := a.count("status_code"); n != nil {
					kind = decimal(*n)
				}
			}
		}
	}
	if kind == "" {
		kind = claudeEvent(r)
	}
	t.tell(&Failure{Type: kind, Text: a.Str("error", "error_message", "message")})
}

// claudeSkillActivated reads the event of a loaded skill. Without the opt-in to tool details its name is a placeholder.
func claudeSkillActivated(a Attributes, t *teller) {
	load := &SkillLoad{Skill: a.Str("skill.name", "skill_name"), CallID: a.Str("tool_use_id"), Via: ViaTool, Outcome: "loaded"}
	if strings.HasPrefix(a.Str("invocation_trigger"), "user") {
		load.Via = ViaUser
	}
	t.tell(load)
}

func claudeSubagent(a Attributes, t *teller) {
	end := &AgentEnd{}
	if yes, known := a.flag("success"); known {
		if end.Status = "error"; yes {
			end.Status = "ok"
		}
	} else if s := a.Str("status"); s == "ok" || s == "completed" || s == "success" {
		end.Status = "ok"
	} else if s != "" {
		end.Status = "error"
	}
	if t.meta.Agent == "" {
		t.meta.Agent = a.Str("agent_type", "agent.name", "subagent_type", "agent_name")
	}
	t.tell(end)
}

func claudeDefinition(a Attributes, t *teller) {
	object := jsonObject(a.Str("tool"))
	d := &ToolDefinition{Description: jsonText(object["description"]), InputSchema: string(object["input_schema"])}
	d.Tool, d.Server = claudeTool(a.Str("tool_name"), nil)
	if d.Tool == "" {
		d.Tool = jsonText(object["name"])
	}
	if d.Tool != "" {
		t.tell(d)
	}
}
