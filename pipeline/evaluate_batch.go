package pipeline

import (
	"context"
	"fmt"
	"iter"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/model"
)

// prepare gives the judges that take many questions at once those that the ledger has no answer to. Budgets and repairs are matters of
// the calls that follow: of a job's answers each counts as one.
func (j *judging) prepare(ctx context.Context, questions []question) error {
	for i := range j.run.panel {
		s := &j.run.panel[i]
		b, ok := s.judge.(model.Batcher)
		if !ok {
			continue
		}
		j.run.log.Info("waiting for a batch job; it can be stopped and gone on with", "judge", s.identity.Model)
		if err := b.Prepare(ctx, j.open(ctx, s, questions)); err != nil {
			return fmt.Errorf("prepare batch: %w", err)
		}
	}
	return nil
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
					if _, done := j.ledger.Completed(j.key(s, q.part, &it, &req, 0)); done {
						continue
					}
					if !yield(&req, nil) {
						return
					}
				}
			}
		}
	}
}

// cleanBatches deletes the files of batch jobs whose answers are in the ledger.
func (e *evaluateRun) cleanBatches(ctx context.Context) {
	for i := range e.panel {
		if b, ok := e.panel[i].judge.(model.Batcher); ok {
			if err := b.Clean(context.WithoutCancel(ctx)); err != nil {
				e.log.Error("files of a batch job were not deleted", "run", e.runID, "err", err)
			}
		}
	}
}
