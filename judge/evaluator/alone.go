package evaluator

import (
	"cmp"

	"github.com/tracejury/tracejury/judge"
)

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
