// Package foundry writes what Microsoft Foundry evaluations take: a rubric evaluator, tasks and tools as dataset rows, the graded
// sessions as such, and an eval with its run that holds our verdicts against our pass rule without any model call.
//
// Files calls nothing. Push sends those files to a project, and can be repeated.
package foundry

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/judge"
)

// The files of the target.
const (
	EvaluatorFile = "foundry/evaluator.json"
	RowsFile      = "foundry/graded_sessions.jsonl"
	EvalFile      = "foundry/eval_graded.json"
	RunFile       = "foundry/run_graded.json"
)

// Target writes four files of sessions and, where there are such, those of tasks and tools.
type Target struct {
	// Endpoint is the project to push to, https://ACCOUNT.services.ai.azure.com/api/projects/PROJECT, and Tokens are for it.
	Endpoint string
	Tokens   TokenSource
	// Deployment is the judge model of evals over tasks, as the project calls it; "" is yours to fill in.
	Deployment string
}

var _ exports.Target = Target{}

// Name implements exports.Target.
func (Target) Name() string { return "foundry" }

// Files implements exports.Target.
func (t Target) Files(ctx context.Context, in *exports.Input, sink exports.Sink) error {
	if in.HasRubric() {
		if err := exports.WriteJSON(sink, EvaluatorFile, newEvaluator(in)); err != nil {
			return err
		}
	}
	if in.HasSessions() {
		if err := writeGraded(ctx, in, sink); err != nil {
			return err
		}
	}
	if err := t.writeTasks(ctx, in, sink); err != nil {
		return err
	}
	return writeTools(ctx, in, sink)
}

// writeGraded writes the graded sessions, with the eval and the run over them.
func writeGraded(ctx context.Context, in *exports.Input, sink exports.Sink) error {
	if err := writeRows(ctx, in, sink); err != nil {
		return err
	}
	if err := exports.WriteJSON(sink, EvalFile, newEval(in)); err != nil {
		return err
	}
	return exports.WriteJSON(sink, RunFile, newRun(in))
}

// Loss implements exports.Target.
func (t Target) Loss(in *exports.Input) []exports.Loss {
	var out []exports.Loss
	add := func(file, what, how string, args ...any) {
		out = append(out, exports.Loss{File: file, What: what, How: fmt.Sprintf(how, args...)})
	}
	add(EvaluatorFile, "unclear", "the rubric has no such answer: its judge is told to call a dimension that is not shown not applicable, never failed")
	var facts, scored bool
	var gates []string
	for _, c := range in.Rubric.Criteria {
		facts = facts || c.AppliesFact != ""
		if c.Gate {
			gates = append(gates, c.ID)
		}
		scored = scored || lowestIsTwo(&c)
	}
	if len(gates) > 0 {
		add(EvaluatorFile, "gate", "every dimension that is scored 1 fails the item, gate or not: %s may be scored 5 or 1 only", strings.Join(gates, ", "))
	}
	add(EvaluatorFile, "safety", "safe is not computed: every dimension that is scored 1 fails the item")
	if scored {
		add(EvaluatorFile, "score", "a dimension that may fail alone is never scored 1, so 0 and 0.25 are one level and a total rises by up to its weight × 0.25")
	}
	if _, off := weights(in.Rubric.Criteria); off > 0 {
		how := "rounded to 1 to 10: a share of the total is off by up to %.1f points"
		if off > warnPoints {
			how += ", more than an evaluator of this rubric should be: choose weights with a common divisor"
		}
		add(EvaluatorFile, "weight", how, off)
	}
	if facts {
		add(EvaluatorFile, "applies_fact", "the platform's judge decides alone whether a dimension applies: facts that code computes are not given to it")
	}
	if in.Run.Ungraded > 0 {
		add(RowsFile, "ungraded", "%d ungraded sessions and their reasons are left out: a row can only pass or fail; target jsonl holds them", in.Run.Ungraded)
	}
	add(RowsFile, "messages", "no transcripts leave: the rubric evaluator cannot judge these rows a second time")
	add(RowsFile, "trace", "no column: session_key joins")
	add(RowsFile, "evidence_steps", "left out: target jsonl holds them")
	if in.WithExplanations {
		add(RowsFile, "explanation", "cut at %d characters", maxExplanation)
	} else {
		add(RowsFile, "explanation", "left out: the export was made without explanations")
	}
	add(EvalFile, "unclear", "a check passes unless the verdict is not_met: not_applicable and unclear count as passed in its rates; columns verdict_<criterion> and undecided tell them apart")
	add(EvalFile, "interval", "rates come without interval and without the rule that over 10 %% ungraded is no result")
	add(RunFile, "dataset", "account and project are yours to fill in, and the rows are to be uploaded under the dataset's name first")
	if in.Suite != nil {
		add(TasksEvalFile, "target", "the agent that answers is yours to name when you make a run; data_mapping takes its answer as the sample")
		if t.Deployment == "" {
			add(TasksEvalFile, "judge_model", "%s is yours to fill in: the deployment that judges", deployment)
		}
		add(TasksFile, "answers", "whoever reads the dataset knows the answers: it is for practice")
	}
	if in.Tools != nil {
		if in.Tools.RunID != "" {
			add(ToolsFile, "grade", "columns of ours: the platform has no grade for a description")
			add(ToolsFile, "weight", "no column: criteria_tools.json holds weights and anchors")
		}
		if !in.WithExplanations {
			add(ToolsFile, "explanation", "left out: the export was made without explanations")
		}
	}
	return append(out, exports.PartsLeft(in)...)
}

// lowestIsTwo says whether a criterion may fail alone with us, so that it must not be scored 1 there, where any 1 fails the item.
func lowestIsTwo(c *judge.Criterion) bool {
	return !c.Gate && !c.Safety && (c.Scale == judge.ScaleFivePoint || c.Scale == judge.ScaleYesNo)
}

func weight(c *judge.Criterion) int { return cmp.Or(c.Weight, 1) }
