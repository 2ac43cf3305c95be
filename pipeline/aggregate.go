package pipeline

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/pipeline/report"
	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// AggregateSummary is what aggregate reports.
type AggregateSummary struct {
	RunID       string             `json:"run_id"`
	State       string             `json:"state"`
	Reports     []string           `json:"reports"`
	Evaluators  []EvaluatorNumbers `json:"evaluators"`
	Comparisons []Comparison       `json:"comparisons,omitempty"` // with --baseline
	Trends      []Trend            `json:"trends,omitempty"`
	Gates       []GateResult       `json:"gates,omitempty"`
	Labels      *LabelSummary      `json:"labels,omitempty"` // with --labels
	Warnings    []string           `json:"warnings,omitempty"`
	Aggregates  []schema.Aggregate `json:"-"`
	Model       *report.Model      `json:"-"`

	main  *aggregatePart
	parts []*aggregatePart
	level float64
}

// EvaluatorNumbers is what a run says beyond its rates, for one of its evaluators.
type EvaluatorNumbers struct {
	Evaluator string   `json:"evaluator"`
	Apart     []Apart  `json:"apart"`           // groups that were compared with the rest, the most striking first
	Wished    []Wished `json:"wished"`          // sessions needed for intervals of the wished width
	Flips     []Flip   `json:"flips,omitempty"` // with --repeat

	Servers []ServerGrade `json:"servers,omitempty"` // of tool descriptions
	Skills  []SkillUse    `json:"skills,omitempty"`  // of the companions
	Paired  *PairedResult `json:"paired,omitempty"`  // of tasks that were answered without and with skills
}

// aggregation is the state of one aggregate.
type aggregation struct {
	cfg   *Config
	log   *slog.Logger
	root  *Root
	runs  []schema.Run // the parts of the run
	all   []schema.Run // of every run, newest first
	gates []gate
	parts []*aggregatePart
	sum   AggregateSummary
}

// aggregatePart is one evaluator's part of the run, counted.
type aggregatePart struct {
	run        schema.Run
	rubric     judge.Rubric
	numbers    *numbers
	aggs       []schema.Aggregate
	comparison *Comparison // nil without a baseline
}

// Aggregate turns the verdicts of a run into rates with intervals, writes them to aggregates and draws the report.
func Aggregate(ctx context.Context, cfg *Config, log *slog.Logger) (*AggregateSummary, error) {
	gates, err := parseGates(cfg.Aggregate.Gates)
	if err != nil {
		return nil, err
	}
	root, err := openRoot(ctx, cfg, log)
	if err != nil {
		return nil, err
	}
	runs, err := findRun(ctx, root.Store, cfg.Aggregate.Run, cfg.latestUntil())
	if err != nil {
		return nil, err
	}
	a := &aggregation{cfg: cfg, log: log, root: root, runs: runs, gates: gates}
	run := worstPart(runs)
	a.sum.RunID, a.sum.State = run.RunID, run.State
	if cfg.Aggregate.Run == "latest" && !isOfEverything(runs) {
		a.sum.Warnings = append(a.sum.Warnings, notOfEverything(&run))
	}
	if isCalibration(&run) {
		return nil, notAnEvaluation(&run)
	}
	log.Debug("aggregating", "run", run.RunID)
	if a.all, err = allRuns(ctx, root.Store); err != nil {
		return nil, err
	}
	for _, part := range runs {
		if err := a.add(ctx, part); err != nil {
			return nil, fmt.Errorf("aggregate run %s: %w", run.RunID, err)
		}
	}
	if err := a.overTime(ctx); err != nil {
		return nil, err
	}
	return a.finish(ctx, run)
}

// overTime sets every part beside earlier runs.
func (a *aggregation) overTime(ctx context.Context) error {
	c := &a.cfg.Aggregate
	for _, p := range a.parts {
		if p.isPaired() {
			continue // it is a comparison itself
		}
		if c.Baseline != "" {
			if err := a.compare(ctx, p, a.all); err != nil {
				return err
			}
		}
		t, err := trend(ctx, a.root.Store, a.all, p, c.Trend, c.ForceCompare, c.Level)
		if err != nil {
			return err
		}
		a.sum.Trends = append(a.sum.Trends, t)
	}
	return nil
}

// add counts one evaluator's part of the run.
func (a *aggregation) add(ctx context.Context, run schema.Run) error {
	gs, err := chosenGroupings(a.cfg.Aggregate.GroupBy)
	if err != nil {
		return err
	}
	run.Calibration = calibrationAmong(a.all, &run)
	p := &aggregatePart{run: run}
	if p.rubric, err = loadRunRubric(ctx, a.root.Store, run); err != nil {
		return err
	}
	f, err := scanFacts(ctx, a.root, []schema.Run{run}, a.cfg.Aggregate.Baseline != "")
	if err != nil {
		return err
	}
	p.numbers = count(f, withGates(gs, a.gates))
	level := a.cfg.Aggregate.Level
	if p.aggs, err = p.numbers.rows(ctx, level); err != nil {
		return err
	}
	extra := EvaluatorNumbers{Evaluator: run.Evaluator}
	if extra.Apart, err = p.numbers.apart(level); err != nil {
		return err
	}
	if run.State == "no_result" {
		extra.Wished = []Wished{}
	} else if extra.Wished, err = p.numbers.wished(a.cfg.Aggregate.Width, level); err != nil {
		return err
	}
	if extra.Flips, err = flips(ctx, a.root.Store, run); err != nil {
		return err
	}
	setApart(p.aggs, extra.Apart)
	if err := p.companions(ctx, a.root.Store, &extra, level); err != nil {
		return err
	}
	a.parts = append(a.parts, p)
	a.sum.Evaluators = append(a.sum.Evaluators, extra)
	return nil
}

// withGates adds the groups that gates look at, so that a change of theirs is known, too.
func withGates(gs []grouping, gates []gate) []grouping {
	for i := range gates {
		g := gates[i].grouping()
		if !slices.ContainsFunc(gs, func(have grouping) bool { return have.String() == g.String() }) {
			gs = append(gs, g)
		}
	}
	return gs
}

// finish writes the table and the reports, and says by its error how the run ended.
func (a *aggregation) finish(ctx context.Context, run schema.Run) (*AggregateSummary, error) {
	var aggs []schema.Aggregate
	sum := &a.sum
	sum.main, sum.parts, sum.level = a.parts[0], a.parts, a.cfg.Aggregate.Level
	for _, p := range a.parts {
		aggs = append(aggs, p.aggs...)
		if p.run.Evaluator == mainEvaluator {
			sum.main = p
		}
	}
	err := a.label(ctx)
	if err != nil {
		return nil, err
	}
	if sum.Labels != nil {
		aggs = append(aggs, correctedRows(sum.Labels, sum.main.aggs)...)
	}
	if len(a.gates) > 0 && sum.main.isPaired() {
		return nil, usagef("--gate: run %s compares two arms, and a rate over both would mean nothing: look at its change (metric change of the table aggregates, or --summary FILE)", run.RunID)
	}
	if sum.Gates, err = checkGates(a.gates, sum.main, sum.level); err != nil {
		return nil, err
	}
	err = putRows(ctx, a.root.Store, schema.Aggregates, schema.Aggregates.RunKey(run.RunID), aggs)
	if errors.Is(err, store.ErrDenied) { // whoever may only read still gets the numbers
		sum.Warnings, err = append(sum.Warnings, "the table aggregates was not written: "+err.Error()), nil
	}
	if err != nil {
		return nil, err
	}
	sum.Aggregates = aggs
	if sum.Model, err = a.reportModel(ctx, aggs); err != nil {
		return nil, err
	}
	sum.pastOf()
	if err := a.writeFiles(); err != nil {
		return nil, err
	}
	// A run that did not end well has its own code; a failed gate goes before it.
	err = gateError(sum.Gates, sum.main.run)
	if e, ok := errors.AsType[*ExitError](err); ok && e.Code == ExitGate {
		return sum, err
	}
	return sum, cmp.Or(runStateError(run), err)
}

// writeFiles writes what the configuration asks for beside the table.
func (a *aggregation) writeFiles() error {
	c, sum := &a.cfg.Aggregate, &a.sum
	if c.Report != "" {
		var err error
		if sum.Reports, err = writeReports(c.Report, sum.Model); err != nil {
			return err
		}
	}
	if c.JUnit != "" {
		if err := writeJUnit(c.JUnit, sum.main.run, sum.Gates); err != nil {
			return err
		}
		sum.Reports = append(sum.Reports, c.JUnit)
	}
	if c.SummaryMD != "" {
		if err := appendSummary(c.SummaryMD, sum.summaryMarkdown()); err != nil {
			return err
		}
		sum.Reports = append(sum.Reports, c.SummaryMD)
	}
	return nil
}

// runStateError is the error that the state of a run ends a command with.
func runStateError(run schema.Run) error {
	switch run.State {
	case "no_result":
		return &ExitError{Code: ExitNoResult, Err: errors.New(noResultText(run))}
	case "partial":
		if run.NotAttempted == 0 {
			return &ExitError{Code: ExitService, Err: fmt.Errorf("run %s waits for the judge service: %d of %d subjects are ungraded", run.RunID, run.Ungraded, run.Graded+run.Ungraded),
				Hint: "run evaluate again with the same flags when the service is back"}
		}
		return &ExitError{Code: ExitPartial, Err: fmt.Errorf("run %s is partial: %d of %d sampled sessions were not attempted", run.RunID, run.NotAttempted, run.Sampled),
			Hint: "run evaluate again with the same flags to go on"}
	case "failed":
		return &ExitError{Code: ExitService, Err: fmt.Errorf("run %s failed: the judge could not be called", run.RunID)}
	}
	return nil
}

func noResultText(run schema.Run) string {
	switch {
	case run.Eligible == 0:
		return fmt.Sprintf("run %s has no result: no eligible session from %s to %s", run.RunID, run.WindowFrom, run.WindowTo)
	default:
		return fmt.Sprintf("run %s has no result: %d of %d subjects could not be graded (more than 10 %%)", run.RunID, run.Ungraded, run.Graded+run.Ungraded)
	}
}

// writeReports writes the page to path and the Markdown beside it.
func writeReports(path string, m *report.Model) ([]string, error) {
	md := strings.TrimSuffix(path, filepath.Ext(path)) + ".md"
	if filepath.Ext(path) == ".md" {
		return nil, usagef("--report %s: name the HTML file; the Markdown is written beside it", path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("write report: %w", err)
	}
	var page, text bytes.Buffer
	if err := errors.Join(report.HTML(&page, m), report.Markdown(&text, m)); err != nil {
		return nil, fmt.Errorf("draw report: %w", err)
	}
	// 0600: a report names sessions and services, and lies outside the retention of --data.
	if err := errors.Join(os.WriteFile(path, page.Bytes(), 0o600), os.WriteFile(md, text.Bytes(), 0o600)); err != nil {
		return nil, fmt.Errorf("write report: %w", err)
	}
	return []string{path, md}, nil
}

// mainEvaluator is the part of a run that a report is about.
const mainEvaluator = "session"

// worstPart is the part of a run whose state its exit code tells.
func worstPart(runs []schema.Run) schema.Run {
	var sum EvaluateSummary
	worst := runs[0]
	for _, r := range runs {
		before := sum.State
		if sum.add(r.State, 0, 0); sum.State != before {
			worst = r
		}
	}
	return worst
}

// putRows writes a run table that is a function of its input: an object that holds the same bytes is left alone.
func putRows[T schema.Row[T]](ctx context.Context, st store.Store, t schema.Table, key string, rows []T) error {
	table.Sort(rows)
	var buf bytes.Buffer
	if err := table.Encode(&buf, t, rows); err != nil {
		return err
	}
	if old, _, err := st.Get(ctx, key, ""); err == nil && bytes.Equal(old, buf.Bytes()) {
		return nil
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_, err := st.Put(ctx, key, bytes.NewReader(buf.Bytes()), store.PutOptions{ContentType: "application/vnd.apache.parquet"})
	return err
}
