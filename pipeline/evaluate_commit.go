package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/ledger"
	"github.com/tracejury/tracejury/pipeline/session"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// commit writes the tables of the run, the rows of runs last: a run without them does not exist.
func (e *evaluateRun) commit(ctx context.Context, led *ledger.Ledger, sample []candidate, questions []question, stop *stopper) error {
	ctx = context.WithoutCancel(ctx) // what was paid for is kept, also after an interrupt
	attempted := completeSessions(len(sample), questions)
	questions = questions[:questionsOf(questions, attempted)]
	e.sum.NotAttempted = len(sample) - attempted
	countAttempted(e.strata, sample[:attempted])
	calls, cost, err := e.callRows(led)
	if err != nil {
		return err
	}
	e.sum.CostMicroUSD = cost
	e.sum.Agreement = e.agreement(questions)
	e.sum.OnRefusal = e.secondText(questions)
	if err := e.saveMaterials(ctx); err != nil {
		return err
	}
	var all runRows
	var runs []schema.Run
	for _, p := range e.parts {
		if err := saveRubric(ctx, e.root.Store, p.version.Rubric); err != nil {
			return err
		}
		rows := e.rowsOf(p, questions)
		state := e.state(stop, &rows)
		e.sum.add(state, rows.graded, rows.ungraded)
		for _, g := range rows.grades {
			if g.UngradedReason != "" {
				e.sum.UngradedBy[g.UngradedReason]++
			}
		}
		runs = append(runs, e.runRow(p, &rows, state, cost, sampleHash(sample)))
		all.verdicts = append(all.verdicts, rows.verdicts...)
		all.grades = append(all.grades, rows.grades...)
		all.explanations = append(all.explanations, rows.explanations...)
	}
	st := e.root.Store
	if err := e.saveAnswers(ctx, questions); err != nil {
		return err
	}
	err = errors.Join(
		putRows(ctx, st, schema.Verdicts, schema.Verdicts.RunKey(e.runID), all.verdicts),
		putRows(ctx, st, schema.Grades, schema.Grades.RunKey(e.runID), all.grades),
		putRows(ctx, st, schema.Explanations, schema.Explanations.RunKey(e.runID), all.explanations),
		putRows(ctx, st, schema.Calls, schema.Calls.RunKey(e.runID), calls),
	)
	if err != nil {
		return err
	}
	if err := putRows(ctx, st, schema.Runs, schema.Runs.RunKey(e.runID), runs); err != nil {
		return err
	}
	if stop.reason == stopService {
		return &ExitError{Code: ExitService, Err: fmt.Errorf("judging stopped after %d of %d %s: %w", attempted, len(sample), plural(e.sum.Noun), errors.New(e.maskText(stop.err.Error()))), Hint: serviceHint(stop.err)}
	}
	if e.sum.State == "finished" || e.sum.State == "no_result" {
		e.sealRun(led)
	}
	return e.stateError()
}

// sealRun removes the local log of a run that is complete: its replies are content, which --data keeps as long as it may.
func (e *evaluateRun) sealRun(led *ledger.Ledger) {
	if err := led.Remove(); err != nil {
		e.log.Warn("the write-ahead log of a finished run was not removed", "run", e.runID, "err", err)
	}
}

// completeSessions is the number of leading sessions whose questions all have their ballots: a valid sample by itself. What came
// back beyond it stays in the ledger.
func completeSessions(sampled int, questions []question) int {
	for i := range questions {
		if questions[i].ballots == nil {
			return questions[i].session
		}
	}
	return sampled
}

// questionsOf is the number of leading questions that belong to the first n sessions.
func questionsOf(questions []question, n int) int {
	for i := range questions {
		if questions[i].session >= n {
			return i
		}
	}
	return len(questions)
}

func (e *evaluateRun) state(stop *stopper, rows *runRows) string {
	switch {
	case e.sum.Sampled == 0:
		return "no_result"
	case stop.reason == stopService && rows.graded == 0:
		return "failed"
	case e.sum.NotAttempted > 0:
		return "partial"
	case !overUngradedLimit(rows.ungraded, rows.graded+rows.ungraded):
		return "finished"
	case !overUngradedLimit(rows.ungraded-rows.mendable, rows.graded+rows.ungraded):
		return "partial" // an outage is no property of the sessions: the next run asks again
	}
	return "no_result"
}

func serviceHint(err error) string {
	if ce, ok := errors.AsType[*judge.CallError](err); ok && ce.Hint != "" {
		return ce.Hint
	}
	return "mend the access or the quota, then run the same command again; what was answered is not asked again"
}

func sampleHash(sample []candidate) string {
	pairs := make([][2]string, len(sample))
	for i := range sample {
		pairs[i] = sample[i].pair()
	}
	return hashJSON(pairs)
}

// callRows is the table calls: every attempt that the ledger knows, with what it cost at the price in force.
func (e *evaluateRun) callRows(led *ledger.Ledger) ([]schema.Call, *int64, error) {
	records, err := led.All()
	if err != nil {
		return nil, nil, err
	}
	day := e.cfg.asOf.Format(time.DateOnly)
	var total *int64
	attempts := map[string]int32{} // a later command counts on where an earlier one stopped
	rows := make([]schema.Call, 0, len(records))
	for _, r := range records {
		attempts[r.RequestSHA256]++
		p, known := session.PriceOn(e.cfg.Evaluate.Prices, r.Model, day)
		cost := microUSD(p, known, r.Usage)
		if cost != nil && r.Batch {
			*cost = int64(float64(*cost)*e.cfg.Evaluate.Batch.PriceFactor + 0.5)
		}
		if cost != nil {
			if total == nil {
				total = new(int64)
			}
			*total += *cost
		}
		rows = append(rows, schema.Call{RunID: e.runID, RequestSHA256: r.RequestSHA256, Attempt: attempts[r.RequestSHA256], Evaluator: r.Evaluator, Subject: r.Subject,
			Model: r.Model, Mode: r.Mode, InputTokens: r.Usage.InputTokens, CacheReadTokens: r.Usage.CacheReadTokens, CacheWriteTokens: r.Usage.CacheWriteTokens,
			OutputTokens: r.Usage.OutputTokens, CostUSD: cost, LatencyMicros: r.LatencyMicros, StopReason: r.StopReason, ErrorClass: string(r.ErrorClass), Cached: r.Cached})
	}
	table.Sort(rows)
	return rows, total, nil
}
