package pipeline

import (
	"fmt"
	"strings"

	"github.com/tracejury/tracejury/pipeline/report"
)

// maxWorse is how many lines of what got worse a report shows.
const maxWorse = 20

// pastOf gives the report what is known beside the run: gates, the baseline and the trend.
func (s *AggregateSummary) pastOf() {
	evaluator := s.main.run.Evaluator
	for i := range s.Gates {
		g := &s.Gates[i]
		s.Model.Gates = append(s.Model.Gates, report.Gate{Text: g.Gate, State: g.State, Detail: strings.TrimPrefix(g.detail(), g.State+": ")})
	}
	for _, t := range s.Trends {
		if t.Evaluator != evaluator {
			continue
		}
		for _, p := range t.Points {
			s.Model.Trend = append(s.Model.Trend, report.Night{AsOf: p.AsOf, RunID: p.RunID, Label: p.Label, Shared: p.Shared, Passed: p.Passed.counted(), Safe: p.Safe.counted(), Differs: p.Differs})
		}
	}
	for i := range s.Comparisons {
		c := &s.Comparisons[i]
		if c.Evaluator != evaluator {
			continue
		}
		e := &report.Earlier{Baseline: c.Baseline, Overlap: c.Overlap(), Differs: c.Forced}
		for j := range c.Changes {
			if x := &c.Changes[j]; x.Flagged && x.Change < 0 {
				e.Worse = append(e.Worse, report.Worse{Text: x.name() + ": " + x.text()})
			}
		}
		for _, t := range c.Turned {
			e.Worse = append(e.Worse, t.worse("passed before and does not now"))
		}
		for _, t := range c.NewFailed {
			e.Worse = append(e.Worse, t.worse("is new and does not pass"))
		}
		if n := len(e.Worse); n > maxWorse {
			e.Worse = append(e.Worse[:maxWorse], report.Worse{Text: fmt.Sprintf("and %d more", n-maxWorse)})
		}
		s.Model.Earlier = e
	}
}

func (r Rate) counted() report.Counted {
	return report.Counted{K: r.K, N: r.N, Rate: r.Estimate, Low: r.Low, High: r.High, Weighted: r.Weighted}
}

func (t *Turned) worse(what string) report.Worse {
	s := fmt.Sprintf("(%s) %s: %s", dash(t.Service), what, strings.Join(t.NotMet, ", "))
	if t.Same {
		s += " (the session is the same: the judge changed its mind)"
	}
	return report.Worse{Session: t.Subject, Text: s}
}

// agreement gives the report what is known of the judge beside people and beside itself.
func (s *AggregateSummary) agreement() *report.Agreement {
	out := &report.Agreement{}
	for i := range s.Evaluators {
		flips := s.Evaluators[i].Flips
		for j, f := range flips {
			if f.Criterion == "" && (j+2 >= len(flips) || flips[j+2].Criterion == "") {
				continue // of one criterion, which says the same
			}
			out.Flips = append(out.Flips, report.Flip{Evaluator: s.Evaluators[i].Evaluator, Criterion: f.Criterion, Between: fmt.Sprintf("%d %s", f.Repeats, f.Between), Items: f.Items, Rate: f.Rate})
		}
	}
	l := s.Labels
	if l == nil {
		return out
	}
	out.Labels = &report.Labels{Used: l.Used, Labels: l.Labels, Note: l.unused()}
	for i := range l.Agreements {
		a := &l.Agreements[i]
		row := report.LabelRow{Criterion: a.Criterion, Items: a.Items, Raw: a.Raw, AC1: a.AC1, Kappa: a.Kappa, Categories: a.Categories, Confusion: a.Confusion, Corrected: a.CorrectNote}
		if c := a.Corrected; c != nil {
			row.Corrected = fmt.Sprintf("%.1f%% (%.1f–%.1f%%)", 100*c.Rate, 100*c.Low, 100*c.High)
		}
		out.Labels.Rows = append(out.Labels.Rows, row)
	}
	return out
}
