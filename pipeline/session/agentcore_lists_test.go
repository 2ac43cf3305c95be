package session

import (
	"encoding/json"
	"slices"
	"testing"
)

// splitSpan takes the messages of the last span out into a log, as the AWS distribution does: one message for each attribute, whose
// content is the attribute whole.
func (m *rowMaker) splitSpan(in, out []any) {
	m.t.Helper()
	s := m.rows[len(m.rows)-1]
	body, err := json.Marshal(map[string]any{"input": map[string]any{"messages": in}, "output": map[string]any{"messages": out}})
	if err != nil {
		m.t.Fatal(err)
	}
	l := m.span(s.ScopeName, "", map[string]any{"event.name": s.ScopeName})
	l.Signal, l.ScopeName, l.Body, l.EndedUnixNano = "log", s.ScopeName, string(body), 0
	l.SpanID, l.StartedUnixNano = s.SpanID, s.EndedUnixNano
}

// TestAgentCoreSplitsMessageLists reads split records of instrumentations that hold a whole input in one attribute: the list is
// the content of one message.
func TestAgentCoreSplitsMessageLists(t *testing.T) {
	m := newRows(t)
	whole := func(role string, l []any) any { return map[string]any{"role": role, "content": list(t, l)} }
	ask := asks("call_X3e5yoVpVAFU1RpMUxH1cMOD", "look", map[string]any{"at": "x"})
	input := []any{text("user", "Look at x")}
	system := map[string]any{"role": "system", "content": `[{"type":"text","content":"Be brief."}]`}
	root := m.span("invoke_agent a", "", map[string]any{"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a"}).SpanID
	m.span("chat m", root, map[string]any{"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 1, "gen_ai.usage.output_tokens": 1})
	m.splitSpan([]any{system, whole("user", input)}, []any{whole("assistant", []any{ask})})
	m.tool(root, "call_X3e5yoVpVAFU1RpMUxH1cMOD", "look", `{"at":"x"}`, "fine", "unset")
	m.span("chat m", root, map[string]any{"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 1, "gen_ai.usage.output_tokens": 1})
	m.splitSpan([]any{system, whole("user", append(slices.Clone(input), ask, answers("call_X3e5yoVpVAFU1RpMUxH1cMOD", "fine")))}, []any{whole("assistant", []any{text("assistant", "It is fine.")})})
	b := m.build()
	want := []string{"0 system message Be brief.", "1 user message Look at x", "1 assistant tool_call look ok", "1 tool tool_result look ok", "1 assistant message It is fine."}
	if got := outline(b); !slices.Equal(got, want) {
		t.Errorf("steps %q\n%s", got, dump(b))
	}
	if b.Session.NTurns != 1 || b.Session.NToolCalls != 1 || len(b.Session.Missing) > 0 {
		t.Errorf("%+v", b.Session)
	}
}

// TestAgentCoreSplitsToolSpans keeps what went into a tool and came out of it from being taken for a prompt and an answer.
func TestAgentCoreSplitsToolSpans(t *testing.T) {
	m := newRows(t)
	root := m.span("agent", "", map[string]any{"openinference.span.kind": "AGENT"}).SpanID
	m.rows[len(m.rows)-1].ScopeName, m.rows[len(m.rows)-1].EndedUnixNano = "openinference.instrumentation.langchain", epoch+60e9
	m.splitSpan([]any{map[string]any{"role": "user", "content": "Look at x"}}, []any{map[string]any{"role": "assistant", "content": "It is fine."}})
	m.span("look", root, map[string]any{"openinference.span.kind": "TOOL", "tool.name": "look"})
	m.rows[len(m.rows)-1].ScopeName = "openinference.instrumentation.langchain"
	m.splitSpan([]any{map[string]any{"role": "user", "content": `{"at":"x"}`}}, []any{map[string]any{"role": "assistant", "content": "fine"}})
	b := m.build()
	want := []string{"1 user message Look at x", "1 assistant tool_call look ok", "1 tool tool_result look ok", "1 assistant message It is fine."}
	if got := outline(b); !slices.Equal(got, want) {
		t.Errorf("steps %q\n%s", got, dump(b))
	}
}
