package agentcore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockagentcorecontrol"
	"github.com/aws/aws-sdk-go-v2/service/bedrockagentcorecontrol/types"

	"github.com/tracejury/tracejury/exports"
)

// activeWithin is how long the service may take to make an evaluator usable.
const activeWithin = 5 * time.Minute

// maxPages caps a listing: an account has at most some hundred evaluators.
const maxPages = 1000

// config is the request's union as the SDK has it.
func (r *request) config() types.EvaluatorConfig {
	j := &r.EvaluatorConfig.LLMAsAJudge
	scale := &types.RatingScaleMemberMultiDimensional{}
	for _, d := range j.RatingScale.MultiDimensional {
		dim := types.EvaluationDimension{DimensionName: aws.String(d.Name), DimensionInstruction: aws.String(d.Instruction)}
		if len(d.RatingScale.Numerical) > 0 {
			var list []types.NumericalScaleDefinition
			for _, l := range d.RatingScale.Numerical {
				list = append(list, types.NumericalScaleDefinition{Value: aws.Float64(l.Value), Label: aws.String(l.Label), Definition: aws.String(l.Definition)})
			}
			dim.DimensionRatingScale = &types.DimensionRatingScaleMemberNumerical{Value: list}
		} else {
			var list []types.CategoricalScaleDefinition
			for _, c := range d.RatingScale.Categorical {
				list = append(list, types.CategoricalScaleDefinition{Label: aws.String(c.Label), Definition: aws.String(c.Definition)})
			}
			dim.DimensionRatingScale = &types.DimensionRatingScaleMemberCategorical{Value: list}
		}
		scale.Value = append(scale.Value, dim)
	}
	m := &j.ModelConfig.Bedrock
	return &types.EvaluatorConfigMemberLlmAsAJudge{Value: types.LlmAsAJudgeEvaluatorConfig{
		Instructions: aws.String(j.Instructions), RatingScale: scale,
		ModelConfig: &types.EvaluatorModelConfigMemberBedrockEvaluatorModelConfig{Value: types.BedrockEvaluatorModelConfig{
			ModelId: aws.String(m.ModelID), InferenceConfig: &types.InferenceConfiguration{MaxTokens: aws.Int32(int32(m.InferenceConfig.MaxTokens))}}}}}
}

// made is what the ledger keeps of an evaluator.
type made struct {
	ID   string `json:"id"`
	Hash string `json:"hash"` // of the request, its client token
}

func (p *pusher) pushEvaluator(ctx context.Context, files fs.FS) error {
	result := exports.Result{Target: "agentcore", Kind: "evaluator", Name: EvaluatorFile}
	r, err := readEvaluator(files)
	if err != nil {
		return p.box.Fail(result, err)
	}
	result.Name = r.EvaluatorName
	result.ID, result.State, err = p.ensureEvaluator(ctx, r)
	if err == nil {
		err = p.waitActive(ctx, result.ID)
	}
	ledgerID := p.prefix + "evaluator/" + r.EvaluatorName
	if err == nil && !p.box.DryRun {
		var value []byte
		if value, err = exports.JSON(made{result.ID, r.ClientToken}); err == nil {
			err = p.box.Ledger.Finish(ledgerID, string(value), nil)
		}
	}
	if err != nil {
		return p.box.Fail(result, fmt.Errorf("evaluator %s: %w", r.EvaluatorName, err))
	}
	p.box.Done(result)
	return nil
}

// ensureEvaluator makes the account hold the evaluator. It asks for what it knows first, then creates, and where the name is
// taken finds it and updates what differs.
func (p *pusher) ensureEvaluator(ctx context.Context, r *request) (id, state string, err error) {
	var known made
	if value, ok := p.box.Ledger.Done(p.prefix + "evaluator/" + r.EvaluatorName); ok {
		if err := json.Unmarshal([]byte(value), &known); err != nil {
			return "", "", fmt.Errorf("push ledger: %w", err)
		}
		state, err := p.alignEvaluator(ctx, known.ID, r)
		if !isCode(err, "ResourceNotFoundException") {
			return known.ID, state, err
		}
	}
	clientToken := r.ClientToken
	if known.ID != "" { // deleted since: the old token would be ignored
		clientToken = token("evaluator", r.ClientToken, known.ID)
	}
	err = p.call(ctx, func() error {
		out, err := p.control.CreateEvaluator(ctx, &bedrockagentcorecontrol.CreateEvaluatorInput{EvaluatorName: &r.EvaluatorName, Description: &r.Description,
			Level: types.EvaluatorLevel(r.Level), ClientToken: &clientToken, Tags: r.Tags, EvaluatorConfig: r.config()})
		if err == nil {
			id = or(out.EvaluatorId, "")
		}
		return err
	})
	if !isCode(err, "ConflictException") {
		return id, exports.Created, err
	}
	if id, err = p.findEvaluator(ctx, r.EvaluatorName); err != nil {
		return "", "", err
	}
	state, err = p.alignEvaluator(ctx, id, r)
	return id, state, err
}

// alignEvaluator updates an evaluator that differs from the request.
func (p *pusher) alignEvaluator(ctx context.Context, id string, r *request) (string, error) {
	got, err := p.getEvaluator(ctx, id)
	if err != nil {
		return "", err
	}
	if busy := got.Status == types.EvaluatorStatusCreating || got.Status == types.EvaluatorStatusUpdating; busy && !p.box.DryRun {
		if err := p.waitSettled(ctx, id); err != nil {
			return "", err
		}
		if got, err = p.getEvaluator(ctx, id); err != nil {
			return "", err
		}
	}
	failed := got.Status == types.EvaluatorStatusCreateFailed || got.Status == types.EvaluatorStatusUpdateFailed
	same := or(got.Description, "") == r.Description && string(got.Level) == r.Level && reflect.DeepEqual(got.EvaluatorConfig, r.config())
	if p.box.DryRun || same && !failed {
		return exports.Unchanged, nil
	}
	if aws.ToBool(got.LockedForModification) {
		return "", errors.New("it differs and is locked: an enabled online evaluation uses it; export the rubric under a new version")
	}
	clientToken := token("update", id, r.ClientToken, got.UpdatedAt.UTC().Format(time.RFC3339Nano))
	err = p.call(ctx, func() error {
		_, err := p.control.UpdateEvaluator(ctx, &bedrockagentcorecontrol.UpdateEvaluatorInput{EvaluatorId: &id, ClientToken: &clientToken, Description: &r.Description,
			Level: types.EvaluatorLevel(r.Level), EvaluatorConfig: r.config()})
		return err
	})
	return exports.Updated, err
}

func (p *pusher) getEvaluator(ctx context.Context, id string) (out *bedrockagentcorecontrol.GetEvaluatorOutput, err error) {
	err = p.call(ctx, func() error {
		out, err = p.control.GetEvaluator(ctx, &bedrockagentcorecontrol.GetEvaluatorInput{EvaluatorId: &id})
		return err
	})
	return out, err
}

func (p *pusher) findEvaluator(ctx context.Context, name string) (string, error) {
	var next *string
	for range maxPages {
		var out *bedrockagentcorecontrol.ListEvaluatorsOutput
		err := p.call(ctx, func() (err error) {
			out, err = p.control.ListEvaluators(ctx, &bedrockagentcorecontrol.ListEvaluatorsInput{NextToken: next})
			return err
		})
		if err != nil {
			return "", err
		}
		for _, e := range out.Evaluators {
			if or(e.EvaluatorName, "") == name {
				return or(e.EvaluatorId, ""), nil
			}
		}
		if next = out.NextToken; or(next, "") == "" {
			return "", errors.New("the name is taken, but no evaluator has it: it is being deleted, or is not yours to list")
		}
	}
	return "", fmt.Errorf("over %d pages of evaluators", maxPages)
}

// waitActive waits until the evaluator can be used.
func (p *pusher) waitActive(ctx context.Context, id string) error {
	if p.box.DryRun {
		return nil
	}
	if err := p.waitSettled(ctx, id); err != nil {
		return err
	}
	got, err := p.getEvaluator(ctx, id)
	if err == nil && got.Status != types.EvaluatorStatusActive {
		return fmt.Errorf("its status is %s", got.Status)
	}
	return err
}

// waitSettled waits until the evaluator is neither being created nor updated.
func (p *pusher) waitSettled(ctx context.Context, id string) error {
	last := types.EvaluatorStatus("")
	err := p.box.Poll(ctx, activeWithin, func() (bool, error) {
		got, err := p.getEvaluator(ctx, id)
		if err != nil {
			return false, err
		}
		last = got.Status
		return last != types.EvaluatorStatusCreating && last != types.EvaluatorStatusUpdating, nil
	})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return fmt.Errorf("its status is still %s after %s", last, activeWithin)
	}
	return err
}
