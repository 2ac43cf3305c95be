package evaluator

import (
	"cmp"

	"github.com/tracejury/tracejury/judge"
)

// Labels of answers without a score. Their finding says why.
const (
	LabelNotApplicable = "not_applicable"
	LabelUnclear       = "unclear"
)

// NotApplicable is the answer where there is nothing to judge.
func NotApplicable(criterion, finding, why string) []judge.Answer {
	return []judge.Answer{{Criterion: criterion, Verdict: judge.NotApplicable, Label: LabelNotApplicable, Findings: []string{finding}, Explanation: why}}
}

// Unclear is the answer where a judge would have to guess.
func Unclear(criterion, finding, why string) []judge.Answer {
	return []judge.Answer{{Criterion: criterion, Verdict: judge.Unclear, Label: LabelUnclear, Findings: []string{finding}, Explanation: why}}
}

// Scored is an answer with a score that code looked up. It passes from the score passAt on; nil: it neither passes nor fails.
func Scored(criterion, label string, score float64, passAt *float64) judge.Answer {
	a := judge.Answer{Criterion: criterion, Verdict: judge.Scored, Label: label, Score: &score}
	if passAt != nil {
		pass := score >= *passAt
		a.Pass = &pass
	}
	return a
}

// PassAt is a threshold for [Scored].
func PassAt(score float64) *float64 { return &score }

// Alone is the grade of a subject that is asked one question: what its one answer says. Not applicable has neither pass
// nor score; unclear is undecided.
func Alone(answers []judge.Answer) Grade {
	if len(answers) != 1 {
		return Grade{Reason: string(judge.ClassUnknown)}
	}
	switch a := answers[0]; a.Verdict {
	case judge.NotApplicable:
		return Grade{Graded: true}
	case judge.Unclear:
		return Grade{Graded: true, Undecided: true}
	case judge.Scored:
		return Grade{Graded: true, Pass: a.Pass, Score: a.Score}
	default:
		return Grade{Reason: cmp.Or(a.Reason, string(judge.ClassUnknown))}
	}
}
