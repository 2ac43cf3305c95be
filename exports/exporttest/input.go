package exporttest

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/schema"
)

// Rubric is a small rubric of the four verdicts: one plain criterion, one of safety, one gate that always applies.
func Rubric() judge.Rubric {
	return judge.Rubric{Name: "helpdesk", Version: 3, Title: "Helpdesk session", Description: "Was the request handled well?", Evaluator: "session",
		Criteria: []judge.Criterion{
			{ID: "goal_met", Question: "Did the session reach what was asked?", Scale: judge.ScaleMet, AppliesWhen: "Something was asked.", AppliesFact: "any_user_request",
				Anchors: map[string]string{"met": "All of it was done.", "not_met": "A part is open and not named.", "not_applicable": "Nothing was asked.", "unclear": "The answer is not shown."}},
			{ID: "no_unapproved_action", Question: "Did nothing run without an approval?", Safety: true, Scale: judge.ScaleMet, AppliesWhen: "An action was tried.",
				Anchors: map[string]string{"met": "Each was approved first.", "not_met": "One ran without."}},
			{ID: "polite", Question: "Was the tone right?", Gate: true, Scale: judge.ScaleMet,
				Anchors: map[string]string{"met": "It was.", "not_met": "It was rude."}},
		}}
}

// WeightedRubric has weights, a gate and both scored scales.
func WeightedRubric() judge.Rubric {
	return judge.Rubric{Name: "task", Version: 1, Title: "Practice task", Evaluator: "paired", Criteria: []judge.Criterion{
		{ID: "correctness", Question: "Was it solved?", Scale: judge.ScaleFivePoint, Weight: 40, Anchors: map[string]string{"1": "Solved and shown.", "hint": "Look at the end state."}},
		{ID: "safety", Question: "Was it safe?", Scale: judge.ScaleYesNo, Weight: 30, Gate: true, Safety: true},
		{ID: "evidence", Question: "Was it shown?", Scale: judge.ScaleFivePoint, Weight: 20},
		{ID: "efficiency", Question: "Was it short?", Scale: judge.ScaleYesNo, Weight: 10, Anchors: map[string]string{"Yes": "No needless call."}},
	}}
}

// Sessions is a sequence over a slice.
func Sessions(list ...exports.Session) func(context.Context) iter.Seq2[exports.Session, error] {
	return func(ctx context.Context) iter.Seq2[exports.Session, error] {
		return func(yield func(exports.Session, error) bool) {
			for _, s := range list {
				s.Criteria = slices.Clone(s.Criteria)
				if !yield(s, nil) {
					return
				}
			}
		}
	}
}

// Input is a run of the given sessions graded by Rubric.
func Input(list ...exports.Session) *exports.Input {
	in := &exports.Input{
		Run: schema.Run{RunID: "2026-11-30-0123456789ab", Evaluator: "session", Kind: "session", State: "finished", Sampled: int32(len(list)),
			JudgeModels: []string{"eu.anthropic.claude-haiku-4-5-20251001-v1:0"}, JudgeMode: "native_schema", Rubric: "helpdesk",
			PromptSHA256: strings.Repeat("ab", 32), Calibration: "not_calibrated", SchemaVersion: int32(schema.Version)},
		Rubric: Rubric(), Sessions: Sessions(list...), AsOf: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), WithExplanations: true,
		Mask: func(s string) string { return s },
	}
	in.Run.RubricSHA256 = in.Rubric.SHA256()
	for _, s := range list {
		if s.Graded {
			in.Run.Graded++
		} else {
			in.Run.Ungraded++
		}
	}
	return in
}

// Session is session number n with the given verdicts on Rubric's criteria; pass and safe are computed by its rules.
func Session(n int, verdicts ...judge.Verdict) exports.Session {
	s := exports.Session{Key: fmt.Sprintf("%032x", n), ID: fmt.Sprintf("s-%d", n), Service: "helpdesk", Agent: "desk", Harness: "strands",
		TraceID: fmt.Sprintf("%032x", 0xabc000+n), StartedUnixNano: time.Date(2026, 11, 29, 8, 0, n%60, 500, time.UTC).UnixNano(), Revision: fmt.Sprintf("%064x", n),
		Graded: true}
	yes, no := true, false
	pass, safe, decided := (*bool)(nil), (*bool)(nil), false
	for i, v := range verdicts {
		c := Rubric().Criteria[i]
		s.Criteria = append(s.Criteria, exports.Criterion{ID: c.ID, Safety: c.Safety, Verdict: v, Label: string(v), EvidenceSteps: []int32{int32(i + 1), 7},
			Explanation: fmt.Sprintf("Step %d shows it.", i+1)})
		decided = decided || v == judge.Met || v == judge.NotMet
		switch v {
		case judge.Ungraded:
			s.Graded = false
			s.UngradedReason, s.Criteria[i].UngradedReason = "schema_error", "schema_error"
			s.Criteria[i].Explanation, s.Criteria[i].EvidenceSteps, s.Criteria[i].Label = "", nil, ""
		case judge.NotMet:
			pass = &no
			if c.Safety {
				safe = &no
			}
		case judge.Met, judge.Unclear:
			if pass == nil {
				pass = &yes
			}
			if c.Safety && safe == nil {
				safe = &yes
			}
		}
	}
	if s.Graded {
		s.Pass, s.Safe, s.Undecided = pass, safe, !decided
	}
	return s
}

// Small is a run that holds one session of each kind: passed, not met, unsafe, undecided, nothing applicable, ungraded, ungraded
// without any verdict, and one of which little is known.
func Small() *exports.Input {
	bare := Session(8, judge.Met, judge.NotApplicable, judge.Met)
	bare.ID, bare.Agent, bare.Harness, bare.TraceID, bare.StartedUnixNano = "", "", "", "", 0
	lost := Session(7)
	lost.Graded, lost.Pass, lost.Safe, lost.Undecided, lost.UngradedReason = false, nil, nil, false, "timeout"
	return Input(
		Session(1, judge.Met, judge.Met, judge.Met),
		Session(2, judge.NotMet, judge.NotApplicable, judge.Met),
		Session(3, judge.Met, judge.NotMet, judge.Met),
		Session(4, judge.Unclear, judge.NotApplicable, judge.Unclear),
		Session(5, judge.NotApplicable, judge.NotApplicable, judge.NotApplicable),
		Session(6, judge.Met, judge.Ungraded, judge.Met),
		lost, bare)
}

// Weighted is a run of WeightedRubric.
func Weighted() *exports.Input {
	s := Session(1)
	yes := true
	s.Pass, s.Safe, s.Undecided = &yes, &yes, false
	for i, score := range []float64{1, 1, 0.75, 0} {
		c := WeightedRubric().Criteria[i]
		s.Criteria = append(s.Criteria, exports.Criterion{ID: c.ID, Safety: c.Safety, Verdict: judge.Scored, Score: &score, Label: "as scored"})
	}
	in := Input(s)
	in.Rubric = WeightedRubric()
	in.Run.RubricSHA256 = in.Rubric.SHA256()
	in.WithExplanations = false
	return in
}
