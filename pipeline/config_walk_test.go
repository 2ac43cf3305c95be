package pipeline_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tracejury/tracejury/pipeline"
)

func TestDefaults(t *testing.T) {
	got := pipeline.Defaults()
	for key, want := range map[string]string{"evaluate_days": "7", "ingest_memory": "1GiB", "retention_content": "30", "aggregate_level": "0.95"} {
		if got[key] != want {
			t.Errorf("default of %s: %q, want %q", key, got[key], want)
		}
	}
	for _, key := range []string{"data", "as_of", "evaluate_seed", "evaluate_budget_usd"} {
		if v, ok := got[key]; ok {
			t.Errorf("%s has no default, got %q", key, v)
		}
	}
}

func TestConfig_NoNumberIsNegative(t *testing.T) {
	for file, want := range map[string]string{
		"data: d\nevaluate: {days: -1}":                            "evaluate.days: -1",
		"data: d\nevaluate: {budget_usd: -0.5}":                    "evaluate.budget_usd: -0.5",
		"data: d\nretention: {content: -2}":                        "retention.content: -2",
		"data: d\nlimits: {max_depth: -9}":                         "limits.max_depth: -9",
		"data: d\nevaluate: {prices: [{model: m}, {input: -1.0}]}": "evaluate.prices[1].input: -1",
	} {
		cfg, err := pipeline.ParseConfig([]byte(file))
		if err != nil {
			t.Fatal(err)
		}
		err = cfg.Complete(time.Now())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one that names %s", file, err, want)
		}
	}
}
