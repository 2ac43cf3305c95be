package otlpgen

import (
	"slices"
	"time"
)

const genAIModel = "demo-model"

// genAI renders AI SDK 7: invoke_agent > step N > chat and execute_tool, all content in gen_ai.* attributes, the
// session id on agent and step spans only.
type genAI struct {
	*run
	resource *Resource
	spans    []Span
}

func renderGenAI(r *run) []chunk {
	g := &genAI{run: r, resource: resource(str("service.name", r.script.Service), str("deployment.environment.name", "production"))}
	var chunks []chunk
	r.turns(func(_ int, t *Turn) {
		g.agent(r.script.Team.Agent, t.Steps, SpanID{})
		chunks = append(chunks, chunk{script: r.script, at: r.now, groups: []Group{
			{Resource: g.resource, Scope: Scope{Name: "gen_ai"}, Spans: g.spans},
		}})
		g.spans = nil
	})
	return chunks
}

// agent writes one agent's spans for the steps.
func (g *genAI) agent(name string, steps []Step, parent SpanID) {
	var (
		final string
		total usage
	)
	root := g.spanID()
	start, _ := g.pass(4*time.Millisecond, 9*time.Millisecond)
	input := g.messages(g.history)
	var output []raw
	for i := range steps {
		s := &steps[i]
		step := g.spanID()
		sStart, _ := g.pass(time.Millisecond, 3*time.Millisecond)
		u, calls := g.chat(s, step)
		total.add(u)
		for _, c := range calls {
			g.tool(c, step)
			g.answered(c)
			output = append(output, g.toolCallPart(c))
		}
		final = s.Say
		g.add(Span{SpanID: step, ParentID: root, Name: "step " + decimal(i+1), Kind: 1, Start: sStart, End: g.now,
			Attributes: slices.Concat([]KeyValue{str("gen_ai.operation.name", "agent_step")}, g.context(),
				[]KeyValue{str("ai.prompt.toolChoice", `{"type":"auto"}`)})})
	}
	output = append([]raw{jobj("type", "text", "content", final)}, output...)
	g.add(Span{SpanID: root, ParentID: parent, Name: "invoke_agent " + name, Kind: 1, Start: start, End: g.now,
		Attributes: slices.Concat([]KeyValue{
			str("gen_ai.operation.name", "invoke_agent"), str("gen_ai.provider.name", "demo.chat"), str("gen_ai.request.model", genAIModel),
			str("gen_ai.agent.name", name), str("gen_ai.system_instructions", string(g.instructions())),
			str("gen_ai.input.messages", string(input))}, g.context(), []KeyValue{
			list("gen_ai.response.finish_reasons", "stop"), num("gen_ai.usage.input_tokens", total.in), num("gen_ai.usage.output_tokens", total.out),
			num("gen_ai.usage.cache_read.input_tokens", total.cached),
			str("gen_ai.output.messages", string(jarr(jobj("role", "assistant", "parts", jarr(output...), "finish_reason", "stop"))))})})
}

func (g *genAI) chat(s *Step, step SpanID) (usage, []asked) {
	u, before := g.usage(s), g.messages(g.history)
	start, end := g.modelCall()
	calls := g.ask(s, "call_", 24)
	reason, finish := "stop", "stop"
	if len(calls) > 0 {
		reason, finish = "tool-calls", "tool_call"
	}
	said := g.history[len(g.history)-1]
	g.add(Span{SpanID: g.spanID(), ParentID: step, Name: "chat " + genAIModel, Kind: 3, Start: start, End: end, Attributes: []KeyValue{
		str("gen_ai.operation.name", "chat"), str("gen_ai.provider.name", "demo.chat"), str("gen_ai.request.model", genAIModel),
		str("gen_ai.system_instructions", string(g.instructions())), str("gen_ai.input.messages", string(before)),
		str("gen_ai.tool.definitions", string(g.definitions())), dbl("gen_ai.client.operation.duration", float64(end-start)/1e9),
		list("gen_ai.response.finish_reasons", reason), str("gen_ai.response.id", g.token("chatcmpl-", 24)), str("gen_ai.response.model", genAIModel),
		num("gen_ai.usage.input_tokens", u.in), num("gen_ai.usage.output_tokens", u.out), num("gen_ai.usage.cache_read.input_tokens", u.cached),
		str("gen_ai.output.messages", string(jarr(jobj("role", "assistant", "parts", g.parts(said), "finish_reason", finish)))),
	}})
	return u, calls
}

func (g *genAI) tool(c asked, step SpanID) {
	id, start := g.spanID(), g.now-g.now%1e6
	if c.Kind == KindAgent {
		history := g.history
		g.history = []message{{role: "user", text: c.Prompt}}
		g.agent(c.Name, c.Steps, id)
		g.history = history
	} else {
		g.toolCall()
	}
	name, args := c.sdkTool(g.script.Team, "load_skill", true)
	span := Span{SpanID: id, ParentID: step, Name: "execute_tool " + name, Kind: 1, Start: start, End: g.now, Attributes: []KeyValue{
		str("gen_ai.operation.name", "execute_tool"), str("gen_ai.tool.name", name), str("gen_ai.tool.call.id", c.id),
		str("gen_ai.tool.type", "function"), str("gen_ai.tool.call.arguments", string(args)),
		dbl("gen_ai.execute_tool.duration", float64(g.now-start)/1e9)}}
	value, text := c.sdkResult(g.script.Team)
	if c.Outcome == OK {
		if value == "" {
			value = jstr(text) // a string result is quoted once more
		}
		span.Attributes = append(span.Attributes, str("gen_ai.tool.call.result", string(value)))
	} else {
		span.Status, span.StatusMessage = 2, text
		span.Events = []SpanEvent{exception(g.now-1e5, text, "Object.execute")}
	}
	g.add(span)
}

// messages is the conversation in the form of gen_ai.input.messages.
func (g *genAI) messages(history []message) raw {
	list := make([]raw, len(history))
	for i, m := range history {
		parts := g.parts(m)
		list[i] = jobj("role", m.role, "parts", parts)
	}
	return jarr(list...)
}

func (g *genAI) parts(m message) raw {
	if m.role == "tool" {
		value, text := m.answer.sdkResult(g.script.Team)
		switch {
		case m.answer.Outcome != OK:
			value = jstr("Error: " + text)
		case value == "":
			value = jstr(text)
		}
		return jarr(jobj("type", "tool_call_response", "id", m.answer.id, "response", value))
	}
	var parts []raw
	if m.think != "" {
		parts = append(parts, jobj("type", "reasoning", "content", m.think))
	}
	if m.text != "" {
		parts = append(parts, jobj("type", "text", "content", m.text))
	}
	for _, c := range m.calls {
		parts = append(parts, g.toolCallPart(c))
	}
	return jarr(parts...)
}

func (g *genAI) toolCallPart(c asked) raw {
	name, args := c.sdkTool(g.script.Team, "load_skill", true)
	return jobj("type", "tool_call", "id", c.id, "name", name, "arguments", args)
}

func (g *genAI) instructions() raw {
	return jarr(jobj("type", "text", "content", g.script.Team.inlineCatalogue()))
}

func (g *genAI) definitions() raw {
	var defs []raw
	for _, d := range g.script.Team.sdkTools("load_skill", true) {
		defs = append(defs, jobj("type", "function", "name", d.Name, "inputSchema", d.schema(), "description", d.Description))
	}
	return jarr(defs...)
}

// context is the runtime context that the application exports on agent and step spans.
func (g *genAI) context() []KeyValue {
	if g.script.NoID {
		return nil
	}
	return []KeyValue{str("ai.settings.context.sessionId", g.session), str("ai.settings.context.userId", "user-17")}
}

func (g *genAI) add(s Span) {
	s.TraceID = g.trace
	g.spans = append(g.spans, s)
}

// inlineCatalogue is the system prompt of the two harnesses that write a skill on one line.
func (t *Team) inlineCatalogue() string {
	text := t.System + "\n\n<available_skills>\n"
	for _, k := range t.Skills {
		text += "<skill><name>" + k.Name + "</name><description>" + k.Description + "</description></skill>\n"
	}
	return text + "</available_skills>\n\nLoad a skill with load_skill before you follow it."
}
