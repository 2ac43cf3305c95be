package agentcore

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/bedrockagentcorecontrol"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"

	"github.com/tracejury/tracejury/exports"
)

var _ exports.Pusher = Target{}

// Calls per second that stay below the account's quotas, which others use too.
const (
	controlRate = 5
	logsRate    = 40
)

// pusher is one push.
type pusher struct {
	box     *exports.Outbox
	control *bedrockagentcorecontrol.Client
	logs    *cloudwatchlogs.Client
	objects *s3.Client
	prefix  string // of ledger ids: the account and region that they are of
}

// Push implements exports.Pusher: it creates or updates the evaluator and the datasets of tasks, and puts the graded sessions into CloudWatch Logs, one
// log group a service.
func (t Target) Push(ctx context.Context, files fs.FS, box *exports.Outbox) error {
	if !exports.Has(files, EvaluatorFile) && !exports.Has(files, SessionsFile) { // a dataset comes with a rubric
		return box.Fail(exports.Result{Target: t.Name(), Kind: "evaluator", Name: EvaluatorFile}, exports.ErrNothing)
	}
	p, err := t.connect(ctx, box)
	if err != nil {
		return box.Fail(exports.Result{Target: t.Name(), Kind: "account", Name: "aws"}, err)
	}
	var errs []error
	if exports.Has(files, EvaluatorFile) {
		errs = append(errs, p.pushEvaluator(ctx, files))
	}
	errs = append(errs, p.pushDatasets(ctx, files))
	if exports.Has(files, SessionsFile) {
		errs = append(errs, p.pushSessions(ctx, files))
	}
	return errors.Join(errs...)
}

// Ready implements exports.Pusher.
func (t Target) Ready(ctx context.Context, dryRun bool) error {
	_, err := t.config(ctx, dryRun)
	return err
}

// config is how to reach the account. A dry run needs none: nothing is signed for anyone.
func (t Target) config(ctx context.Context, dryRun bool) (cfg aws.Config, err error) {
	switch {
	case t.Account != nil:
		if cfg, err = t.Account.Config(ctx); err != nil {
			return cfg, fmt.Errorf("connect to AWS: %w", err)
		}
	case !dryRun:
		return cfg, errors.New("connect to AWS: no account is configured")
	}
	if dryRun {
		cfg.Region, cfg.Credentials = cmp.Or(cfg.Region, "your-region"), credentials.NewStaticCredentialsProvider("dry-run", "dry-run", "")
	}
	if cfg.Region == "" {
		return cfg, errors.New("connect to AWS: no region: set AWS_REGION")
	}
	return cfg, nil
}

func (t Target) connect(ctx context.Context, box *exports.Outbox) (*pusher, error) {
	cfg, err := t.config(ctx, box.DryRun)
	if err != nil {
		return nil, err
	}
	if cfg.Credentials != nil {
		if _, err := cfg.Credentials.Retrieve(ctx); err != nil {
			return nil, fmt.Errorf("connect to AWS: no credentials: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run aws sso login: %w", err)
		}
	}
	p := &pusher{box: box}
	p.control = bedrockagentcorecontrol.NewFromConfig(cfg, func(o *bedrockagentcorecontrol.Options) {
		o.HTTPClient, o.Retryer = box.Client(controlRate, dryAnswer), aws.NopRetryer{}
	})
	p.logs = cloudwatchlogs.NewFromConfig(cfg, func(o *cloudwatchlogs.Options) {
		o.HTTPClient, o.Retryer = box.Client(logsRate, dryAnswer), aws.NopRetryer{}
	})
	p.objects = s3.NewFromConfig(cfg, func(o *s3.Options) {
		o.HTTPClient, o.Retryer, o.UsePathStyle = box.Client(controlRate, dryAnswer), aws.NopRetryer{}, o.BaseEndpoint != nil
	})
	account := "dry-run"
	if !box.DryRun {
		client := sts.NewFromConfig(cfg, func(o *sts.Options) { o.HTTPClient, o.Retryer = box.Client(controlRate, nil), aws.NopRetryer{} })
		err := p.call(ctx, func() error {
			out, err := client.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
			if err == nil {
				account = aws.ToString(out.Account)
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("ask for the account: %w", err)
		}
	}
	p.prefix = "agentcore/" + account + "/" + cfg.Region + "/"
	return p, nil
}

// call makes an idempotent call, again where what failed may pass.
func (p *pusher) call(ctx context.Context, f func() error) error {
	return p.box.Retry(ctx, func() error {
		err := f()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case classify(err) == permanent:
			return plain(err)
		}
		return &exports.Retryable{Err: plain(err)}
	})
}

// class is what may be done about an error.
type class int

const (
	permanent class = iota
	throttled       // refused, so not carried out
	uncertain       // carried out or not
)

func classify(err error) class {
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		return uncertain // no answer, or none that could be read
	}
	switch code := strings.ToLower(api.ErrorCode()); {
	case strings.Contains(code, "throttl") || strings.Contains(code, "toomanyrequests") || code == "slowdown" || status(err) == http.StatusTooManyRequests:
		return throttled
	case code == "internalserverexception" || code == "serviceunavailableexception" || code == "operationabortedexception" || status(err) >= 500:
		return uncertain
	}
	return permanent
}

func status(err error) int {
	if e, ok := errors.AsType[interface {
		error
		HTTPStatusCode() int
	}](err); ok {
		return e.HTTPStatusCode()
	}
	return 0
}

// plain is an SDK error in one line: the operation, the code and what the service says.
func plain(err error) error {
	op, isOp := errors.AsType[*smithy.OperationError](err)
	api, isAPI := errors.AsType[smithy.APIError](err)
	if isOp && isAPI {
		return &apiError{fmt.Sprintf("%s: %s: %s", op.OperationName, api.ErrorCode(), exports.Cut(api.ErrorMessage(), 300)), err}
	}
	return err
}

type apiError struct {
	text string
	err  error
}

func (e *apiError) Error() string { return e.text }
func (e *apiError) Unwrap() error { return e.err }

func isCode(err error, code string) bool {
	api, ok := errors.AsType[smithy.APIError](err)
	return ok && api.ErrorCode() == code
}

// readEvaluator reads the request of EvaluatorFile, and nothing that is not one.
func readEvaluator(files fs.FS) (*request, error) {
	data, err := fs.ReadFile(files, EvaluatorFile)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var r request
	if err := dec.Decode(&r); err != nil {
		return nil, fmt.Errorf("read %s: %w", EvaluatorFile, err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("read %s: more than one value", EvaluatorFile)
	}
	return &r, r.check()
}

// token is a client token: letters, digits and inner hyphens.
func token(kind string, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return kind + "-" + hex.EncodeToString(sum[:])
}

// dryAnswer answers as the services do when all is well and nothing is there yet.
func dryAnswer(r *http.Request, body []byte) (int, string) {
	const dataset = `{"datasetId":"dry_run-0000000000","status":"ACTIVE","draftStatus":"MODIFIED","createdAt":0,"updatedAt":0}`
	const evaluator = `{"evaluatorArn":"arn:aws:bedrock-agentcore:eu-central-1:000000000000:evaluator/dry_run-0000000000","evaluatorId":"dry_run-0000000000","createdAt":0,"updatedAt":0,"status":"ACTIVE"}`
	switch target := r.Header.Get("X-Amz-Target"); {
	case strings.HasSuffix(target, ".GetLogEvents"):
		return http.StatusOK, `{"events":[],"nextForwardToken":"f/0"}`
	case target != "":
		return http.StatusOK, `{}`
	case r.Method == http.MethodPut && r.URL.Query().Get("x-id") == "PutObject":
		return http.StatusOK, ""
	case strings.HasSuffix(r.URL.Path, "/examples"):
		return http.StatusOK, `{"examples":[]}`
	case strings.HasPrefix(r.URL.Path, "/datasets"):
		return http.StatusAccepted, dataset
	}
	return http.StatusAccepted, evaluator
}

func or(s *string, other string) string { return cmp.Or(aws.ToString(s), other) }
