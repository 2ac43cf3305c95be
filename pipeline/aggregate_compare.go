package pipeline

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// compare sets the part beside its baseline, if there is one.
func (a *aggregation) compare(ctx context.Context, p *aggregatePart, all []schema.Run) error {
	c := &a.cfg.Aggregate
	run := &p.run
	b, err := pickBaseline(all, run, c.Baseline, c.ForceCompare)
	if err != nil {
		return err
	}
	if len(b.runs) == 0 {
		a.sum.Warnings = append(a.sum.Warnings, fmt.Sprintf("--baseline %s: no earlier run of evaluator %s can be compared with this one%s", c.Baseline, run.Evaluator, skippedText(b.skipped)))
		return nil
	}
	f, err := scanFacts(ctx, a.root, b.runs, true)
	if err != nil {
		return fmt.Errorf("read baseline %s: %w", b.label, err)
	}
	then := count(f, p.numbers.groupings)
	out := &Comparison{Evaluator: run.Evaluator, Baseline: b.label, Forced: b.differs, Skipped: b.skipped, Sessions: len(p.numbers.facts.subjects), Before: len(f.subjects)}
	for i := range b.runs {
		out.Runs = append(out.Runs, b.runs[i].RunID)
	}
	if out.Changes, out.Paired, err = compare(p.numbers, then, c.Level); err != nil {
		return err
	}
	if err := a.compareSubjects(ctx, out, run, b.runs); err != nil {
		return err
	}
	setChanges(p.aggs, b.label, out.Changes)
	p.comparison = out
	a.sum.Comparisons = append(a.sum.Comparisons, *out)
	return nil
}

// brief is what a comparison of subjects needs of a grade.
type brief struct {
	Evaluator       string `parquet:"evaluator,dict"`
	Subject         string `parquet:"subject"`
	Arm             string `parquet:"arm,dict"`
	SubjectRevision string `parquet:"subject_revision,optional"`
	Service         string `parquet:"service,optional,dict"`
	Pass            *bool  `parquet:"pass,optional"`
	Safe            *bool  `parquet:"safe,optional"`
}

func (b *brief) id() string { return subjectID(b.Subject, b.Arm) }

// readBriefs reads the grades of runs. A subject that several of them graded counts once, as the first of them says.
func readBriefs(ctx context.Context, st store.Store, runs []schema.Run) ([]brief, error) {
	var out []brief
	seen := map[string]bool{}
	for i := range runs {
		r := &runs[i]
		rows, err := table.ReadWhere(ctx, st, schema.Grades.RunKey(r.RunID), func(g *brief) bool { return g.Evaluator == r.Evaluator && !seen[g.id()] })
		if err != nil {
			return nil, fmt.Errorf("read grades of run %s: %w", r.RunID, err)
		}
		for j := range rows {
			seen[rows[j].id()] = true
		}
		out = append(out, rows...)
	}
	return out, nil
}

// readNotMet names the criteria that subjects do not meet, those of all subjects where wanted is nil.
func readNotMet(ctx context.Context, st store.Store, run *schema.Run, wanted map[string]bool) (map[string][]string, error) {
	type verdict struct {
		Evaluator string `parquet:"evaluator,dict"`
		Vote      string `parquet:"vote,dict"`
		Verdict   string `parquet:"verdict,dict"`
		Subject   string `parquet:"subject"`
		Arm       string `parquet:"arm,dict"`
		Criterion string `parquet:"criterion,dict"`
	}
	out := map[string][]string{}
	_, err := table.ReadWhere(ctx, st, schema.Verdicts.RunKey(run.RunID), func(v *verdict) bool {
		if v.Evaluator != run.Evaluator || v.Vote != "final" || v.Verdict != "not_met" {
			return false
		}
		if id := subjectID(v.Subject, v.Arm); wanted == nil || wanted[id] {
			if had := out[id]; len(had) == 0 || had[len(had)-1] != v.Criterion {
				out[id] = append(had, v.Criterion)
			}
		}
		return false // nothing but the names is kept
	})
	if err != nil {
		return nil, fmt.Errorf("read verdicts of run %s: %w", run.RunID, err)
	}
	return out, nil
}

// compareSubjects tells what became of the subjects of both, and which are new.
func (a *aggregation) compareSubjects(ctx context.Context, c *Comparison, run *schema.Run, baseline []schema.Run) error {
	now, err := readBriefs(ctx, a.root.Store, []schema.Run{*run})
	if err != nil {
		return err
	}
	then, err := readBriefs(ctx, a.root.Store, baseline)
	if err != nil {
		return err
	}
	failed := map[string]bool{}
	for i := range now {
		if g := &now[i]; g.Pass != nil && !*g.Pass {
			failed[g.id()] = true
		}
	}
	notMet, err := readNotMet(ctx, a.root.Store, run, failed)
	if err == nil {
		c.subjects(now, then, notMet)
	}
	return err
}

// subjects sets now beside then. notMet are the criteria that a subject does not meet now.
func (c *Comparison) subjects(now, then []brief, notMet map[string][]string) {
	before := map[string]*brief{}
	for i := range then {
		before[then[i].id()] = &then[i]
	}
	for i := range now {
		g := &now[i]
		id := g.id()
		old := before[id]
		failed := g.Pass != nil && !*g.Pass
		t := Turned{Subject: g.Subject, Service: g.Service, Safe: g.Safe == nil || *g.Safe, NotMet: notMet[id]}
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
	fmt.Fprintf(w, "\n%s since %s", c.Evaluator, c.Baseline)
	if len(c.Runs) > 1 || len(c.Runs) == 1 && c.Runs[0] != c.Baseline {
		fmt.Fprintf(w, " (%s)", strings.Join(c.Runs[:min(len(c.Runs), 5)], ", "))
	}
	fmt.Fprintf(w, "\n  %s.\n", c.Overlap())
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
	weighted := ""
	if x.Weighted {
		weighted = "weighted, "
	}
	s := fmt.Sprintf("%s, was %s: %s%+.1f points (%+.1f to %+.1f, %s), adjusted p %s", x.Now, x.Then, weighted, 100*x.Change, 100*x.Low, 100*x.High, x.Method, pText(x.AdjustedP))
	s += fmt.Sprintf("; %d graded in both", x.Shared)
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
	s := fmt.Sprintf("%5.1f%% [%5.1f–%5.1f] %9s", 100**r.Estimate, 100**r.Low, 100**r.High, r.Share)
	if r.Weighted {
		s += " weighted"
	}
	return s
}
