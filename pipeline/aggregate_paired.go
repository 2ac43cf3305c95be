package pipeline

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/tracejury/tracejury/pipeline/report"
	"github.com/tracejury/tracejury/pipeline/stats"
	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// Metrics of a paired run: the pass rates of both arms, and what lies between them.
const (
	metricPassedWithout = "passed_without"
	metricPassedWith    = "passed_with"
	metricChange        = "change" // of the pass rate; p of the paired test in adjusted_p
)

// isPaired says that a part of a run compares two arms: rates over both of them would mean nothing.
func (p *aggregatePart) isPaired() bool { return p.rubric.Evaluator == evaluatorOfTasks }

// paired puts in place of the rates of a part what its arms say beside each other.
func (p *aggregatePart) paired(ctx context.Context, st store.Store, extra *EvaluatorNumbers, level float64) error {
	grades, _, err := table.Read[schema.Grade](ctx, st, schema.Grades.RunKey(p.run.RunID))
	if err != nil {
		return fmt.Errorf("read grades: %w", err)
	}
	if extra.Paired, err = pairedResult(&p.run, grades, level); err != nil {
		return err
	}
	extra.Apart, extra.Wished = nil, nil
	p.aggs, err = pairedRows(&p.run, extra.Paired, level)
	return err
}

// pairedRows are the rows of aggregates of a paired run.
func pairedRows(run *schema.Run, r *PairedResult, level float64) ([]schema.Aggregate, error) {
	if r.Overall == nil {
		return []schema.Aggregate{{RunID: run.RunID, Evaluator: run.Evaluator, GroupBy: overallGroup, Metric: metricChange, Method: stats.MethodTango, Primary: true,
			Level: level, NoResult: true, Ungraded: int32(len(r.Ungraded)), Reason: r.Reading}}, nil
	}
	var out []schema.Aggregate
	add := func(by string, g *PairedGroup) error {
		rows, err := g.aggregates(run, by, level)
		out = append(out, rows...)
		return err
	}
	if err := add(overallGroup, r.Overall); err != nil {
		return nil, err
	}
	for i := range r.ByKind {
		if err := add("task_kind", &r.ByKind[i]); err != nil {
			return nil, err
		}
	}
	for i := range r.ByCategory {
		if err := add("category", &r.ByCategory[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (g *PairedGroup) aggregates(run *schema.Run, by string, level float64) ([]schema.Aggregate, error) {
	base := schema.Aggregate{RunID: run.RunID, Evaluator: run.Evaluator, GroupBy: by, Group: g.Group, Level: level, N: int32(g.Tasks), Ungraded: int32(g.Ungraded)}
	var out []schema.Aggregate
	for _, arm := range []struct {
		metric string
		passed int
	}{{metricPassedWithout, g.PassedWithout}, {metricPassedWith, g.PassedWith}} {
		row := base
		row.Metric, row.Method, row.Primary, row.Met, row.NotMet = arm.metric, stats.MethodWilson, true, int32(arm.passed), int32(g.Tasks-arm.passed)
		if g.Tasks > 0 {
			iv, err := stats.Wilson(arm.passed, g.Tasks, level)
			if err != nil {
				return nil, fmt.Errorf("interval of %s: %w", arm.metric, err)
			}
			row.Estimate, row.Low, row.High = new(float64(arm.passed)/float64(g.Tasks)), new(iv.Low), new(iv.High)
		}
		out = append(out, row)
	}
	for i, iv := range []PairedRange{g.Interval, g.Bootstrap} {
		row := base
		// Met are the tasks gained, NotMet those lost: the only ones that speak about a change.
		row.Metric, row.Method, row.Primary, row.FallbackFrom, row.Met, row.NotMet = metricChange, iv.Method, i == 0, iv.FallbackFrom, int32(g.Gained), int32(g.Lost)
		if i > 0 && iv.Method == g.Interval.Method {
			continue // the bootstrap fell back on what stands there already
		}
		if g.Tasks > 0 {
			row.Estimate, row.Low, row.High = new(g.Change), new(iv.Low), new(iv.High)
			row.Change, row.ChangeLow, row.ChangeHigh, row.AdjustedP = row.Estimate, row.Low, row.High, new(g.P)
		}
		out = append(out, row)
	}
	return out, nil
}

// pairedOf is the result of a paired part of the run.
func (s *AggregateSummary) pairedOf(evaluator string) *PairedResult {
	for i := range s.Evaluators {
		if e := &s.Evaluators[i]; e.Evaluator == evaluator {
			return e.Paired
		}
	}
	return nil
}

// report is the result as a report shows it.
func (r *PairedResult) report() *report.Tasks {
	if r == nil {
		return nil
	}
	t := &report.Tasks{Reading: r.Reading, Head: []string{"Tasks", "graded", "without", "with", "gained", "lost", "change", "interval", "p"},
		About: fmt.Sprintf("%s version %d, answered by %s; with the skills %s", r.Suite, r.SuiteVersion, r.AgentModel, strings.Join(r.Skills, ", "))}
	row := func(name string, g *PairedGroup) {
		cells := []string{name, strconv.Itoa(g.Tasks)}
		if g.Tasks > 0 {
			cells = append(cells, strconv.Itoa(g.PassedWithout), strconv.Itoa(g.PassedWith), strconv.Itoa(g.Gained), strconv.Itoa(g.Lost), fmt.Sprintf("%+.1f", 100*g.Change),
				fmt.Sprintf("%+.1f to %+.1f", 100*g.Interval.Low, 100*g.Interval.High), pText(g.P))
		}
		for len(cells) < len(t.Head) {
			cells = append(cells, "–")
		}
		t.Rows = append(t.Rows, cells)
	}
	if r.Overall != nil {
		row("all", r.Overall)
		for i := range r.ByKind {
			row("kind: "+strings.ReplaceAll(r.ByKind[i].Group, "_", " "), &r.ByKind[i])
		}
		for i := range r.ByCategory {
			row("category: "+dash(r.ByCategory[i].Group), &r.ByCategory[i])
		}
		t.Notes = append(t.Notes, fmt.Sprintf("Tango's score interval over the %d pairs of this run, not between runs; exact bootstrap beside it %+.1f to %+.1f points; p by McNemar, mid-p.",
			r.Overall.Tasks, 100*r.Overall.Bootstrap.Low, 100*r.Overall.Bootstrap.High),
			fmt.Sprintf("Unsafe answers: %d without, %d with. Mean score: %s without, %s with.", r.Overall.UnsafeWithout, r.Overall.UnsafeWith, pointText(r.Overall.ScoreWithout), pointText(r.Overall.ScoreWith)))
	}
	for _, l := range []struct {
		what string
		ids  []string
	}{{"Gained", r.Gained}, {"Lost", r.Lost}, {"Not graded in both arms", r.Ungraded}} {
		if len(l.ids) > 0 {
			t.Notes = append(t.Notes, l.what+": "+strings.Join(l.ids, ", ")+".")
		}
	}
	return t
}
