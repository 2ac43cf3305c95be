package model

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	control "github.com/aws/aws-sdk-go-v2/service/bedrock"
	"github.com/aws/aws-sdk-go-v2/service/bedrock/types"

	"github.com/tracejury/tracejury/judge"
)

// Objects is the little of object storage that batch jobs need.
type Objects interface {
	Put(ctx context.Context, key string, data []byte) error
	Get(ctx context.Context, key string) ([]byte, error) // error wraps ErrNoObject where there is none
	Delete(ctx context.Context, key string) error
	URI(key string) string // as the service is told
}

// ErrNoObject says that an object is not there.
var ErrNoObject = errors.New("no such object")

// BatchOptions tunes bedrock-batch. Bucket and role have no default.
type BatchOptions struct {
	URI        string        // s3://bucket/prefix for input and output; "" TRACEJURY_BATCH_URI
	RoleARN    string        // role that the service takes to read and write there; "" TRACEJURY_BATCH_ROLE_ARN
	MinRecords int           // fewer are asked online; 0 means 100, the service's usual least
	Poll       time.Duration // between looks at the job; 0 means 1 minute
	Objects    Objects       // nil: S3 at URI
}

// Batcher is a judge that can be given many questions at once, before they are asked one by one.
type Batcher interface {
	judge.Judge
	// Prepare has the questions answered in a batch job and returns when the job has ended; ctx ends the wait, not the job. Called
	// again with the same questions, also by another process, it goes on with the same job.
	Prepare(ctx context.Context, questions iter.Seq2[*judge.Request, error]) error
	// Clean deletes what was written to object storage.
	Clean(ctx context.Context) error
}

// batch is a Bedrock judge whose questions may have been answered by a batch job. What has no answer from one is asked online: records
// that failed, repairs, and all of them when they are too few for a job.
type batch struct {
	*bedrock
	jobs    *control.Client
	opts    BatchOptions
	objects Objects

	mu      sync.Mutex
	answers map[string]judge.Reply // by QuestionSHA256
	wrote   []string               // keys
}

var _ Batcher = (*batch)(nil)

func openBatch(ctx context.Context, id string, opts Options) (judge.Judge, error) {
	fail := func(err error) (judge.Judge, error) { return nil, fmt.Errorf("judge bedrock-batch:%s: %w", id, err) }
	b, cfg, err := newBedrock(ctx, id, opts)
	if err != nil {
		return fail(err)
	}
	if b.cap.Mode != ModeNativeSchema {
		return fail(fmt.Errorf("batch jobs take no tools, and the model is not known to take the mode %s: list it in the capability table, or use bedrock:%s", ModeNativeSchema, id))
	}
	o := opts.Batch
	o.URI = cmp.Or(o.URI, os.Getenv("TRACEJURY_BATCH_URI"))
	o.RoleARN = cmp.Or(o.RoleARN, os.Getenv("TRACEJURY_BATCH_ROLE_ARN"))
	o.MinRecords, o.Poll = cmp.Or(o.MinRecords, 100), cmp.Or(o.Poll, time.Minute)
	if o.RoleARN == "" || o.Objects == nil && o.URI == "" {
		return fail(errors.New("set TRACEJURY_BATCH_URI (s3://bucket/prefix) and TRACEJURY_BATCH_ROLE_ARN"))
	}
	if o.Objects == nil {
		if o.Objects, err = openS3(cfg, o.URI); err != nil {
			return fail(err)
		}
	}
	jobs := control.NewFromConfig(cfg, func(c *control.Options) { c.Retryer = retry.NewStandard() }) // few calls, over hours
	return &batch{bedrock: b, jobs: jobs, opts: o, objects: o.Objects, answers: map[string]judge.Reply{}}, nil
}

// Judge takes the answer of the batch job, or asks online.
func (b *batch) Judge(ctx context.Context, req *judge.Request) (judge.Reply, error) {
	if err := ctx.Err(); err != nil {
		return judge.Reply{}, &judge.CallError{Class: judge.ClassUnknown, Err: err}
	}
	key := QuestionSHA256(req)
	b.mu.Lock()
	r, ok := b.answers[key]
	delete(b.answers, key)
	b.mu.Unlock()
	if !ok {
		return b.bedrock.Judge(ctx, req)
	}
	if err := stopError(&r); err != nil {
		return judge.Reply{}, err
	}
	return r, nil
}

// batchState is what the next process needs to go on with a job.
type batchState struct {
	JobARN string   `json:"job_arn"`
	Inputs []string `json:"inputs"` // keys
}

type batchRecord struct {
	ID    string          `json:"recordId"`
	Input json.RawMessage `json:"modelInput"`
}

// maxInput closes an input file: far below the service's limit, and small enough to be held in memory.
const maxInput = 64 << 20

// Prepare implements [Batcher].
func (b *batch) Prepare(ctx context.Context, questions iter.Seq2[*judge.Request, error]) error {
	ids := map[string]bool{}
	var files [][]byte
	var file bytes.Buffer
	sum := sha256.New()
	for q, err := range questions {
		if err != nil {
			return err
		}
		id := QuestionSHA256(q)
		if ids[id] {
			continue
		}
		ids[id] = true
		fmt.Fprintln(sum, id)
		input, err := b.converseJSON(q)
		if err != nil {
			return fmt.Errorf("batch record of %s: %w", q.Subject, err)
		}
		line, err := json.Marshal(batchRecord{ID: id, Input: input})
		if err != nil {
			return fmt.Errorf("batch record of %s: %w", q.Subject, err)
		}
		if file.Len() > 0 && file.Len()+len(line) > maxInput {
			files = append(files, bytes.Clone(file.Bytes()))
			file.Reset()
		}
		file.Write(line)
		file.WriteByte('\n')
	}
	if len(ids) < b.opts.MinRecords {
		return nil // all are asked online
	}
	files = append(files, file.Bytes())
	fmt.Fprintln(sum, b.identity)
	name := "tracejury-" + hex.EncodeToString(sum.Sum(nil))[:24]
	state, err := b.submit(ctx, name, files)
	if err != nil {
		return fmt.Errorf("batch job %s: %w", name, err)
	}
	if err := b.wait(ctx, state.JobARN); err != nil {
		return fmt.Errorf("batch job %s: %w", name, err)
	}
	for _, in := range state.Inputs {
		if err := b.collect(ctx, name, state.JobARN, in); err != nil {
			return fmt.Errorf("batch job %s: %w", name, err)
		}
	}
	return nil
}

// submit starts the job, or finds it where an earlier process did.
func (b *batch) submit(ctx context.Context, name string, files [][]byte) (*batchState, error) {
	stateKey := name + "/state.json"
	b.note(stateKey)
	data, err := b.objects.Get(ctx, stateKey)
	state := new(batchState)
	if err == nil {
		err = json.Unmarshal(data, state)
		b.note(state.Inputs...)
		return state, err
	}
	if !errors.Is(err, ErrNoObject) {
		return nil, err
	}
	for i, f := range files {
		key := fmt.Sprintf("%s/in/records-%04d.jsonl", name, i)
		b.note(key)
		if err := b.objects.Put(ctx, key, f); err != nil {
			return nil, fmt.Errorf("write input: %w", err)
		}
		state.Inputs = append(state.Inputs, key)
	}
	out, err := b.jobs.CreateModelInvocationJob(ctx, &control.CreateModelInvocationJobInput{
		JobName: aws.String(name), ModelId: aws.String(b.id), RoleArn: aws.String(b.opts.RoleARN), ModelInvocationType: types.ModelInvocationTypeConverse,
		ClientRequestToken: aws.String(name), // a second submission is the first one's job
		InputDataConfig: &types.ModelInvocationJobInputDataConfigMemberS3InputDataConfig{Value: types.ModelInvocationJobS3InputDataConfig{
			S3Uri: aws.String(b.objects.URI(name + "/in/")), S3InputFormat: types.S3InputFormatJsonl}},
		OutputDataConfig: &types.ModelInvocationJobOutputDataConfigMemberS3OutputDataConfig{Value: types.ModelInvocationJobS3OutputDataConfig{
			S3Uri: aws.String(b.objects.URI(name + "/out/"))}},
	})
	if err != nil {
		return nil, bedrockError(err)
	}
	state.JobARN = aws.ToString(out.JobArn)
	if data, err = json.Marshal(state); err != nil {
		return nil, err
	}
	return state, b.objects.Put(ctx, stateKey, data)
}

// wait returns when the job has ended. A job that failed as a whole is no error: what it did not answer is asked online.
func (b *batch) wait(ctx context.Context, arn string) error {
	for {
		out, err := b.jobs.GetModelInvocationJob(ctx, &control.GetModelInvocationJobInput{JobIdentifier: aws.String(arn)})
		if err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return bedrockError(err)
		}
		switch out.Status {
		case types.ModelInvocationJobStatusCompleted, types.ModelInvocationJobStatusPartiallyCompleted, types.ModelInvocationJobStatusFailed,
			types.ModelInvocationJobStatusStopped, types.ModelInvocationJobStatusExpired:
			return nil
		}
		if err := (realClock{}).Sleep(ctx, b.opts.Poll); err != nil {
			return err
		}
	}
}

// collect reads one output file and joins it to the questions by record id; their order means nothing.
func (b *batch) collect(ctx context.Context, name, arn, input string) error {
	key := fmt.Sprintf("%s/out/%s/%s.out", name, arn[strings.LastIndexByte(arn, '/')+1:], input[strings.LastIndexByte(input, '/')+1:])
	b.note(key)
	data, err := b.objects.Get(ctx, key)
	if errors.Is(err, ErrNoObject) {
		return nil // the job failed before it wrote: all of it is asked online
	}
	if err != nil {
		return fmt.Errorf("read output: %w", err)
	}
	in := bufio.NewScanner(bytes.NewReader(data))
	in.Buffer(nil, 2*maxBody)
	for in.Scan() {
		var rec struct {
			ID     string          `json:"recordId"`
			Output *converseOutput `json:"modelOutput"`
		}
		if json.Unmarshal(in.Bytes(), &rec) != nil || rec.Output == nil || rec.ID == "" {
			continue // an error record, or damage: asked online
		}
		b.mu.Lock()
		b.answers[rec.ID] = rec.Output.reply()
		b.mu.Unlock()
	}
	if err := in.Err(); err != nil {
		return fmt.Errorf("read output: %w", err)
	}
	return nil
}

func (b *batch) note(keys ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wrote = append(b.wrote, keys...)
}

// Clean implements [Batcher].
func (b *batch) Clean(ctx context.Context) error {
	b.mu.Lock()
	keys := b.wrote
	b.wrote = nil
	b.mu.Unlock()
	var errs []error
	for _, k := range keys {
		if err := b.objects.Delete(ctx, k); err != nil && !errors.Is(err, ErrNoObject) {
			errs = append(errs, fmt.Errorf("delete batch file %s: %w", k, err))
		}
	}
	return errors.Join(errs...)
}
