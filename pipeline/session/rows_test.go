package session

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/tracejury/tracejury/schema"
)

// rowMaker makes rows in OpenTelemetry's GenAI convention, one second apart.
type rowMaker struct {
	t     *testing.T
	rows  []schema.Span
	now   int64
	trace string
}

const epoch = int64(1_796_000_000_000_000_000)

func newRows(t *testing.T) *rowMaker {
	t.Helper()
	return &rowMaker{t: t, now: epoch, trace: fmt.Sprintf("%032x", 1)}
}

// span adds a span that ends half a second after it starts.
func (m *rowMaker) span(name, parent string, attrs map[string]any) *schema.Span {
	m.t.Helper()
	raw, err := json.Marshal(attrs)
	if err != nil {
		m.t.Fatalf("marshal attributes: %v", err)
	}
	m.now += 1e9
	id := fmt.Sprintf("%016x", len(m.rows)+1)
	m.rows = append(m.rows, schema.Span{Tenant: "default", Signal: "span", TraceID: m.trace, SpanID: id, ParentSpanID: parent, Name: name,
		Service: "svc", ScopeName: "test", StartedUnixNano: m.now, EndedUnixNano: m.now + 5e8, TimeQuality: "ok", Status: "unset",
		Attributes: string(raw), RecordSHA256: fmt.Sprintf("%064x", len(m.rows)+1)})
	return &m.rows[len(m.rows)-1]
}

func text(role, s string) map[string]any {
	return map[string]any{"role": role, "parts": []any{map[string]any{"type": "text", "content": s}}}
}

func asks(id, tool string, args map[string]any) map[string]any {
	return map[string]any{"role": "assistant", "parts": []any{map[string]any{"type": "tool_call", "id": id, "name": tool, "arguments": args}}}
}

func answers(id, s string) map[string]any {
	return map[string]any{"role": "tool", "parts": []any{map[string]any{"type": "tool_call_response", "id": id, "response": s}}}
}

// chat adds a model call with its whole input and what it answered.
func (m *rowMaker) chat(parent string, in, out []any) *schema.Span {
	m.t.Helper()
	return m.span("chat m", parent, map[string]any{"gen_ai.operation.name": "chat", "gen_ai.request.model": "m",
		"gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 2,
		"gen_ai.input.messages": list(m.t, in), "gen_ai.output.messages": list(m.t, out)})
}

func list(t *testing.T, l []any) string {
	t.Helper()
	raw, err := json.Marshal(l)
	if err != nil {
		t.Fatalf("marshal messages: %v", err)
	}
	return string(raw)
}

// tool adds the execution of a call.
func (m *rowMaker) tool(parent, id, name, args, result, status string) *schema.Span {
	m.t.Helper()
	s := m.span("execute_tool "+name, parent, map[string]any{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name,
		"gen_ai.tool.call.id": id, "gen_ai.tool.call.arguments": args, "gen_ai.tool.call.result": result})
	s.Status = status
	return s
}

func (m *rowMaker) build() Built {
	m.t.Helper()
	return m.buildWith(Options{})
}

func (m *rowMaker) buildWith(opts Options) Built {
	m.t.Helper()
	ids := Assign("default", pointers(m.rows), nil)
	return Build(ids[0], "default", m.rows, opts)
}

func pointers(rows []schema.Span) []*schema.Span {
	out := make([]*schema.Span, len(rows))
	for i := range rows {
		out[i] = &rows[i]
	}
	return out
}

// outline is the steps of a session, one a line, without times.
func outline(b Built) []string {
	var out []string
	for _, s := range b.Steps {
		line := fmt.Sprintf("%d %s %s", s.Turn, s.Role, s.Kind)
		if s.Tool != "" {
			line += " " + s.Tool + " " + s.Outcome
		} else if s.Text != "" {
			line += " " + s.Text
		}
		out = append(out, line)
	}
	return out
}
