package pipeline

import (
	"context"
	"fmt"
	"slices"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// maxEarlier is in how many earlier runs answers are looked for.
const maxEarlier = 30

// takeOver gives questions about subjects that earlier runs graded in the very same way the ballots of those runs. Only of subjects
// that were given and are the same revision: a definition that has not changed is not graded again. Verdicts by code cost nothing and are
// made anew.
func (e *evaluateRun) takeOver(ctx context.Context, questions [][]question) error {
	g := e.opts.given
	if g == nil || g.again || e.offline() {
		return nil
	}
	all, err := allRuns(ctx, e.root.Store)
	if err != nil {
		return err
	}
	open := map[[2]string]*question{}
	for _, list := range questions {
		for i := range list {
			open[[2]string{list[i].part.version.Evaluator, list[i].subject.ID}] = &list[i]
		}
	}
	looked := 0
	for _, run := range all {
		i := slices.IndexFunc(e.parts, func(p *part) bool { return e.sameWay(p, &run) })
		if i < 0 || len(open) == 0 {
			continue
		}
		if looked++; looked > maxEarlier {
			break
		}
		if err := e.takeFrom(ctx, &run, e.parts[i], open); err != nil {
			return err
		}
	}
	return nil
}

// sameWay says that a run asked as this part asks: all that shapes a question and who answers it.
func (e *evaluateRun) sameWay(p *part, r *schema.Run) bool {
	v := &p.version
	return r.Evaluator == v.Evaluator && r.RunID != e.runID && r.SchemaVersion == schema.Version && r.PromptSHA256 == v.PromptSHA256 && r.RubricSHA256 == v.RubricSHA256 &&
		r.SchemaSHA256 == v.SchemaSHA256 && r.RenderingSHA256 == v.Rendering && r.MaskVersion == e.mask.Version() && int(r.Repeat) == e.cfg.Evaluate.Repeat &&
		slices.Equal(r.JudgeModels, e.models()) && r.JudgeMode == e.modes()
}

// takeFrom takes what one run has of the open questions.
func (e *evaluateRun) takeFrom(ctx context.Context, run *schema.Run, p *part, open map[[2]string]*question) error {
	verdicts, _, err := table.Read[schema.Verdict](ctx, e.root.Store, schema.Verdicts.RunKey(run.RunID))
	if err != nil {
		return fmt.Errorf("read verdicts of run %s: %w", run.RunID, err)
	}
	expl, _, err := table.Read[schema.Explanation](ctx, e.root.Store, schema.Explanations.RunKey(run.RunID))
	if err != nil {
		return fmt.Errorf("read explanations of run %s: %w", run.RunID, err)
	}
	type of struct {
		subject, criterion, item, model, vote string
		repeat                                int32
	}
	said := map[of]schema.Explanation{}
	for _, x := range expl {
		said[of{x.Subject, x.Criterion, x.Item, x.JudgeModel, x.Vote, x.Repeat}] = x
	}
	votes := len(e.panel) * e.cfg.Evaluate.Repeat
	found := map[*question][]ballot{}
	for _, v := range verdicts {
		q := open[[2]string{v.Evaluator, v.Subject}]
		// One vote is stored as the final one only, several also one by one.
		if q == nil || v.Evaluator != p.version.Evaluator || v.SubjectRevision != q.subject.Revision || (v.Vote == "final") != (votes == 1) {
			continue
		}
		x := said[of{v.Subject, v.Criterion, v.Item, v.JudgeModel, v.Vote, v.Repeat}]
		a := judge.Answer{Criterion: v.Criterion, Item: v.Item, Verdict: judge.Verdict(v.Verdict), Label: v.Label, Score: v.Score, Pass: v.Pass, Coverage: v.Coverage,
			EvidenceSteps: ints(v.EvidenceSteps), Findings: v.Findings, Reason: v.UngradedReason, Explanation: x.Explanation, Withheld: x.Withheld, Steps: x.Steps}
		second := e.second != nil && v.JudgeModel == e.second.identity.Model
		seat := max(0, slices.IndexFunc(e.panel, func(s seat) bool { return s.identity.Model == v.JudgeModel }))
		q.rendering = v.RenderingSHA256
		list := found[q]
		i := slices.IndexFunc(list, func(b ballot) bool { return b.seat == seat && b.repeat == int(v.Repeat) })
		if i < 0 {
			i = len(list)
			list = append(list, ballot{seat: seat, repeat: int(v.Repeat), second: second})
		}
		list[i].answers = append(list[i].answers, a)
		found[q] = list
	}
	for q, list := range found {
		if len(list) != votes || slices.ContainsFunc(list, func(b ballot) bool { return !b.whole(p) }) {
			continue
		}
		q.ballots = list
		e.opts.given.taken++
		delete(open, [2]string{p.version.Evaluator, q.subject.ID})
	}
	return nil
}

// whole says that a ballot has a verdict on every criterion.
func (b *ballot) whole(p *part) bool {
	for _, c := range p.version.Rubric.Criteria {
		if !slices.ContainsFunc(b.answers, func(a judge.Answer) bool { return a.Criterion == c.ID && a.Verdict != judge.Ungraded }) {
			return false
		}
	}
	return true
}

func ints(in []int32) []int {
	out := make([]int, len(in))
	for i, n := range in {
		out[i] = int(n)
	}
	return out
}
