package pipeline_test

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/judge/judgetest"
	"github.com/tracejury/tracejury/pipeline"
	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// verdicts reads the rows of a run.
func verdicts(tb testing.TB, data, run string) []schema.Verdict {
	tb.Helper()
	st, err := store.Open(context.Background(), data, store.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	rows, _, err := table.Read[schema.Verdict](context.Background(), st, schema.Verdicts.RunKey(run))
	if err != nil || len(rows) == 0 {
		tb.Fatalf("%d verdicts, error %v", len(rows), err)
	}
	return rows
}

// Three judges vote, every vote is stored, and how far they agree is told.
func TestPanelVotes(t *testing.T) {
	data := demoLake(t)
	srv := bedrock(t, judgetest.Options{Script: func(c judgetest.Call) judgetest.Answer {
		a := validAnswer(t, c)
		if c.Model == "strict" { // finds every goal missed
			a.Text = strings.Replace(a.Text, `"evidence_steps":[],"id":"goal_met","reason":"Default answer of the test server.","verdict":"met"`,
				`"evidence_steps":[1],"id":"goal_met","reason":"Default answer of the test server.","verdict":"not_met"`, 1)
		}
		return a
	}})
	run := func(judges string, unanimous bool) (*pipeline.EvaluateSummary, []schema.Verdict) {
		cfg := evaluateConfig(t, data)
		cfg.Evaluate.Sample, cfg.Evaluate.Judge, cfg.Evaluate.SafetyUnanimous = 6, judges, unanimous
		sum, err := pipeline.Evaluate(context.Background(), cfg, pipeline.EvaluateOptions{}, quiet())
		if err != nil && sum == nil {
			t.Fatal(err)
		}
		return sum, verdicts(t, data, sum.RunID)
	}
	openai := "openai:" + srv.URL + "/v1#"
	sum, rows := run(strings.Join([]string{"bedrock:" + testModel, openai + "strict", openai + "mild"}, ","), false)
	votes := map[string]map[string]string{}
	for _, v := range rows {
		if v.Criterion == "goal_met" && v.Verdict != "ungraded" {
			if votes[v.Subject] == nil {
				votes[v.Subject] = map[string]string{}
			}
			votes[v.Subject][v.Vote+" "+v.JudgeModel] = v.Verdict
		}
	}
	panel := testModel + "+strict+mild"
	split := 0
	for s, got := range votes {
		if len(got) != 4 {
			t.Errorf("%s: votes %v", s, got)
		}
		if got["one strict"] == "not_met" && got["final "+panel] == "met" {
			split++
		}
	}
	if split == 0 {
		t.Errorf("no subject on which the panel outvoted one judge: %v", votes)
	}
	byCriterion := map[string]pipeline.Agreement{}
	for _, a := range sum.Agreement {
		byCriterion[a.Criterion] = a
	}
	if g, s := byCriterion["goal_met"], byCriterion["tool_use_sound"]; g.Votes != 3 || g.Observed >= s.Observed || g.AC1 == nil || s.Observed != 1 {
		t.Errorf("agreement on goals %+v, on tools %+v", g, s)
	}
	two, _ := run("bedrock:"+testModel+","+openai+"strict", false)
	if two.RunID == sum.RunID {
		t.Error("another panel is the same run")
	}
	var text bytes.Buffer
	two.WriteText(&text)
	t.Log(text.String())
	if !strings.Contains(text.String(), "agreement of 2 votes a subject") || !regexp.MustCompile(`session/goal_met +\d+ % of pairs, kappa \S+, AC1 \S+, \d subjects, \d without a majority`).MatchString(text.String()) {
		t.Errorf("agreement is not told:\n%s", text.String())
	}
	cfg := evaluateConfig(t, data)
	cfg.Evaluate.Judge = "rules,rules"
	_, err := pipeline.Evaluate(context.Background(), cfg, pipeline.EvaluateOptions{}, quiet())
	wantExit(t, err, pipeline.ExitUsage)
}
