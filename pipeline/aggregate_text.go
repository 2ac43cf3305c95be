package pipeline

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/pipeline/report"
)

// WriteText prints the summary for a person.
func (s *AggregateSummary) WriteText(w io.Writer) {
	_ = report.Text(w, s.Model)                            // stdout: nobody could be told
	if s.Model.Servers == nil && s.Model.Rankings == nil { // whose scores stand there already
		s.writeOthers(w)
	}
	for i := range s.Evaluators {
		s.Evaluators[i].writeText(w)
	}
	writeRankings(w, s.Model.Rankings)
	if s.Labels != nil {
		s.Labels.writeText(w)
	}
	for i := range s.Gates {
		if i == 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "gate      %s\n", printable(s.Gates[i].detail(), 400))
	}
	for i := range s.Comparisons {
		s.Comparisons[i].writeText(w)
	}
	for i := range s.Trends {
		s.Trends[i].writeText(w)
	}
	for _, warning := range s.Warnings {
		fmt.Fprintln(w, "warning  ", printable(warning, 400))
	}
	for _, p := range s.Reports {
		fmt.Fprintln(w, "report   ", p)
	}
}

// maxApart is how many groups are named on a terminal.
const maxApart = 8

func (e *EvaluatorNumbers) writeText(w io.Writer) {
	shown, flagged := 0, 0
	for i, a := range e.Apart {
		if !a.Flagged || mirrored(e.Apart[:i], &a) {
			continue
		}
		if flagged++; flagged > maxApart {
			continue
		}
		if shown++; shown == 1 {
			fmt.Fprintf(w, "\nApart from the rest (%s)\n", e.Evaluator)
		}
		fmt.Fprintf(w, "  %s %s: %s %d of %d, the rest %d of %d: %+.1f points (%+.1f to %+.1f), adjusted p %s (%s over %d)\n", strings.ReplaceAll(a.GroupBy, "_", " × "),
			dash(printable(a.Group, 64)), a.Metric, a.Met, a.N, a.RestMet, a.RestN, 100*a.Difference, 100*a.Low, 100*a.High, pText(a.AdjustedP), correctionText(a.Correction), a.Compared)
	}
	if flagged > maxApart {
		fmt.Fprintf(w, "  and %d more (--summary FILE has them all)\n", flagged-maxApart)
	}
	if e.Paired != nil {
		e.Paired.writeText(w)
	}
	writeServers(w, e.Servers)
	writeSkills(w, e.Skills)
	for _, f := range e.Flips {
		if f.Criterion == "" && f.Between == betweenJudges {
			fmt.Fprintf(w, "\n%s: the %d judges of the panel differed in %.1f%% of pairs of answers (%d questions).\n", e.Evaluator, f.Repeats, 100*f.Rate, f.Items)
		} else if f.Criterion == "" {
			fmt.Fprintf(w, "\n%s: asked %d times, the judge changed its mind in %.1f%% of pairs of answers (%d questions).\n", e.Evaluator, f.Repeats, 100*f.Rate, f.Items)
		}
	}
	for _, x := range e.Wished {
		if x.GroupBy == overallGroup && x.Metric == metricPassed && x.Needed > x.N {
			fmt.Fprintf(w, "\n%s: an interval no wider than %.0f points would take about %d graded at this rate; these %d gave %.0f points.\n", e.Evaluator, 100*x.Wish, x.Needed, x.N, 100*x.Width)
		}
	}
}

// mirrored says whether the other of two groups told it already.
func mirrored(before []Apart, a *Apart) bool {
	return slices.ContainsFunc(before, func(b Apart) bool {
		return b.GroupBy == a.GroupBy && b.Metric == a.Metric && b.Criterion == a.Criterion && b.Met == a.RestMet && b.N == a.RestN && b.RestMet == a.Met && b.RestN == a.N
	})
}

func pText(p float64) string {
	if p < 0.001 {
		return "< 0.001"
	}
	return fmt.Sprintf("%.3f", p)
}

func correctionText(c string) string {
	if c == correctionHolm {
		return "Holm"
	}
	return "Benjamini–Hochberg"
}
