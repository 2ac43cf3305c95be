package convention

import (
	"strings"

	"github.com/tracejury/tracejury/pipeline/otlp"
)

// AgentCore reads the log records into which the AWS distribution of OpenTelemetry moves the messages of a span: a body of
// {input: {messages}, output: {messages}}, written in the span whose messages they are.
type AgentCore struct{}

// Name implements [Convention].
func (AgentCore) Name() string { return "agentcore" }

// Match implements [Convention].
func (AgentCore) Match(r *Record) bool {
	if !r.isLog() || r.Body.Kind() != otlp.KindMap {
		return false
	}
	return len(bodyMessages(r, "input")) > 0 || len(bodyMessages(r, "output")) > 0
}

// Internal implements [Convention].
func (AgentCore) Internal(*Record) bool { return false }

// Exports implements [Convention].
func (AgentCore) Exports(r *Record) Content {
	var c Content
	if len(bodyMessages(r, "input")) > 0 {
		c |= ContentUserPrompt | ContentSkillCatalogue | ContentToolArguments
	}
	if len(bodyMessages(r, "output")) > 0 {
		c |= ContentAssistantText | ContentToolArguments | ContentToolResults | ContentSkillBody
	}
	return c
}

// Events implements [Convention].
func (c AgentCore) Events(r *Record, emit func(Event)) {
	t := newTeller(r, c.Name(), emit)
	t.meta.Witness = r.Row.ScopeName + "/body"
	out := bodyMessages(r, "output")
	if call, result := bodyTool(bodyMessages(r, "input"), out); call != nil {
		t.tell(call)
		t.tell(result)
		return
	}
	// An agent's answer is plain text, a model's is blocks: the agent's repeats the model's.
	t.meta.Summary = plainAnswer(out)
	for i, m := range bodyMessages(r, "input") {
		for _, msg := range roleMessages(foldRole(m.role), m.get("content")) {
			t.message(t.meta.At, History{Origin: OriginHistory, Call: r.Row.SpanID, Position: i}, "", msg)
		}
	}
	for _, m := range out {
		msgs := choiceMessages(m.get("message"))
		if len(msgs) == 0 && m.content.Kind() != otlp.KindMap {
			msgs = roleMessages("assistant", m.get("content"))
		}
		t.output(t.meta.At, "", msgs) // assistant messages of the input are here too, but they have no "message"
	}
}

// bodyMessage is one message of a body: its content is a text or the attributes of the span event that it was.
type bodyMessage struct {
	role    string
	content otlp.Value
}

// get reads the attributes of the event; of content that is plain text, the text at key.
func (m bodyMessage) get(key string) func(string) (otlp.Value, bool) {
	return func(k string) (otlp.Value, bool) {
		if m.content.Kind() == otlp.KindMap {
			return Attributes(m.content.Map()).Get(k)
		}
		if k == key {
			return m.content, true
		}
		return otlp.Value{}, false
	}
}

func bodyMessages(r *Record, side string) []bodyMessage {
	v, ok := Attributes(r.Body.Map()).Get(side)
	if !ok {
		return nil
	}
	list, ok := Attributes(v.Map()).Get("messages")
	if !ok {
		return nil
	}
	var out []bodyMessage
	for _, e := range list.Array() {
		a := Attributes(e.Map())
		c, ok := a.Get("content")
		if !ok {
			continue
		}
		out = append(out, bodyMessage{a.Str("role"), c})
	}
	return out
}

// bodyTool reads the body of a tool's span: arguments in, result out, both with the call's id.
func bodyTool(in, out []bodyMessage) (*ToolCall, *ToolResult) {
	if len(in) != 1 || foldRole(in[0].role) != "tool" || in[0].content.Kind() != otlp.KindMap {
		return nil, nil
	}
	a := Attributes(in[0].content.Map())
	id := a.Str("id")
	args, ok := a.Get("content")
	if id == "" || !ok {
		return nil, nil
	}
	call := &ToolCall{Source: SourceExecution, CallID: id, Arguments: valueArguments(args)}
	result := &ToolResult{Source: SourceExecution, CallID: id, Outcome: OutcomeUnknown}
	for _, m := range out {
		if v, ok := m.get("message")("message"); ok {
			result.Text, result.Outcome = resultText(v, OutcomeUnknown)
		}
	}
	return call, result
}

func plainAnswer(out []bodyMessage) bool {
	for _, m := range out {
		v, ok := m.get("message")("message")
		if s := strings.TrimSpace(v.Str()); ok && s != "" && s[0] != '[' && s[0] != '{' {
			return true
		}
	}
	return false
}
