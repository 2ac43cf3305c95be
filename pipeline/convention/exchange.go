package convention

// exchange is a model API's request or response body, of whatever vendor.
type exchange struct {
	id       string
	system   string
	messages []message
	tools    tree
}

// requestOf reads a request body: OpenAI chat and Responses, Anthropic Messages, Gemini generateContent, LangChain.
func requestOf(t tree) exchange {
	m, ok := t.(map[string]any)
	if !ok {
		return exchange{messages: messagesOf(t)}
	}
	x := exchange{tools: field(m, "tools")}
	config, _ := field(m, "config", "generation_config").(map[string]any)
	for _, holder := range [...]map[string]any{m, config} {
		if s := field(holder, "system", "instructions", "system_instruction", "systemInstruction", "system_instructions"); s != nil && x.system == "" {
			x.system = systemText(s)
		}
		if x.tools == nil {
			x.tools = field(holder, "tools")
		}
	}
	switch in := field(m, "messages", "input", "contents", "prompt").(type) {
	case string:
		x.messages = []message{{role: "user", parts: textParts(in)}}
	case nil:
		if _, ok := m["role"]; ok {
			x.messages = messagesOf(m)
		}
	default:
		x.messages = messagesOf(in)
	}
	return x
}

// responseOf reads a response body of the same APIs. Only the first of several candidates was used.
func responseOf(t tree) exchange {
	m, ok := t.(map[string]any)
	if !ok {
		return exchange{messages: messagesOf(t)}
	}
	x := exchange{id: str(m, "id", "responseId", "response_id")}
	switch {
	case asList(m["choices"]) != nil: // OpenAI chat
		for _, c := range asList(m["choices"])[:min(1, len(asList(m["choices"])))] {
			if msg, ok := messageOf(field(c, "message", "delta")); ok {
				msg.role = "assistant"
				x.messages = append(x.messages, msg)
			}
		}
	case asList(m["generations"]) != nil: // LangChain
		for _, g := range firstNested(asList(m["generations"])) {
			if msg, ok := messageOf(field(g, "message")); ok {
				x.id = msg.id
				x.messages = append(x.messages, msg)
			} else if s := str(g, "text"); s != "" {
				x.messages = append(x.messages, message{role: "assistant", parts: textParts(s)})
			}
		}
	case asList(m["output"]) != nil: // OpenAI Responses
		x.messages = messagesOf(m["output"])
	case asList(m["candidates"]) != nil: // Gemini
		for _, c := range asList(m["candidates"])[:min(1, len(asList(m["candidates"])))] {
			x.messages = append(x.messages, message{role: "assistant", parts: partsOf(field(field(c, "content"), "parts"))})
		}
	case field(m["content"], "parts") != nil: // Gemini's one candidate
		x.messages = []message{{role: "assistant", parts: partsOf(field(m["content"], "parts"))}}
	case m["content"] != nil: // Anthropic, or one message
		x.messages = []message{{role: "assistant", parts: partsOf(m["content"])}}
		for _, c := range asList(m["tool_calls"]) {
			x.messages[0].parts = appendCall(x.messages[0].parts, toolCallPart(c))
		}
	}
	return x
}

// firstNested is the first batch of a list of lists, at most one entry of it.
func firstNested(list []any) []any {
	if len(list) == 0 {
		return nil
	}
	inner := asList(list[0])
	if inner == nil {
		inner = list
	}
	return inner[:min(1, len(inner))]
}
