package otlpgen

import "time"

const openInferenceModel = "gpt-demo"

// openInference renders LangChain under OpenInference: an AGENT span of the application's own tracer, below it the
// CHAIN, LLM and TOOL spans of the instrumentation. Message attributes carry no call ids; the constructor JSON does.
type openInference struct {
	*run
	resource *Resource
	root     SpanID
	step     int
	own      []Span
	spans    []Span
}

func renderOpenInference(r *run) []chunk {
	o := &openInference{run: r, resource: resource(
		str("service.name", r.script.Service),
		str("service.version", "1.4.0"),
		str("deployment.environment.name", "production"),
	)}
	var chunks []chunk
	r.turns(func(_ int, t *Turn) {
		o.turn(t)
		chunks = append(chunks, chunk{script: r.script, at: r.now, groups: []Group{
			{Resource: o.resource, Scope: Scope{"@arizeai/openinference-instrumentation-langchain", "4.1.1"}, Spans: o.spans},
			{Resource: o.resource, Scope: Scope{Name: r.script.Service}, Spans: o.own},
		}})
		o.spans, o.own = nil, nil
	})
	return chunks
}

func (o *openInference) turn(t *Turn) {
	agent, chain := o.spanID(), o.spanID()
	start, _ := o.pass(3*time.Millisecond, 6*time.Millisecond)
	cStart, _ := o.pass(time.Millisecond, 3*time.Millisecond)
	input := jobj("messages", jarr(jobj("role", "user", "content", t.Prompt)))
	o.root, o.step = chain, 0
	var final string
	for i := range t.Steps {
		s := &t.Steps[i]
		node := o.spanID()
		nStart := o.now - o.now%1e6
		before := o.constructed()
		calls := o.model(s, node)
		o.chain(Span{SpanID: node, ParentID: chain, Name: "model_request", Start: nStart, End: o.now}, jobj("messages", before),
			jobj("messages", jarr(o.constructor(o.history[len(o.history)-1]))), "model_request")
		for _, c := range calls {
			o.tool(c)
		}
		final = s.Say
	}
	o.step = 0
	o.chain(Span{SpanID: chain, ParentID: agent, Name: o.script.Team.Agent, Start: cStart, End: o.now}, input, jobj("messages", o.constructed()), "")
	o.own = append(o.own, Span{TraceID: o.trace, SpanID: agent, Name: o.script.Team.Agent, Kind: 1, Start: start, End: o.now, Attributes: []KeyValue{
		str("openinference.span.kind", "AGENT"), str("session.id", o.session), str("input.value", t.Prompt), str("output.value", final)}})
}

func (o *openInference) model(s *Step, node SpanID) []asked {
	o.step++
	u, sent := o.usage(s), o.history
	in := jobj("messages", jarr(jarr(append([]raw{constructor("SystemMessage",
		"content", o.script.Team.inlineCatalogue(), "additional_kwargs", raw("{}"), "response_metadata", raw("{}"))}, o.constructedList()...)...)))
	start, end := o.modelCall()
	calls := o.ask(s, "call_", 24)
	reason := "stop"
	if len(calls) > 0 {
		reason = "tool_calls"
	}
	reply := o.history[len(o.history)-1]
	out := jobj("generations", jarr(jarr(jobj("text", s.Say, "message", o.constructor(reply), "generationInfo", jobj("finish_reason", reason)))),
		"llmOutput", jobj("tokenUsage", jobj("promptTokens", raw(decimal(int(u.in))), "completionTokens", raw(decimal(int(u.out))),
			"totalTokens", raw(decimal(int(u.in+u.out))))))
	kvs := append([]KeyValue{str("openinference.span.kind", "LLM")}, values(in, "application/json", out, "application/json")...)
	kvs = append(kvs, str("llm.invocation_parameters", string(jobj("model", openInferenceModel, "stream", raw("false")))),
		str("llm.model_name", openInferenceModel))
	for i, d := range o.script.Team.sdkTools("load_skill", true) {
		kvs = append(kvs, str("llm.tools."+decimal(i)+".tool.json_schema", string(jobj("type", "function", "function",
			jobj("name", d.Name, "description", d.Description, "parameters", d.schema())))))
	}
	kvs = append(kvs, num("llm.token_count.completion", u.out), num("llm.token_count.prompt", u.in), num("llm.token_count.total", u.in+u.out),
		num("llm.token_count.prompt_details.cache_read", u.cached), str("llm.finish_reason", reason),
		o.metadata("model_request"), str("session.id", o.session), str("llm.input_messages.0.message.role", "system"))
	for i, m := range sent {
		kvs = append(kvs, o.message("llm.input_messages."+decimal(i+1)+".message.", m)...)
	}
	kvs = append(kvs, o.message("llm.output_messages.0.message.", reply)...)
	o.spans = append(o.spans, Span{TraceID: o.trace, SpanID: o.spanID(), ParentID: node, Name: "ChatOpenAI", Kind: 1, Start: start, End: end, Status: 1, Attributes: kvs})
	return calls
}

// tool writes the node that runs a tool and the tool's own span below it.
func (o *openInference) tool(c asked) {
	o.step++
	node, id := o.spanID(), o.spanID()
	nStart := o.now - o.now%1e6
	before := o.constructed()
	name, args := c.sdkTool(o.script.Team, "load_skill", true)
	start, end := o.toolCall()
	o.answered(c)
	input, mime := args, "application/json"
	if only := c.onlyArgument(); only != "" { // a tool with one text parameter is given that text
		input, mime = raw(only), "text/plain"
	}
	span := Span{TraceID: o.trace, SpanID: id, ParentID: node, Name: name, Kind: 1, Start: start, End: end, Status: 1,
		Attributes: []KeyValue{str("openinference.span.kind", "TOOL"), str("input.value", string(input)), str("input.mime_type", mime)}}
	answer := o.constructor(o.history[len(o.history)-1])
	if c.Outcome == OK {
		span.Attributes = append(span.Attributes, str("output.value", string(jobj("output", answer))), str("output.mime_type", "application/json"))
	} else {
		_, text := c.sdkResult(o.script.Team)
		text += "\n\nError: " + text + "\n    at DynamicStructuredTool.func (file:///srv/app/tools.mjs:41:11)"
		span.Status, span.StatusMessage = 2, text
		span.Events = []SpanEvent{{Name: "exception", At: end - 1e5, Attributes: []KeyValue{str("exception.message", text)}}}
	}
	span.Attributes = append(span.Attributes, o.metadata("tools"), str("session.id", o.session), str("tool.name", name))
	o.spans = append(o.spans, span)
	o.chain(Span{SpanID: node, ParentID: o.root, Name: "tools", Start: nStart, End: o.now}, jobj("messages", before), jobj("messages", jarr(answer)), "tools")
}

func (c *Call) onlyArgument() string {
	switch c.Kind {
	case KindShell:
		return c.Cmd
	case KindRead:
		return c.Path
	case KindSkill:
		return c.Name
	}
	return ""
}

// message is one message in flattened attributes.
func (o *openInference) message(prefix string, m message) []KeyValue {
	kvs := []KeyValue{str(prefix+"role", m.role)}
	if text := o.text(m); text != "" {
		kvs = append(kvs, str(prefix+"content", text))
	}
	for i, c := range m.calls {
		name, args := c.sdkTool(o.script.Team, "load_skill", true)
		p := prefix + "tool_calls." + decimal(i) + ".tool_call.function."
		kvs = append(kvs, str(p+"name", name), str(p+"arguments", string(args)))
	}
	return kvs
}

func (o *openInference) text(m message) string {
	if m.role != "tool" {
		return m.text
	}
	value, text := m.answer.sdkResult(o.script.Team)
	switch {
	case m.answer.Outcome != OK:
		return "Error: " + text + "\n Please fix your mistakes."
	case value != "":
		return string(value)
	}
	return text
}

func (o *openInference) constructed() raw { return jarr(o.constructedList()...) }

func (o *openInference) constructedList() []raw {
	list := make([]raw, len(o.history))
	for i, m := range o.history {
		list[i] = o.constructor(m)
	}
	return list
}

// constructor is a message in LangChain's own serialisation.
func (o *openInference) constructor(m message) raw {
	switch m.role {
	case "user":
		return constructor("HumanMessage", "content", m.text, "additional_kwargs", raw("{}"), "response_metadata", raw("{}"))
	case "tool":
		status := "success"
		if m.answer.Outcome != OK {
			status = "error"
		}
		name, _ := m.answer.sdkTool(o.script.Team, "load_skill", true)
		return constructor("ToolMessage", "status", status, "content", o.text(m), "tool_call_id", m.answer.id, "name", name,
			"additional_kwargs", raw("{}"), "response_metadata", raw("{}"))
	}
	var calls []raw
	for _, c := range m.calls {
		name, args := c.sdkTool(o.script.Team, "load_skill", true)
		calls = append(calls, jobj("name", name, "args", args, "type", "tool_call", "id", c.id))
	}
	return constructor("AIMessage", "content", m.text, "additional_kwargs", raw("{}"), "response_metadata", jobj("model_name", openInferenceModel),
		"type", "ai", "tool_calls", jarr(calls...), "invalid_tool_calls", raw("[]"))
}

func constructor(class string, kwargs ...any) raw {
	return jobj("lc", raw("1"), "type", "constructor", "id", jarr(`"langchain_core"`, `"messages"`, jstr(class)), "kwargs", jobj(kwargs...))
}

func (o *openInference) chain(s Span, in, out raw, node string) {
	s.TraceID, s.Kind, s.Status = o.trace, 1, 1
	s.Attributes = append(append([]KeyValue{str("openinference.span.kind", "CHAIN")}, values(in, "application/json", out, "application/json")...),
		o.metadata(node), str("session.id", o.session))
	o.spans = append(o.spans, s)
}

func values(in raw, inMime string, out raw, outMime string) []KeyValue {
	return []KeyValue{str("input.value", string(in)), str("input.mime_type", inMime), str("output.value", string(out)), str("output.mime_type", outMime)}
}

func (o *openInference) metadata(node string) KeyValue {
	pairs := []any{"ls_integration", "langchain_create_agent", "lc_agent_name", o.script.Team.Agent, "session_id", o.session,
		"user_id", "user-17", "thread_id", o.session}
	if node != "" {
		pairs = append(pairs, "langgraph_step", raw(decimal(o.step)), "langgraph_node", node)
	}
	return str("metadata", string(jobj(pairs...)))
}
