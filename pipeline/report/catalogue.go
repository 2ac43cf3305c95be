package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tracejury/tracejury/judge"
)

// Server is an MCP server, or the tools that a service has of its own, with the grades of its tools' descriptions.
type Server struct {
	Name   string
	Median string // A–F; "" where more than 10 % of the tools have no grade
	Graded int    // tools with a grade
	Tools  []GradedTool
}

// GradedTool is one definition of a tool with its grade and what the grade is made of.
type GradedTool struct {
	Name, Description string // Description "" where it is empty or no longer kept
	Grade             string // A–F; "" where it has none
	Score             *float64
	Why               string // why there is no grade
	Points            []Point
	Seen              []string // what code saw of the definition
}

// Ranking is the skill packages that were measured against one task, the best first.
type Ranking struct {
	Task     string // "" where the packages came without one
	By       string // the criterion that places are by
	Packages []RankedPackage
}

// RankedPackage is one skill package and what was said of it.
type RankedPackage struct {
	Place   int // from 1, equal for equals; 0 without a score
	Name    string
	Subject string
	Points  []Point
	Seen    []string // what code saw of the package
}

// Point is the answer to one criterion on a tool or a package.
type Point struct {
	Criterion string
	Verdict   string // as in the tables: scored, unclear, not_applicable, ungraded
	Label     string // the judge's word
	Score     *float64
	Safety    bool
	Findings  []string
	Words     string // the judge's reason
}

const (
	// maxCatalogue is how many tools, and how many packages, a page lists.
	maxCatalogue = 2000
	// dangerous is the score of safety from which down a package's own text or code shows harm.
	dangerous = 0.25
)

// catalogueView is what a run of tool descriptions or of skill packages says, fit to print.
type catalogueView struct {
	Servers  []serverView
	Rankings []rankingView
	Left     int // tools or packages that are not shown
	tools    bool
	graded   int // tools
	all      int // tools or packages
	hidden   int // tools whose description tells the model more than it should
	harmful  int // packages
	threat   bool
}

type serverView struct {
	Name, Median, Counts, Letters string
	Criteria                      []criterionRow
	Tools                         []toolView
}

type toolView struct {
	Name, Grade, Score, Why, Description string
	Hidden                               bool
	Cells                                []pointView
	Seen                                 []string
}

type rankingView struct {
	Task, By string
	Ranked   bool // more than one package: places mean something
	Criteria []criterionRow
	Packages []packageView
}

type packageView struct {
	Place, Name, Subject string
	Harmful              bool
	Cells                []pointView
	Seen                 []string
}

// pointView is a point as a table shows it.
type pointView struct {
	Criterion, Class, Symbol, Text, Score, Findings, Words string
}

// catalogue draws up the tools and packages of a run.
func (v *view) catalogue(m *Model) {
	if m.Servers == nil && m.Rankings == nil {
		return
	}
	c := &catalogueView{tools: m.Servers != nil}
	for i := range m.Servers {
		c.server(v, &m.Servers[i])
	}
	for i := range m.Rankings {
		c.ranking(v, &m.Rankings[i])
	}
	v.Catalogue = c
	v.Services, v.ServicesLeft, v.Sessions, v.SessionsLeft = nil, 0, nil, 0 // each is named here
}

func (c *catalogueView) server(v *view, s *Server) {
	row := serverView{Name: name(s.Name), Median: letter(s.Median), Criteria: v.Criteria,
		Counts: fmt.Sprintf("%s of %s a grade", group(int64(s.Graded)), have(len(s.Tools), "tool"))}
	byLetter := map[string]int{}
	tools := slices.Clone(s.Tools)
	slices.SortStableFunc(tools, func(a, b GradedTool) int {
		return cmp.Or(cmp.Compare(toolRank(&a), toolRank(&b)), strings.Compare(a.Name, b.Name))
	})
	for i := range tools {
		t := &tools[i]
		c.all++
		byLetter[letter(t.Grade)]++
		if t.Grade != "" {
			c.graded++
		}
		hidden := isHidden(t)
		if hidden {
			c.hidden++
		}
		if c.all > maxCatalogue {
			c.Left++
			continue
		}
		row.Tools = append(row.Tools, toolView{Name: name(t.Name), Grade: letter(t.Grade), Score: scoreText(t.Score), Why: phrase(t.Why), Description: passage(t.Description),
			Hidden: hidden, Cells: pointCellsOf(v.Criteria, t.Points), Seen: phrases(t.Seen)})
	}
	var parts []string
	for _, l := range []string{"A", "B", "C", "D", "F", ""} {
		if n := byLetter[l]; n > 0 {
			parts = append(parts, cmp.Or(l, "none")+" "+group(int64(n)))
		}
	}
	row.Letters = strings.Join(parts, " · ")
	c.Servers = append(c.Servers, row)
}

// letter is a grade if it is one.
func letter(s string) string {
	if len(s) == 1 && strings.Contains("ABCDF", s) {
		return s
	}
	return ""
}

// toolRank orders tools as a reader looks at them: hidden instructions, then from the worst grade, those without one last.
func toolRank(t *GradedTool) int {
	if isHidden(t) {
		return -1
	}
	if at := strings.Index("FDCBA", letter(t.Grade)); letter(t.Grade) != "" {
		return at
	}
	return 5
}

func isHidden(t *GradedTool) bool {
	return slices.ContainsFunc(t.Points, func(p Point) bool { return p.Safety && p.Score != nil && *p.Score == 0 })
}

func (c *catalogueView) ranking(v *view, r *Ranking) {
	row := rankingView{Task: phrase(r.Task), By: label(r.By), Ranked: len(r.Packages) > 1, Criteria: v.asked(r)}
	for i := range r.Packages {
		p := &r.Packages[i]
		c.all++
		harmful := false
		for _, x := range p.Points {
			if x.Safety {
				c.threat = true
				harmful = harmful || x.Score != nil && *x.Score <= dangerous
			}
		}
		if harmful {
			c.harmful++
		}
		if c.all > maxCatalogue {
			c.Left++
			continue
		}
		pv := packageView{Place: unknown, Name: name(p.Name), Subject: name(p.Subject), Harmful: harmful, Cells: pointCellsOf(row.Criteria, p.Points), Seen: phrases(p.Seen)}
		if p.Place > 0 && row.Ranked {
			pv.Place = strconv.Itoa(p.Place)
		}
		row.Packages = append(row.Packages, pv)
	}
	c.Rankings = append(c.Rankings, row)
}

// asked are the criteria that anything of a ranking has an answer to: first the one that places are by, safety last.
func (v *view) asked(r *Ranking) []criterionRow {
	safety := map[string]bool{}
	var ids []string
	for _, p := range r.Packages {
		for _, x := range p.Points {
			if !slices.Contains(ids, x.Criterion) {
				ids = append(ids, x.Criterion)
			}
			safety[x.Criterion] = safety[x.Criterion] || x.Safety
		}
	}
	rank := func(id string) int {
		switch {
		case id == r.By:
			return 0
		case safety[id]:
			return 2
		}
		return 1
	}
	slices.SortFunc(ids, func(a, b string) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b)) })
	out := make([]criterionRow, len(ids))
	for i, id := range ids {
		out[i] = criterionRow{ID: name(id), Label: label(id), Safety: safety[id], Index: i, key: id}
	}
	return out
}

// pointCellsOf are the answers in the order of the criteria; one that is missing is a dash.
func pointCellsOf(criteria []criterionRow, list []Point) []pointView {
	out := make([]pointView, len(criteria))
	for i, c := range criteria {
		out[i] = pointView{Criterion: c.Label, Text: unknown}
		if at := slices.IndexFunc(list, func(p Point) bool { return p.Criterion == c.key }); at >= 0 {
			out[i] = pointOf(c.Label, &list[at])
		}
	}
	return out
}

func pointOf(criterion string, p *Point) pointView {
	out := pointView{Criterion: criterion, Class: "other", Symbol: symbol(p.Verdict), Text: verdictText(p.Verdict), Words: phrase(p.Words), Findings: strings.Join(phrases(p.Findings), "; ")}
	if verdictRank(p.Verdict) < len(verdictOrder) {
		out.Class = p.Verdict
	}
	if p.Verdict != string(judge.Scored) || finite(p.Score) == nil {
		return out
	}
	out.Score = scoreText(p.Score)
	out.Text = cmp.Or(name(strings.ReplaceAll(p.Label, "_", " ")), out.Score)
	switch {
	case *p.Score >= 1:
		out.Class, out.Symbol = string(judge.Met), symbol(string(judge.Met))
	case *p.Score <= dangerous:
		out.Class, out.Symbol = string(judge.NotMet), symbol(string(judge.NotMet))
	default:
		out.Class, out.Symbol = "part", "◐"
	}
	return out
}

func scoreText(v *float64) string {
	if v = finite(v); v == nil {
		return ""
	}
	return strconv.FormatFloat(math.Round(*v*1000)/1000, 'f', -1, 64)
}

func meanText(v *float64) string {
	if v == nil {
		return unknown
	}
	return strconv.FormatFloat(*v, 'f', 2, 64)
}

func phrases(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = phrase(strings.ReplaceAll(s, "_", " "))
	}
	return out
}

// have is "3 tools have" and "1 tool has".
func have(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " has"
	}
	return counted(int64(n), noun) + " have"
}

// headline is the one sentence on tools or packages. It holds no name: names are not ours.
func (c *catalogueView) headline() string {
	if !c.tools {
		s := counted(int64(c.all), "skill package") + " graded"
		if n := len(c.Rankings); n > 1 {
			s += fmt.Sprintf(" for %d tasks", n)
		}
		switch {
		case c.harmful > 0:
			return s + fmt.Sprintf(": %s dangerous or malicious.", is(c.harmful))
		case c.threat:
			return s + "."
		}
		return s + ", without a look at threats."
	}
	s := fmt.Sprintf("%s of %s a grade", group(int64(c.graded)), have(c.all, "tool"))
	if len(c.Servers) == 1 && c.Servers[0].Median != "" {
		s += ", the median is " + c.Servers[0].Median
	}
	if c.hidden > 0 {
		s += fmt.Sprintf("; %s hidden instructions", have(c.hidden, "description"))
	}
	return s + "."
}

func is(n int) string {
	if n == 1 {
		return "1 is"
	}
	return group(int64(n)) + " are"
}

func (d *mdWriter) catalogue(c *catalogueView) {
	for _, s := range c.Servers {
		d.f("## Tools of %s\n\n%s. %s.\n\n", code(s.Name), medianText(s.Median), s.Counts)
		head := []string{"Tool", "grade", "score>"}
		for _, x := range s.Criteria {
			head = append(head, code(x.ID))
		}
		d.header(append(head, "seen by code")...)
		for _, t := range s.Tools {
			row := []string{code(t.Name), cmp.Or(t.Grade, unknown), cmp.Or(t.Score, unknown)}
			if t.Hidden {
				row[1] += ", hidden instructions"
			}
			if t.Why != "" {
				row[1] += ", " + words(t.Why)
			}
			d.row(append(append(row, pointCells(t.Cells)...), seenCell(t.Seen))...)
		}
		d.f("\n")
	}
	for _, r := range c.Rankings {
		if r.Task != "" {
			d.f("## Skill packages for the task %s\n\n", code(r.Task))
		} else {
			d.f("## Skill packages without a task\n\n")
		}
		head := []string{"Place by " + code(r.By) + ">", "package"}
		for _, x := range r.Criteria {
			head = append(head, code(x.ID))
		}
		d.header(append(head, "seen by code")...)
		for _, p := range r.Packages {
			d.row(append(append([]string{p.Place, code(p.Name)}, pointCells(p.Cells)...), seenCell(p.Seen))...)
		}
		d.f("\n")
	}
	if c.Left > 0 {
		d.f("%s more are not shown here. The grades table has them.\n\n", group(int64(c.Left)))
	}
}

func pointCells(cells []pointView) []string {
	out := make([]string, len(cells))
	for i, x := range cells {
		out[i] = words(x.Text)
		if x.Score != "" {
			out[i] = x.Score + " " + out[i]
		}
		if x.Findings != "" {
			out[i] += " (" + words(x.Findings) + ")"
		}
	}
	return out
}

func seenCell(seen []string) string {
	if len(seen) == 0 {
		return unknown
	}
	return code(strings.Join(seen, "; "))
}

func medianText(median string) string {
	if median == "" {
		return "No median: more than 10% of the tools have no grade"
	}
	return "Median grade " + median
}

// MedianText says the median of a server, or why there is none.
func (s serverView) MedianText() string { return medianText(s.Median) }

// scoreRow is the mean of a criterion that is scored.
type scoreRow struct {
	Label, Mean, Interval, Method, Note string
	Safety                              bool
	N, Unclear, NotApplicable, Ungraded string
}

// scores lists the means of all criteria that are scored: of the run's main part, and of a catalogue of every part.
func (v *view) scores(m *Model) {
	parts := []Part{{m.Run, m.Rubric}}
	if v.Catalogue != nil {
		parts = append(parts, m.Parts...)
	}
	for _, p := range parts {
		figures := collect(m.Aggregates, p.Run.Evaluator)
		for i := range p.Rubric.Criteria {
			c := &p.Rubric.Criteria[i]
			mean := figures[figureKey{metric: metricScore, groupBy: byCriterion, criterion: c.ID}]
			counts := figures[figureKey{metric: metricMet, groupBy: byCriterion, criterion: c.ID}]
			if !mean.Known && v.Catalogue == nil {
				continue
			}
			row := scoreRow{Label: label(c.ID), Safety: c.Safety, Mean: unknown, Interval: unknown, Method: mean.Method, Note: mean.Note(), N: group(int64(mean.N)),
				Unclear: group(int64(counts.Unclear)), NotApplicable: group(int64(counts.NotApplicable)), Ungraded: group(int64(counts.Ungraded))}
			if p.Run.State == "no_result" {
				mean.NoResult = true
			}
			if mean.NoResult {
				row.Mean = mean.Rate()
			}
			if mean.Shown() {
				row.Mean = meanText(mean.point) + mean.mark()
			}
			if mean.HasInterval() {
				row.Interval = meanText(mean.low) + "–" + meanText(mean.high)
			}
			v.Scores = append(v.Scores, row)
		}
	}
}

func (d *mdWriter) scores(v *view) {
	if len(v.Scores) == 0 {
		return
	}
	d.f("## Scores from 0 to 1\n\n")
	d.header("Criterion", "mean>", v.Level+" interval>", "of>", "method", "unclear>", "n/a>", "ungraded>")
	for _, r := range v.Scores {
		label := code(r.Label)
		if r.Safety {
			label += " (safety)"
		}
		d.row(label, r.Mean, r.Interval, r.N, words(r.Method), r.Unclear, r.NotApplicable, r.Ungraded)
	}
	d.f("\n")
}

// maxMedians is how many servers stand at the top of a page.
const maxMedians = 6

// Medians are the servers at the top of the page, those to look at first before others.
func (c *catalogueView) Medians() []serverView {
	out := slices.Clone(c.Servers)
	slices.SortStableFunc(out, func(a, b serverView) int {
		return cmp.Compare(strings.Index("FDCBA", a.Median), strings.Index("FDCBA", b.Median))
	})
	slices.SortStableFunc(out, func(a, b serverView) int {
		switch {
		case (a.Median == "") == (b.Median == ""):
			return 0
		case a.Median == "":
			return 1
		}
		return -1
	})
	return out[:min(len(out), maxMedians)]
}

// MediansLeft is how many servers are not at the top of the page.
func (c *catalogueView) MediansLeft() int { return max(0, len(c.Servers)-maxMedians) }

// scores prints the means where a run holds nothing but scores.
func (t *textWriter) scores(v *view) {
	if len(v.Scores) == 0 {
		return
	}
	cells := func(a, b, c, d string) string { return right(a, 9) + right(b, 6) + right(c, 9) + right(d, 10) }
	t.line(fit("Criterion", textName) + right("mean", textRate) + right(v.Level+" interval", textInterval) + cells("scored", "n/a", "unclear", "ungraded"))
	safety := false
	for _, r := range v.Scores {
		label := r.Label
		if r.Safety {
			label, safety = label+" *", true
		}
		t.line(fit(label, textName) + right(r.Mean, textRate) + right(r.Interval, textInterval) + cells(r.N, r.NotApplicable, r.Unclear, r.Ungraded))
	}
	if safety {
		t.line("* safety")
	}
	t.line("")
}
