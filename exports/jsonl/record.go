package jsonl

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/judge"
)

// Format is the version of the form of a line.
const Format = 1

// maxLine caps a line that Read takes: a session of fifty criteria with explanations has some hundred kilobytes.
const maxLine = 8 << 20

// Record is one line: a session and everything that was found about it.
type Record struct {
	Format          int         `json:"format"`
	RunID           string      `json:"run_id"`
	Evaluator       string      `json:"evaluator"`
	Rubric          string      `json:"rubric"`
	RubricVersion   int         `json:"rubric_version"`
	SessionKey      string      `json:"session_key"`
	SessionID       *string     `json:"session_id"` // null: the trace is the session
	Service         string      `json:"service"`
	Agent           string      `json:"agent"`
	Harness         string      `json:"harness"`
	TraceID         *string     `json:"trace_id"`
	StartedUnixNano *int64      `json:"started_unix_nano"` // null: not known
	Revision        string      `json:"revision"`
	Graded          bool        `json:"graded"`
	UngradedReason  *string     `json:"ungraded_reason"`
	Pass            *bool       `json:"pass"` // null: ungraded, or nothing applied
	Safe            *bool       `json:"safe"`
	Undecided       bool        `json:"undecided"` // only unclear and not applicable
	Criteria        []Criterion `json:"criteria"`
	Subject         *Subject    `json:"subject,omitempty"` // what of the session, or in place of one, was graded
}

// Subject is what a further evaluator of the run graded.
type Subject struct {
	ID     string   `json:"id"`
	Kind   string   `json:"kind"`
	Skill  string   `json:"skill,omitempty"`
	Server string   `json:"server,omitempty"`
	Tool   string   `json:"tool,omitempty"`
	SpanID string   `json:"span_id,omitempty"`
	Grade  string   `json:"grade,omitempty"`
	Score  *float64 `json:"score,omitempty"`
	// Of a task: which of two ways it was done, and what it is.
	Arm      string `json:"arm,omitempty"`
	Category string `json:"category,omitempty"`
	TaskKind string `json:"task_kind,omitempty"`
}

// Criterion is the verdict on one criterion.
type Criterion struct {
	ID             string        `json:"id"`
	Item           string        `json:"item,omitempty"` // below the criterion, e.g. a skill
	Safety         bool          `json:"safety"`
	Verdict        judge.Verdict `json:"verdict"`
	Label          string        `json:"label"`
	Score          *float64      `json:"score"`
	UngradedReason *string       `json:"ungraded_reason"`
	EvidenceSteps  []int32       `json:"evidence_steps"`
	Explanation    *string       `json:"explanation"` // null: there is none, or it was left out
}

func newRecord(in *exports.Input, s *exports.Session) Record {
	return Record{Format: Format, RunID: in.Run.RunID, Evaluator: in.Run.Evaluator, Rubric: in.Rubric.Name, RubricVersion: in.Rubric.Version,
		SessionKey: in.HashID(s.Key), SessionID: null(in.Masked(s.ID)), Service: in.Masked(s.Service), Agent: in.Masked(s.Agent),
		Harness: in.Masked(s.Harness), TraceID: null(in.HashID(s.TraceID)), StartedUnixNano: null(s.StartedUnixNano), Revision: in.HashID(s.Revision),
		Graded: s.Graded, UngradedReason: null(in.Masked(s.UngradedReason)), Pass: s.Pass, Safe: s.Safe, Undecided: s.Undecided,
		Criteria: newCriteria(in, exports.Ordered(&in.Rubric, s.Criteria)), Subject: newSubject(in, s)}
}

func newSubject(in *exports.Input, s *exports.Session) *Subject {
	if s.Subject == nil {
		return nil
	}
	u := Subject(in.SubjectOf(s))
	return &u
}

func newCriteria(in *exports.Input, list []exports.Criterion) []Criterion {
	out := make([]Criterion, 0, len(list))
	for _, c := range list {
		r := Criterion{ID: in.Masked(c.ID), Item: in.Masked(c.Item), Safety: c.Safety, Verdict: c.Verdict, Label: in.Masked(c.Label), Score: c.Score,
			UngradedReason: null(in.Masked(c.UngradedReason)), EvidenceSteps: slices.Clone(c.EvidenceSteps)}
		if r.EvidenceSteps == nil {
			r.EvidenceSteps = []int32{}
		}
		if in.WithExplanations {
			r.Explanation = null(in.Masked(c.Explanation))
		}
		out = append(out, r)
	}
	return out
}

func (r *Record) check() error {
	switch {
	case r.Format != Format:
		return fmt.Errorf("format %d: want %d", r.Format, Format)
	case r.SessionKey == "" && r.Subject == nil:
		return errors.New("session_key is empty")
	case r.Subject != nil && (r.Subject.ID == "" || r.Subject.Kind == ""):
		return errors.New("subject has no id or kind")
	}
	return checkCriteria("session "+exports.Cut(r.SessionKey, 64), r.Criteria)
}

func checkCriteria(subject string, list []Criterion) error {
	if list == nil {
		return fmt.Errorf("%s: criteria are missing", subject)
	}
	for i := range list {
		c := &list[i]
		if c.EvidenceSteps == nil {
			return fmt.Errorf("%s: criterion %s: evidence_steps are missing", subject, exports.Cut(c.ID, 64))
		}
		check := exports.Criterion{ID: c.ID, Item: c.Item, Verdict: c.Verdict, Label: c.Label, Score: c.Score}
		if err := check.Check(); err != nil {
			return fmt.Errorf("%s: %w", subject, err)
		}
	}
	return nil
}

// Session is the record as the export job knows it.
func (r *Record) Session() exports.Session {
	s := exports.Session{Key: r.SessionKey, ID: value(r.SessionID), Service: r.Service, Agent: r.Agent, Harness: r.Harness, TraceID: value(r.TraceID),
		StartedUnixNano: value(r.StartedUnixNano), Revision: r.Revision, Graded: r.Graded, UngradedReason: value(r.UngradedReason), Pass: r.Pass,
		Safe: r.Safe, Undecided: r.Undecided}
	if r.Subject != nil {
		u := exports.Subject(*r.Subject)
		s.Subject = &u
	}
	for _, c := range r.Criteria {
		s.Criteria = append(s.Criteria, exports.Criterion{ID: c.ID, Item: c.Item, Safety: c.Safety, Verdict: c.Verdict, Label: c.Label, Score: c.Score,
			UngradedReason: value(c.UngradedReason), EvidenceSteps: c.EvidenceSteps, Explanation: value(c.Explanation)})
	}
	return s
}

// Append adds the record's line, with its newline, to dst. A line that Files wrote comes back in the same bytes.
func (r *Record) Append(dst []byte) ([]byte, error) { return appendLine(dst, r) }

// Read yields the records of File in its order. An error, with the number of its line, comes once, last. Unknown fields,
// an unknown verdict and a line over 8 MiB are errors.
func Read(r io.Reader) iter.Seq2[Record, error] {
	return read(r, "graded sessions", (*Record).check)
}

// read yields the lines of r as strict values.
func read[T any](r io.Reader, what string, check func(*T) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		lines := bufio.NewScanner(r)
		lines.Buffer(make([]byte, 0, 64<<10), maxLine)
		n := 0
		for lines.Scan() {
			n++
			var rec T
			err := exports.ReadStrict("line", lines.Bytes(), &rec)
			if err == nil {
				err = check(&rec)
			}
			if err != nil {
				yield(none, fmt.Errorf("read %s: line %d: %w", what, n, err))
				return
			}
			if !yield(rec, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(none, fmt.Errorf("read %s: line %d: %w", what, n+1, err))
		}
	}
}

// appendLine adds v, with a newline, to dst.
func appendLine(dst []byte, v any) ([]byte, error) {
	data, err := exports.JSON(v)
	if err != nil {
		return dst, fmt.Errorf("encode record: %w", err)
	}
	return append(append(dst, data...), '\n'), nil
}

// null is nil for a zero value: unknown is null, never 0 or "".
func null[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
