package pipeline

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/evaluator/skillpackage"
	"github.com/tracejury/tracejury/judge/evaluator/tooldescription"
	"github.com/tracejury/tracejury/pipeline/mask"
	"github.com/tracejury/tracejury/pipeline/report"
	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// catalogue gathers what a run of tool descriptions or of skill packages says of each of them. Nil for every other run.
func (a *aggregation) catalogue(ctx context.Context) (servers []report.Server, rankings []report.Ranking, err error) {
	switch a.sum.main.run.Kind {
	case evaluator.OfTools:
		servers, err = a.toolServers(ctx)
	case evaluator.OfPackages:
		rankings, err = a.packageRankings(ctx)
	}
	return servers, rankings, err
}

// toolServers are the servers of the main part with everything that their grades are made of.
func (a *aggregation) toolServers(ctx context.Context) ([]report.Server, error) {
	run := a.sum.main.run
	d, err := loadRun(ctx, a.root.Store, run)
	if err != nil {
		return nil, err
	}
	m, err := a.cfg.masker()
	if err != nil {
		return nil, err
	}
	definitions, err := toolDefinitions(ctx, a.root.Store, run.Materials)
	if err != nil {
		return nil, err
	}
	points := pointsBySubject(d, m)
	tools := map[string][]report.GradedTool{}
	for i := range d.grades {
		g := &d.grades[i]
		owner := listOwner(g.Server, g.Service)
		t := report.GradedTool{Name: g.Tool, Grade: g.Grade, Score: g.Score, Points: points[g.Subject], Why: whyNoGrade(g, d.verdicts)}
		if def := definitions.of(owner, g); def != nil {
			t.Description = def.Description
			t.Seen = seenOf(tooldescription.Facts(def, func(s string) string { return m.String(s, nil) }))
		}
		tools[owner] = append(tools[owner], t)
	}
	out := []report.Server{}
	for _, s := range gradesByServer(d.grades, d.verdicts) {
		out = append(out, report.Server{Name: s.Server, Median: s.Median, Graded: s.Graded, Tools: tools[s.Server]})
	}
	return out, nil
}

// whyNoGrade says why a tool has no letter: what could not be graded, or which criteria are unclear.
func whyNoGrade(g *schema.Grade, verdicts []schema.Verdict) string {
	switch {
	case g.Grade != "":
		return ""
	case g.UngradedReason != "":
		return strings.ReplaceAll(g.UngradedReason, "_", " ")
	}
	var unclear []string
	for _, v := range verdicts {
		if v.Subject == g.Subject && v.Vote == "final" && v.Verdict != string(judge.Scored) {
			unclear = append(unclear, strings.ReplaceAll(v.Criterion, "_", " "))
		}
	}
	if len(unclear) == 0 {
		return "undecided"
	}
	return "unclear: " + strings.Join(unclear, ", ")
}

// pointsBySubject are the final answers on every subject, in the order of the rubric.
func pointsBySubject(d *runData, mask *mask.Masker) map[string][]report.Point {
	out := map[string][]report.Point{}
	for _, c := range d.rubric.Criteria {
		for i := range d.verdicts {
			v := &d.verdicts[i]
			if v.Criterion != c.ID {
				continue
			}
			x := d.explanations[subjectID(v.Subject, v.Arm)+"\x00"+v.Criterion+"\x00"+v.Item]
			out[v.Subject] = append(out[v.Subject], report.Point{Criterion: v.Criterion, Verdict: v.Verdict, Label: v.Label, Score: v.Score, Safety: v.Safety,
				Findings: v.Findings, Words: cmp.Or(mask.String(x.Explanation, nil), strings.ReplaceAll(v.UngradedReason, "_", " "))})
		}
	}
	return out
}

// keptTools are definitions of tools by their hash, and by their names where a name has one.
type keptTools struct {
	byHash map[string]*schema.Tool
	byName map[listedName][]*schema.Tool
}

// of is the definition that was graded, nil where it is no longer kept.
func (k *keptTools) of(owner string, g *schema.Grade) *schema.Tool {
	if t := k.byHash[g.SubjectRevision]; t != nil {
		return t
	}
	if list := k.byName[listedName{owner, g.Tool}]; len(list) == 1 {
		return list[0]
	}
	return nil
}

// toolDefinitions are the definitions among the materials of a run.
func toolDefinitions(ctx context.Context, st store.Store, hashes []string) (*keptTools, error) {
	out := &keptTools{map[string]*schema.Tool{}, map[listedName][]*schema.Tool{}}
	err := eachMaterial(ctx, st, hashes, toolListMaterial, func(text string) error {
		var list toolList
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			return err
		}
		for _, l := range list.Tools {
			t := &schema.Tool{Server: list.Server, Tool: l.Name, Description: l.Description, InputSchema: cmp.Or(string(l.InputSchema), "{}")}
			if strings.HasPrefix(list.Server, "(") { // a service, whose tools have no server
				t.Server = ""
			}
			out.byHash[tooldescription.DefinitionSHA256(t)] = t
			key := listedName{list.Server, l.Name}
			out.byName[key] = append(out.byName[key], t)
		}
		return nil
	})
	return out, err
}

// eachMaterial reads the texts of one kind among the materials of a run. One that has expired is left out.
func eachMaterial(ctx context.Context, st store.Store, hashes []string, kind string, take func(text string) error) error {
	for _, sum := range hashes {
		rows, _, err := table.Read[schema.Material](ctx, st, materialKey(sum))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read materials: %w", err)
		}
		for _, row := range rows {
			if row.Kind != kind {
				continue
			}
			if err := take(row.Text); err != nil {
				return fmt.Errorf("read the %s %s: %w", strings.ReplaceAll(kind, "_", " "), sum, err)
			}
		}
	}
	return nil
}

// factWords says what code saw, where it is worth a look.
var factWords = map[string]string{
	tooldescription.FactTautological: "the description only repeats the name",
	tooldescription.FactUndocumented: "parameters without a description",
	tooldescription.FactChanges:      "changes something, by its name",
	tooldescription.FactImperative:   "orders to the model",
	tooldescription.FactConceals:     "tells to hide something, or to ignore instructions",
	tooldescription.FactInvisible:    "invisible characters",

	skillpackage.FactFetchedRun: "runs what it fetches",
	skillpackage.FactEncodedRun: "runs encoded code",
	skillpackage.FactReverse:    "opens a shell outward",
	skillpackage.FactSecrets:    "names files of credentials",
	skillpackage.FactOverrides:  "tells the agent to ignore rules",
	skillpackage.FactConceals:   "tells the agent to hide something",
	skillpackage.FactDestroys:   "deletes recursively",
	skillpackage.FactAddresses:  "names network addresses",
}

// seenOf is what is true of a definition or a package, in words, with where to look.
func seenOf(facts []judge.Fact) []string {
	var out []string
	for _, f := range facts {
		words, ok := factWords[f.Name]
		if f.Truth != judge.Yes || !ok {
			continue
		}
		if f.Detail != "" && f.Name == tooldescription.FactUndocumented {
			words += ": " + f.Detail
		} else if len(f.Steps) > 0 {
			words += parens(linesText(f.Steps))
		}
		out = append(out, words)
	}
	return out
}

// linesText names the first of some lines.
func linesText(lines []int) string {
	const most = 3
	parts := make([]string, 0, most+1)
	for i, n := range lines {
		if i == most {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, fmt.Sprint(n))
	}
	if len(lines) == 1 {
		return "line " + parts[0]
	}
	return "lines " + strings.Join(parts, ", ")
}

// packageRankings ranks the packages of each task by relevance, or else by the first criterion that they were asked.
func (a *aggregation) packageRankings(ctx context.Context) ([]report.Ranking, error) {
	m, err := a.cfg.masker()
	if err != nil {
		return nil, err
	}
	var hashes []string
	points := map[string][]report.Point{}
	answers := map[string]map[string]judge.Answer{} // by criterion and subject
	names := map[string]string{}
	for _, p := range a.parts {
		d, err := loadRun(ctx, a.root.Store, p.run)
		if err != nil {
			return nil, err
		}
		hashes = append(hashes, p.run.Materials...)
		for subject, list := range pointsBySubject(d, m) {
			points[subject] = append(points[subject], list...)
			for _, x := range list {
				if answers[x.Criterion] == nil {
					answers[x.Criterion] = map[string]judge.Answer{}
				}
				answers[x.Criterion][subject] = judge.Answer{Score: x.Score, Findings: x.Findings}
			}
		}
		for i := range d.grades {
			names[d.grades[i].Subject] = d.grades[i].Skill
		}
	}
	packages, err := keptPackages(ctx, a.root.Store, hashes)
	if err != nil {
		return nil, err
	}
	byTask := map[string][]string{}
	for _, subject := range sortedKeys(points) {
		task := ""
		if p := packages[subject]; p != nil {
			task = p.Task
		}
		byTask[task] = append(byTask[task], subject)
	}
	out := []report.Ranking{}
	for _, task := range sortedKeys(byTask) {
		r := report.Ranking{Task: task, By: rankedBy(sortedKeys(answers))}
		ranked := map[string]judge.Answer{}
		for _, subject := range byTask[task] {
			ranked[subject] = answers[r.By][subject]
		}
		for _, place := range skillpackage.Rank(ranked) {
			row := report.RankedPackage{Place: place.Place, Name: names[place.Subject], Subject: place.Subject, Points: points[place.Subject]}
			if p := packages[place.Subject]; p != nil {
				row.Name = p.Name
				row.Seen = seenOf(skillpackage.Facts(p, skillpackage.Threat, func(s string) string { return m.String(s, nil) }))
			}
			r.Packages = append(r.Packages, row)
		}
		out = append(out, r)
	}
	return out, nil
}

// rankedBy is the criterion that places are by: the one about the task, if it was asked.
func rankedBy(criteria []string) string {
	for _, c := range []string{skillpackage.Relevance, skillpackage.Completeness, skillpackage.Threat} {
		if slices.Contains(criteria, c) {
			return c
		}
	}
	return ""
}

// keptPackages are the packages among the materials of a run, by the id of their subject.
func keptPackages(ctx context.Context, st store.Store, hashes []string) (map[string]*evaluator.SkillPackage, error) {
	out := map[string]*evaluator.SkillPackage{}
	err := eachMaterial(ctx, st, hashes, skillMaterial, func(text string) error {
		var p evaluator.SkillPackage
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			return err
		}
		s, err := skillpackage.Subject(p)
		if err == nil {
			out[s.ID] = &p
		}
		return err
	})
	return out, err
}

// writeRankings prints the packages of each task, the best first, with all that was said of them.
func writeRankings(w io.Writer, rankings []report.Ranking) {
	for _, r := range rankings {
		head := "Skill packages"
		if r.Task != "" {
			head += " for the task: " + printable(r.Task, 80)
		}
		if len(r.Packages) > 1 && r.By != "" {
			head += ", places by " + strings.ReplaceAll(r.By, "_", " ")
		}
		fmt.Fprintf(w, "\n%s\n", head)
		for _, p := range r.Packages {
			place := "-"
			if p.Place > 0 && len(r.Packages) > 1 {
				place = fmt.Sprint(p.Place)
			}
			fmt.Fprintf(w, "  %2s  %s\n", place, printable(p.Name, 64))
			for _, x := range p.Points {
				score := "-"
				if x.Score != nil {
					score = fmt.Sprintf("%.2f", *x.Score)
				}
				fmt.Fprintf(w, "      %-20s %5s  %s%s\n", printable(strings.ReplaceAll(x.Criterion, "_", " "), 20), score, printable(cmp.Or(x.Label, x.Verdict), 32),
					parens(printable(strings.ReplaceAll(strings.Join(x.Findings, ", "), "_", " "), 80)))
			}
			if len(p.Seen) > 0 {
				fmt.Fprintf(w, "      seen by code: %s\n", printable(strings.Join(p.Seen, "; "), 160))
			}
		}
	}
}
