package pipeline_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tracejury/tracejury/judge/judgetest"
	"github.com/tracejury/tracejury/pipeline"
)

// runTables are the tables of a run that are a function of its input; calls is not.
var runTables = []string{"runs/", "verdicts/", "grades/", "explanations/", "materials/"}

const testModel = "eu.anthropic.claude-haiku-4-5-20251001-v1:0"

// demoLake ingests the demo archive once for a test.
func demoLake(tb testing.TB) string {
	tb.Helper()
	data := filepath.Join(tb.TempDir(), "lake")
	mustIngest(tb, config(tb, demoArchive, data), pipeline.IngestOptions{})
	return data
}

// bedrock points the SDK at a local judge.
func bedrock(t *testing.T, opts judgetest.Options) *judgetest.Server {
	t.Helper()
	s := judgetest.New(opts)
	t.Cleanup(s.Close)
	t.Setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", s.URL)
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	t.Setenv("AWS_REGION", "eu-central-1")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	return s
}

func evaluateConfig(tb testing.TB, data string) *pipeline.Config {
	cfg := config(tb, "", data)
	cfg.Evaluate.Judge = "bedrock:" + testModel
	cfg.Evaluate.Sample = 12
	cfg.Evaluate.Concurrency = 4
	return cfg
}

func wantExit(tb testing.TB, err error, code int) {
	tb.Helper()
	got := pipeline.Exit(discardWriter{}, err)
	if got != code {
		tb.Errorf("exit %d (%v), want %d", got, err, code)
	}
}

type discardWriter struct{}

func (discardWriter) Write(p []byte) (int, error) { return len(p), nil }

func TestEvaluateAskedTwiceIsOneRun(t *testing.T) {
	data, srv := demoLake(t), bedrock(t, judgetest.Options{})
	first, err := pipeline.Evaluate(context.Background(), evaluateConfig(t, data), pipeline.EvaluateOptions{}, quiet())
	if err != nil {
		t.Fatal(err)
	}
	// The server's default answer contradicts a fact of one session (a secret was exposed): it is asked to mend it, once.
	if first.Graded != 11 || first.Ungraded != 1 || first.Calls != 13 || srv.Calls() != 13 {
		t.Errorf("graded %d, ungraded %d with %d calls (server saw %d), want 11, 1, 13", first.Graded, first.Ungraded, first.Calls, srv.Calls())
	}
	before := tree(t, data, "")
	second, err := pipeline.Evaluate(context.Background(), evaluateConfig(t, data), pipeline.EvaluateOptions{}, quiet())
	if err != nil {
		t.Fatal(err)
	}
	if second.RunID != first.RunID || !second.Already || srv.Calls() != 13 {
		t.Errorf("second: run %s already %v, server saw %d calls; want run %s, true, 13", second.RunID, second.Already, srv.Calls(), first.RunID)
	}
	diffTrees(t, tree(t, data, ""), before)
	if left := tree(t, data, "_work/"); len(left) > 0 {
		t.Errorf("transcripts left behind: %v", left)
	}
}

// What does not change the question does not change the run.
func TestRunIDIsOfTheQuestionOnly(t *testing.T) {
	data := demoLake(t)
	bedrock(t, judgetest.Options{})
	id := func(change func(*pipeline.Config)) string {
		cfg := evaluateConfig(t, data)
		change(cfg)
		sum, err := pipeline.Evaluate(context.Background(), cfg, pipeline.EvaluateOptions{DryRun: true}, quiet())
		if err != nil {
			t.Fatal(err)
		}
		return sum.RunID
	}
	base := id(func(*pipeline.Config) {})
	for name, c := range map[string]struct {
		change func(*pipeline.Config)
		same   bool
	}{
		"label":       {func(c *pipeline.Config) { c.Evaluate.Label = "nightly" }, true},
		"concurrency": {func(c *pipeline.Config) { c.Evaluate.Concurrency = 1 }, true},
		"budget":      {func(c *pipeline.Config) { c.Evaluate.BudgetCalls = 3 }, true},
		"seed":        {func(c *pipeline.Config) { c.Evaluate.Seed = "other" }, false},
		"repeat":      {func(c *pipeline.Config) { c.Evaluate.Repeat = 2 }, false},
		"days":        {func(c *pipeline.Config) { c.Evaluate.Days = 3 }, false},
		"sample":      {func(c *pipeline.Config) { c.Evaluate.Sample = 5 }, false},
		"judge":       {func(c *pipeline.Config) { c.Evaluate.Judge = "rules" }, false},
		"service":     {func(c *pipeline.Config) { c.Evaluate.Service = "ops-agent" }, false},
	} {
		if got := id(c.change); (got == base) != c.same {
			t.Errorf("%s: run %s, base %s, want the same: %v", name, got, base, c.same)
		}
	}
}

// A run that is stopped anywhere and asked again ends in the bytes of a run that was not, and repeats no completed call.
func TestStoppedRunGoesOn(t *testing.T) {
	undisturbed, srv := demoLake(t), bedrock(t, judgetest.Options{})
	if _, err := pipeline.Evaluate(context.Background(), evaluateConfig(t, undisturbed), pipeline.EvaluateOptions{}, quiet()); err != nil {
		t.Fatal(err)
	}
	want := tree(t, undisturbed, runTables...)
	asked := srv.Calls()

	t.Run("budget", func(t *testing.T) {
		data, srv := demoLake(t), bedrock(t, judgetest.Options{})
		for n := 0; ; n++ {
			cfg := evaluateConfig(t, data)
			cfg.Evaluate.BudgetCalls = 5
			sum, err := pipeline.Evaluate(context.Background(), cfg, pipeline.EvaluateOptions{}, quiet())
			if err == nil {
				break
			}
			wantExit(t, err, pipeline.ExitPartial)
			if sum.State != "partial" || sum.Graded+sum.Ungraded+sum.NotAttempted != 12 || n > 5 {
				t.Fatalf("round %d: %+v", n, sum)
			}
		}
		diffTrees(t, tree(t, data, runTables...), want)
		if srv.Calls() != asked {
			t.Errorf("%d calls over all rounds, want %d", srv.Calls(), asked)
		}
	})
	t.Run("interrupt", func(t *testing.T) {
		data := demoLake(t)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		var n atomic.Int32
		bedrock(t, judgetest.Options{Latency: 20 * time.Millisecond, Script: func(c judgetest.Call) judgetest.Answer {
			if n.Add(1) == 6 {
				cancel()
			}
			return validAnswer(t, c)
		}})
		_, err := pipeline.Evaluate(ctx, evaluateConfig(t, data), pipeline.EvaluateOptions{}, quiet())
		wantExit(t, err, pipeline.ExitPartial)
		if _, err := pipeline.Evaluate(context.Background(), evaluateConfig(t, data), pipeline.EvaluateOptions{}, quiet()); err != nil {
			t.Fatal(err)
		}
		diffTrees(t, tree(t, data, runTables...), want)
	})
}

func validAnswer(t *testing.T, c judgetest.Call) judgetest.Answer {
	text, err := judgetest.ValidReply(c.Schema, c.User)
	if err != nil {
		t.Error(err)
	}
	return judgetest.Answer{Text: text}
}

// Each way in which a judge can fail is its own ungraded reason, and a verdict is never defaulted.
func TestJudgeThatFailsIsUngradedWithItsReason(t *testing.T) {
	for reason, faults := range map[string]judgetest.Faults{
		"schema_error":  {Malformed: 1},
		"truncated":     {Truncated: 1},
		"judge_refused": {Refused: 1},
	} {
		t.Run(reason, func(t *testing.T) {
			data := demoLake(t)
			bedrock(t, judgetest.Options{Faults: faults})
			cfg := evaluateConfig(t, data)
			cfg.Evaluate.Sample = 3
			sum, err := pipeline.Evaluate(context.Background(), cfg, pipeline.EvaluateOptions{}, quiet())
			wantExit(t, err, pipeline.ExitNoResult)
			if sum.State != "no_result" || sum.Graded != 0 || sum.Ungraded != 3 {
				t.Errorf("got %+v", sum)
			}
			agg, err := pipeline.Aggregate(context.Background(), cfg, quiet())
			wantExit(t, err, pipeline.ExitNoResult)
			for _, s := range agg.Model.Sessions {
				for _, v := range s.Verdicts {
					if v.Verdict != "ungraded" || v.UngradedReason != reason {
						t.Errorf("%s: %s because %q, want ungraded because %q", v.Criterion, v.Verdict, v.UngradedReason, reason)
					}
				}
			}
			if _, err := pipeline.Export(context.Background(), cfg, pipeline.ExportOptions{}, quiet()); err == nil {
				t.Error("a run without result was exported")
			}
		})
	}
}

// The whole night over the demo archive: its numbers, and that the credential in it got nowhere.
func TestNightOverTheDemoArchive(t *testing.T) {
	data := demoLake(t)
	out := t.TempDir()
	cfg := config(t, "", data)
	cfg.Evaluate.Sample = 50
	cfg.Aggregate.Report = filepath.Join(out, "report.html")
	cfg.Export.Out = filepath.Join(out, "exports")
	cfg.Export.To = []string{"jsonl", "agentcore", "foundry", "outcomes"}
	cfg.Export.WithExplanations = true
	ctx := context.Background()
	ev, err := pipeline.Evaluate(ctx, cfg, pipeline.EvaluateOptions{}, quiet())
	if err != nil {
		t.Fatal(err)
	}
	agg, err := pipeline.Aggregate(ctx, cfg, quiet())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pipeline.Export(ctx, cfg, pipeline.ExportOptions{}, quiet()); err != nil {
		t.Fatal(err)
	}
	if ev.Graded != ev.Eligible || ev.Graded < 30 {
		t.Errorf("graded %d of %d eligible", ev.Graded, ev.Eligible)
	}
	rate := map[string]float64{}
	for _, a := range agg.Aggregates {
		if a.Primary && a.Metric == "passed" {
			if a.Estimate == nil || a.Low == nil || *a.Low > *a.Estimate || *a.High < *a.Estimate {
				t.Errorf("%s %q: estimate %v outside of [%v, %v]", a.Metric, a.Group, a.Estimate, a.Low, a.High)
				continue
			}
			rate[a.Group] = *a.Estimate
		}
	}
	if rate["helpdesk-agent"] <= rate["ops-agent"]+0.15 {
		t.Errorf("pass rates %v: the good service should stand clearly above the bad one", rate)
	}
	for _, dir := range []string{data, out} {
		for _, f := range archiveFiles(t, dir) {
			raw, err := os.ReadFile(filepath.Join(dir, f))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(raw), "AKIA"+"IOSFODNN7EXAMPLE") {
				t.Errorf("%s holds the credential of the archive", f)
			}
		}
	}
}

func TestWrongUseIsExit2(t *testing.T) {
	data := demoLake(t)
	for name, change := range map[string]func(*pipeline.Config){
		"too many days":      func(c *pipeline.Config) { c.Evaluate.Days = 29 },
		"too large a sample": func(c *pipeline.Config) { c.Evaluate.Sample = 51 },
		"unknown rubric":     func(c *pipeline.Config) { c.Evaluate.Rubric = "sesion" },
		"unknown judge":      func(c *pipeline.Config) { c.Evaluate.Judge = "bedrok:x" },
		"unknown evaluator":  func(c *pipeline.Config) { c.Evaluate.Evaluators = []string{"sesion"} },
	} {
		cfg := config(t, "", data)
		change(cfg)
		_, err := pipeline.Evaluate(context.Background(), cfg, pipeline.EvaluateOptions{}, quiet())
		var ee *pipeline.ExitError
		if !errors.As(err, &ee) || ee.Code != pipeline.ExitUsage {
			t.Errorf("%s: got %v, want a usage error", name, err)
		}
	}
	for _, yaml := range []string{"evaluate:\n  sampel: 3\n", "dta: x\n"} {
		_, err := pipeline.ParseConfig([]byte(yaml))
		if err == nil || !strings.Contains(err.Error(), "did you mean") {
			t.Errorf("%q: got %v, want the nearest key", yaml, err)
		}
	}
	if _, err := json.Marshal(pipeline.EvaluateSummary{}); err != nil {
		t.Error(err)
	}
}

// An outage of the service is no property of the sessions: the run stays open, says what failed, and the same command ends it.
func TestOutageLeavesTheRunOpen(t *testing.T) {
	data := demoLake(t)
	srv := bedrock(t, judgetest.Options{Faults: judgetest.Faults{Unavailable: 1}})
	cfg := evaluateConfig(t, data)
	cfg.Evaluate.Sample, cfg.Evaluate.MaxAttempts = 4, 1
	sum, err := pipeline.Evaluate(context.Background(), cfg, pipeline.EvaluateOptions{}, quiet())
	wantExit(t, err, pipeline.ExitService)
	if sum.State != "partial" || sum.UngradedBy["transient"] == 0 || sum.Causes["transient"] == "" {
		t.Errorf("got %+v, want partial with the cause of transient failures", sum)
	}
	srv.Close()
	bedrock(t, judgetest.Options{})
	again, err := pipeline.Evaluate(context.Background(), cfg, pipeline.EvaluateOptions{}, quiet())
	if err != nil || again.RunID != sum.RunID || again.Graded != 4 {
		t.Errorf("with the service back: %+v, %v; want run %s graded", again, err, sum.RunID)
	}
}

// Two processes that judge one run: the second is told who holds it and touches nothing, even with a log of its own.
func TestTwoEvaluationsOfOneRun(t *testing.T) {
	data := demoLake(t)
	began, go_on := make(chan struct{}), make(chan struct{})
	var once sync.Once
	bedrock(t, judgetest.Options{Script: func(c judgetest.Call) judgetest.Answer {
		once.Do(func() { close(began) })
		<-go_on
		return validAnswer(t, c)
	}})
	first := make(chan error, 1)
	go func() {
		_, err := pipeline.Evaluate(context.Background(), evaluateConfig(t, data), pipeline.EvaluateOptions{}, quiet())
		first <- err
	}()
	<-began
	other := evaluateConfig(t, data)
	other.StateDir = t.TempDir()
	_, err := pipeline.Evaluate(context.Background(), other, pipeline.EvaluateOptions{}, quiet())
	wantExit(t, err, pipeline.ExitLocked)
	close(go_on)
	if err := <-first; err != nil {
		t.Errorf("the first was disturbed: %v", err)
	}
}

// The judge's own words are content: nothing of a finished run's log stays on this machine, and the sealed one expires.
func TestRepliesExpireWithContent(t *testing.T) {
	data := demoLake(t)
	bedrock(t, judgetest.Options{})
	cfg := evaluateConfig(t, data)
	if _, err := pipeline.Evaluate(context.Background(), cfg, pipeline.EvaluateOptions{}, quiet()); err != nil {
		t.Fatal(err)
	}
	if left := tree(t, cfg.StateDir, ""); len(left) > 0 {
		t.Errorf("the log of a finished run was left: %v", left)
	}
	if len(tree(t, data, "_ledger/")) == 0 {
		t.Error("no sealed segment")
	}
	late := config(t, demoArchive, data)
	late.AsOf = "2027-01-15T00:00:00Z"
	if err := late.Complete(time.Now()); err != nil {
		t.Fatal(err)
	}
	mustIngest(t, late, pipeline.IngestOptions{RetentionOnly: true, ExpireAhead: true})
	for _, prefix := range []string{"_ledger/", "explanations/", "spans/", "steps/"} {
		if left := tree(t, data, prefix); len(left) > 0 {
			t.Errorf("content left after its time: %v", left)
		}
	}
}
