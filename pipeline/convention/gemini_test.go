package convention

import (
	"testing"

	"github.com/tracejury/tracejury/pipeline/otlp"
)

func TestGeminiResponseJoinsChunks(t *testing.T) {
	chunks := `[{"candidates":[{"content":{"role":"model","parts":[{"text":"Hmm.","thought":true}]}}],"responseId":"r1"},` +
		`{"candidates":[{"content":{"role":"model","parts":[{"text":"I will "}]}}],"responseId":"r1"},` +
		`{"candidates":[{"content":{"role":"model","parts":[{"text":"look."},{"functionCall":{"name":"ls","args":{ "p": "." },"id":"ls__ls_7"}}]}}]}]`
	e := eventsOf(t, GeminiCLI{}, logOf("gemini-cli", "gemini_cli.api_response", "response_text", chunks, "input_token_count", 9, "output_token_count", 4,
		"prompt_id", "p1", "cached_content_token_count", otlp.Value{}))
	if m := single[*Message](t, e); m.Text != "I will look." || m.ResponseID != "r1" || m.Turn != "p1" {
		t.Errorf("message %+v", m)
	}
	if c := single[*ToolCall](t, e); c.CallID != "ls_7" || c.Arguments != `{"p":"."}` || c.ResponseID != "r1" {
		t.Errorf("call %+v", c)
	}
	if r := single[*Reasoning](t, e); r.Text != "Hmm." {
		t.Errorf("reasoning %+v", r)
	}
	if u := single[*Usage](t, e); *u.InputTokens != 9 || u.ResponseID != "r1" || u.CacheReadTokens != nil {
		t.Errorf("usage %+v: an empty value is absent", u)
	}
	side := eventsOf(t, GeminiCLI{}, logOf("gemini-cli", "gemini_cli.api_response", "response_text", chunks, "role", "utility_router", "output_token_count", 4))
	if len(only[*Message](side)) != 0 || len(only[*Usage](side)) != 1 {
		t.Errorf("a side call only costs: %v", side)
	}
}

func TestGeminiHistory(t *testing.T) {
	contents := `[{"role":"user","parts":[{"text":"<session_context>\nx\n</session_context>"},{"text":"Tidy up"}]},` +
		`{"role":"model","parts":[{"functionCall":{"name":"rm","args":{},"id":"rm_1"}}]},` +
		`{"role":"user","parts":[{"functionResponse":{"name":"rm","id":"rm__rm_1","response":{"error":"Tool execution denied by policy."}}}]}]`
	e := eventsOf(t, GeminiCLI{}, logOf("gemini-cli", "gemini_cli.api_request", "request_text", contents))
	if p := single[*Prompt](t, e); p.Text != "Tidy up" || p.Position != 0 || p.Origin != OriginHistory {
		t.Errorf("prompt %+v", p)
	}
	if r := single[*ToolResult](t, e); r.CallID != "rm_1" || r.Outcome != OutcomeDenied || r.Position != 2 {
		t.Errorf("result %+v", r)
	}
	for cut := range contents {
		eventsOf(t, GeminiCLI{}, logOf("gemini-cli", "gemini_cli.api_request", "request_text", contents[:cut]+"...[TRUNCATED: original length 99999]"))
	}
}

func TestGeminiToolCallLog(t *testing.T) {
	for name, c := range map[string]struct {
		attributes []any
		want       Outcome
		by         string
	}{
		"ok":       {[]any{"success", true, "decision", "accept"}, OutcomeOK, ""},
		"error":    {[]any{"success", false, "error", "boom", "error_type", "execution_failed"}, OutcomeError, ""},
		"policy":   {[]any{"success", false, "decision", otlp.Value{}, "error", "no", "error_type", "policy_violation"}, OutcomeDenied, "policy"},
		"user":     {[]any{"success", false, "decision", "reject"}, OutcomeDenied, "user"},
		"no skill": {[]any{"success", false, "error", "params/name must be equal to one of the allowed values", "error_type", "invalid_tool_params"}, OutcomeRefused, ""},
		"no tool":  {[]any{"success", false, "error_type", "tool_not_registered"}, OutcomeRefused, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := eventsOf(t, GeminiCLI{}, logOf("gemini-cli", "gemini_cli.tool_call", append(c.attributes, "function_name", "ls", "function_args", "{\n  \"p\": \".\"\n}")...))
			if r := single[*ToolResult](t, e); r.Outcome != c.want {
				t.Errorf("result %+v", r)
			}
			if call := single[*ToolCall](t, e); call.Arguments != `{"p":"."}` {
				t.Errorf("call %+v", call)
			}
			denials := only[*Denial](e)
			if (len(denials) == 1) != (c.by != "") || len(denials) == 1 && denials[0].By != c.by {
				t.Errorf("denials %+v", denials)
			}
		})
	}
}

const geminiOutput = `{"status":"success","request":{"callId":"run_shell_command__run_1","name":"run_shell_command","args":{"command":"x"},"traceId":"r1"},` +
	`"response":{"callId":"run_shell_command__run_1","responseParts":[{"functionResponse":{"id":"run_1","name":"run_shell_command","response":{"output":"Output: a \"b\"\nExit Code: 3"}}}]}}`

func TestGeminiToolSpan(t *testing.T) {
	e := eventsOf(t, GeminiCLI{}, spanOf("gemini-cli", "tool_call", "gen_ai.operation.name", "tool_call", "gen_ai.tool.name", "run_shell_command",
		"gen_ai.output.messages", geminiOutput))
	r, c := single[*ToolResult](t, e), single[*ToolCall](t, e)
	if c.CallID != "run_1" || c.ResponseID != "r1" || r.Outcome != OutcomeError || r.ExitCode == nil || *r.ExitCode != 3 {
		t.Errorf("call %+v, result %+v", c, r)
	}
	cut := geminiOutput[:len(geminiOutput)-30] + "...[TRUNCATED: original length 20000]"
	e = eventsOf(t, GeminiCLI{}, spanOf("gemini-cli", "tool_call", "gen_ai.operation.name", "tool_call", "gen_ai.tool.name", "run_shell_command",
		"gen_ai.tool.call_id", "run_shell_command__run_1", "gen_ai.input.messages", `{"callId":"run_shell_command__run_1","name":"run_shell_command","args":{"command":"x"}}`,
		"gen_ai.output.messages", cut))
	r, c = single[*ToolResult](t, e), single[*ToolCall](t, e)
	if !r.Truncated || c.CallID != "run_1" || c.Arguments != `{"command":"x"}` || r.Text == "" {
		t.Errorf("of a cut span: call %+v, result %+v", c, r)
	}
	for i := range geminiOutput {
		eventsOf(t, GeminiCLI{}, spanOf("gemini-cli", "tool_call", "gen_ai.tool.name", "run_shell_command", "gen_ai.output.messages", geminiOutput[:i]))
		eventsOf(t, GeminiCLI{}, spanOf("gemini-cli", "schedule_tool_calls", "gen_ai.output.messages", "["+geminiOutput[:i]))
	}
	bare := spanOf("gemini-cli", "tool_call", "gen_ai.tool.name", "ls", "gen_ai.tool.call_id", "ls__1")
	bare.Row.Status = "ok"
	e = eventsOf(t, GeminiCLI{}, bare)
	if r, c := single[*ToolResult](t, e), single[*ToolCall](t, e); r.Outcome != OutcomeOK || !c.Redacted || c.CallID != "1" {
		t.Errorf("without content: call %+v, result %+v", c, r)
	}
}

func TestGeminiModelSpanCut(t *testing.T) {
	text := `[{"role":"model","parts":[{"text":"The first "}]},{"role":"model","parts":[{"text":"part goes on`
	e := eventsOf(t, GeminiCLI{}, spanOf("gemini-cli", "llm_call", "gen_ai.operation.name", "llm_call", "gen_ai.output.messages", text,
		"gen_ai.system_instructions", `"See <available_skills> <skill><name>a</name><description>x &amp; y</description></skill></available_skills>"`))
	joined := ""
	for _, m := range only[*Message](e) {
		joined += m.Text
		if !m.Summary {
			t.Errorf("what was cut is believed: %+v", m)
		}
	}
	if joined != "The first part goes on"+cutMark {
		t.Errorf("text %q", joined)
	}
	if c := single[*Catalogue](t, e); len(c.Skills) != 1 || c.Skills[0] != (CatalogueSkill{Name: "a", Description: "x & y"}) {
		t.Errorf("catalogue %+v", c)
	}
}

func TestSkillsElement(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		names []string
		found bool
	}{
		"none":            {"nothing", nil, false},
		"prose":           {"names as in the `<available_skills>` section", nil, false},
		"empty":           {"<available_skills>\n</available_skills>", nil, true},
		"empty then full": {"<available_skills></available_skills> <available_skills><skill><name>a</name></skill></available_skills>", []string{"a"}, true},
		"attribute":       {`<available_skills><skill name="a">Sorts</skill></available_skills>`, []string{"a"}, true},
		"cut":             {"<available_skills><skill><name>a</name><description>x", []string{"a"}, true},
		"without name":    {"<available_skills><skill><description>x</description></skill></available_skills>", nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			skills, found := skillsElement(c.text)
			if found != c.found || len(skills) != len(c.names) {
				t.Fatalf("found %t, %+v", found, skills)
			}
			for i, n := range c.names {
				if skills[i].Name != n {
					t.Errorf("skill %d is %+v", i, skills[i])
				}
			}
		})
	}
}
