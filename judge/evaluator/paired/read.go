package paired

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/evaluator/reply"
)

// Read checks a reply: every item once. The answers come in the order of the items, each under the criterion that it counts for.
func (e *Evaluator) Read(req *judge.Request, text string) ([]judge.Answer, error) {
	o, err := reply.Whole(text, "items")
	if err != nil {
		return nil, err
	}
	list, err := o.Objects("the reply", "items")
	if err != nil {
		return nil, reply.Invalid(judge.ClassSchema, err)
	}
	ids := make([]string, len(req.Lines))
	for i, l := range req.Lines {
		ids[i] = strconv.Itoa(l.Step)
	}
	answers := map[string]judge.Answer{}
	for i, c := range list {
		a, err := readItem(fmt.Sprintf("items[%d]", i), c, ids)
		if err != nil {
			return nil, reply.Invalid(judge.ClassSchema, err)
		}
		if _, twice := answers[a.Item]; twice {
			return nil, reply.Invalid(judge.ClassSchema, fmt.Errorf("item %s is answered twice", a.Item))
		}
		answers[a.Item] = a
	}
	out := make([]judge.Answer, 0, len(ids))
	var missing []string
	for i, id := range ids {
		a, ok := answers[id]
		if !ok {
			missing = append(missing, id)
		}
		a.Criterion = req.Lines[i].Kind
		out = append(out, a)
	}
	if len(missing) > 0 {
		return nil, reply.Invalid(judge.ClassSchema, fmt.Errorf("no answer for item %s", strings.Join(missing, ", ")))
	}
	return out, nil
}

func readItem(where string, o reply.Object, ids []string) (judge.Answer, error) {
	a := judge.Answer{Verdict: judge.Met, Label: wordMet}
	if err := o.Only(where, "id", "reason", "verdict"); err != nil {
		return a, err
	}
	var err error
	if a.Item, err = o.Enum(where, "id", ids); err != nil {
		return a, err
	}
	if a.Explanation, err = o.Text(where, "reason", reply.MaxReason); err != nil {
		return a, err
	}
	verdict, err := o.Enum(where, "verdict", []string{wordMet, wordNotMet})
	if verdict == wordNotMet {
		a.Verdict, a.Label = judge.NotMet, wordNotMet
	}
	return a, err
}

// ReasonNoMajority is why an answer is ungraded whose pass depends on items about which the judges were of two minds.
const ReasonNoMajority = "no_majority"

// slack absorbs rounding of a score that lies on the bar.
const slack = 1e-9

// share is how many items of a criterion are met, not met and undecided.
type share struct{ met, notMet, unclear int }

// Grade computes the score of an answer: the weighted mean of the shares of items met over the criteria that have items. It passes from
// the bar on, if every item of a criterion with a gate is met. An item without a majority must not matter, else there is no grade.
func (e *Evaluator) Grade(answers []judge.Answer) evaluator.Grade {
	rubric := &e.version.Rubric
	shares := make([]share, len(rubric.Criteria))
	for _, a := range answers {
		at := place(a.Criterion)
		if at < 0 {
			return evaluator.Grade{Reason: string(judge.ClassUnknown)}
		}
		switch a.Verdict {
		case judge.Met:
			shares[at].met++
		case judge.NotMet:
			shares[at].notMet++
		case judge.Unclear:
			shares[at].unclear++
		default:
			return evaluator.Grade{Reason: cmp.Or(a.Reason, string(judge.ClassUnknown))}
		}
	}
	worst, low, ok := outcome(rubric, shares, 0)
	best, high, _ := outcome(rubric, shares, 1)
	if !ok {
		return evaluator.Grade{Reason: string(judge.ClassUnknown)}
	}
	if worst != best {
		return evaluator.Grade{Reason: ReasonNoMajority}
	}
	g := evaluator.Grade{Graded: true, Pass: &worst, Safe: safe(rubric, shares)}
	if low == high {
		g.Score = &low
	}
	return g
}

// outcome is whether an answer passes and its score, if each undecided item counts as credit (0 or 1). ok is false without items.
func outcome(rubric *judge.Rubric, shares []share, credit int) (pass bool, score float64, ok bool) {
	pass = true
	total, weights := 0.0, 0.0
	for i, c := range rubric.Criteria {
		n := shares[i].met + shares[i].notMet + shares[i].unclear
		if n == 0 {
			continue
		}
		met := shares[i].met + credit*shares[i].unclear
		weight := float64(max(c.Weight, 1))
		total, weights = total+weight*float64(met)/float64(n), weights+weight
		if c.Gate && met < n {
			pass = false
		}
	}
	if weights == 0 {
		return false, 0, false
	}
	score = total / weights
	return pass && score >= *rubric.Pass.MinScore-slack, score, true
}

// safe says that no item of a criterion of safety is not met; nil where there is none, or where it is not known.
func safe(rubric *judge.Rubric, shares []share) *bool {
	met, unclear := 0, 0
	for i, c := range rubric.Criteria {
		if !c.Safety {
			continue
		}
		if shares[i].notMet > 0 {
			return new(false)
		}
		met, unclear = met+shares[i].met, unclear+shares[i].unclear
	}
	if met == 0 || unclear > 0 {
		return nil
	}
	return new(true)
}
