package outcomes

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/judge"
)

// line is one graded session.
type line struct {
	SessionID         string            `json:"session_id"`
	SessionKey        string            `json:"session_key"`
	RunID             string            `json:"run_id"`
	Service           string            `json:"service"`
	Agent             string            `json:"agent"`
	Graded            bool              `json:"graded"`
	UngradedReason    string            `json:"ungraded_reason,omitempty"`
	Pass              *bool             `json:"pass"`
	Safe              *bool             `json:"safe"`
	Undecided         bool              `json:"undecided"`
	Criteria          []criterionLine   `json:"criteria"`
	OutcomeEvaluation outcomeEvaluation `json:"outcome_evaluation"`
}

type criterionLine struct {
	ID             string        `json:"id"`
	Verdict        judge.Verdict `json:"verdict"`
	Label          string        `json:"label,omitempty"`
	Score          *float64      `json:"score,omitempty"`
	UngradedReason string        `json:"ungraded_reason,omitempty"`
	EvidenceSteps  []int32       `json:"evidence_steps,omitempty"`
	Explanation    string        `json:"explanation,omitempty"`
}

// outcomeEvaluation has the fields of BetaManagedAgentsOutcomeEvaluationResource.
type outcomeEvaluation struct {
	Type        string `json:"type"`
	OutcomeID   string `json:"outcome_id"`
	Description string `json:"description"`
	Explanation string `json:"explanation"`
	Iteration   int    `json:"iteration"`
	Result      string `json:"result"`
	CompletedAt string `json:"completed_at"`
}

func writeSessions(ctx context.Context, in *exports.Input, sink exports.Sink) error {
	return exports.Lines(ctx, in, sink, SessionsFile, func(s *exports.Session, emit func(any) error) error {
		criteria, err := exports.Align(&in.Rubric, s)
		if err != nil {
			return err
		}
		return emit(newLine(in, s, criteria))
	})
}

func newLine(in *exports.Input, s *exports.Session, criteria []exports.Criterion) *line {
	graded := exports.Complete(s, criteria)
	l := &line{SessionID: cmp.Or(in.Text(s.ID, maxShort), in.HashID(s.Key)), SessionKey: in.HashID(s.Key), RunID: in.Run.RunID,
		Service: in.Text(s.Service, maxShort), Agent: in.Text(s.Agent, maxShort), Graded: graded, Pass: s.Pass, Safe: s.Safe, Undecided: s.Undecided,
		Criteria: make([]criterionLine, len(criteria))}
	if !graded {
		l.UngradedReason = cmp.Or(in.Text(s.UngradedReason, maxShort), exports.ReasonMissing)
		l.Pass, l.Safe = nil, nil
	}
	for i, c := range criteria {
		l.Criteria[i] = criterionLine{ID: c.ID, Verdict: c.Verdict, Label: in.Text(c.Label, maxShort), Score: c.Score,
			UngradedReason: in.Text(c.UngradedReason, maxShort), EvidenceSteps: c.EvidenceSteps}
		if in.WithExplanations {
			l.Criteria[i].Explanation = in.Text(c.Explanation, maxExplanation)
		}
	}
	sum := sha256.Sum256([]byte(in.Run.RunID + "\x00" + in.Run.Evaluator + "\x00" + s.Key))
	l.OutcomeEvaluation = outcomeEvaluation{
		Type:        "outcome_evaluation",
		OutcomeID:   "tracejury_" + hex.EncodeToString(sum[:12]), // not outc_: no outcome of the platform has it
		Description: in.Text(strings.Join(strings.Fields(fmt.Sprintf("Graded after the session by rubric %s, version %d.", in.Rubric.Title, in.Rubric.Version)), " "), maxShort),
		Explanation: explain(l),
		Result:      result(l),
		CompletedAt: in.AsOf.UTC().Format(time.RFC3339Nano),
	}
	return l
}

// result is satisfied or needs_revision where a session passed or not. A session that was not graded, and one to which nothing
// of the rubric applies, is failed: the platform's word for a rubric that does not fit.
func result(l *line) string {
	switch {
	case !l.Graded || l.Pass == nil:
		return "failed"
	case *l.Pass:
		return "satisfied"
	}
	return "needs_revision"
}

// explain lists the verdicts in words: code made them, not a grader of the platform.
func explain(l *line) string {
	if !l.Graded {
		return "Not graded: " + l.UngradedReason + "."
	}
	var parts []string
	for _, v := range []judge.Verdict{judge.NotMet, judge.Unclear, judge.NotApplicable, judge.Met, judge.Scored} {
		var ids []string
		for _, c := range l.Criteria {
			if c.Verdict != v {
				continue
			}
			id := c.ID
			if c.Score != nil && v == judge.Scored {
				id = fmt.Sprintf("%s %g", c.ID, *c.Score)
			}
			ids = append(ids, id)
		}
		if len(ids) > 0 {
			word := strings.ReplaceAll(string(v), "_", " ")
			parts = append(parts, strings.ToUpper(word[:1])+word[1:]+": "+strings.Join(ids, ", ")+".")
		}
	}
	return strings.Join(parts, " ")
}
