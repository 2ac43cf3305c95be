package convention

// blockParts reads one content block. The shapes are told apart by their tag, as each vendor documents them.
func blockParts(b map[string]any) []part {
	if tu, ok := b["toolUse"].(map[string]any); ok { // Bedrock
		return []part{callPart(tu, str(tu, "toolUseId"), str(tu, "name"), tu["input"])}
	}
	if tr, ok := b["toolResult"].(map[string]any); ok {
		return []part{resultPart(str(tr, "toolUseId"), "", tr["content"], tr)}
	}
	if rc, ok := b["reasoningContent"].(map[string]any); ok {
		return []part{{kind: partReasoning, text: flatten(field(rc, "reasoningText", "text"))}}
	}
	if fc, ok := field(b, "functionCall", "function_call").(map[string]any); ok { // Gemini
		return []part{callPart(fc, str(fc, "id"), str(fc, "name"), field(fc, "args", "arguments"))}
	}
	if fr, ok := field(b, "functionResponse", "function_response").(map[string]any); ok {
		return []part{resultPart(str(fr, "id"), str(fr, "name"), fr["response"], fr)}
	}
	switch str(b, "type") {
	case "tool_call", "tool-call", "toolUse", "tool_use", "function_call", "server_tool_call", "server_tool_use":
		return []part{callPart(b, str(b, "call_id", "id", "toolUseId", "toolCallId", "tool_call_id"), str(b, "name", "toolName", "tool_name"),
			field(b, "arguments", "input", "args", "server_tool_call"))}
	case "tool_call_response", "tool-result", "tool_result", "function_call_output", "server_tool_call_response", "toolResult":
		return []part{resultPart(str(b, "tool_use_id", "tool_call_id", "toolCallId", "toolUseId", "call_id", "id"), str(b, "name", "toolName"),
			field(b, "response", "result", "output", "content", "server_tool_call_response"), b)}
	case "reasoning", "thinking":
		return reasoningParts(b)
	case "compaction":
		return textParts(flatten(field(b, "content", "text")))
	case "blob", "uri", "file", "image", "image_url", "input_image", "audio", "input_audio", "document", "redacted_thinking":
		return nil
	}
	if thought, ok := b["thought"].(bool); ok && thought {
		return []part{{kind: partReasoning, text: str(b, "text")}}
	}
	if s := str(b, "text", "content", "refusal"); s != "" {
		return textParts(s)
	}
	if c := field(b, "content"); c != nil {
		return partsOf(c)
	}
	return nil
}

func reasoningParts(b map[string]any) []part {
	if s := flatten(field(b, "content", "text", "thinking", "summary", "reasoning")); s != "" {
		return []part{{kind: partReasoning, text: s}}
	}
	return nil
}

func callPart(_ map[string]any, id, name string, args tree) part {
	return part{kind: partCall, id: id, name: name, args: argumentsText(args)}
}

// toolCallPart reads an entry of a tool_calls list: {id, function:{name, arguments}} or {id, name, args}.
func toolCallPart(t tree) part {
	m, ok := t.(map[string]any)
	if !ok {
		return part{}
	}
	if f, ok := m["function"].(map[string]any); ok {
		return callPart(m, str(m, "id"), str(f, "name"), field(f, "arguments"))
	}
	return callPart(m, str(m, "id", "toolCallId"), str(m, "name", "toolName"), field(m, "args", "arguments", "input"))
}

// resultPart reads a tool's result. holder carries the status beside the content.
func resultPart(id, name string, content tree, holder map[string]any) part {
	p := part{kind: partResult, id: id, name: name, outcome: OutcomeUnknown}
	content, p.outcome = unwrapResult(content, statusOutcome(holder))
	p.text = unquote(flatten(content))
	return p
}

// unwrapResult peels AI SDK's {type, value} and MCP's {content, isError} and reads what they say of success.
func unwrapResult(content tree, known Outcome) (tree, Outcome) {
	m, ok := content.(map[string]any)
	if !ok {
		return content, known
	}
	if str(m, "type") == "execution-denied" { // AI SDK: nobody approved it
		if reason := str(m, "reason", "value"); reason != "" {
			return reason, OutcomeDenied
		}
		return "Tool execution denied.", OutcomeDenied
	}
	if v, ok := m["value"]; ok {
		switch str(m, "type") {
		case "text", "json", "content":
			return v, known
		case "error-text", "error-json":
			return v, OutcomeError
		}
	}
	if b, ok := field(m, "isError", "is_error").(bool); ok {
		if b {
			known = OutcomeError
		}
		if c := field(m, "content"); c != nil {
			return c, known
		}
	}
	if kw := langchainFields(m); kw != nil {
		return kw["content"], orOutcome(statusOutcome(kw), known)
	}
	if r := field(m, "result"); r != nil && len(m) == 1 {
		return unwrapResult(r, known)
	}
	return content, known
}

func orOutcome(a, b Outcome) Outcome {
	if a != OutcomeUnknown {
		return a
	}
	return b
}

// statusOutcome reads the status words and error flags of a result.
func statusOutcome(m map[string]any) Outcome {
	if b, ok := field(m, "is_error", "isError").(bool); ok {
		if b {
			return OutcomeError
		}
		return OutcomeOK
	}
	if b, ok := field(m, "success").(bool); ok {
		if b {
			return OutcomeOK
		}
		return OutcomeError
	}
	return StatusOutcome(str(m, "status"))
}

// StatusOutcome reads the words by which tools, harnesses and instrumentations say how a call ended.
func StatusOutcome(status string) Outcome {
	switch foldStatus(status) {
	case "success", "ok", "succeeded", "completed", "true":
		return OutcomeOK
	case "error", "errored", "fail", "failed", "failure", "false", "timeout", "timed_out", "incomplete":
		return OutcomeError
	case "denied", "rejected", "permission_denied", "execution_denied", "policy_violation", "declined", "blocked":
		return OutcomeDenied
	case "cancelled", "canceled", "aborted", "not_started", "skipped", "abandoned", "interrupted":
		return OutcomeNotExecuted
	default:
		return OutcomeUnknown
	}
}
