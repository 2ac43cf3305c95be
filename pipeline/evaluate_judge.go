package pipeline

import (
	"bytes"
	"context"
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
	"github.com/tracejury/tracejury/judge/transcript"
	"github.com/tracejury/tracejury/pipeline/store"
)

// run plans, judges and writes the run.
func (e *evaluateRun) run(ctx context.Context, sample []candidate) error {
	// One process judges a run, wherever its write-ahead log lies. Whoever is second must not touch the first one's work.
	lk, ctx, err := acquireLock(ctx, e.root.Store, "_work/run="+e.runID+".lock", e.cfg.Evaluate.BreakLock, e.log)
	if ee, ok := errors.AsType[*ExitError](err); ok && ee.Code == ExitLocked {
		ee.Err = fmt.Errorf("run %s is being judged by another process: %w", e.runID, ee.Err)
	}
	if err != nil {
		return err
	}
	defer lk.release(ctx)
	led, err := e.openLedger(ctx)
	if err != nil {
		return err
	}
	defer led.Close()
	if err := e.openCache(ctx); err != nil {
		return err
	}
	defer e.clean(ctx)
	questions, err := e.plan(ctx, sample)
	if err != nil {
		return err
	}
	stopped, err := e.judgeAll(ctx, led, questions)
	if stopped != nil && stopped.reason == stopRefused {
		return errors.Join(stopped.err, e.dropLedger(ctx, led))
	}
	if lost := e.lockLost(ctx); lost != nil {
		return lost // the new holder writes the run; what was answered here is in the log
	}
	if err != nil {
		return err
	}
	return e.commit(ctx, led, sample, questions, stopped)
}

// lockLost is the error of a run whose lock someone else took meanwhile, nil while it is held.
func (e *evaluateRun) lockLost(ctx context.Context) error {
	if cause := context.Cause(ctx); errors.Is(cause, errLockLost) {
		return &ExitError{Code: ExitLocked, Err: fmt.Errorf("judge run %s: %w", e.runID, cause)}
	}
	return nil
}

// ledgerDir is where the logs of the runs of a data root lie on this machine.
func ledgerDir(cfg *Config, st store.Store) string {
	return filepath.Join(cfg.StateDir, "ledger", rootHash(st))
}

// openLedger opens the run's log and takes over what another machine sealed of it.
func (e *evaluateRun) openLedger(ctx context.Context) (*ledger.Ledger, error) {
	led, err := ledger.Open(ledgerDir(e.cfg, e.root.Store), e.runID)
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
	stopRefused   stopReason = "refused" // of how the judge is asked: the run begins anew in another way
)

// judgeAll asks every question in sample order, and seals the ledger meanwhile.
func (e *evaluateRun) judgeAll(ctx context.Context, led *ledger.Ledger, questions []question) (*stopper, error) {
	for _, w := range e.unpriced() {
		e.sum.Warnings = append(e.sum.Warnings, w)
		e.log.Warn(w)
	}
	c := &e.cfg.Evaluate
	j := &judging{run: e, ledger: led, stop: &stopper{}, early: map[string]bool{}, causes: map[string]string{}}
	j.settled = sync.NewCond(&j.mu)
	if err := j.prepare(ctx, questions); err != nil {
		_, service := errors.AsType[*judge.CallError](err)
		switch {
		case ctx.Err() != nil:
			j.stop.now(stopInterrupt, context.Cause(ctx))
		case service:
			j.stop.now(stopService, err)
		default:
			return nil, err
		}
	}
	progress := newProgress(e.log, "judging", int64(len(questions)))
	defer progress.done()

	sctx, stopSealing := context.WithCancel(context.WithoutCancel(ctx))
	sealed := make(chan error, 1)
	go func() { sealed <- led.KeepSealing(sctx, e.putSegment) }()

	var g errgroup.Group
	g.SetLimit(c.Concurrency + c.Concurrency/8) // the judge's limiter counts calls; who writes the log or reads a work object makes none
	for i := range questions {
		if ctx.Err() != nil {
			j.stop.now(stopInterrupt, context.Cause(ctx))
		}
		if j.stop.stopped() {
			break
		}
		g.Go(func() error {
			defer progress.add(1)
			return j.question(ctx, &questions[i])
		})
	}
	err := g.Wait()
	stopSealing()
	if serr := <-sealed; err == nil && serr != nil {
		err = fmt.Errorf("seal ledger: %w", serr)
	}
	if err == nil && !j.stop.stopped() {
		j.cleanBatches(ctx)
	}
	e.sum.FromBatch, e.sum.FromCache = j.batched, j.cached
	e.sum.Calls, e.sum.FromLedger, e.sum.Causes = j.calls, j.fromLedger, j.causes
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
	stop   *stopper

	mu         sync.Mutex
	calls      int
	fromLedger int
	cached     int               // questions that the shared cache answered
	early      map[string]bool   // of them: those that it answered when a batch was prepared
	batched    int               // of the calls: answered by a batch job
	causes     map[string]string // class ─► the first error of it
	spent      int64             // millionths of a dollar
	reserved   int64             // what calls in flight may cost at most
	settled    *sync.Cond        // on mu: a call in flight was settled
}

// errStop says that a question was not asked because judging stops.
var errStop = errors.New("judging stops")

// question asks the panel all repeats of one question. Where judging stops first, it has no ballots: it was not attempted.
func (j *judging) question(ctx context.Context, q *question) error {
	if !q.asked {
		return nil
	}
	item, err := j.item(ctx, q)
	if ctx.Err() != nil {
		j.stop.now(stopInterrupt, context.Cause(ctx))
		return nil
	}
	if errors.Is(err, errStop) {
		return nil
	}
	if err != nil || item == nil {
		return err
	}
	var ballots []ballot
	for s := range j.run.panel {
		for n := range j.run.cfg.Evaluate.Repeat {
			answers, second, err := j.wholeOrSecond(ctx, &j.run.panel[s], q.part, item, n)
			if errors.Is(err, errStop) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("judge %s of %s: %w", q.part.version.Evaluator, q.subject.ID, err)
			}
			ballots = append(ballots, ballot{seat: s, repeat: n, second: second, answers: answers})
		}
	}
	q.ballots = ballots
	return nil
}

func (j *judging) loadItem(ctx context.Context, q *question) (*evaluator.Item, error) {
	data, _, err := j.run.root.Store.Get(ctx, workKey(j.run.runID, q), "")
	if err != nil {
		return nil, fmt.Errorf("read planned item: %w", err)
	}
	item := new(evaluator.Item)
	if err := json.Unmarshal(data, item); err != nil {
		return nil, fmt.Errorf("read planned item of %s: %w", q.subject.ID, err)
	}
	return item, nil
}

// whole puts an item and, where its record was too long for one question, the further parts of it, and merges their answers.
func (j *judging) whole(ctx context.Context, s *seat, p *part, item *evaluator.Item, repeat int) ([]judge.Answer, error) {
	first, err := j.ask(ctx, s, p, item, repeat)
	merger, ok := p.evaluator.(evaluator.Merger)
	if err != nil || len(item.More) == 0 || !ok {
		return first, err
	}
	all := [][]judge.Answer{first}
	for i := range item.More {
		more, err := j.ask(ctx, s, p, &item.More[i], repeat)
		if err != nil {
			return nil, err
		}
		all = append(all, more)
	}
	return merger.Merge(all), nil
}

// ask puts one question and, if the reply is not an answer, asks once to mend it. What the judge says in its own words is made fit
// to be stored here, where what it was shown is at hand.
func (j *judging) ask(ctx context.Context, s *seat, p *part, item *evaluator.Item, repeat int) ([]judge.Answer, error) {
	answers, err := j.answers(ctx, s, p, item, repeat)
	for i := range answers {
		a := &answers[i]
		a.Explanation, a.Withheld = transcript.Explanation(a.Explanation, item.Transcript, j.run.maskText)
	}
	return answers, err
}

func (j *judging) answers(ctx context.Context, s *seat, p *part, item *evaluator.Item, repeat int) ([]judge.Answer, error) {
	req := item.Request
	req.Repeat = repeat
	text, err := j.reply(ctx, s, p, item, &req, 0)
	if err != nil {
		return j.ungraded(s, &req, err)
	}
	answers, err := p.evaluator.Read(&req, text)
	if _, invalid := errors.AsType[*evaluator.InvalidReply](err); !invalid {
		return answers, err
	}
	req.RepairOf, req.RepairError = text, err.Error()
	if text, err = j.reply(ctx, s, p, item, &req, 1); err != nil {
		return j.ungraded(s, &req, err)
	}
	answers, err = p.evaluator.Read(&req, text)
	if bad, invalid := errors.AsType[*evaluator.InvalidReply](err); invalid {
		return ungradedAnswers(req.Criteria, bad.Class), nil
	}
	return answers, err
}

// ungraded turns a failed call into answers, unless the failure ends the run.
func (j *judging) ungraded(s *seat, req *judge.Request, err error) ([]judge.Answer, error) {
	ce, ok := errors.AsType[*judge.CallError](err)
	if !ok {
		return nil, err
	}
	if j.refused(s, ce) {
		return nil, errStop
	}
	if ce.Class.Fatal() {
		j.stop.now(stopService, err)
		return nil, errStop
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, told := j.causes[string(ce.Class)]; !told {
		j.causes[string(ce.Class)] = oneLine(j.run.maskText(ce.Err.Error()))
	}
	return ungradedAnswers(req.Criteria, ce.Class), nil
}

func ungradedAnswers(criteria []judge.Criterion, class judge.Class) []judge.Answer {
	out := make([]judge.Answer, len(criteria))
	for i, c := range criteria {
		out[i] = judge.Answer{Criterion: c.ID, Verdict: judge.Ungraded, Reason: string(class)}
	}
	return out
}

// reply is the masked text of the judge's reply: from the ledger if it was given before, else from a call that is in the ledger
// before it counts.
func (j *judging) reply(ctx context.Context, s *seat, p *part, item *evaluator.Item, req *judge.Request, repair int) (string, error) {
	key := j.key(s, p, item, req, repair)
	if rec, ok := j.ledger.Completed(key); ok {
		j.mu.Lock()
		if j.early[key] { // it is counted as what it is: an answer of the cache
			delete(j.early, key)
		} else {
			j.fromLedger++
		}
		j.mu.Unlock()
		if rec.State == ledger.StateFailed {
			return "", &judge.CallError{Class: rec.ErrorClass, StopReason: rec.StopReason, Err: errors.New("failed before")}
		}
		return rec.Text, nil
	}
	if hit, err := j.fromCache(ctx, s, p, key, item, req, repair); hit || err != nil {
		rec, _ := j.ledger.Completed(key)
		return rec.Text, err
	}
	if text, done, err := j.fromBatch(ctx, s, p, key, item, req, repair); done {
		return text, err
	}
	if !j.affordable(s, req) {
		j.stop.now(stopBudget, nil)
		return "", errStop
	}
	var text string
	var logErr error
	var reserved int64
	may := func() (ok bool) {
		reserved, ok = j.reserve(ctx, s, req)
		return ok
	}
	_, err := s.caller.Ask(ctx, req, may, func(a model.Attempt) {
		rec := j.record(s, p, key, item, req, repair, a)
		if ctx.Err() != nil && a.Err != nil {
			rec.State = ledger.StateAttempt // cut by the interrupt, whatever it looks like
		}
		text = rec.Text
		j.settle(s, a, reserved)
		if logErr == nil {
			logErr = j.ledger.Append(rec)
		}
		j.toCache(ctx, s, &rec)
	})
	switch {
	case logErr != nil:
		return "", fmt.Errorf("write ledger: %w", logErr)
	case ctx.Err() != nil:
		j.stop.now(stopInterrupt, context.Cause(ctx))
		return "", errStop
	case errors.Is(err, model.ErrNotAllowed):
		j.stop.now(stopBudget, nil)
		return "", errStop
	case errors.Is(err, model.ErrStopped):
		j.stop.now(stopService, err)
		return "", errStop
	}
	return text, err
}

func (j *judging) key(s *seat, p *part, item *evaluator.Item, req *judge.Request, repair int) string {
	v := &p.version
	k := ledger.KeyParts{Identity: s.identity, Evaluator: v.Evaluator, Subject: item.Subject, PromptSHA256: v.PromptSHA256, RubricSHA256: v.RubricSHA256,
		SchemaSHA256: v.SchemaSHA256, RenderingSHA256: item.RenderingSHA256, MaxTokens: req.MaxTokens, Repeat: req.Repeat, Repair: repair}
	if repair > 0 {
		k.RepairSHA256 = sha256Hex([]byte(req.RepairOf + "\x00" + req.RepairError))
	}
	return ledger.Key(k)
}

func (j *judging) record(s *seat, p *part, key string, item *evaluator.Item, req *judge.Request, repair int, a model.Attempt) ledger.Record {
	rec := ledger.Record{Key: key, RequestSHA256: key, Question: model.QuestionSHA256(req), Evaluator: p.version.Evaluator, Subject: item.Subject, Repeat: req.Repeat, Repair: repair, Attempt: a.Number,
		Model: s.identity.Model, Mode: s.identity.Mode, StopReason: a.StopReason, Usage: a.Usage, LatencyMicros: a.Latency.Microseconds(), ErrorClass: a.Class, Batch: a.Batch}
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

// worst is what an attempt may cost at most, in millionths of a dollar; 0 where no price is known.
func worst(s *seat, req *judge.Request) int64 {
	in, out := int64(len(req.System)+len(req.User)+len(req.RepairOf)+len(req.RepairError))/charsPerToken, int64(req.MaxTokens)
	if most := microUSD(s.price, s.priced, judge.Usage{InputTokens: &in, OutputTokens: &out}); most != nil {
		return *most
	}
	return 0
}

func (j *judging) callsLeftLocked() bool {
	n := j.run.cfg.Evaluate.BudgetCalls
	return n == 0 || j.calls < n
}

func (j *judging) dollarsLeftLocked(s *seat, cost int64) bool {
	usd := j.run.cfg.Evaluate.BudgetUSD
	return usd == 0 || !s.priced || j.spent+cost <= int64(usd*1e6)
}

// affordable says whether a call could be made once those in flight are settled. Only reserve decides.
func (j *judging) affordable(s *seat, req *judge.Request) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.callsLeftLocked() && j.dollarsLeftLocked(s, worst(s, req))
}

// reserve counts a call against the budgets right before it is made, each attempt of a request and each repair for itself. What it may cost
// at most is held until it is known what it cost; where that is too much only because of calls in flight, it waits for them.
func (j *judging) reserve(ctx context.Context, s *seat, req *judge.Request) (int64, bool) {
	cost := worst(s, req)
	j.mu.Lock()
	defer j.mu.Unlock()
	for !j.dollarsLeftLocked(s, j.reserved+cost) {
		if j.reserved == 0 || ctx.Err() != nil || j.stop.stopped() {
			return 0, false
		}
		j.settled.Wait()
	}
	if !j.callsLeftLocked() {
		return 0, false
	}
	j.calls++
	j.reserved += cost
	return cost, true
}

// settle replaces what was reserved for an attempt by what it cost. One that failed before it was counted cost nothing.
func (j *judging) settle(s *seat, a model.Attempt, reserved int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.reserved -= reserved
	if a.Err == nil {
		s.answered = true
	}
	if cost := microUSD(s.price, s.priced, a.Usage); cost != nil {
		j.spent += *cost
	}
	j.settled.Broadcast()
}
