package convention

import (
	"strings"

	"github.com/tracejury/tracejury/pipeline/otlp"
)

// genAISpanEvents emits messages held in the events of a model or agent span.
func genAISpanEvents(r *Record, t *teller, style genAIStyle) {
	position := 0
	for i := range r.Events {
		e := &r.Events[i]
		a := Attributes(e.Attributes)
		switch e.Name {
		case "gen_ai.client.inference.operation.details":
			genAIMessages(r, t, style, a)
			genAIDefinitions(a, t)
		case "gen_ai.choice":
			t.output(r.end(), r.Attributes.Str("gen_ai.response.id"), choiceMessages(func(k string) (otlp.Value, bool) { return a.Get(k) }))
		case "gen_ai.content.prompt":
			if v, ok := a.Get("gen_ai.prompt"); ok {
				t.history(r.Row.StartedUnixNano, r.Row.SpanID, style.delta, contentMessages("user", v))
			}
		case "gen_ai.content.completion":
			if v, ok := a.Get("gen_ai.completion"); ok {
				t.output(r.end(), "", contentMessages("assistant", v))
			}
		default:
			role, ok := eventRole(e.Name)
			if !ok {
				continue
			}
			for _, m := range roleMessages(role, func(k string) (otlp.Value, bool) { return a.Get(k) }) {
				t.message(r.Row.StartedUnixNano, History{Origin: OriginHistory, Call: r.Row.SpanID, Position: position, Delta: style.delta}, "", m)
			}
			position++
		}
	}
}

// genAILog emits what a log record of the convention says. One model call's messages are one record each.
func genAILog(r *Record, t *teller, style genAIStyle) {
	body := func(k string) (otlp.Value, bool) {
		if v, ok := Attributes(r.Body.Map()).Get(k); ok {
			return v, true
		}
		return r.Attributes.Get(k)
	}
	at := r.Row.StartedUnixNano
	name := r.Row.Name
	t.meta.Witness = r.Row.ScopeName + "/log/" + name
	switch name {
	case "gen_ai.client.inference.operation.details":
		genAIMessages(r, t, style, r.Attributes)
		genAIMessages(r, t, style, Attributes(r.Body.Map()))
		genAIDefinitions(r.Attributes, t)
		t.tell(genAIUsage(r, false))
	case "gen_ai.choice":
		t.output(at, r.Attributes.Str("gen_ai.response.id"), choiceMessages(body))
	case "gen_ai.client.operation.exception":
		t.tell(&Failure{Type: r.Attributes.Str("exception.type", "error.type"), Text: r.Attributes.Str("exception.message")})
	default:
		if role, ok := eventRole(name); ok {
			for _, m := range roleMessages(role, body) {
				t.message(at, History{Origin: OriginHistory, Call: r.Row.SpanID, Position: -1, Delta: style.delta}, "", m)
			}
		}
	}
}

func eventRole(name string) (string, bool) {
	rest, ok := strings.CutPrefix(name, "gen_ai.")
	if !ok {
		return "", false
	}
	role, ok := strings.CutSuffix(rest, ".message")
	switch role {
	case "system", "user", "assistant", "tool":
		return role, ok
	}
	return "", false
}

// roleMessages reads a gen_ai.<role>.message: content is text, a JSON list of blocks, or a whole message.
func roleMessages(role string, get func(string) (otlp.Value, bool)) []message {
	m := message{role: role}
	id := ""
	if v, ok := get("id"); ok {
		id = v.Str()
	}
	if v, ok := get("content"); ok {
		m.parts = contentParts(v)
	}
	if v, ok := get("tool_calls"); ok {
		if tr, ok := treeOf(v); ok {
			for _, c := range asList(tr) {
				m.parts = appendCall(m.parts, toolCallPart(c))
			}
		}
	}
	if role == "tool" && !resultsOnly(m.parts) {
		text := make([]string, 0, len(m.parts))
		for _, p := range m.parts {
			text = append(text, p.text)
		}
		m.parts = []part{{kind: partResult, id: id, text: strings.Join(text, "\n"), outcome: OutcomeUnknown}}
	}
	if len(m.parts) == 0 {
		return nil
	}
	return []message{m}
}

func resultsOnly(parts []part) bool {
	for _, p := range parts {
		if p.kind != partResult {
			return false
		}
	}
	return len(parts) > 0
}

// contentParts reads content that is text, blocks, or JSON of blocks in a string.
func contentParts(v otlp.Value) []part {
	if tr, ok := treeOf(v); ok {
		if s, quoted := tr.(string); quoted {
			return textParts(s)
		}
		if parts := partsOf(tr); len(parts) > 0 {
			return parts
		}
	}
	return textParts(textOf(v))
}

// choiceMessages reads gen_ai.choice: message is text, blocks, or {content, tool_calls}.
func choiceMessages(get func(string) (otlp.Value, bool)) []message {
	v, ok := get("message")
	if !ok {
		return nil
	}
	if tr, ok := treeOf(v); ok {
		if m, isMap := tr.(map[string]any); isMap && blockParts(m) == nil || isMap && field(m, "tool_calls") != nil {
			if _, has := m["role"]; !has {
				m["role"] = "assistant"
			}
			if msg, ok := messageOf(m); ok {
				msg.role = "assistant"
				return []message{msg}
			}
		}
	}
	if parts := contentParts(v); len(parts) > 0 {
		return []message{{role: "assistant", parts: parts}}
	}
	return nil
}

// contentMessages reads the content events of 1.27 and before: JSON messages, else plain text.
func contentMessages(role string, v otlp.Value) []message {
	if msgs := parseMessages(v); len(msgs) > 0 {
		return msgs
	}
	text := textOf(v)
	if text == "" {
		return nil
	}
	return []message{{role: role, parts: textParts(text)}}
}

// genAIExports says what this record shows its exporter to export. Content is opt-in, so only what is seen is exported.
func genAIExports(r *Record) Content {
	var c Content
	see := func(a Attributes) {
		if a.Has("gen_ai.input.messages") {
			c |= ContentUserPrompt | ContentToolArguments | ContentToolResults | ContentSkillBody
		}
		if a.Has("gen_ai.output.messages") {
			c |= ContentAssistantText | ContentToolArguments
		}
		if a.Has("gen_ai.system_instructions") || a.Has("system_prompt") {
			c |= ContentSkillCatalogue
		}
		if a.Has("gen_ai.tool.call.arguments") || a.Has("gen_ai.tool.name") && a.Has("input.value") {
			c |= ContentToolArguments
		}
		if a.Has("gen_ai.tool.call.result") || a.Has("gen_ai.tool.name") && a.Has("output.value") {
			c |= ContentToolResults | ContentSkillBody
		}
	}
	see(r.Attributes)
	names := []string{}
	if r.isLog() {
		names = append(names, r.Row.Name)
		see(Attributes(r.Body.Map()))
	}
	for i := range r.Events {
		names = append(names, r.Events[i].Name)
		see(Attributes(r.Events[i].Attributes))
	}
	tool := operationOf(r) == opTool
	for _, n := range names {
		switch {
		case n == "gen_ai.system.message":
			c |= ContentSkillCatalogue
		case n == "gen_ai.user.message":
			c |= ContentUserPrompt
		case n == "gen_ai.tool.message" && !tool:
			c |= ContentToolResults | ContentSkillBody
		case n == "gen_ai.tool.message":
			c |= ContentToolArguments
		case n == "gen_ai.choice" && tool:
			c |= ContentToolResults | ContentSkillBody
		case n == "gen_ai.choice":
			c |= ContentAssistantText | ContentToolArguments
		}
	}
	return c
}
