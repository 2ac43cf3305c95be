package skillpackage

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/evaluator/reply"
)

// Read checks a reply. The explanation is put together here from the dimensions, so that it always covers each of them.
func (e *Evaluator) Read(req *judge.Request, text string) ([]judge.Answer, error) {
	return reply.One(text, func(o reply.Object) (judge.Answer, error) { return e.answer(req, o) }, "dimensions", "findings", "rating")
}

func (e *Evaluator) answer(req *judge.Request, o reply.Object) (judge.Answer, error) {
	var a judge.Answer
	evidence, why, err := e.dimensions(req, o)
	if err != nil {
		return a, err
	}
	findings, err := o.Enums("the reply", "findings", ids(e.kind.findings))
	if err != nil {
		return a, err
	}
	rating, err := o.Enum("the reply", "rating", e.ratings)
	if err != nil {
		return a, err
	}
	score, known := evaluator.ScoreOf(e.points, rating)
	switch {
	case !known:
		a = judge.Answer{Criterion: e.criterion.ID, Verdict: judge.Unclear, Label: evaluator.LabelUnclear}
	case score == 1 && len(findings) > 0:
		return a, fmt.Errorf("the rating %s has no findings, but %s is named", rating, strings.Join(findings, ", "))
	case score <= 0.5 && len(findings) == 0:
		return a, fmt.Errorf("the rating %s needs at least one finding: what is missing, superfluous or wrong", rating)
	default:
		a = evaluator.Scored(e.criterion.ID, rating, score, nil)
	}
	if score == 1 {
		if err := e.overlooked(req, evidence); err != nil {
			return a, err
		}
	}
	a.EvidenceSteps, a.Findings, a.Explanation = evidence, findings, why
	return a, nil
}

// dimensions reads each dimension once, in any order.
func (e *Evaluator) dimensions(req *judge.Request, o reply.Object) (evidence []int, why string, err error) {
	list, err := o.Objects("the reply", "dimensions")
	if err != nil {
		return nil, "", err
	}
	shown := make(map[int]bool, len(req.Lines))
	for _, l := range req.Lines {
		shown[l.Step] = l.Step > 0
	}
	known := ids(e.kind.dimensions)
	said := make(map[string]string, len(known))
	for i, d := range list {
		where := fmt.Sprintf("dimensions[%d]", i)
		if err := d.Only(where, "id", "evidence_lines", "assessment"); err != nil {
			return nil, "", err
		}
		id, err := d.Enum(where, "id", known)
		if err != nil {
			return nil, "", err
		}
		if _, twice := said[id]; twice {
			return nil, "", fmt.Errorf("dimension %s is assessed twice", id)
		}
		numbers, err := d.Evidence(where, "evidence_lines", reply.MaxEvidence, shown)
		if err != nil {
			return nil, "", err
		}
		evidence = append(evidence, numbers...)
		if said[id], err = d.Text(where, "assessment", 200); err != nil {
			return nil, "", err
		}
	}
	var parts, missing []string
	for _, d := range e.kind.dimensions {
		if said[d.ID] == "" {
			missing = append(missing, d.ID)
		}
		parts = append(parts, d.Label+e.colon()+strings.TrimRight(said[d.ID], ".。;；"))
	}
	if len(missing) > 0 {
		return nil, "", fmt.Errorf("no assessment of %s", strings.Join(missing, ", "))
	}
	slices.Sort(evidence)
	return slices.Compact(evidence), strings.Join(parts, e.semicolon()) + e.stop(), nil
}

func (e *Evaluator) colon() string     { return e.mark(": ", "：") }
func (e *Evaluator) semicolon() string { return e.mark("; ", "；") }
func (e *Evaluator) stop() string      { return e.mark(".", "。") }

func (e *Evaluator) mark(en, zh string) string {
	if e.opts.Language == Chinese {
		return zh
	}
	return en
}

// overlooked is an error where the best rating of a threat analysis looks at none of the lines that match a pattern of one.
func (e *Evaluator) overlooked(req *judge.Request, evidence []int) error {
	for _, f := range req.Facts {
		if e.criterion.ID != Threat || f.Name == FactAddresses || f.Truth != judge.Yes {
			continue
		}
		if !slices.ContainsFunc(f.Steps, func(n int) bool { return slices.Contains(evidence, n) }) {
			return fmt.Errorf("the fact %s is yes at line %d, but no dimension names that line: look at it before you call the package free of threats", f.Name, f.Steps[0])
		}
	}
	return nil
}

// Grade is the answer's own score. There is no pass: the scale sets none.
func (e *Evaluator) Grade(answers []judge.Answer) evaluator.Grade { return evaluator.Alone(answers) }
