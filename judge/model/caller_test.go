package model_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

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
		// Once it is up again, a few answers later, a failure is retried.
		calls := 0
		c = model.NewCaller(scripted(func(context.Context, *judge.Request) (judge.Reply, error) {
			if calls++; calls <= 110 || calls == 120 {
				return judge.Reply{}, fails(judge.ClassTransient)
			}
			return judge.Reply{Text: "ok"}, nil
		}), model.CallerOptions{RetryBudget: 10})
		failed := 0
		for range 120 {
			if _, err := c.Do(t.Context(), &judge.Request{}, nil); err != nil {
				failed++
			}
		}
		if failed != 100 {
			t.Errorf("%d requests failed, want the 100 of the outage", failed)
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
		failed := drain(t, c, 4000, 64)
		took := time.Since(begin)
		t.Logf("4,000 calls in %v, %d throttled, peak %d", took, q.throttled, q.peak)
		if failed > 0 {
			t.Errorf("%d calls failed", failed)
		}
		if q.peak > 64 || took > 40*time.Second || q.throttled > 800 {
			t.Errorf("took %v, %d throttled, peak %d", took, q.throttled, q.peak)
		}
	})
}

// drain asks n questions, 64 at most at a time, and returns how many failed.
func drain(t *testing.T, c *model.Caller, n, concurrency int) int {
	var wg sync.WaitGroup
	work := make(chan int)
	var failed atomic.Int32
	for range concurrency {
		wg.Go(func() {
			for range work {
				if _, err := c.Do(t.Context(), &judge.Request{}, nil); err != nil {
					failed.Add(1)
				}
			}
		})
	}
	for i := range n {
		work <- i
	}
	close(work)
	wg.Wait()
	return int(failed.Load())
}

// A service that takes few calls a second gets 90 % of what it takes and throttles under 5 % of what it gets, below one
// in flight and with a few.
func TestCaller_PacesBelowOneInFlight(t *testing.T) {
	for _, rate := range []float64{2, 10, 50} {
		for _, latency := range []time.Duration{5 * time.Millisecond, 50 * time.Millisecond, 200 * time.Millisecond, 2 * time.Second} {
			if rate*latency.Seconds() > 20 {
				continue // many in flight: the number of calls is the measure
			}
			most := 0.05
			if latency > time.Second {
				most = 0.1 // what is learned comes two seconds late: the warm-up is longer
			}
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var ok, throttled int
				l := rateLimiter(rate, 2)
				c := model.NewCaller(scripted(func(context.Context, *judge.Request) (judge.Reply, error) {
					mu.Lock()
					allowed := l.Allow()
					if allowed {
						ok++
					} else {
						throttled++
					}
					mu.Unlock()
					if !allowed {
						time.Sleep(time.Millisecond)
						return judge.Reply{}, fails(judge.ClassThrottled)
					}
					time.Sleep(time.Duration(float64(latency) * (0.7 + 0.6*rand.Float64())))
					return judge.Reply{Text: "ok"}, nil
				}), model.CallerOptions{Concurrency: 128, MaxAttempts: 20})
				failed := drain(t, c, int(20*rate)+150, 128)
				warm := throttled
				begin := time.Now()
				ok, throttled = 0, 0
				failed += drain(t, c, int(60*rate), 128)
				got := 60 * rate / time.Since(begin).Seconds()
				share := float64(throttled) / float64(ok+throttled)
				t.Logf("%g a second, %v: warm-up %d throttled; then %.1f %% of the rate, %.1f %% throttled", rate, latency, warm, 100*got/rate, 100*share)
				if failed > 0 || got < 0.9*rate || share > most {
					t.Errorf("%g a second, %v: %.1f %% of the rate, %.1f %% throttled, %d failed", rate, latency, 100*got/rate, 100*share, failed)
				}
			})
		}
	}
}

// 10,000 calls of 200 ms at 128 at a time take 15.6 s at best; what the limiter takes beyond that is its start.
func TestCaller_ThroughputOfAServiceWithoutLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, concurrency, latency = 10_000, 128, 200 * time.Millisecond
		c := model.NewCaller(scripted(func(context.Context, *judge.Request) (judge.Reply, error) {
			time.Sleep(latency)
			return judge.Reply{Text: "ok"}, nil
		}), model.CallerOptions{Concurrency: concurrency})
		begin := time.Now()
		failed := drain(t, c, n, concurrency)
		share := (n * latency / concurrency).Seconds() / time.Since(begin).Seconds()
		t.Logf("%.1f %% of the ideal throughput", 100*share)
		if failed > 0 || share < 0.95 {
			t.Errorf("%.1f %% of the ideal throughput, %d failed", 100*share, failed)
		}
	})
}

// Throttles that do not depend on how fast is asked do not stop a run.
func TestCaller_SurvivesRandomThrottles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := model.NewCaller(scripted(func(context.Context, *judge.Request) (judge.Reply, error) {
			if rand.Float64() < 0.1 {
				return judge.Reply{}, fails(judge.ClassThrottled)
			}
			time.Sleep(20 * time.Millisecond)
			return judge.Reply{Text: "ok"}, nil
		}), model.CallerOptions{Concurrency: 32})
		begin := time.Now()
		failed := drain(t, c, 2000, 32)
		took := time.Since(begin)
		t.Logf("2,000 calls in %v", took)
		if failed > 0 || took > 2*time.Minute {
			t.Errorf("took %v, %d failed", took, failed)
		}
	})
}

func rateLimiter(perSecond float64, burst int) *rate.Limiter {
	return rate.NewLimiter(rate.Limit(perSecond), burst)
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

// Requests that are larger than what may be sent at once keep the ceiling all the same.
func TestCaller_TokenCeilingOfLargeRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const perMinute, each, n = 60_000, 20_000, 12
		tokens := int64(each)
		c := model.NewCaller(scripted(func(context.Context, *judge.Request) (judge.Reply, error) {
			return judge.Reply{Text: "ok", Usage: judge.Usage{InputTokens: &tokens}}, nil
		}), model.CallerOptions{TokensPerMinute: perMinute, Concurrency: 4})
		begin := time.Now()
		var wg sync.WaitGroup
		for i := range n {
			size := 3 * (each - 500)
			if i%2 == 0 {
				size = 3 // the estimate is far too low: it is charged afterwards
			}
			wg.Go(func() {
				if _, err := c.Do(t.Context(), &judge.Request{User: strings.Repeat("x", size)}, nil); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		// All but what the first calls are given in advance.
		if d, least := time.Since(begin), time.Duration((n-3)*each)*time.Minute/perMinute; d < least {
			t.Errorf("%d tokens at %d a minute took %v, want %v at least", n*each, perMinute, d, least)
		}
	})
}

// Time in line is not held against a request: a failure of its first attempt is retried.
func TestCaller_DeadlineBeginsWithTheFirstAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		c := model.NewCaller(scripted(func(context.Context, *judge.Request) (judge.Reply, error) {
			if calls.Add(1) == 6 {
				return judge.Reply{}, fails(judge.ClassThrottled)
			}
			return judge.Reply{Text: "ok"}, nil
		}), model.CallerOptions{RequestsPerMinute: 1, Deadline: 2 * time.Minute, Concurrency: 8})
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if _, err := c.Do(t.Context(), &judge.Request{}, nil); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	})
}
