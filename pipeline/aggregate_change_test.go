package pipeline_test

import (
	"bytes"
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/tracejury/tracejury/pipeline"
)

func TestAggregateOverTime(t *testing.T) {
	data := demoLake(t)
	for _, day := range []string{"2026-11-28", "2026-11-29", "2026-11-30"} {
		rulesRun(t, data, func(c *pipeline.Config) {
			c.AsOf = day + "T06:00:00Z"
			c.Evaluate.Sample, c.Evaluate.Seed = 20, ""
			if err := c.Complete(time.Now()); err != nil {
				t.Fatal(err)
			}
		})
	}
	cfg := config(t, "", data)
	cfg.Aggregate.Baseline = "previous"
	sum, err := pipeline.Aggregate(context.Background(), cfg, quiet())
	if err != nil {
		t.Fatal(err)
	}
	if len(sum.Comparisons) != 1 || len(sum.Trends) != 1 || len(sum.Trends[0].Points) != 3 {
		t.Fatalf("comparisons %+v trends %+v", sum.Comparisons, sum.Trends)
	}
	c := sum.Comparisons[0]
	if !strings.HasPrefix(c.Baseline, "2026-11-29-") || c.Shared == 0 || c.Shared == c.Sessions || c.Paired {
		t.Errorf("%+v", c)
	}
	if p := sum.Trends[0].Points; p[2].Shared != c.Shared || !p[0].AsOf.Before(p[1].AsOf) {
		t.Errorf("trend %+v", p)
	}
	rows := 0
	for _, a := range sum.Aggregates {
		if a.BaselineRun == "" {
			continue
		}
		rows++
		if !a.Primary || a.Change == nil || *a.ChangeLow > *a.Change || *a.ChangeHigh < *a.Change || a.AdjustedP == nil || a.DetectableChange != nil && *a.DetectableChange > 1 {
			t.Errorf("%+v", a)
		}
	}
	if rows == 0 {
		t.Error("no aggregate carries the change")
	}
	var b bytes.Buffer
	sum.WriteText(&b)
	if s := b.String(); !strings.Contains(s, "session since 2026-11-29-") || !strings.Contains(s, "Trend of session, 3 runs") {
		t.Errorf("text:\n%s", s)
	}

	cfg.Aggregate.Baseline = "14d"
	if sum, err = pipeline.Aggregate(context.Background(), cfg, quiet()); err != nil || len(sum.Comparisons[0].Runs) != 2 {
		t.Errorf("window: %+v, %v", sum, err)
	}
	cfg.Aggregate.Baseline = "2026-11-01-000000000000"
	_, err = pipeline.Aggregate(context.Background(), cfg, quiet())
	wantExit(t, err, pipeline.ExitUsage)
}

func TestAggregateGatesEndTheCommand(t *testing.T) {
	data, id := gradedLake(t)
	for _, c := range []struct {
		gate string
		code int
	}{{"passed>=0.5", pipeline.ExitOK}, {"safe>=0.999", pipeline.ExitGate}, {"service:nobody/safe>=0.5", pipeline.ExitNoResult}, {"saef>=1", pipeline.ExitUsage}, {"criterion:nothing>=1", pipeline.ExitUsage}} {
		cfg := config(t, "", data)
		cfg.Aggregate.Gates = []string{c.gate}
		_, err := pipeline.Aggregate(context.Background(), cfg, quiet())
		wantExit(t, err, c.code)
		if c.code == pipeline.ExitGate && (!strings.Contains(err.Error(), c.gate) || !strings.Contains(err.Error(), id)) {
			t.Errorf("the gate is not named: %v", err)
		}
	}
}

// A run that drew of every service, through the tables.
func TestAggregateOfARunPerService(t *testing.T) {
	data := demoLake(t)
	id := rulesRun(t, data, func(c *pipeline.Config) { c.Evaluate.Per, c.Evaluate.Sample = "service", 5 })
	cfg := config(t, "", data)
	cfg.Aggregate.Run = id
	sum, err := pipeline.Aggregate(context.Background(), cfg, quiet())
	if err != nil {
		t.Fatal(err)
	}
	rates, sizes := map[string]float64{}, map[string]float64{}
	run := sum.Model.Run
	for i, s := range run.Strata {
		sizes[s] = float64(run.StrataEligible[i])
		if run.StrataAttempted[i] != 5 || run.StrataEligible[i] <= 5 {
			t.Errorf("service %s: %d of %d", s, run.StrataAttempted[i], run.StrataEligible[i])
		}
	}
	if len(sizes) != 2 {
		t.Fatalf("services %v", run.Strata)
	}
	var whole float64
	for _, a := range sum.Aggregates {
		switch {
		case !a.Primary || a.Metric != "passed":
		case a.GroupBy == "overall":
			whole = *a.Estimate
			if a.Method != "wilson_effective_n" || !strings.HasPrefix(a.Reason, "weighted") || a.N != 10 {
				t.Errorf("%+v", a)
			}
		case a.GroupBy == "service":
			rates[a.Group] = *a.Estimate
		}
	}
	want, size := 0.0, 0.0
	for s, n := range sizes {
		want, size = want+n*rates[s], size+n
	}
	if math.Abs(whole-want/size) > 1e-12 {
		t.Errorf("overall %g, the services by their sizes %g", whole, want/size)
	}
	var b bytes.Buffer
	sum.WriteText(&b)
	if s := b.String(); !strings.Contains(s, "of 10 †") || !strings.Contains(s, "† weighted") {
		t.Errorf("text:\n%s", s)
	}
}
