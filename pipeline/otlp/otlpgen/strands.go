package otlpgen

import "time"

const strandsModel = "demo-model"

// strands renders Strands TS: one trace a turn, content in span events, the whole conversation repeated on every chat
// and cycle span, the session id on the agent span only. Text before a tool call is dropped, as it is by the client.
type strands struct {
	*run
	scope    Scope
	resource *Resource
	spans    []Span
}

func renderStrands(r *run) []chunk {
	// The client names its scope after the service, and gen_ai.system as well.
	s := &strands{run: r, scope: Scope{Name: r.script.Service}, resource: resource(
		str("service.name", r.script.Service),
		str("service.namespace", "strands"),
		str("deployment.environment", "production"),
		str("telemetry.sdk.name", "opentelemetry"),
		str("telemetry.sdk.language", "typescript"),
	)}
	var chunks []chunk
	r.turns(func(_ int, t *Turn) {
		total := s.turn(t)
		metric := func(name, description string, v int64) Metric {
			return Metric{Name: name, Description: description, Points: []Point{{Start: r.script.Start.UnixNano(), At: r.now, Value: float64(v)}}}
		}
		chunks = append(chunks, chunk{script: r.script, at: r.now, groups: []Group{
			{Resource: s.resource, Scope: s.scope, Spans: s.spans},
			{Resource: s.resource, Scope: s.scope, Metrics: []Metric{
				metric("gen_ai.agent.tokens.input", "Input tokens consumed", total.in),
				metric("gen_ai.agent.tokens.output", "Output tokens consumed", total.out),
			}},
		}})
		s.spans = nil
	})
	return chunks
}

func (s *strands) turn(t *Turn) usage {
	root := s.spanID()
	start, _ := s.pass(2*time.Millisecond, 5*time.Millisecond)
	var total usage
	var final string
	for i := range t.Steps {
		step := &t.Steps[i]
		cycle := s.spanID()
		cStart := s.now - s.now%1e6
		var events []SpanEvent
		if i > 0 {
			events = s.conversation(cStart)
		}
		u, calls := s.chat(step, cycle)
		total.add(u)
		for _, c := range calls {
			s.tool(c, cycle)
			s.answered(c)
		}
		final = step.Say
		_, cEnd := s.pass(time.Millisecond, 3*time.Millisecond)
		s.add(Span{SpanID: cycle, ParentID: root, Name: "execute_agent_loop_cycle", Start: cStart, End: cEnd, Status: 1, Events: events,
			Attributes: append([]KeyValue{str("agent_loop.cycle_id", "cycle-"+decimal(i+1))}, s.times(cStart, cEnd)...)})
	}
	agent := s.script.Team.Agent
	names := make([]raw, 0, 8)
	for _, d := range s.script.Team.sdkTools("skills", false) {
		names = append(names, jstr(d.Name))
	}
	kvs := []KeyValue{str("gen_ai.operation.name", "invoke_agent"), str("gen_ai.system", s.script.Service),
		str("gen_ai.agent.name", agent), str("name", "invoke_agent "+agent), str("gen_ai.agent.id", "agent"),
		str("gen_ai.request.model", strandsModel), str("gen_ai.agent.tools", string(jarr(names...))),
		str("system_prompt", string(jstr(s.system())))}
	if !s.script.NoID {
		kvs = append(kvs, str("session.id", s.session), str("gen_ai.conversation.id", s.session))
	}
	kvs = append(append(kvs, s.times(start, s.now)...), total.strands()...)
	s.add(Span{SpanID: root, Name: "invoke_agent " + agent, Start: start, End: s.now, Status: 1, Attributes: kvs, Events: []SpanEvent{
		{Name: "gen_ai.user.message", At: start + 4e5, Attributes: []KeyValue{str("content", string(texts(t.Prompt)))}},
		{Name: "gen_ai.choice", At: s.now - 4e4, Attributes: []KeyValue{str("message", final), str("finish_reason", "endTurn")}},
	}})
	return total
}

func (s *strands) chat(step *Step, cycle SpanID) (usage, []asked) {
	u := s.usage(step)
	start, end := s.modelCall()
	events := append([]SpanEvent{{Name: "gen_ai.system.message", At: start + 2e5, Attributes: []KeyValue{str("content", string(texts(s.system())))}}},
		s.conversation(start+2e5)...)
	calls := s.ask(step, "call_", 24)
	reason, out := "endTurn", jarr(jobj("text", step.Say))
	if len(calls) > 0 {
		reason = "toolUse"
		uses := make([]raw, len(calls))
		for i, c := range calls {
			name, args := c.sdkTool(s.script.Team, "skills", false)
			uses[i] = jobj("type", "toolUse", "name", name, "toolUseId", c.id, "input", args)
		}
		out = jarr(uses...)
	}
	s.add(Span{SpanID: s.spanID(), ParentID: cycle, Name: "chat", Start: start, End: end, Status: 1,
		Events: append(events, SpanEvent{Name: "gen_ai.choice", At: end - 4e5, Attributes: []KeyValue{
			str("finish_reason", reason), str("message", string(out))}}),
		Attributes: append(append([]KeyValue{str("gen_ai.operation.name", "chat"), str("gen_ai.system", s.script.Service),
			str("gen_ai.request.model", strandsModel)}, s.times(start, end)...), u.strands()...)})
	return u, calls
}

func (s *strands) tool(c asked, cycle SpanID) {
	start, end := s.toolCall()
	name, args := c.sdkTool(s.script.Team, "skills", false)
	span := Span{SpanID: s.spanID(), ParentID: cycle, Name: "execute_tool " + name, Start: start, End: end, Status: 1}
	status := "success"
	if c.Outcome == Error || c.Outcome == Denied {
		status, span.Status, span.StatusMessage = "error", 2, c.Result
	}
	span.Attributes = append(append([]KeyValue{str("gen_ai.operation.name", "execute_tool"), str("gen_ai.system", s.script.Service),
		str("gen_ai.tool.name", name), str("gen_ai.tool.call.id", c.id)}, s.times(start, end)...), str("gen_ai.tool.status", status))
	span.Events = []SpanEvent{
		{Name: "gen_ai.tool.message", At: start + 2e5, Attributes: []KeyValue{str("role", "tool"), str("content", string(args)), str("id", c.id)}},
		{Name: "gen_ai.choice", At: end - 2e5, Attributes: []KeyValue{str("message", string(jarr(s.result(c)))), str("id", c.id)}},
	}
	if status == "error" {
		span.Events = append(span.Events, exception(end-1e5, c.Result, "FunctionTool.callback"))
	}
	s.add(span)
}

// result is the content block in which a tool's result goes back to the model.
func (s *strands) result(c asked) raw {
	value, text := c.sdkResult(s.script.Team)
	switch {
	case value != "":
		return jobj("json", value)
	case c.Outcome == Error || c.Outcome == Denied:
		text = "Error: " + text
	case c.Kind == KindSkill && c.Outcome == OK:
		text = s.script.Team.skill(c.Name).Body + "\n\n---\nLocation: " + skillDir + c.Name + "/SKILL.md"
	}
	return jobj("text", text)
}

const skillDir = "/srv/app/.agents/skills/"

// conversation is the history as events, in Bedrock's block form.
func (s *strands) conversation(at int64) []SpanEvent {
	events := make([]SpanEvent, 0, len(s.history)+2)
	for _, m := range s.history {
		at += 12e3
		name, content := "gen_ai.user.message", texts(m.text)
		switch m.role {
		case "assistant":
			name = "gen_ai.assistant.message"
			if len(m.calls) > 0 {
				uses := make([]raw, len(m.calls))
				for i, c := range m.calls {
					tool, args := c.sdkTool(s.script.Team, "skills", false)
					uses[i] = jobj("toolUse", jobj("name", tool, "toolUseId", c.id, "input", args))
				}
				content = jarr(uses...)
			}
		case "tool":
			name = "gen_ai.tool.message"
			status := "success"
			if m.answer.Outcome == Error || m.answer.Outcome == Denied {
				status = "error"
			}
			content = jarr(jobj("toolResult", jobj("toolUseId", m.answer.id, "status", status, "content", jarr(s.result(*m.answer)))))
		}
		events = append(events, SpanEvent{Name: name, At: at, Attributes: []KeyValue{str("content", string(content))}})
	}
	return events
}

func texts(text string) raw { return jarr(jobj("text", text)) }

// system is the prompt with the catalogue in it.
func (s *strands) system() string {
	text := s.script.Team.System + "\n\n<available_skills>\n"
	for _, k := range s.script.Team.Skills {
		text += "<skill>\n<name>" + k.Name + "</name>\n<description>" + k.Description + "</description>\n<location>" +
			skillDir + k.Name + "/SKILL.md</location>\n</skill>\n"
	}
	return text + "</available_skills>"
}

func (s *strands) times(start, end int64) []KeyValue {
	return []KeyValue{str("gen_ai.event.start_time", stamp(start)), str("gen_ai.event.end_time", stamp(end))}
}

func (u usage) strands() []KeyValue {
	return []KeyValue{num("gen_ai.usage.prompt_tokens", u.in), num("gen_ai.usage.input_tokens", u.in),
		num("gen_ai.usage.completion_tokens", u.out), num("gen_ai.usage.output_tokens", u.out), num("gen_ai.usage.total_tokens", u.in+u.out),
		num("gen_ai.usage.cache_read.input_tokens", u.cached), num("gen_ai.usage.cache_read_input_tokens", u.cached)}
}

func (s *strands) add(span Span) {
	span.TraceID, span.Kind = s.trace, 1
	s.spans = append(s.spans, span)
}
