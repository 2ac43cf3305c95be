// Package outcomes writes what Claude Managed Agents outcomes take: the rubric as Markdown, a session request that defines an
// outcome by it, and the graded sessions in the shape of the platform's own results, for reading.
//
// Files calls nothing. Push uploads the rubric, and starts work only where a task is named and the user agreed to pay for it.
package outcomes

import (
	"context"
	"unicode/utf8"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/judge"
)

// The files of the target.
const (
	RubricFile   = "claude/rubric.md"
	RequestFile  = "claude/session_request.json"
	SessionsFile = "claude/graded_sessions.jsonl"
)

// Limits of the platform, and caps of ours where it states none (maxShort, maxExplanation).
const (
	maxRubric        = 262_144
	maxMetadata      = 16
	maxMetadataKey   = 64
	maxMetadataValue = 512
	maxEvents        = 50
	maxIterations    = 20
	maxShort         = 256
	maxExplanation   = 2048
)

// Target writes the three files.
type Target struct {
	// Endpoint to push to, "" is DefaultEndpoint, and the API key for it.
	Endpoint, Key string
	// Task is started by a push; nil starts nothing.
	Task *Task
}

var _ exports.Target = Target{}

// Name implements exports.Target.
func (Target) Name() string { return "outcomes" }

// Check implements exports.Target.
func (Target) Check(ctx context.Context, in *exports.Input) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := in.Check(); err != nil {
		return err
	}
	text := markdown(in)
	if n := utf8.RuneCountInString(text); n > maxRubric {
		return exports.Refuse(RubricFile, "rubric.content", "%d characters: at most %d are allowed", n, maxRubric)
	}
	return newRequest(in, text).check()
}

// Files implements exports.Target.
func (Target) Files(ctx context.Context, in *exports.Input, sink exports.Sink) error {
	text := markdown(in)
	if err := exports.WriteFile(sink, RubricFile, []byte(text)); err != nil {
		return err
	}
	if err := exports.WriteJSON(sink, RequestFile, newRequest(in, text)); err != nil {
		return err
	}
	return writeSessions(ctx, in, sink)
}

// Loss implements exports.Target.
func (Target) Loss(in *exports.Input) []exports.Loss {
	var out []exports.Loss
	add := func(file, what, how string) { out = append(out, exports.Loss{File: file, What: what, How: how}) }
	var gate, scored, facts bool
	for _, c := range in.Rubric.Criteria {
		gate = gate || c.Gate || c.Safety
		scored = scored || isScored(c.Scale)
		facts = facts || c.AppliesFact != ""
	}
	add(RubricFile, "unclear", "no such answer: the grader is told to treat what is not shown as unmet and to say so")
	add(RubricFile, "not_applicable", "no such answer: the grader is told to count it as satisfied and to say so")
	if gate {
		add(RubricFile, "gate", "free text: gates and safety criteria stand under Must pass, which nothing enforces")
	}
	if exports.Weighted(&in.Rubric) {
		add(RubricFile, "weight", "free text: weights stand beside the criteria and have no effect")
	}
	if scored {
		add(RubricFile, "score", "free text: the result is for the whole outcome, never a number")
	}
	if facts {
		add(RubricFile, "applies_fact", "the platform's grader decides alone whether a criterion applies: facts that code computes are not given to it")
	}
	add(RequestFile, "task", "agent, environment and the description of the task are yours to fill in: a session that was graded is no task")
	add(SessionsFile, "import", "the platform has no place to load graded sessions: the file is for reading")
	add(SessionsFile, "verdict", "outcome_evaluation holds one result for the whole session; the criteria beside it are ours")
	add(SessionsFile, "undecided", "satisfied says only that no criterion was not met: undecided beside it marks sessions of nothing but unclear and not applicable")
	if in.WithExplanations {
		add(SessionsFile, "explanation", "cut at 2048 characters")
	} else {
		add(SessionsFile, "explanation", "left out: the export was made without explanations")
	}
	if in.Run.Ungraded > 0 {
		add(SessionsFile, "ungraded", "result failed, which stands for a rubric that does not fit as well: graded and ungraded_reason beside it tell")
	}
	return out
}

func isScored(s judge.Scale) bool { return s == judge.ScaleFivePoint || s == judge.ScaleYesNo }
