package pipeline

import (
	"slices"
	"strings"
	"time"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/pipeline/session"
	"github.com/tracejury/tracejury/schema"
)

// asOfRun is the as-of of a run.
func asOfRun(r schema.Run) time.Time { return time.Unix(0, r.AsOfUnixNano).UTC() }

// runRows is what one evaluator's part of a run writes.
type runRows struct {
	verdicts     []schema.Verdict
	grades       []schema.Grade
	explanations []schema.Explanation
	graded       int
	ungraded     int
	mendable     int // of the ungraded: those that a later run may grade, since only the service failed
}

// rowsOf makes the rows of one part's attempted subjects.
func (e *evaluateRun) rowsOf(p *part, questions []question) runRows {
	var out runRows
	safety := map[string]bool{}
	for _, c := range p.version.Rubric.Criteria {
		safety[c.ID] = c.Safety
	}
	for i := range questions {
		r := &questions[i]
		if r.part != p {
			continue
		}
		final := vote(r.ballots, safety, e.cfg.Evaluate.SafetyUnanimous)
		if len(r.ballots) > 1 {
			for _, b := range r.ballots {
				id := e.identityOfBallot(&b)
				e.addBallot(&out, r, safety, b.answers, ballotKind{vote: "one", repeat: int32(b.repeat), model: id.Model, mode: id.Mode})
			}
		}
		if r.suspected {
			final = suspect(final)
		}
		kind := ballotKind{vote: "final", model: strings.Join(e.judgesOf(p), "+"), mode: e.modesOf(p)}
		if len(r.ballots) == 1 && r.ballots[0].second {
			kind.model, kind.mode = e.second.identity.Model, e.second.identity.Mode
		}
		e.addBallot(&out, r, safety, final, kind)
		g := p.evaluator.Grade(final)
		row := schema.Grade{RunID: e.runID, Evaluator: p.version.Evaluator, Subject: r.subject.ID, Tenant: r.candidate.row.Tenant, SubjectKind: r.subject.Kind,
			SessionKey: r.candidate.row.SessionKey, SubjectRevision: r.subject.Revision, Dt: r.candidate.dt, Service: r.candidate.row.Service,
			Agent: r.candidate.row.Agent, Harness: r.candidate.row.Harness, Skill: r.subject.Skill, Server: server(&r.subject), Tool: tool(&r.subject), State: "graded", UngradedReason: g.Reason, Pass: g.Pass, Safe: g.Safe,
			Score: g.Score, Grade: g.Letter, Undecided: g.Undecided, Arm: arm(&r.subject), Category: category(&r.subject), TaskKind: taskKind(&r.subject)}
		if g.Graded {
			out.graded++
		} else {
			out.ungraded++
			if judge.Class(g.Reason).Retryable() {
				out.mendable++
			}
			row.State = "ungraded"
		}
		out.grades = append(out.grades, row)
	}
	if _, pairs := p.evaluator.(evaluator.Answered); pairs {
		out.countPairs()
	}
	return out
}

// FindingInjection marks a session that holds what looks written for a judge. It changes no verdict.
const FindingInjection = "injection_suspected"

// suspect puts the mark where it is looked for: with the criterion on untrusted content, else with the first.
func suspect(answers []judge.Answer) []judge.Answer {
	at := max(0, slices.IndexFunc(answers, func(a judge.Answer) bool { return a.Criterion == "untrusted_content_not_obeyed" }))
	out := slices.Clone(answers)
	if at < len(out) {
		out[at].Findings = append(slices.Clone(out[at].Findings), FindingInjection)
	}
	return out
}

// ballotKind is what of a row of verdicts says whose it is.
type ballotKind struct {
	vote        string // one, final
	repeat      int32
	model, mode string
}

func (e *evaluateRun) addBallot(out *runRows, r *question, safety map[string]bool, answers []judge.Answer, k ballotKind) {
	v := &r.part.version
	for _, a := range answers {
		out.verdicts = append(out.verdicts, schema.Verdict{
			RunID: e.runID, Evaluator: v.Evaluator, Subject: r.subject.ID, Arm: arm(&r.subject), Category: category(&r.subject), TaskKind: taskKind(&r.subject), Criterion: a.Criterion, Item: a.Item, Repeat: k.repeat,
			JudgeModel: k.model, Vote: k.vote, Tenant: r.candidate.row.Tenant, SubjectKind: r.subject.Kind,
			SessionKey: r.candidate.row.SessionKey, SubjectRevision: r.subject.Revision, SpanID: r.subject.SpanID, Service: r.candidate.row.Service,
			Agent: r.candidate.row.Agent, Harness: r.candidate.row.Harness, Skill: r.subject.Skill, Server: server(&r.subject), Tool: tool(&r.subject), Safety: safety[a.Criterion], Verdict: string(a.Verdict),
			Label: a.Label, Score: a.Score, Pass: a.Pass, Coverage: a.Coverage, EvidenceSteps: int32s(a.EvidenceSteps), Findings: a.Findings,
			UngradedReason: a.Reason, JudgeMode: k.mode, PromptVersion: v.PromptVersion, PromptSHA256: v.PromptSHA256,
			RubricSHA256: v.RubricSHA256, RenderingSHA256: r.rendering,
		})
		if a.Explanation == "" && a.Withheld == "" && a.Steps == "" {
			continue
		}
		x := schema.Explanation{RunID: e.runID, Evaluator: v.Evaluator, Subject: r.subject.ID, Arm: arm(&r.subject), Criterion: a.Criterion, Item: a.Item,
			Repeat: k.repeat, JudgeModel: k.model, Vote: k.vote, Steps: a.Steps, Explanation: a.Explanation, Withheld: a.Withheld}
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

// microUSD is what tokens cost, in millionths of a dollar; nil when the price is unknown.
func microUSD(p session.Price, known bool, u judge.Usage) *int64 {
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
