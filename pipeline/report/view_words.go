package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/schema"
)

// banners says what a reader must know before any number, the gravest first.
func (v *view) banners(m *Model) []banner {
	run := &m.Run
	var out []banner
	switch {
	case run.State == "failed":
		out = append(out, banner{bannerStop, "FAILED",
			"The run stopped before it could grade enough. What stands here is what it left behind."})
	case v.NoResult:
		if run.Graded+run.Ungraded == 0 {
			out = append(out, banner{bannerStop, "NO RESULT", "No " + v.Noun + " was eligible: there was nothing to grade."})
			break
		}
		text := "More than 10% of the " + v.Noun + "s could not be graded, so no rate is given: those that fail to be graded are seldom " +
			"like the others."
		if v.UngradedShare != "" {
			text = fmt.Sprintf("%d of %s could not be graded (%s). Above 10%% no rate is given: those that fail to be graded are "+
				"seldom like the others.", run.Ungraded, counted(int64(run.Graded+run.Ungraded), v.Noun), v.UngradedShare)
		}
		head := "NO RESULT"
		if v.Catalogue != nil && len(m.Parts) > 0 { // the other parts may have one
			head += " by " + label(run.Evaluator)
		}
		out = append(out, banner{bannerStop, head, text})
	}
	for i := range m.Parts {
		if p := &m.Parts[i].Run; v.Catalogue != nil && p.State == "no_result" {
			out = append(out, banner{bannerStop, "NO RESULT by " + label(p.Evaluator), fmt.Sprintf("%d of %s could not be graded, more than 10%%.", p.Ungraded, counted(int64(p.Graded+p.Ungraded), v.Noun))})
		}
	}
	if v.Partial {
		text := "Not all of the sample was judged. Run again to go on."
		if run.NotAttempted > 0 {
			text = fmt.Sprintf("%d of %s were not attempted (budget or interrupt). They do not count as ungraded: what was judged is "+
				"the first part of the sample and itself a valid sample. Run again to go on.",
				run.NotAttempted, counted(int64(run.Sampled), v.Noun))
		}
		out = append(out, banner{bannerWarn, "PARTIAL", text})
	}
	if v.Offline {
		out = append(out, banner{bannerWarn, "Offline: verdicts come from code, not from a model",
			"They show that the pipeline works. They say little about the agents."})
	}
	switch run.Calibration {
	case "passed":
		out = append(out, banner{bannerGood, "Calibrated",
			"This rubric, judge and rendering passed the five calibration checks against people's labels."})
	case "not_passed":
		out = append(out, banner{bannerWarn, "Informational: calibration not passed",
			"The verdicts disagree with people's labels more than the checks allow. Do not gate on these numbers."})
	case "in_progress":
		out = append(out, banner{bannerInfo, "Informational: calibration in progress",
			"The verdicts are still being checked against people's labels. Do not gate on these numbers."})
	default:
		out = append(out, banner{bannerInfo, "Informational: not calibrated",
			"Nobody has checked these verdicts against people's labels yet. Do not gate on these numbers."})
	}
	return out
}

// basis says what the last ingest read: numbers about a tenth of the archive are numbers about a tenth.
func (v *view) basis(m *Model) {
	in := m.Commit
	if in == nil {
		return
	}
	v.ingest = in
	v.Basis = []pair{
		{"Objects read", group(in.Objects)},
		{"Records found", group(in.Records)},
		{"Records written", group(in.Written)},
		{"Duplicates dropped", group(in.Duplicates)},
		{"Filtered out", group(in.Filtered)},
		{"Quarantined", group(in.Quarantined)},
	}
	for _, kind := range slices.Sorted(maps.Keys(in.Masked)) {
		v.Masked = append(v.Masked, pair{name(kind), group(in.Masked[kind])})
	}
}

func rubric(m *Model) rubricView {
	r := &m.Rubric
	out := rubricView{Title: phrase(r.Title), Name: name(r.Name), Description: phrase(r.Description), Version: r.Version}
	criteria := slices.Clone(r.Criteria)
	if len(m.Rankings) > 0 { // each part asks one of the questions of a package
		for i := range m.Parts {
			criteria = append(criteria, m.Parts[i].Rubric.Criteria...)
		}
		if len(m.Parts) > 0 {
			out.Name, out.Version, out.Description = "", 0, ""
		}
	}
	for i := range criteria {
		c := &criteria[i]
		q := questionRow{
			ID: name(c.ID), Label: label(c.ID), Question: phrase(c.Question), AppliesWhen: phrase(c.AppliesWhen),
			Safety: c.Safety, Gate: c.Gate,
		}
		for _, key := range slices.SortedFunc(maps.Keys(c.Anchors), byVerdict) {
			q.Anchors = append(q.Anchors, pair{verdictText(key), phrase(c.Anchors[key])})
		}
		out.Criteria = append(out.Criteria, q)
	}
	return out
}

// verdictOrder is the order in which verdicts are told everywhere.
var verdictOrder = [...]judge.Verdict{judge.Met, judge.NotMet, judge.NotApplicable, judge.Unclear, judge.Ungraded}

func verdictRank(v string) int {
	if i := slices.Index(verdictOrder[:], judge.Verdict(v)); i >= 0 {
		return i
	}
	return len(verdictOrder)
}

func byVerdict(a, b string) int {
	return cmp.Or(cmp.Compare(verdictRank(a), verdictRank(b)), strings.Compare(a, b))
}

func verdictText(v string) string {
	switch judge.Verdict(v) {
	case judge.Met:
		return "Met"
	case judge.NotMet:
		return "Not met"
	case judge.NotApplicable:
		return "Not applicable"
	case judge.Unclear:
		return "Unclear"
	case judge.Ungraded:
		return "Ungraded"
	}
	return name(strings.ReplaceAll(v, "_", " "))
}

// provenance is everything that made the run what it is. Empty values are left out: they are not known.
func provenance(run *schema.Run) []pair {
	models := make([]string, len(run.JudgeModels))
	for i, model := range run.JudgeModels {
		models[i] = name(model)
	}
	all := []pair{
		{"Run", name(run.RunID)},
		{"Label", name(run.Label)},
		{"State", name(strings.ReplaceAll(run.State, "_", " "))},
		{"As of", asOfText(run.AsOfUnixNano)},
		{"Window", window(run)},
		{"Filter", filters(run)},
		{"Seed of the sample", name(run.Seed)},
		{"Drawn per service", drawnPerService(run)},
		{"Grades per " + noun(run.Kind), number(run.Repeat)},
		{"Judge", strings.Join(models, ", ")},
		{"Judge mode", name(run.JudgeMode)},
		{"Calibration", name(strings.ReplaceAll(run.Calibration, "_", " "))},
		{"Rubric", name(run.Rubric)},
		{"Rubric SHA-256", name(run.RubricSHA256)},
		{"Prompt", name(run.PromptVersion)},
		{"Prompt SHA-256", name(run.PromptSHA256)},
		{"Reply schema SHA-256", name(run.SchemaSHA256)},
		{"Rendering SHA-256", name(run.RenderingSHA256)},
		{"Sample SHA-256", name(run.SampleSHA256)},
		{"Mask version", name(run.MaskVersion)},
		{"Schema version", number(run.SchemaVersion)},
	}
	if run.CostUSD != nil {
		all = append(all, pair{"Cost of judging", dollars(*run.CostUSD)})
	}
	return slices.DeleteFunc(all, func(p pair) bool { return p.Value == "" || p.Value == unknown })
}

// drawnPerService lists how many sessions of every service were judged.
func drawnPerService(run *schema.Run) string {
	const most = 50
	var parts []string
	for i, s := range run.Strata {
		if i == len(run.StrataEligible) || i == len(run.StrataAttempted) {
			break
		}
		if i == most {
			parts = append(parts, fmt.Sprintf("and %d more", len(run.Strata)-i))
			break
		}
		parts = append(parts, fmt.Sprintf("%s %d of %d", isolate(cmp.Or(name(s), noService)), run.StrataAttempted[i], run.StrataEligible[i]))
	}
	return strings.Join(parts, ", ")
}

func number(n int32) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(int(n))
}

func asOfText(unixNano int64) string {
	if unixNano == 0 {
		return ""
	}
	return instant(unixNano) + " UTC"
}
