package otlpgen

import (
	"strings"
	"time"
)

const (
	claudeModel   = "claude-demo-1"
	withheldSkill = "custom_skill" // what the client says when it may not name a skill
)

// claude renders Claude Code: log events for everything, and spans below one interaction a prompt when the content
// flags are on. service.name is what a collector's resource processor set: the client itself always says claude-code.
type claude struct {
	*run
	resource *Resource
	user     string
	sequence int64
	prompt   string // prompt.id
	root     SpanID
	agent    string // id of the sub-agent at work; "" the main one
	skill    string // skill active since
	spans    []Span
	logs     []Log
	total    usage
	started  int64
}

func renderClaudeCode(r *run) []chunk {
	c := &claude{run: r, user: r.hex(64), resource: resource(
		str("team", r.script.Service),
		str("deployment.environment.name", "demo"),
		str("host.arch", "amd64"),
		str("os.type", "linux"),
		str("service.name", r.script.Service),
		str("service.version", "2.1.332"),
	)}
	c.started = r.now
	c.log("managed_settings_resolved", SpanID{}, str("managed_settings.trigger", "startup"), list("managed_settings.sources"),
		str("managed_settings.source_behavior", "first-wins"))
	r.now += int64(150 * time.Millisecond)

	var chunks []chunk
	r.turns(func(i int, t *Turn) {
		c.turn(i, t)
		groups := []Group{{Resource: c.resource, Scope: Scope{"com.anthropic.claude_code.events", "2.1.332"}, Logs: c.logs}}
		if !r.script.ContentOff { // spans are the enhanced telemetry, which goes with the content flags here
			groups = append(groups, Group{Resource: c.resource, Scope: Scope{"com.anthropic.claude_code.tracing", "1.0.0"}, Spans: c.spans})
		}
		groups = append(groups, Group{Resource: c.resource, Scope: Scope{"com.anthropic.claude_code", "2.1.332"}, Metrics: c.metrics()})
		chunks = append(chunks, chunk{script: r.script, at: r.now, groups: groups})
		c.logs, c.spans = nil, nil
	})
	return chunks
}

func (c *claude) turn(i int, t *Turn) {
	c.prompt, c.root = c.uuid(), c.spanID()
	start, _ := c.pass(40*time.Millisecond, 90*time.Millisecond)
	text := c.content(t.Prompt)
	kvs := []KeyValue{str("prompt.id", c.prompt), str("prompt_length", decimal(int(chars(t.Prompt)))), str("prompt", text)}
	if !c.script.ContentOff {
		kvs = append(kvs, str("prompt_text", text))
	}
	c.log("user_prompt", c.root, append(kvs, str("message.uuid", c.uuid()))...)
	c.steps(t.Steps, c.root)
	if c.script.Unfinished && i == len(c.script.Turns)-1 {
		return // the interaction span is exported when the turn ends
	}
	c.span(Span{SpanID: c.root, Name: "claude_code.interaction", Start: start, End: c.now}, "interaction",
		str("gen_ai.operation.name", "invoke_agent"), str("gen_ai.conversation.id", c.session), str("user_prompt", text),
		num("user_prompt_length", chars(t.Prompt)), num("interaction.sequence", int64(i+1)), str("parent.source", "none"),
		num("interaction.duration_ms", (c.now-start)/1e6))
}

func (c *claude) steps(steps []Step, parent SpanID) {
	for i := range steps {
		s := &steps[i]
		u := c.usage(s)
		request := c.token("req_", 24)
		c.modelCallSpan(s, u, request, parent)
		for _, call := range c.ask(s, "toolu_01", 22) {
			c.call(call, request, parent)
			c.answered(call)
		}
	}
}

func (c *claude) modelCallSpan(s *Step, u usage, request string, parent SpanID) {
	start, end := c.modelCall()
	c.total.add(u)
	stop := "end_turn"
	if len(s.Calls) > 0 {
		stop = "tool_use"
	}
	source := "sdk"
	if c.agent != "" {
		source = "agent:builtin:general-purpose"
	}
	fresh, write := u.in-u.cached-u.in/10, u.in/10
	ms := (end - start) / 1e6
	c.span(Span{SpanID: c.spanID(), ParentID: parent, Name: "claude_code.llm_request", Start: start, End: end, Events: []SpanEvent{
		{Name: "gen_ai.request.attempt", At: start + 9e6, Attributes: []KeyValue{num("attempt", 1)}},
	}}, "llm_request",
		str("model", claudeModel), str("gen_ai.system", "anthropic"), str("gen_ai.request.model", claudeModel),
		str("gen_ai.operation.name", "chat"), str("llm_request.context", "interaction"), str("speed", "normal"),
		str("gen_ai.conversation.id", c.conversation()), str("query_source_safe", source), num("duration_ms", ms),
		num("input_tokens", fresh), num("output_tokens", u.out), num("cache_read_tokens", u.cached), num("cache_creation_tokens", write),
		yes("success", true), num("attempt", 1), str("request_id", request), str("gen_ai.response.id", request),
		num("ttft_ms", ms/4), str("stop_reason", stop), list("gen_ai.response.finish_reasons", stop),
		num("gen_ai.usage.input_tokens", u.in), num("gen_ai.usage.output_tokens", u.out),
		num("gen_ai.usage.cache_read.input_tokens", u.cached), num("gen_ai.usage.cache_write.input_tokens", write),
		str("gen_ai.response.model", claudeModel))

	micros := u.cost()
	kvs := []KeyValue{str("prompt.id", c.prompt), str("model", claudeModel),
		num("input_tokens", fresh), num("output_tokens", u.out), num("cache_read_tokens", u.cached), num("cache_creation_tokens", write),
		num("cache_creation_5m_tokens", 0), num("cache_creation_1h_tokens", 0),
		dbl("cost_usd", float64(micros)/1e6), num("cost_usd_micros", micros), num("duration_ms", ms), num("ttft_ms", ms/4),
		str("request_id", request), str("speed", "normal"), str("query_source", source)}
	if c.skill != "" {
		kvs = append(kvs, str("skill.name", c.skillName(c.skill)))
	}
	c.log("api_request", parent, kvs...)
	if s.Say != "" {
		c.log("assistant_response", parent, str("prompt.id", c.prompt), num("response_length", chars(s.Say)),
			str("response", c.content(s.Say)), str("request_id", request), str("message.uuid", c.uuid()),
			str("model", claudeModel), str("query_source", source))
	}
}

// cost is in millionths of a dollar, at 3 dollars a million tokens in and 15 out.
func (u usage) cost() int64 { return 3*u.in + 15*u.out }

func (c *claude) call(a asked, request string, parent SpanID) {
	tool, wait, start := c.spanID(), c.spanID(), c.now-c.now%1e6
	name, input, params := c.names(a.Call)
	kvs := []KeyValue{str("tool_name", name), str("tool_name_safe", name), str("gen_ai.operation.name", "execute_tool"),
		str("gen_ai.tool.name", name), str("gen_ai.conversation.id", c.conversation())}
	if a.Kind == KindMCP {
		kvs[1] = str("tool_name_safe", "mcp_other")
	}
	var output []KeyValue
	switch a.Kind {
	case KindShell:
		argv0, _, _ := strings.Cut(a.Cmd, " ")
		kvs = append(kvs, str("full_command", a.Cmd), str("bash_argv0", argv0))
		output = []KeyValue{str("bash_command", a.Cmd), str("output", c.shellOutput(a.Call))}
	case KindRead, KindWrite:
		text := a.Result
		if a.Kind == KindWrite && a.Outcome == OK {
			text = a.Content
		}
		kvs = append(kvs, str("file_path", a.Path))
		output = []KeyValue{str("file_path", a.Path), str("content", text)}
	case KindSkill:
		kvs = append(kvs, str("skill_name", a.Name))
	default:
		output = []KeyValue{str("output", a.Result)}
	}
	kvs = append(kvs, str("tool_use_id", a.id), str("gen_ai.tool.call.id", a.id))

	decision := "accept"
	if a.Outcome == Denied {
		decision = "reject"
	}
	wStart, wEnd := c.pass(4*time.Millisecond, 20*time.Millisecond)
	c.span(Span{SpanID: wait, ParentID: tool, Name: "claude_code.tool.blocked_on_user", Start: wStart, End: wEnd}, "tool.blocked_on_user",
		str("gen_ai.conversation.id", c.conversation()), num("duration_ms", (wEnd-wStart)/1e6), str("decision", decision), str("source", "config"))
	logName := name
	source := "builtin"
	if a.Kind == KindMCP {
		logName, source = "mcp_tool", "mcp"
	}
	said := []KeyValue{str("prompt.id", c.prompt), str("decision", decision), str("source", "config"), str("tool_name", logName),
		str("tool_use_id", a.id), str("tool_source", source)}
	if params != "" && !c.script.ContentOff {
		said = append(said, str("tool_parameters", string(params)))
	}
	c.log("tool_decision", wait, append(said, str("permission_mode", "default"), str("request_id", request))...)
	if a.Outcome == Denied { // no execution, no result, and the tool span has no error
		c.span(Span{SpanID: tool, ParentID: parent, Name: "claude_code.tool", Start: start, End: c.now}, "tool",
			append(kvs, num("duration_ms", (c.now-start)/1e6))...)
		return
	}

	failed := a.Outcome == Error || a.Exit != 0
	exec := c.spanID()
	var eStart, eEnd int64
	if a.Kind == KindAgent {
		eStart = c.now - c.now%1e6
		c.subagent(a, tool)
		eEnd = c.now
	} else {
		eStart, eEnd = c.toolCall()
	}
	done := []KeyValue{str("gen_ai.conversation.id", c.conversation()), str("tool_use_id", a.id), str("gen_ai.tool.call.id", a.id),
		num("duration_ms", (eEnd-eStart)/1e6), yes("success", !failed)}
	if failed {
		done = append(done, str("error", c.shellOutput(a.Call)))
	}
	c.span(Span{SpanID: exec, ParentID: tool, Name: "claude_code.tool.execution", Start: eStart, End: eEnd}, "tool.execution", done...)
	if a.Kind == KindSkill {
		c.skill = a.Name
		c.log("skill_activated", exec, str("prompt.id", c.prompt), str("skill.name", c.skillName(a.Name)),
			str("invocation_trigger", "claude-proactive"), str("skill.source", "projectSettings"))
	}
	t := Span{SpanID: tool, ParentID: parent, Name: "claude_code.tool", Start: start, End: eEnd}
	if output != nil {
		t.Events = []SpanEvent{{Name: "tool.output", At: eEnd - 1e5, Attributes: output}}
	}
	c.span(t, "tool", append(kvs, num("duration_ms", (eEnd-start)/1e6))...)

	result := []KeyValue{str("prompt.id", c.prompt), str("tool_name", logName), str("tool_use_id", a.id), str("success", "true"),
		str("duration_ms", decimal(int((eEnd-eStart)/1e6)))}
	if failed {
		result[3] = str("success", "false")
		result = append(result, str("error_type", "ToolError"))
		if !c.script.ContentOff {
			result = append(result, str("error", c.shellOutput(a.Call)))
		}
	}
	if !c.script.ContentOff {
		if params != "" {
			result = append(result, str("tool_parameters", string(params)))
		}
		result = append(result, str("tool_input", string(input)))
	}
	c.log("tool_result", parent, append(result, str("tool_input_size_bytes", decimal(len(input))),
		str("tool_result_size_bytes", decimal(len(a.Result))), str("request_id", request))...)
}

// subagent lets a sub-agent work inside the execution of the tool that started it.
func (c *claude) subagent(a asked, parent SpanID) {
	history := c.history
	c.history = []message{{role: "user", text: a.Prompt}}
	c.agent = "a" + c.hex(16)
	c.steps(a.Steps, parent)
	c.log("subagent_completed", parent, str("prompt.id", c.prompt), str("agent_type", "general-purpose"))
	c.agent, c.history = "", history
}

// shellOutput is the text that the model is shown, with the exit code when it is not 0.
func (c *claude) shellOutput(call *Call) string {
	if call.Exit != 0 {
		return "Exit code " + decimal(call.Exit) + "\n" + call.Result
	}
	return call.Result
}

// names are the tool's name, its input and, where it has any, the parameters that the logs single out.
func (c *claude) names(call *Call) (name string, input, params raw) {
	switch call.Kind {
	case KindShell:
		argv0, _, _ := strings.Cut(call.Cmd, " ")
		return "Bash", jobj("command", call.Cmd), jobj("bash_command", argv0, "full_command", call.Cmd)
	case KindRead:
		return "Read", jobj("file_path", call.Path), ""
	case KindWrite:
		return "Write", jobj("file_path", call.Path, "content", call.Content), ""
	case KindSkill:
		return "Skill", jobj("skill", call.Name), jobj("skill_name", call.Name)
	case KindAgent:
		return "Agent", jobj("description", call.Name, "prompt", call.Prompt, "subagent_type", "general-purpose"), ""
	}
	server := c.script.Team.Server
	return "mcp__" + server + "__" + call.Name, call.Input, jobj("mcp_server_name", server, "mcp_tool_name", call.Name)
}

// content withholds text when the flags are off.
func (c *claude) content(text string) string {
	if c.script.ContentOff {
		return "<REDACTED>"
	}
	return text
}

// skillName is withheld with the content: only that some skill ran is told.
func (c *claude) skillName(name string) string {
	if c.script.ContentOff {
		return withheldSkill
	}
	return name
}

// conversation is the session, but a sub-agent's spans carry the agent's own id here.
func (c *claude) conversation() string {
	if c.agent != "" {
		return c.agent
	}
	return c.session
}

func (c *claude) common() []KeyValue {
	kvs := []KeyValue{str("team", c.script.Service), str("deployment.environment.name", "demo"), str("user.id", c.user),
		str("session.id", c.session), str("anthropic.provider", "firstParty"), str("terminal.type", "dumb")}
	if c.agent != "" {
		kvs = append(kvs, str("agent_id", c.agent))
	}
	return kvs
}

func (c *claude) span(s Span, kind string, kvs ...KeyValue) {
	s.TraceID, s.Kind = c.trace, 1
	s.Attributes = append(append(c.common(), str("gen_ai.provider.name", "anthropic"), str("span.type", kind)), kvs...)
	c.spans = append(c.spans, s)
}

func (c *claude) log(event string, span SpanID, kvs ...KeyValue) {
	at := c.now - c.now%1e6
	l := Log{At: at, Body: StringValue("claude_code." + event), SpanID: span}
	if span != (SpanID{}) {
		l.TraceID = c.trace
	}
	l.Attributes = append(append(c.common(), str("event.name", event), str("event.timestamp", stamp(at)), num("event.sequence", c.sequence)), kvs...)
	c.sequence++
	c.logs = append(c.logs, l)
}

func (c *claude) metrics() []Metric {
	point := func(v float64, kvs ...KeyValue) Point {
		return Point{Start: c.started, At: c.now, Value: v, Attributes: append(c.common(), kvs...)}
	}
	u := c.total
	c.total = usage{}
	return []Metric{
		{Name: "claude_code.cost.usage", Description: "Cost of the Claude Code session", Unit: "USD",
			Points: []Point{point(float64(u.cost())/1e6, str("model", claudeModel))}},
		{Name: "claude_code.token.usage", Description: "Number of tokens used", Unit: "tokens", Points: []Point{
			point(float64(u.in-u.cached-u.in/10), str("model", claudeModel), str("type", "input")),
			point(float64(u.out), str("model", claudeModel), str("type", "output")),
			point(float64(u.cached), str("model", claudeModel), str("type", "cacheRead")),
		}},
	}
}
