package convention

import (
	"strings"

	"github.com/tracejury/tracejury/pipeline/otlp"
)

// partKind is what one part of a message is.
type partKind uint8

const (
	partText partKind = iota
	partReasoning
	partCall
	partResult
)

// part is one part of a message, of whatever vendor's shape.
type part struct {
	kind    partKind
	text    string // of a text, a reasoning or a result
	id      string // call id
	name    string // tool
	args    string // JSON, or the vendor's text
	outcome Outcome
}

// message is one message of a model's input or output.
type message struct {
	role  string // system, user, assistant, tool, or the vendor's own word
	name  string
	id    string // of the response, where the message carries it
	parts []part
}

// parseMessages reads a list of messages (or one) from a JSON string or a structured attribute: OpenTelemetry GenAI parts,
// Bedrock, Anthropic, OpenAI chat and Responses, Gemini, AI SDK and LangChain shapes, also mixed.
func parseMessages(v otlp.Value) []message {
	t, ok := treeOf(v)
	if !ok {
		return nil
	}
	return messagesOf(t)
}

// parseMessagesText is parseMessages for text.
func parseMessagesText(s string) []message { return parseMessages(otlp.StringValue(s)) }

// messagesOf reads messages from a tree.
func messagesOf(t tree) []message {
	switch v := t.(type) {
	case []any:
		var out []message
		for _, e := range v {
			if s, ok := e.(string); ok { // a list of plain texts: the user's
				out = append(out, message{role: "user", parts: textParts(s)})
				continue
			}
			if inner, ok := e.([]any); ok { // batches: [[message]]
				out = append(out, messagesOf(inner)...)
				continue
			}
			if m, ok := messageOf(e); ok {
				out = append(out, m)
			}
		}
		return out
	case map[string]any:
		if inner := field(v, "messages"); inner != nil {
			return messagesOf(inner)
		}
		if m, ok := messageOf(v); ok {
			return []message{m}
		}
	}
	return nil
}

// messageOf reads one message.
func messageOf(t tree) (message, bool) {
	m, ok := t.(map[string]any)
	if !ok {
		return message{}, false
	}
	if kw := langchainFields(m); kw != nil {
		return langchainMessage(m, kw)
	}
	if inner, ok := m["message"].(map[string]any); ok && str(m, "role") == "" {
		return messageOf(inner)
	}
	if inner, ok := m["payload"].(map[string]any); ok && str(m, "type") == "response_item" { // a line of a Codex rollout
		return messageOf(inner)
	}
	switch str(m, "type") { // Responses items
	case "function_call", "custom_tool_call":
		return message{role: "assistant", parts: []part{callPart(m, str(m, "call_id", "id"), str(m, "name"), field(m, "arguments", "input"))}}, true
	case "local_shell_call":
		return message{role: "assistant", parts: []part{callPart(m, str(m, "call_id", "id"), "local_shell", field(m, "action"))}}, true
	case "function_call_output", "custom_tool_call_output", "local_shell_call_output":
		return message{role: "tool", parts: []part{resultPart(str(m, "call_id", "id"), str(m, "name"), field(m, "output"), m)}}, true
	case "reasoning":
		if str(m, "role") == "" {
			return message{role: "assistant", parts: reasoningParts(m)}, true
		}
	}
	role := str(m, "role", "type")
	if role == "" {
		return message{}, false
	}
	out := message{role: foldRole(role), name: str(m, "name"), id: str(m, "id")}
	if s := str(m, "reasoning_content", "reasoning"); s != "" {
		out.parts = append(out.parts, part{kind: partReasoning, text: s})
	}
	content := field(m, "parts", "content")
	if id := str(m, "tool_call_id", "toolCallId"); id != "" || out.role == "tool" {
		if !hasResult(content, id) {
			out.parts = append(out.parts, resultPart(id, str(m, "name", "tool_name"), content, m))
			return out, true
		}
	}
	out.parts = append(out.parts, partsOf(content)...)
	for _, c := range asList(field(m, "tool_calls", "toolCalls")) {
		out.parts = appendCall(out.parts, toolCallPart(c))
	}
	return out, true
}

// appendCall adds a call unless the content blocks told of it already.
func appendCall(parts []part, c part) []part {
	for _, p := range parts {
		if p.kind == partCall && p.id != "" && p.id == c.id {
			return parts
		}
	}
	if c.name == "" && c.id == "" {
		return parts
	}
	return append(parts, c)
}

func foldRole(role string) string {
	switch strings.ToLower(role) {
	case "human", "user":
		return "user"
	case "ai", "model", "assistant", "aimessagechunk":
		return "assistant"
	case "developer", "system":
		return "system"
	case "function", "tool":
		return "tool"
	default:
		return strings.ToLower(role)
	}
}

func asList(t tree) []any {
	l, _ := t.([]any)
	return l
}

// hasResult says whether content holds result blocks of its own: they bear ids, or the message that holds them has none.
func hasResult(content tree, id string) bool {
	for _, e := range asList(content) {
		for _, p := range partsOf([]any{e}) {
			if p.kind == partResult && (p.id != "" || id == "") || p.kind == partCall {
				return true
			}
		}
	}
	return false
}

func textParts(s string) []part {
	if s == "" {
		return nil
	}
	return []part{{kind: partText, text: s}}
}

// partsOf reads the content of a message: text, or a list of blocks of any vendor.
func partsOf(content tree) []part {
	switch v := content.(type) {
	case string:
		return textParts(v)
	case map[string]any:
		return blockParts(v)
	case []any:
		var out []part
		for _, e := range v {
			switch b := e.(type) {
			case string:
				out = append(out, textParts(b)...)
			case map[string]any:
				out = append(out, blockParts(b)...)
			}
		}
		return out
	}
	return nil
}

// history tells messages that were a model call's input. call is the span or request id of that call.
func (t *teller) history(at int64, call string, delta bool, msgs []message) {
	for i, m := range msgs {
		t.message(at, History{Origin: OriginHistory, Call: call, Position: i, Delta: delta}, "", m)
	}
}

// output tells messages that a model call answered.
func (t *teller) output(at int64, responseID string, msgs []message) {
	for _, m := range msgs {
		t.message(at, History{}, responseID, m)
	}
}

// message tells one message part by part, the texts of a user's message as one prompt.
func (t *teller) message(at int64, h History, responseID string, m message) {
	if h.Origin == OriginNew && (m.role == "user" || m.role == "system") { // nobody but the model answers; exporters write other roles here
		m.role = "assistant"
	}
	var prompt []string
	flush := func() {
		if len(prompt) > 0 {
			text := strings.Join(prompt, "\n")
			t.tellAt(at, &Prompt{History: h, Text: text, Truncated: isCut(text), Redacted: isWithheld(text)})
			prompt = nil
		}
	}
	for _, p := range m.parts {
		if p.kind == partText && m.role == "assistant" {
			if call, ok := responseItem(p.text); ok {
				p = call
			}
		}
		switch {
		case p.kind == partCall:
			flush()
			t.tellAt(at, &ToolCall{History: h, Source: SourceRequest, CallID: p.id, Tool: p.name, Arguments: p.args,
				Truncated: isCut(p.args), ResponseID: responseID})
		case p.kind == partResult:
			flush()
			t.tellAt(at, &ToolResult{History: h, Source: SourceAnswer, CallID: p.id, Tool: p.name, Text: p.text,
				Outcome: p.outcome, Truncated: isCut(p.text)})
		case p.text == "":
		case p.kind == partReasoning:
			t.tellAt(at, &Reasoning{History: h, Text: p.text, Truncated: isCut(p.text)})
		case m.role == "system":
			t.tellAt(at, &System{History: h, Text: p.text, Truncated: isCut(p.text)})
		case m.role == "user":
			if e := injected(p.text, h); e != nil {
				flush()
				t.tellAt(at, e)
				continue
			}
			prompt = append(prompt, p.text)
		default:
			t.tellAt(at, &Message{History: h, Text: p.text, Truncated: isCut(p.text), ResponseID: responseID})
		}
	}
	flush()
}
