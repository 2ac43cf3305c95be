package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"

	"github.com/tracejury/tracejury/exports/labels"
	"github.com/tracejury/tracejury/judge/calibration"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// CalibrateOptions says with what a judge is calibrated: on a suite, or without one on sessions by a rubric of theirs.
type CalibrateOptions struct {
	DryRun   bool
	Suite    string // a built-in suite, or a file; "" calibrates the rubric of evaluate.rubric on sessions
	Controls string // of a suite: file of planted answers; "" takes the references of the suite
	Sample   int    // of sessions: how many are drawn; 0 as many as labels are wanted
	Labels   string // file of people's verdicts; "" none yet
	Sheet    string // file to write for people to label; "" none
}

// CalibrateSummary is what a calibration reports.
type CalibrateSummary struct {
	*EvaluateSummary
	Suite    string              `json:"suite,omitempty"`
	Version  int                 `json:"suite_version,omitempty"`
	Rubric   string              `json:"rubric"`
	Controls int                 `json:"controls"` // planted answers, or sessions; each is asked about in several variants
	Status   calibration.Status  `json:"status"`
	Kept     bool                `json:"status_kept"` // it is that of an earlier command, which had labels
	Checks   []calibration.Check `json:"checks,omitempty"`
	Labels   *LabelUse           `json:"labels,omitempty"`
	Sheet    string              `json:"sheet,omitempty"`
	Rows     int                 `json:"sheet_rows,omitempty"`
}

// LabelUse is what became of the labels of a calibration.
type LabelUse struct {
	Labels    int `json:"labels"`
	Labellers int `json:"labellers"` // with a name
	Used      int `json:"used"`      // items with one verdict of people
	Disputed  int `json:"disputed"`  // items on which people are split: not used
	Ungraded  int `json:"ungraded"`  // items of which the judge said nothing
	Unknown   int `json:"unknown"`   // labels of sessions or criteria that were not asked about
	Scored    int `json:"scored"`    // scores, which are not compared
}

// calibrated is what a calibration is made on: planted answers, or sessions.
type calibrated interface {
	// observe gathers what the checks need of a run.
	observe(grades []schema.Grade, verdicts []schema.Verdict, people people) calibration.Observations
	// read makes people's verdicts of labels, by subject and item.
	read(file string, list []labels.Label, of *schema.Run) (people, error)
	// sheet lists what people are asked, and writes what else they need beside the file.
	sheet(run *schema.Run, file string, verdicts []schema.Verdict, want int) ([]labels.Row, error)
	// subject says for a sentence what the judge was calibrated on.
	subject() string
}

// Calibrate asks a judge about planted answers, or about sessions, in several variants, and makes the five checks. The status is kept in
// the run's row: it holds for this suite, rubric, prompt, rendering and judge. Labels that name a calibration, as its sheet does, are set
// beside what the judge said there: nothing is asked.
func Calibrate(ctx context.Context, cfg *Config, opts CalibrateOptions, log *slog.Logger) (*CalibrateSummary, error) {
	c := &cfg.Evaluate
	c.Per, c.Compat, c.Name, c.Rows, c.Expect = "", "", "", "", ""
	list, err := readCalibrationLabels(opts.Labels)
	if err != nil {
		return nil, err
	}
	named, err := labelledRun(opts.Labels, list)
	if err != nil {
		return nil, err
	}
	of, evaluation, err := opts.on(cfg)
	if err != nil {
		return nil, err
	}
	out := &CalibrateSummary{Status: calibration.NotCalibrated}
	if named != "" && !opts.DryRun {
		out.EvaluateSummary, err = earlierCalibration(ctx, cfg, opts.Labels, named, log)
	} else {
		out.EvaluateSummary, err = Evaluate(ctx, cfg, evaluation, log)
	}
	if out.EvaluateSummary == nil {
		return nil, err
	}
	if p, ok := of.(*planted); ok {
		out.Suite, out.Version, out.Controls = p.suite.Name, p.suite.Version, len(p.controls)
	} else {
		out.Controls = out.Sampled
	}
	if opts.DryRun || out.Sampled == 0 {
		return out, err
	}
	if cerr := out.check(ctx, cfg, &opts, of, list, log); cerr != nil {
		return out, errors.Join(err, cerr)
	}
	return out, out.exit(err, of.subject())
}

// on is what is calibrated on, and how it is asked about.
func (o *CalibrateOptions) on(cfg *Config) (calibrated, EvaluateOptions, error) {
	c := &cfg.Evaluate
	if o.Suite == "" {
		if o.Controls != "" {
			return nil, EvaluateOptions{}, usagef("--controls are planted answers to the tasks of a suite: name it with --suite")
		}
		of, err := o.onSessions(cfg)
		return of, EvaluateOptions{DryRun: o.DryRun, controls: true}, err
	}
	c.Evaluators, c.Service, c.Agent, c.Seed = []string{"task-control"}, "", "", ""
	p, err := o.plant(cfg)
	if err != nil {
		return nil, EvaluateOptions{}, err
	}
	g := &given{of: evaluator.OfControls, noun: "answer", again: true, tasks: &givenTasks{suite: p.suite, sha256: p.sha256}, candidates: p.candidates(cfg)}
	return p, EvaluateOptions{DryRun: o.DryRun, given: g}, nil
}

// labelledRun is the run that a filled sheet names, "" where labels name none.
func labelledRun(file string, list []labels.Label) (string, error) {
	named := ""
	for _, l := range list {
		switch {
		case l.RunID == "" || l.RunID == named:
		case named == "":
			named = l.RunID
		default:
			return "", usagef("--labels %s: labels of the runs %s and %s: a calibration rests on one sheet", file, printable(named, 40), printable(l.RunID, 40))
		}
	}
	return named, nil
}

// earlierCalibration is the summary of the calibration that labels are of.
func earlierCalibration(ctx context.Context, cfg *Config, file, id string, log *slog.Logger) (*EvaluateSummary, error) {
	root, err := openRoot(ctx, cfg, log)
	if err != nil {
		return nil, err
	}
	rows, err := findRun(ctx, root.Store, id, cfg.latestUntil())
	if err != nil {
		return nil, fmt.Errorf("--labels %s: %w", file, err)
	}
	r := &rows[0]
	if !isCalibration(r) {
		return nil, &ExitError{Code: ExitUsage, Err: fmt.Errorf("--labels %s: labels of run %s, which is an evaluation and no calibration", file, printable(id, 40)),
			Hint: "aggregate --run " + printable(id, 40) + " --labels FILE sets them beside its verdicts; evaluate calibrate wants the sheet that its own --sheet wrote"}
	}
	noun := "session"
	if calibrationKind(r) == evaluator.OfControls {
		noun = "answer"
	}
	return &EvaluateSummary{RunID: r.RunID, Noun: noun, State: r.State, Judge: strings.Join(r.JudgeModels, ", "), Offline: r.Offline, Window: [2]string{r.WindowFrom, r.WindowTo},
		Eligible: int(r.Eligible), Sampled: int(r.Sampled), Graded: int(r.Graded), Ungraded: int(r.Ungraded), NotAttempted: int(r.NotAttempted), Already: true}, nil
}

// exit is the error that a calibration ends with: whatever stopped its run, else what is wrong with the judge.
func (s *CalibrateSummary) exit(err error, of string) error {
	e, stopped := errors.AsType[*ExitError](err)
	switch {
	case err != nil && (!stopped || e.Code != ExitNoResult):
		return err
	case s.Status == calibration.NotPassed:
		return &ExitError{Code: ExitGate, Err: fmt.Errorf("the judge did not pass on %s: results stay informational", of)}
	case s.Status == calibration.InProgress:
		return &ExitError{Code: ExitNoResult, Err: fmt.Errorf("the calibration on %s is in progress: some checks lack observations", of),
			Hint: "--sheet FILE writes what people are to label, --labels FILE reads their verdicts"}
	}
	return nil
}

// check makes the checks and keeps the status in the row of the run.
func (s *CalibrateSummary) check(ctx context.Context, cfg *Config, opts *CalibrateOptions, of calibrated, list []labels.Label, log *slog.Logger) error {
	root, err := openRoot(ctx, cfg, log)
	if err != nil {
		return err
	}
	runs, _, err := table.Read[schema.Run](ctx, root.Store, schema.Runs.RunKey(s.RunID))
	if err != nil {
		return fmt.Errorf("read run: %w", err)
	}
	if len(runs) == 0 {
		return nil // it ended before it wrote anything
	}
	run := &runs[0]
	s.Rubric = run.Rubric
	if o, ok := of.(*onSessions); ok {
		if o.ids, err = sessionIDs(ctx, root, *run); err != nil {
			return err
		}
		if o.rubric, err = loadRunRubric(ctx, root.Store, *run); err != nil {
			return err
		}
	}
	grades, _, err := table.Read[schema.Grade](ctx, root.Store, schema.Grades.RunKey(s.RunID))
	if err != nil {
		return fmt.Errorf("read grades: %w", err)
	}
	if o, ok := of.(*onSessions); ok {
		o.asks(grades)
	}
	verdicts, err := table.ReadWhere(ctx, root.Store, schema.Verdicts.RunKey(s.RunID), func(v *schema.Verdict) bool { return v.Vote == "final" })
	if err != nil {
		return fmt.Errorf("read verdicts: %w", err)
	}
	want := cfg.Evaluate.Calibration.WithDefaults()
	if opts.Sheet != "" {
		rows, err := of.sheet(run, opts.Sheet, verdicts, want.MinLabels)
		if err == nil {
			err = writeSheet(opts.Sheet, rows)
		}
		if err != nil {
			return err
		}
		s.Sheet, s.Rows = opts.Sheet, len(rows)
	}
	said, err := of.read(opts.Labels, list, run)
	if err != nil {
		return err
	}
	if opts.Labels != "" {
		s.Labels = said.use
	}
	if s.Checks, s.Status, err = calibration.Run(of.observe(grades, verdicts, said), want); err != nil {
		return fmt.Errorf("calibrate: %w", err)
	}
	if s.State == "partial" || s.State == "failed" {
		s.Status = calibration.InProgress // of what was not asked nothing is known
	}
	if opts.Labels == "" && s.Status == calibration.InProgress && decided(run.Calibration) {
		s.Status, s.Kept = calibration.Status(run.Calibration), true // what labels showed stays shown
		return nil
	}
	for i := range runs {
		runs[i].Calibration = string(s.Status)
	}
	return putRows(ctx, root.Store, schema.Runs, schema.Runs.RunKey(s.RunID), runs)
}

// writeSheet writes what people are to label. A file that holds something else, perhaps labels, is left alone.
func writeSheet(path string, rows []labels.Row) error {
	var buf bytes.Buffer
	if err := labels.WriteRows(&buf, rows); err != nil {
		return fmt.Errorf("write --sheet: %w", err)
	}
	return writeOnce("--sheet", path, buf.Bytes())
}

func writeOnce(flag, path string, data []byte) error {
	old, err := os.ReadFile(path)
	switch {
	case err == nil && bytes.Equal(old, data):
		return nil
	case err == nil:
		return usagef("%s %s: there is a file that holds something else, perhaps labels: give another name, or leave %s out", flag, path, flag)
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("write %s: %w", flag, err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", flag, err)
	}
	return nil
}
