package pipeline

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/ledger"
	"github.com/tracejury/tracejury/judge/model"
	"github.com/tracejury/tracejury/pipeline/store"
)

func workPrefix(runID string) string   { return "_work/run=" + runID + "/" }
func ledgerPrefix(runID string) string { return "_ledger/run=" + runID + "/" }

// plan renders everything that is asked and writes what a judge will see below _work. Judging reads only that.
func (e *evaluateRun) plan(ctx context.Context, sample []candidate) ([]question, error) {
	subjects, err := e.loadSubjects(ctx, sample)
	if err != nil {
		return nil, err
	}
	// The nonce fences the transcript, which must not be able to know it: a key that is nowhere stored.
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return nil, fmt.Errorf("make nonce: %w", err)
	}
	questions := e.questions(sample, subjects)
	p := Plan[struct{}]{Stage: "evaluate/plan"}
	for i := range questions {
		q := &questions[i]
		p.Tasks = append(p.Tasks, Task[struct{}]{Name: q.part.version.Evaluator + " " + q.subject.ID, Do: func(ctx context.Context) (struct{}, error) {
			return struct{}{}, e.planOne(ctx, q, i, nonce(key, e.runID, q.part.version.Evaluator, q.subject.ID))
		}})
	}
	_, err = runLocal(ctx, e.cfg.Ingest.Concurrency, p)
	return questions, err
}

func nonce(key []byte, runID, evaluator, subject string) string {
	m := hmac.New(sha256.New, key)
	fmt.Fprintf(m, "%s\x00%s\x00%s", runID, evaluator, subject)
	return hex.EncodeToString(m.Sum(nil))[:16]
}

func (e *evaluateRun) planOne(ctx context.Context, q *question, n int, nonce string) error {
	item, answers, err := q.part.evaluator.Item(q.subject, nonce)
	if err != nil {
		return fmt.Errorf("render: %w", err)
	}
	if item == nil {
		q.ballots = [][]judge.Answer{answers}
		return nil
	}
	q.item = item
	data, err := json.Marshal(item)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	_, err = e.root.Store.Put(ctx, workKey(e.runID, n), bytes.NewReader(data), store.PutOptions{ContentType: "application/json"})
	return err
}

// workKey is where the n-th question of a run waits.
func workKey(runID string, n int) string {
	return fmt.Sprintf("%sitem-%06d.json", workPrefix(runID), n)
}

// run plans, judges and writes the run.
func (e *evaluateRun) run(ctx context.Context, sample []candidate) error {
	defer e.clean(ctx)
	questions, err := e.plan(ctx, sample)
	if err != nil {
		return err
	}
	led, err := e.openLedger(ctx)
	if err != nil {
		return err
	}
	defer led.Close()
	stopped, err := e.judgeAll(ctx, led, questions)
	if err != nil {
		return err
	}
	return e.commit(ctx, led, sample, questions, stopped)
}

// clean deletes the transcripts that were sent to the judge; it works on after an interrupt.
func (e *evaluateRun) clean(ctx context.Context) {
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

// openLedger opens the run's log and takes over what another machine sealed of it.
func (e *evaluateRun) openLedger(ctx context.Context) (*ledger.Ledger, error) {
	led, err := ledger.Open(filepath.Join(e.cfg.StateDir, "ledger", hashJSON(e.root.Store.URI())[:12]), e.runID)
	if errors.Is(err, ledger.ErrLocked) {
		return nil, &ExitError{Code: ExitLocked, Err: fmt.Errorf("run %s is being judged by another process: %w", e.runID, err), Hint: "wait for it to end"}
	}
	if err != nil {
		return nil, err
	}
	var segments [][]byte
	for obj, err := range e.root.Store.List(ctx, ledgerPrefix(e.runID), store.ListOptions{KeysOnly: true}) {
		var data []byte
		if err == nil {
			data, _, err = e.root.Store.Get(ctx, obj.Key, "")
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("read ledger segments: %w", err), led.Close())
		}
		segments = append(segments, data)
	}
	if _, err := led.Load(segments); err != nil {
		return nil, errors.Join(err, led.Close())
	}
	return led, nil
}

// stopReason says why judging ended before all was asked; "" when all was.
type stopReason string

const (
	stopBudget    stopReason = "budget"
	stopInterrupt stopReason = "interrupt"
	stopService   stopReason = "service"
)

// judgeAll asks every question in sample order, and seals the ledger meanwhile.
func (e *evaluateRun) judgeAll(ctx context.Context, led *ledger.Ledger, questions []question) (*stopper, error) {
	p, known := price(e.cfg.Evaluate.Prices, e.identity.Model, e.cfg.asOf.Format("2006-01-02"))
	if !known && !e.identity.Offline {
		e.sum.Warnings = append(e.sum.Warnings, e.unpriced())
		e.log.Warn(e.unpriced())
	}
	c := &e.cfg.Evaluate
	j := &judging{run: e, ledger: led, price: p, priced: known, stop: &stopper{},
		caller: model.NewCaller(e.judge, model.CallerOptions{Concurrency: c.Concurrency, MaxAttempts: c.MaxAttempts, RequestsPerMinute: c.RPM, TokensPerMinute: c.TPM})}
	progress := newProgress(e.log, "judging", int64(len(questions)))
	defer progress.done()

	sctx, stopSealing := context.WithCancel(context.WithoutCancel(ctx))
	sealed := make(chan error, 1)
	go func() { sealed <- led.KeepSealing(sctx, e.putSegment) }()

	var g errgroup.Group
	g.SetLimit(c.Concurrency)
	for i := range questions {
		if ctx.Err() != nil {
			j.stop.now(stopInterrupt, context.Cause(ctx))
		}
		if j.stop.stopped() {
			break
		}
		g.Go(func() error {
			defer progress.add(1)
			return j.question(ctx, &questions[i], i)
		})
	}
	err := g.Wait()
	stopSealing()
	if serr := <-sealed; err == nil && serr != nil {
		err = fmt.Errorf("seal ledger: %w", serr)
	}
	e.sum.Calls, e.sum.FromLedger = j.calls, j.fromLedger
	return j.stop, err
}

// putSegment publishes a sealed segment. Its name and bytes are fixed: one that is there already is it.
func (e *evaluateRun) putSegment(ctx context.Context, name string, data []byte) error {
	_, err := e.root.Store.Put(ctx, ledgerPrefix(e.runID)+name, bytes.NewReader(data), store.PutOptions{})
	return err
}

// stopper remembers the first reason to stop.
type stopper struct {
	mu     sync.Mutex
	reason stopReason
	err    error
}

func (s *stopper) now(why stopReason, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reason == "" {
		s.reason, s.err = why, err
	}
}

func (s *stopper) stopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reason != ""
}

// judging is the state of the calls of one command.
type judging struct {
	run    *evaluateRun
	ledger *ledger.Ledger
	caller *model.Caller
	price  Price
	priced bool
	stop   *stopper

	mu         sync.Mutex
	calls      int
	fromLedger int
	spent      int64 // millionths of a dollar, with what is reserved for calls in flight
}

// errStop says that a question was not asked because judging stops.
var errStop = errors.New("judging stops")

// question asks all repeats of one question. Where judging stops first, it has no ballots: it was not attempted.
func (j *judging) question(ctx context.Context, q *question, n int) error {
	if q.item == nil {
		return nil // answered without asking
	}
	item, err := j.loadItem(ctx, n)
	if ctx.Err() != nil {
		j.stop.now(stopInterrupt, context.Cause(ctx))
		return nil
	}
	if err != nil {
		return err
	}
	var ballots [][]judge.Answer
	for n := range j.run.cfg.Evaluate.Repeat {
		answers, err := j.ask(ctx, q.part, item, n)
		if errors.Is(err, errStop) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("judge %s of %s: %w", q.part.version.Evaluator, q.subject.ID, err)
		}
		ballots = append(ballots, answers)
	}
	q.ballots = ballots
	return nil
}

func (j *judging) loadItem(ctx context.Context, n int) (*evaluator.Item, error) {
	data, _, err := j.run.root.Store.Get(ctx, workKey(j.run.runID, n), "")
	if err != nil {
		return nil, fmt.Errorf("read planned item: %w", err)
	}
	item := new(evaluator.Item)
	if err := json.Unmarshal(data, item); err != nil {
		return nil, fmt.Errorf("read planned item %d: %w", n, err)
	}
	return item, nil
}

// ask puts one question and, if the reply is not an answer, asks once to mend it.
func (j *judging) ask(ctx context.Context, p *part, item *evaluator.Item, repeat int) ([]judge.Answer, error) {
	req := item.Request
	req.Repeat = repeat
	text, err := j.reply(ctx, p, item, &req, 0)
	if err != nil {
		return j.ungraded(&req, err)
	}
	answers, err := p.evaluator.Read(&req, text)
	if _, invalid := errors.AsType[*evaluator.InvalidReply](err); !invalid {
		return answers, err
	}
	req.RepairOf, req.RepairError = text, err.Error()
	if text, err = j.reply(ctx, p, item, &req, 1); err != nil {
		return j.ungraded(&req, err)
	}
	answers, err = p.evaluator.Read(&req, text)
	if bad, invalid := errors.AsType[*evaluator.InvalidReply](err); invalid {
		return ungradedAnswers(&req, bad.Class), nil
	}
	return answers, err
}

// ungraded turns a failed call into answers, unless the failure ends the run.
func (j *judging) ungraded(req *judge.Request, err error) ([]judge.Answer, error) {
	ce, ok := errors.AsType[*judge.CallError](err)
	if !ok {
		return nil, err
	}
	if ce.Class.Fatal() {
		j.stop.now(stopService, err)
		return nil, errStop
	}
	return ungradedAnswers(req, ce.Class), nil
}

func ungradedAnswers(req *judge.Request, class judge.Class) []judge.Answer {
	out := make([]judge.Answer, len(req.Criteria))
	for i, c := range req.Criteria {
		out[i] = judge.Answer{Criterion: c.ID, Verdict: judge.Ungraded, Reason: string(class)}
	}
	return out
}

// reply is the masked text of the judge's reply: from the ledger if it was given before, else from a call that is in the ledger
// before it counts.
func (j *judging) reply(ctx context.Context, p *part, item *evaluator.Item, req *judge.Request, repair int) (string, error) {
	key := j.key(p, item, req, repair)
	if rec, ok := j.ledger.Completed(key); ok {
		j.mu.Lock()
		j.fromLedger++
		j.mu.Unlock()
		if rec.State == ledger.StateFailed {
			return "", &judge.CallError{Class: rec.ErrorClass, StopReason: rec.StopReason, Err: errors.New("failed before")}
		}
		return rec.Text, nil
	}
	reserved, ok := j.reserve(req)
	if !ok {
		j.stop.now(stopBudget, nil)
		return "", errStop
	}
	var text string
	var logErr error
	_, err := j.caller.Do(ctx, req, func(a model.Attempt) {
		rec := j.record(key, item, req, repair, a)
		if ctx.Err() != nil && a.Err != nil {
			rec.State = ledger.StateAttempt // cut by the interrupt, whatever it looks like
		}
		text = rec.Text
		j.settle(a, &reserved)
		if logErr == nil {
			logErr = j.ledger.Append(rec)
		}
	})
	j.release(reserved)
	switch {
	case logErr != nil:
		return "", fmt.Errorf("write ledger: %w", logErr)
	case ctx.Err() != nil:
		j.stop.now(stopInterrupt, context.Cause(ctx))
		return "", errStop
	case errors.Is(err, model.ErrStopped):
		j.stop.now(stopService, err)
		return "", errStop
	}
	return text, err
}

func (j *judging) key(p *part, item *evaluator.Item, req *judge.Request, repair int) string {
	v := &p.version
	k := ledger.KeyParts{Identity: j.run.identity, Evaluator: v.Evaluator, Subject: item.Subject, PromptSHA256: v.PromptSHA256, RubricSHA256: v.RubricSHA256,
		SchemaSHA256: v.SchemaSHA256, RenderingSHA256: item.RenderingSHA256, MaxTokens: req.MaxTokens, Repeat: req.Repeat, Repair: repair}
	if repair > 0 {
		k.RepairSHA256 = sha256Hex([]byte(req.RepairOf + "\x00" + req.RepairError))
	}
	return ledger.Key(k)
}

func (j *judging) record(key string, item *evaluator.Item, req *judge.Request, repair int, a model.Attempt) ledger.Record {
	rec := ledger.Record{Key: key, RequestSHA256: key, Evaluator: req.Evaluator, Subject: item.Subject, Repeat: req.Repeat, Repair: repair, Attempt: a.Number,
		Model: j.run.identity.Model, Mode: j.run.identity.Mode, StopReason: a.StopReason, Usage: a.Usage, LatencyMicros: a.Latency.Microseconds(), ErrorClass: a.Class}
	switch {
	case a.Err == nil:
		rec.State, rec.Text = ledger.StateReply, j.run.mask.String(a.Reply.Text, nil)
	case finalFailure(a.Class):
		rec.State = ledger.StateFailed
	}
	return rec
}

// finalFailure says that the same question would fail again, so that it is not asked again. Not among them: what a later run may
// find mended, and calls that an interrupt cut.
func finalFailure(c judge.Class) bool {
	switch c {
	case judge.ClassTruncated, judge.ClassRefused, judge.ClassOverflow, judge.ClassMalformed, judge.ClassInvalid:
		return true
	}
	return false
}

// reserve counts a call against the budgets before it is made.
func (j *judging) reserve(req *judge.Request) (int64, bool) {
	c := &j.run.cfg.Evaluate
	in, out := int64(len(req.System)+len(req.User))/charsPerToken, int64(expectedReply)
	var cost int64
	if est := microUSD(j.price, j.priced, judge.Usage{InputTokens: &in, OutputTokens: &out}); est != nil {
		cost = *est
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if c.BudgetCalls > 0 && j.calls >= c.BudgetCalls || c.BudgetUSD > 0 && j.priced && j.spent+cost > int64(c.BudgetUSD*1e6) {
		return 0, false
	}
	j.calls++ // the first attempt; settle counts further ones
	j.spent += cost
	return cost, true
}

// settle replaces what was reserved by what an attempt cost.
func (j *judging) settle(a model.Attempt, reserved *int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if a.Number > 1 {
		j.calls++
	}
	if cost := microUSD(j.price, j.priced, a.Usage); cost != nil {
		j.spent += *cost - *reserved
		*reserved = 0
	}
}

func (j *judging) release(reserved int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.spent -= reserved
}
