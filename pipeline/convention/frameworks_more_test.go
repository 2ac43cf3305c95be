package convention

import (
	"testing"

	"github.com/tracejury/tracejury/pipeline/otlp"
)

// The fixtures of this file are written by hand after the documentation of each framework: no capture of them exists here.

func TestClaudeAgentSDK(t *testing.T) {
	const scope = "@arizeai/openinference-instrumentation-claude-agent-sdk"
	query := spanOf(scope, "ClaudeAgent.query", "openinference.span.kind", "AGENT", "input.value", "Tidy up", "output.value", "Done.",
		"session.id", "s1", "llm.token_count.prompt", 12, "llm.token_count.completion", 3, "llm.cost.total", 0.25)
	e := eventsOf(t, ClaudeAgentSDK{}, query)
	if p := single[*Prompt](t, e); p.Text != "Tidy up" || !p.Summary {
		t.Errorf("prompt %+v", p)
	}
	if m := single[*Message](t, e); m.Text != "Done." {
		t.Errorf("answer %+v", m)
	}
	if u := single[*Usage](t, e); !u.Total || *u.InputTokens != 12 || *u.CostMicroUSD != 250_000 {
		t.Errorf("usage %+v", u)
	}
	skill := spanOf(scope, "Skill", "openinference.span.kind", "TOOL", "tool.name", "Skill", "tool.parameters", `{"skill":"tidy"}`, "output.value", `{"success":true,"commandName":"tidy"}`)
	if c := single[*ToolCall](t, eventsOf(t, ClaudeAgentSDK{}, skill)); c.Tool != "Skill" || c.Arguments != `{"skill":"tidy"}` {
		t.Errorf("call %+v", c)
	}
	denied := spanOf(scope, "Bash", "openinference.span.kind", "TOOL", "tool.name", "Bash", "input.value", `{"command":"rm x"}`)
	denied.Row.Status, denied.Row.StatusMessage = "error", "Abandoned"
	if r := single[*ToolResult](t, eventsOf(t, ClaudeAgentSDK{}, denied)); r.Outcome != OutcomeNotExecuted {
		t.Errorf("abandoned call ended %s", r.Outcome)
	}
	if c := (ClaudeAgentSDK{}).Exports(skill); c&ContentSkillBody != 0 || c&ContentOffersSkills == 0 {
		t.Errorf("exports %b", c)
	}
}

func openHandsLog(body string) *Record {
	r := logOf("openhands.sdk", "event")
	r.Body = otlp.StringValue(body)
	return r
}

func TestOpenHands(t *testing.T) {
	c := OpenHands{}
	if p := single[*Prompt](t, eventsOf(t, c, openHandsLog(`{"kind":"MessageEvent","source":"user","llm_message":{"role":"user","content":[{"type":"text","text":"Sort the log"}]}}`))); p.Text != "Sort the log" {
		t.Errorf("prompt %+v", p)
	}
	e := eventsOf(t, c, openHandsLog(`{"kind":"ActionEvent","tool_name":"invoke_skill","tool_call_id":"k2","llm_response_id":"r1","thought":[{"type":"text","text":"A skill fits."}],"action":{"kind":"InvokeSkillAction","name":"log-triage"}}`))
	if k := single[*ToolCall](t, e); k.Tool != "invoke_skill" || k.CallID != "k2" || k.Arguments != `{"name":"log-triage"}` {
		t.Errorf("call %+v", k)
	}
	if m := single[*Message](t, e); m.Text != "A skill fits." || m.ResponseID != "r1" {
		t.Errorf("thought %+v", m)
	}
	for body, want := range map[string]Outcome{
		`{"kind":"ObservationEvent","tool_name":"invoke_skill","tool_call_id":"k2","observation":{"kind":"InvokeSkillObservation","skill_name":"log-triage","is_error":false,"content":[{"type":"text","text":"1. Sort."}]}}`: OutcomeOK,
		`{"kind":"InvokeSkillObservation","tool_call_id":"k3","skill_name":"x","is_error":true,"content":[{"type":"text","text":"Unknown skill 'x'. Available skills: log-triage"}]}`:                                         OutcomeError,
		`{"kind":"AgentErrorEvent","tool_name":"terminal","tool_call_id":"k4","error":"no such tool"}`:                                                                                                                        OutcomeError,
	} {
		if r := single[*ToolResult](t, eventsOf(t, c, openHandsLog(body))); r.Outcome != want || r.Text == "" {
			t.Errorf("%s: %s %q", body, r.Outcome, r.Text)
		}
	}
	if d := single[*Denial](t, eventsOf(t, c, openHandsLog(`{"kind":"UserRejectObservation","tool_name":"terminal","tool_call_id":"k5","rejection_reason":"no"}`))); d.By != "user" || d.CallID != "k5" {
		t.Errorf("denial %+v", d)
	}
	if s := single[*System](t, eventsOf(t, c, openHandsLog(`{"kind":"SystemPromptEvent","system_prompt":{"type":"text","text":"<SKILLS><available_skills><skill><name>log-triage</name></skill></available_skills></SKILLS>"}}`))); s.Text == "" {
		t.Error("no system prompt")
	}
	if c.Match(openHandsLog(`{"kind":"Other"}`)) || c.Match(openHandsLog(`text with "kind"`)) {
		t.Error("matches what is not its own")
	}
}

func TestPydanticAI(t *testing.T) {
	c := PydanticAI{}
	old := spanOf("pydantic-ai", "chat m", "gen_ai.operation.name", "chat", "gen_ai.usage.input_tokens", 5, "gen_ai.usage.output_tokens", 2,
		"events", `[{"event.name":"gen_ai.system.message","role":"system","content":"Be kind"},{"event.name":"gen_ai.user.message","role":"user","content":"Hi"},
		{"event.name":"gen_ai.assistant.message","role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{}"}}]},
		{"event.name":"gen_ai.tool.message","role":"tool","id":"c1","name":"look","content":"seen"},
		{"event.name":"gen_ai.choice","index":0,"message":{"role":"assistant","content":"Hello"}}]`,
		"model_request_parameters", `{"function_tools":[{"name":"look","description":"Looks.","parameters_json_schema":{"type":"object"}}]}`)
	e := eventsOf(t, c, old)
	if single[*Prompt](t, e).Text != "Hi" || single[*System](t, e).Text != "Be kind" || single[*Message](t, e).Text != "Hello" {
		t.Errorf("events %v", e)
	}
	if r := single[*ToolResult](t, e); r.CallID != "c1" || r.Text != "seen" {
		t.Errorf("result %+v", r)
	}
	if d := single[*ToolDefinition](t, e); d.Tool != "look" || d.InputSchema != `{"type":"object"}` {
		t.Errorf("definition %+v", d)
	}
	run := spanOf("pydantic-ai", "helper run", "agent_name", "helper", "final_result", "Hello", "pydantic_ai.all_messages",
		`[{"role":"user","parts":[{"type":"text","content":"Hi"}]}]`, "gen_ai.usage.input_tokens", 5)
	e = eventsOf(t, c, run)
	if u := single[*Usage](t, e); !u.Total {
		t.Error("an agent's sum is no total")
	}
	if m := single[*Message](t, e); m.Agent != "helper" || !m.Summary {
		t.Errorf("final result %+v", m)
	}
	deferred := spanOf("pydantic-ai", "running tool: pay", "gen_ai.tool.name", "pay", "tool_arguments", `{"n":1}`, "pydantic_ai.tool.deferral.name", "ApprovalRequired")
	if r := single[*ToolResult](t, eventsOf(t, c, deferred)); r.Outcome != OutcomeNotExecuted {
		t.Errorf("deferred call ended %s", r.Outcome)
	}
}

func TestMicrosoft(t *testing.T) {
	chat := spanOf("Experimental.Microsoft.Extensions.AI", "chat gpt", "gen_ai.operation.name", "chat", "gen_ai.input.messages",
		`[{"role":"user","parts":[{"type":"text","content":"Hi"}]}]`, "gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"text","content":"Hello"}]}]`,
		"gen_ai.tool.definitions", `[{"type":"function","name":"mcp__ledger__pay","description":"Pays.","parameters":{}}]`)
	e := eventsOf(t, Microsoft{}, chat)
	if single[*Prompt](t, e).Text != "Hi" || single[*Identity](t, e).Harness != microsoft {
		t.Errorf("events %v", e)
	}
	if d := single[*ToolDefinition](t, e); d.Server != "ledger" || d.Tool != "pay" {
		t.Errorf("definition %+v", d)
	}
	if (Microsoft{}).Match(spanOf("Experimental.Microsoft.Extensions.AI", "GET")) {
		t.Error("matches a span without a word of GenAI")
	}
}

func TestLangfuse(t *testing.T) {
	c := Langfuse{}
	g := spanOf("langfuse-sdk", "answer", "langfuse.observation.type", "generation", "langfuse.observation.input",
		`[{"role":"system","content":"Be kind"},{"role":"user","content":"Hi"},{"role":"get_weather","content":"sunny"}]`, "langfuse.observation.output", "Hello",
		"langfuse.observation.model.name", "m", "langfuse.observation.usage_details", `{"input":10,"output":2,"input_cached_tokens":4}`,
		"langfuse.observation.cost_details", `{"total":0.001}`)
	e := eventsOf(t, c, g)
	if single[*Prompt](t, e).Text != "Hi" || single[*Message](t, e).Text != "Hello" || single[*ToolResult](t, e).Tool != "get_weather" {
		t.Errorf("events %v", e)
	}
	if u := single[*Usage](t, e); *u.InputTokens != 10 || *u.CacheReadTokens != 4 || *u.CostMicroUSD != 1000 || u.Model != "m" {
		t.Errorf("usage %+v", u)
	}
	tool := spanOf("langfuse-sdk", "pay", "langfuse.observation.type", "tool", "langfuse.observation.input", `{"n":1}`, "langfuse.observation.level", "ERROR", "langfuse.observation.status_message", "broke")
	if r := single[*ToolResult](t, eventsOf(t, c, tool)); r.Outcome != OutcomeError || r.Text != "broke" {
		t.Errorf("result %+v", r)
	}
}

// TestSkillAttributes reads genai 0.1: loading a skill is one, reading its files and running its scripts is none.
func TestSkillAttributes(t *testing.T) {
	tool := func(extra ...any) []Event {
		return eventsOf(t, OTelGenAI{}, spanOf("x", "execute_tool load_skill", append([]any{"gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", "load",
			"gen_ai.skill.name", "tidy", "gen_ai.skill.source.uri", "file:///s/tidy/SKILL.md"}, extra...)...))
	}
	if l := single[*SkillLoad](t, tool("gen_ai.skill.description", "Tidies.")); l.Skill != "tidy" || l.Via != ViaAttribute || l.Outcome != "loaded" || l.Description != "Tidies." {
		t.Errorf("load %+v", l)
	}
	if l := only[*SkillLoad](tool("gen_ai.skill.resource.name", "notes.md")); len(l) != 0 {
		t.Errorf("reading a resource is a load: %+v", l)
	}
	if l := only[*SkillLoad](tool("process.executable.name", "sh", "process.exit.code", 1)); len(l) != 0 {
		t.Errorf("running a script is a load: %+v", l)
	}
	if l := single[*SkillLoad](t, tool("error.type", "skill_not_found")); l.Outcome != "refused" {
		t.Errorf("refused load %+v", l)
	}
}

func TestPrintedToolCall(t *testing.T) {
	c, ok := responseItem(`ResponseFunctionToolCall(arguments='{"a":42,"s":"it\'s"}', call_id='call_1', name='multiply', type='function_call', id='fc_1', status='completed')`)
	if !ok || c.id != "call_1" || c.name != "multiply" || c.args != `{"a":42,"s":"it's"}` {
		t.Errorf("%+v %t", c, ok)
	}
	for _, s := range []string{"", "ResponseFunctionToolCall(", "ResponseFunctionToolCall()", "Say ResponseFunctionToolCall(name='x')"} {
		if _, ok := responseItem(s); ok {
			t.Errorf("%q is read as a call", s)
		}
	}
}

func TestUnused(t *testing.T) {
	r := spanOf("x", "chat m", "gen_ai.operation.name", "chat", "gen_ai.input.messages", `[{"role":"user","content":"Hi"}]`, "server.port", 443, "gen_ai.usage.input_tokens", 3)
	r.Events = []otlp.SpanEvent{{Name: "note"}}
	names, ok := Unused(r)
	if !ok || len(names) != 2 || names[0] != "server.port" || names[1] != "event note" {
		t.Errorf("unused %q %t", names, ok)
	}
}
