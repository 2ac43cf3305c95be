package pipeline_test

import (
	"context"
	"testing"

	"github.com/tracejury/tracejury/judge/judgetest"
	"github.com/tracejury/tracejury/pipeline"
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
