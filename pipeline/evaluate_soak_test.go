package pipeline_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tracejury/tracejury/judge/judgetest"
	"github.com/tracejury/tracejury/pipeline"
	"github.com/tracejury/tracejury/pipeline/otlp/otlpgen"
)

// soak skips unless it is asked for.
//
//	TRACEJURY_SOAK=1 go test -run TestSoak -v ./judge/model ./pipeline
func soak(t *testing.T) {
	t.Helper()
	if os.Getenv("TRACEJURY_SOAK") == "" {
		t.Skip("TRACEJURY_SOAK is not set: takes the whole machine for minutes")
	}
}

// bulkAsOf is after the last generated session.
const bulkAsOf = "2026-12-01T06:00:00Z"

// bulkLake ingests so many generated sessions.
func bulkLake(t *testing.T, sessions int) (string, string) {
	t.Helper()
	from, data := t.TempDir(), filepath.Join(t.TempDir(), "lake")
	if _, err := otlpgen.WriteBulk(t.Context(), from, otlpgen.BulkOptions{Spans: 10 * sessions, Sessions: sessions, BytesPerSpan: 1500, Seed: 1}); err != nil {
		t.Fatal(err)
	}
	cfg := config(t, from, data)
	cfg.AsOf = bulkAsOf
	if err := cfg.Complete(time.Now()); err != nil {
		t.Fatal(err)
	}
	mustIngest(t, cfg, pipeline.IngestOptions{})
	return data, bulkAsOf
}

// peakHeap watches the live heap until stop is called.
func peakHeap() (stop func() uint64) {
	done, out := make(chan struct{}), make(chan uint64)
	go func() {
		var most uint64
		var m runtime.MemStats
		for {
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
			select {
			case <-done:
				out <- most
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	return func() uint64 { close(done); return <-out }
}

func soakConfig(t *testing.T, data, asOf string, n int) *pipeline.Config {
	cfg := config(t, "", data)
	cfg.AsOf = asOf
	cfg.Evaluate.Judge, cfg.Evaluate.Concurrency, cfg.Evaluate.Sample, cfg.Evaluate.Days = "bedrock:"+testModel, 128, n, 28
	cfg.Limits.MaxSample = n
	if err := cfg.Complete(time.Now()); err != nil {
		t.Fatal(err)
	}
	return cfg
}

// The whole job, work objects and ledger included: its throughput, and its memory beside the number of sessions.
func TestSoak_Evaluate(t *testing.T) {
	soak(t)
	heap := map[int]uint64{}
	for _, n := range []int{1000, 4000} {
		data, asOf := bulkLake(t, n)
		var first atomic.Int64
		bedrock(t, judgetest.Options{Forget: true, Latency: 200 * time.Millisecond, Script: func(c judgetest.Call) judgetest.Answer {
			first.CompareAndSwap(0, time.Now().UnixNano())
			return validAnswer(t, c)
		}})
		runtime.GC()
		stop := peakHeap()
		begin := time.Now()
		sum, err := pipeline.Evaluate(context.Background(), soakConfig(t, data, asOf, n), pipeline.EvaluateOptions{}, quiet())
		took := time.Since(begin)
		heap[n] = stop()
		if err != nil {
			t.Fatal(err)
		}
		plan := time.Unix(0, first.Load()).Sub(begin)
		ideal := time.Duration(sum.Calls) * 200 * time.Millisecond / 128
		t.Logf("%d sessions: %d calls in %.1f s, of which %.1f s before the first; ideal %.1f s; peak heap %d MiB", n, sum.Calls, took.Seconds(), plan.Seconds(), ideal.Seconds(), heap[n]>>20)
	}
	if heap[4000] > 2*heap[1000]+64<<20 {
		t.Errorf("peak heap %v grows with the sessions", heap)
	}
}

// One call in five fails in one way or another: each session ends graded or with the right reason, at little more than the calls that
// it takes anyway, and no verdict is another.
func TestSoak_Faults(t *testing.T) {
	n, limit := 400, 1.3
	if os.Getenv("TRACEJURY_SOAK") == "" {
		n, limit = 60, 1.5 // of 60 sessions chance alone moves the ratio by 0.06, one standard deviation
	}
	data, asOf := bulkLake(t, n)
	type key struct{ subject, criterion string }
	run := func(f judgetest.Faults) (map[key]string, map[string]int, *pipeline.EvaluateSummary, int) {
		srv := bedrock(t, judgetest.Options{Seed: "3", Faults: f, Forget: true, SlowBy: 20 * time.Millisecond, Script: func(c judgetest.Call) judgetest.Answer { return validAnswer(t, c) }})
		cfg := soakConfig(t, data, asOf, n)
		cfg.StateDir = t.TempDir()
		cfg.Evaluate.Concurrency = 32
		// The run of before is another run to this one: nothing of it may be taken over.
		for _, dir := range []string{"runs", "verdicts", "_ledger"} {
			if err := os.RemoveAll(filepath.Join(data, dir)); err != nil {
				t.Fatal(err)
			}
		}
		sum, err := pipeline.Evaluate(context.Background(), cfg, pipeline.EvaluateOptions{}, quiet())
		if sum == nil || sum.NotAttempted > 0 {
			t.Fatalf("summary %+v, error %v", sum, err)
		}
		got, reasons := map[key]string{}, map[string]int{}
		for _, v := range verdicts(t, data, sum.RunID) {
			if v.Verdict == "ungraded" {
				reasons[v.UngradedReason]++
				continue
			}
			got[key{v.Subject, v.Criterion}] = v.Verdict
		}
		return got, reasons, sum, srv.Calls()
	}
	want, _, clean, cleanCalls := run(judgetest.Faults{})
	got, reasons, faulty, calls := run(judgetest.Faults{Throttle: 0.04, Unavailable: 0.04, Reset: 0.03, Slow: 0.02, Malformed: 0.03, WrongSchema: 0.02, Truncated: 0.01, Refused: 0.01})
	for k, v := range got {
		if want[k] != v {
			t.Errorf("%v is %s, %q without faults", k, v, want[k])
		}
	}
	for reason := range maps.Keys(reasons) {
		switch reason {
		case "truncated", "judge_refused", "schema_error":
		default:
			t.Errorf("%d answers ungraded because %q", reasons[reason], reason)
		}
	}
	ratio := float64(calls) / float64(faulty.Graded) / (float64(cleanCalls) / float64(clean.Graded))
	t.Logf("%d sessions: %d calls for %d graded without faults, %d for %d with: %.2f times; ungraded answers %v", n, cleanCalls, clean.Graded, calls, faulty.Graded, ratio, reasons)
	if ratio > limit {
		t.Errorf("%.2f times the calls of a run without faults", ratio)
	}
}
