package session

import (
	"strings"

	"github.com/tracejury/tracejury/judge"
)

// NeverExported says in words what the facts know was never exported; "" when nothing is.
func NeverExported(facts []judge.Fact) string {
	known := factMap(facts)
	var missing []string
	for _, content := range contents {
		if known[content.fact].Truth == judge.No {
			missing = append(missing, content.words)
		}
	}
	return strings.Join(missing, ", ")
}
