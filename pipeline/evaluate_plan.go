package pipeline

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/transcript"
	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

func workPrefix(runID string) string   { return "_work/run=" + runID + "/" }
func ledgerPrefix(runID string) string { return "_ledger/run=" + runID + "/" }

// workKey is where a question of a run waits.
func workKey(runID string, q *question) string {
	return fmt.Sprintf("%sitem-%06d-%04d.json", workPrefix(runID), q.session, q.nth)
}

// question is one subject of one part, and what came back for it: one ballot a judge and repeat. Its steps are let go as soon as
// it is planned: what a run holds in memory does not grow with its transcripts.
type question struct {
	part      *part
	subject   evaluator.Subject
	candidate *candidate
	session   int    // place of its session in the sample
	nth       int    // place among the session's questions
	asked     bool   // false: answered without asking
	rendering string // sha256 of what the judge is shown
	suspected bool   // the record holds what looks written for a judge
	ballots   []ballot

	nonce  string  // of a question that can only be rendered when the agent model has answered
	answer *string // the agent model's, masked
}

// ballot is what one judge answered in one repeat.
type ballot struct {
	seat, repeat int
	second       bool // the second model's, since the judge of the seat refused
	answers      []judge.Answer
}

// plan renders everything that is asked and writes what a judge will see below _work. Judging reads only that.
func (e *evaluateRun) plan(ctx context.Context, sample []candidate) ([]question, error) {
	// The nonce fences the transcript, which must not be able to know it: a key that is nowhere stored.
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return nil, fmt.Errorf("make nonce: %w", err)
	}
	bySession := make([][]question, len(sample))
	err := e.walk(ctx, sample, func(places []int, subjects []evaluator.Subject) error {
		p := Plan[struct{}]{Stage: "evaluate/plan"}
		for n, i := range places {
			bySession[i] = e.questions(i, &sample[i], subjects[n])
		}
		if err := e.takeOver(ctx, bySession); err != nil {
			return err
		}
		for _, i := range places {
			for k := range bySession[i] {
				q := &bySession[i][k]
				p.Tasks = append(p.Tasks, Task[struct{}]{Name: q.part.version.Evaluator + " " + q.subject.ID, Do: func(ctx context.Context) (struct{}, error) {
					return struct{}{}, e.planOne(ctx, q, nonce(key, e.runID, q.part.version.Evaluator, q.subject.ID))
				}})
			}
		}
		_, err := runLocal(ctx, e.cfg.Ingest.Concurrency, p)
		return err
	})
	return slices.Concat(bySession...), err
}

// questions lists what is asked about a session, part by part.
func (e *evaluateRun) questions(session int, c *candidate, s evaluator.Subject) []question {
	var out []question
	for _, p := range e.parts {
		split := []evaluator.Subject{s}
		if sp, ok := p.evaluator.(evaluator.Splitter); ok {
			split = sp.Split(s)
		}
		for _, sub := range split {
			out = append(out, question{part: p, subject: sub, candidate: c, session: session, nth: len(out)})
		}
	}
	return out
}

func nonce(key []byte, runID, evaluator, subject string) string {
	m := hmac.New(sha256.New, key)
	fmt.Fprintf(m, "%s\x00%s\x00%s", runID, evaluator, subject)
	return hex.EncodeToString(m.Sum(nil))[:16]
}

func (e *evaluateRun) planOne(ctx context.Context, q *question, nonce string) error {
	if q.ballots != nil {
		return nil // taken over from an earlier run
	}
	if a, ok := q.part.evaluator.(evaluator.Answered); ok {
		return planAnswered(q, a, nonce)
	}
	item, answers, err := q.part.evaluator.Item(q.subject, nonce)
	q.subject = withoutContent(q.subject)
	if errors.Is(err, transcript.ErrTooLong) {
		// Not a failure of the run: this subject does not fit a judge.
		item, answers, err = nil, ungradedAnswers(q.part.version.Rubric.Criteria, judge.ClassOverflow), nil
	}
	if err != nil {
		return e.renderError(q.subject.ID, err)
	}
	if item == nil {
		q.ballots = []ballot{{answers: answers}}
		return nil
	}
	q.asked, q.rendering, q.suspected = true, item.RenderingSHA256, item.Suspected
	e.sent.add(item.Materials)
	item.Materials = nil // a judge has no use for them
	data, err := json.Marshal(item)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	_, err = e.root.Store.Put(ctx, workKey(e.runID, q), bytes.NewReader(data), store.PutOptions{ContentType: "application/json"})
	return err
}

// walk reads the steps and skills of the sampled sessions object by object, in the order of their keys, and gives each object's to
// visit with their places in the sample.
func (e *evaluateRun) walk(ctx context.Context, sample []candidate, visit func(places []int, subjects []evaluator.Subject) error) error {
	if e.opts.given != nil {
		return visitGiven(sample, visit)
	}
	byObject := map[string][]int{}
	for i, c := range sample {
		rest := strings.TrimPrefix(c.key, schema.Sessions.Name)
		byObject[rest] = append(byObject[rest], i)
	}
	var order []string
	for rest := range byObject {
		order = append(order, rest)
	}
	slices.Sort(order)
	for _, rest := range order {
		subjects, err := e.loadSubjects(ctx, rest, sample, byObject[rest])
		if err == nil {
			err = visit(byObject[rest], subjects)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// loadSubjects reads the sessions of one object.
func (e *evaluateRun) loadSubjects(ctx context.Context, rest string, sample []candidate, places []int) ([]evaluator.Subject, error) {
	steps, _, err := table.Read[schema.Step](ctx, e.root.Store, schema.Steps.Name+rest)
	if err != nil {
		return nil, fmt.Errorf("read steps: %w", err)
	}
	skills, _, err := table.Read[schema.Skill](ctx, e.root.Store, schema.Skills.Name+rest)
	if err != nil {
		return nil, fmt.Errorf("read skills: %w", err)
	}
	tools, _, err := table.Read[schema.Tool](ctx, e.root.Store, schema.Tools.Name+rest)
	if err != nil {
		return nil, fmt.Errorf("read tools: %w", err)
	}
	subjects := make([]evaluator.Subject, len(places))
	byKey := make(map[string]*evaluator.Subject, len(places))
	for n, i := range places {
		row := &sample[i].row
		subjects[n] = evaluator.Subject{Kind: "session", ID: row.SessionKey, Revision: row.Revision, Session: row}
		byKey[row.SessionKey] = &subjects[n]
	}
	for _, st := range steps {
		if s := byKey[st.SessionKey]; s != nil {
			if st.Earlier {
				st = asContext(st)
			}
			s.Steps = append(s.Steps, st)
		}
	}
	for _, sk := range skills {
		if s := byKey[sk.SessionKey]; s != nil {
			s.Skills = append(s.Skills, sk)
		}
	}
	for _, t := range tools {
		if s := byKey[t.SessionKey]; s != nil {
			s.Tools = append(s.Tools, t)
		}
	}
	for i := range subjects {
		slices.SortFunc(subjects[i].Tools, byToolName)
		// An eligible session has a prompt or a call. Judging it without would be a verdict about nothing.
		if s := &subjects[i]; len(s.Steps) == 0 {
			return nil, &ExitError{Code: ExitService, Err: fmt.Errorf("session %s has no rows in %s%s: an ingest is under way, or died", s.ID, schema.Steps.Name, rest),
				Hint: "run ingest to its end, then evaluate again"}
		}
	}
	return subjects, nil
}

// byToolName orders the definitions of a session's tools.
func byToolName(a, b schema.Tool) int {
	return cmp.Or(strings.Compare(a.Server, b.Server), strings.Compare(a.Tool, b.Tool), strings.Compare(a.DefinitionSHA256, b.DefinitionSHA256))
}

// clean deletes the transcripts that were sent to the judge; it works on after an interrupt.
func (e *evaluateRun) clean(ctx context.Context) {
	if e.lockLost(ctx) != nil {
		return // they are the new holder's now
	}
	ctx = context.WithoutCancel(ctx)
	if err := deletePrefix(ctx, e.root.Store, workPrefix(e.runID)); err != nil {
		e.log.Error("transcripts below _work were not deleted; run the same command again to delete them", "run", e.runID, "err", err)
	}
}

func deletePrefix(ctx context.Context, st store.Store, prefix string) error {
	for obj, err := range st.List(ctx, prefix, store.ListOptions{KeysOnly: true}) {
		if err != nil {
			return err
		}
		if err := st.Delete(ctx, obj.Key); err != nil {
			return err
		}
	}
	return nil
}
