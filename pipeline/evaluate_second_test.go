package pipeline_test

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/tracejury/tracejury/judge/judgetest"
	"github.com/tracejury/tracejury/pipeline"
	"github.com/tracejury/tracejury/schema"
)

// What the judge refuses, the second model is asked once; every verdict says whose it is. Without a second, and where the second refuses
// too, the reason stays.
func TestEvaluate_SecondModelOnRefusal(t *testing.T) {
	var mu sync.Mutex
	asked := map[string]int{} // of the second
	refusesAll := ""
	refuse := func(c judgetest.Call) bool { return len(c.User)%3 == 0 } // a third of the sessions, whoever asks
	srv := bedrock(t, judgetest.Options{Script: func(c judgetest.Call) judgetest.Answer {
		if c.Model == "second" {
			mu.Lock()
			asked[c.User]++
			mu.Unlock()
		}
		if c.Model == refusesAll || c.Model != "second" && refuse(c) {
			return judgetest.Answer{StopReason: "guardrail_intervened"}
		}
		return validAnswer(t, c)
	}})
	run := func(data, second string) (*pipeline.EvaluateSummary, map[string]schema.Verdict) {
		cfg := evaluateConfig(t, data)
		cfg.Evaluate.Sample, cfg.Evaluate.OnRefusal = 24, second
		sum, err := pipeline.Evaluate(context.Background(), cfg, pipeline.EvaluateOptions{}, quiet())
		if sum == nil {
			t.Fatal(err)
		}
		byModel := map[string]schema.Verdict{}
		for _, v := range verdicts(t, data, sum.RunID) {
			byModel[v.JudgeModel+" "+v.UngradedReason] = v
		}
		return sum, byModel
	}
	alone, by := run(demoLake(t), "")
	refused := alone.UngradedBy["judge_refused"]
	if _, ok := by[testModel+" judge_refused"]; refused == 0 || !ok {
		t.Fatalf("%+v, %v", alone, by)
	}
	second := "openai:" + srv.URL + "/v1#second"
	data := demoLake(t)
	with, by := run(data, second)
	if with.UngradedBy["judge_refused"] != 0 || with.Graded != alone.Graded+refused || len(asked) != refused || with.RunID == alone.RunID {
		t.Errorf("%+v, the second was asked %d questions, %d were refused", with, len(asked), refused)
	}
	if v, ok := by["second "]; !ok || v.JudgeMode != "native_schema" || v.Vote != "final" {
		t.Errorf("no verdict says that it is the second model's: %v", by)
	}
	var text bytes.Buffer
	with.WriteText(&text)
	if !strings.Contains(text.String(), "second graded ") || !strings.Contains(text.String(), "subjects that the judge refused") {
		t.Errorf("not told:\n%s", text.String())
	}
	models := map[string]bool{}
	for _, c := range readTable[schema.Call](t, data, "calls") {
		models[c.Model] = true
	}
	if !models["second"] || !models[testModel] {
		t.Errorf("calls by %v", models)
	}
	calls := srv.Calls()
	if again, _ := run(data, second); !again.Already && again.Calls > 0 || srv.Calls() != calls {
		t.Errorf("asked again: %+v", again)
	}
	refusesAll = "second"
	if both, by := run(demoLake(t), second); both.UngradedBy["judge_refused"] != refused || by[testModel+" judge_refused"].RunID == "" {
		t.Errorf("%+v, %v", both, by)
	}
	cfg := evaluateConfig(t, data)
	cfg.Evaluate.OnRefusal = "rules"
	_, err := pipeline.Evaluate(context.Background(), cfg, pipeline.EvaluateOptions{}, quiet())
	wantExit(t, err, pipeline.ExitUsage)
}
