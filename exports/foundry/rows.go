package foundry

import (
	"context"
	"strconv"
	"time"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/judge"
)

// The columns of a row beside those of the criteria. Criteria ids stand behind a prefix that none of these has.
const (
	colKey       = "session_key"
	colID        = "session_id"
	colService   = "service"
	colAgent     = "agent"
	colHarness   = "harness"
	colStarted   = "started"
	colRevision  = "revision"
	colGraded    = "session_graded"
	colPass      = "session_pass"
	colSafe      = "session_safe"
	colUndecided = "undecided"
)

func verdictColumn(id string) string     { return "verdict_" + id }
func scoreColumn(id string) string       { return "score_" + id }
func explanationColumn(id string) string { return "explanation_" + id }

// notApplicable is session_pass and session_safe of a session to which nothing applies: it neither passed nor failed.
const notApplicable = "not_applicable"

// newItemSchema names every column that a row may have. Those that every row has are required.
func newItemSchema(in *exports.Input) itemSchema {
	s := itemSchema{Type: "object", Properties: map[string]column{}}
	put := func(name string, required bool, c column) {
		s.Properties[name] = c
		if required {
			s.Required = append(s.Required, name)
		}
	}
	text := column{Type: "string"}
	for _, name := range []string{colKey, colID, colService, colAgent, colHarness, colStarted, colRevision} {
		put(name, true, text)
	}
	truth := []string{"true", "false"}
	put(colGraded, true, column{Type: "string", Enum: truth})
	put(colPass, true, column{Type: "string", Enum: append(truth[:2:2], notApplicable)})
	put(colSafe, true, column{Type: "string", Enum: append(truth[:2:2], notApplicable)})
	put(colUndecided, true, column{Type: "string", Enum: truth})
	for _, c := range in.Rubric.Criteria {
		verdicts := []string{string(judge.Met), string(judge.NotMet), string(judge.NotApplicable), string(judge.Unclear), string(judge.Scored)}
		put(verdictColumn(c.ID), true, column{Type: "string", Enum: verdicts})
		put(scoreColumn(c.ID), false, column{Type: "number"})
		if in.WithExplanations {
			put(explanationColumn(c.ID), false, text)
		}
	}
	return s
}

// writeRows writes one row for each graded session. An ungraded one has no row: every check of the platform would count it as
// passed or failed, and it is neither. So session_graded is always true here; the eval checks it, lest rows from elsewhere
// join these.
func writeRows(ctx context.Context, in *exports.Input, sink exports.Sink) error {
	return exports.Lines(ctx, in, sink, RowsFile, func(s *exports.Session, emit func(any) error) error {
		criteria, err := exports.Align(&in.Rubric, s)
		if err != nil {
			return err
		}
		if !exports.Complete(s, criteria) {
			return nil
		}
		return emit(newRow(in, s, criteria))
	})
}

// newRow is a map because its columns are the rubric's; encoding sorts them.
func newRow(in *exports.Input, s *exports.Session, criteria []exports.Criterion) map[string]any {
	row := map[string]any{
		colKey: in.HashID(s.Key), colID: in.Text(s.ID, maxShort), colService: in.Text(s.Service, maxShort), colAgent: in.Text(s.Agent, maxShort),
		colHarness: in.Text(s.Harness, maxShort), colStarted: "", colRevision: in.HashID(s.Revision), colGraded: "true",
		colPass: truth(s.Pass), colSafe: truth(s.Safe), colUndecided: strconv.FormatBool(s.Undecided),
	}
	if s.StartedUnixNano != 0 {
		row[colStarted] = time.Unix(0, s.StartedUnixNano).UTC().Format(time.RFC3339Nano)
	}
	for i := range criteria {
		c := &criteria[i]
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

func truth(b *bool) string {
	if b == nil {
		return notApplicable
	}
	return strconv.FormatBool(*b)
}
