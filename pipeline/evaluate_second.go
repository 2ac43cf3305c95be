package pipeline

import (
	"context"
	"fmt"
	"slices"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/model"
)

// openSecond opens the model that is asked what a judge refuses to grade.
func (e *evaluateRun) openSecond(ctx context.Context) error {
	spec := e.cfg.Evaluate.OnRefusal
	if spec == "" {
		return nil
	}
	s, err := e.openSeat(ctx, "--on-refusal", spec)
	if err != nil {
		return err
	}
	if _, batch := s.judge.(model.Batcher); batch || s.identity.Offline {
		return usagef("--on-refusal %s: want a model that answers at once, such as bedrock:<model id> or openai:http://host/v1#<model>", spec)
	}
	if slices.ContainsFunc(e.panel, func(o seat) bool { return o.identity.Model == s.identity.Model }) {
		return usagef("--on-refusal: %s is the judge itself: want another model", s.identity.Model)
	}
	e.second = &s
	return nil
}

// wholeOrSecond puts an item to a judge and, where it refuses or a guardrail holds its answer back, once to the second model. second says that
// the answers are its. Where the second gives none either, the first one's reason stays.
func (j *judging) wholeOrSecond(ctx context.Context, s *seat, p *part, item *evaluator.Item, repeat int) (answers []judge.Answer, second bool, err error) {
	answers, err = j.whole(ctx, s, p, item, repeat)
	if err != nil || j.run.second == nil || !slices.ContainsFunc(answers, refusedAnswer) {
		return answers, false, err
	}
	other, err := j.whole(ctx, j.run.second, p, item, repeat)
	if err != nil {
		return nil, false, err
	}
	if slices.ContainsFunc(other, func(a judge.Answer) bool { return a.Verdict == judge.Ungraded }) {
		return answers, false, nil
	}
	return other, true, nil
}

func refusedAnswer(a judge.Answer) bool { return a.Reason == string(judge.ClassRefused) }

// identityOfBallot is who gave a ballot.
func (e *evaluateRun) identityOfBallot(b *ballot) *judge.Identity {
	if b.second && e.second != nil {
		return &e.second.identity
	}
	return &e.panel[b.seat].identity
}

// secondText tells how many subjects the second model graded; "" where there is none.
func (e *evaluateRun) secondText(questions []question) string {
	if e.second == nil {
		return ""
	}
	n := 0
	for i := range questions {
		if slices.ContainsFunc(questions[i].ballots, func(b ballot) bool { return b.second }) {
			n++
		}
	}
	return fmt.Sprintf("%s graded %d subjects that the judge refused", e.second.identity.Model, n)
}
