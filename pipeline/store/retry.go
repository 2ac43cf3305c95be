package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"
)

// retrier repeats what failed for a reason that may pass. The SDK's own retries are switched off: they would hide
// how often a conditional write was sent, and that decides what its refusal means.
type retrier struct {
	attempts  int
	base, max time.Duration // the first wait, and the longest
	log       *slog.Logger
}

const (
	retryBase = 100 * time.Millisecond
	retryMax  = 5 * time.Second
)

// do calls attempt until it returns nil or an error that is not transient, at most r.attempts times. try counts from 0.
func (r retrier) do(ctx context.Context, attempt func(try int) error) error {
	for try := 0; ; try++ {
		err := attempt(try)
		if err == nil {
			return nil
		}
		if !transient(err) || try+1 >= r.attempts {
			return afterTries(err, try+1)
		}
		if waitErr := r.wait(ctx, try, err); waitErr != nil {
			return afterTries(err, try+1, waitErr)
		}
	}
}

// wait sleeps before the attempt that follows number try: full jitter over an exponentially growing span, so that many
// workers that were refused together do not come back together.
func (r retrier) wait(ctx context.Context, try int, err error) error {
	span := min(r.base<<min(try, 20), r.max)
	if errors.Is(err, ErrThrottled) {
		span = min(4*span, r.max)
	}
	d := span/4 + rand.N(span*3/4+1)
	r.log.DebugContext(ctx, "retrying", "attempt", try+1, "wait", d, "error", err)
	return sleep(ctx, d)
}

// afterTries puts the number of attempts and the reason to give up into err.
func afterTries(err error, tries int, more ...error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok || (tries < 2 && len(more) == 0) {
		return err
	}
	full := *e
	full.Err = fmt.Errorf("after %d attempts: %w", tries, e.Err)
	if len(more) > 0 {
		full.Err = fmt.Errorf("%w (%w)", full.Err, more[0])
	}
	return &full
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

var errStalled = errors.New("no byte moved for too long")

// watchdog cancels one attempt when nothing has moved for a while. Deadlines over whole requests would punish large
// objects on slow lines; a connection that is dead is one on which nothing moves.
type watchdog struct {
	timer  *time.Timer
	span   time.Duration
	cancel context.CancelCauseFunc
}

func watch(ctx context.Context, span time.Duration) (context.Context, *watchdog) {
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, &watchdog{time.AfterFunc(span, func() { cancel(errStalled) }), span, cancel}
}

func (w *watchdog) moved() { w.timer.Reset(w.span) }

func (w *watchdog) stop() {
	w.timer.Stop()
	w.cancel(context.Canceled)
}
