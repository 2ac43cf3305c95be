package tooldescription

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/evaluator/reply"
)

// Read checks a reply. The answers come in the order of the rubric.
func (e *Evaluator) Read(req *judge.Request, text string) ([]judge.Answer, error) {
	o, err := reply.Whole(text, "criteria")
	if err != nil {
		return nil, err
	}
	list, err := o.Objects("the reply", "criteria")
	if err != nil {
		return nil, reply.Invalid(judge.ClassSchema, err)
	}
	shown := make(map[int]bool, len(req.Lines))
	for _, l := range req.Lines {
		shown[l.Step] = true
	}
	answers := map[string]judge.Answer{}
	for i, c := range list {
		a, err := e.answer(fmt.Sprintf("criteria[%d]", i), c, shown)
		if err != nil {
			return nil, reply.Invalid(judge.ClassSchema, err)
		}
		if _, twice := answers[a.Criterion]; twice {
			return nil, reply.Invalid(judge.ClassSchema, fmt.Errorf("criterion %s is answered twice", a.Criterion))
		}
		if err := againstFacts(req.Facts, &a); err != nil {
			return nil, reply.Invalid(judge.ClassContradict, err)
		}
		answers[a.Criterion] = a
	}
	out := make([]judge.Answer, 0, len(e.criteria))
	var missing []string
	for _, c := range e.criteria {
		a, ok := answers[c.Criterion.ID]
		if !ok {
			missing = append(missing, c.Criterion.ID)
		}
		out = append(out, a)
	}
	if len(missing) > 0 {
		return nil, reply.Invalid(judge.ClassSchema, fmt.Errorf("no answer for %s", strings.Join(missing, ", ")))
	}
	return out, nil
}

func (e *Evaluator) answer(where string, o reply.Object, shown map[int]bool) (judge.Answer, error) {
	var a judge.Answer
	if err := o.Only(where, "id", "evidence_lines", "reason", "verdict"); err != nil {
		return a, err
	}
	ids := make([]string, len(e.criteria))
	for i, c := range e.criteria {
		ids[i] = c.Criterion.ID
	}
	id, err := o.Enum(where, "id", ids)
	if err != nil {
		return a, err
	}
	points := e.criteria[slices.Index(ids, id)].Points
	evidence, err := o.Evidence(where, "evidence_lines", reply.MaxEvidence, shown)
	if err != nil {
		return a, err
	}
	why, err := o.Text(where, "reason", reply.MaxReason)
	if err != nil {
		return a, err
	}
	verdict, err := o.Enum(where, "verdict", evaluator.Labels(points, unclear))
	if err != nil {
		return a, err
	}
	a = judge.Answer{Criterion: id, Verdict: judge.Unclear, Label: evaluator.LabelUnclear}
	if score, known := evaluator.ScoreOf(points, verdict); known {
		a = evaluator.Scored(id, verdict, score, nil)
	}
	a.EvidenceSteps, a.Explanation = evidence, why
	return a, nil
}

// rules are what facts forbid.
var rules = []struct {
	criterion, fact string
	truth           judge.Truth
	least, most     float64 // scores that the fact leaves open
}{
	{Purpose, FactTautological, judge.Yes, 0, 0},
	{Parameters, FactParameters, judge.No, 1, 1},
	{NoHidden, FactConceals, judge.Yes, 0, 0},
	{NoHidden, FactInvisible, judge.Yes, 0, 0},
}

// open are the labels that the facts leave open for a criterion.
func (c *criterion) open(facts []judge.Fact) []string {
	var out []string
	for _, p := range c.Points {
		if againstFacts(facts, &judge.Answer{Criterion: c.Criterion.ID, Score: &p.Score}) == nil {
			out = append(out, p.Label)
		}
	}
	return append(out, unclear)
}

// againstFacts is an error where a verdict says otherwise than what code knows.
func againstFacts(facts []judge.Fact, a *judge.Answer) error {
	for _, r := range rules {
		if r.criterion != a.Criterion || a.Score == nil || *a.Score >= r.least && *a.Score <= r.most {
			continue
		}
		if slices.ContainsFunc(facts, func(f judge.Fact) bool { return f.Name == r.fact && f.Truth == r.truth }) {
			return fmt.Errorf("criterion %s: the fact %s is %s, so the verdict cannot be %s", a.Criterion, r.fact, r.truth, a.Label)
		}
	}
	return nil
}
