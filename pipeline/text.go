package pipeline

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// WriteText prints the summary for a person.
func (s *IngestSummary) WriteText(w io.Writer) {
	c := &s.Counts
	fmt.Fprintf(w, "objects   %d listed, %d new%s\n", c.Listed, c.New, byName(c.Objects, ": "))
	if c.New > 0 {
		fmt.Fprintf(w, "records   %d = %d written + %d duplicate + %d filtered%s + %d quarantined\n", c.Records, c.Written, c.Duplicates, c.Filtered, parens(byName(c.FilteredBy, "")), c.Quarantined)
		fmt.Fprintf(w, "sessions  %d written", c.Sessions)
		if c.Moved > 0 {
			fmt.Fprintf(w, ", %d moved to another key", c.Moved)
		}
		fmt.Fprintln(w)
	}
	if c.NoIDs > 0 {
		fmt.Fprintf(w, "ids       %d spans without an id were kept under one made from their content\n", c.NoIDs)
	}
	if len(c.Masked) > 0 {
		fmt.Fprintf(w, "masked    %s\n", byName(c.Masked, ""))
	}
	if c.Expired > 0 {
		fmt.Fprintf(w, "expired   content of %d days deleted\n", c.Expired)
	}
	if s.Commit >= 0 {
		fmt.Fprintf(w, "commit    %d in %s\n", s.Commit, s.Data)
	} else {
		fmt.Fprintf(w, "commit    none: nothing new for %s\n", s.Data)
	}
}

// byName lists counts as "3 ok, 1 partial".
func byName(m map[string]int64, prefix string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if m[k] != 0 {
			parts = append(parts, fmt.Sprintf("%d %s", m[k], k))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return prefix + strings.Join(parts, ", ")
}

func parens(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

