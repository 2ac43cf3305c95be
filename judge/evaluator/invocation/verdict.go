package invocation

import (
	"slices"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
)

// Findings of answers that no score stands for.
const (
	FindingNothingInvoked   = "nothing_invoked"   // skills were offered, none was asked for
	FindingNothingAvailable = "nothing_available" // no skill was offered, as far as is recorded
	FindingNoTrajectory     = "no_trajectory"     // the session has no steps
	FindingContentMissing   = "content_missing"   // the harness exported no text
	FindingRequestMissing   = "request_missing"   // the request is not recorded
	FindingLoadRefused      = "load_refused"
	FindingBodyMissing      = "body_missing"
	FindingNoSteps          = "no_steps"
)

// NotApplicable is the answer where there is nothing to judge. In compatibility with Strands it has a pass of its own.
func NotApplicable(criterion, finding, why string, compat bool) []judge.Answer {
	out := evaluator.NotApplicable(criterion, finding, why)
	if compat {
		pass := finding != FindingNoTrajectory
		out[0].Pass = &pass
	}
	return out
}

// Case is the result of all skills of one session, computed as the Strands evaluators compute it.
type Case struct {
	Score         float64
	Pass          bool
	NotApplicable bool // every row is not applicable
	Counts        bool // in the mean of a report
}

// CaseOf aggregates rows as Strands does: rows that are not applicable are dropped; of the rest the mean, and pass when all
// pass. When none is left the score is 0, and pass when each row's own flag says so; such a case is left out of the
// report's mean only when it passed. Rows that are unclear or ungraded are none of Strands' and are left out.
func CaseOf(rows []judge.Answer) Case {
	c := Case{Pass: true, Counts: true}
	n := 0.0
	for _, r := range rows {
		if r.Verdict == judge.Scored && r.Score != nil {
			n++
			c.Score += *r.Score
			c.Pass = c.Pass && r.Pass != nil && *r.Pass
		}
	}
	if n > 0 {
		c.Score /= n
		return c
	}
	c.NotApplicable = len(rows) > 0
	for _, r := range rows {
		c.Pass = c.Pass && r.Pass != nil && *r.Pass
		c.NotApplicable = c.NotApplicable && r.Verdict == judge.NotApplicable
	}
	c.Counts = !c.NotApplicable || !c.Pass
	return c
}

// MeanOf is the score of a report: the mean over the cases that count, 0 when none does.
func MeanOf(cases []Case) float64 {
	sum, n := 0.0, 0.0
	for _, c := range cases {
		if c.Counts {
			sum += c.Score
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return sum / n
}

// Has says whether an answer has a finding.
func Has(a judge.Answer, finding string) bool { return slices.Contains(a.Findings, finding) }
