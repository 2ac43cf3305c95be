// Package outcomes writes what Claude Managed Agents outcomes take: the rubric as Markdown, a session request that defines an
// outcome by it, tasks as outcomes, tools, and the graded sessions in the shape of the platform's own results, for reading.
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

// Target writes three files of the rubric and the sessions and, where there are such, those of tasks and tools.
type Target struct {
	// Endpoint to push to, "" is DefaultEndpoint, and the API key for it.
	Endpoint, Key string
	// Task is started by a push; nil starts nothing.
	Task *Task
	// Agent and Environment, where set, make a push start every task of the export as a session of its own.
	Agent, Environment string
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
	if err := exports.NeedRubricOrTools(in); err != nil {
		return err
	}
	if in.HasRubric() {
		text := markdown(in)
		if n := utf8.RuneCountInString(text); n > maxRubric {
			return exports.Refuse(RubricFile, "rubric.content", "%d characters: at most %d are allowed", n, maxRubric)
		}
		if err := newRequest(in, text).check(); err != nil {
			return err
		}
	}
	if err := eachTask(ctx, in, func(*taskLine) error { return nil }); err != nil {
		return err
	}
	_, err := newTools(ctx, in)
	return err
}

// Files implements exports.Target.
func (Target) Files(ctx context.Context, in *exports.Input, sink exports.Sink) error {
	if in.HasRubric() {
		text := markdown(in)
		if err := exports.WriteFile(sink, RubricFile, []byte(text)); err != nil {
			return err
		}
		if err := exports.WriteJSON(sink, RequestFile, newRequest(in, text)); err != nil {
			return err
		}
	}
	if err := writeTasks(ctx, in, sink); err != nil {
		return err
	}
	if err := writeTools(ctx, in, sink); err != nil {
		return err
	}
	if !in.HasSessions() {
		return nil
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
	add(SessionsFile, "session", "no field for harness, start, trace and revision: session_key joins")
	add(SessionsFile, "undecided", "satisfied says only that no criterion was not met: undecided beside it marks sessions of nothing but unclear and not applicable")
	if in.WithExplanations {
		add(SessionsFile, "explanation", "cut at 2048 characters")
	} else {
		add(SessionsFile, "explanation", "left out: the export was made without explanations")
	}
	if in.Run.Ungraded > 0 {
		add(SessionsFile, "ungraded", "result failed, which stands for a rubric that does not fit as well: graded and ungraded_reason beside it tell")
	}
	if in.Suite != nil {
		add(TasksFile, "reference", "reference answers are left out: the agent that works may read its rubric")
		add(TasksFile, "expected_tools", "no field: the grader is not told which tools were expected")
		add(TasksFile, "task_kind", "no field: kind and category are left out")
	}
	if in.Tools != nil {
		if in.Tools.RunID != "" {
			add(ToolsFile, "grade", "no field: target jsonl holds grades and verdicts")
		}
		add(ToolsFile, "description", "a tool without one is left out: the platform takes no empty text")
		add(ToolsFile, "input_schema", "type, properties and required only: other members of a schema are left out")
		add(ToolsFile, "server", "no field: a custom tool belongs to an agent; the tools of an MCP server cannot be described anew, and two of one name and the same words stand there once")
	}
	return append(out, exports.PartsLeft(in)...)
}

func isScored(s judge.Scale) bool { return s == judge.ScaleFivePoint || s == judge.ScaleYesNo }
