package convention

import (
	"testing"

	"github.com/tracejury/tracejury/pipeline/otlp"
)

// FuzzConventions reads any text in the attributes that conventions parse: no text may stop a convention, and every event has
// its place.
func FuzzConventions(f *testing.F) {
	for _, text := range []string{claudeBody, geminiOutput, "[" + geminiOutput + "]", `{"role":"assistant","content":[{"type":"text","text":"x"}]}`,
		"[USER]\nx\n\n---\n\n[TOOL RESULT: t1]\n<tool_use_error>Unknown skill: y</tool_use_error>", "Process exited with code 3\nOutput:\nx",
		"<available_skills><skill><name>a</name></skill>", "The following skills are available for use with the Skill tool:\n\n- a: b\nc\n\n", `[{"lc":1,"id":["x"],"kwargs":{"content":"y"}}]`} {
		f.Add(text, true)
		f.Add(text, false)
	}
	shapes := []struct{ scope, name, key string }{
		{claudeLogs, "api_request_body", "body"}, {claudeLogs, "api_response_body", "body"}, {claudeLogs, "tool_result", "tool_parameters"},
		{claudeSpans, "claude_code.llm_request", "new_context"}, {claudeSpans, "claude_code.llm_request", "system_reminders"},
		{codexLogs, "codex.tool_result", "output"}, {"gemini-cli", "gemini_cli.api_request", "request_text"}, {"gemini-cli", "gemini_cli.api_response", "response_text"},
		{"gemini-cli", "tool_call", "gen_ai.output.messages"}, {"gemini-cli", "schedule_tool_calls", "gen_ai.output.messages"}, {"gemini-cli", "llm_call", "gen_ai.output.messages"},
		{"qwen-code", "qwen-code.api_request", "request_text"}, {"qwen-code", "qwen-code.tool", "gen_ai.tool.call.result"}, {"gcp.vertex.agent", "call_llm", "gcp.vertex.agent.llm_request"},
		{"langsmith", "x", "gen_ai.completion"}, {"@traceloop/x", "execute_tool x", "traceloop.entity.output"}, {"@mastra/x", "agent_step", "mastra.model_step.output"},
		{"ai", "ai.toolCall", "ai.toolCall.result"}, {"strands.telemetry.tracer", "chat", "gen_ai.output.messages"},
	}
	f.Fuzz(func(t *testing.T, text string, log bool) {
		for _, s := range shapes {
			r := spanOf(s.scope, s.name, s.key, text, "tool_name", "Bash", "success", text, "langsmith.span.kind", "llm", "ai.operationId", "ai.toolCall", "mastra.span.type", "model_step")
			if log {
				r = logOf(s.scope, s.name, s.key, text, "decision", text)
			}
			r.Body = otlp.StringValue(text)
			for _, c := range All() {
				if !c.Match(r) {
					continue
				}
				c.Events(r, func(e Event) {
					if m := e.Info(); m.Convention == "" || m.Index < 0 {
						t.Errorf("%s: place %+v", c.Name(), *m)
					}
				})
				c.Exports(r)
				c.Internal(r)
			}
		}
	})
}
