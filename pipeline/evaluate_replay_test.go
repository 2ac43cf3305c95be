package pipeline_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/tracejury/tracejury/judge/judgetest"
	"github.com/tracejury/tracejury/pipeline"
)

// A ledger replayed gives the verdicts of the run that wrote it, without a call.
func TestReplayGivesTheSameVerdicts(t *testing.T) {
	data, srv := demoLake(t), bedrock(t, judgetest.Options{Seed: "5", Faults: judgetest.Faults{Malformed: 0.2, Refused: 0.05}})
	cfg := evaluateConfig(t, data)
	first, err := pipeline.Evaluate(context.Background(), cfg, pipeline.EvaluateOptions{}, quiet())
	if first == nil {
		t.Fatal(err)
	}
	calls := srv.Calls()
	cfg = evaluateConfig(t, data)
	cfg.Evaluate.Judge = "replay:" + filepath.Join(data, "_ledger", "run="+first.RunID) // its sealed segments
	second, err := pipeline.Evaluate(context.Background(), cfg, pipeline.EvaluateOptions{}, quiet())
	if second == nil {
		t.Fatal(err)
	}
	if srv.Calls() != calls || second.RunID == first.RunID || second.Offline {
		t.Errorf("%d further calls, run %s of %s, offline %v", srv.Calls()-calls, second.RunID, first.RunID, second.Offline)
	}
	want, got := verdicts(t, data, first.RunID), verdicts(t, data, second.RunID)
	if len(want) != len(got) {
		t.Fatalf("%d verdicts, %d replayed", len(want), len(got))
	}
	for i := range want {
		if want[i].Verdict != got[i].Verdict || want[i].UngradedReason != got[i].UngradedReason || want[i].JudgeModel != got[i].JudgeModel {
			t.Errorf("%s %s: %s %s, replayed %s %s", want[i].Subject, want[i].Criterion, want[i].Verdict, want[i].UngradedReason, got[i].Verdict, got[i].UngradedReason)
		}
	}
}
