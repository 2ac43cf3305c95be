package pipeline

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/pipeline/stats"
	"github.com/tracejury/tracejury/schema"
)

// PairedResult is what skills changed on the tasks of a suite.
type PairedResult struct {
	Suite         string        `json:"suite"`
	SuiteVersion  int           `json:"suite_version"`
	Sealed        bool          `json:"sealed"`
	AgentModel    string        `json:"agent_model"`
	Skills        []string      `json:"skills"`
	Calibration   string        `json:"calibration"` // of rubric, judge and rendering
	Informational bool          `json:"informational"`
	State         string        `json:"state"`
	Overall       *PairedGroup  `json:"overall,omitempty"` // nil without a result
	ByKind        []PairedGroup `json:"by_kind,omitempty"`
	ByCategory    []PairedGroup `json:"by_category,omitempty"`
	Gained        []string      `json:"gained"`   // ids of tasks that passed with the skills only
	Lost          []string      `json:"lost"`     // without them only
	Ungraded      []string      `json:"ungraded"` // not graded in at least one arm
	Reading       string        `json:"reading"`  // what may be said of it, in one sentence
}

// PairedGroup is the result on some of the tasks. Changes are shares of 1: 0.1 is ten points.
type PairedGroup struct {
	Group         string       `json:"group"`
	Tasks         int          `json:"tasks"` // graded in both arms: the denominator of everything here
	Ungraded      int          `json:"ungraded"`
	PassedWithout int          `json:"passed_without"`
	PassedWith    int          `json:"passed_with"`
	Gained        int          `json:"gained"`
	Lost          int          `json:"lost"`
	Change        float64      `json:"change"`
	Interval      PairedRange  `json:"interval"`       // Tango: the one to print
	Bootstrap     PairedRange  `json:"bootstrap"`      // exact percentile, beside it
	P             float64      `json:"p"`              // McNemar mid-p
	Test          string       `json:"test"`           //
	UnsafeWithout int          `json:"unsafe_without"` // answers that did not meet an item of safety
	UnsafeWith    int          `json:"unsafe_with"`    //
	ScoreWithout  *float64     `json:"score_without"`  // mean
	ScoreWith     *float64     `json:"score_with"`     //
	pairs         stats.Pairs  //
	scores        [2][]float64 //
}

// PairedRange is an interval of a change.
type PairedRange struct {
	Low          float64 `json:"low"`
	High         float64 `json:"high"`
	Level        float64 `json:"level"`
	Method       string  `json:"method"`
	FallbackFrom string  `json:"fallback_from,omitempty"`
}

// taskPair is both arms of a task.
type taskPair struct{ without, with *schema.Grade }

func (p taskPair) graded() bool {
	ok := func(g *schema.Grade) bool { return g != nil && g.State == "graded" && g.Pass != nil }
	return ok(p.without) && ok(p.with)
}

// pairedResult compares the arms of a run. Of a run without a result it says only which tasks have no grade.
func pairedResult(run *schema.Run, grades []schema.Grade, level float64) (*PairedResult, error) {
	out := &PairedResult{Suite: run.Suite, SuiteVersion: int(run.SuiteVersion), Sealed: run.SuiteSealed, AgentModel: run.AgentModel, Skills: run.TaskSkills,
		Calibration: run.Calibration, Informational: run.Calibration != "passed", State: run.State, Gained: []string{}, Lost: []string{}, Ungraded: []string{}}
	pairs := map[string]*taskPair{}
	for i := range grades {
		g := &grades[i]
		if g.Evaluator != run.Evaluator {
			continue
		}
		p := pairs[g.Subject]
		if p == nil {
			p = &taskPair{}
			pairs[g.Subject] = p
		}
		if g.Arm == evaluator.ArmWith {
			p.with = g
		} else {
			p.without = g
		}
	}
	all := &PairedGroup{}
	kinds, categories := map[string]*PairedGroup{}, map[string]*PairedGroup{}
	for _, id := range sortedKeys(pairs) {
		p := pairs[id]
		one := p.without
		if one == nil {
			one = p.with
		}
		all.add(p)
		groupOf(kinds, one.TaskKind).add(p)
		groupOf(categories, one.Category).add(p)
		switch {
		case !p.graded():
			out.Ungraded = append(out.Ungraded, id)
		case *p.with.Pass && !*p.without.Pass:
			out.Gained = append(out.Gained, id)
		case !*p.with.Pass && *p.without.Pass:
			out.Lost = append(out.Lost, id)
		}
	}
	if run.State == "no_result" || run.State == "failed" || overUngradedLimit(len(out.Ungraded), len(pairs)) || len(pairs) == 0 {
		out.Gained, out.Lost = []string{}, []string{}
		out.Reading = "No result: " + ungradedText(len(out.Ungraded), len(pairs))
		return out, nil
	}
	if err := all.finish(level); err != nil {
		return nil, err
	}
	out.Overall = all
	for _, split := range []struct {
		from map[string]*PairedGroup
		to   *[]PairedGroup
	}{{kinds, &out.ByKind}, {categories, &out.ByCategory}} {
		for _, name := range sortedKeys(split.from) {
			g := split.from[name]
			if err := g.finish(level); err != nil {
				return nil, err
			}
			*split.to = append(*split.to, *g)
		}
	}
	out.Reading = all.reading()
	return out, nil
}

func ungradedText(ungraded, tasks int) string {
	if tasks == 0 {
		return "no task was attempted."
	}
	return fmt.Sprintf("%d of %d tasks could not be graded in both arms (at most 10 %% are allowed).", ungraded, tasks)
}

func groupOf(m map[string]*PairedGroup, name string) *PairedGroup {
	if m[name] == nil {
		m[name] = &PairedGroup{Group: name}
	}
	return m[name]
}

func (g *PairedGroup) add(p *taskPair) {
	if !p.graded() {
		g.Ungraded++
		return
	}
	g.Tasks++
	switch without, with := *p.without.Pass, *p.with.Pass; {
	case without && with:
		g.pairs.Both++
	case with:
		g.pairs.Gained++
	case without:
		g.pairs.Lost++
	default:
		g.pairs.Neither++
	}
	for i, one := range []*schema.Grade{p.without, p.with} {
		if one.Safe != nil && !*one.Safe {
			*[]*int{&g.UnsafeWithout, &g.UnsafeWith}[i]++
		}
		if one.Score != nil {
			g.scores[i] = append(g.scores[i], *one.Score)
		}
	}
}

// finish computes what the counts say.
func (g *PairedGroup) finish(level float64) error {
	p := g.pairs
	g.PassedWithout, g.PassedWith, g.Gained, g.Lost, g.Change = p.Both+p.Lost, p.Both+p.Gained, p.Gained, p.Lost, p.Difference()
	tango, err := stats.Tango(p, level)
	if err != nil {
		return fmt.Errorf("interval of the change: %w", err)
	}
	boot, err := stats.BootstrapPaired(p, level)
	if err != nil {
		return fmt.Errorf("bootstrap of the change: %w", err)
	}
	test, err := stats.McNemarMidP(p.Gained, p.Lost)
	if err != nil {
		return fmt.Errorf("test of the change: %w", err)
	}
	g.Interval, g.Bootstrap = rangeFrom(tango), rangeFrom(boot)
	g.P, g.Test = test.P, test.Method
	g.ScoreWithout, g.ScoreWith = meanFloat(g.scores[0]), meanFloat(g.scores[1])
	return nil
}

func rangeFrom(iv stats.Interval) PairedRange {
	return PairedRange{iv.Low, iv.High, iv.Level, iv.Method, iv.FallbackFrom}
}

// meanFloat is the mean in the order given; nil of nothing.
func meanFloat(values []float64) *float64 {
	if len(values) == 0 {
		return nil
	}
	total := 0.0
	for _, v := range values {
		total += v
	}
	return new(total / float64(len(values)))
}

// reading says what an interval allows to be said.
func (g *PairedGroup) reading() string {
	level := 100 * g.Interval.Level
	switch {
	case g.Tasks == 0:
		return "No task is graded in both arms."
	case g.Interval.Low > 0:
		return fmt.Sprintf("With the skills more tasks passed; the %.0f %% interval of the change lies above zero.", level)
	case g.Interval.High < 0:
		return fmt.Sprintf("With the skills fewer tasks passed; the %.0f %% interval of the change lies below zero.", level)
	}
	return fmt.Sprintf("The %.0f %% interval of the change includes zero: this run does not show that the skills helped or hurt.", level)
}

// writeText prints the result for a person.
func (r *PairedResult) writeText(w io.Writer) {
	sealed := ""
	if r.Sealed {
		sealed = ", sealed"
	}
	skills := make([]string, len(r.Skills))
	for i, s := range r.Skills {
		skills[i] = printable(s, 48)
	}
	fmt.Fprintf(w, "\n%s version %d%s, answered by %s\n", printable(r.Suite, 64), r.SuiteVersion, sealed, printable(r.AgentModel, 100))
	fmt.Fprintf(w, "  with the skills %s\n", strings.Join(skills, ", "))
	if r.Informational {
		fmt.Fprintf(w, "  %s: this result is informational until the five checks have passed for its rubric, judge and rendering\n", calibrationText(r.Calibration))
	} else {
		fmt.Fprintln(w, "  Calibrated: the five checks have passed for its rubric, judge and rendering")
	}
	if r.Overall == nil {
		fmt.Fprintf(w, "  %s\n", r.Reading)
		writeIDs(w, "ungraded", r.Ungraded)
		return
	}
	fmt.Fprintf(w, "\n%-26s%7s%9s%7s%8s%6s%9s  %-20s%s\n", "", "tasks", "without", "with", "gained", "lost", "change", "interval", "p")
	r.Overall.writeRow(w, "all tasks")
	for _, g := range r.ByKind {
		g.writeRow(w, "- "+strings.ReplaceAll(g.Group, "_", " "))
	}
	if len(r.ByCategory) > 1 || len(r.ByCategory) == 1 && r.ByCategory[0].Group != "" {
		for _, g := range r.ByCategory {
			g.writeRow(w, "- "+dash(g.Group))
		}
	}
	o := r.Overall
	fmt.Fprintf(w, "\n  %s\n", r.Reading)
	fmt.Fprintf(w, "  interval: Tango's score interval over the %d pairs of this run, not between runs; bootstrap beside it %+.1f to %+.1f points; p: McNemar, mid-p\n", o.Tasks, 100*o.Bootstrap.Low, 100*o.Bootstrap.High)
	fmt.Fprintf(w, "  unsafe answers: %d without, %d with; mean score %s without, %s with\n", o.UnsafeWithout, o.UnsafeWith, pointText(o.ScoreWithout), pointText(o.ScoreWith))
	writeIDs(w, "gained", r.Gained)
	writeIDs(w, "lost", r.Lost)
	writeIDs(w, "ungraded", r.Ungraded)
}

func (g *PairedGroup) writeRow(w io.Writer, name string) {
	if g.Tasks == 0 {
		fmt.Fprintf(w, "%-26s%7d  none graded in both arms\n", printable(name, 25), 0)
		return
	}
	fmt.Fprintf(w, "%-26s%7d%9d%7d%8d%6d%9s  %-20s%s\n", printable(name, 25), g.Tasks, g.PassedWithout, g.PassedWith, g.Gained, g.Lost, fmt.Sprintf("%+.1f", 100*g.Change),
		fmt.Sprintf("%+.1f to %+.1f", 100*g.Interval.Low, 100*g.Interval.High), pText(g.P))
}

func pointText(v *float64) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf("%.2f", *v)
}

// maxIDs is how many tasks are named on a terminal.
const maxIDs = 20

func writeIDs(w io.Writer, what string, ids []string) {
	if len(ids) == 0 {
		return
	}
	shown := slices.Clone(ids[:min(len(ids), maxIDs)])
	for i, id := range shown {
		shown[i] = printable(id, 64)
	}
	more := ""
	if n := len(ids) - len(shown); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	fmt.Fprintf(w, "  %s: %s%s\n", what, strings.Join(shown, ", "), more)
}
