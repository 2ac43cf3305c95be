package convention

import (
	"strings"
	"testing"
)

func TestQwenModelSpan(t *testing.T) {
	e := eventsOf(t, QwenCode{}, spanOf("qwen-code", "qwen-code.llm_request",
		"gen_ai.input.messages", `[{"role":"user","parts":[{"type":"text","content":"<system-reminder>\n<available_skills>\n<skill>\n<name>\ntidy\n</name>\n<description>\nSorts\n</description>\n</skill>\n</available_skills>\n</system-reminder>"},{"type":"text","content":"Tidy up"}]}]`,
		"gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"text","content":"I will."},{"type":"reasoning","content":"Hmm."},{"type":"tool_call","id":"c1","name":"ls","arguments":{"p":"."}}]}]`,
		"gen_ai.tool.definitions", `[{"type":"function","name":"ls","description":"Lists","parameters":{"type":"object"}}]`,
		"gen_ai.usage.input_tokens", 9, "gen_ai.usage.output_tokens", 4, "gen_ai.request.model", "m", "qwen-code.prompt_id", "s########0"))
	if p := single[*Prompt](t, e); p.Text != "Tidy up" || p.Turn != "s########0" {
		t.Errorf("prompt %+v", p)
	}
	if c := single[*Catalogue](t, e); len(c.Skills) != 1 || c.Skills[0] != (CatalogueSkill{Name: "tidy", Description: "Sorts"}) {
		t.Errorf("catalogue %+v", c)
	}
	if r, m := single[*Reasoning](t, e), single[*Message](t, e); r.Index > m.Index {
		t.Error("the thought comes after what it led to")
	}
	if c, d := single[*ToolCall](t, e), single[*ToolDefinition](t, e); c.CallID != "c1" || d.InputSchema != `{"type":"object"}` {
		t.Errorf("call %+v, definition %+v", c, d)
	}
}

func TestQwenToolSpan(t *testing.T) {
	e := eventsOf(t, QwenCode{}, spanOf("qwen-code", "qwen-code.tool", "gen_ai.tool.name", "run_shell_command", "gen_ai.tool.call.id", "c1",
		"gen_ai.tool.call.arguments", `{"command":"x"}`, "gen_ai.tool.call.result", `{"output":"Command: x\nExit Code: 2\nSignal: (none)"}`, "success", true))
	if r := single[*ToolResult](t, e); r.Outcome != OutcomeError || *r.ExitCode != 2 || !strings.HasPrefix(r.Text, "Command: x\n") {
		t.Errorf("result %+v", r)
	}
	denied := spanOf("qwen-code", "qwen-code.tool", "gen_ai.tool.name", "run_shell_command", "gen_ai.tool.call.id", "c1", "error.type", "permission_denied", "success", false)
	denied.Row.Status, denied.Row.StatusMessage = "error", "Permission denied for tool"
	e = eventsOf(t, QwenCode{}, denied)
	if r, d := single[*ToolResult](t, e), single[*Denial](t, e); r.Outcome != OutcomeDenied || d.CallID != "c1" {
		t.Errorf("result %+v, denial %+v", r, d)
	}
	cut := spanOf("qwen-code", "qwen-code.tool", "gen_ai.tool.name", "read", "gen_ai.tool.call.id", "c1", "gen_ai.tool.call.result", `{"output":"line\none...[truncated]`, "success", true)
	if r := single[*ToolResult](t, eventsOf(t, QwenCode{}, cut)); r.Text != "line\none...[truncated]" || !r.Truncated {
		t.Errorf("of a cut span: %+v", r)
	}
}

func TestQwenLogs(t *testing.T) {
	e := eventsOf(t, QwenCode{}, logOf("qwen-code", "qwen-code.tool_call", "call_id", "c1", "function_name", "skill", "function_args", `{"skill":"x"}`,
		"status", "error", "execution_status", "not_started", "success", false, "error", `Skill "x" not found. Available skills: a`, "error_type", "invalid_tool_params", "response_id", "r1"))
	if r, c := single[*ToolResult](t, e), single[*ToolCall](t, e); r.Outcome != OutcomeRefused || c.ResponseID != "r1" {
		t.Errorf("result %+v, call %+v", r, c)
	}
	e = eventsOf(t, QwenCode{}, logOf("qwen-code", "qwen-code.config", "skills", "a,b"))
	if c := single[*Catalogue](t, e); len(c.Skills) != 2 || !c.Summary {
		t.Errorf("catalogue %+v: names alone are believed only for want of better", c)
	}
	long := eventsOf(t, QwenCode{}, logOf("qwen-code", "qwen-code.api_response", "response_text", "so...[truncated]", "output_token_count", 1))
	if m := single[*Message](t, long); !m.Summary || !m.Truncated {
		t.Errorf("message %+v", m)
	}
	for name, want := range map[string]bool{"session.start": true, "qwen-code.auth": true, "qwen-code.tool_call": false} {
		if got := (QwenCode{}).Internal(logOf("qwen-code", name)); got != want {
			t.Errorf("%s internal: %t", name, got)
		}
	}
	if http := spanOf("@opentelemetry/instrumentation-undici", "POST"); !(QwenCode{}).Internal(http) {
		t.Error("a span of the HTTP client is content")
	}
}

func TestQwenInteraction(t *testing.T) {
	e := eventsOf(t, QwenCode{}, spanOf("qwen-code", "qwen-code.interaction",
		"gen_ai.input.messages", `[{"role":"user","parts":[{"type":"text","content":"Tidy up"}]}]`,
		"gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"text","content":"Done."}]}]`))
	if p, m := single[*Prompt](t, e), single[*Message](t, e); p.Text != "Tidy up" || p.Origin != OriginNew || m.Text != "Done." || !m.Summary || m.At != 5_000 {
		t.Errorf("prompt %+v, message %+v", p, m)
	}
}
