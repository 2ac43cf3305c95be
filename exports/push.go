package exports

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"time"
)

// Pusher is a Target that can also send what Files wrote. It sends the bytes of those files and nothing else, so that what was
// checked, masked and listed in the manifest is what arrives.
type Pusher interface {
	Target
	// Ready says what a push lacks, of what can be known without a call. It is asked before anything is written.
	Ready(ctx context.Context, dryRun bool) error
	// Push makes the platform hold the file set. It can be repeated at any time, also after a crash at any point: what is there
	// stays, what is missing is added, nothing is there twice. What failed is reported to the outbox and joined in the error;
	// what does not depend on it is sent all the same.
	Push(ctx context.Context, files fs.FS, box *Outbox) error
}

// States of a Result.
const (
	Created   = "created"
	Updated   = "updated"
	Unchanged = "unchanged" // it was there, as it should be
	Sent      = "sent"
	Failed    = "failed"
)

// Result is what became of one resource of a push.
type Result struct {
	Target string `json:"target"`
	Kind   string `json:"kind"` // evaluator, log_group, dataset, eval, run, file, outcome
	Name   string `json:"name"`
	ID     string `json:"id,omitempty"` // the platform's
	State  string `json:"state"`
	Count  int64  `json:"count,omitempty"` // records sent
	Error  string `json:"error,omitempty"`
}

// Outbox is what a push works with: the way out, the memory of what was sent, and where results go.
type Outbox struct {
	Ledger *Ledger
	DryRun bool // show every call, make none
	Yes    bool // the user agreed to paid work
	Now    time.Time
	Tap    *Tap
	Report func(Result)
	// Mask is applied to what servers say.
	Mask func(string) string
	// Attempts at a call, and the first pause between two; 0 takes the defaults. Settle is how long a platform may take to show
	// what it was given.
	Attempts int
	Pause    time.Duration
	Settle   time.Duration
	Unpaced  bool // no limit on calls per second: the platform is a server of the tests
}

// Defaults of an outbox.
const (
	DefaultAttempts = 6
	DefaultPause    = 500 * time.Millisecond
	DefaultSettle   = 12 * time.Second
	longestPause    = 20 * time.Second
	longestWait     = 2 * time.Minute // of a server's Retry-After: longer is tomorrow's push
)

// ErrUncertain says that a call may have been carried out or not: the answer was lost. A call that must not be made twice is
// looked up before it is made again.
var ErrUncertain = errors.New("the answer was lost")

// ErrConsent says that a push would start paid work and nobody agreed to it.
var ErrConsent = errors.New("not without --yes")

// Retryable is an error that may not come again, and when to ask, 0 for whenever.
type Retryable struct {
	Err   error
	After time.Duration
}

func (r *Retryable) Error() string { return r.Err.Error() }

// Unwrap is the cause.
func (r *Retryable) Unwrap() error { return r.Err }

// Retry calls f until it succeeds, fails for good or has failed too often. Pauses are random up to a bound that doubles, so that
// many pushes do not come back together.
func (b *Outbox) Retry(ctx context.Context, f func() error) error {
	attempts, pause := b.Attempts, b.Pause
	if attempts <= 0 {
		attempts = DefaultAttempts
	}
	if pause <= 0 {
		pause = DefaultPause
	}
	for n := 1; ; n++ {
		err := f()
		r, again := errors.AsType[*Retryable](err)
		if !again {
			return err
		}
		if n >= attempts || r.After > longestWait {
			return r.Err // whoever called tries no further
		}
		bound := min(pause<<min(n-1, 20), max(longestPause, pause))
		if err := b.sleep(ctx, max(r.After, time.Duration(rand.Int64N(int64(bound)+1)))); err != nil {
			return err
		}
	}
}

// Poll calls f every pause until it says that it is done, fails, or limit is over.
func (b *Outbox) Poll(ctx context.Context, limit time.Duration, f func() (done bool, err error)) error {
	pause := b.Pause
	if pause <= 0 {
		pause = DefaultPause
	}
	for waited := time.Duration(0); ; waited += pause {
		done, err := f()
		if done || err != nil {
			return err
		}
		if waited >= limit {
			return context.DeadlineExceeded
		}
		if err := b.sleep(ctx, pause); err != nil {
			return err
		}
		pause = min(pause*3/2, longestPause)
	}
}

// sleep waits; a dry run has nothing to wait for.
func (b *Outbox) sleep(ctx context.Context, d time.Duration) error {
	if b.DryRun {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Fail reports a resource that failed and returns the error.
func (b *Outbox) Fail(r Result, err error) error {
	r.State, r.Error = Failed, Cut(b.masked(err.Error()), 500)
	b.report(r)
	return err
}

// Done reports a resource that is as it should be.
func (b *Outbox) Done(r Result) { b.report(r) }

func (b *Outbox) report(r Result) {
	if b.Report != nil {
		b.Report(r)
	}
}

func (b *Outbox) masked(s string) string {
	if b.Mask == nil {
		return s
	}
	return b.Mask(s)
}

// SettleTime is how long to wait for what was written to be seen.
func (b *Outbox) SettleTime() time.Duration {
	if b.Settle > 0 {
		return b.Settle
	}
	return DefaultSettle
}
