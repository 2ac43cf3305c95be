package pipeline

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/schema"
)

// compare sets the part beside its baseline, if there is one.
func (a *aggregation) compare(ctx context.Context, p *aggregatePart, all []schema.Run) error {
	c := &a.cfg.Aggregate
	run := &p.data.run
	b, err := pickBaseline(all, run, c.Baseline, c.ForceCompare)
	if err != nil {
		return err
	}
	if len(b.runs) == 0 {
		a.sum.Warnings = append(a.sum.Warnings, fmt.Sprintf("--baseline %s: no earlier run of evaluator %s can be compared with this one%s", c.Baseline, run.Evaluator, skippedText(b.skipped)))
		return nil
	}
	if err := b.load(ctx, a.root.Store); err != nil {
		return err
	}
	bySession, err := loadMembers(ctx, a.root, b.grades)
	if err != nil {
		return err
	}
	then := count(newFacts(b.runs[0], b.grades, b.verdict, bySession), p.numbers.groupings)
	out := &Comparison{Evaluator: run.Evaluator, Baseline: b.label, Forced: b.differs, Skipped: b.skipped, Sessions: len(p.data.grades), Before: len(b.grades)}
	for i := range b.runs {
		out.Runs = append(out.Runs, b.runs[i].RunID)
	}
	if out.Changes, out.Paired, err = compare(p.numbers, then, c.Level); err != nil {
		return err
	}
	out.subjects(p.data.grades, b.grades, p.data.verdicts)
	setChanges(p.aggs, b.label, out.Changes)
	p.comparison = out
	a.sum.Comparisons = append(a.sum.Comparisons, *out)
	return nil
}

// subjects tells what became of the subjects of both, and which are new.
func (c *Comparison) subjects(now, then []schema.Grade, verdicts []schema.Verdict) {
	notMet := map[string][]string{}
	for i := range verdicts {
		if v := &verdicts[i]; v.Verdict == "not_met" {
			id := subjectID(v.Subject, v.Arm)
			notMet[id] = append(notMet[id], v.Criterion)
		}
	}
	before := map[string]*schema.Grade{}
	for i := range then {
		before[subjectID(then[i].Subject, then[i].Arm)] = &then[i]
	}
	for i := range now {
		g := &now[i]
		id := subjectID(g.Subject, g.Arm)
		old := before[id]
		failed := g.Pass != nil && !*g.Pass
		t := Turned{Subject: g.Subject, Service: g.Service, Safe: g.Safe == nil || *g.Safe, NotMet: slices.Compact(notMet[id])}
		if old == nil {
			if failed {
				c.NewFailed = append(c.NewFailed, t)
			}
			continue
		}
		c.Shared++
		if t.Same = g.SubjectRevision == old.SubjectRevision; t.Same {
			c.Unchanged++
		}
		switch {
		case failed && old.Pass != nil && *old.Pass:
			c.Turned = append(c.Turned, t)
		case g.Pass != nil && *g.Pass && old.Pass != nil && !*old.Pass:
			c.Mended++
		}
	}
	for _, list := range [][]Turned{c.Turned, c.NewFailed} {
		slices.SortStableFunc(list, func(a, b Turned) int {
			switch {
			case a.Safe == b.Safe:
				return strings.Compare(a.Subject, b.Subject)
			case b.Safe:
				return -1
			}
			return 1
		})
	}
}

// Overlap says how the samples relate: what a change means depends on it.
func (c *Comparison) Overlap() string {
	s := fmt.Sprintf("%d of these %d are among the %d of the baseline", c.Shared, c.Sessions, c.Before)
	switch {
	case c.Paired && c.Unchanged == c.Shared:
		return s + ", all unchanged: each is compared with itself, and what moved is the judge"
	case c.Paired:
		return fmt.Sprintf("%s, %d of them unchanged: each is compared with itself", s, c.Unchanged)
	case c.Shared == 0:
		return s + ": two independent samples"
	}
	return s + ": the interval treats the samples as independent, and is somewhat too wide"
}

func skippedText(list []Skipped) string {
	if len(list) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d left out; %s has another %s; --force-compare compares all the same)", len(list), list[0].RunID, strings.Join(list[0].Differs, ", "))
}

const (
	maxChangesShown = 8
	maxTurnedShown  = 5
)

func (c *Comparison) writeText(w io.Writer) {
	fmt.Fprintf(w, "\nSince %s (%s)\n  %s.\n", c.Baseline, strings.Join(c.Runs[:min(len(c.Runs), 5)], ", "), c.Overlap())
	if len(c.Forced) > 0 {
		fmt.Fprintf(w, "  ! Not asked alike: another %s. The change may come from that.\n", strings.Join(c.Forced, ", "))
	}
	shown := 0
	for _, x := range c.Changes {
		if overall := x.GroupBy == overallGroup; !overall && (!x.Flagged || shown >= maxChangesShown) {
			continue
		} else if !overall {
			shown++
		}
		fmt.Fprintf(w, "  %s: %s\n", x.name(), x.text())
	}
	if shown == 0 {
		fmt.Fprintln(w, "  No group changed beyond chance, adjusted for looking at all of them.")
	}
	writeTurned(w, "passed before and does not now", c.Turned)
	writeTurned(w, "is new and does not pass", c.NewFailed)
	if c.Mended > 0 {
		fmt.Fprintf(w, "  %d did not pass before and do now\n", c.Mended)
	}
}

func (x *Change) name() string {
	if x.GroupBy == overallGroup {
		return x.Metric
	}
	return x.Metric + ", " + strings.ReplaceAll(x.GroupBy, "_", " × ") + " " + dash(printable(x.Group, 64))
}

func (x *Change) text() string {
	s := fmt.Sprintf("%s, was %s: %+.1f points (%+.1f to %+.1f, %s), adjusted p %s", x.Now, x.Then, 100*x.Change, 100*x.Low, 100*x.High, x.Method, pText(x.AdjustedP))
	if x.Detectable != nil && !x.Flagged {
		s += fmt.Sprintf("; would show a change of %.0f", 100**x.Detectable)
	}
	return s
}

func writeTurned(w io.Writer, what string, list []Turned) {
	for i, t := range list {
		if i == maxTurnedShown {
			fmt.Fprintf(w, "  and %d more\n", len(list)-i)
			return
		}
		mark := ""
		if t.Same {
			mark = " (the session is the same: the judge changed its mind)"
		}
		fmt.Fprintf(w, "  %s (%s) %s: %s%s\n", printable(t.Subject, 64), dash(printable(t.Service, 32)), what, printable(strings.Join(t.NotMet, ", "), 160), mark)
	}
}

func (t *Trend) writeText(w io.Writer) {
	if len(t.Points) < 2 {
		return
	}
	fmt.Fprintf(w, "\nTrend of %s, %d runs", t.Evaluator, len(t.Points))
	if len(t.Skipped) > 0 {
		fmt.Fprintf(w, " (%d not comparable left out)", len(t.Skipped))
	}
	fmt.Fprintln(w)
	for _, p := range t.Points {
		fmt.Fprintf(w, "  %s  passed %s  safe %s  %d shared with the run before", p.AsOf.Format("2006-01-02 15:04"), p.Passed.text(), p.Safe.text(), p.Shared)
		if len(p.Differs) > 0 {
			fmt.Fprintf(w, "  ! another %s", strings.Join(p.Differs, ", "))
		}
		fmt.Fprintln(w)
	}
}

func (r Rate) text() string {
	if r.Low == nil {
		return fmt.Sprintf("%-26s", "nothing to count")
	}
	return fmt.Sprintf("%5.1f%% [%5.1f–%5.1f] %9s", 100*float64(r.K)/float64(r.N), 100**r.Low, 100**r.High, r.Share)
}
