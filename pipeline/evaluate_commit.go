package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/ledger"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// commit writes the tables of the run, the row of runs last: a run without that row does not exist.
func (e *evaluateRun) commit(ctx context.Context, led *ledger.Ledger, results []subjectResult, stop *stopper) error {
	ctx = context.WithoutCancel(ctx) // what was paid for is kept, also after an interrupt
	attempted := completePrefix(results)
	rows := e.rowsOf(results[:attempted])
	e.sum.Graded, e.sum.Ungraded, e.sum.NotAttempted = rows.graded, rows.ungraded, len(results)-attempted
	e.sum.State = e.state(stop)
	calls, cost, err := e.callRows(led)
	if err != nil {
		return err
	}
	e.sum.CostMicroUSD = cost
	st := e.root.Store
	if err := saveRubric(ctx, st, e.version.Rubric); err != nil {
		return err
	}
	if err := putRows(ctx, st, schema.Verdicts, schema.Verdicts.RunKey(e.runID), rows.verdicts); err != nil {
		return err
	}
	if err := putRows(ctx, st, schema.Grades, schema.Grades.RunKey(e.runID), rows.grades); err != nil {
		return err
	}
	if err := putRows(ctx, st, schema.Explanations, schema.Explanations.RunKey(e.runID), rows.explanations); err != nil {
		return err
	}
	if err := putRows(ctx, st, schema.Calls, schema.Calls.RunKey(e.runID), calls); err != nil {
		return err
	}
	run := e.runRow(e.sum.NotAttempted, cost)
	run.SampleSHA256 = sampleHash(results)
	if err := putRows(ctx, st, schema.Runs, schema.Runs.RunKey(e.runID), []schema.Run{run}); err != nil {
		return err
	}
	if stop.reason == stopService {
		return &ExitError{Code: ExitService, Err: fmt.Errorf("judging stopped after %d of %d sessions: %w", attempted, len(results), stop.err), Hint: serviceHint(stop.err)}
	}
	return e.stateError()
}

// completePrefix is the number of leading subjects that have all their ballots. What came back beyond it stays in the ledger.
func completePrefix(results []subjectResult) int {
	for i := range results {
		if results[i].ballots == nil {
			return i
		}
	}
	return len(results)
}

func (e *evaluateRun) state(stop *stopper) string {
	switch {
	case e.sum.Sampled == 0:
		return "no_result"
	case stop.reason == stopService && e.sum.Graded == 0:
		return "failed"
	case e.sum.NotAttempted > 0:
		return "partial"
	case overUngradedLimit(e.sum.Ungraded, e.sum.Sampled):
		return "no_result"
	}
	return "finished"
}

func serviceHint(err error) string {
	if ce, ok := errors.AsType[*judge.CallError](err); ok && ce.Hint != "" {
		return ce.Hint
	}
	return "mend the access or the quota, then run the same command again; what was answered is not asked again"
}

func sampleHash(results []subjectResult) string {
	pairs := make([][2]string, len(results))
	for i := range results {
		pairs[i] = [2]string{results[i].subject.ID, results[i].subject.Revision}
	}
	return hashJSON(pairs)
}

// callRows is the table calls: every attempt that the ledger knows, with what it cost at the price in force.
func (e *evaluateRun) callRows(led *ledger.Ledger) ([]schema.Call, *int64, error) {
	records, err := led.All()
	if err != nil {
		return nil, nil, err
	}
	p, known := price(e.cfg.Evaluate.Prices, e.identity.Model, e.cfg.asOf.Format(time.DateOnly))
	var total *int64
	attempts := map[string]int32{} // a later command counts on where an earlier one stopped
	rows := make([]schema.Call, 0, len(records))
	for _, r := range records {
		attempts[r.RequestSHA256]++
		cost := microUSD(p, known, r.Usage)
		if cost != nil {
			if total == nil {
				total = new(int64)
			}
			*total += *cost
		}
		rows = append(rows, schema.Call{RunID: e.runID, RequestSHA256: r.RequestSHA256, Attempt: attempts[r.RequestSHA256], Evaluator: r.Evaluator, Subject: r.Subject,
			Model: r.Model, Mode: r.Mode, InputTokens: r.Usage.InputTokens, CacheReadTokens: r.Usage.CacheReadTokens, CacheWriteTokens: r.Usage.CacheWriteTokens,
			OutputTokens: r.Usage.OutputTokens, CostUSD: cost, LatencyMicros: r.LatencyMicros, StopReason: r.StopReason, ErrorClass: string(r.ErrorClass)})
	}
	table.Sort(rows)
	return rows, total, nil
}
