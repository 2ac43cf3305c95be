package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/pipeline/report"
	"github.com/tracejury/tracejury/schema"
)

// scoredPoint is an answer with a score; every fifth is unclear.
func scoredPoint(criterion string, i int, scores []float64, labels []string) report.Point {
	p := report.Point{Criterion: criterion, Verdict: "scored", Safety: criterion == "no_hidden_instructions" || criterion == "skill_threat", Words: "Lines 1 to 3 say so; " + hostileNames[i%len(hostileNames)]}
	if i%5 == 4 {
		p.Verdict = "unclear"
		return p
	}
	at := i * 7 % len(scores)
	p.Score, p.Label = &scores[at], labels[at]
	return p
}

func catalogueModel(t *testing.T, rubricName, kind string) *report.Model {
	t.Helper()
	rubric, err := judge.Builtin(rubricName)
	if err != nil {
		t.Fatal(err)
	}
	m := reportModel(t, 0, nil)
	m.Rubric = rubric
	m.Run = schema.Run{RunID: "2026-11-30-0f1e2d3c4b5a", Evaluator: rubricName, Kind: kind, State: "finished", Eligible: 14, Sampled: 14, Graded: 14, JudgeModels: []string{"m"}, AsOfUnixNano: m.Run.AsOfUnixNano}
	for i, c := range rubric.Criteria {
		mean, low, high := 0.5+float64(i)/10, 0.25, 0.9
		m.Aggregates = append(m.Aggregates, schema.Aggregate{Evaluator: rubricName, GroupBy: "criterion", Group: c.ID, Criterion: c.ID, Metric: "mean_score", Primary: true, Level: 0.95, N: 12, Estimate: &mean, Low: &low, High: &high, Method: "bca"})
	}
	return m
}

// toolModel is the tools of two servers, with names and descriptions that try to be more than text.
func toolModel(t *testing.T) *report.Model {
	m := catalogueModel(t, "tool_description", "tool")
	for s, server := range []string{"files", hostileNames[1]} {
		out := report.Server{Name: server, Median: []string{"C", ""}[s], Graded: 6}
		for i := range 7 {
			grade, score := string("ABCDF"[i%5]), float64(i)/8
			tool := report.GradedTool{Name: fmt.Sprintf("tool_%d %s", i, hostileNames[i]), Grade: grade, Score: &score, Description: "Does something.\n" + hostileNames[i], Seen: []string{"orders to the model (line 2)"}}
			if i == 6 {
				tool.Grade, tool.Score, tool.Why = "", nil, "unclear: purpose, parameters"
			}
			for j, c := range m.Rubric.Criteria {
				tool.Points = append(tool.Points, scoredPoint(c.ID, i+j, []float64{1, 0.5, 0}, []string{"Met", "Partly", "Not met"}))
			}
			out.Tools = append(out.Tools, tool)
		}
		m.Servers = append(m.Servers, out)
	}
	return m
}

func packageModel(t *testing.T) *report.Model {
	m := catalogueModel(t, "skill_completeness", "skill_package")
	for _, name := range []string{"skill_relevance", "skill_threat"} {
		x := catalogueModel(t, name, "skill_package")
		m.Parts = append(m.Parts, report.Part{Run: x.Run, Rubric: x.Rubric})
		m.Aggregates = append(m.Aggregates, x.Aggregates...)
	}
	labels := map[string][]string{"skill_relevance": {"Full match", "Good match", "Partial match", "Poor match", "No match"}, "skill_completeness": {"Complete", "Good", "Basic", "Thin", "Unusable"},
		"skill_threat": {"No threat", "Minor risk", "Suspicious", "Dangerous", "Malicious"}}
	for _, task := range []string{"Summarise a PDF " + hostileNames[0], ""} {
		r := report.Ranking{Task: task, By: "skill_relevance"}
		for i := range 6 {
			p := report.RankedPackage{Place: i + 1, Name: "skill " + hostileNames[i], Subject: fmt.Sprintf("s@%d", i), Seen: []string{"runs what it fetches (line 3)"}}
			for j, c := range []string{"skill_relevance", "skill_completeness", "skill_threat"} {
				p.Points = append(p.Points, scoredPoint(c, i+j, []float64{1, 0.75, 0.5, 0.25, 0}, labels[c]))
			}
			r.Packages = append(r.Packages, p)
		}
		m.Rankings = append(m.Rankings, r)
	}
	return m
}

// TestCatalogueInBrowser opens the reports of tools and of skill packages: nothing in them runs, every name opens by the keyboard, and the
// page fits in both colour schemes, on a phone and on paper.
func TestCatalogueInBrowser(t *testing.T) {
	for name, c := range map[string]struct {
		model   *report.Model
		section string
		rows    int
	}{"tools": {toolModel(t), "#tools", 14}, "packages": {packageModel(t), "#packages", 12}} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "report.html")
			out, err := os.Create(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := report.HTML(out, c.model); err != nil {
				t.Fatal(err)
			}
			if err := out.Close(); err != nil {
				t.Fatal(err)
			}
			p := openUntil(t, file, c.section)
			if eval[bool](t, p, `"hit" in window`) {
				t.Error("a name ran as script")
			}
			for what, js := range map[string]string{
				"scripts":       `document.querySelectorAll("script").length - 1`,
				"markup":        `document.querySelectorAll("main img, main iframe, main b b, [onerror], [onfocus], [style]").length`,
				"dead anchors":  `Array.from(document.querySelectorAll("nav a")).filter(a => !document.getElementById(a.getAttribute("href").slice(1))).length`,
				"unnamed parts": `Array.from(document.querySelectorAll("[aria-labelledby]")).filter(e => !e.getAttribute("aria-labelledby").split(" ").every(i => document.getElementById(i))).length`,
				"sessions":      `document.querySelectorAll("#sessions, #services, #criteria").length`,
			} {
				if got := eval[int](t, p, js); got != 0 {
					t.Errorf("%s: %d, want none", what, got)
				}
			}
			if got := eval[int](t, p, fmt.Sprintf(`document.querySelectorAll("%s tbody tr").length`, c.section)); got != c.rows {
				t.Errorf("%d rows, want %d", got, c.rows)
			}
			first := c.section + " summary"
			p.do(t, chromedp.Focus(chromedp.CSS(first)), chromedp.KeyEvent("\r"), chromedp.Poll[chromedp.Void](fmt.Sprintf(`document.querySelector(%q).parentElement.open`, first)))
			if got := eval[string](t, p, fmt.Sprintf(`document.querySelector(%q).parentElement.innerText`, first)); !strings.Contains(got, "Seen by code") || !strings.Contains(got, "Lines 1 to 3 say so") {
				t.Errorf("opened, it says %q", got)
			}
			p.fits(t, name, "header", "#numbers", "#scores", c.section, "#rubric")
			p.quiet(t)
		})
	}
}

// fits checks the page in both colour schemes, on a phone and on paper. With TRACEJURY_SCREENSHOTS it leaves pictures of the parts.
func (p *tab) fits(t *testing.T, name string, parts ...string) {
	t.Helper()
	dir := os.Getenv("TRACEJURY_SCREENSHOTS")
	for _, look := range []struct {
		name, media, scheme string
		width, height       int64
	}{{"light", "screen", "light", 1400, 1000}, {"dark", "screen", "dark", 1400, 1000}, {"laptop", "screen", "light", 1100, 800}, {"phone", "screen", "light", 390, 844}, {"phone-dark", "screen", "dark", 390, 844}, {"paper", "print", "dark", 1030, 720}} {
		scheme := emulation.SetEmulatedMediaParams{Media: look.media, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: look.scheme}}}
		if _, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, scheme); err != nil {
			t.Fatal(err)
		}
		p.do(t, chromedp.EmulateViewport(look.width, look.height))
		if wide := eval[int64](t, p, `document.documentElement.scrollWidth`); wide > look.width {
			t.Errorf("%s: the page is %d wide, want at most %d", look.name, wide, look.width)
		}
		if bad := eval[[]string](t, p, contrastJS); len(bad) > 0 {
			t.Errorf("%s: too little contrast: %s", look.name, strings.Join(bad, "; "))
		}
		for _, part := range parts {
			if dir == "" {
				break
			}
			png, err := chromedp.Run(p.ctx, chromedp.Screenshot(chromedp.CSS(part)))
			if err != nil {
				t.Fatalf("%s: picture of %s: %v", look.name, part, err)
			}
			if err := os.WriteFile(filepath.Join(dir, name+"-"+look.name+"-"+strings.TrimPrefix(part, "#")+".png"), png, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}
