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
	t.meta.Summary, t.meta.OfSpan = plainAnswer(out), true
	in := bodyMessages(r, "input")
	position := 0
	for _, m := range in {
		msgs := t.wholeList(m, len(in) > 1)
		if msgs == nil {
			msgs = roleMessages(foldRole(m.role), m.get("content"))
		}
		for _, msg := range msgs {
			t.message(t.meta.At, History{Origin: OriginHistory, Call: r.Row.SpanID, Position: position}, "", msg)
			position++
		}
	}
	for _, m := range out {
		msgs := t.wholeList(m, len(out) > 1)
		if msgs == nil {
			msgs = choiceMessages(m.get("message"))
		}
		if msgs == nil && m.content.Kind() != otlp.KindMap {
			msgs = roleMessages("assistant", m.get("content"))
		}
		t.output(t.meta.At, "", msgs) // assistant messages of the input are here too, but they have no "message"
	}
}

// wholeList reads content that is an attribute which held a whole input or output: a list of messages, or a request body, which
// beside other messages repeats them and then says nothing. nil for any other content.
func (t *teller) wholeList(m bodyMessage, beside bool) []message {
	s := strings.TrimSpace(m.content.Str())
	if len(s) < 2 || s[0] != '[' && s[0] != '{' {
		return nil
	}
	tr, ok := parseTree(s)
	if !ok {
		return nil
	}
	var msgs []message
	if s[0] == '[' {
		for _, e := range asList(tr) {
			if str(e, "role") == "" && langchainFields(asMap(e)) == nil {
				return nil
			}
		}
		msgs = t.parseMessages(m.content)
	} else if x := requestOf(tr); field(tr, "messages") != nil {
		if msgs = x.messages; beside && len(msgs) > 0 {
			return []message{}
		}
	}
	if len(msgs) == 0 {
		return nil
	}
	return msgs
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
