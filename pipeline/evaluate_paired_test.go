package pipeline_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tracejury/tracejury/judge/judgetest"
	"github.com/tracejury/tracejury/pipeline"
	"github.com/tracejury/tracejury/pipeline/stats"
	"github.com/tracejury/tracejury/schema"
)

// fakeKey is shaped like a credential.
const fakeKey = "AKIA" + "QX7JD3LMZ5TNWB2E"

// pairedSuite is a suite of n tasks; each names its number.
func pairedSuite(tb testing.TB, n int, sealed bool) string {
	tb.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "name: mine\nversion: 3\ntitle: Mine\nsealed: %t\ntasks:\n", sealed)
	for i := range n {
		kind := []string{"trap", "approve", "not_enough_evidence"}[i%3]
		fmt.Fprintf(&b, "  - id: t-%02d\n    kind: %s\n    category: %s\n    prompt: Task number %d, the key %s is in it.\n    reference: Peculiar reference %d.\n    reference_items: [Says one thing., Says another.]\n    safety_items: [Harms nothing.]\n",
			i+1, kind, []string{"storage", "network"}[i%2], i+1, fakeKey, i+1)
	}
	return writeFile(tb, "mine.yaml", b.String())
}

func skillDir(tb testing.TB, name, text string) string {
	tb.Helper()
	dir := filepath.Join(tb.TempDir(), name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return dir
}

const runbookSkill = "---\nname: runbook\ndescription: How we work.\n---\nLook before you delete. The old key was " + fakeKey + ".\n"

var taskNumber = regexp.MustCompile(`Task number (\d+)`)

// pairedScript answers as agent and as judge. outcome says of a task (from 1) whether its answer passes without and with skills.
func pairedScript(outcome func(task int) (without, with bool), more func(c judgetest.Call, agent bool, task int, with bool) *judgetest.Answer) func(judgetest.Call) judgetest.Answer {
	return func(c judgetest.Call) judgetest.Answer {
		n, _ := strconv.Atoi(taskNumber.FindStringSubmatch(c.User)[1])
		agent := c.Schema == ""
		with := strings.Contains(c.System, "# Skills") || strings.Contains(c.User, "arm-b")
		if more != nil {
			if a := more(c, agent, n, with); a != nil {
				return *a
			}
		}
		if agent {
			without, withSkills := outcome(n)
			word, good := "arm-a", without
			if with {
				word, good = "arm-b", withSkills
			}
			return judgetest.Answer{Text: fmt.Sprintf("My answer %s is good=%t, the key is %s.", word, good, fakeKey)}
		}
		return judgetest.Answer{Text: pairedReply(c.User, strings.Contains(c.User, "good=true"))}
	}
}

// pairedReply meets every item or, where the answer is bad, all but the last, which is one of safety.
func pairedReply(user string, good bool) string {
	type item struct {
		ID      string `json:"id"`
		Reason  string `json:"reason"`
		Verdict string `json:"verdict"`
	}
	var items []item
	for range strings.Count(user, "\n{\"criterion\":") {
		items = append(items, item{strconv.Itoa(len(items) + 1), "Seen.", "Met"})
	}
	if !good {
		items[len(items)-1].Verdict = "Not met"
	}
	b, _ := json.Marshal(map[string]any{"items": items})
	return string(b)
}

func evaluatePaired(tb testing.TB, data string, opts pipeline.PairedOptions, edit ...func(*pipeline.Config)) (*pipeline.PairedSummary, error) {
	tb.Helper()
	cfg := evaluateConfig(tb, data)
	for _, f := range edit {
		f(cfg)
	}
	if err := cfg.Complete(time.Now()); err != nil {
		tb.Fatal(err)
	}
	return pipeline.EvaluatePaired(context.Background(), cfg, opts, quiet())
}

const agentModel = "eu.amazon.nova-pro-v1:0"

func pairedOptions(tb testing.TB, suite string) pipeline.PairedOptions {
	return pipeline.PairedOptions{Suite: suite, Skills: []string{skillDir(tb, "runbook", runbookSkill)}, AgentModel: "bedrock:" + agentModel}
}

// fivePairs: tasks 1 to 4 gain, 5 is lost, 6 to 15 pass twice, the rest fails twice.
func fivePairs(n int) (without, with bool) {
	switch {
	case n <= 4:
		return false, true
	case n == 5:
		return true, false
	}
	return n <= 15, n <= 15
}

func TestEvaluatePaired_TellsWhatSkillsChanged(t *testing.T) {
	data, suite := filepath.Join(t.TempDir(), "lake"), pairedSuite(t, 20, true)
	srv := bedrock(t, judgetest.Options{Plain: true, Script: pairedScript(fivePairs, nil)})
	opts := pairedOptions(t, suite)
	dry := opts
	dry.DryRun = true
	forecast, err := evaluatePaired(t, data, dry)
	if err != nil || forecast.Calls != 80 || forecast.Paired != nil || srv.Calls() != 0 {
		t.Fatalf("dry run: %v %+v", err, forecast)
	}
	sum, err := evaluatePaired(t, data, opts)
	if err != nil {
		t.Fatal(err)
	}
	if sum.Sampled != 20 || sum.Graded != 20 || sum.Calls != 80 || srv.Calls() != 80 || sum.State != "finished" {
		t.Fatalf("%+v", sum.EvaluateSummary)
	}
	o := sum.Paired.Overall
	want, err := stats.Tango(stats.Pairs{Both: 10, Gained: 4, Lost: 1, Neither: 5}, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	if o.PassedWithout != 11 || o.PassedWith != 14 || o.Gained != 4 || o.Lost != 1 || math.Abs(o.Change-0.15) > 1e-12 || o.Interval.Low != want.Low || o.Interval.High != want.High ||
		o.Interval.Method != stats.MethodTango || o.Test != stats.MethodMcNemarMidP || o.UnsafeWithout != 9 || o.UnsafeWith != 6 {
		t.Errorf("%+v", o)
	}
	if !slices.Equal(sum.Paired.Gained, []string{"t-01", "t-02", "t-03", "t-04"}) || !slices.Equal(sum.Paired.Lost, []string{"t-05"}) || !strings.Contains(sum.Paired.Reading, "includes zero") || !sum.Paired.Informational {
		t.Errorf("%+v", sum.Paired)
	}
	for _, split := range [][]pipeline.PairedGroup{sum.Paired.ByKind, sum.Paired.ByCategory} {
		tasks, gained := 0, 0
		for _, g := range split {
			tasks, gained = tasks+g.Tasks, gained+g.Gained
		}
		if tasks != 20 || gained != 4 || len(split) < 2 {
			t.Errorf("a split does not add up: %+v", split)
		}
	}
	if again, err := evaluatePaired(t, data, opts); err != nil || !again.Already || srv.Calls() != 80 || again.Paired.Overall.Gained != 4 {
		t.Errorf("asked twice is another run: %v %+v", err, again)
	}
	pairedTables(t, data, sum.RunID)
	// What leaves is masked, and the judge knows neither arm nor skills.
	if srv.Saw(fakeKey) {
		t.Error("a credential reached a model")
	}
	if !srv.Saw("Peculiar reference 7") || !srv.Saw("Look before you delete") {
		t.Error("the reference or the skill was not sent")
	}
	for path, text := range tree(t, data, "") {
		for _, secret := range []string{fakeKey, "Task number", "Peculiar reference"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s holds %q of a sealed suite", path, secret)
			}
		}
	}
	pairedAggregate(t, data, sum.RunID)
}

// pairedTables checks the rows of the run of fivePairs.
func pairedTables(t *testing.T, data, runID string) {
	t.Helper()
	run := readTable[schema.Run](t, data, "runs")[0]
	if run.Kind != "task" || run.Suite != "mine" || run.SuiteVersion != 3 || !run.SuiteSealed || run.AgentModel != agentModel || !slices.Equal(run.TaskSkills, []string{"runbook"}) ||
		run.Calibration != "not_calibrated" || run.Sampled != 20 || run.Graded != 20 || len(run.Materials) != 1 {
		t.Errorf("%+v", run)
	}
	if m := materials(t, data)[run.Materials[0]]; m.Kind != "skill" || !strings.Contains(m.Text, "Look before you delete. The old key was [MASKED:") {
		t.Errorf("%+v", m)
	}
	arms := map[string]int{}
	for _, v := range readTable[schema.Verdict](t, data, "verdicts") {
		arms[v.Arm+" "+v.Criterion+" "+v.Verdict]++
		if v.Item == "" || v.SubjectKind != "task" || v.Category == "" || v.TaskKind == "" || v.Skill != "runbook" || v.Safety != (v.Criterion == "safety") {
			t.Errorf("%+v", v)
		}
	}
	if arms["without correctness met"] != 40 || arms["with safety met"] != 14 || arms["with safety not_met"] != 6 || arms["without safety met"] != 11 {
		t.Error(arms)
	}
	grades := readTable[schema.Grade](t, data, "grades")
	for _, g := range grades {
		if g.Pass == nil || g.Score == nil || g.Category == "" || g.TaskKind == "" || *g.Pass != (math.Abs(*g.Score-1) < 1e-9) {
			t.Errorf("%+v", g)
		}
	}
	answers := readTable[schema.Answer](t, data, "answers")
	if len(grades) != 40 || len(answers) != 40 {
		t.Errorf("%d grades, %d answers", len(grades), len(answers))
	}
	for _, a := range answers {
		if !strings.Contains(a.Answer, "good=") || strings.Contains(a.Answer, fakeKey) || len(a.AnswerSHA256) != 64 || a.RunID != runID {
			t.Errorf("%+v", a)
		}
	}
	models := map[string]int{}
	for _, c := range readTable[schema.Call](t, data, "calls") {
		models[c.Model+" "+c.Mode]++
	}
	if models[agentModel+" plain"] != 40 || len(models) != 2 {
		t.Error(models)
	}
}

// pairedAggregate checks what aggregate says of it.
func pairedAggregate(t *testing.T, data, runID string) {
	t.Helper()
	cfg := config(t, "", data)
	cfg.Aggregate.Run, cfg.Aggregate.Report = runID, filepath.Join(t.TempDir(), "report.html")
	sum, err := pipeline.Aggregate(context.Background(), cfg, quiet())
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	sum.WriteText(&text)
	for _, want := range []string{"all tasks", "+15.0", "gained: t-01, t-02, t-03, t-04", "lost: t-05", "informational", "mine version 3, sealed"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing in\n%s", want, text.String())
		}
	}
	i := slices.IndexFunc(sum.Aggregates, func(a schema.Aggregate) bool { return a.Metric == "change" && a.GroupBy == "overall" && a.Primary })
	if i < 0 || math.Abs(*sum.Aggregates[i].Estimate-0.15) > 1e-12 || sum.Aggregates[i].N != 20 || sum.Aggregates[i].Method != stats.MethodTango || *sum.Aggregates[i].AdjustedP <= 0 {
		t.Errorf("change in aggregates: %d", i)
	}
	for _, a := range sum.Aggregates {
		if a.Metric == "passed" {
			t.Errorf("a rate over both arms means nothing: %+v", a)
		}
	}
	if p := sum.Evaluators[0].Paired; p == nil || p.Overall.Gained != 4 {
		t.Errorf("%+v", p)
	}
	page, err := os.ReadFile(cfg.Aggregate.Report)
	if err != nil || strings.Contains(string(page), "Task number") || strings.Contains(string(page), fakeKey) {
		t.Errorf("report: %v", err)
	}
	cfg.Aggregate.Gates = []string{"passed>=0.5"}
	_, err = pipeline.Aggregate(context.Background(), cfg, quiet())
	wantExit(t, err, pipeline.ExitUsage)
	if list, err := pipeline.ListRuns(context.Background(), cfg, quiet()); err != nil || len(list.Runs) != 1 || list.Runs[0].Passed.N != 0 {
		t.Errorf("%v %+v", err, list)
	}
	md, err := os.ReadFile(strings.TrimSuffix(cfg.Aggregate.Report, ".html") + ".md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{string(page), string(md)} {
		if !strings.Contains(p, "15.0") || !strings.Contains(p, "not enough evidence") || !strings.Contains(p, "includes zero") || !strings.Contains(p, "t-05") || !strings.Contains(p, "not calibrated") || strings.Contains(p, "By criterion") {
			t.Errorf("the report does not tell the arms:\n%s", md)
		}
	}
}

// A task that is not graded in one arm has no pair; exactly a tenth of them is allowed.
func TestEvaluatePaired_NoResultOverTenPercent(t *testing.T) {
	for name, c := range map[string]struct {
		broken int
		exit   int
	}{"exactly a tenth": {2, 0}, "one more": {3, pipeline.ExitNoResult}} {
		t.Run(name, func(t *testing.T) {
			bedrock(t, judgetest.Options{Plain: true, Script: pairedScript(fivePairs, func(_ judgetest.Call, agent bool, task int, with bool) *judgetest.Answer {
				switch { // the agent is cut in one arm, or the judge never answers with JSON
				case task > c.broken:
				case task == 1 && agent && with:
					return &judgetest.Answer{Text: "half", StopReason: "max_tokens"}
				case task > 1 && !agent && !with:
					return &judgetest.Answer{Text: "I like it."}
				}
				return nil
			})})
			data := filepath.Join(t.TempDir(), "lake")
			sum, err := evaluatePaired(t, data, pairedOptions(t, pairedSuite(t, 20, false)))
			wantExit(t, err, c.exit)
			if sum.Ungraded != c.broken || sum.Graded != 20-c.broken || len(sum.Paired.Ungraded) != c.broken || (sum.Paired.Overall == nil) != (c.exit != 0) {
				t.Fatalf("%+v %+v", sum.EvaluateSummary, sum.Paired)
			}
			if c.exit == 0 && (sum.Paired.Overall.Tasks != 18 || sum.Paired.Overall.Ungraded != 2) {
				t.Errorf("%+v", sum.Paired.Overall)
			}
			if sum.UngradedBy["answer_truncated"] != 1 || sum.UngradedBy["schema_error"] != c.broken-1 {
				t.Error(sum.UngradedBy)
			}
			cfg := config(t, "", data)
			_, err = pipeline.Aggregate(context.Background(), cfg, quiet())
			wantExit(t, err, c.exit)
		})
	}
}

// A budget stops at a prefix of the tasks; the same command goes on and asks nothing twice.
func TestEvaluatePaired_GoesOnAfterABudget(t *testing.T) {
	srv := bedrock(t, judgetest.Options{Plain: true, Script: pairedScript(fivePairs, nil)})
	suite := pairedSuite(t, 6, false)
	opts := pairedOptions(t, suite)
	whole := filepath.Join(t.TempDir(), "whole")
	if _, err := evaluatePaired(t, whole, opts); err != nil || srv.Calls() != 24 {
		t.Fatal(err, srv.Calls())
	}
	data, total, rounds := filepath.Join(t.TempDir(), "lake"), 0, 0
	for ; rounds < 10; rounds++ {
		sum, err := evaluatePaired(t, data, opts, func(c *pipeline.Config) { c.Evaluate.BudgetCalls, c.Evaluate.Concurrency = 7, 2 })
		if sum == nil || sum.Calls > 7 {
			t.Fatalf("%v %+v", err, sum)
		}
		if total += sum.Calls; err == nil {
			break
		}
		wantExit(t, err, pipeline.ExitPartial)
		if sum.NotAttempted == 0 || sum.Graded+sum.NotAttempted != 6 || rounds > 0 && sum.Graded == 0 {
			t.Errorf("round %d: %+v", rounds, sum.EvaluateSummary)
		}
	}
	if total != 24 || srv.Calls() != 48 || rounds != 3 {
		t.Errorf("%d calls in %d rounds", total, rounds+1)
	}
	diffTrees(t, tree(t, data, append(slices.Clone(runTables), "answers/")...), tree(t, whole, append(slices.Clone(runTables), "answers/")...))
}

// A panel and repeats vote on items; a judge that failed takes no part in it.
func TestEvaluatePaired_Panel(t *testing.T) {
	bedrock(t, judgetest.Options{Plain: true, Script: pairedScript(fivePairs, func(c judgetest.Call, agent bool, task int, _ bool) *judgetest.Answer {
		if !agent && c.Model != testModel && task == 1 {
			return &judgetest.Answer{Text: "prose"}
		}
		return nil
	})})
	data := filepath.Join(t.TempDir(), "lake")
	sum, err := evaluatePaired(t, data, pairedOptions(t, pairedSuite(t, 6, false)), func(c *pipeline.Config) {
		c.Evaluate.Judge, c.Evaluate.Repeat = "bedrock:eu.other.judge-v1:0,bedrock:"+testModel, 2
	})
	if err != nil || sum.Graded != 6 || sum.Paired.Overall.Gained != 4 || sum.Paired.Overall.Lost != 1 {
		t.Fatalf("%v %+v", err, sum)
	}
	if len(readTable[schema.Answer](t, data, "answers")) != 12 {
		t.Error("one answer a task and arm, however often it is judged")
	}
	if !slices.ContainsFunc(sum.Agreement, func(a pipeline.Agreement) bool { return a.Criterion == "safety" && a.Subjects == 10 && a.Observed == 1 }) {
		t.Errorf("%+v", sum.Agreement)
	}
}

func TestEvaluatePaired_Refuses(t *testing.T) {
	bedrock(t, judgetest.Options{Plain: true})
	suite := pairedSuite(t, 2, false)
	good := pairedOptions(t, suite)
	noItems := writeFile(t, "n.yaml", "name: n\nversion: 1\ntitle: N\ntasks:\n  - {id: a, kind: trap, prompt: P, reference: R}\n")
	for name, edit := range map[string]func(*pipeline.PairedOptions, *pipeline.Config){
		"no suite":        func(o *pipeline.PairedOptions, _ *pipeline.Config) { o.Suite = "" },
		"no such suite":   func(o *pipeline.PairedOptions, _ *pipeline.Config) { o.Suite = "nowhere" },
		"no items":        func(o *pipeline.PairedOptions, _ *pipeline.Config) { o.Suite = noItems },
		"no skill":        func(o *pipeline.PairedOptions, _ *pipeline.Config) { o.Skills = nil },
		"a skill twice":   func(o *pipeline.PairedOptions, _ *pipeline.Config) { o.Skills = append(o.Skills, o.Skills[0]) },
		"21 skills":       func(o *pipeline.PairedOptions, _ *pipeline.Config) { o.Skills = make([]string, 21) },
		"no SKILL.md":     func(o *pipeline.PairedOptions, _ *pipeline.Config) { o.Skills = []string{t.TempDir()} },
		"no agent":        func(o *pipeline.PairedOptions, _ *pipeline.Config) { o.AgentModel = "" },
		"rules as agent":  func(o *pipeline.PairedOptions, _ *pipeline.Config) { o.AgentModel = "rules" },
		"rules as judge":  func(_ *pipeline.PairedOptions, c *pipeline.Config) { c.Evaluate.Judge = "rules" },
		"another rubric":  func(_ *pipeline.PairedOptions, c *pipeline.Config) { c.Evaluate.Rubric = "session" },
		"unpriced budget": func(_ *pipeline.PairedOptions, c *pipeline.Config) { c.Evaluate.BudgetUSD = 1 },
	} {
		opts, plain := good, &pipeline.Config{}
		edit(&opts, plain)
		_, err := evaluatePaired(t, filepath.Join(t.TempDir(), "lake"), opts, func(c *pipeline.Config) { edit(&pipeline.PairedOptions{Skills: []string{""}}, c) })
		if err == nil {
			t.Errorf("%s: taken", name)
			continue
		}
		wantExit(t, err, pipeline.ExitUsage)
	}
}

// Another seed is another run: its answers are asked for, also where a shared cache has those of the first.
func TestEvaluatePaired_AnotherSeedAsksAgain(t *testing.T) {
	var agents atomic.Int32
	bedrock(t, judgetest.Options{Plain: true, Script: pairedScript(fivePairs, func(_ judgetest.Call, agent bool, _ int, _ bool) *judgetest.Answer {
		if agent {
			agents.Add(1)
		}
		return nil
	})})
	opts, data, cache := pairedOptions(t, pairedSuite(t, 3, false)), filepath.Join(t.TempDir(), "lake"), t.TempDir()
	runs := map[string]bool{}
	for i, seed := range []string{"", "b", "c"} {
		opts.Seed = seed
		sum, err := evaluatePaired(t, data, opts, func(c *pipeline.Config) { c.Evaluate.Cache = cache })
		if err != nil || int(agents.Load()) != 6*(i+1) {
			t.Fatalf("seed %q: %v, %d answers asked for", seed, err, agents.Load())
		}
		runs[sum.RunID] = true
	}
	if len(runs) != 3 {
		t.Error(runs)
	}
}

// A judge that repeats an item of a sealed suite is not quoted; of a practice suite it is.
func TestEvaluatePaired_SealedItemsAreNotRepeated(t *testing.T) {
	const item = "Says that the quarterly ledger must be frozen before anybody touches it."
	for _, sealed := range []bool{true, false} {
		text, err := os.ReadFile(pairedSuite(t, 3, sealed))
		if err != nil {
			t.Fatal(err)
		}
		suite := writeFile(t, "mine.yaml", strings.ReplaceAll(string(text), "Says one thing.", item))
		bedrock(t, judgetest.Options{Plain: true, Script: pairedScript(fivePairs, func(c judgetest.Call, agent bool, _ int, _ bool) *judgetest.Answer {
			if agent {
				return nil
			}
			return &judgetest.Answer{Text: strings.ReplaceAll(pairedReply(c.User, true), "Seen.", "It "+strings.ToLower(item))}
		})})
		data := filepath.Join(t.TempDir(), "lake")
		if _, err := evaluatePaired(t, data, pairedOptions(t, suite)); err != nil {
			t.Fatal(err)
		}
		for _, x := range readTable[schema.Explanation](t, data, "explanations") {
			if strings.Contains(x.Explanation, "quarterly ledger") == sealed || sealed && x.Withheld == "" {
				t.Fatalf("sealed %t: %+v", sealed, x)
			}
		}
	}
}

// Answers expire with content; what a judge said of them and their hashes stay.
func TestEvaluatePaired_AnswersExpire(t *testing.T) {
	data := filepath.Join(t.TempDir(), "lake")
	bedrock(t, judgetest.Options{Plain: true, Script: pairedScript(fivePairs, nil)})
	if _, err := evaluatePaired(t, data, pairedOptions(t, pairedSuite(t, 6, false))); err != nil {
		t.Fatal(err)
	}
	before := readTable[schema.Answer](t, data, "answers")
	mustIngest(t, at(t, config(t, demoArchive, data), "2027-01-15T00:00:00Z"), pipeline.IngestOptions{RetentionOnly: true, ExpireAhead: true})
	after := readTable[schema.Answer](t, data, "answers")
	if len(after) != len(before) || len(after) != 12 {
		t.Fatalf("%d answers, then %d", len(before), len(after))
	}
	for i := range after {
		if before[i].Answer == "" || after[i].Answer != "" || after[i].AnswerSHA256 != before[i].AnswerSHA256 {
			t.Errorf("%+v became %+v", before[i], after[i])
		}
	}
	if len(readTable[schema.Explanation](t, data, "explanations")) == 0 || len(readTable[schema.Verdict](t, data, "verdicts")) == 0 {
		t.Error("what was said of tasks went with the answers")
	}
	cfg := evaluateConfig(t, filepath.Join(t.TempDir(), "off"))
	cfg.Content.Storage = "off"
	if err := cfg.Complete(time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := pipeline.EvaluatePaired(context.Background(), cfg, pairedOptions(t, pairedSuite(t, 6, false)), quiet()); err != nil {
		t.Fatal(err)
	}
	for _, a := range readTable[schema.Answer](t, cfg.Data, "answers") {
		if a.Answer != "" || a.AnswerSHA256 == "" {
			t.Errorf("kept with content.storage off: %+v", a)
		}
	}
}
