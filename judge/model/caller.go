package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/tracejury/tracejury/judge"
)

// Clock is the time of a [Caller]. It decides when calls are made, never what comes out of them.
type Clock interface {
	Now() time.Time
	// Sleep waits for d or until ctx is done, whose error it then returns.
	Sleep(ctx context.Context, d time.Duration) error
}

// CallerOptions tunes a [Caller]. The zero value suits a service with unknown quotas.
type CallerOptions struct {
	Concurrency       int           // most calls at a time; 0 means 16
	MaxAttempts       int           // of one request, throttled ones included; 0 means 12
	RequestsPerMinute int           // 0: no ceiling of our own
	TokensPerMinute   int           // input and output; 0: no ceiling of our own
	Deadline          time.Duration // of one request over all attempts; 0 means 15 minutes
	AttemptTimeout    time.Duration // of one attempt; 0 means 5 minutes
	BaseDelay         time.Duration // first retry's longest wait; 0 means 500 ms
	MaxDelay          time.Duration // 0 means 60 s
	RetryBudget       int           // retries of failures other than throttles that a bad service may cost at once; 0 means 50
	Clock             Clock         // nil: the real one
	Random            func() float64
}

// Attempt is one call that was made, for the ledger.
type Attempt struct {
	Number     int // from 1
	Reply      judge.Reply
	Class      judge.Class // "" a reply
	Err        error
	Usage      judge.Usage
	StopReason string
	Latency    time.Duration // of the call alone: no waiting
	Batch      bool          // answered by a batch job
}

// Caller is the one limiter through which a judge is called. It adapts how many calls run at a time (up by one a window,
// down to 0.85 on a throttle, at most once per round trip), paces them where that is too coarse, waits as the service asks, retries with full jitter, keeps
// failures other than throttles within a budget, and stops for good on an error that no call can survive.
//
// A Caller is safe for concurrent use and starts no goroutine.
type Caller struct {
	judge    judge.Judge
	opts     CallerOptions
	requests *rate.Limiter
	tokens   *rate.Limiter

	mu        sync.Mutex
	limit     float64 // calls that may run
	running   int
	waiting   []chan struct{} // in order of arrival
	slowStart bool
	shrunk    time.Time // of the last decrease
	notBefore time.Time // as the service asked for
	pace      pace
	budget    float64
	stopped   error
}

// NewCaller makes the limiter of j.
func NewCaller(j judge.Judge, opts CallerOptions) *Caller {
	opts.Concurrency = cmp.Or(max(opts.Concurrency, 0), 16)
	opts.MaxAttempts = cmp.Or(max(opts.MaxAttempts, 0), 12)
	opts.Deadline = cmp.Or(opts.Deadline, 15*time.Minute)
	opts.AttemptTimeout = cmp.Or(opts.AttemptTimeout, 5*time.Minute)
	opts.BaseDelay = cmp.Or(opts.BaseDelay, 500*time.Millisecond)
	opts.MaxDelay = cmp.Or(opts.MaxDelay, time.Minute)
	opts.RetryBudget = cmp.Or(max(opts.RetryBudget, 0), 50)
	if opts.Clock == nil {
		opts.Clock = realClock{}
	}
	if opts.Random == nil {
		opts.Random = rand.Float64
	}
	return &Caller{
		judge: j, opts: opts, requests: perMinute(opts.RequestsPerMinute), tokens: perMinute(opts.TokensPerMinute),
		limit: float64(min(max(4, opts.Concurrency/2), opts.Concurrency)), slowStart: true, budget: float64(opts.RetryBudget),
	}
}

// perMinute is a ceiling with a burst of a twelfth: no five seconds take more than their share twice.
func perMinute(n int) *rate.Limiter {
	if n <= 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(float64(n)/60), max(1, n/12))
}

// Identity is that of the judge.
func (c *Caller) Identity() judge.Identity { return c.judge.Identity() }

// ErrStopped is wrapped by the errors of calls that were not made because an earlier one showed that none can succeed.
var ErrStopped = errors.New("judging has stopped")

// ErrNotAllowed is the error of a request of which may refused an attempt: see [Caller.Ask].
var ErrNotAllowed = errors.New("the call is not allowed")

// maxText is far beyond any answer, and fits a record of the ledger however it is escaped: one subject's reply ends no run.
const maxText = 1 << 20

// Do asks the judge and retries what can be retried. onAttempt, which may be nil, is told each attempt before Do goes on;
// it runs on the caller's goroutine. The error is a *judge.CallError, or that of ctx.
func (c *Caller) Do(ctx context.Context, req *judge.Request, onAttempt func(Attempt)) (judge.Reply, error) {
	return c.Ask(ctx, req, nil, onAttempt)
}

// Ask is Do with a say in every attempt: right before each call, the first and those again, may is asked whether it is to be
// made. Where it says no, nothing is sent and the error is [ErrNotAllowed]. may, which may be nil, is called once for each call
// that is made.
func (c *Caller) Ask(ctx context.Context, req *judge.Request, may func() bool, onAttempt func(Attempt)) (judge.Reply, error) {
	var deadline time.Time
	for n := 1; ; n++ {
		if err := c.acquire(ctx, req); err != nil {
			return judge.Reply{}, err
		}
		if n == 1 { // waiting in line for the first attempt is no fault of the service
			deadline = c.opts.Clock.Now().Add(c.opts.Deadline)
		}
		if may != nil && !may() {
			c.free()
			return judge.Reply{}, ErrNotAllowed
		}
		a := c.attempt(ctx, req, n)
		if onAttempt != nil {
			onAttempt(a)
		}
		if a.Err == nil {
			return a.Reply, nil
		}
		if ctx.Err() != nil {
			return judge.Reply{}, context.Cause(ctx)
		}
		wait, again := c.again(a, n)
		if !again || c.opts.Clock.Now().Add(wait).After(deadline) {
			return judge.Reply{}, a.Err
		}
		if err := c.opts.Clock.Sleep(ctx, wait); err != nil {
			return judge.Reply{}, err
		}
	}
}

// attempt makes one call in the slot that acquire gave, and gives it back.
func (c *Caller) attempt(ctx context.Context, req *judge.Request, n int) Attempt {
	actx, cancel := context.WithTimeout(ctx, c.opts.AttemptTimeout)
	defer cancel()
	begin := c.opts.Clock.Now()
	reply, err := c.judge.Judge(actx, req)
	if len(reply.Text) > maxText && err == nil {
		err = &judge.CallError{Class: judge.ClassMalformed, Usage: reply.Usage, StopReason: reply.StopReason, Err: fmt.Errorf("a reply of %d bytes: at most %d are read", len(reply.Text), maxText)}
	}
	latency := c.opts.Clock.Now().Sub(begin)
	if reply.Latency == 0 {
		reply.Latency = latency
	}
	a := Attempt{Number: n, Reply: reply, Usage: reply.Usage, StopReason: reply.StopReason, Latency: reply.Latency}
	if err != nil {
		ce, ok := errors.AsType[*judge.CallError](err)
		if !ok {
			ce = &judge.CallError{Class: judge.ClassUnknown, Err: err}
		}
		if actx.Err() != nil && ctx.Err() == nil { // ours, not the user's
			ce = &judge.CallError{Class: judge.ClassTimeout, Err: err, Usage: ce.Usage}
		}
		a.Reply, a.Err, a.Class, a.Usage, a.StopReason = judge.Reply{}, ce, ce.Class, ce.Usage, ce.StopReason
	}
	c.settle(req, a, begin)
	c.release(a, begin)
	return a
}

// settle charges what an attempt cost beyond the estimate.
func (c *Caller) settle(req *judge.Request, a Attempt, now time.Time) {
	if c.tokens == nil {
		return
	}
	spent := 0
	for _, n := range []*int64{a.Usage.InputTokens, a.Usage.CacheWriteTokens, a.Usage.OutputTokens} {
		if n != nil {
			spent += int(*n)
		}
	}
	for more := spent - estimate(req); more > 0; more -= c.tokens.Burst() {
		c.tokens.ReserveN(now, min(more, c.tokens.Burst())) // a debt that the next calls wait for
	}
}

// estimate is the number of tokens that a request is charged before it is sent.
func estimate(req *judge.Request) int {
	return (len(req.System)+len(req.User)+len(req.RepairOf)+len(req.RepairError))/3 + 500
}

// again says whether and when to try again after a failed attempt.
func (c *Caller) again(a Attempt, n int) (time.Duration, bool) {
	if !a.Class.Retryable() || n >= c.opts.MaxAttempts {
		return 0, false
	}
	if a.Class != judge.ClassThrottled {
		c.mu.Lock()
		left := c.budget >= 1
		if left { // what is not retried costs nothing, so that the budget is there again soon after an outage
			c.budget--
		}
		c.mu.Unlock()
		if !left {
			return 0, false
		}
	}
	ceiling := min(c.opts.MaxDelay, c.opts.BaseDelay<<min(n-1, 20))
	wait := time.Duration(c.opts.Random() * float64(ceiling))
	if ce, ok := errors.AsType[*judge.CallError](a.Err); ok && ce.RetryAfter > 0 {
		wait += min(ce.RetryAfter, 2*c.opts.MaxDelay)
	}
	return wait, true
}

// acquire waits for a slot, for what the service asked for and for the ceilings.
func (c *Caller) acquire(ctx context.Context, req *judge.Request) error {
	if err := c.slot(ctx); err != nil {
		return err
	}
	for paced := false; ; {
		c.mu.Lock()
		stopped := c.stopped
		now := c.opts.Clock.Now()
		wait := c.notBefore.Sub(now)
		if wait <= 0 && !paced {
			wait, paced = c.pace.wait(now), true
		}
		c.mu.Unlock()
		err := stopped
		if err == nil && wait > 0 {
			err = c.opts.Clock.Sleep(ctx, wait)
			if err == nil {
				continue
			}
		}
		if err == nil {
			err = c.take(ctx, c.requests, 1)
		}
		if err == nil {
			err = c.take(ctx, c.tokens, estimate(req))
		}
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			c.free()
		}
		return err
	}
}

func (c *Caller) take(ctx context.Context, l *rate.Limiter, n int) error {
	if l == nil {
		return nil
	}
	now := c.opts.Clock.Now()
	var held []*rate.Reservation
	for ; n > 0; n -= l.Burst() { // a request larger than the burst takes several
		held = append(held, l.ReserveN(now, min(n, l.Burst())))
	}
	if d := held[len(held)-1].DelayFrom(now); d > 0 {
		if err := c.opts.Clock.Sleep(ctx, d); err != nil {
			for _, r := range slices.Backward(held) {
				r.CancelAt(c.opts.Clock.Now())
			}
			return err
		}
	}
	return nil
}

// slot waits in line until fewer calls run than may.
func (c *Caller) slot(ctx context.Context) error {
	c.mu.Lock()
	if c.stopped != nil {
		defer c.mu.Unlock()
		return c.stopped
	}
	if len(c.waiting) == 0 && c.running < int(c.limit) {
		c.running++
		c.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	c.waiting = append(c.waiting, turn)
	c.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, w := range c.waiting {
		if w == turn {
			c.waiting = append(c.waiting[:i], c.waiting[i+1:]...)
			return context.Cause(ctx)
		}
	}
	c.running-- // the slot came at the same moment: pass it on
	c.wakeLocked()
	return context.Cause(ctx)
}

// free gives a slot back that was not used.
func (c *Caller) free() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running--
	c.wakeLocked()
}

// wakeLocked gives free slots to those who wait. After a stop everybody is woken, to find out.
func (c *Caller) wakeLocked() {
	for len(c.waiting) > 0 && (c.running < int(c.limit) || c.stopped != nil) {
		close(c.waiting[0])
		c.waiting = c.waiting[1:]
		c.running++
	}
}

// release gives a slot back and learns from how the call ended.
func (c *Caller) release(a Attempt, begin time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running--
	now := c.opts.Clock.Now()
	switch {
	case a.Class == "":
		c.budget = min(c.budget+0.2, float64(c.opts.RetryBudget))
		c.growLocked(now, a.Latency)
	case a.Class == judge.ClassThrottled:
		if begin.After(c.shrunk) || c.shrunk.IsZero() { // calls sent before the last decrease tell nothing new
			c.shrinkLocked(now)
		}
		if ce, ok := errors.AsType[*judge.CallError](a.Err); ok && ce.RetryAfter > 0 {
			until := now.Add(min(ce.RetryAfter, 2*c.opts.MaxDelay))
			if until.After(c.notBefore) {
				c.notBefore = until
			}
		}
	case a.Class.Fatal() && c.stopped == nil:
		ce, _ := errors.AsType[*judge.CallError](a.Err)
		c.stopped = &judge.CallError{Class: a.Class, Hint: ce.Hint, Err: fmt.Errorf("%w: %w", ErrStopped, ce.Err)}
	}
	c.wakeLocked()
}

// growLocked learns from a call that was answered.
func (c *Caller) growLocked(now time.Time, latency time.Duration) {
	c.pace.answer(now, latency)
	switch {
	case c.pace.on():
		c.limit = 1.25*c.pace.inFlight() + 2 // the pace is the limit; few wait for their turn, so that it can change
		if most := min(2*paceBelow, float64(c.opts.Concurrency)); c.pace.inFlight() > most {
			c.pace.off()
			c.limit = most
		}
	case c.slowStart:
		c.limit += 2
	default:
		c.limit += 1 / c.limit
	}
	c.limit = min(c.limit, float64(c.opts.Concurrency))
}

// shrinkLocked learns from a throttle.
func (c *Caller) shrinkLocked(now time.Time) {
	paced, running := c.pace.on(), c.pace.inFlight()
	if !paced {
		factor := 0.85
		if c.slowStart || now.Sub(c.shrunk) < 2*time.Second {
			factor = 0.7 // far off
		}
		c.limit = max(1, c.limit*factor)
	}
	c.slowStart = false
	c.shrunk = now
	c.pace.throttle(now, c.limit)
	if paced && !c.pace.on() {
		c.limit = min(max(2, 2*running), float64(c.opts.Concurrency))
	}
}

// Stopped is the error that ended judging, or nil.
func (c *Caller) Stopped() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stopped
}

type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

func (realClock) Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
