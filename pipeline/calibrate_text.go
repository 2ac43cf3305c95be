package pipeline

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/tracejury/tracejury/judge/calibration"
)

// WriteText prints the summary for a person.
func (s *CalibrateSummary) WriteText(w io.Writer) {
	s.EvaluateSummary.WriteText(w)
	if s.Sheet != "" {
		fmt.Fprintf(w, "wrote     %s (%d rows to label)\n", s.Sheet, s.Rows)
	}
	if s.DryRun || len(s.Checks) == 0 {
		return
	}
	if l := s.Labels; l != nil {
		fmt.Fprintf(w, "labels    %d of %s: %d items used", l.Labels, countOf(l.Labellers, "named labeller"), l.Used)
		for _, x := range []struct {
			n    int
			what string
		}{{l.Disputed, "items on which people are split"}, {l.Ungraded, "items without a verdict of the judge"}, {l.Unknown, "labels of what was not asked about"}, {l.Scored, "scores, which are not compared"}} {
			if x.n > 0 {
				fmt.Fprintf(w, ", %d %s", x.n, x.what)
			}
		}
		fmt.Fprintln(w)
	}
	what := fmt.Sprintf("rubric %s, %s", printable(s.Rubric, 64), countOf(s.Controls, "session"))
	if s.Suite != "" {
		what = fmt.Sprintf("%s version %d, %s", printable(s.Suite, 64), s.Version, countOf(s.Controls, "planted answer"))
	}
	fmt.Fprintf(w, "\n%s: %s\n", what, calibrationText(string(s.Status)))
	if s.Kept {
		fmt.Fprintln(w, "  as an earlier command with labels found; without labels that stays as it is")
	}
	for i := range s.Checks {
		writeCheck(w, &s.Checks[i])
	}
	fmt.Fprintf(w, "  %s\n", s.release())
}

// release says whether results of this judge may be released on.
func (s *CalibrateSummary) release() string {
	more := 0
	for _, c := range s.Checks {
		more += c.More
	}
	switch {
	case s.Status == calibration.AllPassed:
		return "The judge can be trusted for a release: its results are no longer called informational."
	case s.Status == calibration.NotPassed:
		return "The judge cannot be trusted for a release: what failed above says what to mend. Results stay informational."
	case more > 0:
		return fmt.Sprintf("Not yet known: about %d more labels are needed. Results stay informational.", more)
	}
	return "Not yet known: what is missing above is needed. Results stay informational."
}

func writeCheck(w io.Writer, c *calibration.Check) {
	name := strings.ReplaceAll(c.Check, "_", " ")
	if c.Part != "" {
		name += ", " + strings.ReplaceAll(c.Part, "_", " ")
	}
	fmt.Fprintf(w, "  %-8s%-46s%s\n", c.State, name, c.Text)
	if c.Agreement == nil {
		return
	}
	for p, row := range c.Agreement.Confusion {
		for j, n := range row {
			if n > 0 && p != j {
				fmt.Fprintf(w, "          %d: people %s, judge %s\n", n, words(calibration.Category(p)), words(calibration.Category(j)))
			}
		}
	}
}

func words(c calibration.Category) string { return strings.ReplaceAll(c.String(), "_", " ") }

// count is a number of things.
func countOf(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.Itoa(n) + " " + what
}
