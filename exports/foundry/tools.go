package foundry

import (
	"context"
	"fmt"

	"github.com/tracejury/tracejury/exports"
)

// ToolsFile are tool descriptions with their grades, one row a tool; toolsDataset is what a push calls it.
const (
	ToolsFile    = "foundry/tools.jsonl"
	toolsDataset = "tracejury-tools"
)

// Columns of a tool. colDefinitions is the platform's own.
const (
	colTool        = "tool_name"
	colServer      = "server"
	colDefinitions = "tool_definitions"
	colGrade       = "grade"
	colReason      = "ungraded_reason"
	colScore       = "score"
	colHash        = "definition_sha256"
)

// definitionOf is a tool as the platform's tool evaluators take it.
type definitionOf struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Parameters  map[string]any `json:"parameters"`
}

// newTool is one row of ToolsFile. A schema that is none is an object of anything: the platform wants one.
func newTool(in *exports.Input, t *exports.Tool) map[string]any {
	schema, ok := in.Schema(t.InputSchema)
	if !ok {
		schema = map[string]any{"type": "object"}
	}
	row := map[string]any{colTool: in.Text(t.Name, maxShort), colServer: in.Text(t.Server, maxShort), colService: in.Text(t.Service, maxShort), colHash: in.HashID(t.DefinitionSHA256),
		colDefinitions: []definitionOf{{Name: in.Text(t.Name, maxShort), Description: in.Text(t.Description, 0), Parameters: schema}},
		colGrade:       in.Text(t.Grade, maxShort), colReason: in.Text(t.UngradedReason, maxShort)}
	if t.Score != nil {
		row[colScore] = *t.Score
	}
	for i := range t.Criteria {
		c := &t.Criteria[i]
		row[verdictColumn(c.ID)] = string(c.Verdict)
		if c.Score != nil {
			row[scoreColumn(c.ID)] = *c.Score
		}
		if text := in.Text(c.Explanation, maxExplanation); in.WithExplanations && text != "" {
			row[explanationColumn(c.ID)] = text
		}
	}
	return row
}

// eachTool refuses what the platform would, and hands out the rows.
func eachTool(ctx context.Context, in *exports.Input, each func(row map[string]any) error) error {
	return exports.EachTool(ctx, in, func(t *exports.Tool) error {
		row := newTool(in, t)
		data, err := exports.JSON(row)
		if err != nil {
			return fmt.Errorf("encode %s: %w", ToolsFile, err)
		}
		if len(data) > maxRowBytes {
			return exports.Refuse(ToolsFile, "tool "+in.Text(t.Name, 100), "%d bytes: a row may have %d", len(data), maxRowBytes)
		}
		return each(row)
	})
}

func writeTools(ctx context.Context, in *exports.Input, sink exports.Sink) error {
	if in.Tools == nil {
		return nil
	}
	return exports.WriteLines(sink, ToolsFile, func(emit func(any) error) error {
		return eachTool(ctx, in, func(row map[string]any) error { return emit(row) })
	})
}
