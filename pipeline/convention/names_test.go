package convention

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestNamesOfHarnesses keeps the values of sessions.harness uniform, and the list of them on the page of ingest whole.
func TestNamesOfHarnesses(t *testing.T) {
	readme, err := os.ReadFile("../../cmd/ingest/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range All() {
		if !regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`).MatchString(c.Name()) {
			t.Errorf("%s is not in lower snake case", c.Name())
		}
		if !strings.Contains(string(readme), "`"+c.Name()+"`") {
			t.Errorf("%s is not in the list of harnesses of cmd/ingest/README.md", c.Name())
		}
	}
	r := spanOf("@arizeai/openinference-instrumentation-claude-agent-sdk.v2", "x", "openinference.span.kind", "CHAIN")
	OpenInference{}.Events(r, func(e Event) {
		if id, ok := e.(*Identity); ok && id.Harness != "openinference_claude_agent_sdk_v2" {
			t.Errorf("harness %q", id.Harness)
		}
	})
}
