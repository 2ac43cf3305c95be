package pipeline_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/judge/judgetest"
	"github.com/tracejury/tracejury/judge/model"
	"github.com/tracejury/tracejury/pipeline"
	"github.com/tracejury/tracejury/schema"
)

// A service that refuses a mode of structured output is asked in the next one; the run says in which it was asked, and the next run
// does not try again what was refused.
func TestEvaluate_FallsToTheModeThatTheModelTakes(t *testing.T) {
	for _, c := range []struct {
		name, judge string
		refuse      []string
		want        string // "": none is taken
	}{
		{"native refused", "bedrock:eu.anthropic.claude-haiku-4-5-20251001-v1:0", []string{model.ModeNativeSchema}, model.ModeForcedTool},
		{"both refused", "bedrock:eu.anthropic.claude-haiku-4-5-20251001-v1:0", []string{model.ModeNativeSchema, model.ModeForcedTool}, model.ModeAutoTool},
		{"unknown model", "bedrock:acme.judge-1", []string{model.ModeNativeSchema}, model.ModeForcedTool},
		{"unknown model that takes all", "bedrock:acme.judge-1", nil, model.ModeNativeSchema},
		{"openai, native refused", "openai:%s/v1#m", []string{model.ModeNativeSchema}, model.ModeForcedTool},
		{"openai, tools refused too", "openai:%s/v1#m", []string{model.ModeNativeSchema, model.ModeForcedTool}, model.ModeText},
		{"openai takes all", "openai:%s/v1#m", nil, model.ModeNativeSchema},
		{"none is taken", "bedrock:acme.judge-1", []string{model.ModeNativeSchema, model.ModeForcedTool, model.ModeAutoTool}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			data, srv := demoLake(t), bedrock(t, judgetest.Options{RefuseModes: c.refuse, Script: func(c judgetest.Call) judgetest.Answer { return validAnswer(t, c) }})
			cfg := evaluateConfig(t, data)
			cfg.Evaluate.Judge, cfg.Evaluate.Sample = strings.Replace(c.judge, "%s", srv.URL, 1), 6
			sum, err := pipeline.Evaluate(context.Background(), cfg, pipeline.EvaluateOptions{}, quiet())
			if c.want == "" {
				if err == nil || sum == nil || sum.UngradedBy["invalid_request"] != 6 || !strings.Contains(sum.Causes["invalid_request"], "tool use") {
					t.Errorf("%+v, %v", sum, err)
				}
				return
			}
			if err != nil || sum.State != "finished" || sum.Graded != 6 {
				t.Fatalf("%+v, %v", sum, err)
			}
			if got := runModes(t, data); !slices.Equal(got, []string{c.want}) {
				t.Errorf("runs say %v, want %s", got, c.want)
			}
			if left, err := filepath.Glob(filepath.Join(data, "_ledger", "*")); err != nil || len(left) != 1 {
				t.Errorf("logs of runs that are none: %v, %v", left, err)
			}
			calls, answered := srv.Calls(), srv.Answered()
			cfg.Evaluate.Sample = 9
			if sum, err := pipeline.Evaluate(context.Background(), cfg, pipeline.EvaluateOptions{}, quiet()); sum == nil || sum.Graded+sum.Ungraded != 9 {
				t.Fatalf("%+v, %v", sum, err)
			}
			if srv.Calls()-calls != srv.Answered()-answered {
				t.Errorf("%d calls for %d answers: what was refused was tried again", srv.Calls()-calls, srv.Answered()-answered)
			}
			if data, err := os.ReadFile(filepath.Join(cfg.StateDir, "judges.json")); (err == nil) != (c.refuse != nil) || err == nil && !strings.Contains(string(data), c.want) {
				t.Errorf("remembered: %s, %v", data, err)
			}
		})
	}
}

// What the configuration says is what is done, refused or not; a mode that there is not is named with the nearest.
func TestEvaluate_ConfiguredMode(t *testing.T) {
	data, no := demoLake(t), false
	srv := bedrock(t, judgetest.Options{RefuseModes: []string{model.ModeNativeSchema}, Script: func(c judgetest.Call) judgetest.Answer { return validAnswer(t, c) }})
	for _, c := range []struct {
		mode, wrong string
		graded      int
	}{{"auto_tool", "", 5}, {"native_schema", "invalid_request", 0}, {"autotool", `did you mean "auto_tool"`, 0}} {
		cfg := evaluateConfig(t, data)
		cfg.Evaluate.Sample = 5
		cfg.Evaluate.Models = []pipeline.JudgeModel{{Prefix: "claude-haiku", Mode: c.mode, Temperature: &no}}
		sum, err := pipeline.Evaluate(context.Background(), cfg, pipeline.EvaluateOptions{}, quiet())
		switch {
		case c.wrong == "" && (sum == nil || sum.Graded != c.graded || !slices.Equal(runModes(t, data), []string{c.mode})):
			t.Errorf("%s: %+v, %v", c.mode, sum, err)
		case c.wrong == "invalid_request" && (sum == nil || sum.UngradedBy[c.wrong] != 5):
			t.Errorf("%s: %+v, %v", c.mode, sum, err)
		case c.wrong != "" && c.wrong != "invalid_request" && (err == nil || !strings.Contains(err.Error(), c.wrong)):
			t.Errorf("%s: %v", c.mode, err)
		}
	}
	if srv.Saw(`"temperature"`) {
		t.Error("a temperature was sent")
	}
}

// runModes are the judge modes of the runs in a lake, each once.
func runModes(t *testing.T, data string) []string {
	var out []string
	for _, r := range readTable[schema.Run](t, data, "runs") {
		if !slices.Contains(out, r.JudgeMode) {
			out = append(out, r.JudgeMode)
		}
	}
	return out
}
