package model_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/model"
)

// scripted is a judge that does what a function says.
type scripted func(ctx context.Context, req *judge.Request) (judge.Reply, error)

func (scripted) Identity() judge.Identity {
	return judge.Identity{Model: "scripted", Mode: "code", Parameters: "{}"}
}

func (s scripted) Judge(ctx context.Context, req *judge.Request) (judge.Reply, error) {
	return s(ctx, req)
}

func fails(class judge.Class) error {
	return &judge.CallError{Class: class, Err: errors.New("scripted")}
}

// failing fails the first n calls.
func failing(n int32, class judge.Class, retryAfter time.Duration) scripted {
	var calls atomic.Int32
	return func(context.Context, *judge.Request) (judge.Reply, error) {
		if calls.Add(1) <= n {
			return judge.Reply{}, &judge.CallError{Class: class, RetryAfter: retryAfter, Err: errors.New("scripted")}
		}
		return judge.Reply{Text: "ok", StopReason: "end_turn"}, nil
	}
}

func TestCaller_RetriesWhatCanBeRetried(t *testing.T) {
	for class, retried := range map[judge.Class]bool{
		judge.ClassThrottled: true, judge.ClassTransient: true, judge.ClassTimeout: true, judge.ClassInvalid: false, judge.ClassRefused: false,
		judge.ClassTruncated: false, judge.ClassOverflow: false, judge.ClassMalformed: false, judge.ClassAccess: false, judge.ClassQuota: false,
	} {
		synctest.Test(t, func(t *testing.T) {
			c := model.NewCaller(failing(2, class, 0), model.CallerOptions{})
			var attempts []model.Attempt
			r, err := c.Do(t.Context(), &judge.Request{}, func(a model.Attempt) { attempts = append(attempts, a) })
			if retried != (err == nil && r.Text == "ok" && len(attempts) == 3) {
				t.Errorf("%s: reply %q, error %v, %d attempts", class, r.Text, err, len(attempts))
			}
			for i, a := range attempts {
				if a.Number != i+1 || (a.Err == nil) != (a.Class == "") {
					t.Errorf("%s: attempt %+v", class, a)
				}
			}
			if (c.Stopped() != nil) != class.Fatal() {
				t.Errorf("%s: stopped %v", class, c.Stopped())
			}
		})
	}
}

func TestCaller_WaitsAsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := model.NewCaller(failing(1, judge.ClassThrottled, 7*time.Second), model.CallerOptions{})
		begin := time.Now()
		if _, err := c.Do(t.Context(), &judge.Request{}, nil); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(begin); d < 7*time.Second || d > 8*time.Second {
			t.Errorf("waited %v of 7 s", d)
		}
	})
}

func TestCaller_GivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		c := model.NewCaller(failing(1e6, judge.ClassThrottled, 0), model.CallerOptions{MaxAttempts: 5})
		_, err := c.Do(t.Context(), &judge.Request{}, func(model.Attempt) { n++ })
		if ce, ok := errors.AsType[*judge.CallError](err); !ok || ce.Class != judge.ClassThrottled || n != 5 {
			t.Errorf("%d attempts, error %v", n, err)
		}
		c = model.NewCaller(failing(1e6, judge.ClassThrottled, 40*time.Second), model.CallerOptions{MaxAttempts: 1000, Deadline: 5 * time.Minute})
		begin := time.Now()
		if _, err := c.Do(t.Context(), &judge.Request{}, nil); err == nil || time.Since(begin) > 5*time.Minute {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
		// A service that is down costs a budget of retries, not every request's attempts.
		n = 0
		c = model.NewCaller(failing(1e6, judge.ClassTransient, 0), model.CallerOptions{RetryBudget: 10})
		for range 100 {
			if _, err := c.Do(t.Context(), &judge.Request{}, func(model.Attempt) { n++ }); err == nil {
				t.Fatal("no error")
			}
		}
		if n != 110 {
			t.Errorf("%d attempts for 100 requests with a budget of 10 retries", n)
		}
	})
}

func TestCaller_AttemptTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		c := model.NewCaller(scripted(func(ctx context.Context, _ *judge.Request) (judge.Reply, error) {
			if n++; n > 1 {
				return judge.Reply{Text: "ok"}, nil
			}
			<-ctx.Done()
			return judge.Reply{}, ctx.Err()
		}), model.CallerOptions{AttemptTimeout: time.Second})
		var first judge.Class
		_, err := c.Do(t.Context(), &judge.Request{}, func(a model.Attempt) {
			if a.Number == 1 {
				first = a.Class
			}
		})
		if err != nil || first != judge.ClassTimeout {
			t.Errorf("error %v, first %s", err, first)
		}
	})
}

func TestCaller_StopsForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		c := model.NewCaller(scripted(func(ctx context.Context, _ *judge.Request) (judge.Reply, error) {
			calls.Add(1)
			time.Sleep(time.Second)
			return judge.Reply{}, fails(judge.ClassAccess)
		}), model.CallerOptions{Concurrency: 4})
		var wg sync.WaitGroup
		var stopped atomic.Int32
		for range 100 {
			wg.Go(func() {
				_, err := c.Do(t.Context(), &judge.Request{}, nil)
				if ce, ok := errors.AsType[*judge.CallError](err); !ok || ce.Class != judge.ClassAccess {
					t.Errorf("error %v", err)
				}
				if errors.Is(err, model.ErrStopped) {
					stopped.Add(1)
				}
			})
		}
		wg.Wait()
		if calls.Load() > 4 || calls.Load()+stopped.Load() != 100 {
			t.Errorf("%d calls, %d stopped", calls.Load(), stopped.Load())
		}
	})
}

func TestCaller_CancelWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c := model.NewCaller(scripted(func(ctx context.Context, _ *judge.Request) (judge.Reply, error) {
			<-ctx.Done()
			return judge.Reply{}, &judge.CallError{Class: judge.ClassUnknown, Err: ctx.Err()}
		}), model.CallerOptions{Concurrency: 2})
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if _, err := c.Do(ctx, &judge.Request{}, nil); !errors.Is(err, context.Canceled) {
					t.Errorf("error %v", err)
				}
			})
		}
		synctest.Wait()
		cancel()
		wg.Wait()
	})
}

// quota is a service that takes so many calls a second and has a latency.
type quota struct {
	mu             sync.Mutex
	perSecond      float64
	tokens         float64
	last           time.Time
	running, peak  int
	ok, throttled  int
	sentTokensBy   map[int64]int
	halveFrom, end time.Time
}

func (q *quota) judge(ctx context.Context, _ *judge.Request) (judge.Reply, error) {
	q.mu.Lock()
	now := time.Now()
	rate := q.perSecond
	if now.After(q.halveFrom) && now.Before(q.end) {
		rate /= 2
	}
	q.tokens = min(rate/4, q.tokens+now.Sub(q.last).Seconds()*rate)
	q.last = now
	q.running++
	q.peak = max(q.peak, q.running)
	allowed := q.tokens >= 1
	if allowed {
		q.tokens--
		q.ok++
	} else {
		q.throttled++
	}
	latency := 5 * time.Millisecond
	if allowed {
		latency = time.Duration(40+40*rand.ExpFloat64()) * time.Millisecond
	}
	q.mu.Unlock()
	time.Sleep(latency)
	q.mu.Lock()
	q.running--
	q.mu.Unlock()
	if !allowed {
		return judge.Reply{}, fails(judge.ClassThrottled)
	}
	return judge.Reply{Text: "ok"}, nil
}

// The service of reference/engine.md F: 200 calls a second, halved from 8 s to 14 s; 4,000 calls take 23 s at best.
func TestCaller_AdaptsToAQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		q := &quota{perSecond: 200, last: begin, halveFrom: begin.Add(8 * time.Second), end: begin.Add(14 * time.Second)}
		c := model.NewCaller(scripted(q.judge), model.CallerOptions{Concurrency: 64})
		var wg sync.WaitGroup
		work := make(chan int)
		var failed atomic.Int32
		for range 64 {
			wg.Go(func() {
				for range work {
					if _, err := c.Do(t.Context(), &judge.Request{}, nil); err != nil {
						failed.Add(1)
					}
				}
			})
		}
		for i := range 4000 {
			work <- i
		}
		close(work)
		wg.Wait()
		took := time.Since(begin)
		t.Logf("4,000 calls in %v, %d throttled, peak %d", took, q.throttled, q.peak)
		if failed.Load() > 0 {
			t.Errorf("%d calls failed", failed.Load())
		}
		if q.peak > 64 || took > 40*time.Second || q.throttled > 800 {
			t.Errorf("took %v, %d throttled, peak %d", took, q.throttled, q.peak)
		}
	})
}

func TestCaller_Ceilings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, opts := range map[string]model.CallerOptions{
			"requests": {RequestsPerMinute: 60, Concurrency: 8}, "tokens": {TokensPerMinute: 60 * 510, Concurrency: 8},
		} {
			begin := time.Now()
			c := model.NewCaller(scripted(func(context.Context, *judge.Request) (judge.Reply, error) { return judge.Reply{Text: "ok"}, nil }), opts)
			var wg sync.WaitGroup
			for range 60 {
				wg.Go(func() {
					if _, err := c.Do(t.Context(), &judge.Request{}, nil); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if d := time.Since(begin); d < 50*time.Second || d > 61*time.Second {
				t.Errorf("%s: 60 calls at one a second took %v", name, d)
			}
		}
	})
}
