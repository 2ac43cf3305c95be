// Package parquet writes grades and final verdicts as two Parquet files with the columns of the tables of those names, for those
// who take an export and not the tables.
//
// It knows the row types and no table: where rows lie and how they are kept is not its business.
package parquet

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/schema"
)

// The files of the target.
const (
	GradesFile       = "parquet/grades.parquet"
	VerdictsFile     = "parquet/verdicts.parquet"
	ExplanationsFile = "parquet/explanations.parquet" // only with explanations
)

// rowsPerGroup bounds what a writer holds in memory; batchRows is what is handed to it at a time.
const (
	rowsPerGroup = 10_000
	batchRows    = 512
)

// codec keeps its coders, which cost more to make than a small file does to compress. They hold no state between pages.
var codec = &zstd.Codec{Level: zstd.SpeedDefault}

// Target writes the files.
type Target struct{}

var _ exports.Target = Target{}

// Name implements exports.Target.
func (Target) Name() string { return "parquet" }

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

func writeGraded(ctx context.Context, in *exports.Input, sink exports.Sink) error {
	err := write(ctx, in, sink, in.File(GradesFile), func(s *exports.Session, criteria []exports.Criterion, emit func(schema.Grade) error) error {
		u := in.SubjectOf(s)
		g := schema.Grade{RunID: in.Run.RunID, Evaluator: in.Run.Evaluator, Subject: u.ID, SubjectKind: u.Kind, SessionKey: in.HashID(s.Key), Skill: u.Skill, Server: u.Server, Tool: u.Tool,
			SubjectRevision: in.HashID(s.Revision), Dt: day(s.StartedUnixNano), Service: in.Masked(s.Service), Agent: in.Masked(s.Agent), Harness: in.Masked(s.Harness), State: "graded",
			Pass: s.Pass, Safe: s.Safe, Undecided: s.Undecided, Grade: u.Grade, Score: u.Score, Arm: u.Arm, Category: u.Category, TaskKind: u.TaskKind}
		if !exports.Complete(s, criteria) {
			g.State, g.UngradedReason = "ungraded", cmp.Or(in.Masked(s.UngradedReason), exports.ReasonMissing)
			g.Pass, g.Safe, g.Undecided = nil, nil, false
		}
		return emit(g)
	})
	if err != nil {
		return err
	}
	err = write(ctx, in, sink, in.File(VerdictsFile), func(s *exports.Session, criteria []exports.Criterion, emit func(schema.Verdict) error) error {
		u := in.SubjectOf(s)
		for i := range criteria {
			c := &criteria[i]
			err := emit(schema.Verdict{RunID: in.Run.RunID, Evaluator: in.Run.Evaluator, Subject: u.ID, Criterion: c.ID, Item: in.Masked(c.Item), Vote: "final", SubjectKind: u.Kind,
				SessionKey: in.HashID(s.Key), SubjectRevision: in.HashID(s.Revision), SpanID: u.SpanID, Service: in.Masked(s.Service), Agent: in.Masked(s.Agent), Harness: in.Masked(s.Harness),
				Skill: u.Skill, Server: u.Server, Tool: u.Tool, Arm: u.Arm, Category: u.Category, TaskKind: u.TaskKind,
				Safety: c.Safety, Verdict: string(c.Verdict), Label: in.Masked(c.Label), Score: c.Score, EvidenceSteps: c.EvidenceSteps, UngradedReason: in.Masked(c.UngradedReason),
				JudgeMode: in.Run.JudgeMode, PromptVersion: in.Run.PromptVersion, PromptSHA256: in.Run.PromptSHA256, RubricSHA256: in.Run.RubricSHA256})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || !in.WithExplanations {
		return err
	}
	return write(ctx, in, sink, in.File(ExplanationsFile), func(s *exports.Session, criteria []exports.Criterion, emit func(schema.Explanation) error) error {
		u := in.SubjectOf(s)
		for i := range criteria {
			c := &criteria[i]
			if c.Explanation == "" {
				continue
			}
			err := emit(schema.Explanation{RunID: in.Run.RunID, Evaluator: in.Run.Evaluator, Subject: u.ID, Arm: u.Arm, Criterion: c.ID, Item: in.Masked(c.Item), Vote: "final", Explanation: in.Masked(c.Explanation)})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// write writes one file, the criteria of a session by id: the order of the tables.
func write[T any](ctx context.Context, in *exports.Input, sink exports.Sink, name string, rows func(*exports.Session, []exports.Criterion, func(T) error) error) error {
	out, err := sink.Create(name)
	if err != nil {
		return fmt.Errorf("create %s: %w", name, err)
	}
	w := parquet.NewGenericWriter[T](out, parquet.Compression(codec), parquet.CreatedBy("tracejury", "", ""),
		parquet.KeyValueMetadata("tracejury.schema_version", fmt.Sprint(schema.Version)), parquet.PageBufferSize(64<<10), parquet.MaxRowsPerRowGroup(rowsPerGroup))
	var batch []T
	flush := func() error {
		_, err := w.Write(batch)
		clear(batch) // do not keep the rows' strings
		batch = batch[:0]
		return err
	}
	err = exports.EachSession(ctx, in, func(s *exports.Session) error {
		criteria, err := exports.Align(&in.Rubric, s)
		if err != nil {
			return err
		}
		for i := range criteria { // the session is not ours to keep until the batch is written
			criteria[i].EvidenceSteps = slices.Clone(criteria[i].EvidenceSteps)
		}
		slices.SortFunc(criteria, func(a, b exports.Criterion) int {
			return cmp.Or(strings.Compare(a.ID, b.ID), strings.Compare(a.Item, b.Item))
		})
		return rows(s, criteria, func(row T) error {
			if batch = append(batch, row); len(batch) == batchRows {
				return flush()
			}
			return nil
		})
	})
	if err == nil {
		err = flush()
	}
	if cerr := w.Close(); err == nil {
		err = cerr
	}
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// day is the partition of a session that began then.
func day(nano int64) string {
	return time.Unix(0, max(nano, 0)).UTC().Format(time.DateOnly)
}

// Loss implements exports.Target.
func (Target) Loss(in *exports.Input) []exports.Loss {
	out := append(exports.Unheld(in),
		exports.Loss{File: VerdictsFile, What: "votes", How: "final verdicts only: the votes of several judges and repeats stay in the table"},
		exports.Loss{File: VerdictsFile, What: "findings", How: "columns that an export does not know are null: tenant, judge_model, findings, coverage, pass of one criterion"},
		exports.Loss{File: GradesFile, What: "session_id", How: "no column, nor one for start and trace: session_key joins; target jsonl holds them"},
		exports.Loss{File: GradesFile, What: "weight", How: "no column: criteria.json holds weights, gates and anchors"})
	if !in.WithExplanations {
		out = append(out, exports.Loss{What: "explanation", How: "left out: the export was made without explanations"})
	}
	return out
}
