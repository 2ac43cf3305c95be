package session

import (
	"encoding/json"
	"slices"
	"testing"
)

// openHandsSpans is a session of OpenHands as its SDK exports it through Laminar, written after the source of both: a conversation's
// root with the session id, steps, model calls in OpenAI's shape, tools named by their action with the call's id in the metadata.
func openHandsSpans(t *testing.T) *rowMaker {
	t.Helper()
	m := newRows(t)
	encode := func(v any) string {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	type obj = map[string]any
	add := func(name, parent, kind string, attrs obj) string {
		attrs["lmnr.span.type"] = kind
		s := m.span(name, parent, attrs)
		s.ScopeName, s.Service = "lmnr.tracer", "openhands"
		return s.SpanID
	}
	history := []any{obj{"role": "system", "content": []any{obj{"type": "text", "text": "You help.\n<SKILLS>\n<available_skills>\n<skill><name>log-triage</name><description>Sort logs.</description></skill>\n</available_skills>\n</SKILLS>"}}},
		obj{"role": "user", "content": []any{obj{"type": "text", "text": "Sort the logs."}}}}
	ask := func(parent string, calls ...any) {
		out := obj{"role": "assistant", "content": "Working.", "tool_calls": calls}
		add("litellm.completion", parent, "LLM", obj{"gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 3, "llm.usage.total_tokens": 13,
			"gen_ai.input.messages": encode(history), "gen_ai.output.messages": encode([]any{out}),
			"gen_ai.tool.definitions": encode([]any{obj{"type": "function", "function": obj{"name": "terminal", "description": "Runs a command.", "parameters": obj{"type": "object"}}}})})
		history = append(history, out)
	}
	call := func(id, name, args string) any {
		return obj{"id": id, "type": "function", "function": obj{"name": name, "arguments": args}}
	}
	tool := func(parent, id, action string, in, out any) {
		add(action, parent, "TOOL", obj{"lmnr.span.input": encode(in), "lmnr.span.output": encode(out), "lmnr.association.properties.metadata.tool_call_id": id})
	}
	answer := func(id, name, text string) {
		history = append(history, obj{"role": "tool", "tool_call_id": id, "name": name, "content": []any{obj{"type": "text", "text": text}}})
	}
	root := add("conversation", "", "DEFAULT", obj{"lmnr.association.properties.session_id": "c-1"})
	add("conversation.send_message", root, "DEFAULT", obj{"lmnr.span.input": encode(obj{"message": "Sort the logs."})})
	title := add("conversation.generate_title", root, "DEFAULT", obj{"lmnr.association.properties.metadata.openhands.operation": "title_generation"})
	add("litellm.completion", title, "LLM", obj{"lmnr.association.properties.metadata.openhands.operation": "title_generation", "gen_ai.usage.input_tokens": 1, "gen_ai.usage.output_tokens": 1,
		"gen_ai.input.messages": `[{"role":"user","content":"Generate a title"}]`, "gen_ai.output.messages": `[{"role":"assistant","content":"Log sorting"}]`})
	step := add("agent.step", root, "DEFAULT", obj{})
	ask(step, call("call_aaaaaaaaaaaaaaaaaaaaaaa1", "invoke_skill", `{"name":"log-triage"}`))
	tool(step, "call_aaaaaaaaaaaaaaaaaaaaaaa1", "InvokeSkillAction", obj{"action": obj{"kind": "InvokeSkillAction", "name": "log-triage"}},
		obj{"kind": "InvokeSkillObservation", "skill_name": "log-triage", "is_error": false, "content": []any{obj{"type": "text", "text": "1. Sort.\n2. Count.\n\n---\nThis skill's files are at /w/skills/log-triage."}}})
	answer("call_aaaaaaaaaaaaaaaaaaaaaaa1", "invoke_skill", "1. Sort.\n2. Count.\n\n---\nThis skill's files are at /w/skills/log-triage.")
	step = add("agent.step", root, "DEFAULT", obj{})
	ask(step, call("call_aaaaaaaaaaaaaaaaaaaaaaa2", "terminal", `{"command":"sort log"}`), call("call_aaaaaaaaaaaaaaaaaaaaaaa3", "terminal", `{"command":"rm log"}`),
		call("call_aaaaaaaaaaaaaaaaaaaaaaa4", "invoke_skill", `{"name":"nope"}`))
	tool(step, "call_aaaaaaaaaaaaaaaaaaaaaaa2", "TerminalAction", obj{"action": obj{"kind": "TerminalAction", "command": "sort log", "is_input": false}},
		obj{"kind": "TerminalObservation", "is_error": false, "exit_code": 2, "content": []any{obj{"type": "text", "text": "sort: cannot read"}}})
	answer("call_aaaaaaaaaaaaaaaaaaaaaaa2", "terminal", "sort: cannot read\n[Command finished with exit code 2]")
	tool(step, "call_aaaaaaaaaaaaaaaaaaaaaaa3", "TerminalAction", obj{"tool_input": obj{"kind": "TerminalAction", "command": "rm log"}},
		obj{"role": "tool", "name": "terminal", "tool_call_id": "call_aaaaaaaaaaaaaaaaaaaaaaa3", "content": []any{obj{"type": "text", "text": "Action rejected: not that one"}}})
	answer("call_aaaaaaaaaaaaaaaaaaaaaaa3", "terminal", "Action rejected: not that one")
	tool(step, "call_aaaaaaaaaaaaaaaaaaaaaaa4", "InvokeSkillAction", obj{"action": obj{"kind": "InvokeSkillAction", "name": "nope"}},
		obj{"kind": "InvokeSkillObservation", "skill_name": "nope", "is_error": true, "content": []any{obj{"type": "text", "text": "Unknown skill 'nope'. Available skills: log-triage"}}})
	answer("call_aaaaaaaaaaaaaaaaaaaaaaa4", "invoke_skill", "Unknown skill 'nope'. Available skills: log-triage")
	step = add("agent.step", root, "DEFAULT", obj{})
	ask(step)
	return m
}

func TestOpenHandsThroughLaminar(t *testing.T) {
	got := sessionsOf(openHandsSpans(t).rows, Options{})
	if len(got) != 1 {
		t.Fatalf("%d sessions", len(got))
	}
	b := got[0]
	var steps []string
	for _, s := range outline(b) {
		if s[0] != '0' {
			steps = append(steps, s)
		}
	}
	want := []string{"1 user message Sort the logs.", "1 assistant message Working.", "1 assistant tool_call invoke_skill ok", "1 tool tool_result invoke_skill ok",
		"1 assistant message Working.", "1 assistant tool_call terminal error", "1 assistant tool_call terminal denied", "1 assistant tool_call invoke_skill refused"}
	if !slices.Equal(steps[:len(want)], want) {
		t.Errorf("steps\n%q\nwant\n%q", steps, want)
	}
	s := b.Session
	if s.SessionID != "c-1" || s.Harness != "openhands" || s.NToolCalls != 4 || s.NDenied != 1 || s.NToolErrors != 1 || s.NModelCalls != 4 || s.NTurns != 1 || len(b.Tools) != 1 {
		t.Errorf("%+v\n%s", s, dump(b))
	}
	if len(b.Skills) != 2 || b.Skills[0].Body != "1. Sort.\n2. Count." || b.Skills[0].MatchRule != "exact" || b.Skills[1].Outcome != "refused" || b.Skills[1].MatchRule != "none" {
		t.Errorf("%+v", b.Skills)
	}
}
