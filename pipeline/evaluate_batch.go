package pipeline

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/ledger"
	"github.com/tracejury/tracejury/judge/model"
)

// prepare gives the judges that take many questions at once those that the ledger has no answer to. Budgets and repairs are matters of
// the calls that follow: of a job's answers each counts as one.
func (j *judging) prepare(ctx context.Context, questions []question) error {
	g, ctx := errgroup.WithContext(ctx)
	for i := range j.run.panel {
		s := &j.run.panel[i]
		b, ok := s.judge.(model.Batcher)
		if !ok {
			continue
		}
		g.Go(func() error {
			got, err := b.Prepare(ctx, j.batchName(s), j.open(ctx, s, questions))
			if err != nil {
				if ctx.Err() != nil {
					j.run.log.Warn("the batch job, if it was ordered, goes on without this command; run the same command again to take its answers", "judge", s.identity.Model)
				}
				return fmt.Errorf("prepare batch: %w", err)
			}
			if got.Questions > 0 || got.Ordered > 0 {
				j.mu.Lock()
				defer j.mu.Unlock()
				j.run.sum.Batch = append(j.run.sum.Batch, j.run.batchPlan(s, got.Ordered, got.Questions)+answeredText(got))
			}
			return nil
		})
	}
	err := g.Wait()
	slices.Sort(j.run.sum.Batch)
	return err
}

func answeredText(p model.Prepared) string {
	if p.Ordered == 0 {
		return ""
	}
	return fmt.Sprintf(": %d were answered, the rest is asked online", p.Answered)
}

// batchPlan says what becomes of questions of a judge that takes many at once. ordered is how many go in jobs.
func (e *evaluateRun) batchPlan(s *seat, ordered, questions int) string {
	b := &e.cfg.Evaluate.Batch
	if ordered == 0 {
		return fmt.Sprintf("%s: %d questions are fewer than the %d of a batch job (evaluate.batch.min_records): asked online, at the full price", s.identity.Model, questions, b.MinRecords)
	}
	return fmt.Sprintf("%s: %d questions in a batch job, at %g of the price", s.identity.Model, ordered, b.PriceFactor)
}

// noteBatch tells in a dry run what would become of the questions of a judge that takes many at once.
func (e *evaluateRun) noteBatch(s *seat, questions int) {
	if _, ok := s.judge.(model.Batcher); !ok || questions == 0 {
		return
	}
	ordered := questions
	if questions < e.cfg.Evaluate.Batch.MinRecords {
		ordered = 0
	}
	e.sum.Batch = append(e.sum.Batch, e.batchPlan(s, ordered, questions))
}

// forecastBatch is what questions cost a judge: less where it takes them in a batch job.
func (e *evaluateRun) forecastBatch(s *seat, questions int, cost int64) int64 {
	if _, ok := s.judge.(model.Batcher); !ok || questions < e.cfg.Evaluate.Batch.MinRecords {
		return cost
	}
	return int64(float64(cost)*e.cfg.Evaluate.Batch.PriceFactor + 0.5)
}

// batchName names the jobs of a seat in this run, apart from those of other data roots.
func (j *judging) batchName(s *seat) string {
	return j.run.runID + "-" + rootHash(j.run.root.Store) + "-" + hashJSON(s.identity.Model)[:12]
}

// open yields the requests of a seat that have no answer yet.
func (j *judging) open(ctx context.Context, s *seat, questions []question) iter.Seq2[*judge.Request, error] {
	return func(yield func(*judge.Request, error) bool) {
		for i := range questions {
			q := &questions[i]
			if !q.asked {
				continue
			}
			item, err := j.loadItem(ctx, q)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, it := range append([]evaluator.Item{*item}, item.More...) {
				for n := range j.run.cfg.Evaluate.Repeat {
					req := it.Request
					req.Repeat = n
					key := j.key(s, q.part, &it, &req, 0)
					if _, done := j.ledger.Completed(key); done {
						continue
					}
					hit, err := j.fromCache(ctx, s, q.part, key, &it, &req, 0)
					if hit {
						j.mu.Lock()
						j.early[key] = true
						j.mu.Unlock()
						continue
					}
					if err != nil {
						yield(nil, err)
						return
					}
					if !yield(&req, nil) {
						return
					}
				}
			}
		}
	}
}

// fromBatch takes the answer that a batch job gave, if one did, into the ledger.
func (j *judging) fromBatch(ctx context.Context, s *seat, p *part, key string, item *evaluator.Item, req *judge.Request, repair int) (text string, done bool, err error) {
	b, ok := s.judge.(model.Batcher)
	if !ok {
		return "", false, nil
	}
	a, ok := b.Answered(req)
	if !ok {
		return "", false, nil
	}
	rec := j.record(s, p, key, item, req, repair, a)
	if err := j.ledger.Append(rec); err != nil {
		return "", true, fmt.Errorf("write ledger: %w", err)
	}
	j.toCache(ctx, s, &rec)
	j.mu.Lock()
	j.calls++
	j.batched++
	j.mu.Unlock()
	if rec.State == ledger.StateReply {
		return rec.Text, true, nil
	}
	ce, ok := errors.AsType[*judge.CallError](a.Err)
	if !ok {
		ce = &judge.CallError{Class: a.Class, Err: a.Err}
	}
	return "", true, ce
}

// cleanBatches deletes the files of batch jobs whose answers are in the ledger.
func (j *judging) cleanBatches(ctx context.Context) {
	for i := range j.run.panel {
		s := &j.run.panel[i]
		if b, ok := s.judge.(model.Batcher); ok {
			if err := b.Clean(context.WithoutCancel(ctx), j.batchName(s)); err != nil {
				j.run.log.Error("files of a batch job were not deleted; they hold masked transcripts", "below", j.run.cfg.Evaluate.Batch.URI, "run", j.run.runID, "err", err)
			}
		}
	}
}
