package session

import (
	"fmt"
	"slices"
	"testing"

	"github.com/tracejury/tracejury/schema"
)

const (
	callX = "call_X3e5yoVpVAFU1RpMUxH1cMOD"
	callY = "toolu_01CQZ0leWmhaxIdWxbQ8JJ5V"
)

// conversation is two turns of a client without session ids, each model call a trace of its own with its whole input.
func conversation(t *testing.T) *rowMaker {
	t.Helper()
	m := newRows(t)
	n := 0
	chat := func(in []any, out ...any) {
		n++
		m.trace = fmt.Sprintf("%032x", n)
		m.chat("", in, out)
	}
	turn1 := []any{text("system", "Help."), text("user", "Remove the file.")}
	asked := append(slices.Clone(turn1), asks(callX, "bash", map[string]any{"command": "rm f"}))
	chat(turn1, asks(callX, "bash", map[string]any{"command": "rm f"}))
	answered := append(slices.Clone(asked), answers(callX, "Permission denied by policy."))
	chat(answered, text("assistant", "I may not."))
	turn2 := append(slices.Clone(answered), text("assistant", "I may not."), text("user", "Then list it."))
	chat(turn2, asks(callY, "bash", map[string]any{"command": "ls f"}))
	chat(append(slices.Clone(turn2), asks(callY, "bash", map[string]any{"command": "ls f"}), answers(callY, "f")), text("assistant", "It is there."))
	return m
}

// TestTurnsWithoutAnID joins the calls of one turn, and holds what a later turn repeats of an earlier one for context only.
func TestTurnsWithoutAnID(t *testing.T) {
	got := sessionsOf(conversation(t).rows, Options{})
	if len(got) != 2 {
		t.Fatalf("%d sessions, want one a turn", len(got))
	}
	second, first := got[0], got[1]
	expectOutline(t, first, "0 system message Help.", "1 user message Remove the file.", "1 assistant tool_call bash denied", "1 harness denial bash denied", "1 assistant message I may not.")
	expectOutline(t, second, "0 system message Help.", "0 user message Remove the file.", "0 assistant tool_call bash denied", "0 harness denial bash denied", "0 assistant message I may not.",
		"1 user message Then list it.", "1 assistant tool_call bash ok", "1 tool tool_result bash ok", "1 assistant message It is there.")
	if s := first.Session; s.SessionID != callX || s.SessionIDSource != SourceTurn || s.NDenied != 1 || s.NModelCalls != 2 || slices.ContainsFunc(first.Steps, func(s schema.Step) bool { return s.Earlier }) {
		t.Errorf("first turn: %+v", s)
	}
	if s := second.Session; s.SessionID != callY || s.NDenied != 0 || s.NToolCalls != 1 || s.NTurns != 1 || !slices.Contains(s.Warnings, "earlier_conversation:4") {
		t.Errorf("second turn: %+v", s)
	}
	for i, s := range second.Steps {
		if want := i >= 1 && i <= 4; s.Earlier != want {
			t.Errorf("step %d %s: earlier %t, want %t", s.Step, s.Kind, s.Earlier, want)
		}
	}
}

// TestPastUnderAnID leaves to a session of its own id what its first input repeats.
func TestPastUnderAnID(t *testing.T) {
	m := newRows(t)
	s := m.chat("", []any{text("user", "One."), text("assistant", "1."), text("user", "Two.")}, []any{text("assistant", "2.")})
	s.Attributes = s.Attributes[:len(s.Attributes)-1] + `,"session.id":"s1"}`
	b := sessionsOf(m.rows, Options{})[0]
	expectOutline(t, b, "1 user message One.", "1 assistant message 1.", "2 user message Two.", "2 assistant message 2.")
	if slices.ContainsFunc(b.Steps, func(s schema.Step) bool { return s.Earlier }) {
		t.Errorf("%+v", b.Steps)
	}
}

func TestUniqueCallID(t *testing.T) {
	for id, want := range map[string]bool{
		callX: true, callY: true, "tooluse_kZJMlvQmRJ6eAyJE5GIl7Q": true, "chatcmpl-tool-3f2a9c0d5b7e4c1f8a6d": true,
		"call_1": false, "call_get_weather_0001": false, "call_aaaaaaaaaaaaaaaaaaaa": false, "call_123456789012345678": false, "": false, "b7ad6b7169203331": false,
		"call_abc123": false, "functions.bash:0": false,
	} {
		if uniqueCallID(id) != want {
			t.Errorf("%q: %t", id, !want)
		}
	}
}

// TestTurnNeedsAnUnusedID keeps conversations apart that hold the same example in their prompts, and traces that an attribute names.
func TestTurnNeedsAnUnusedID(t *testing.T) {
	m := newRows(t)
	example := []any{text("user", "Example?"), asks(callX, "bash", map[string]any{"command": "ls"}), answers(callX, "f"), text("assistant", "f")}
	for i := range 3 {
		m.trace = fmt.Sprintf("%032x", i+1)
		m.chat("", append(slices.Clone(example), text("user", fmt.Sprint("Question ", i))), []any{text("assistant", "Answer")})
	}
	if got := sessionsOf(m.rows, Options{}); len(got) != 3 || got[0].Session.SessionIDSource != SourceTrace || got[0].Session.NToolCalls != 0 {
		t.Errorf("%d sessions, %+v", len(got), got[0].Session)
	}
	m = conversation(t)
	for i := range m.rows {
		m.rows[i].Attributes = m.rows[i].Attributes[:len(m.rows[i].Attributes)-1] + `,"session.id":"s1"}`
	}
	if got := sessionsOf(m.rows, Options{}); len(got) != 1 || got[0].Session.SessionID != "s1" || got[0].Session.NTurns != 2 {
		t.Errorf("%d sessions under one id", len(got))
	}
}

// TestTurnBelowAParent leaves a trace that an agent holds together as it is.
func TestTurnBelowAParent(t *testing.T) {
	m := newRows(t)
	root := m.span("run", "", map[string]any{"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a"}).SpanID
	m.chat(root, []any{text("user", "Go.")}, []any{asks(callX, "bash", map[string]any{"command": "ls"})})
	if s := sessionsOf(m.rows, Options{})[0].Session; s.SessionIDSource != SourceTrace || s.SessionID != m.trace {
		t.Errorf("%s from %s", s.SessionID, s.SessionIDSource)
	}
	m = newRows(t)
	m.chat("00000000000000ff", []any{text("user", "Go.")}, []any{asks(callX, "bash", map[string]any{"command": "ls"})})
	if s := sessionsOf(m.rows, Options{})[0].Session; s.SessionIDSource != SourceTrace {
		t.Errorf("with its parent missing: %s from %s", s.SessionID, s.SessionIDSource)
	}
}
