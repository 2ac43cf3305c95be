package session

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What looks at a text before an expression does never keeps a match from it.
func TestPrefiltersLoseNoMatch(t *testing.T) {
	word := rapid.SampledFrom(strings.Fields(`denied Rejects BLOCKED forbidden disallows declined refused not allowed permitted doesn't want didn't allow approve accept prevents approved permission to use claude requested permissions but you haven't granted has been by policy user hook rule
		Unknown tool no such Tool "x" is not found invalid call InputValidationError model tried to unavailable Error: an error occurred exception
		Traceback (most recent Permission ENOENT <tool_use_error> unſuch toolK é prose of any other kind`))
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Repeat("x", rapid.IntRange(0, 118).Draw(t, "far")) + strings.Join(rapid.SliceOfN(word, 1, 30).Draw(t, "words"), " ")
		if rapid.Bool().Draw(t, "near") {
			s = strings.TrimLeft(s, "x")
		}
		if (deniedBy.MatchString(s) || byDenied.MatchString(s) || noPermission.MatchString(s)) && !mayDeny(s) {
			t.Fatalf("mayDeny loses %q", s)
		}
		if line, _ := firstLine(s); refusedToolLine.MatchString(line) != refusedTool(s) {
			t.Fatalf("refusedTool loses %q", s)
		}
		if errorStart.MatchString(s) && !errorText(s) {
			t.Fatalf("errorText loses %q", s)
		}
	})
}
