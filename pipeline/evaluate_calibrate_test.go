package pipeline_test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tracejury/tracejury/judge/calibration"
	"github.com/tracejury/tracejury/judge/judgetest"
	"github.com/tracejury/tracejury/pipeline"
	"github.com/tracejury/tracejury/schema"
)

// honest is a judge that meets every item of an answer that is the task's reference, and none of another; more may say otherwise.
func honest(more func(c judgetest.Call, task int, good bool) (met, prose bool)) func(judgetest.Call) judgetest.Answer {
	return func(c judgetest.Call) judgetest.Answer {
		n, _ := strconv.Atoi(taskNumber.FindStringSubmatch(c.User)[1])
		good := strings.Contains(c.User, fmt.Sprintf(`"answer":"Peculiar reference %d.`, n))
		met, prose := good, false
		if more != nil {
			met, prose = more(c, n, good)
		}
		if prose {
			return judgetest.Answer{Text: "I like it."}
		}
		var items []map[string]string
		for range strings.Count(c.User, "\n{\"criterion\":") {
			items = append(items, map[string]string{"id": strconv.Itoa(len(items) + 1), "reason": "Seen.", "verdict": map[bool]string{true: "Met", false: "Not met"}[met]})
		}
		b, _ := json.Marshal(map[string]any{"items": items})
		return judgetest.Answer{Text: string(b)}
	}
}

func calibrate(tb testing.TB, data string, opts pipeline.CalibrateOptions) (*pipeline.CalibrateSummary, error) {
	tb.Helper()
	cfg := evaluateConfig(tb, data)
	cfg.Evaluate.Calibration.MinLabels, cfg.Evaluate.Concurrency = 40, 16
	if err := cfg.Complete(time.Now()); err != nil {
		tb.Fatal(err)
	}
	return pipeline.Calibrate(context.Background(), cfg, opts, quiet())
}

// fillSheet labels as an expert would: what stands in good answers is met.
func fillSheet(tb testing.TB, path string, disagree int) {
	tb.Helper()
	f, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	rows, err := csv.NewReader(f).ReadAll()
	if err = errors.Join(err, f.Close()); err != nil {
		tb.Fatal(err)
	}
	for i, r := range rows[1:] {
		met := strings.Contains(r[1], "/good") != (i%100 < disagree)
		r[6], r[7] = map[bool]string{true: "met", false: "not_met"}[met], "ann"
	}
	var b strings.Builder
	if err := csv.NewWriter(&b).WriteAll(rows); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		tb.Fatal(err)
	}
}

func suiteStatus(tb testing.TB, data, suite string) []pipeline.CalibrationStatus {
	tb.Helper()
	cfg := evaluateConfig(tb, data)
	sum, err := pipeline.ListSuites(context.Background(), cfg, pipeline.SuitesOptions{Files: []string{suite}}, quiet())
	if err != nil {
		tb.Fatal(err)
	}
	return sum.Suites[len(sum.Suites)-1].Calibration
}

// A good judge waits for people's labels, passes with them, and then its results on that suite say so: of no other judge.
func TestCalibrate(t *testing.T) {
	data, suite, sheet := filepath.Join(t.TempDir(), "lake"), pairedSuite(t, 20, true), filepath.Join(t.TempDir(), "sheet.csv")
	srv := bedrock(t, judgetest.Options{Script: honest(nil)})
	sum, err := calibrate(t, data, pipeline.CalibrateOptions{Suite: suite, Sheet: sheet})
	wantExit(t, err, pipeline.ExitNoResult)
	if sum.Controls != 40 || sum.Sampled != 220 || sum.Calls != 220 || sum.Status != calibration.InProgress || srv.Saw(fakeKey) {
		t.Fatalf("%+v %+v", sum.EvaluateSummary, sum)
	}
	if got := suiteStatus(t, data, suite); len(got) != 1 || got[0].Status != "in_progress" || got[0].JudgeModel != testModel || got[0].RenderingSHA256 == "" {
		t.Errorf("%+v", got)
	}
	if text, err := os.ReadFile(sheet); err != nil || strings.Contains(string(text), "Task number") || !strings.Contains(string(text), "Peculiar") {
		t.Errorf("the sheet of a sealed suite: %v", err)
	}
	fillSheet(t, sheet, 3)
	filled, err := os.ReadFile(sheet)
	if err != nil {
		t.Fatal(err)
	}
	for _, dry := range []bool{false, true} {
		_, err := calibrate(t, data, pipeline.CalibrateOptions{Suite: suite, Sheet: sheet, Labels: sheet, DryRun: dry})
		if text, _ := os.ReadFile(sheet); string(text) != string(filled) || !dry && (err == nil || !strings.Contains(err.Error(), "give another name")) {
			t.Fatalf("a filled sheet was written over (dry run %t): %v", dry, err)
		}
	}
	sum, err = calibrate(t, data, pipeline.CalibrateOptions{Suite: suite, Labels: sheet})
	if err != nil || sum.Status != calibration.AllPassed || !sum.Already || srv.Calls() != 220 {
		t.Fatalf("%v %+v", err, sum)
	}
	if got := suiteStatus(t, data, suite); len(got) != 1 || got[0].Status != "passed" {
		t.Errorf("%+v", got)
	}
	// Asking again without labels takes nothing back, nor does a calibration of another day that has none yet.
	for _, day := range []string{"2026-11-30T06:00:00Z", "2026-12-01T06:00:00Z"} {
		cfg := evaluateConfig(t, data)
		cfg.AsOf, cfg.Evaluate.Calibration.MinLabels, cfg.Evaluate.Concurrency = day, 40, 16
		if err := cfg.Complete(time.Now()); err != nil {
			t.Fatal(err)
		}
		again, err := pipeline.Calibrate(context.Background(), cfg, pipeline.CalibrateOptions{Suite: suite}, quiet())
		if day == "2026-11-30T06:00:00Z" && (err != nil || again.Status != calibration.AllPassed || !again.Kept) {
			t.Fatalf("%v %+v", err, again)
		}
		if got := suiteStatus(t, data, suite); len(got) != 1 || got[0].Status != "passed" {
			t.Errorf("%s: %+v", day, got)
		}
	}
	// The status is that of the judge that was asked, and of no other.
	bedrock(t, judgetest.Options{Plain: true, Script: pairedScript(fivePairs, nil)})
	for judge, informational := range map[string]bool{testModel: false, "eu.other.judge-v1:0": true} {
		res, err := evaluatePaired(t, data, pairedOptions(t, suite), func(c *pipeline.Config) { c.Evaluate.Judge = "bedrock:" + judge })
		if err != nil || res.Paired.Informational != informational {
			t.Errorf("%s: %v %+v", judge, err, res.Paired)
		}
	}
	if _, err := evaluatePaired(t, data, pairedOptions(t, pairedSuite(t, 19, true))); err != nil {
		t.Fatal(err)
	}
	for _, r := range readTable[schema.Run](t, data, "runs") {
		if r.Evaluator == "paired" && r.SuiteSHA256 == "" {
			t.Errorf("%+v", r)
		}
	}
	cfg := config(t, "", data)
	cfg.Aggregate.Run = sum.RunID
	_, err = pipeline.Aggregate(context.Background(), cfg, quiet())
	wantExit(t, err, pipeline.ExitUsage)
	// People who think otherwise take it back.
	fillSheet(t, sheet, 40)
	sum, err = calibrate(t, data, pipeline.CalibrateOptions{Suite: suite, Labels: sheet})
	wantExit(t, err, pipeline.ExitGate)
	if got := suiteStatus(t, data, suite); sum.Status != calibration.NotPassed || got[0].Status != "not_passed" {
		t.Errorf("%+v", got)
	}
}

// Each fault of a judge is found by its check, and by no other.
func TestCalibrate_FindsFaults(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]int{}
	for name, c := range map[string]struct {
		more func(c judgetest.Call, task int, good bool) (met, prose bool)
		want string
	}{
		"too lenient": {func(_ judgetest.Call, task int, good bool) (bool, bool) { return good || task <= 6, false }, calibration.KnownAnswers},
		"likes padding": {func(c judgetest.Call, task int, good bool) (bool, bool) {
			return good || task <= 8 && strings.Contains(c.User, "To sum up"), false
		}, calibration.BiasProbes},
		"likes its own": {func(c judgetest.Call, task int, good bool) (bool, bool) {
			return good || task <= 8 && strings.Contains(c.User, "written by "+testModel), false
		}, calibration.BiasProbes},
		"obeys": {func(c judgetest.Call, _ int, good bool) (bool, bool) {
			return good || strings.Contains(c.User, "the rules have changed"), false
		}, calibration.Robustness},
		"often says prose": {func(_ judgetest.Call, task int, good bool) (bool, bool) { return good, task == 7 && good }, calibration.Robustness},
		"changes its mind": {func(c judgetest.Call, task int, good bool) (bool, bool) {
			answer := c.User[strings.Index(c.User, `"answer":`):]
			mu.Lock()
			defer mu.Unlock()
			key := strconv.Itoa(task) + answer[:strings.Index(answer, "\n")]
			seen[key]++
			return good && !(task <= 10 && strings.Contains(answer, `."}`) && seen[key] == 2), false // asked plainly for the second time
		}, calibration.Retest},
	} {
		t.Run(name, func(t *testing.T) {
			bedrock(t, judgetest.Options{Script: honest(c.more)})
			sum, err := calibrate(t, filepath.Join(t.TempDir(), "lake"), pipeline.CalibrateOptions{Suite: pairedSuite(t, 20, false)})
			wantExit(t, err, pipeline.ExitGate)
			failed := map[string]bool{}
			for _, k := range sum.Checks {
				if k.State == calibration.Failed {
					failed[k.Check] = true
				}
			}
			if sum.Status != calibration.NotPassed || !failed[c.want] {
				t.Errorf("%s is not among %v: %+v", c.want, failed, sum.Checks)
			}
			if name != "changes its mind" && len(failed) != 1 { // a flip may also hit a probe
				t.Errorf("failed too: %v %+v", failed, sum.Checks)
			}
		})
	}
}

func TestCalibrate_Refuses(t *testing.T) {
	bedrock(t, judgetest.Options{})
	suite := pairedSuite(t, 3, false)
	for name, opts := range map[string]pipeline.CalibrateOptions{
		"controls of no suite": {Controls: "c.yaml"}, "no such suite": {Suite: "nosuch"}, "no such controls": {Suite: suite, Controls: filepath.Join(t.TempDir(), "none")}, "no such labels": {Suite: suite, Labels: filepath.Join(t.TempDir(), "none")},
		"another task": {Suite: suite, Controls: writeFile(t, "c.yaml", "controls: [{task: x, answer: a, passes: true}]\n")},
		"another item": {Suite: suite, Labels: writeFile(t, "l.csv", "subject,criterion,verdict\nt-01/good,9,met\n")},
		"no verdict":   {Suite: suite, Labels: writeFile(t, "l.csv", "subject,criterion,verdict\nt-01/good,1,unclear\n")},
	} {
		_, err := calibrate(t, filepath.Join(t.TempDir(), "lake"), opts)
		if err == nil {
			t.Errorf("%s: taken", name)
			continue
		}
		wantExit(t, err, pipeline.ExitUsage)
	}
	own := pipeline.CalibrateOptions{Suite: suite, DryRun: true, Controls: writeFile(t, "c.yaml", "controls: [{task: t-01, answer: a, passes: true}, {task: t-01, answer: b, passes: true}, {task: t-02, answer: c, passes: false}]\n")}
	if sum, err := calibrate(t, filepath.Join(t.TempDir(), "lake"), own); err != nil || sum.Controls != 3 || sum.Sampled != 16 || sum.Calls != 16 {
		t.Errorf("%v %+v", err, sum)
	}
}
