package pipeline_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tracejury/tracejury/judge/judgetest"
	"github.com/tracejury/tracejury/pipeline"
)

// What belongs to paid judges is opened when one is asked: a configuration that names a cache and a place for batch jobs, copied
// from the README, stops neither the rules judge nor a dry run. Where it is needed, what is missing is bad configuration.
func TestEvaluate_OpensCacheAndBatchWhereTheyAreNeeded(t *testing.T) {
	data := demoLake(t)
	srv := bedrock(t, judgetest.Options{Script: func(c judgetest.Call) judgetest.Answer { return validAnswer(t, c) }})
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "")
	t.Setenv("AWS_CONFIG_FILE", "/dev/null")
	model := "eu.anthropic.claude-haiku-4-5-20251001-v1:0"
	for _, c := range []struct {
		judge string
		dry   bool
		wrong string
	}{
		{"rules", false, ""},
		{"rules", true, ""},
		{"bedrock:" + model, true, ""},
		{"bedrock-batch:" + model, true, ""},
		{"bedrock:" + model, false, "evaluate.cache"},
		{"bedrock-batch:" + model, false, "evaluate.batch.uri"},
	} {
		cfg := evaluateConfig(t, data)
		cfg.Evaluate.Judge, cfg.Evaluate.Sample = c.judge, 3
		cfg.Evaluate.Cache = "s3://judge-cache/replies"
		cfg.Evaluate.Batch.URI, cfg.Evaluate.Batch.RoleARN = "s3://lake/batch", "arn:aws:iam::123456789012:role/bedrock-batch"
		sum, err := pipeline.Evaluate(context.Background(), cfg, pipeline.EvaluateOptions{DryRun: c.dry}, quiet())
		if c.wrong != "" {
			wantExit(t, err, pipeline.ExitUsage)
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%s: %v", c.judge, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s, dry %v: %v", c.judge, c.dry, err)
			continue
		}
		var text bytes.Buffer
		sum.WriteText(&text)
		if offline := strings.Contains(text.String(), "nothing was sent to one"); !strings.Contains(text.String(), "judge     "+c.judge) || offline != (c.judge == "rules") {
			t.Errorf("%s, dry %v: the summary does not say who judges:\n%s", c.judge, c.dry, &text)
		}
	}
	if srv.Calls() > 0 {
		t.Errorf("%d calls", srv.Calls())
	}
	// A cache among the tables is refused whoever judges.
	cfg := evaluateConfig(t, data)
	cfg.Evaluate.Judge, cfg.Evaluate.Cache = "rules", filepath.Join(data, "cache")
	_, err := pipeline.Evaluate(context.Background(), cfg, pipeline.EvaluateOptions{}, quiet())
	wantExit(t, err, pipeline.ExitUsage)
	// So is a region that nobody named, of any job, and it is told where to set it.
	cfg = evaluateConfig(t, "s3://lake/tracejury")
	_, err = pipeline.Aggregate(context.Background(), cfg, quiet())
	var said bytes.Buffer
	if code := pipeline.Exit(&said, err); code != pipeline.ExitUsage || !strings.Contains(said.String(), "store.region") || !strings.Contains(said.String(), "AWS_REGION") {
		t.Errorf("exit %d: %s", code, &said)
	}
	if e, ok := errors.AsType[*pipeline.ExitError](err); ok {
		t.Errorf("%+v", e)
	}
}

// Every question of a run has one answer, and every answer is counted once, where it came from.
func TestEvaluate_CountsAreWhole(t *testing.T) {
	var repairs atomic.Int64
	srv := bedrock(t, judgetest.Options{Script: func(c judgetest.Call) judgetest.Answer {
		if c.Repair != "" {
			repairs.Add(1)
		}
		return validAnswer(t, c)
	}})
	cache := t.TempDir()
	run := func(data string, sample int) *pipeline.EvaluateSummary {
		cfg := evaluateConfig(t, data)
		cfg.Evaluate.Cache, cfg.Evaluate.Sample = cache, sample
		sum, err := pipeline.Evaluate(context.Background(), cfg, pipeline.EvaluateOptions{}, quiet())
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	first := run(demoLake(t), 5)
	before, mended := srv.Calls(), int(repairs.Load())
	second := run(demoLake(t), 12)
	mended = int(repairs.Load()) - mended
	if first.Calls != 5 || first.FromCache != 0 || first.FromLedger != 0 || first.Graded+first.Ungraded != 5 {
		t.Errorf("first %+v", first)
	}
	if second.FromCache != 5 || second.Calls != 7+mended || second.FromLedger != 0 || srv.Calls()-before != second.Calls || second.Graded+second.Ungraded+second.NotAttempted != second.Sampled {
		t.Errorf("second %+v, %d calls sent", second, srv.Calls()-before)
	}
}
