package pipeline

import (
	"strings"

	"github.com/tracejury/tracejury/schema"
)

// contextNote begins a step of an earlier conversation as a judge sees it.
const contextNote = "[earlier conversation, told as history: context only, not done in this session] "

// asContext makes of a step that happened before the session what it is to a judge: a word of the harness about the past. It is
// no prompt, call, result or denial of this session, so neither facts nor criteria count it.
func asContext(st schema.Step) schema.Step {
	what := []string{st.Role, strings.ReplaceAll(st.Kind, "_", " ")}
	if st.Tool != "" {
		what = append(what, st.Tool)
	}
	if st.Outcome != "" {
		what = append(what, "("+st.Outcome+")")
	}
	text := contextNote + strings.Join(what, " ")
	for _, s := range [...]string{st.Arguments, st.Text} {
		if s != "" {
			text += ": " + s
		}
	}
	st.Role, st.Kind, st.Text = "harness", "message", text
	st.Tool, st.CallID, st.Arguments, st.Outcome, st.ExitCode = "", "", "", "", nil
	return st
}
