// Package agentcore writes what Amazon Bedrock AgentCore Evaluations takes: a CreateEvaluator request, datasets of tasks, tool
// descriptions, and evaluation result records for CloudWatch Logs.
//
// Files calls nothing. Push sends those files to an account, and can be repeated.
package agentcore

import (
	"cmp"
	"context"
	"fmt"
	"regexp"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/tracejury/tracejury/exports"
)

// The files of the target.
const (
	EvaluatorFile = "agentcore/evaluator.json"
	SessionsFile  = "agentcore/graded_sessions.cloudwatch.jsonl"
)

// DefaultJudgeModel judges where neither the target nor the run names a model of Bedrock.
const DefaultJudgeModel = "eu.anthropic.claude-haiku-4-5-20251001-v1:0"

// bedrockModel is the form of a Bedrock model or inference profile: an optional place, a provider, a model.
var bedrockModel = regexp.MustCompile(`^(?:[a-z]{2,6}(?:-[a-z]+)?\.)?[a-z0-9]+\.[a-z][a-z0-9.-]*(?::[0-9]+)?(?::[0-9]+k)?$|^arn:aws[a-z-]*:bedrock:[a-z0-9-]+:[0-9]*:[a-z-]+/[A-Za-z0-9.:/_-]+$`)

// Target writes EvaluatorFile, SessionsFile and, where there are such, those of tasks and tools.
type Target struct {
	// JudgeModel is the Bedrock model that the evaluator is to use; "" takes the run's, if that is one, else DefaultJudgeModel.
	JudgeModel string
	// DatasetS3 is where the lines of datasets are put and taken from, s3://bucket/folder; "" sends them inside of requests.
	DatasetS3 string
	// Account is where a push goes; nil is nowhere.
	Account Account
}

// Account gives the configuration of an AWS account: credentials, region, endpoints.
type Account interface {
	Config(ctx context.Context) (aws.Config, error)
}

var _ exports.Target = Target{}

// Name implements exports.Target.
func (Target) Name() string { return "agentcore" }

// model is the judge model of the evaluator, and whether it is the one that graded the run.
func (t Target) model(in *exports.Input) (id string, same bool) {
	var judged string
	if len(in.Run.JudgeModels) == 1 && !in.Run.Offline && bedrockModel.MatchString(in.Run.JudgeModels[0]) {
		judged = in.Run.JudgeModels[0]
	}
	id = cmp.Or(t.JudgeModel, judged, DefaultJudgeModel)
	return id, id == judged
}

// Files implements exports.Target.
func (t Target) Files(ctx context.Context, in *exports.Input, sink exports.Sink) error {
	if in.HasRubric() {
		e, err := t.evaluator(in)
		if err != nil {
			return err
		}
		if err := exports.WriteJSON(sink, EvaluatorFile, e); err != nil {
			return err
		}
	}
	if err := t.writeDatasets(ctx, in, sink); err != nil {
		return err
	}
	if err := writeTools(ctx, in, sink); err != nil {
		return err
	}
	if !in.HasSessions() {
		return nil
	}
	if err := writeSessions(ctx, in, sink); err != nil {
		return err
	}
	return writeBatches(ctx, in, sink)
}

// Loss implements exports.Target.
func (t Target) Loss(in *exports.Input) []exports.Loss {
	model, same := t.model(in)
	var facts, gated, scored int
	for _, c := range in.Rubric.Criteria {
		if c.AppliesFact != "" {
			facts++
		}
		if c.Gate {
			gated++
		}
		if isScored(c.Scale) {
			scored++
		}
	}
	out := []exports.Loss{{File: EvaluatorFile, What: "pass", How: "no field: the evaluator answers each dimension and never decides a session; do not average its dimensions"}}
	add := func(file, what, how string) { out = append(out, exports.Loss{File: file, What: what, How: how}) }
	if !same {
		add(EvaluatorFile, "judge_model", fmt.Sprintf("the evaluator names %s, which did not grade this run: its verdicts may differ and are not calibrated", model))
	}
	if exports.Weighted(&in.Rubric) {
		add(EvaluatorFile, "weight", "no field: tags weight.<criterion> hold the weights and have no effect")
	}
	if gated > 0 {
		add(EvaluatorFile, "gate", "no field: tags gate.<criterion> name the gates and have no effect")
	}
	add(EvaluatorFile, "safety", "no field: tags safety.<criterion> name the safety criteria and have no effect")
	if facts > 0 {
		add(EvaluatorFile, "applies_fact", "the platform's judge decides alone whether a dimension applies: facts that code computes are not given to it")
	}
	if scored > 0 {
		add(EvaluatorFile, "unclear", "a numerical scale has no place for unclear or not applicable")
	}
	add(SessionsFile, "pass", "no field: attributes tracejury.session.pass, .safe and .undecided hold them; dashboards do not read those")
	add(SessionsFile, "session", "no attribute for agent, harness and revision: tracejury.session_key joins")
	add(SessionsFile, "evidence_steps", "left out: graded_sessions.jsonl of target jsonl holds them")
	if in.WithExplanations {
		add(SessionsFile, "explanation", fmt.Sprintf("cut at %d characters", maxExplanation))
	} else {
		add(SessionsFile, "explanation", "left out: the export was made without explanations")
	}
	if in.Run.Ungraded > 0 {
		add(SessionsFile, "ungraded", "records with error.type and no label; each criterion that has no verdict has one")
	}
	add(SessionsFile, "started", "records carry the time of the export, as CloudWatch wants them in order and not over 14 days old; attribute tracejury.session.started_unix_nano holds the session's")
	if in.Suite != nil {
		add(DatasetFile, "task_kind", "metadata.kind and metadata.category hold them; evaluators do not read metadata")
	}
	if in.Tools != nil {
		if in.Tools.RunID != "" {
			add(ToolsFile, "grade", "no field: target jsonl holds grades and verdicts")
		}
		add(ToolsFile, "server", "no field: tools of one name and one description stand there once, whichever servers and services have them")
		add(ToolsFile, "input_schema", "no field: parameters are left out, and what their schema says of them")
		add(ToolsFile, "description", "a tool without one is left out: the platform takes no empty text")
		add(ToolsFile, "name", fmt.Sprintf("a tool whose name is not of up to %d letters, digits and _.- is left out", maxToolName))
		add(ToolsFile, "agent_traces", "agentTraces is yours to fill in: the sessions from which the platform is to learn")
	}
	out = append(out, batchLosses()...)
	return append(out, exports.PartsLeft(in)...)
}
