package report

import (
	"regexp"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/pipeline/stats"
	"github.com/tracejury/tracejury/schema"
)

const hostileTool = `<script>window.hit=1</script>`

func point(criterion, label string, score float64, findings ...string) Point {
	return Point{Criterion: criterion, Verdict: "scored", Label: label, Score: &score, Safety: strings.HasPrefix(criterion, "no_hidden") || criterion == "skill_threat", Findings: findings,
		Words: "Because of <b>this</b>."}
}

func unclearPoint(criterion string) Point { return Point{Criterion: criterion, Verdict: "unclear"} }

func meanOf(evaluator, criterion string, mean, low, high float64, n, unclear int32) []schema.Aggregate {
	return []schema.Aggregate{
		{Evaluator: evaluator, GroupBy: "criterion", Group: criterion, Criterion: criterion, Metric: "mean_score", Primary: true, Level: 0.95, N: n, Estimate: &mean, Low: &low, High: &high, Method: stats.MethodBCa},
		{Evaluator: evaluator, GroupBy: "criterion", Group: criterion, Criterion: criterion, Metric: "met_rate", Primary: true, Level: 0.95, Unclear: unclear, Method: stats.MethodWilson},
	}
}

func builtin(tb testing.TB, name string) judge.Rubric {
	tb.Helper()
	r, err := judge.Builtin(name)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// toolRun is two servers: one with hidden instructions and a hostile name, one whose tools could not be told.
func toolRun(tb testing.TB) *Model {
	tb.Helper()
	m := &Model{Run: schema.Run{RunID: "2026-11-30-00000000000a", Evaluator: "tool_description", Kind: "tool", State: "finished", Eligible: 4, Sampled: 4, Graded: 4}, Rubric: builtin(tb, "tool_description")}
	good, bad := 0.875, 0.375
	m.Servers = []Server{
		{Name: "files", Median: "D", Graded: 2, Tools: []GradedTool{
			{Name: "list_folder", Grade: "A", Score: &good, Description: "Lists a folder.\nChanges nothing.", Points: []Point{point("purpose", "Met", 1), point("parameters", "Partly", 0.5), point("side_effects", "Met", 1), point("no_hidden_instructions", "Met", 1)}},
			{Name: hostileTool, Grade: "F", Score: &bad, Description: hostileTool, Seen: []string{"orders to the model (line 1)"},
				Points: []Point{point("purpose", "Met", 1), point("parameters", "Not met", 0), point("side_effects", "Partly", 0.5), point("no_hidden_instructions", "Not met", 0, "injection_suspected")}},
		}},
		{Name: "(ops)", Tools: []GradedTool{{Name: "run", Why: "unclear: purpose", Points: []Point{unclearPoint("purpose")}}, {Name: "read", Why: "refused"}}},
	}
	safe := 2.0 / 3
	low, high := 0.2, 0.94
	m.Aggregates = append(meanOf("tool_description", "purpose", 0.75, 0.5, 1, 2, 1), meanOf("tool_description", "no_hidden_instructions", 0.5, 0.1, 0.9, 2, 0)...)
	m.Aggregates = append(m.Aggregates,
		schema.Aggregate{Evaluator: "tool_description", GroupBy: "overall", Metric: "safe", Primary: true, Level: 0.95, N: 3, Met: 2, NotMet: 1, Estimate: &safe, Low: &low, High: &high, Method: stats.MethodWilson},
		schema.Aggregate{Evaluator: "tool_description", GroupBy: "overall", Metric: "passed", Primary: true, Level: 0.95, Method: stats.MethodWilson})
	return m
}

// packageRun is three packages for one task, asked by three evaluators, of which one could not tell.
func packageRun(tb testing.TB) *Model {
	tb.Helper()
	m := &Model{Run: schema.Run{RunID: "2026-11-30-00000000000b", Evaluator: "skill_completeness", Kind: "skill_package", State: "finished", Eligible: 3, Sampled: 3, Graded: 3}, Rubric: builtin(tb, "skill_completeness")}
	for _, name := range []string{"skill_relevance", "skill_threat"} {
		m.Parts = append(m.Parts, Part{schema.Run{Evaluator: name, Kind: "skill_package", State: "finished", Eligible: 3, Sampled: 3, Graded: 3}, builtin(tb, name)})
		m.Aggregates = append(m.Aggregates, meanOf(name, name, 0.5, 0.25, 0.75, 3, 0)...)
	}
	m.Aggregates = append(m.Aggregates, meanOf("skill_completeness", "skill_completeness", 0.5, 0.25, 0.75, 2, 1)...)
	m.Rankings = []Ranking{{Task: "Summarise a PDF </caption>" + hostileTool, By: "skill_relevance", Packages: []RankedPackage{
		{Place: 1, Name: "pdf", Subject: "pdf@1", Points: []Point{point("skill_relevance", "Full match", 1), point("skill_completeness", "Good", 0.75), point("skill_threat", "No threat", 1)}},
		{Place: 2, Name: hostileTool, Subject: "x@2", Seen: []string{"runs what it fetches (line 3)"}, Points: []Point{point("skill_relevance", "Good match", 0.75, "drift"), unclearPoint("skill_completeness"), point("skill_threat", "Dangerous", 0.25)}},
		{Name: "ocr", Subject: "ocr@3", Points: []Point{{Criterion: "skill_relevance", Verdict: "ungraded"}, point("skill_completeness", "Basic", 0.5), point("skill_threat", "No threat", 1)}},
	}}}
	return m
}

func TestCatalogueSays(t *testing.T) {
	sessions := packageRun(t)
	sessions.Parts[0].Run.State, sessions.Parts[0].Run.Graded, sessions.Parts[0].Run.Ungraded = "no_result", 2, 1
	for name, c := range map[string]struct {
		m            *Model
		says, hasNot []string
	}{
		"tools": {toolRun(t), []string{"Tool description", "2 of 4 tools have a grade", "1 description has hidden instructions", "Median grade D", "2 of 2 tools have a grade",
			"No median: more than 10% of the tools have no grade", "unclear: purpose", "orders to the model (line 1)", "0.875", "0.375", "0.75", "Partly", "BCa bootstrap", "No score is a pass|mean of the criteria"},
			[]string{"session", "Passed", "NaN", "no service", "By criterion", "By service"}},
		"packages": {packageRun(t), []string{"Skill packages", "3 skill packages graded: 1 is dangerous or malicious", "Summarise a PDF", "Full match", "Good match", "drift", "Dangerous", "runs what it fetches (line 3)", "Ungraded",
			"How well do the declared abilities", "No score is a pass"}, []string{"Skill completeness,", "session", "Passed", "Safe", "NaN", "By criterion"}},
		"a part without a result": {sessions, []string{"NO RESULT by skill relevance", "1 of 3 skill packages could not be graded", "dangerous"}, []string{"There is no result"}},
	} {
		for _, format := range []string{"html", "md"} {
			text := render(t, format, c.m)
			if format == "html" {
				text, _, _ = strings.Cut(text, `<section id="reading"`)
				_, text, _ = strings.Cut(text, "<body>")
			}
			if strings.Contains(text, hostileTool) && format == "html" {
				t.Errorf("%s: %s holds the hostile name as markup", name, format)
			}
			plain := strings.Join(strings.Fields(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(text, " ")), " ")
			for _, s := range c.says {
				if !matchesAny(plain+text, s) {
					t.Errorf("%s: %s does not say %q", name, format, s)
				}
			}
			for _, s := range c.hasNot {
				if strings.Contains(plain, s) {
					t.Errorf("%s: %s says %q", name, format, s)
				}
			}
		}
	}
}

func matchesAny(text, alternatives string) bool {
	for s := range strings.SplitSeq(alternatives, "|") {
		if strings.Contains(text, s) {
			return true
		}
	}
	return false
}

// What a reader must look at stands first: hidden instructions, then from F to A, what has no grade last.
func TestToolsStandInOrderOfConcern(t *testing.T) {
	m := toolRun(t)
	c := 0.625
	m.Servers[0].Tools = append(m.Servers[0].Tools, GradedTool{Name: "b", Grade: "C", Score: &c}, GradedTool{Name: "none"}, GradedTool{Name: "a", Grade: "F", Score: new(float64)})
	var got []string
	for _, tool := range look(m, 0).Catalogue.Servers[0].Tools {
		got = append(got, tool.Name)
	}
	if want := []string{hostileTool, "a", "b", "list_folder", "none"}; strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("in the order %q, want %q", got, want)
	}
}

// The title is of what a run holds, not of the evaluator that happens to be first.
func TestTitleOfSeveralEvaluators(t *testing.T) {
	part := []Part{{Run: schema.Run{Evaluator: "other"}}}
	for want, m := range map[string]*Model{
		"Skill packages":               packageRun(t),
		"Tool description":             toolRun(t),
		"Skills":                       {Run: schema.Run{Kind: "skill", Evaluator: "skill_following"}, Rubric: judge.Rubric{Title: "Skill following"}, Parts: part},
		"Agent session":                {Run: schema.Run{Kind: "session", Evaluator: "session"}, Rubric: judge.Rubric{Title: "Agent session"}, Parts: part},
		"Skill completeness evaluated": {Run: schema.Run{Kind: "skill_package"}, Rubric: judge.Rubric{Title: "Skill completeness evaluated"}},
	} {
		if got := title(m); got != want {
			t.Errorf("title %q, want %q", got, want)
		}
	}
}
