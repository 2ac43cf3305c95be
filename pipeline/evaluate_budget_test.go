package pipeline_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/tracejury/tracejury/judge/judgetest"
	"github.com/tracejury/tracejury/pipeline"
	"github.com/tracejury/tracejury/pipeline/session"
	"github.com/tracejury/tracejury/schema"
)

// Every call counts against the budget when it is made: retries and attempts to mend an answer too. What is graded is kept, and
// going on costs no more calls than one undisturbed run.
func TestBudgetHoldsForEveryAttempt(t *testing.T) {
	for name, faults := range map[string]judgetest.Faults{
		"throttled": {Throttle: 0.25, Unavailable: 0.1}, "repaired": {WrongSchema: 0.6},
	} {
		t.Run(name, func(t *testing.T) {
			data, srv := demoLake(t), bedrock(t, judgetest.Options{Seed: "5", Faults: faults})
			graded, rounds := 0, 0
			for ; ; rounds++ {
				before := srv.Calls()
				cfg := evaluateConfig(t, data)
				cfg.Evaluate.BudgetCalls, cfg.Evaluate.Concurrency = 7, 4
				sum, err := pipeline.Evaluate(context.Background(), cfg, pipeline.EvaluateOptions{}, quiet())
				if sum == nil {
					t.Fatal(err)
				}
				made := srv.Calls() - before
				if made > 7 || made != sum.Calls {
					t.Fatalf("round %d: the server saw %d calls, the summary says %d, the budget is 7", rounds, made, sum.Calls)
				}
				if sum.Graded < graded {
					t.Fatalf("round %d: %d graded after %d", rounds, sum.Graded, graded)
				}
				graded = sum.Graded
				if sum.NotAttempted == 0 {
					break
				}
				wantExit(t, err, pipeline.ExitPartial)
				if made < 7 || rounds > 20 {
					t.Fatalf("round %d ended after %d calls of 7", rounds, made)
				}
			}
			if rounds == 0 {
				t.Error("the budget stopped nothing: the test shows nothing")
			}
		})
	}
}

// A budget in dollars holds also where replies are much longer than they usually are and many calls are in flight; and what it allows is
// used: calls wait for those in flight, whose cost is not known yet.
func TestBudgetInDollarsHoldsForLongReplies(t *testing.T) {
	for name, tokens := range map[string]int{"long": 4000, "short": 100} {
		t.Run(name, func(t *testing.T) {
			data := demoLake(t)
			bedrock(t, judgetest.Options{Latency: 20 * time.Millisecond, Script: func(c judgetest.Call) judgetest.Answer {
				a := validAnswer(t, c)
				a.Text += strings.Repeat(" ", max(0, 4*tokens-len(a.Text)))
				return a
			}})
			cfg := evaluateConfig(t, data)
			cfg.Evaluate.Sample, cfg.Evaluate.Concurrency, cfg.Evaluate.BudgetUSD = 30, 16, 0.2
			cfg.Evaluate.Prices = []session.Price{{Model: testModel, Since: "2025-01-01", Output: 10}} // dollars per million
			sum, err := pipeline.Evaluate(context.Background(), cfg, pipeline.EvaluateOptions{}, quiet())
			if sum == nil || sum.CostMicroUSD == nil {
				t.Fatal(sum, err)
			}
			most := int64(4096 * 10) // of one call
			switch cost := *sum.CostMicroUSD; {
			case cost > 200_000:
				t.Errorf("%d millionths were spent of 200000", cost)
			case name == "long" && (cost < 200_000-most-10_000 || sum.NotAttempted == 0):
				t.Errorf("%d millionths were spent of 200000, %d not attempted", cost, sum.NotAttempted)
			case name == "short" && sum.NotAttempted > 0:
				t.Errorf("%d were not attempted, though all cost %d millionths", sum.NotAttempted, cost)
			}
			if n := len(readTable[schema.Call](t, data, "calls")); n != sum.Calls {
				t.Errorf("%d rows for %d calls", n, sum.Calls)
			}
		})
	}
}
