package pipeline

import (
	"cmp"
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
)

// Task is one piece of a plan: pure, named by its input, and safe to run twice.
type Task[R any] struct {
	Name string
	Do   func(context.Context) (R, error)
}

// Plan is a frozen list of tasks.
type Plan[R any] struct {
	Stage string // ingest/read, evaluate/judge
	Tasks []Task[R]
}

// runLocal executes the tasks of a plan in this process, at most limit at a time, and returns when every goroutine it started
// has ended. results[i] belongs to task i. A failed task or a cancelled context stops the start of further ones.
func runLocal[R any](ctx context.Context, limit int, p Plan[R]) (results []R, err error) {
	results = make([]R, len(p.Tasks)) // one slot each: no lock, and the order is the plan's
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(max(1, limit))
	var stopped error
	for i, t := range p.Tasks {
		if stopped = context.Cause(gctx); stopped != nil {
			break // Go blocks at the limit; start nothing that will be thrown away
		}
		g.Go(func() (err error) {
			if results[i], err = t.Do(gctx); err != nil {
				err = fmt.Errorf("%s: %s: %w", p.Stage, t.Name, err)
			}
			return err
		})
	}
	return results, cmp.Or(g.Wait(), stopped) // stopped between two tasks: none failed, yet we are not done
}
