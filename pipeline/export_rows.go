package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

const (
	// gradesAtOnce is how many grades are joined with their sessions at a time.
	gradesAtOnce = 4096
	// rememberedVerdicts is up to how many verdicts a run is kept in memory, so that targets do not read it again from a bucket.
	rememberedVerdicts = 20_000
)

// verdictRow is what exports take of a row of verdicts.
type verdictRow struct {
	Evaluator      string   `parquet:"evaluator,dict"`
	Subject        string   `parquet:"subject,dict"`
	Arm            string   `parquet:"arm,dict"`
	Criterion      string   `parquet:"criterion,dict"`
	Item           string   `parquet:"item,dict"`
	Vote           string   `parquet:"vote,dict"`
	SpanID         string   `parquet:"span_id,optional"`
	Safety         bool     `parquet:"safety"`
	Verdict        string   `parquet:"verdict,dict"`
	Label          string   `parquet:"label,optional,dict"`
	Score          *float64 `parquet:"score,optional"`
	EvidenceSteps  []int32  `parquet:"evidence_steps,list"`
	UngradedReason string   `parquet:"ungraded_reason,optional,dict"`
}

// textRow is what exports take of a row of explanations.
type textRow struct {
	Evaluator   string `parquet:"evaluator,dict"`
	Subject     string `parquet:"subject"`
	Arm         string `parquet:"arm,dict"`
	Criterion   string `parquet:"criterion,dict"`
	Item        string `parquet:"item,dict"`
	Vote        string `parquet:"vote,dict"`
	Explanation string `parquet:"explanation,optional"`
}

// sessionRow is what exports take of a row of sessions.
type sessionRow struct {
	SessionKey      string   `parquet:"session_key"`
	SessionID       string   `parquet:"session_id,optional"`
	SessionIDSource string   `parquet:"session_id_source,dict"`
	StartedUnixNano int64    `parquet:"started_unix_nano,optional"`
	TraceIDs        []string `parquet:"trace_ids,list"`
}

// storedPart are the rows of a part of a run as they were when it was opened. Subjects are joined while the tables are read, which are in
// the order of their keys: memory does not grow with the run.
type storedPart struct {
	root     *Root
	run      schema.Run
	atOnce   int            // grades that are joined with their sessions at a time
	place    map[string]int // of criteria in the rubric
	grades   *table.Object[schema.Grade]
	verdicts *table.Object[verdictRow]
	texts    *table.Object[textRow] // nil: explanations do not go out
}

func openStoredPart(ctx context.Context, root *Root, run schema.Run, rubric *judge.Rubric, explain bool) (r *storedPart, err error) {
	r = &storedPart{root: root, run: run, atOnce: gradesAtOnce, place: map[string]int{}}
	for i, c := range rubric.Criteria {
		r.place[c.ID] = i
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Close())
		}
	}()
	if r.grades, err = table.OpenObject[schema.Grade](ctx, root.Store, schema.Grades.RunKey(run.RunID)); err != nil {
		return r, err
	}
	if r.verdicts, err = table.OpenObject[verdictRow](ctx, root.Store, schema.Verdicts.RunKey(run.RunID)); err != nil || !explain {
		return r, err
	}
	r.texts, err = table.OpenObject[textRow](ctx, root.Store, schema.Explanations.RunKey(run.RunID))
	return r, err
}

// Close lets the tables go.
func (r *storedPart) Close() error {
	var errs []error
	if r.grades != nil {
		errs = append(errs, r.grades.Close())
	}
	if r.verdicts != nil {
		errs = append(errs, r.verdicts.Close())
	}
	if r.texts != nil {
		errs = append(errs, r.texts.Close())
	}
	return errors.Join(errs...)
}

// subjects yields what was graded, in the order of the table. Up to so many verdicts are remembered.
func (r *storedPart) subjects(remembered int) func(context.Context) iter.Seq2[exports.Session, error] {
	return remember(remembered, func(ctx context.Context) iter.Seq2[exports.Session, error] {
		return func(yield func(exports.Session, error) bool) {
			if err := r.each(ctx, func(s exports.Session) bool { return yield(s, nil) }); err != nil {
				yield(exports.Session{}, err)
			}
		}
	})
}

// each calls f for every subject until it says no.
func (r *storedPart) each(ctx context.Context, f func(exports.Session) bool) (err error) {
	of := [2]string{"evaluator", r.run.Evaluator}
	grades := r.grades.Rows(of)
	said := r.verdicts.Rows(of)
	verdicts := &ordered[verdictRow]{next: said.Next, id: func(v *verdictRow) (string, subjectKey) { return v.Evaluator, subjectKey{v.Subject, v.Arm} }, evaluator: r.run.Evaluator}
	closers := []io.Closer{grades, said}
	var texts *ordered[textRow]
	if r.texts != nil {
		words := r.texts.Rows(of)
		texts = &ordered[textRow]{next: words.Next, id: func(x *textRow) (string, subjectKey) { return x.Evaluator, subjectKey{x.Subject, x.Arm} }, evaluator: r.run.Evaluator}
		closers = append(closers, words)
	}
	defer func() {
		for _, c := range closers {
			err = errors.Join(err, c.Close())
		}
	}()
	for {
		some, err := nextGrades(grades, r.run.Evaluator, r.atOnce)
		if err != nil || len(some) == 0 {
			return err
		}
		names, err := sessionNames(ctx, r.root, some)
		if err != nil {
			return err
		}
		for _, g := range some {
			if err := ctx.Err(); err != nil {
				return err
			}
			key := subjectKey{g.Subject, g.Arm}
			said, err := verdicts.of(key)
			if err != nil {
				return err
			}
			var words []*textRow
			if texts != nil {
				if words, err = texts.of(key); err != nil {
					return err
				}
			}
			if !f(r.join(g, names[g.SessionKey], said, words)) {
				return nil
			}
		}
	}
}

// join makes of a grade and what belongs to it what exports know. Only final votes count.
func (r *storedPart) join(g *schema.Grade, row sessionRow, verdicts []*verdictRow, texts []*textRow) exports.Session {
	s := exports.Session{Key: g.SessionKey, ID: row.SessionID, Service: g.Service, Agent: g.Agent, Harness: g.Harness, StartedUnixNano: row.StartedUnixNano,
		Revision: g.SubjectRevision, Graded: g.State == "graded", UngradedReason: g.UngradedReason, Pass: g.Pass, Safe: g.Safe, Undecided: g.Undecided}
	if row.SessionIDSource == "trace" || row.SessionIDSource == "none" {
		s.ID = ""
	}
	if len(row.TraceIDs) > 0 {
		s.TraceID = row.TraceIDs[0]
	}
	if g.SubjectKind != "session" {
		s.Subject = &exports.Subject{ID: g.Subject, Kind: g.SubjectKind, Skill: g.Skill, Server: g.Server, Tool: g.Tool, Grade: g.Grade, Score: g.Score,
			Arm: g.Arm, Category: g.Category, TaskKind: g.TaskKind}
	}
	said := map[[2]string]string{}
	for _, t := range texts {
		if t.Vote == "final" {
			said[[2]string{t.Criterion, t.Item}] = t.Explanation
		}
	}
	verdicts = slices.DeleteFunc(verdicts, func(v *verdictRow) bool { return v.Vote != "final" })
	slices.SortStableFunc(verdicts, func(a, b *verdictRow) int { return cmp.Compare(r.place[a.Criterion], r.place[b.Criterion]) })
	for i, v := range verdicts {
		if i == 0 && s.Subject != nil {
			s.Subject.SpanID = v.SpanID
		}
		s.Criteria = append(s.Criteria, exports.Criterion{ID: v.Criterion, Item: v.Item, Safety: v.Safety, Verdict: judge.Verdict(v.Verdict), Label: v.Label, Score: v.Score,
			UngradedReason: v.UngradedReason, EvidenceSteps: v.EvidenceSteps, Explanation: said[[2]string{v.Criterion, v.Item}]})
	}
	return s
}

// nextGrades are the next n grades of an evaluator, none at the end.
func nextGrades(rows *table.Rows[schema.Grade], evaluator string, n int) (out []*schema.Grade, err error) {
	for len(out) < n {
		g, err := rows.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if g.Evaluator == evaluator {
			out = append(out, g)
		}
	}
	return out, nil
}

// subjectKey is what orders the rows of an evaluator.
type subjectKey struct{ subject, arm string }

func (a subjectKey) compare(b subjectKey) int {
	return cmp.Or(strings.Compare(a.subject, b.subject), strings.Compare(a.arm, b.arm))
}

// ordered hands out the rows of subjects that are asked for in the order of the table.
type ordered[T any] struct {
	next      func() (*T, error)
	id        func(*T) (evaluator string, key subjectKey)
	evaluator string
	ahead     *T // read, of a subject that was not asked for yet
	aheadKey  subjectKey
	ended     bool
}

// of are the rows of a subject; those of subjects before it are passed over.
func (o *ordered[T]) of(want subjectKey) (out []*T, err error) {
	for !o.ended {
		if o.ahead == nil {
			if err := o.advance(); err != nil {
				return nil, err
			}
			continue
		}
		order := o.aheadKey.compare(want)
		if order > 0 {
			break
		}
		if order == 0 {
			out = append(out, o.ahead)
		}
		o.ahead = nil
	}
	return out, nil
}

func (o *ordered[T]) advance() error {
	row, err := o.next()
	if errors.Is(err, io.EOF) {
		o.ended = true
		return nil
	}
	if err != nil {
		return err
	}
	evaluator, key := o.id(row)
	if evaluator != o.evaluator {
		return nil
	}
	if key.compare(o.aheadKey) < 0 {
		return fmt.Errorf("the rows of subject %s are out of order: no tracejury wrote that table", key.subject)
	}
	o.ahead, o.aheadKey = row, key
	return nil
}

// sessionNames reads what the sessions of grades are called. One that was erased or moved since is missing.
func sessionNames(ctx context.Context, root *Root, grades []*schema.Grade) (map[string]sessionRow, error) {
	wanted, objects := map[string]bool{}, map[string]bool{}
	for _, g := range grades {
		if g.SessionKey == "" {
			continue // a tool, a package
		}
		b, err := root.Layout.Bucket(g.SessionKey)
		if err != nil {
			return nil, err
		}
		wanted[g.SessionKey] = true
		objects[schema.Sessions.DayKey(g.Dt, b)] = true
	}
	names := make(map[string]sessionRow, len(wanted))
	for key := range objects {
		if err := readSessionNames(ctx, root.Store, key, wanted, names); err != nil {
			return nil, fmt.Errorf("read sessions: %w", err)
		}
	}
	return names, nil
}

func readSessionNames(ctx context.Context, st store.Store, key string, wanted map[string]bool, names map[string]sessionRow) (err error) {
	object, err := table.OpenObject[sessionRow](ctx, st, key)
	if err != nil {
		return err
	}
	rows := object.Rows([2]string{})
	defer func() { err = errors.Join(err, rows.Close(), object.Close()) }()
	for {
		row, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if wanted[row.SessionKey] {
			names[row.SessionKey] = *row
		}
	}
}

// remember keeps what all yields as long as it has at most limit verdicts: it is read once, then. What has more is read anew every time.
func remember(limit int, all func(context.Context) iter.Seq2[exports.Session, error]) func(context.Context) iter.Seq2[exports.Session, error] {
	var kept []exports.Session
	whole, large := false, false
	return func(ctx context.Context) iter.Seq2[exports.Session, error] {
		return func(yield func(exports.Session, error) bool) {
			if whole {
				replay(ctx, kept, yield)
				return
			}
			var list []exports.Session
			n := 0
			for s, err := range all(ctx) {
				if err != nil {
					yield(s, err)
					return
				}
				if n += 1 + len(s.Criteria); n > limit {
					large, list = true, nil
				}
				if !large {
					own := s
					own.Criteria = slices.Clone(s.Criteria)
					list = append(list, own)
				}
				if !yield(s, nil) {
					return
				}
			}
			kept, whole = list, !large
		}
	}
}

func replay(ctx context.Context, list []exports.Session, yield func(exports.Session, error) bool) {
	for _, s := range list {
		if err := ctx.Err(); err != nil {
			yield(exports.Session{}, err)
			return
		}
		s.Criteria = slices.Clone(s.Criteria)
		if !yield(s, nil) {
			return
		}
	}
}
