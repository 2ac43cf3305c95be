package skillfollowing

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/evaluator/invocation"
	"github.com/tracejury/tracejury/judge/evaluator/reply"
	"github.com/tracejury/tracejury/judge/evaluator/session"
	"github.com/tracejury/tracejury/judge/transcript"
)

// Step is one prescribed step and what became of it.
type Step struct {
	Step     string `json:"step"`
	Status   string `json:"status"` // covered, partial, skipped
	Evidence []int  `json:"evidence_steps"`
}

// Statuses of a step.
const (
	Covered = "covered"
	Partial = "partial"
	Skipped = "skipped"
)

const (
	maxSteps    = 200
	maxStepText = 200
)

// Coverage is the share of the steps that were carried out: covered 1, partial 0.5, skipped 0; 0 without steps.
func Coverage(steps []Step) float64 {
	sum := 0.0
	for _, s := range steps {
		switch s.Status {
		case Covered:
			sum++
		case Partial:
			sum += 0.5
		}
	}
	if len(steps) == 0 {
		return 0
	}
	return sum / float64(len(steps))
}

// Contradicts says that a rating and the statuses below it cannot both be right: they are further apart than one rating, or
// everything is said to be followed though a step was skipped, or nothing though one was covered.
func Contradicts(score float64, steps []Step) bool {
	has := func(status string) bool {
		return slices.ContainsFunc(steps, func(s Step) bool { return s.Status == status })
	}
	return math.Abs(score-Coverage(steps)) > 0.25 || score == 1 && has(Skipped) || score == 0 && has(Covered)
}

// Read checks a reply. Coverage is computed here and is the judge's only by its statuses.
func (e *Evaluator) Read(req *judge.Request, text string) ([]judge.Answer, error) {
	return reply.One(text, func(o reply.Object) (judge.Answer, error) { return e.read(req, o) }, "steps", "reason", "rating")
}

func (e *Evaluator) read(req *judge.Request, o reply.Object) (judge.Answer, error) {
	steps, err := e.steps(req, o)
	if err != nil {
		return judge.Answer{}, err
	}
	rating, err := o.Enum("the reply", "rating", e.ratings)
	if err != nil {
		return judge.Answer{}, err
	}
	why, err := o.Text("the reply", "reason", reply.MaxReason)
	if err != nil {
		return judge.Answer{}, err
	}
	a, err := e.answer(req, steps, rating)
	if err != nil {
		return judge.Answer{}, reply.Invalid(judge.ClassContradict, err)
	}
	a.Explanation = why
	if e.opts.Compat {
		a.Explanation = compatReason(req, &a, steps, why)
	}
	if len(steps) > 0 {
		b, err := json.Marshal(steps)
		if err != nil {
			return judge.Answer{}, fmt.Errorf("encode steps: %w", err)
		}
		a.Steps = string(b)
	}
	if body(req).Note == FindingTruncated {
		a.Findings = append(a.Findings, FindingTruncated)
	}
	return a, nil
}

// body is the line that tells of the skill.
func body(req *judge.Request) judge.Line {
	if i := slices.IndexFunc(req.Lines, func(l judge.Line) bool { return l.Step == 0 && l.Kind == KindBody }); i >= 0 {
		return req.Lines[i]
	}
	return judge.Line{}
}

func (e *Evaluator) steps(req *judge.Request, o reply.Object) ([]Step, error) {
	list, err := o.Objects("the reply", "steps")
	if err != nil {
		return nil, err
	}
	if len(list) > maxSteps {
		return nil, fmt.Errorf("the reply has %d steps: join what belongs together, at most 40", len(list))
	}
	shown := invocation.Shown(req.Lines)
	plain := plainText(req.Lines)
	out := make([]Step, len(list))
	for i, s := range list {
		where := fmt.Sprintf("steps[%d]", i)
		if err := s.Only(where, "step", "evidence_steps", "status"); err != nil {
			return nil, err
		}
		if out[i].Evidence, err = s.Evidence(where, "evidence_steps", reply.MaxEvidence, shown); err != nil {
			return nil, err
		}
		if out[i].Status, err = s.Enum(where, "status", []string{Covered, Partial, Skipped}); err != nil {
			return nil, err
		}
		text, err := s.String(where, "step")
		if err != nil {
			return nil, err
		}
		out[i].Step = e.stepText(text, plain)
		switch {
		case e.opts.Compat:
		case strings.TrimSpace(text) == "":
			return nil, fmt.Errorf("%s.step is empty: say what the skill prescribes", where)
		case out[i].Status != Skipped && len(out[i].Evidence) == 0:
			return nil, fmt.Errorf("%s is %s without evidence: name at least one step of the record, or it is skipped", where, out[i].Status)
		}
	}
	return out, nil
}

// stepText makes a step's words fit to be stored: masked, short, and no quotation of the session. The skill's own words are
// none: they name the step.
func (e *Evaluator) stepText(text, plain string) string {
	text = invocation.Clip(strings.TrimSpace(transcript.Text(text, e.opts.Rendering("", 0))), maxStepText)
	if transcript.Quotes(text, plain) {
		return "(withheld: a quotation of the session)"
	}
	return text
}

func plainText(lines []judge.Line) string {
	var b strings.Builder
	for _, l := range lines {
		if l.Step > 0 {
			b.WriteString(l.Text)
			b.WriteByte('\n')
			b.WriteString(l.Arguments)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func (e *Evaluator) answer(req *judge.Request, steps []Step, rating string) (judge.Answer, error) {
	if len(steps) == 0 && rating != unclear {
		return invocation.NotApplicable(e.criterion.ID, invocation.FindingNoSteps, "", e.opts.Compat)[0], nil
	}
	var evidence []int
	for _, s := range steps {
		evidence = append(evidence, s.Evidence...)
	}
	slices.Sort(evidence)
	evidence = slices.Compact(evidence)
	score, known := evaluator.ScoreOf(e.points, rating)
	if !known { // unclear: the steps are only those that the record decides, so their coverage is none of the skill
		return judge.Answer{Criterion: e.criterion.ID, Verdict: judge.Unclear, Label: evaluator.LabelUnclear, EvidenceSteps: evidence}, nil
	}
	if !e.opts.Compat && score <= 0.25 {
		for _, f := range req.Facts {
			if f.Name == session.FactArgumentsExported && f.Truth == judge.No {
				return judge.Answer{}, fmt.Errorf("the fact %s is no: what was never exported proves nothing, so the rating cannot be %s", f.Name, rating)
			}
		}
	}
	a := evaluator.Scored(e.criterion.ID, rating, score, evaluator.PassAt(passAt))
	coverage := Coverage(steps)
	a.Coverage, a.EvidenceSteps = &coverage, evidence
	if Contradicts(score, steps) {
		a.Findings = append(a.Findings, FindingContradicts)
	}
	return a, nil
}

// compatReason is the reason as Strands composes it: name and reasoning, coverage, then each step with its status.
func compatReason(req *judge.Request, a *judge.Answer, steps []Step, why string) string {
	name := body(req).Tool
	if len(steps) == 0 {
		return name + ": the skill prescribes no steps. " + why
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\nCoverage: %.2f", name, why, *a.Coverage)
	for _, s := range steps {
		fmt.Fprintf(&b, "\n- [%s] %s %v", s.Status, s.Step, s.Evidence)
	}
	return b.String()
}

// Grade is the answer's own score and pass.
func (e *Evaluator) Grade(answers []judge.Answer) evaluator.Grade { return evaluator.Alone(answers) }
