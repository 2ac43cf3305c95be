// Package agentarts writes evaluation sets of Huawei Cloud AgentArts: one row for each skill package that a run graded, with
// the column skill_package that the platform's skill evaluators take, and our score and reason beside it.
//
// The platform evaluates skills and no finished sessions: a run without a skill package is refused. It makes files and calls nothing.
package agentarts

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/evaluator/skillpackage"
)

// The files of the target: the same set twice, as the platform imports either.
const (
	LinesFile = "agentarts/evaluation_set.jsonl"
	SheetFile = "agentarts/evaluation_set.csv"
)

// Caps of ours where the platform states none. Skill packages are few: a run names each of them.
const (
	maxPackages = 10_000
	maxReason   = 2048
	maxShort    = 256
)

// Target writes the two files.
type Target struct{}

var _ exports.Target = Target{}

// Name implements exports.Target.
func (Target) Name() string { return "agentarts" }

// Check implements exports.Target.
func (Target) Check(ctx context.Context, in *exports.Input) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := in.Check(); err != nil {
		return err
	}
	if in.Packages == nil {
		return exports.Refuse(LinesFile, "skill_package", "run %s graded no skill package, and the platform's evaluation sets hold nothing else: evaluate a package first", in.Run.RunID)
	}
	rows, err := collect(ctx, in)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return exports.Refuse(LinesFile, "rows", "no skill package: the platform takes no empty set")
	}
	return nil
}

// collect makes one row for each package and criterion: an evaluator of the platform gives one score.
func collect(ctx context.Context, in *exports.Input) ([]skillpackage.Row, error) {
	var rows []skillpackage.Row
	n := 0
	for p, err := range in.Packages.All(ctx) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, fmt.Errorf("read skill packages: %w", err)
		}
		if n++; n > maxPackages {
			return nil, exports.Refuse(LinesFile, "rows", "over %d skill packages", maxPackages)
		}
		if p.Name == "" || p.Body == "" {
			return nil, exports.Refuse(LinesFile, fmt.Sprintf("rows[%d].skill_package", len(rows)), "skill_name and instruction_body must not be empty")
		}
		criteria, err := exports.Align(&in.Packages.Rubric, &exports.Session{Key: p.Name, Criteria: p.Criteria})
		if err != nil {
			return nil, err
		}
		pkg := evaluator.SkillPackage{Name: in.Text(p.Name, maxShort), Manifest: in.Masked(p.Manifest), Body: in.Masked(p.Body), Task: in.Masked(p.Task)}
		for i := range criteria {
			c := &criteria[i]
			row := skillpackage.Row{Package: pkg, Score: c.Score, Extra: map[string]string{"criterion": c.ID, "run_id": in.Run.RunID, "verdict": string(c.Verdict)}}
			switch {
			case c.Verdict == judge.Ungraded:
				row.Reason = "Not graded: " + in.Text(c.UngradedReason, maxShort)
			case in.WithExplanations:
				row.Reason = in.Text(c.Explanation, maxReason)
			}
			if row.Reason == "" {
				row.Reason = in.Text(c.Label, maxShort)
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// Files implements exports.Target.
func (t Target) Files(ctx context.Context, in *exports.Input, sink exports.Sink) error {
	if err := t.Check(ctx, in); err != nil {
		return err
	}
	rows, err := collect(ctx, in)
	if err != nil {
		return err
	}
	if err := write(sink, LinesFile, func(w io.Writer) error { return skillpackage.WriteJSONL(w, rows) }); err != nil {
		return err
	}
	for i := range rows { // the package is JSON and begins with a brace; names and tasks stand inside it
		rows[i].Reason = exports.Cell(rows[i].Reason)
	}
	return write(sink, SheetFile, func(w io.Writer) error { return skillpackage.WriteCSV(w, rows) })
}

func write(sink exports.Sink, name string, fill func(io.Writer) error) error {
	w, err := sink.Create(name)
	if err != nil {
		return fmt.Errorf("create %s: %w", name, err)
	}
	buf := bufio.NewWriter(w)
	err = fill(buf)
	if err == nil {
		err = buf.Flush()
	}
	if cerr := w.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// Loss implements exports.Target: what one file cannot hold, the other cannot either.
func (Target) Loss(in *exports.Input) []exports.Loss {
	var out []exports.Loss
	for _, l := range losses(in) {
		if out = append(out, l); l.File == LinesFile {
			l.File = SheetFile
			out = append(out, l)
		}
	}
	return out
}

func losses(in *exports.Input) []exports.Loss {
	out := append(exports.Unheld(in),
		exports.Loss{File: LinesFile, What: "files", How: "no field: scripts and references beside SKILL.md are left out"},
		exports.Loss{File: LinesFile, What: "verdict", How: "the platform knows a score only: column verdict is ours; unclear and ungraded have no score"},
		exports.Loss{File: LinesFile, What: "interval", How: "the platform reports mean, highest, lowest and total, and no interval"},
		exports.Loss{File: LinesFile, What: "weight", How: "no field: criteria_packages.json holds weights, gates and anchors"})
	if in.WithExplanations {
		return append(out, exports.Loss{File: LinesFile, What: "explanation", How: "column reason, cut at " + strconv.Itoa(maxReason) + " characters"})
	}
	return append(out, exports.Loss{File: LinesFile, What: "explanation", How: "left out: the export was made without explanations; column reason holds the label"})
}
