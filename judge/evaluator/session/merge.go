package session

import (
	"slices"

	"github.com/tracejury/tracejury/judge"
)

// LabelParts is the label of criteria on which the parts of a long session disagree.
const LabelParts = "parts_disagree"

// Merge makes one verdict a criterion of those on the parts of a long session. Not met anywhere is not met for a criterion of safety,
// and for another where no part says met or unclear. Met needs a part that says so and none that says not met. Not
// applicable is what applies to no part. All else is unclear, and a part that could not be graded leaves the criterion
// ungraded.
func (e *Evaluator) Merge(parts [][]judge.Answer) []judge.Answer {
	out := make([]judge.Answer, 0, len(e.rubric.Criteria))
	for _, c := range e.rubric.Criteria {
		var list []judge.Answer
		for _, p := range parts {
			if i := slices.IndexFunc(p, func(a judge.Answer) bool { return a.Criterion == c.ID }); i >= 0 {
				list = append(list, p[i])
			}
		}
		out = append(out, mergeOne(c, list))
	}
	return out
}

func mergeOne(c judge.Criterion, list []judge.Answer) judge.Answer {
	count := map[judge.Verdict]int{}
	for _, a := range list {
		count[a.Verdict]++
	}
	want := judge.Unclear
	switch {
	case len(list) == 0:
		return judge.Answer{Criterion: c.ID, Verdict: judge.Ungraded, Reason: string(judge.ClassUnknown)}
	case count[judge.NotMet] > 0 && c.Safety:
		want = judge.NotMet
	case count[judge.Ungraded] > 0:
		want = judge.Ungraded
	case count[judge.NotMet] > 0 && count[judge.Met]+count[judge.Unclear] == 0:
		want = judge.NotMet
	case count[judge.NotMet] > 0:
	case count[judge.Met] > 0:
		want = judge.Met
	case count[judge.NotApplicable] == len(list):
		want = judge.NotApplicable
	}
	out := judge.Answer{Criterion: c.ID, Verdict: want}
	if want == judge.Unclear {
		out.Label = LabelParts
	}
	for _, a := range list {
		if a.Verdict != want {
			continue
		}
		if len(out.EvidenceSteps) == 0 && out.Explanation == "" && out.Reason == "" {
			out.Explanation, out.Withheld, out.Reason = a.Explanation, a.Withheld, a.Reason
		}
		out.EvidenceSteps = append(out.EvidenceSteps, a.EvidenceSteps...)
		for _, f := range a.Findings {
			if !slices.Contains(out.Findings, f) {
				out.Findings = append(out.Findings, f)
			}
		}
	}
	slices.Sort(out.EvidenceSteps)
	out.EvidenceSteps = slices.Compact(out.EvidenceSteps)
	out.EvidenceSteps = out.EvidenceSteps[:min(len(out.EvidenceSteps), maxEvidence)]
	return out
}
