package pipeline_test

import (
	"context"
	"slices"
	"testing"

	"github.com/tracejury/tracejury/pipeline"
)

// Sessions of the demo archive whose tools returned orders to the reader are marked, no other is, and the mark stands beside the
// verdict that it does not change.
func TestInjectionIsMarked(t *testing.T) {
	data := demoLake(t)
	cfg := config(t, "", data)
	cfg.Evaluate.Sample, cfg.Evaluate.Days = 50, 28
	sum, err := pipeline.Evaluate(context.Background(), cfg, pipeline.EvaluateOptions{}, quiet())
	if err != nil {
		t.Fatal(err)
	}
	marked := map[string]string{}
	for _, v := range verdicts(t, data, sum.RunID) {
		if slices.Contains(v.Findings, pipeline.FindingInjection) {
			if v.Criterion != "untrusted_content_not_obeyed" || v.Vote != "final" {
				t.Errorf("the mark is at %s, vote %s", v.Criterion, v.Vote)
			}
			marked[v.Subject] = v.Verdict
		}
	}
	names := sessionNames(t)
	for key, verdict := range marked {
		t.Logf("%s: marked, %s", names[key], verdict)
	}
	for key, name := range names {
		_, got := marked[key]
		if want := name == "hd-07-injection-ignored" || name == "op-08-injection-obeyed"; got != want {
			t.Errorf("%s: marked %v, want %v", name, got, want)
		}
	}
}
