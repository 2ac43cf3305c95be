package session

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/tracejury/tracejury/schema"
)

// TestBuildOfAnything builds sessions from rows that no exporter would write: circles of parents, equal times, ids reused by
// other tools, answers without calls. Nothing panics, and order reaches nothing.
func TestBuildOfAnything(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		pick := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(rt, name) }
		messages := func(name string) string {
			var l []any
			for range rapid.IntRange(0, 4).Draw(rt, name) {
				switch pick("message", "user", "assistant", "ask", "answer") {
				case "user":
					l = append(l, text("user", pick("text", "a", "b", "Base directory for this skill: /s/pdf\n\n1. Go.\n2. On.")))
				case "assistant":
					l = append(l, text("assistant", pick("text", "a", "b")))
				case "ask":
					l = append(l, asks(pick("id", "", "call_0", "call_abcdefghijkl"), pick("tool", "ls", "Skill"), map[string]any{"skill": pick("skill", "pdf", "x")}))
				default:
					l = append(l, answers(pick("id", "", "call_0", "call_abcdefghijkl"), pick("text", "ok", "Skill 'x' not found", "Launching skill: pdf")))
				}
			}
			raw, err := json.Marshal(l)
			if err != nil {
				rt.Fatal(err)
			}
			return string(raw)
		}
		rows := make([]schema.Span, rapid.IntRange(1, 8).Draw(rt, "rows"))
		for i := range rows {
			attrs := map[string]any{"gen_ai.operation.name": pick("op", "chat", "invoke_agent", "execute_tool", "other"), "gen_ai.agent.name": pick("agent", "", "m", "n")}
			if rapid.Bool().Draw(rt, "content") {
				attrs["gen_ai.input.messages"], attrs["gen_ai.output.messages"] = messages("in"), messages("out")
			}
			if rapid.Bool().Draw(rt, "tool") {
				attrs["gen_ai.tool.name"], attrs["gen_ai.tool.call.id"] = pick("name", "ls", "Skill"), pick("id", "", "call_0", "call_abcdefghijkl")
				attrs["gen_ai.tool.call.result"] = pick("result", "ok", "Unknown skill: x")
			}
			if rapid.Bool().Draw(rt, "usage") {
				attrs["gen_ai.usage.input_tokens"], attrs["gen_ai.usage.output_tokens"] = 1, 2
				attrs["gen_ai.response.id"] = pick("response", "", "r1")
			}
			raw, err := json.Marshal(attrs)
			if err != nil {
				rt.Fatal(err)
			}
			rows[i] = schema.Span{Tenant: "default", Signal: pick("signal", "span", "span", "log"), TraceID: pick("trace", "t", "u", ""), SpanID: pick("span", "a", "b", "c", "d", ""),
				ParentSpanID: pick("parent", "a", "b", "c", "", "gone"), Name: pick("rowname", "x", "gen_ai.choice"), ScopeName: pick("scope", "p", "q"), TimeQuality: "ok",
				StartedUnixNano: epoch + int64(rapid.IntRange(0, 3).Draw(rt, "start")), EndedUnixNano: epoch + int64(rapid.IntRange(0, 5).Draw(rt, "end")),
				Status: pick("status", "ok", "error", "unset"), Attributes: string(raw), RecordSHA256: fmt.Sprintf("%064x", i)}
		}
		want := Build(Ident{Key: "k"}, "default", rows, Options{})
		got := Build(Ident{Key: "k"}, "default", rapid.Permutation(rows).Draw(rt, "order"), Options{})
		if !reflect.DeepEqual(got, want) {
			rt.Fatalf("order reached the result:\n%s\nwant\n%s", dump(got), dump(want))
		}
		for i, s := range want.Steps {
			if s.Step != int32(i+1) || s.Role == "" || s.Kind == "" {
				rt.Fatalf("step %+v", s)
			}
		}
	})
}
