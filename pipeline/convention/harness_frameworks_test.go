package convention

import (
	"testing"

	"github.com/tracejury/tracejury/pipeline/otlp"
)

func exception(kind, message string) []otlp.SpanEvent {
	return []otlp.SpanEvent{{Name: "exception", Attributes: attributesOf("exception.type", kind, "exception.message", message)}}
}

func TestGoogleADK(t *testing.T) {
	e := eventsOf(t, GoogleADK{}, spanOf("gcp.vertex.agent", "call_llm",
		"gcp.vertex.agent.llm_request", `{"contents":[{"role":"user","parts":[{"text":"Tidy up"}]},{"role":"model","parts":[{"functionCall":{"name":"load_skill","args":{"name":"x"}}}]},`+
			`{"role":"user","parts":[{"functionResponse":{"name":"load_skill","response":{"error":"Skill 'x' not found.","error_code":"SKILL_NOT_FOUND"}}}]}],"config":{"systemInstruction":"Be brief."}}`,
		"gcp.vertex.agent.llm_response", `{"content":{"role":"model","parts":[{"text":"Done."}]}}`, "gen_ai.usage.input_tokens", 3, "gen_ai.agent.name", "ops"))
	if p, m, s := single[*Prompt](t, e), single[*Message](t, e), single[*System](t, e); p.Text != "Tidy up" || m.Text != "Done." || m.Agent != "ops" || s.Text != "Be brief." {
		t.Errorf("prompt %+v, message %+v, system %+v", p, m, s)
	}
	if r := single[*ToolResult](t, e); r.Outcome != OutcomeRefused || r.Text != "Skill 'x' not found." {
		t.Errorf("answer %+v", r)
	}
	tool := func(response string) *ToolResult {
		return single[*ToolResult](t, eventsOf(t, GoogleADK{}, spanOf("gcp.vertex.agent", "execute_tool ls", "gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", "ls",
			"gen_ai.tool.call.id", "<not specified>", "gcp.vertex.agent.tool_call_args", `{"p":"."}`, "gcp.vertex.agent.tool_response", response)))
	}
	for response, want := range map[string]ToolResult{
		`{"result":"a"}`:                                 {Text: "a", Outcome: OutcomeOK},
		`{"error":"boom"}`:                               {Text: "boom", Outcome: OutcomeError},
		`{"files":["a"],"count":1}`:                      {Text: `{"files":["a"],"count":1}`, Outcome: OutcomeOK},
		`{"error":"x","error_code":"INVALID_ARGUMENTS"}`: {Text: "x", Outcome: OutcomeRefused},
	} {
		if r := tool(response); r.Text != want.Text || r.Outcome != want.Outcome || r.CallID != "" {
			t.Errorf("%s: %+v", response, r)
		}
	}
	if e := eventsOf(t, GoogleADK{}, spanOf("gcp.vertex.agent", "execute_tool ls")); len(e) != 0 {
		t.Errorf("a tool that threw has a span that tells nothing: %v", e)
	}
	closed := spanOf("gcp.vertex.agent", "call_llm", "gcp.vertex.agent.llm_request", "{}", "gcp.vertex.agent.llm_response", "{}")
	if c := (GoogleADK{}).Exports(closed); c != 0 {
		t.Errorf("exports %b", c)
	}
}

func TestVercelAI(t *testing.T) {
	e := eventsOf(t, VercelAI{}, spanOf("ai", "ai.generateText.doGenerate", "ai.operationId", "ai.generateText.doGenerate", "ai.telemetry.functionId", "ops",
		"ai.prompt.messages", `[{"role":"user","content":[{"type":"text","text":"Tidy up"}]},{"role":"tool","content":[{"type":"tool-result","toolCallId":"c0","toolName":"ls","output":{"type":"error-text","value":"boom"}}]}]`,
		"ai.response.text", "I will.", "ai.response.reasoning", "Hmm.", "ai.response.toolCalls", `[{"toolCallId":"c1","toolName":"ls","input":{"p":"."}}]`, "ai.response.id", "r1",
		"ai.usage.promptTokens", 9, "ai.usage.completionTokens", 4, "ai.usage.cachedInputTokens", 2,
		"ai.prompt.tools", otlp.ArrayValue([]otlp.Value{otlp.StringValue(`{"type":"function","name":"ls","description":"Lists","inputSchema":{}}`)})))
	if p, m, r := single[*Prompt](t, e), single[*Message](t, e), single[*Reasoning](t, e); p.Text != "Tidy up" || m.ResponseID != "r1" || m.Summary || r.Text != "Hmm." || m.Agent != "ops" {
		t.Errorf("prompt %+v, message %+v, reasoning %+v", p, m, r)
	}
	if c, a := single[*ToolCall](t, e), single[*ToolResult](t, e); c.CallID != "c1" || c.Arguments != `{"p":"."}` || a.Outcome != OutcomeError {
		t.Errorf("call %+v, answer %+v", c, a)
	}
	if u, d := single[*Usage](t, e), single[*ToolDefinition](t, e); *u.InputTokens != 9 || *u.OutputTokens != 4 || *u.CacheReadTokens != 2 || u.Total || d.Tool != "ls" {
		t.Errorf("usage %+v, definition %+v", u, d)
	}
	outer := eventsOf(t, VercelAI{}, spanOf("ai", "ai.generateText", "ai.operationId", "ai.generateText", "ai.prompt", `{"system":"Be brief.","prompt":"Tidy up"}`,
		"ai.response.text", "Done.", "ai.usage.inputTokens", 20))
	if p, u := single[*Prompt](t, outer), single[*Usage](t, outer); !p.Summary || !u.Total {
		t.Errorf("the outer span repeats: %+v, %+v", p, u)
	}
	failed := spanOf("ai", "ai.toolCall", "ai.operationId", "ai.toolCall", "ai.toolCall.id", "c1", "ai.toolCall.name", "rm", "ai.toolCall.args", `{"p":"."}`)
	failed.Row.Status, failed.Events = "error", exception("PermissionDeniedError", "The user rejected it")
	e = eventsOf(t, VercelAI{}, failed)
	if r, d := single[*ToolResult](t, e), single[*Denial](t, e); r.Outcome != OutcomeDenied || d.CallID != "c1" {
		t.Errorf("result %+v, denial %+v", r, d)
	}
}

func TestOpenCode(t *testing.T) {
	doStream := []any{"ai.operationId", "ai.streamText.doStream", "ai.response.text", "Ok", "ai.usage.outputTokens", 1}
	title := spanOf("opencode", "ai.streamText.doStream", append(doStream, "ai.prompt.messages", `[{"role":"system","content":"You are a title generator. You output ONLY a thread title."}]`)...)
	e := eventsOf(t, OpenCode{}, title)
	if len(only[*Message](e)) != 0 || len(only[*Usage](e)) != 1 {
		t.Errorf("the title is no part of the conversation: %v", e)
	}
	if m := single[*Message](t, eventsOf(t, OpenCode{}, spanOf("opencode", "ai.streamText.doStream", doStream...))); m.Text != "Ok" || m.Agent != "" {
		t.Errorf("message %+v", m)
	}
	if r := single[*ToolResult](t, eventsOf(t, OpenCode{}, spanOf("opencode", "ai.toolCall", "ai.operationId", "ai.toolCall", "ai.toolCall.name", "bash", "ai.toolCall.id", "c1",
		"ai.toolCall.result", `{"title":"ls","output":"a.txt","metadata":{"exit":0}}`))); r.Text != "a.txt" || r.Outcome != OutcomeOK {
		t.Errorf("result %+v", r)
	}
	if !(OpenCode{}).Internal(spanOf("opencode", "sql.execute")) || (OpenCode{}).Internal(title) {
		t.Error("only spans of the AI SDK are content")
	}
}

func TestMastra(t *testing.T) {
	e := eventsOf(t, Mastra{}, spanOf("@mastra/otel-exporter", "agent_step ops", "mastra.span.type", "model_step",
		"mastra.model_step.input", `[{"role":"system","content":"Be brief."},{"role":"user","content":[{"type":"text","text":"Tidy up"}]},{"role":"assistant","content":"I did.[tool: ls]"},{"role":"tool","content":"[tool-result: ls]"}]`,
		"mastra.model_step.output", `{"text":"Done.","reasoningText":"Hmm.","toolCalls":[{"toolCallId":"c1","toolName":"ls","args":{"p":"."}}]}`))
	if p, m, c := single[*Prompt](t, e), single[*Message](t, e), single[*ToolCall](t, e); p.Text != "Tidy up" || m.Text != "Done." || c.CallID != "c1" || len(only[*ToolResult](e)) != 0 {
		t.Errorf("prompt %+v, message %+v, call %+v", p, m, c)
	}
	run := eventsOf(t, Mastra{}, spanOf("@mastra/otel-exporter", "invoke_agent ops", "mastra.span.type", "agent_run", "gen_ai.agent.name", "ops",
		"mastra.agent_run.input", `[{"role":"user","content":"Tidy up"}]`, "mastra.agent_run.output", `{"text":"I did.Done."}`))
	if m := single[*Message](t, run); !m.Summary {
		t.Errorf("a run's text glues the texts of its steps together: %+v", m)
	}
	if len(only[*AgentStart](run)) != 1 || len(only[*AgentEnd](run)) != 1 {
		t.Errorf("bounds of the agent in %v", run)
	}
	if !(Mastra{}).Internal(spanOf("@mastra/otel-exporter", "model_chunk ops", "mastra.span.type", "model_chunk")) {
		t.Error("a chunk is content")
	}
}

func TestLangSmith(t *testing.T) {
	e := eventsOf(t, LangSmith{}, spanOf("langsmith", "ChatOpenAI", "langsmith.span.kind", "llm",
		"gen_ai.prompt", `{"model":"m","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Tidy up"}],"tools":[{"type":"function","function":{"name":"ls","parameters":{}}}]}`,
		"gen_ai.completion", `{"id":"r1","choices":[{"message":{"role":"assistant","content":"I will.","tool_calls":[{"id":"c1","type":"function","function":{"name":"ls","arguments":"{\"p\":\".\"}"}}]}}]}`,
		"gen_ai.usage.input_tokens", 9))
	if p, m, c := single[*Prompt](t, e), single[*Message](t, e), single[*ToolCall](t, e); p.Text != "Tidy up" || m.ResponseID != "r1" || c.Arguments != `{"p":"."}` {
		t.Errorf("prompt %+v, message %+v, call %+v", p, m, c)
	}
	if d, s := single[*ToolDefinition](t, e), single[*System](t, e); d.Tool != "ls" || s.Text != "Be brief." {
		t.Errorf("definition %+v, system %+v", d, s)
	}
	tool := spanOf("langsmith", "load_skill", "langsmith.span.kind", "tool", "gen_ai.tool.name", "load_skill", "gen_ai.prompt", `{"skill_name":"x"}`)
	tool.Row.Status, tool.Events = "ok", exception("Error", `Skill "x" not found. Available skills: a`)
	if r := single[*ToolResult](t, eventsOf(t, LangSmith{}, tool)); r.Outcome != OutcomeRefused || r.Text == "" {
		t.Errorf("the exception is believed, not the status: %+v", r)
	}
	done := spanOf("langsmith", "ls", "langsmith.span.kind", "tool", "gen_ai.tool.name", "ls", "gen_ai.prompt", `{"p":"."}`, "gen_ai.completion", `{"outputs":"a.txt"}`)
	done.Row.Status = "ok"
	if r := single[*ToolResult](t, eventsOf(t, LangSmith{}, done)); r.Text != "a.txt" || r.Outcome != OutcomeOK {
		t.Errorf("result %+v", r)
	}
}

func TestTraceloop(t *testing.T) {
	e := eventsOf(t, Traceloop{}, spanOf("opentelemetry.instrumentation.openai", "openai.chat",
		"gen_ai.prompt.0.role", "system", "gen_ai.prompt.0.content", "Be brief.", "gen_ai.prompt.1.role", "user", "gen_ai.prompt.1.content", "Tidy up",
		"gen_ai.prompt.3.role", "tool", "gen_ai.prompt.3.content", "a.txt", "gen_ai.prompt.3.tool_call_id", "c0",
		"gen_ai.completion.0.role", "assistant", "gen_ai.completion.0.content", "I will.", "gen_ai.completion.0.tool_calls.0.id", "c1",
		"gen_ai.completion.0.tool_calls.0.name", "ls", "gen_ai.completion.0.tool_calls.0.arguments", `{"p":"."}`, "gen_ai.usage.prompt_tokens", 9))
	if p, m, c, r := single[*Prompt](t, e), single[*Message](t, e), single[*ToolCall](t, e), single[*ToolResult](t, e); p.Text != "Tidy up" || m.Text != "I will." ||
		c.CallID != "c1" || c.Arguments != `{"p":"."}` || r.CallID != "c0" || r.Text != "a.txt" {
		t.Errorf("prompt %+v, message %+v, call %+v, answer %+v", p, m, c, r)
	}
	if u := single[*Usage](t, e); *u.InputTokens != 9 {
		t.Errorf("usage %+v", u)
	}
	twice := eventsOf(t, Traceloop{}, spanOf("@traceloop/instrumentation-langchain", "chat m", "gen_ai.operation.name", "chat",
		"gen_ai.input.messages", `[{"role":"system","parts":[{"type":"text","content":"[{\"type\":\"text\",\"text\":\"Be brief.\"}]"}]}]`))
	if s := single[*System](t, twice); s.Text != "Be brief." {
		t.Errorf("system %+v", s)
	}
	tool := eventsOf(t, Traceloop{}, spanOf("@traceloop/instrumentation-langchain", "execute_tool DynamicStructuredTool", "gen_ai.operation.name", "execute_tool", "traceloop.span.kind", "task",
		"traceloop.entity.name", "DynamicStructuredTool", "traceloop.entity.input", `{"args":["{\"p\":\".\"}"]}`,
		"traceloop.entity.output", `{"lc":1,"type":"constructor","id":["langchain_core","messages","ToolMessage"],"kwargs":{"status":"success","content":"a.txt","tool_call_id":"c1","name":"ls"}}`))
	if c, r := single[*ToolCall](t, tool), single[*ToolResult](t, tool); c.Tool != "ls" || c.CallID != "c1" || c.Arguments != `{"p":"."}` || r.Text != "a.txt" || r.Outcome != OutcomeOK {
		t.Errorf("call %+v, result %+v", c, r)
	}
	mcp := eventsOf(t, Traceloop{}, spanOf("@traceloop/instrumentation-mcp", "get_invoice.tool", "traceloop.span.kind", "tool", "traceloop.entity.name", "get_invoice",
		"traceloop.entity.input", `{"tool_name":"get_invoice","arguments":{"n":7}}`, "traceloop.entity.output", `{"result":"no such invoice","is_error":true}`))
	if c, r := single[*ToolCall](t, mcp), single[*ToolResult](t, mcp); c.Arguments != `{"n":7}` || r.Text != "no such invoice" || r.Outcome != OutcomeError {
		t.Errorf("call %+v, result %+v", c, r)
	}
	list := eventsOf(t, Traceloop{}, spanOf("@traceloop/instrumentation-mcp", "tools/list.mcp", "traceloop.entity.output", `{"tools":[{"name":"pay","description":"Pays."}]}`))
	if d := single[*ToolDefinition](t, list); d.Tool != "pay" || d.Description != "Pays." {
		t.Errorf("definition %+v", d)
	}
}

func TestCopilot(t *testing.T) {
	chat := spanOf("github.copilot", "chat m", "gen_ai.operation.name", "chat", "gen_ai.input.messages", `[{"role":"user","parts":[{"type":"text","content":"Tidy up"}]}]`,
		"github.copilot.context.skills", `["tidy"]`)
	e := eventsOf(t, Copilot{}, chat)
	if p, c := single[*Prompt](t, e), single[*Catalogue](t, e); !p.Delta || c.Skills[0].Name != "tidy" || !c.Summary {
		t.Errorf("prompt %+v, catalogue %+v", p, c)
	}
	tool := func(status, message string, attributes ...any) *Record {
		r := spanOf("github.copilot", "execute_tool skill tidy", append(attributes, "gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", "skill", "gen_ai.tool.call.id", "c1")...)
		r.Row.Status, r.Row.StatusMessage = status, message
		return r
	}
	loaded := tool("ok", "", "gen_ai.skill.name", "tidy")
	loaded.Events = []otlp.SpanEvent{{Name: "github.copilot.skill.invoked", TimeUnixNano: 3_000, Attributes: attributesOf("github.copilot.skill.content", "# Tidy")}}
	bodies := 0
	for _, l := range only[*SkillLoad](eventsOf(t, Copilot{}, loaded)) {
		if l.Skill != "tidy" || l.CallID != "c1" || l.Outcome != "loaded" {
			t.Errorf("load %+v", l)
		}
		if l.Body == "# Tidy" {
			bodies++
		}
	}
	if bodies != 1 {
		t.Errorf("%d bodies", bodies)
	}
	if r := single[*ToolResult](t, eventsOf(t, Copilot{}, tool("error", "Skill not found: tidy"))); r.Outcome != OutcomeRefused {
		t.Errorf("refused %+v", r)
	}
	e = eventsOf(t, Copilot{}, tool("error", "Permission to run this tool was denied due to the following rules: `shell(rm)`", "error.type", "denied"))
	if r, d := single[*ToolResult](t, e), single[*Denial](t, e); r.Outcome != OutcomeDenied || d.CallID != "c1" {
		t.Errorf("denied %+v, %+v", r, d)
	}
}
