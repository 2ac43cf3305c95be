package pipeline

import (
	"cmp"
	"slices"
	"time"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/transcript"
	"github.com/tracejury/tracejury/schema"
)

// question is one subject of one part, and everything that came back for it: one ballot a repeat.
type question struct {
	part      *part
	subject   evaluator.Subject
	candidate candidate
	session   int             // place of its session in the sample
	item      *evaluator.Item // nil: nothing to ask
	ballots   [][]judge.Answer
}

// questions lists what is asked about the sample, in order: session by session, part by part.
func (e *evaluateRun) questions(sample []candidate, subjects []evaluator.Subject) []question {
	var out []question
	for i, s := range subjects {
		for _, p := range e.parts {
			split := []evaluator.Subject{s}
			if sp, ok := p.evaluator.(evaluator.Splitter); ok {
				split = sp.Split(s)
			}
			for _, sub := range split {
				out = append(out, question{part: p, subject: sub, candidate: sample[i], session: i})
			}
		}
	}
	return out
}

// asOfRun is the as-of of a run.
func asOfRun(r schema.Run) time.Time { return time.Unix(0, r.AsOfUnixNano).UTC() }

// vote merges the ballots of the repeats of one subject: per criterion the majority, ties unclear. A criterion is ungraded only
// where no repeat graded it.
func vote(ballots [][]judge.Answer) []judge.Answer {
	if len(ballots) == 1 {
		return ballots[0]
	}
	var out []judge.Answer
	for i := range ballots[0] {
		out = append(out, voteOne(ballots, ballots[0][i].Criterion, ballots[0][i].Item))
	}
	return out
}

func voteOne(ballots [][]judge.Answer, criterion, item string) judge.Answer {
	counts := map[judge.Verdict]int{}
	var answers []judge.Answer
	for _, b := range ballots {
		i := slices.IndexFunc(b, func(a judge.Answer) bool { return a.Criterion == criterion && a.Item == item })
		if i < 0 {
			continue
		}
		answers = append(answers, b[i])
		if b[i].Verdict != judge.Ungraded {
			counts[b[i].Verdict]++
		}
	}
	best, n, tie := judge.Ungraded, 0, false
	for _, v := range []judge.Verdict{judge.Met, judge.NotMet, judge.NotApplicable, judge.Unclear, judge.Scored} {
		switch {
		case counts[v] > n:
			best, n, tie = v, counts[v], false
		case counts[v] == n && n > 0:
			tie = true
		}
	}
	if tie {
		return judge.Answer{Criterion: criterion, Item: item, Verdict: judge.Unclear, Label: "tie"}
	}
	for _, a := range answers {
		if a.Verdict == best {
			return a
		}
	}
	return judge.Answer{Criterion: criterion, Item: item, Verdict: judge.Ungraded, Reason: string(judge.ClassUnknown)}
}

// runRows is what one evaluator's part of a run writes.
type runRows struct {
	verdicts     []schema.Verdict
	grades       []schema.Grade
	explanations []schema.Explanation
	graded       int
	ungraded     int
}

// rowsOf makes the rows of one part's attempted subjects.
func (e *evaluateRun) rowsOf(p *part, questions []question) runRows {
	var out runRows
	for i := range questions {
		r := &questions[i]
		if r.part != p {
			continue
		}
		final := vote(r.ballots)
		if len(r.ballots) > 1 {
			for n, b := range r.ballots {
				e.addBallot(&out, r, b, int32(n), "one")
			}
		}
		e.addBallot(&out, r, final, 0, "final")
		g := p.evaluator.Grade(final)
		row := schema.Grade{RunID: e.runID, Evaluator: p.version.Evaluator, Subject: r.subject.ID, Tenant: r.candidate.row.Tenant, SubjectKind: r.subject.Kind,
			SessionKey: r.candidate.row.SessionKey, SubjectRevision: r.subject.Revision, Dt: r.candidate.dt, Service: r.candidate.row.Service,
			Agent: r.candidate.row.Agent, Harness: r.candidate.row.Harness, Skill: r.subject.Skill, State: "graded", UngradedReason: g.Reason, Pass: g.Pass, Safe: g.Safe,
			Score: g.Score, Grade: g.Letter, Undecided: g.Undecided}
		if g.Graded {
			out.graded++
		} else {
			out.ungraded++
			row.State = "ungraded"
		}
		out.grades = append(out.grades, row)
	}
	return out
}

func (e *evaluateRun) addBallot(out *runRows, r *question, answers []judge.Answer, repeat int32, kind string) {
	rendering, shown := "", ""
	if r.item != nil {
		rendering, shown = r.item.RenderingSHA256, r.item.Transcript
	}
	v, safety := &r.part.version, map[string]bool{}
	for _, c := range v.Rubric.Criteria {
		safety[c.ID] = c.Safety
	}
	for _, a := range answers {
		out.verdicts = append(out.verdicts, schema.Verdict{
			RunID: e.runID, Evaluator: v.Evaluator, Subject: r.subject.ID, Criterion: a.Criterion, Item: a.Item, Repeat: repeat,
			JudgeModel: e.identity.Model, Vote: kind, Tenant: r.candidate.row.Tenant, SubjectKind: r.subject.Kind,
			SessionKey: r.candidate.row.SessionKey, SubjectRevision: r.subject.Revision, SpanID: r.subject.SpanID, Service: r.candidate.row.Service,
			Agent: r.candidate.row.Agent, Harness: r.candidate.row.Harness, Skill: r.subject.Skill, Safety: safety[a.Criterion], Verdict: string(a.Verdict),
			Label: a.Label, Score: a.Score, Pass: a.Pass, Coverage: a.Coverage, EvidenceSteps: int32s(a.EvidenceSteps), Findings: a.Findings,
			UngradedReason: a.Reason, JudgeMode: e.identity.Mode, PromptVersion: v.PromptVersion, PromptSHA256: v.PromptSHA256,
			RubricSHA256: v.RubricSHA256, RenderingSHA256: rendering,
		})
		if a.Explanation == "" && a.Steps == "" {
			continue
		}
		x := schema.Explanation{RunID: e.runID, Evaluator: v.Evaluator, Subject: r.subject.ID, Criterion: a.Criterion, Item: a.Item,
			Repeat: repeat, JudgeModel: e.identity.Model, Vote: kind, Steps: a.Steps}
		x.Explanation, x.Withheld = transcript.Explanation(a.Explanation, shown, e.maskText)
		out.explanations = append(out.explanations, x)
	}
}

func int32s(in []int) []int32 {
	out := make([]int32, len(in))
	for i, n := range in {
		out[i] = int32(n)
	}
	return out
}

// price finds the price of model that was in force at asOf: the newest that is not later.
func price(table []Price, model, asOf string) (Price, bool) {
	var best Price
	found := false
	for _, p := range table {
		if p.Model == model && p.Since <= asOf && cmp.Compare(p.Since, best.Since) >= 0 {
			best, found = p, true
		}
	}
	return best, found
}

// microUSD is what tokens cost, in millionths of a dollar; nil when the price is unknown.
func microUSD(p Price, known bool, u judge.Usage) *int64 {
	if !known {
		return nil
	}
	count := func(n *int64) float64 {
		if n == nil {
			return 0
		}
		return float64(*n)
	}
	// Dollars per million tokens are millionths of a dollar per token.
	total := count(u.InputTokens)*p.Input + count(u.CacheReadTokens)*p.CacheRead + count(u.CacheWriteTokens)*p.CacheWrite + count(u.OutputTokens)*p.Output
	return new(int64(total + 0.5))
}
