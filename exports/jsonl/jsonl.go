// Package jsonl writes graded sessions, tasks and tool descriptions as lines of JSON that lose nothing, and reads them back.
//
// It does not know any platform: the form is our own and has a version.
package jsonl

import (
	"context"

	"github.com/tracejury/tracejury/exports"
)

// File holds the graded sessions.
const File = "jsonl/graded_sessions.jsonl"

// Target writes File, TasksFile and ToolsFile.
type Target struct{}

var _ exports.Target = Target{}

// Name implements exports.Target.
func (Target) Name() string { return "jsonl" }

// Check implements exports.Target.
func (Target) Check(ctx context.Context, in *exports.Input) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return in.Check()
}

// Files implements exports.Target.
func (Target) Files(ctx context.Context, in *exports.Input, sink exports.Sink) error {
	for _, g := range in.Graded() {
		err := exports.Lines(ctx, g, sink, g.File(File), func(s *exports.Session, emit func(any) error) error {
			rec := newRecord(g, s)
			if err := rec.check(); err != nil {
				return err
			}
			return emit(&rec)
		})
		if err != nil {
			return err
		}
	}
	err := writeTasks(in, sink)
	if err == nil {
		err = writeTools(ctx, in, sink)
	}
	return err
}

// Loss implements exports.Target.
func (Target) Loss(in *exports.Input) []exports.Loss {
	if in.WithExplanations {
		return nil
	}
	var out []exports.Loss
	for _, g := range in.Graded() {
		out = append(out, exports.Loss{File: g.File(File), What: "explanation", How: "left out: the export was made without explanations"})
	}
	if in.Tools != nil && in.Tools.RunID != "" {
		out = append(out, exports.Loss{File: ToolsFile, What: "explanation", How: "left out: the export was made without explanations"})
	}
	return out
}
