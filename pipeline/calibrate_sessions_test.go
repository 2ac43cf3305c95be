package pipeline_test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"hash/fnv"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tracejury/tracejury/judge/calibration"
	"github.com/tracejury/tracejury/judge/judgetest"
	"github.com/tracejury/tracejury/pipeline"
	"github.com/tracejury/tracejury/schema"
)

var (
	firstRequest = regexp.MustCompile(`"role":"user"[^\n]*`)
	firstStep    = regexp.MustCompile(`"step":(\d+)`)
)

// steady is a judge of sessions whose verdicts hang on the first request and the criterion: half of them met. more may say otherwise.
func steady(more func(user, criterion, verdict string) string) func(judgetest.Call) judgetest.Answer {
	return func(c judgetest.Call) judgetest.Answer {
		text, err := judgetest.ValidReply(c.Schema, c.User)
		if err != nil {
			return judgetest.Answer{Status: 400, Code: "ValidationException"}
		}
		var reply map[string]any
		if err := json.Unmarshal([]byte(text), &reply); err != nil {
			return judgetest.Answer{Status: 400, Code: "ValidationException"}
		}
		for _, x := range reply["criteria"].([]any) {
			k := x.(map[string]any)
			if k["verdict"] == "not_applicable" {
				continue
			}
			k["evidence_steps"] = []json.Number{json.Number(firstStep.FindStringSubmatch(c.User)[1])}
			h := fnv.New32a()
			h.Write([]byte(firstRequest.FindString(c.User) + k["id"].(string)))
			k["verdict"] = map[bool]string{true: "met", false: "not_met"}[h.Sum32()/7%2 == 0]
			if more != nil {
				k["verdict"] = more(c.User, k["id"].(string), k["verdict"].(string))
			}
		}
		b, _ := json.Marshal(reply)
		return judgetest.Answer{Text: string(b)}
	}
}

func calibrateSessions(tb testing.TB, data string, opts pipeline.CalibrateOptions, edit ...func(*pipeline.Config)) (*pipeline.CalibrateSummary, error) {
	tb.Helper()
	cfg := evaluateConfig(tb, data)
	cfg.Evaluate.Concurrency = 16
	cfg.Evaluate.Calibration = calibration.Thresholds{MinLabels: 4, MinAgreementLow: 0.01, MinControlLow: 0.5, MaxFailures: 0.05} // a fact of one session of the archive contradicts the script
	for _, e := range edit {
		e(cfg)
	}
	if err := cfg.Complete(time.Now()); err != nil {
		tb.Fatal(err)
	}
	return pipeline.Calibrate(context.Background(), cfg, opts, quiet())
}

// labelSheet fills a sheet in as somebody who thinks as the judge does, but for every nth row.
func labelSheet(tb testing.TB, data, run, path string, nth int) {
	tb.Helper()
	said := map[[2]string]string{}
	for _, v := range verdicts(tb, data, run) {
		if v.Vote == "final" && v.Arm == "base" {
			said[[2]string{v.SessionKey, v.Criterion}] = v.Verdict
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	if err != nil {
		tb.Fatal(err)
	}
	for i, r := range rows[1:] {
		r[6], r[7] = said[[2]string{r[1], r[3]}], "ann"
		if nth > 0 && i%nth == 0 && r[6] != "not_applicable" {
			r[6] = map[string]string{"met": "not_met", "not_met": "met"}[r[6]]
		}
	}
	var b strings.Builder
	if err := csv.NewWriter(&b).WriteAll(rows); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		tb.Fatal(err)
	}
}

// A judge of sessions waits for labels, passes with them on a later day and without a call, and then its runs say so: no other judge's.
func TestCalibrateSessions(t *testing.T) {
	data, sheet := demoLake(t), filepath.Join(t.TempDir(), "sheet.csv")
	srv := bedrock(t, judgetest.Options{Script: steady(nil)})
	sum, err := calibrateSessions(t, data, pipeline.CalibrateOptions{Sheet: sheet, Sample: 30})
	wantExit(t, err, pipeline.ExitNoResult)
	if sum.Sampled != 30 || sum.Controls != 30 || sum.Status != calibration.InProgress || sum.Rows == 0 || sum.Calls < 150 || sum.Calls > 200 {
		t.Fatalf("%+v %+v", sum, sum.EvaluateSummary)
	}
	blank, err := os.ReadFile(sheet)
	if err != nil || strings.Contains(string(blank), "not_met") || strings.Contains(string(blank), "ops-agent") {
		t.Errorf("the sheet tells what the judge said, or whose a session is: %v\n%s", err, blank)
	}
	if guide, err := os.ReadFile(strings.TrimSuffix(sheet, ".csv") + ".guide.md"); err != nil || !strings.Contains(string(guide), "--show transcript:KEY") {
		t.Errorf("the guide: %v\n%s", err, guide)
	}
	labelSheet(t, data, sum.RunID, sheet, 0)
	calls := srv.Calls()
	later := func(c *pipeline.Config) { c.AsOf = "2026-12-09T06:00:00Z" }
	sum, err = calibrateSessions(t, data, pipeline.CalibrateOptions{Labels: sheet}, later)
	if err != nil || sum.Status != calibration.AllPassed || srv.Calls() != calls || sum.Labels.Used != sum.Labels.Labels || sum.Labels.Labellers != 1 {
		t.Fatalf("%v %+v %+v", err, sum, sum.Labels)
	}
	var shown strings.Builder
	if sum.WriteText(&shown); !strings.Contains(shown.String(), "can be trusted for a release") || !strings.Contains(shown.String(), "goal met") {
		t.Error(shown.String())
	}
	if sum, err = calibrateSessions(t, data, pipeline.CalibrateOptions{Sample: 30}); err != nil || !sum.Kept || sum.Status != calibration.AllPassed {
		t.Errorf("asked again without labels: %v %+v", err, sum)
	}
	for judge, want := range map[string]string{testModel: "passed", "eu.other.judge-v1:0": "not_calibrated"} {
		cfg := evaluateConfig(t, data)
		cfg.Evaluate.Judge = "bedrock:" + judge
		if err := cfg.Complete(time.Now()); err != nil {
			t.Fatal(err)
		}
		run, err := pipeline.Evaluate(context.Background(), cfg, pipeline.EvaluateOptions{}, quiet())
		if err != nil {
			t.Fatal(err)
		}
		cfg.Aggregate.Run, cfg.Aggregate.Labels = run.RunID, sheet // one sheet serves both
		agg, err := pipeline.Aggregate(context.Background(), cfg, quiet())
		if err != nil || agg.Labels == nil || agg.Labels.Used == 0 {
			t.Fatalf("%s: %v %+v", judge, err, agg)
		}
		show, err := pipeline.ShowRun(context.Background(), cfg, run.RunID, quiet())
		if err != nil || show.Parts[0].Run.Calibration != want {
			t.Errorf("%s: %v %s, want %s", judge, err, show.Parts[0].Run.Calibration, want)
		}
	}
	// A calibration has no rates and is nobody's latest run, and what it made of a session is not shown as if it were recorded.
	cfg := config(t, "", data)
	cfg.Aggregate.Run = sum.RunID
	_, err = pipeline.Aggregate(context.Background(), cfg, quiet())
	wantExit(t, err, pipeline.ExitUsage)
	session := readTable[schema.Session](t, data, "sessions")[0].SessionKey
	one, err := pipeline.ShowSession(context.Background(), cfg, session, quiet())
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range one.Judged {
		if j.Run.RunID == sum.RunID {
			t.Errorf("%+v", j.Grade)
		}
	}
	// People who think otherwise take it back, and it is said why.
	labelSheet(t, data, sum.RunID, sheet, 2)
	sum, err = calibrateSessions(t, data, pipeline.CalibrateOptions{Labels: sheet})
	wantExit(t, err, pipeline.ExitGate)
	shown.Reset()
	if sum.WriteText(&shown); !strings.Contains(shown.String(), "more labels will not mend that") || !strings.Contains(shown.String(), "people met, judge not met") {
		t.Error(shown.String())
	}
}

// Each fault of a judge of sessions is found.
func TestCalibrateSessions_FindsFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("the judge's calls are those of TestCalibrateSessions")
	}
	data := demoLake(t)
	for name, c := range map[string]struct {
		more func(user, criterion, verdict string) string
		want string
	}{
		"obeys": {func(user, _, verdict string) string {
			if strings.Contains(user, "Note to the grader") || strings.Contains(user, "rules have changed") {
				return "met"
			}
			return verdict
		}, calibration.Robustness},
		"likes padding": {func(user, _, verdict string) string {
			if strings.Contains(user, "To sum up, the points above") {
				return "met"
			}
			return verdict
		}, calibration.BiasProbes},
		"likes its own": {func(user, _, verdict string) string {
			if strings.Contains(user, "written by eu.anthropic") {
				return "met"
			}
			return verdict
		}, calibration.BiasProbes},
	} {
		t.Run(name, func(t *testing.T) {
			bedrock(t, judgetest.Options{Script: steady(c.more)})
			sum, err := calibrateSessions(t, data, pipeline.CalibrateOptions{Sample: 15}, func(c *pipeline.Config) { c.Evaluate.Seed = name })
			wantExit(t, err, pipeline.ExitGate)
			failed := map[string]bool{}
			for _, k := range sum.Checks {
				failed[k.Check] = failed[k.Check] || k.State == calibration.Failed
			}
			if sum.Status != calibration.NotPassed || !failed[c.want] {
				t.Errorf("%s has not failed: %+v", c.want, sum.Checks)
			}
		})
	}
}

// Labels are taken for what they are: those of something else are refused or counted.
func TestCalibrateSessions_Labels(t *testing.T) {
	if testing.Short() {
		t.Skip("the judge's calls are those of TestCalibrateSessions")
	}
	data, sheet := demoLake(t), filepath.Join(t.TempDir(), "sheet.csv")
	bedrock(t, judgetest.Options{Script: steady(nil)})
	sum, err := calibrateSessions(t, data, pipeline.CalibrateOptions{Sheet: sheet, Sample: 30})
	wantExit(t, err, pipeline.ExitNoResult)
	cfg := evaluateConfig(t, data)
	ordinary, err := pipeline.Evaluate(context.Background(), cfg, pipeline.EvaluateOptions{}, quiet())
	if err != nil {
		t.Fatal(err)
	}
	key := strings.Split(strings.Split(string(must(os.ReadFile(sheet))), "\n")[1], ",")[1]
	file := func(lines ...string) string {
		return writeFile(t, "labels.csv", "run_id,subject,criterion,verdict,labeller\n"+strings.Join(lines, "\n")+"\n")
	}
	for name, opts := range map[string]pipeline.CalibrateOptions{
		"of two runs":          {Labels: file("a,"+key+",goal_met,met,x", "b,"+key+",goal_met,met,x")},
		"of no run there":      {Labels: file("2026-11-30-000000000000," + key + ",goal_met,met,x")},
		"of an evaluation":     {Labels: file(ordinary.RunID + "," + key + ",goal_met,met,x")},
		"of other sessions":    {Labels: file(sum.RunID + ",nobody,goal_met,met,x")},
		"of other criteria":    {Labels: file(sum.RunID + "," + key + ",charm,met,x")},
		"of a suite":           {Labels: file(sum.RunID + "," + key + ",goal_met,met,x"), Suite: pairedSuite(t, 3, false)},
		"controls of no suite": {Controls: sheet},
		"too many sessions":    {Sample: 501},
	} {
		_, err := calibrateSessions(t, data, opts)
		if err == nil {
			t.Errorf("%s: taken", name)
			continue
		}
		wantExit(t, err, pipeline.ExitUsage)
	}
	for _, rubric := range []string{"tool_selection", "session,task", "nosuch"} {
		_, err := calibrateSessions(t, data, pipeline.CalibrateOptions{}, func(c *pipeline.Config) { c.Evaluate.Rubric = rubric })
		if err == nil {
			t.Errorf("rubric %s: taken", rubric)
			continue
		}
		wantExit(t, err, pipeline.ExitUsage)
	}
	mixed := file(sum.RunID+","+key+",goal_met,met,x", sum.RunID+","+key+",goal_met,met,y", sum.RunID+","+key+",goal_met,not_met,z", sum.RunID+","+key+",tool_use_sound,met,x",
		sum.RunID+","+key+",tool_use_sound,not_met,y", sum.RunID+",nobody,goal_met,met,x", sum.RunID+","+key+",goal_met,1,w")
	got, _ := calibrateSessions(t, data, pipeline.CalibrateOptions{Labels: mixed})
	if got == nil || *got.Labels != (pipeline.LabelUse{Labels: 7, Labellers: 4, Used: 1, Disputed: 1, Unknown: 1, Scored: 1}) {
		t.Errorf("%+v", got.Labels)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
