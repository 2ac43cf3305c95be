package model

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/document"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	"github.com/tracejury/tracejury/judge"
)

// bedrock asks a model by Converse. It makes one attempt: the SDK's retries are off, since its token bucket runs dry
// under sustained throttling and fails half of a run.
type bedrock struct {
	client   *bedrockruntime.Client
	id       string
	cap      Capability
	opts     Options
	identity judge.Identity
}

// defaultRegion is used where nothing names one.
const defaultRegion = "eu-central-1"

func openBedrock(ctx context.Context, id string, opts Options) (judge.Judge, error) {
	b, _, err := newBedrock(ctx, id, opts)
	if err != nil {
		return nil, fmt.Errorf("judge bedrock:%s: %w", id, err)
	}
	return b, nil
}

func newBedrock(ctx context.Context, id string, opts Options) (*bedrock, aws.Config, error) {
	load := []func(*config.LoadOptions) error{
		config.WithRetryer(func() aws.Retryer { return aws.NopRetryer{} }),
	}
	if opts.HTTPClient != nil {
		load = append(load, config.WithHTTPClient(opts.HTTPClient))
	} else {
		// The SDK's own kind of client, so that AWS_CA_BUNDLE works.
		load = append(load, config.WithHTTPClient(awshttp.NewBuildableClient().WithTimeout(opts.timeout()).WithTransportOptions(opts.tune)))
	}
	if opts.Region != "" {
		load = append(load, config.WithRegion(opts.Region))
	}
	cfg, err := config.LoadDefaultConfig(ctx, load...)
	if err != nil {
		return nil, cfg, fmt.Errorf("load AWS configuration: %w", err)
	}
	if cfg.Region == "" {
		cfg.Region = defaultRegion
	}
	if opts.EUOnly {
		if err := insideEU(id, cfg.Region); err != nil {
			return nil, cfg, err
		}
	}
	c, _ := CapabilityOf("bedrock:"+id, opts.Table)
	if opts.Mode != "" {
		if !slices.Contains([]string{ModeNativeSchema, ModeForcedTool, ModeAutoTool}, opts.Mode) {
			return nil, cfg, fmt.Errorf("mode %q is none of %s, %s, %s", opts.Mode, ModeNativeSchema, ModeForcedTool, ModeAutoTool)
		}
		c.Mode = opts.Mode
	}
	b := &bedrock{id: id, cap: c, opts: opts}
	b.client = bedrockruntime.NewFromConfig(cfg)
	parameters, err := judge.CanonicalJSON(struct {
		Temperature *float64 `json:"temperature,omitempty"`
	}{b.temperature()})
	if err != nil {
		return nil, cfg, err
	}
	b.identity = judge.Identity{Model: id, Mode: c.Mode, Parameters: string(parameters)}
	return b, cfg, nil
}

func (b *bedrock) temperature() *float64 {
	if b.opts.Temperature != nil || !b.cap.Temperature {
		return b.opts.Temperature
	}
	return aws.Float64(0)
}

// Identity names the model, the mode and the parameters.
func (b *bedrock) Identity() judge.Identity { return b.identity }

// Judge makes one Converse call.
func (b *bedrock) Judge(ctx context.Context, req *judge.Request) (judge.Reply, error) {
	in, err := b.input(req)
	if err != nil {
		return judge.Reply{}, &judge.CallError{Class: judge.ClassInvalid, Err: err}
	}
	begin := time.Now()
	out, err := b.client.Converse(ctx, in)
	latency := time.Since(begin)
	if err != nil {
		return judge.Reply{}, bedrockError(err)
	}
	return b.reply(out, latency)
}

func (b *bedrock) input(req *judge.Request) (*bedrockruntime.ConverseInput, error) {
	in := &bedrockruntime.ConverseInput{
		ModelId:         aws.String(b.id),
		System:          []types.SystemContentBlock{&types.SystemContentBlockMemberText{Value: req.System}},
		InferenceConfig: &types.InferenceConfiguration{MaxTokens: aws.Int32(int32(min(max(req.MaxTokens, 1), 1<<20)))},
		RequestMetadata: b.opts.Metadata,
	}
	if t := b.temperature(); t != nil {
		in.InferenceConfig.Temperature = aws.Float32(float32(*t))
	}
	if b.cap.Cache {
		in.System = append(in.System, &types.SystemContentBlockMemberCachePoint{Value: types.CachePointBlock{
			Type: types.CachePointTypeDefault, Ttl: types.CacheTTL(b.opts.CacheTTL),
		}})
	}
	in.Messages = messages(req, func(role, text string) types.Message {
		return types.Message{Role: types.ConversationRole(role), Content: []types.ContentBlock{&types.ContentBlockMemberText{Value: text}}}
	})
	if req.Schema == "" {
		return in, nil
	}
	if b.cap.Mode == ModeNativeSchema {
		in.OutputConfig = &types.OutputConfig{TextFormat: &types.OutputFormat{
			Type: types.OutputFormatTypeJsonSchema,
			Structure: &types.OutputFormatStructureMemberJsonSchema{Value: types.JsonSchemaDefinition{
				Name: aws.String(req.SchemaName), Schema: aws.String(req.Schema),
			}},
		}}
		return in, nil
	}
	var schema any
	if err := json.Unmarshal([]byte(req.Schema), &schema); err != nil {
		return nil, fmt.Errorf("reply schema: %w", err)
	}
	in.ToolConfig = &types.ToolConfiguration{Tools: []types.Tool{&types.ToolMemberToolSpec{Value: types.ToolSpecification{
		Name: aws.String(req.SchemaName), Description: aws.String("Records the answer. Call it exactly once."),
		InputSchema: &types.ToolInputSchemaMemberJson{Value: document.NewLazyDocument(schema)},
	}}}}
	if b.cap.Mode == ModeForcedTool {
		in.ToolConfig.ToolChoice = &types.ToolChoiceMemberTool{Value: types.SpecificToolChoice{Name: aws.String(req.SchemaName)}}
	} else {
		in.ToolConfig.ToolChoice = &types.ToolChoiceMemberAuto{}
	}
	return in, nil
}

// messages is the conversation of a request: the question, and for a repair the invalid reply and what is wrong with it.
func messages[M any](req *judge.Request, message func(role, text string) M) []M {
	if req.RepairError == "" {
		return []M{message("user", req.User)}
	}
	given := strings.TrimSpace(req.RepairOf)
	if given == "" {
		given = "(empty reply)"
	}
	return []M{
		message("user", req.User),
		message("assistant", given),
		message("user", "That reply was not valid: "+req.RepairError+"\nJudge again on the same record and answer with one JSON object of the schema and nothing else."),
	}
}

func (b *bedrock) reply(out *bedrockruntime.ConverseOutput, latency time.Duration) (judge.Reply, error) {
	r := judge.Reply{StopReason: string(out.StopReason), Latency: latency, Usage: bedrockUsage(out.Usage)}
	fail := func(class judge.Class, what string) (judge.Reply, error) {
		return judge.Reply{}, &judge.CallError{Class: class, StopReason: r.StopReason, Usage: r.Usage, Err: fmt.Errorf("the model stopped: %s", what)}
	}
	if class, what := stopClass(out.StopReason); class != "" {
		return fail(class, what)
	}
	message, ok := out.Output.(*types.ConverseOutputMemberMessage)
	if !ok {
		return fail(judge.ClassMalformed, "no message in the output")
	}
	var texts, inputs []string
	for _, block := range message.Value.Content {
		switch c := block.(type) {
		case *types.ContentBlockMemberText:
			texts = append(texts, c.Value)
		case *types.ContentBlockMemberToolUse:
			text, err := toolInput(c.Value.Input)
			if err != nil {
				return fail(judge.ClassMalformed, "tool input: "+err.Error())
			}
			inputs = append(inputs, text)
		}
	}
	// With tools, words beside the call are talk. Two calls are two answers: both are kept, and reading them fails.
	if len(inputs) > 0 {
		texts = inputs
	}
	r.Text = strings.Join(texts, "\n")
	return r, nil
}

func toolInput(d document.Interface) (string, error) {
	if d == nil {
		return "", fmt.Errorf("is missing")
	}
	var v any
	if err := d.UnmarshalSmithyDocument(&v); err != nil {
		return "", err
	}
	b, err := json.Marshal(plain(v))
	return string(b), err
}

// plain turns the SDK's number type, which encodes as text, into numbers.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = plain(e)
		}
	case []any:
		for i, e := range v {
			v[i] = plain(e)
		}
	case fmt.Stringer:
		return json.Number(v.String())
	}
	return v
}

func bedrockUsage(u *types.TokenUsage) judge.Usage {
	if u == nil {
		return judge.Usage{}
	}
	return judge.Usage{
		InputTokens: tokens(u.InputTokens), OutputTokens: tokens(u.OutputTokens),
		CacheReadTokens: tokens(u.CacheReadInputTokens), CacheWriteTokens: tokens(u.CacheWriteInputTokens),
	}
}

func tokens[I int32 | int64](n *I) *int64 {
	if n == nil {
		return nil
	}
	v := int64(*n)
	return &v
}
