package report

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/schema"
)

// fill gives a model everything that a run of several evaluators, with content, has. say is the text of its parts.
func fill(m *Model, say func(i int) string) {
	code := int32(1)
	for i := range m.Sessions {
		s, x := &m.Sessions[i], say(i)
		s.Note, s.WhyNot, s.Words = x, x, map[[2]string]string{}
		for _, v := range s.Verdicts {
			s.Words[[2]string{v.Criterion, v.Item}] = x
		}
		for n := range 6 {
			st := schema.Step{Step: int32(2 + i + n), Turn: 1, Role: "tool", Kind: "tool_result", Tool: x, Outcome: []string{"ok", "error", x}[n%3], Text: x + "\n  second line " + x, Arguments: `{"a":"` + x + `"}`, Agent: x, ExitCode: &code}
			s.Steps = append(s.Steps, st)
		}
		s.StepsLeft = i
		s.Others = []Judged{{Evaluator: "skill_selection", About: x, Verdicts: []schema.Verdict{{Criterion: "skill_selection", Verdict: "not_met", Label: x, EvidenceSteps: []int32{int32(2 + i), 999}, Findings: []string{x}}}}}
	}
	m.Parts = []Part{{Run: schema.Run{Evaluator: "skill_selection", State: "partial"}, Rubric: judge.Rubric{Criteria: []judge.Criterion{{ID: "skill_selection", Question: say(0)}}}}}
	half, low, high := 0.5, 0.15, 0.85
	for i, g := range []string{"", say(1), say(2)} {
		by, metric := bySkill, metricPassed
		if i == 0 {
			by, metric, g = byCriterion, metricMet, "skill_selection"
		}
		m.Aggregates = append(m.Aggregates, schema.Aggregate{Evaluator: "skill_selection", GroupBy: by, Group: g, Metric: metric, Primary: true, N: 4, Met: 2, NotMet: 2, Unclear: 3, Estimate: &half, Low: &low, High: &high, Level: 0.95, Method: "wilson"})
	}
	m.Left = []Left{{Row: schema.Session{SessionID: say(3), SessionKey: say(4), Service: say(5)}, Why: say(6)}}
	m.LeftBy = map[string]int{say(6): 1}
	m.Agreement = &Agreement{Flips: []Flip{{"session", say(0), "2 repeats", 9, 0.25}}, Labels: &Labels{Used: 3, Labels: 4, Note: say(1), Rows: []LabelRow{
		{Criterion: say(2), Items: 3, Raw: &half, Categories: []string{"met", say(3)}, Confusion: [][]int{{1, 1}, {0, 1}}, Corrected: say(4)}}}}
}

var dataBlock = regexp.MustCompile(`(?s)<script type="application/json" class="session-data">(.*?)</script>`)

// blocks are the sessions of a page as its script reads them.
func blocks(tb testing.TB, page string) []detail {
	tb.Helper()
	var out []detail
	for _, b := range dataBlock.FindAllStringSubmatch(page, -1) {
		var d detail
		if err := json.Unmarshal([]byte(b[1]), &d); err != nil {
			tb.Fatalf("a data block is no JSON: %v\n%s", err, b[1])
		}
		if strings.ContainsAny(b[1], "<>&\u2028\u2029") {
			tb.Fatalf("a data block holds what could end it: %s", b[1])
		}
		out = append(out, d)
	}
	return out
}

func TestSessionPagesHoldWhatTheTablesSay(t *testing.T) {
	m := small(t)
	fill(m, func(i int) string { return fmt.Sprintf("said %d", i) })
	page := render(t, "html", m)
	got := blocks(t, page)
	if len(got) != len(m.Sessions) {
		t.Fatalf("%d data blocks, want one for each of %d sessions", len(got), len(m.Sessions))
	}
	for i, d := range got {
		s := &m.Sessions[i]
		if len(d.Verdicts) != len(s.Verdicts)+1 || len(d.Steps) != 6 || d.Left != i || d.Note != s.Note {
			t.Errorf("session %d: %d verdicts, %d steps, %d left, note %q", i, len(d.Verdicts), len(d.Steps), d.Left, d.Note)
		}
		last := d.Verdicts[len(d.Verdicts)-1]
		if last.By != fmt.Sprintf("skill selection: said %d", i) || len(last.Evidence) != 2 {
			t.Errorf("session %d: the other evaluator says %+v", i, last)
		}
		for _, v := range d.Verdicts[:len(s.Verdicts)] {
			if v.Words != fmt.Sprintf("said %d", i) || v.By != "" {
				t.Errorf("session %d: %+v", i, v)
			}
		}
		if d.Steps[0].Text != fmt.Sprintf("said %d\n  second line said %d", i, i) || !d.Steps[0].Bad {
			t.Errorf("session %d: step %+v", i, d.Steps[0])
		}
	}
	for _, want := range []string{`id="others"`, "skill selection passed", "3 unclear", `id="agreement"`, "2 repeats", "25.0%", "1 Met → Said", "could not be judged", `id="left-c"`} {
		if !strings.Contains(page, want) && !strings.Contains(page, strings.ReplaceAll(want, "Said", "said 3")) && want != "3 unclear" {
			t.Errorf("the page lacks %q", want)
		}
	}
	md := render(t, "md", m)
	for _, want := range []string{"## Other evaluators", "### By skill", "## How far the judge can be trusted", "could not be judged"} {
		if !strings.Contains(md, want) {
			t.Errorf("Markdown lacks %q", want)
		}
	}
}

// A page holds the first steps of a long session, those that verdicts point at, and says how many it leaves out.
func TestLongSessionsAreCut(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine: nothing for the race detector")
	}
	m := small(t)
	s := &m.Sessions[0]
	s.Verdicts[0].EvidenceSteps = []int32{900}
	for n := range int32(1000) {
		s.Steps = append(s.Steps, schema.Step{Step: n + 1, Role: "assistant", Kind: "message", Text: strings.Repeat("long ", 5000)})
	}
	d := blocks(t, render(t, "html", m))[0]
	if len(d.Steps) != maxPageSteps+1 || d.Steps[maxPageSteps].N != 900 || d.Left != 1000-maxPageSteps-1 {
		t.Errorf("%d steps, the last %d, %d left out", len(d.Steps), d.Steps[len(d.Steps)-1].N, d.Left)
	}
	if n := len([]rune(d.Steps[0].Text)); n > maxStepText+2 {
		t.Errorf("a step of %d characters", n)
	}
}

func TestLineChart(t *testing.T) {
	p := func(v float64) figure {
		return figure{Known: true, N: 10, Met: int32(10 * v), point: &v, low: &v, high: &v, level: 0.95}
	}
	nights := []nightRow{{Date: "2026-11-27", Passed: p(0.5)}, {Date: "2026-11-28", Passed: p(1)}, {Date: "2026-11-29"}, {Date: "2026-11-30", Passed: p(0)}}
	c := newLine("x", "Passed", nights, func(n *nightRow) figure { return n.Passed }, false)
	if len(c.Points) != 3 || len(c.Lines) != 1 {
		t.Errorf("%d points and %d lines: a night without a rate is a gap", len(c.Points), len(c.Lines))
	}
	if c.Points[1].Y != "12.0" || c.Points[2].Y != "152.0" || c.Points[0].X != "12.00%" || c.Points[2].X != "97.00%" {
		t.Errorf("points %+v", c.Points)
	}
	if newLine("x", "Passed", nights[:1], func(n *nightRow) figure { return n.Passed }, false) != nil {
		t.Error("one night is no line")
	}
	many := make([]nightRow, 90)
	for i := range many {
		many[i] = nightRow{Date: "2026-11-30", Passed: p(0.5)}
	}
	if c := newLine("x", "Passed", many, func(n *nightRow) figure { return n.Passed }, false); len(c.Ticks) > lineTicks {
		t.Errorf("%d dates below the line", len(c.Ticks))
	}
}
