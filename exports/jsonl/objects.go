package jsonl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/judge/suite"
)

// The files of tasks and tools; each is written where the export holds such.
const (
	TasksFile = "jsonl/tasks.jsonl"
	ToolsFile = "jsonl/tools.jsonl"
)

// TaskRecord is one line of TasksFile.
type TaskRecord struct {
	Format       int    `json:"format"`
	Suite        string `json:"suite"`
	SuiteVersion int    `json:"suite_version"`
	SuiteTitle   string `json:"suite_title"`
	suite.Task
}

func (r *TaskRecord) check() error {
	if r.Format != Format {
		return fmt.Errorf("format %d: want %d", r.Format, Format)
	}
	s := suite.Suite{Name: r.Suite, Version: r.SuiteVersion, Title: r.SuiteTitle, Tasks: []suite.Task{r.Task}}
	return s.Check()
}

// Append adds the record's line, with its newline, to dst. A line that Files wrote comes back in the same bytes.
func (r *TaskRecord) Append(dst []byte) ([]byte, error) { return appendLine(dst, r) }

// ReadTasks yields the records of TasksFile as [Read] does those of File.
func ReadTasks(r io.Reader) iter.Seq2[TaskRecord, error] {
	return read(r, "tasks", (*TaskRecord).check)
}

// ToolRecord is one line of ToolsFile.
type ToolRecord struct {
	Format           int         `json:"format"`
	RunID            *string     `json:"run_id"` // null: nobody graded it
	Rubric           string      `json:"rubric"`
	RubricVersion    int         `json:"rubric_version"`
	Server           *string     `json:"server"`  // null: an agent's own tool
	Service          *string     `json:"service"` // whose own
	Tool             string      `json:"tool"`
	DefinitionSHA256 string      `json:"definition_sha256"`
	Description      string      `json:"description"`
	InputSchema      *string     `json:"input_schema"` // JSON as it was defined; null: not known
	Graded           bool        `json:"graded"`
	UngradedReason   *string     `json:"ungraded_reason"`
	Grade            *string     `json:"grade"` // A to F
	Score            *float64    `json:"score"`
	Criteria         []Criterion `json:"criteria"`
}

func newToolRecord(in *exports.Input, t *exports.Tool) ToolRecord {
	return ToolRecord{Format: Format, RunID: null(in.Tools.RunID), Rubric: in.Tools.Rubric.Name, RubricVersion: in.Tools.Rubric.Version,
		Server: null(in.Masked(t.Server)), Service: null(in.Masked(t.Service)), Tool: in.Masked(t.Name), DefinitionSHA256: in.HashID(t.DefinitionSHA256),
		Description: in.Masked(t.Description), InputSchema: null(in.Masked(t.InputSchema)), Graded: t.Graded, UngradedReason: null(in.Masked(t.UngradedReason)),
		Grade: null(in.Masked(t.Grade)), Score: t.Score, Criteria: newCriteria(in, t.Criteria)}
}

func (r *ToolRecord) check() error {
	switch {
	case r.Format != Format:
		return fmt.Errorf("format %d: want %d", r.Format, Format)
	case r.Tool == "":
		return errors.New("tool is empty")
	}
	return checkCriteria("tool "+exports.Cut(r.Tool, 64), r.Criteria)
}

// Append adds the record's line, with its newline, to dst. A line that Files wrote comes back in the same bytes.
func (r *ToolRecord) Append(dst []byte) ([]byte, error) { return appendLine(dst, r) }

// ReadTools yields the records of ToolsFile as [Read] does those of File.
func ReadTools(r io.Reader) iter.Seq2[ToolRecord, error] {
	return read(r, "tools", (*ToolRecord).check)
}

func writeTasks(in *exports.Input, sink exports.Sink) error {
	if in.Suite == nil {
		return nil
	}
	return exports.WriteLines(sink, TasksFile, func(emit func(any) error) error {
		for i := range in.Suite.Tasks {
			rec := TaskRecord{Format: Format, Suite: in.Suite.Name, SuiteVersion: in.Suite.Version, SuiteTitle: in.Text(in.Suite.Title, 0), Task: in.Task(&in.Suite.Tasks[i])}
			if err := emit(&rec); err != nil {
				return err
			}
		}
		return nil
	})
}

func writeTools(ctx context.Context, in *exports.Input, sink exports.Sink) error {
	if in.Tools == nil {
		return nil
	}
	return exports.WriteLines(sink, ToolsFile, func(emit func(any) error) error {
		return exports.EachTool(ctx, in, func(t *exports.Tool) error {
			rec := newToolRecord(in, t)
			if err := rec.check(); err != nil {
				return err
			}
			return emit(&rec)
		})
	})
}
