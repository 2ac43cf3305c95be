// Package schema is the contract of the tables: row types whose struct tags are the Parquet schema, the registry of
// tables with their keys and partitions, and the layout of a data root.
//
// It does not know how rows are made or written. Rules that hold for every row: unknown is null, never 0 or "" (a
// plain string tagged optional is null when empty; a number that may be unknown is a pointer, a time of 0 is null); enumerations are
// lower-case snake_case; a time is two columns, x_at in microseconds UTC and x_unix_nano, because common readers drop
// nanoseconds; money is DECIMAL(18,6), held as millionths; JSON columns have sorted keys and keep types (package otlp).
//
// A new column is optional and comes last; none is renamed, retyped or reused without a new Version.
package schema

import (
	"fmt"
	"path"
)

// Version of the schema; written to _layout.json, every commit and every run.
const Version = 1

// Partition says how a table's objects are laid out below the data root.
type Partition uint8

const (
	// BySessionDay is <table>/dt=YYYY-MM-DD/bucket=NN.parquet: dt of the session, bucket from its key.
	BySessionDay Partition = iota
	// ByBucket is <table>/bucket=NN.parquet: bucket from the hash of the table's own key.
	ByBucket
	// ByIngestDay is <table>/dt=YYYY-MM-DD/bucket=00.parquet: dt is the as-of day of the ingest, so that a night adds an object
	// and rewrites no history.
	ByIngestDay
	// ByRun is <table>/run=<run_id>/part-00.parquet.
	ByRun
	// ByDigest is <table>/prefix=<2 hex>/<sha256>.parquet: one immutable row an object.
	ByDigest
)

// Table describes one table: its name, where it lies and how its rows are ordered.
type Table struct {
	Name      string
	Partition Partition
	Key       []string // columns that identify a row; also the sort order
	Bloom     []string // columns with a bloom filter
	Content   []string // long text: no dictionary, no page bounds
}

// The tables, by name. Order within an object is the order of Key.
var (
	Objects       = Table{Name: "objects", Partition: ByIngestDay, Key: []string{"source", "object", "etag"}}
	Quarantine    = Table{Name: "quarantine", Partition: ByBucket, Key: []string{"source", "object", "etag", "offset"}, Content: []string{"reason"}}
	Traces        = Table{Name: "traces", Partition: ByBucket, Key: []string{"tenant", "trace_id", "session_key"}, Bloom: []string{"trace_id", "session_key"}}
	SessionsMoved = Table{Name: "sessions_moved", Partition: ByBucket, Key: []string{"tenant", "old_key", "new_key"}}
	Spans         = Table{Name: "spans", Partition: BySessionDay, Key: []string{"tenant", "session_key", "signal", "trace_id", "span_id", "record_sha256"}, Bloom: []string{"session_key", "trace_id"}, Content: []string{"attributes", "events", "resource", "body", "status_message"}}
	Sessions      = Table{Name: "sessions", Partition: BySessionDay, Key: []string{"tenant", "session_key"}, Bloom: []string{"session_key"}}
	Steps         = Table{Name: "steps", Partition: BySessionDay, Key: []string{"tenant", "session_key", "step"}, Bloom: []string{"session_key"}, Content: []string{"text", "arguments"}}
	Skills        = Table{Name: "skills", Partition: BySessionDay, Key: []string{"tenant", "session_key", "attempt"}, Bloom: []string{"session_key"}, Content: []string{"refusal", "description", "body"}}
	Tools         = Table{Name: "tools", Partition: BySessionDay, Key: []string{"tenant", "service", "server", "tool", "definition_sha256", "session_key"}, Content: []string{"description", "input_schema"}}
	Materials     = Table{Name: "materials", Partition: ByDigest, Key: []string{"sha256"}, Content: []string{"text"}}
	Runs          = Table{Name: "runs", Partition: ByRun, Key: []string{"run_id", "evaluator"}}
	Verdicts      = Table{Name: "verdicts", Partition: ByRun, Key: []string{"run_id", "evaluator", "subject", "arm", "criterion", "item", "repeat", "judge_model", "vote"}}
	Grades        = Table{Name: "grades", Partition: ByRun, Key: []string{"run_id", "evaluator", "subject", "arm"}}
	Explanations  = Table{Name: "explanations", Partition: ByRun, Key: []string{"run_id", "evaluator", "subject", "arm", "criterion", "item", "repeat", "judge_model", "vote"}, Content: []string{"explanation"}}
	Answers       = Table{Name: "answers", Partition: ByRun, Key: []string{"run_id", "task", "arm", "repeat"}, Content: []string{"answer"}}
	Calls         = Table{Name: "calls", Partition: ByRun, Key: []string{"run_id", "request_sha256", "attempt"}}
	Aggregates    = Table{Name: "aggregates", Partition: ByRun, Key: []string{"run_id", "group_by", "group", "evaluator", "criterion", "metric", "method"}}
)

// All lists every table in a fixed order.
func All() []Table {
	return []Table{Objects, Quarantine, Traces, SessionsMoved, Spans, Sessions, Steps, Skills, Tools, Materials,
		Runs, Verdicts, Grades, Explanations, Answers, Calls, Aggregates}
}

// Dated says that the table is partitioned by dt.
func (t Table) Dated() bool { return t.Partition == BySessionDay || t.Partition == ByIngestDay }

// DayKey is the object of a dated table for one day ("2026-11-30") and bucket.
func (t Table) DayKey(dt string, bucket int) string {
	return path.Join(t.Name, "dt="+dt, fmt.Sprintf("bucket=%02d.parquet", bucket))
}

// BucketKey is the object of a ByBucket table.
func (t Table) BucketKey(bucket int) string {
	return path.Join(t.Name, fmt.Sprintf("bucket=%02d.parquet", bucket))
}

// RunKey is the object of a ByRun table.
func (t Table) RunKey(runID string) string {
	return path.Join(t.Name, "run="+runID, "part-00.parquet")
}

// UnknownDay is the dt of a session none of whose records has a usable time.
const UnknownDay = "1970-01-01"
