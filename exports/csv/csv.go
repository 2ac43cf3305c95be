// Package csv writes graded sessions as sheets that people open: one row a session, and one row a verdict.
//
// It knows no platform. Cells that a spreadsheet would run as formulas are neutralised.
package csv

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/tracejury/tracejury/exports"
)

// The files of the target.
const (
	SessionsFile = "csv/graded_sessions.csv"
	VerdictsFile = "csv/verdicts.csv"
)

// Caps of ours: spreadsheets cut a cell at 32,767 characters.
const (
	maxShort       = 256
	maxExplanation = 2048
)

// Target writes the two files.
type Target struct{}

var _ exports.Target = Target{}

// Name implements exports.Target.
func (Target) Name() string { return "csv" }

// Check implements exports.Target.
func (Target) Check(ctx context.Context, in *exports.Input) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := in.Check(); err != nil {
		return err
	}
	return exports.NeedGrades(in)
}

// Files implements exports.Target.
func (Target) Files(ctx context.Context, in *exports.Input, sink exports.Sink) error {
	for _, g := range in.Graded() {
		if err := writeGraded(ctx, g, sink); err != nil {
			return err
		}
	}
	return nil
}

// subjectHeader stands before all other columns in the files of parts.
func subjectHeader(in *exports.Input) []string {
	if !in.IsPart() {
		return nil
	}
	return []string{"subject", "subject_kind", "skill", "server", "tool", "span_id", "arm", "category", "task_kind"}
}

func subjectCells(in *exports.Input, s *exports.Session) []string {
	if !in.IsPart() {
		return nil
	}
	u := in.SubjectOf(s)
	return []string{u.ID, u.Kind, u.Skill, u.Server, u.Tool, u.SpanID, u.Arm, u.Category, u.TaskKind}
}

// wide is one cell a criterion: of one with items the verdict on the whole, or else those of all items, in their order.
func wide(in *exports.Input, criteria []exports.Criterion) []string {
	cells := make([]string, len(in.Rubric.Criteria))
	for i := range in.Rubric.Criteria {
		var all []string
		whole := ""
		for _, c := range criteria {
			switch {
			case c.ID != in.Rubric.Criteria[i].ID:
			case c.Item == "":
				whole = string(c.Verdict)
			default:
				all = append(all, string(c.Verdict))
			}
		}
		cells[i] = cmp.Or(whole, strings.Join(all, " "))
	}
	return cells
}

func writeGraded(ctx context.Context, in *exports.Input, sink exports.Sink) error {
	header := append(subjectHeader(in), "run_id", "session_key", "session_id", "service", "agent", "harness", "trace_id", "started", "revision", "graded", "ungraded_reason", "pass", "safe", "undecided")
	if in.IsPart() {
		header = append(header, "grade", "score")
	}
	for _, c := range in.Rubric.Criteria {
		header = append(header, "verdict_"+c.ID)
	}
	err := exports.Sheet(ctx, in, sink, in.File(SessionsFile), header, func(s *exports.Session, emit func([]string) error) error {
		criteria, err := exports.Align(&in.Rubric, s)
		if err != nil {
			return err
		}
		row := append(subjectCells(in, s), in.Run.RunID, in.HashID(s.Key), in.Text(s.ID, maxShort), in.Text(s.Service, maxShort), in.Text(s.Agent, maxShort), in.Text(s.Harness, maxShort),
			in.HashID(s.TraceID), started(s.StartedUnixNano), in.HashID(s.Revision), strconv.FormatBool(exports.Complete(s, criteria)), in.Text(s.UngradedReason, maxShort),
			truth(s.Pass), truth(s.Safe), strconv.FormatBool(s.Undecided))
		if in.IsPart() {
			u := in.SubjectOf(s)
			row = append(row, u.Grade, score(u.Score))
		}
		return emit(append(row, wide(in, criteria)...))
	})
	if err != nil {
		return err
	}
	header = append(subjectHeader(in), "run_id", "session_key", "criterion", "safety", "verdict", "label", "score", "ungraded_reason", "evidence_steps")
	if in.IsPart() {
		header = append(header, "item")
	}
	if in.WithExplanations {
		header = append(header, "explanation")
	}
	return exports.Sheet(ctx, in, sink, in.File(VerdictsFile), header, func(s *exports.Session, emit func([]string) error) error {
		criteria, err := exports.Align(&in.Rubric, s)
		if err != nil {
			return err
		}
		for i := range criteria {
			c := &criteria[i]
			row := append(subjectCells(in, s), in.Run.RunID, in.HashID(s.Key), c.ID, strconv.FormatBool(c.Safety), string(c.Verdict), in.Text(c.Label, maxShort), score(c.Score),
				in.Text(c.UngradedReason, maxShort), steps(c.EvidenceSteps))
			if in.IsPart() {
				row = append(row, in.Text(c.Item, maxShort))
			}
			if in.WithExplanations {
				row = append(row, in.Text(c.Explanation, maxExplanation))
			}
			if err := emit(row); err != nil {
				return err
			}
		}
		return nil
	})
}

// Loss implements exports.Target.
func (Target) Loss(in *exports.Input) []exports.Loss {
	out := append(exports.Unheld(in),
		exports.Loss{File: SessionsFile, What: "line_breaks", How: "a cell is one line: breaks in names became spaces"},
		exports.Loss{File: SessionsFile, What: "formulas", How: "a cell that a spreadsheet would run begins with an apostrophe"},
		exports.Loss{File: SessionsFile, What: "weight", How: "no column: criteria.json holds weights, gates and anchors"})
	if in.WithExplanations {
		return append(out, exports.Loss{File: VerdictsFile, What: "explanation", How: "one line, cut at " + strconv.Itoa(maxExplanation) + " characters"})
	}
	return append(out, exports.Loss{File: VerdictsFile, What: "explanation", How: "left out: the export was made without explanations"})
}

// truth is "" where nothing applied or nothing was graded: a sheet has no null.
func truth(b *bool) string {
	if b == nil {
		return ""
	}
	return strconv.FormatBool(*b)
}

func score(f *float64) string {
	if f == nil {
		return ""
	}
	return strconv.FormatFloat(*f, 'f', -1, 64)
}

func started(nano int64) string {
	if nano == 0 {
		return ""
	}
	return time.Unix(0, nano).UTC().Format(time.RFC3339Nano)
}

func steps(list []int32) string {
	words := make([]string, len(list))
	for i, n := range list {
		words[i] = strconv.Itoa(int(n))
	}
	return strings.Join(words, " ")
}
