package model_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/judgetest"
	"github.com/tracejury/tracejury/judge/ledger"
	"github.com/tracejury/tracejury/judge/model"
)

// soak skips unless it is asked for: these runs want the machine for themselves.
//
//	TRACEJURY_SOAK=1 go test -run TestSoak -v ./judge/model ./pipeline
func soak(t *testing.T) {
	t.Helper()
	if os.Getenv("TRACEJURY_SOAK") == "" {
		t.Skip("TRACEJURY_SOAK is not set: takes the whole machine for a minute")
	}
}

// processorTime is what this process has used of the processors: on a machine that others use too, it says what wall time
// cannot.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// drive asks n different questions, each attempt through a ledger on disk, and returns how long it took.
func drive(t *testing.T, c *model.Caller, req *judge.Request, n, concurrency int) (took time.Duration, failed int) {
	t.Helper()
	l, err := ledger.Open(filepath.Join(t.TempDir(), "ledger"), "2026-11-30-0123456789ab")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	var bad atomic.Int64
	var g errgroup.Group
	g.SetLimit(concurrency + concurrency/8) // as the job does: the caller is the limit, not who waits for the disk
	begin := time.Now()
	for i := range n {
		g.Go(func() error {
			r := *req
			r.User = fmt.Sprintf("%s\n%d", req.User, i)
			if _, err := c.Do(t.Context(), &r, func(a model.Attempt) {
				rec := ledger.Record{Key: fmt.Sprint(i), Attempt: a.Number, Text: a.Reply.Text, Usage: a.Usage, ErrorClass: a.Class}
				if a.Err == nil {
					rec.State = ledger.StateReply
				}
				if err := l.Append(rec); err != nil {
					t.Error(err)
				}
			}); err != nil {
				bad.Add(1)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
	return time.Since(begin), int(bad.Load())
}

func clients(t *testing.T, url string) map[string]judge.Judge {
	t.Helper()
	j, err := model.Open(t.Context(), "openai:"+url+"/v1#m", model.Options{Connections: 128})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]judge.Judge{"bedrock": bedrockAt(t, url, haiku, model.Options{Connections: 128}), "openai": j}
}

// 10,000 calls of 200 ms at 128 at a time take 15.6 s at best.
func TestSoak_ThroughputAtLatency(t *testing.T) {
	soak(t)
	const n, concurrency, latency = 10_000, 128, 200 * time.Millisecond
	s := server(t, judgetest.Options{Latency: latency, Forget: true})
	ideal := n * latency / concurrency
	for name, j := range clients(t, s.URL) {
		t.Run(name, func(t *testing.T) {
			c := model.NewCaller(j, model.CallerOptions{Concurrency: concurrency})
			used := processorTime()
			took, failed := drive(t, c, mustRequest(t, demo()), n, concurrency)
			used = processorTime() - used
			share := ideal.Seconds() / took.Seconds()
			t.Logf("%s: %d calls in %.2f s, ideal %.2f s: %.1f %%; %.1f s of processor", name, n, took.Seconds(), ideal.Seconds(), 100*share, used.Seconds())
			if failed > 0 || share < 0.95 {
				t.Errorf("%s: %.1f %% of the ideal throughput, %d failed", name, 100*share, failed)
			}
		})
	}
}

// Without latency the machine is the limit: client and server share it.
func TestSoak_ThroughputWithoutLatency(t *testing.T) {
	soak(t)
	const n, concurrency = 10_000, 128
	s := server(t, judgetest.Options{Forget: true})
	for name, j := range clients(t, s.URL) {
		t.Run(name, func(t *testing.T) {
			c := model.NewCaller(j, model.CallerOptions{Concurrency: concurrency})
			used := processorTime()
			took, failed := drive(t, c, mustRequest(t, demo()), n, concurrency)
			used = processorTime() - used
			perSecond, possible := n/took.Seconds(), n/used.Seconds()*2
			t.Logf("%s: %d calls in %.2f s: %.0f a second; %.2f ms of processor a call, client and server: 2 cores give %.0f a second", name, n, took.Seconds(), perSecond,
				used.Seconds()*1000/n, possible)
			if failed > 0 || max(perSecond, possible) < 1500 {
				t.Errorf("%s: %.0f calls a second, %d failed", name, perSecond, failed)
			}
		})
	}
}

// A service that takes 10 calls a second gets nearly that, and few more than it takes.
func TestSoak_ThrottledByTheServer(t *testing.T) {
	soak(t)
	const rate, n = 10, 300
	s := server(t, judgetest.Options{Latency: 100 * time.Millisecond, RatePerSecond: rate, Burst: 2, Forget: true})
	c := model.NewCaller(bedrockAt(t, s.URL, haiku, model.Options{}), model.CallerOptions{Concurrency: 32})
	req := mustRequest(t, demo())
	warm, failed := drive(t, c, req, 100, 32)
	calls, limited := s.Calls(), s.Limited()
	took, more := drive(t, c, req, n, 32)
	got, share := n/took.Seconds(), float64(s.Limited()-limited)/float64(s.Calls()-calls)
	t.Logf("warm-up %.1f s with %d throttled; then %.2f calls a second of %d, %.1f %% of calls throttled, %d failed", warm.Seconds(), limited, got, rate, 100*share, failed+more)
	if failed+more > 0 || got < 0.9*rate || share > 0.05 {
		t.Errorf("%.2f calls a second, %.1f %% throttled, %d failed", got, 100*share, failed+more)
	}
}
