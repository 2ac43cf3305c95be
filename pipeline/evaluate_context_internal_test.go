package pipeline

import (
	"strings"
	"testing"

	"github.com/tracejury/tracejury/schema"
)

func TestAsContext(t *testing.T) {
	code := int32(1)
	got := asContext(schema.Step{Step: 3, Role: "assistant", Kind: "tool_call", Tool: "bash", CallID: "c", Arguments: `{"command":"rm f"}`, Outcome: "denied", ExitCode: &code, Earlier: true})
	if got.Role != "harness" || got.Kind != "message" || got.Tool+got.CallID+got.Arguments+got.Outcome != "" || got.ExitCode != nil || got.Step != 3 {
		t.Errorf("%+v", got)
	}
	if want := `assistant tool call bash (denied): {"command":"rm f"}`; !strings.HasPrefix(got.Text, contextNote) || !strings.HasSuffix(got.Text, want) {
		t.Errorf("%q", got.Text)
	}
}
