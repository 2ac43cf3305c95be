package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/judge/evaluator/companions"
	"github.com/tracejury/tracejury/judge/evaluator/tooldescription"
	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/schema"
)

// Metrics beside the rates that every evaluator has.
const (
	metricMedianGrade     = "median_grade"      // of a server's tools: 4 is A, 0 is F
	metricUsedWhenOffered = "used_when_offered" // share of the sessions that were offered a skill and loaded it
	metricLoadedWhenAsked = "loaded_when_asked" // share of the sessions that asked for a skill and got it
)

// SkillUse is what came of one skill over the sessions of a run.
type SkillUse struct {
	Skill     string `json:"skill"`
	Loaded    int    `json:"loaded"` // sessions
	Refused   int    `json:"refused"`
	Attempted int    `json:"attempted"` // asked for, and what came of it is not recorded
	Unused    int    `json:"unused"`    // on offer and never asked for
}

// companions adds what a part says beyond rates: medians of servers, use of skills. Only such parts are read whole.
func (p *aggregatePart) companions(ctx context.Context, st store.Store, extra *EvaluatorNumbers, level float64) error {
	run := p.run
	if p.isPaired() {
		return p.paired(ctx, st, extra, level)
	}
	if name := p.rubric.Evaluator; name != tooldescription.Name && name != companions.Name {
		return nil
	}
	d, err := loadRun(ctx, st, run)
	if err != nil {
		return err
	}
	switch p.rubric.Evaluator {
	case tooldescription.Name:
		extra.Servers = gradesByServer(d.grades, d.verdicts)
		p.aggs = append(p.aggs, medianRows(run, extra.Servers, level)...)
	case companions.Name:
		extra.Skills = useOfSkills(d.verdicts)
		for _, u := range extra.Skills {
			for _, t := range []*tally{
				{by: dimSkill.String(), group: u.Skill, criterion: companions.SkillsOffered, metric: metricUsedWhenOffered, met: u.Loaded, notMet: u.Unused + u.Refused, unclear: u.Attempted},
				{by: dimSkill.String(), group: u.Skill, criterion: companions.SkillsOffered, metric: metricLoadedWhenAsked, met: u.Loaded, notMet: u.Refused, notApplicable: u.Unused, unclear: u.Attempted},
			} {
				rows, err := t.aggregates(run, level)
				if err != nil {
					return err
				}
				p.aggs = append(p.aggs, rows...)
			}
		}
	}
	return nil
}

// medianRows are the median grades of servers, as points.
func medianRows(run schema.Run, servers []ServerGrade, level float64) []schema.Aggregate {
	var out []schema.Aggregate
	for _, s := range servers {
		row := schema.Aggregate{RunID: run.RunID, Evaluator: run.Evaluator, GroupBy: dimServer.String(), Group: s.Server, Metric: metricMedianGrade, Method: "lower_median",
			Primary: true, N: int32(s.Graded), Ungraded: int32(len(s.Tools) - s.Graded), Level: level, NoResult: s.Median == ""}
		if s.Median != "" {
			row.Estimate = new(float64(strings.Index("FDCBA", s.Median)))
			row.Reason = "grade " + s.Median
		}
		out = append(out, row)
	}
	return out
}

// useOfSkills counts the labels of the items of skills_offered, by the spelling that comes first.
func useOfSkills(verdicts []schema.Verdict) []SkillUse {
	by := map[string]*SkillUse{}
	for _, v := range verdicts {
		if v.Criterion != companions.SkillsOffered || v.Item == "" {
			continue
		}
		u := by[v.Item]
		if u == nil {
			u = &SkillUse{Skill: v.Item}
			by[v.Item] = u
		}
		switch v.Label {
		case companions.LabelLoaded:
			u.Loaded++
		case companions.LabelRefused:
			u.Refused++
		case companions.LabelAttempted:
			u.Attempted++
		case companions.LabelUnused:
			u.Unused++
		}
	}
	out := make([]SkillUse, 0, len(by))
	for _, n := range sortedKeys(by) {
		out = append(out, *by[n])
	}
	return out
}

// maxSkillsTold is how many skills a line names.
const maxSkillsTold = 8

// writeSkills tells which skills nobody used though they were on offer, and which were refused most.
func writeSkills(w io.Writer, skills []SkillUse) {
	if len(skills) == 0 {
		return
	}
	never, refused := []SkillUse{}, []SkillUse{}
	for _, s := range skills {
		if s.Unused > 0 && s.Loaded+s.Refused+s.Attempted == 0 {
			never = append(never, s)
		}
		if s.Refused > 0 {
			refused = append(refused, s)
		}
	}
	slices.SortStableFunc(never, func(a, b SkillUse) int { return cmp.Compare(b.Unused, a.Unused) })
	slices.SortStableFunc(refused, func(a, b SkillUse) int { return cmp.Compare(b.Refused, a.Refused) })
	tell := func(head string, list []SkillUse, one func(SkillUse) string) {
		if len(list) == 0 {
			return
		}
		var parts []string
		for _, s := range list[:min(len(list), maxSkillsTold)] {
			parts = append(parts, printable(s.Skill, 48)+" ("+one(s)+")")
		}
		if more := len(list) - maxSkillsTold; more > 0 {
			parts = append(parts, fmt.Sprintf("and %d more", more))
		}
		fmt.Fprintf(w, "  %s: %s\n", head, strings.Join(parts, ", "))
	}
	fmt.Fprintf(w, "\nSkills: %d on offer or asked for\n", len(skills))
	tell("never used though offered", never, func(s SkillUse) string { return fmt.Sprintf("%d sessions", s.Unused) })
	tell("refused most", refused, func(s SkillUse) string {
		return fmt.Sprintf("in %d of the %d sessions that asked", s.Refused, s.Refused+s.Loaded+s.Attempted)
	})
}
