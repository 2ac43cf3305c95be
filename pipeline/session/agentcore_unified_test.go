package session

import (
	"encoding/json"
	"slices"
	"testing"
)

// TestAgentCoreUnified reads AgentCore's unified mode by hand-written records: content stays on the span, here one without a
// scope, and a session half of whose spans were split tells nothing twice.
func TestAgentCoreUnified(t *testing.T) {
	for name, split := range map[string]bool{"unified": false, "both": true} {
		t.Run(name, func(t *testing.T) {
			m := newRows(t)
			ask := asks("tooluse_AAAAAAAAAAAAAAAAAAAA1", "look", map[string]any{"at": "x"})
			m.chat("", []any{text("user", "Look at x")}, []any{text("assistant", "Looking."), ask})
			m.chat("", []any{text("user", "Look at x"), text("assistant", "Looking."), ask, answers("tooluse_AAAAAAAAAAAAAAAAAAAA1", "fine")}, []any{text("assistant", "It is fine.")})
			m.rows[0].ScopeName, m.rows[1].ScopeName = "", "strands.telemetry.tracer"
			for i := range m.rows {
				m.rows[i].Resource = `{"aws.service.type":"gen_ai_agent","service.name":"svc"}`
			}
			if split {
				body, err := json.Marshal(map[string]any{"input": map[string]any{"messages": []any{map[string]any{"role": "user", "content": map[string]any{"content": `[{"text":"Look at x"}]`}}}},
					"output": map[string]any{"messages": []any{map[string]any{"role": "assistant", "content": map[string]any{"message": `[{"text":"It is fine."}]`, "finish_reason": "end_turn"}}}}})
				if err != nil {
					t.Fatal(err)
				}
				l := m.span("strands.telemetry.tracer", "", map[string]any{"event.name": "strands.telemetry.tracer"})
				l.Signal, l.ScopeName, l.Body = "log", "strands.telemetry.tracer", string(body)
				l.SpanID, l.StartedUnixNano, l.EndedUnixNano = m.rows[1].SpanID, m.rows[1].EndedUnixNano, 0
			}
			b := m.build()
			want := []string{"1 user message Look at x", "1 assistant message Looking.", "1 assistant tool_call look ok", "1 tool tool_result look ok", "1 assistant message It is fine."}
			if got := outline(b); !slices.Equal(got, want) {
				t.Errorf("steps %q\n%s", got, dump(b))
			}
			if b.Session.NModelCalls != 2 || len(b.Session.Missing) > 0 {
				t.Errorf("%d model calls, missing %q", b.Session.NModelCalls, b.Session.Missing)
			}
		})
	}
}
