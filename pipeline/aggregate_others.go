package pipeline

import (
	"fmt"
	"io"
	"strings"

	"github.com/tracejury/tracejury/schema"
)

// writeOthers prints a row for each evaluator beside the main one, and the mean of every criterion that is scored.
func (s *AggregateSummary) writeOthers(w io.Writer) {
	head := false
	row := func(name, rate, interval, share, mean string) {
		if !head {
			head = true
			fmt.Fprintf(w, "\n%-32s%10s%17s%12s   %s\n", "Evaluator", "passed", "interval", "", "mean score")
		}
		fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("%-32s%10s%17s%12s   %s", printable(strings.ReplaceAll(name, "_", " "), 31), rate, interval, share, mean), " "))
	}
	for _, p := range s.parts {
		rate, interval, share := "–", "–", "no bar set"
		if p.run.State == "no_result" {
			if p != s.main {
				row(p.run.Evaluator, "–", "–", "no result", "")
			}
			continue
		}
		if a := findAggregate(p.aggs, overallGroup, "", metricPassed); a != nil && a.N > 0 {
			rate, interval, share = percentOf(a.Estimate), rangeOf(a, percentOf), fmt.Sprintf("%d of %d", a.Met, a.N)
			if len(p.run.Strata) > 0 {
				rate += " †"
			}
		} else if a != nil && a.Undecided+a.NotApplicable > 0 && !scored(p.aggs) {
			share = fmt.Sprintf("%d undecided", a.Undecided)
		}
		if p != s.main {
			row(p.run.Evaluator, rate, interval, share, meanOf(p.aggs, p.rubric.Criteria[0].ID, len(p.rubric.Criteria) == 1))
		}
		if len(p.rubric.Criteria) == 1 && p != s.main {
			continue
		}
		for _, c := range p.rubric.Criteria {
			if mean := meanOf(p.aggs, c.ID, true); mean != "" {
				row("  "+c.ID, "", "", "", mean)
			}
		}
	}
}

func scored(aggs []schema.Aggregate) bool {
	for i := range aggs {
		if aggs[i].Metric == metricMeanScore {
			return true
		}
	}
	return false
}

// meanOf is the mean score of a criterion with its interval; "" where it has none or none is wanted.
func meanOf(aggs []schema.Aggregate, criterion string, wanted bool) string {
	a := findAggregate(aggs, "criterion", criterion, metricMeanScore)
	if a == nil || !wanted || a.Estimate == nil {
		return ""
	}
	point := func(v *float64) string { return fmt.Sprintf("%.2f", *v) }
	text := point(a.Estimate)
	if a.Low != nil && a.High != nil {
		text += fmt.Sprintf(" (%s)", rangeOf(a, point))
	}
	text += fmt.Sprintf(" of %d", a.N)
	if strings.HasPrefix(a.Reason, weightedReason) {
		text += " †"
	}
	return text
}

// findAggregate is the primary row of a group and metric.
func findAggregate(aggs []schema.Aggregate, by, group, metric string) *schema.Aggregate {
	for i := range aggs {
		if a := &aggs[i]; a.Primary && a.GroupBy == by && a.Group == group && a.Metric == metric {
			return a
		}
	}
	return nil
}

func percentOf(v *float64) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf("%.1f%%", 100**v)
}

func rangeOf(a *schema.Aggregate, text func(*float64) string) string {
	if a.Low == nil || a.High == nil {
		return "–"
	}
	return text(a.Low) + " to " + text(a.High)
}
