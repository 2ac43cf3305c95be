package session

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tracejury/tracejury/schema"
)

func TestBuild(t *testing.T) {
	tests := []struct {
		name  string
		rows  func(m *rowMaker)
		want  []string
		check func(t *testing.T, b Built)
	}{
		{"history is told once", func(m *rowMaker) {
			m.chat("", []any{text("user", "hi")}, []any{text("assistant", "hello")})
			m.chat("", []any{text("user", "hi"), text("assistant", "hello"), text("user", "bye")}, []any{text("assistant", "ciao")})
		}, []string{"1 user message hi", "1 assistant message hello", "2 user message bye", "2 assistant message ciao"}, nil},

		{"the same words twice are two turns", func(m *rowMaker) {
			m.chat("", []any{text("user", "go on")}, []any{text("assistant", "done")})
			m.chat("", []any{text("user", "go on"), text("assistant", "done"), text("user", "go on")}, []any{text("assistant", "done")})
		}, []string{"1 user message go on", "1 assistant message done", "2 user message go on", "2 assistant message done"}, nil},

		{"a prompt said again without history is a new turn", func(m *rowMaker) {
			m.chat("", []any{text("user", "go on")}, []any{text("assistant", "one")})
			m.trace = fmt.Sprintf("%032x", 2)
			m.chat("", []any{text("user", "go on")}, []any{text("assistant", "two")})
		}, []string{"1 user message go on", "1 assistant message one", "2 user message go on", "2 assistant message two"}, nil},

		{"a call is merged from request, execution and answer", func(m *rowMaker) {
			call := asks("call_abcdefghijkl", "ls", map[string]any{"dir": "/"})
			m.chat("", []any{text("user", "list")}, []any{call})
			m.tool("", "call_abcdefghijkl", "ls", `{"dir":"/"}`, "etc", "ok")
			m.chat("", []any{text("user", "list"), call, answers("call_abcdefghijkl", "etc")}, []any{text("assistant", "etc")})
		}, []string{"1 user message list", "1 assistant tool_call ls ok", "1 tool tool_result ls ok", "1 assistant message etc"}, func(t *testing.T, b Built) {
			if b.Session.NToolCalls != 1 || b.Session.NModelCalls != 2 || *b.Session.InputTokens != 20 {
				t.Errorf("counts: %+v", b.Session)
			}
		}},

		{"a tool that began before the model's span ended follows its request", func(m *rowMaker) {
			call := asks("call_abcdefghijkl", "ls", map[string]any{})
			m.chat("", []any{text("user", "list")}, []any{text("assistant", "wait"), call})
			s := m.tool("", "call_abcdefghijkl", "ls", `{}`, "etc", "ok")
			s.StartedUnixNano = m.rows[0].EndedUnixNano - 1000
			s.EndedUnixNano = m.rows[0].EndedUnixNano - 500
		}, []string{"1 user message list", "1 assistant message wait", "1 assistant tool_call ls ok", "1 tool tool_result ls ok"}, nil},

		{"a call never answered was not executed", func(m *rowMaker) {
			m.chat("", []any{text("user", "list")}, []any{asks("call_abcdefghijkl", "ls", map[string]any{})})
		}, []string{"1 user message list", "1 assistant tool_call ls not_executed"}, nil},

		{"counters as ids are calls of their own", func(m *rowMaker) {
			a, b := asks("call_0", "ls", map[string]any{"dir": "a"}), asks("call_0", "ls", map[string]any{"dir": "b"})
			m.chat("", []any{text("user", "list")}, []any{a})
			m.chat("", []any{text("user", "list"), a, answers("call_0", "A")}, []any{b})
			m.chat("", []any{text("user", "list"), a, answers("call_0", "A"), b, answers("call_0", "B")}, []any{text("assistant", "AB")})
		}, []string{"1 user message list", "1 assistant tool_call ls ok", "1 tool tool_result ls ok", "1 assistant tool_call ls ok", "1 tool tool_result ls ok", "1 assistant message AB"},
			func(t *testing.T, b Built) {
				if b.Steps[2].Text != "A" || b.Steps[4].Text != "B" {
					t.Errorf("results %q and %q", b.Steps[2].Text, b.Steps[4].Text)
				}
			}},

		{"a refusal outweighs a tool's success", func(m *rowMaker) {
			m.tool("", "call_abcdefghijkl", "skills", `{"skill_name":"nope"}`, "Skill 'nope' not found. Available skills: a", "ok")
		}, []string{"0 assistant tool_call skills refused", "0 tool tool_result skills refused"}, func(t *testing.T, b Built) {
			if len(b.Skills) != 1 || b.Skills[0].Outcome != "refused" || b.Skills[0].CatalogueState != "unrecorded" || b.Skills[0].Offered != nil {
				t.Errorf("skills %+v", b.Skills)
			}
		}},

		{"a policy's no is a denial, an operating system's an error", func(m *rowMaker) {
			m.tool("", "call_abcdefghijk1", "sh", `{"command":"rm x"}`, `Permission denied: policy "p" forbids rm`, "error")
			m.tool("", "call_abcdefghijk2", "sh", `{"command":"cat y"}`, "cat: y: Permission denied", "error")
		}, []string{"0 assistant tool_call sh denied", "0 harness denial sh denied", "0 assistant tool_call sh error", "0 tool tool_result sh error"}, nil},

		{"an exit code makes an error of a success", func(m *rowMaker) {
			m.tool("", "call_abcdefghijkl", "sh", `{"command":"false"}`, `{"exit_code":3,"stdout":""}`, "ok")
		}, []string{"0 assistant tool_call sh error", "0 tool tool_result sh error"}, func(t *testing.T, b Built) {
			if b.Steps[0].ExitCode == nil || *b.Steps[0].ExitCode != 3 {
				t.Errorf("exit code %v", b.Steps[0].ExitCode)
			}
		}},

		{"a sub-agent's prompt is no turn", func(m *rowMaker) {
			root := m.span("invoke_agent main", "", map[string]any{"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "main"}).SpanID
			m.chat(root, []any{text("user", "do it")}, []any{asks("call_abcdefghijkl", "task", map[string]any{"to": "helper"})})
			task := m.tool(root, "call_abcdefghijkl", "task", `{"to":"helper"}`, "helped", "ok").SpanID
			sub := m.span("invoke_agent helper", task, map[string]any{"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper"}).SpanID
			m.chat(sub, []any{text("user", "help")}, []any{text("assistant", "helped")})
			m.rows[2].EndedUnixNano = m.now + 2e9
			m.rows[0].EndedUnixNano = m.now + 9e9
		}, []string{"1 user message do it", "1 assistant tool_call task ok", "1 user message help", "1 assistant message helped", "1 tool tool_result task ok"},
			func(t *testing.T, b Built) {
				if b.Session.Agent != "main" || b.Steps[2].Agent != "helper" || b.Session.NTurns != 1 {
					t.Errorf("agents %q %q, turns %d", b.Session.Agent, b.Steps[2].Agent, b.Session.NTurns)
				}
			}},

		{"sums of agents are not added", func(m *rowMaker) {
			root := m.span("invoke_agent a", "", map[string]any{"gen_ai.operation.name": "invoke_agent", "gen_ai.usage.input_tokens": 20, "gen_ai.usage.output_tokens": 4}).SpanID
			m.chat(root, []any{text("user", "a")}, []any{text("assistant", "b")})
		}, []string{"1 user message a", "1 assistant message b"}, func(t *testing.T, b Built) {
			if *b.Session.InputTokens != 10 || b.Session.NModelCalls != 1 {
				t.Errorf("tokens %d of %d calls", *b.Session.InputTokens, b.Session.NModelCalls)
			}
		}},

		{"content that only the agent's span has", func(m *rowMaker) {
			root := m.span("invoke_agent a", "", map[string]any{"gen_ai.operation.name": "invoke_agent",
				"gen_ai.input.messages": list(m.t, []any{text("user", "q")}), "gen_ai.output.messages": list(m.t, []any{text("assistant", "a")})}).SpanID
			m.span("chat m", root, map[string]any{"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 1, "gen_ai.usage.output_tokens": 1})
		}, []string{"1 user message q", "1 assistant message a"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := newRows(t)
			tt.rows(m)
			id := Assign("default", pointers(m.rows), nil)[0]
			b := Build(id, "default", m.rows, Options{})
			if got := outline(b); !slices.Equal(got, tt.want) {
				t.Fatalf("steps\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
			if tt.check != nil {
				tt.check(t, b)
			}
		})
	}
}

func TestBuildLimits(t *testing.T) {
	m := newRows(t)
	var in []any
	for i := range 20 {
		in = append(in, text("user", fmt.Sprint(i)), text("assistant", fmt.Sprint("a", i)))
	}
	m.chat("", in, []any{text("assistant", "end")})
	b := Build(Ident{Key: "k"}, "default", m.rows, Options{MaxSteps: 10, AsOf: time.Unix(0, epoch-1)})
	if len(b.Steps) != 10 || !slices.Contains(b.Session.Warnings, "steps_cut:31") || !slices.Contains(b.Session.Warnings, "future_times:1") {
		t.Errorf("%d steps, warnings %v", len(b.Steps), b.Session.Warnings)
	}
	if b.Session.NTurns != 20 {
		t.Errorf("%d turns", b.Session.NTurns)
	}
	join := func(parts []string) []string {
		for i := range parts {
			parts[i] = strings.ReplaceAll(parts[i], "end", "[MASKED]")
		}
		return parts
	}
	b = Build(Ident{Key: "k"}, "default", m.rows, Options{Join: join})
	if got := b.Steps[len(b.Steps)-1].Text; got != "[MASKED]" {
		t.Errorf("last step %q", got)
	}
}

func TestBuildOfNothing(t *testing.T) {
	b := Build(Ident{Key: "k"}, "default", nil, Options{})
	if b.Session.ContentState != "missing" || len(b.Steps) != 0 || b.Session.StartedUnixNano != 0 {
		t.Errorf("%+v", b.Session)
	}
}

// TestBuildProperties generates conversations and breaks order and duplicates on purpose.
func TestBuildProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := newRows(t)
		turns := rapid.IntRange(1, 4).Draw(rt, "turns")
		var history []any
		var want []string
		calls := 0
		for turn := 1; turn <= turns; turn++ {
			p := rapid.SampledFrom([]string{"go", "yes", "list", "stop"}).Draw(rt, "prompt")
			history = append(history, text("user", p))
			want = append(want, fmt.Sprintf("%d user message %s", turn, p))
			for range rapid.IntRange(0, 3).Draw(rt, "calls") {
				calls++
				id := fmt.Sprintf("call_abcdefgh%05d_%05d", turn, calls)
				ask := asks(id, "ls", map[string]any{"n": 1})
				m.chat("", slices.Clone(history), []any{ask})
				if rapid.Bool().Draw(rt, "span") {
					m.tool("", id, "ls", `{"n":1}`, "r", "ok")
				}
				history = append(history, ask, answers(id, "r"))
				want = append(want, fmt.Sprintf("%d assistant tool_call ls ok", turn), fmt.Sprintf("%d tool tool_result ls ok", turn))
			}
			a := rapid.SampledFrom([]string{"done", "ok", "see"}).Draw(rt, "answer")
			m.chat("", slices.Clone(history), []any{text("assistant", a)})
			history = append(history, text("assistant", a))
			want = append(want, fmt.Sprintf("%d assistant message %s", turn, a))
		}
		first := Build(Ident{Key: "k"}, "default", m.rows, Options{})
		if got := outline(first); !slices.Equal(got, want) {
			rt.Fatalf("steps\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		mixed := append([]schema.Span(nil), m.rows...)
		mixed = append(mixed, rapid.SliceOfN(rapid.SampledFrom(m.rows), 0, 5).Draw(rt, "again")...)
		mixed = rapid.Permutation(mixed).Draw(rt, "order")
		again := Build(Ident{Key: "k"}, "default", mixed, Options{})
		if !reflect.DeepEqual(again, first) {
			rt.Fatalf("order reached the result:\n%s\nwant\n%s", dump(again), dump(first))
		}
	})
}
