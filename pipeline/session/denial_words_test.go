package session

import "testing"

// TestDenialWords holds the words by which harnesses and frameworks say that a person or a rule stopped a call, as their source or
// telemetry has them, and those that only look alike.
func TestDenialWords(t *testing.T) {
	for _, tt := range []struct {
		text   string
		status string // of the tool's span
		want   string
	}{
		{"Permission to use Bash with command rm -rf build has been denied.", "error", "denied"},
		{"Claude requested permissions to use WebFetch, but you haven't granted it yet.", "error", "denied"},
		{"The user doesn't want to proceed with this tool use. The tool use was rejected.", "error", "denied"},
		{"[Operation Cancelled] Reason: User did not allow tool call", "error", "denied"},
		{"The user has specified a rule which prevents you from using this specific tool call.", "error", "denied"},
		{"Permission to run this tool was denied due to the following rules: `shell(rm)`", "error", "denied"},
		{"exec command rejected by user", "error", "denied"},
		{"User rejected the tool call for `delete` with id call_1", "error", "denied"},
		{"The tool call was denied.", "ok", "denied"},
		{"Tool execution was not approved.", "ok", "denied"},
		{`{"error":"This tool call is rejected."}`, "ok", "denied"},
		{"tool cancelled by user", "error", "denied"},
		{"rm: cannot remove 'x': Permission denied", "error", "error"},
		{"The user list was not found", "error", "error"},
		{"The tool call was denied.\nBut here is what the file says.", "ok", "ok"},
		{"Access: tool execution denied rate is 3 %", "ok", "ok"},
		{"The policy says that refunds are allowed.", "ok", "ok"},
	} {
		m := newRows(t)
		m.chat("", []any{text("user", "Go.")}, []any{asks("call_X3e5yoVpVAFU1RpMUxH1cMOD", "act", map[string]any{"at": "x"})})
		m.tool("", "call_X3e5yoVpVAFU1RpMUxH1cMOD", "act", `{"at":"x"}`, tt.text, tt.status)
		b := m.build()
		for _, s := range b.Steps {
			if s.Kind == "tool_call" && s.Outcome != tt.want {
				t.Errorf("%q of a tool that ended in %s: %s, want %s", tt.text, tt.status, s.Outcome, tt.want)
			}
		}
		if want := map[bool]int32{true: 1}[tt.want == "denied"]; b.Session.NDenied != want {
			t.Errorf("%q: %d denied", tt.text, b.Session.NDenied)
		}
	}
}
