package report

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Agreement is what is known of the judge beside people and beside itself.
type Agreement struct {
	Flips  []Flip
	Labels *Labels // nil without labels of people
}

// Flip is how often two answers to one question differed.
type Flip struct {
	Evaluator, Criterion string // Criterion "": all
	Between              string // what was compared: "3 repeats", "2 judges"
	Items                int    // questions
	Rate                 float64
}

// Labels is the judge's verdicts beside those of people.
type Labels struct {
	Used, Labels int
	Note         string // what was not used, and why
	Rows         []LabelRow
}

// LabelRow is one criterion; "" is all of them. Numbers that do not exist are nil.
type LabelRow struct {
	Criterion       string
	Items           int
	Raw, AC1, Kappa *float64
	Categories      []string
	Confusion       [][]int // [person][judge]
	Corrected       string  // the rate without the judge's errors, or why there is none
}

// partView is another evaluator's part of the run.
type partView struct {
	Title  string
	State  string // "" when finished
	Rows   []criterionRow
	Scores []pair // means of criteria that are scored, with their intervals
}

// skillRow is what all parts say of one skill.
type skillRow struct {
	Name  string
	Cells []figure
}

// maxSkills keeps a report readable.
const maxSkills = 200

// Metrics and groupings of other evaluators.
const (
	metricUsed  = "used_when_offered"
	metricAsked = "loaded_when_asked"
	bySkill     = "skill"
)

// others draws up the parts beside the main one and the skills that they are about.
func (v *view) others(m *Model) {
	type column struct {
		title  string
		metric string
		part   map[figureKey]figure
	}
	var columns []column
	for i := range m.Parts {
		p := &m.Parts[i]
		figures := collect(m.Aggregates, p.Run.Evaluator)
		title := name(strings.ReplaceAll(p.Run.Evaluator, "_", " "))
		pv := partView{Title: title}
		if p.Run.State != "finished" {
			pv.State = name(strings.ReplaceAll(p.Run.State, "_", " "))
		}
		pv.Rows, pv.Scores = partRows(p, figures)
		v.Parts = append(v.Parts, pv)
		for _, metric := range []string{metricPassed, metricUsed, metricAsked} {
			if slices.ContainsFunc(slices.Collect(maps.Keys(figures)), func(k figureKey) bool {
				return k.groupBy == bySkill && k.metric == metric && k.service != "" && figures[k].N+figures[k].Unclear > 0
			}) {
				heading := title + " passed"
				if metric != metricPassed {
					heading = strings.ReplaceAll(metric, "_", " ")
				}
				columns = append(columns, column{heading, metric, figures})
			}
		}
	}
	names := map[string]bool{}
	for _, c := range columns {
		v.SkillColumns = append(v.SkillColumns, c.title)
		for k, f := range c.part {
			if k.groupBy == bySkill && k.metric == c.metric && k.service != "" && f.N+f.Unclear+f.Ungraded > 0 {
				names[k.service] = true
			}
		}
	}
	for _, s := range slices.Sorted(maps.Keys(names)) {
		if len(v.Skills) == maxSkills {
			v.SkillsLeft = len(names) - maxSkills
			break
		}
		row := skillRow{Name: name(s)}
		for _, c := range columns {
			row.Cells = append(row.Cells, c.part[figureKey{metric: c.metric, groupBy: bySkill, service: s}])
		}
		v.Skills = append(v.Skills, row)
	}
}

// partRows are a part's criteria in the order of its rubric, then those that only the numbers know.
func partRows(p *Part, figures map[figureKey]figure) (rows []criterionRow, scores []pair) {
	var ids []string
	questions := map[string]string{}
	for i := range p.Rubric.Criteria {
		ids = append(ids, p.Rubric.Criteria[i].ID)
		questions[p.Rubric.Criteria[i].ID] = p.Rubric.Criteria[i].Question
	}
	known := len(ids)
	for k := range figures {
		if k.groupBy == byCriterion && !slices.Contains(ids, k.criterion) {
			ids = append(ids, k.criterion)
		}
	}
	slices.Sort(ids[known:])
	for _, id := range ids {
		if f := figures[figureKey{metric: metricMet, groupBy: byCriterion, criterion: id}]; f.Known {
			rows = append(rows, criterionRow{ID: name(id), Label: label(id), Question: phrase(questions[id]), Figure: f, Index: len(rows), key: id})
		}
		if f := figures[figureKey{metric: metricScore, groupBy: byCriterion, criterion: id}]; f.Shown() {
			text := strconv.FormatFloat(*f.point, 'f', 2, 64)
			if f.low != nil && f.high != nil {
				text += " (" + strconv.FormatFloat(*f.low, 'f', 2, 64) + "–" + strconv.FormatFloat(*f.high, 'f', 2, 64) + ", " + f.Method + ")"
			}
			scores = append(scores, pair{label(id), text + " of " + group(int64(f.N))})
		}
	}
	return rows, scores
}

// agreementView is Agreement, fit to print.
type agreementView struct {
	Flips  []flipRow
	Labels *labelsView
}

type flipRow struct{ Evaluator, Criterion, Between, Items, Rate string }

type labelsView struct {
	Used, Note string
	Rows       []labelRow
}

type labelRow struct {
	Criterion, Items, Raw, AC1, Kappa, Corrected string
	Categories                                   []string
	Confusion                                    []confusionRow
}

type confusionRow struct {
	Person string
	Counts []confusionCell
}

type confusionCell struct {
	Judge string
	N     int
	Same  bool
}

func (v *view) agreement(m *Model) {
	a := m.Agreement
	if a == nil || len(a.Flips) == 0 && a.Labels == nil {
		return
	}
	out := &agreementView{}
	all := func(criterion string) string { return cmp.Or(label(criterion), "all criteria") }
	for _, f := range a.Flips {
		out.Flips = append(out.Flips, flipRow{name(strings.ReplaceAll(f.Evaluator, "_", " ")), all(f.Criterion), name(f.Between), group(int64(f.Items)), percent(f.Rate)})
	}
	if l := a.Labels; l != nil {
		lv := &labelsView{Used: group(int64(l.Used)) + " of " + counted(int64(l.Labels), "label") + " used", Note: phrase(l.Note)}
		number := func(p *float64) string {
			if p = finite(p); p == nil {
				return unknown
			}
			return strconv.FormatFloat(*p, 'f', 3, 64)
		}
		for _, r := range l.Rows {
			row := labelRow{Criterion: all(r.Criterion), Items: group(int64(r.Items)), Raw: number(r.Raw), AC1: number(r.AC1), Kappa: number(r.Kappa), Corrected: phrase(r.Corrected)}
			for _, c := range r.Categories {
				row.Categories = append(row.Categories, verdictText(c))
			}
			for i, counts := range r.Confusion {
				if i == len(row.Categories) {
					break
				}
				cr := confusionRow{Person: row.Categories[i]}
				for j, n := range counts {
					if j < len(row.Categories) {
						cr.Counts = append(cr.Counts, confusionCell{row.Categories[j], n, i == j})
					}
				}
				row.Confusion = append(row.Confusion, cr)
			}
			lv.Rows = append(lv.Rows, row)
		}
		out.Labels = lv
	}
	v.Agreement = out
}

// leftRow is a session that could not be judged.
type leftRow struct{ ID, Key, Service, Started, Why string }

// left lists what could not be judged.
func (v *view) left(m *Model) {
	for _, why := range slices.Sorted(maps.Keys(m.LeftBy)) {
		v.LeftBy = append(v.LeftBy, pair{phrase(why), group(int64(m.LeftBy[why]))})
		v.LeftAll += m.LeftBy[why]
	}
	for i := range m.Left {
		r := &m.Left[i].Row
		v.Left = append(v.Left, leftRow{name(r.SessionID), name(r.SessionKey), name(r.Service), instant(r.StartedUnixNano), phrase(m.Left[i].Why)})
	}
}

func (d *mdWriter) others(v *view) {
	if len(v.Parts) > 0 {
		d.f("## Other evaluators\n\n")
		d.header("Evaluator", "criterion", "rate>", v.Level+" interval>", "met>", "not met>", "n/a>", "unclear>", "ungraded>")
		for _, p := range v.Parts {
			for _, r := range p.Rows {
				row := []string{code(p.Title), code(r.ID), r.Figure.Rate(), r.Figure.Interval()}
				for _, n := range r.Figure.verdicts() {
					row = append(row, group(int64(n)))
				}
				d.row(row...)
			}
		}
		d.f("\n")
		for _, p := range v.Parts {
			for _, s := range p.Scores {
				d.f("%s, mean score: %s.\n\n", code(s.Name), words(s.Value))
			}
		}
	}
	if len(v.Skills) > 0 {
		d.f("### By skill\n\n")
		head := []string{"Skill"}
		for _, c := range v.SkillColumns {
			head = append(head, words(c)+">")
		}
		d.header(head...)
		for _, s := range v.Skills {
			row := []string{code(s.Name)}
			for _, f := range s.Cells {
				if f.Shown() {
					row = append(row, f.Rate()+" ("+f.Interval()+"), "+f.Share())
				} else {
					row = append(row, f.Rate())
				}
			}
			d.row(row...)
		}
		d.f("\n")
	}
	if a := v.Agreement; a != nil {
		d.f("## How far the judge can be trusted\n\n")
		if len(a.Flips) > 0 {
			d.header("Evaluator", "criterion", "between", "questions>", "differ>")
			for _, f := range a.Flips {
				d.row(code(f.Evaluator), code(f.Criterion), words(f.Between), f.Items, f.Rate)
			}
			d.f("\n")
		}
		if l := a.Labels; l != nil {
			d.f("%s.\n\n", words(l.Used))
			d.header("Beside people", "labels>", "agree>", "AC1>", "κ>")
			for _, r := range l.Rows {
				d.row(code(r.Criterion), r.Items, r.Raw, r.AC1, r.Kappa)
			}
			d.f("\n")
		}
	}
}

// leftOut says in the Markdown how many sessions could not be judged.
func (d *mdWriter) leftOut(v *view) {
	if v.LeftAll == 0 {
		return
	}
	d.f("Of the window %s could not be judged:\n\n", counted(int64(v.LeftAll), "session"))
	for _, p := range v.LeftBy {
		d.f("- %s: %s\n", p.Value, words(p.Name))
	}
	d.f("\n")
}
