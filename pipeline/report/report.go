// Package report shows the numbers of one run: as a self-contained HTML page, as Markdown, and as a table for a terminal.
//
// It computes nothing: every number comes from the aggregates, with the interval, the method and the warning that belong to
// it. It does not read tables. All text of a session is untrusted: it can never become markup or script.
package report

import (
	"time"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/schema"
)

// Model is all that a report shows. The same model gives the same bytes.
type Model struct {
	Data       string    // data root, without credentials
	AsOf       time.Time // the only date of the report
	Run        schema.Run
	Rubric     judge.Rubric // criteria in order
	Aggregates []schema.Aggregate
	Sessions   []Session // in the order of grades: service, then start
	// SessionsLeft is how many sessions are not among Sessions since they are too many for a page.
	SessionsLeft int
	Commit       *Ingest  // what the last ingest read; nil when unknown
	Trend        []Night  // runs that can be compared, oldest first, this one last
	Earlier      *Earlier // nil without a baseline
	Gates        []Gate

	Parts     []Part         // the other evaluators of the run
	Left      []Left         // sessions of the window that could not be judged, the newest first
	LeftBy    map[string]int // how many, by why
	Agreement *Agreement     // nil without labels, repeats or a panel
	Tasks     *Tasks         // of a run on a suite, in place of rates: nil otherwise
	Servers   []Server       // of a run of tool descriptions, in place of sessions
	Rankings  []Ranking      // of a run of skill packages, in place of sessions
}

// Ingest is what the last ingest says of the archive, so that a reader sees what the numbers rest on.
type Ingest struct {
	Objects, Records, Written, Duplicates, Filtered, Quarantined int64
	Masked                                                       map[string]int64 // by kind
}

// Part is another evaluator's part of the run, beside that which the report is about.
type Part struct {
	Run    schema.Run
	Rubric judge.Rubric
}

// Session is one sampled session with its verdicts, in the rubric's order.
type Session struct {
	Grade    schema.Grade
	Row      schema.Session // zero when the session is gone
	Verdicts []schema.Verdict
	Words    map[[2]string]string // as in Judged
	Others   []Judged             // what other evaluators of the run said of it
	WhyNot   string               // why it could not be judged now, in words; "" if it could
	// Steps are in order. Text and Arguments are content: empty unless it was asked for and is kept.
	Steps     []schema.Step
	StepsLeft int    // steps that are not among Steps, since the page would grow too large
	Note      string // what of the session is not shown, and how to see it
}
