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
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	control "github.com/aws/aws-sdk-go-v2/service/bedrock"
	"github.com/aws/aws-sdk-go-v2/service/bedrock/types"

	"github.com/tracejury/tracejury/judge"
)

// Objects is the little of object storage that batch jobs need: a place below which the keys lie.
type Objects interface {
	Put(ctx context.Context, key string, data []byte) error
	Get(ctx context.Context, key string) ([]byte, error)  // error wraps ErrNoObject where there is none
	DeleteBelow(ctx context.Context, prefix string) error // all objects whose key begins so
	URI(key string) string                                // as the service is told
}

// ErrNoObject says that an object is not there.
var ErrNoObject = errors.New("no such object")

// BatchOptions tunes bedrock-batch. Objects and RoleARN have no default.
type BatchOptions struct {
	Objects    Objects       // where the service reads questions and writes answers
	RoleARN    string        // role that the service takes to read and write there
	MinRecords int           // fewer are asked online; 0 means [MinBatch]
	Poll       time.Duration // between looks at the job; 0 means 1 minute
	Log        *slog.Logger  // told of every change of a job's state; nil: nobody is
}

// MinBatch is the fewest questions that a job of Bedrock takes, of most models.
const MinBatch = 100

// Batcher is a judge that can be given many questions at once, before they are asked one by one.
type Batcher interface {
	judge.Judge
	// Prepare has the questions answered in a batch job and returns when the job has ended; ctx ends the wait, not the job. run names
	// the job: called again for the same run, also by another process, it goes on with the jobs of that run and orders none for a
	// question that one of them holds.
	Prepare(ctx context.Context, run string, questions iter.Seq2[*judge.Request, error]) (Prepared, error)
	// Answered is what a job answered a question, as an attempt that was made; false where no job did.
	Answered(req *judge.Request) (Attempt, bool)
	// Clean deletes what was written to object storage for the run.
	Clean(ctx context.Context, run string) error
}

// Prepared tells what came of questions.
type Prepared struct {
	Questions int // distinct ones
	Ordered   int // in jobs of this run, those of earlier processes included
	Answered  int // of them
}

// batch is a Bedrock judge whose questions may have been answered by a batch job. What has no answer from one is asked online: records
// that failed, repairs, and all of them when they are too few for a job.
type batch struct {
	*bedrock
	jobs *control.Client
	opts BatchOptions

	mu      sync.Mutex
	answers map[string]judge.Reply // by QuestionSHA256
	charged map[string]bool        // of them: what was paid for is told
}

var _ Batcher = (*batch)(nil)

func openBatch(ctx context.Context, id string, opts Options) (judge.Judge, error) {
	fail := func(err error) (judge.Judge, error) { return nil, fmt.Errorf("judge bedrock-batch:%s: %w", id, err) }
	o := opts.Batch
	if o.RoleARN == "" || o.Objects == nil {
		return fail(errors.New("a batch job needs a place and a role: set evaluate.batch.uri (s3://bucket/prefix) and evaluate.batch.role_arn in the configuration"))
	}
	b, cfg, err := newBedrock(ctx, id, opts)
	if err != nil {
		return fail(err)
	}
	if b.cap.Mode != ModeNativeSchema {
		return fail(fmt.Errorf("batch jobs take no tools, and the model is not known to take the mode %s: list it in evaluate.models, or use bedrock:%s", ModeNativeSchema, id))
	}
	o.MinRecords, o.Poll = cmp.Or(o.MinRecords, MinBatch), cmp.Or(o.Poll, time.Minute)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	jobs := control.NewFromConfig(cfg, func(c *control.Options) { c.Retryer = retry.NewStandard() }) // few calls, over hours
	return &batch{bedrock: b, jobs: jobs, opts: o, answers: map[string]judge.Reply{}, charged: map[string]bool{}}, nil
}

// Answered implements [Batcher].
func (b *batch) Answered(req *judge.Request) (Attempt, bool) {
	id := QuestionSHA256(req)
	b.mu.Lock()
	r, ok := b.answers[id]
	if b.charged[id] { // two subjects that are one question: it was paid for once
		r.Usage = judge.Usage{}
	} else if ok {
		b.charged[id] = true
	}
	b.mu.Unlock()
	if !ok {
		return Attempt{}, false
	}
	a := Attempt{Number: 1, Reply: r, Usage: r.Usage, StopReason: r.StopReason, Batch: true}
	if err := stopError(&r); err != nil {
		a.Reply, a.Err, a.Class = judge.Reply{}, err, err.Class
	}
	return a, true
}

// batchState is what the next process needs to go on with the jobs of a run.
type batchState struct {
	Jobs []*batchJob `json:"jobs"`
}

// batchJob is written before the job is ordered: a process that dies in between leaves what is needed to order the same one.
type batchJob struct {
	Name      string   `json:"name"` // and client token: a second order is the first one's job
	ARN       string   `json:"arn"`  // "" until it is known
	Inputs    []string `json:"inputs"`
	Questions []string `json:"questions"` // QuestionSHA256, ascending
}

type batchRecord struct {
	ID    string          `json:"recordId"`
	Input json.RawMessage `json:"modelInput"`
}

// maxInput closes an input file: far below the service's limit, and small enough to be held in memory.
const maxInput = 64 << 20

// folderOf is where all of a run lies.
func folderOf(run string) string { return "tracejury-" + run + "/" }

// Prepare implements [Batcher].
func (b *batch) Prepare(ctx context.Context, run string, questions iter.Seq2[*judge.Request, error]) (Prepared, error) {
	var sum Prepared
	state, err := b.load(ctx, run)
	if err != nil {
		return sum, fmt.Errorf("batch jobs of run %s: %w", run, err)
	}
	ordered := map[string]bool{}
	for _, j := range state.Jobs {
		for _, id := range j.Questions {
			ordered[id] = true
		}
	}
	job, err := b.write(ctx, run, len(state.Jobs), ordered, questions, &sum)
	if err != nil {
		return sum, err
	}
	if job != nil {
		state.Jobs = append(state.Jobs, job)
		if err := b.save(ctx, run, state); err != nil {
			return sum, err
		}
	}
	for _, j := range state.Jobs {
		sum.Ordered += len(j.Questions)
		if err := b.finish(ctx, run, state, j); err != nil {
			return sum, fmt.Errorf("batch job %s: %w", cmp.Or(j.ARN, j.Name), err)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	sum.Answered = len(b.answers)
	return sum, nil
}

// write puts the questions that no job holds into input files. There is no job where they are too few.
func (b *batch) write(ctx context.Context, run string, nth int, ordered map[string]bool, questions iter.Seq2[*judge.Request, error], sum *Prepared) (*batchJob, error) {
	seen := map[string]bool{}
	job := new(batchJob)
	var file bytes.Buffer
	flush := func() error {
		key := fmt.Sprintf("%sjob-%d/in/records-%04d.jsonl", folderOf(run), nth, len(job.Inputs))
		job.Inputs = append(job.Inputs, key)
		if err := b.opts.Objects.Put(ctx, key, file.Bytes()); err != nil {
			return fmt.Errorf("write batch input: %w", err)
		}
		file.Reset()
		return nil
	}
	for q, err := range questions {
		if err != nil {
			return nil, err
		}
		id := QuestionSHA256(q)
		if seen[id] {
			continue
		}
		seen[id] = true
		sum.Questions++
		if ordered[id] {
			continue
		}
		job.Questions = append(job.Questions, id)
		line, err := b.line(id, q)
		if err != nil {
			return nil, fmt.Errorf("batch record of %s: %w", q.Subject, err)
		}
		if file.Len() > 0 && file.Len()+len(line) > maxInput {
			if err := flush(); err != nil {
				return nil, err
			}
		}
		file.Write(line)
	}
	if len(job.Questions) < b.opts.MinRecords {
		return nil, nil // they are asked online
	}
	if err := flush(); err != nil {
		return nil, err
	}
	slices.Sort(job.Questions)
	hash := sha256.New()
	fmt.Fprintln(hash, run, nth, b.identity, job.Questions)
	job.Name = "tracejury-" + hex.EncodeToString(hash.Sum(nil))[:24]
	return job, nil
}

func (b *batch) line(id string, q *judge.Request) ([]byte, error) {
	input, err := b.converseJSON(q)
	if err != nil {
		return nil, err
	}
	line, err := json.Marshal(batchRecord{ID: id, Input: input})
	return append(line, '\n'), err
}

func stateKey(run string) string { return folderOf(run) + "state.json" }

func (b *batch) load(ctx context.Context, run string) (*batchState, error) {
	state := new(batchState)
	data, err := b.opts.Objects.Get(ctx, stateKey(run))
	switch {
	case errors.Is(err, ErrNoObject):
		return state, nil
	case err != nil:
		return nil, err
	}
	err = json.Unmarshal(data, state)
	if err == nil && slices.ContainsFunc(state.Jobs, func(j *batchJob) bool { return j == nil || len(j.Inputs) == 0 || j.Name == "" }) {
		err = errors.New("a job without name or input")
	}
	if err != nil {
		return nil, fmt.Errorf("%s is damaged: %w: delete it to order anew", b.opts.Objects.URI(stateKey(run)), err)
	}
	return state, nil
}

func (b *batch) save(ctx context.Context, run string, state *batchState) error {
	data, err := json.Marshal(state)
	if err == nil {
		err = b.opts.Objects.Put(ctx, stateKey(run), data)
	}
	if err != nil {
		return fmt.Errorf("write state of batch jobs: %w", err)
	}
	return nil
}

// finish orders a job unless it is, waits for its end and reads what it answered.
func (b *batch) finish(ctx context.Context, run string, state *batchState, j *batchJob) error {
	folder := strings.TrimSuffix(j.Inputs[0], "in/records-0000.jsonl")
	if j.ARN == "" {
		if err := b.order(ctx, j, folder); err != nil {
			return err
		}
		if err := b.save(ctx, run, state); err != nil {
			return err
		}
		b.opts.Log.Info("batch job ordered", "job", j.ARN, "questions", len(j.Questions))
	} else {
		b.opts.Log.Info("going on with the batch job of an earlier command", "job", j.ARN, "questions", len(j.Questions))
	}
	if err := b.wait(ctx, j.ARN); err != nil {
		return err
	}
	for _, in := range j.Inputs {
		if err := b.collect(ctx, folder, j.ARN, in); err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) order(ctx context.Context, j *batchJob, folder string) error {
	out, err := b.jobs.CreateModelInvocationJob(ctx, &control.CreateModelInvocationJobInput{
		JobName: aws.String(j.Name), ModelId: aws.String(b.id), RoleArn: aws.String(b.opts.RoleARN), ModelInvocationType: types.ModelInvocationTypeConverse,
		ClientRequestToken: aws.String(j.Name),
		InputDataConfig: &types.ModelInvocationJobInputDataConfigMemberS3InputDataConfig{Value: types.ModelInvocationJobS3InputDataConfig{
			S3Uri: aws.String(b.opts.Objects.URI(folder + "in/")), S3InputFormat: types.S3InputFormatJsonl}},
		OutputDataConfig: &types.ModelInvocationJobOutputDataConfigMemberS3OutputDataConfig{Value: types.ModelInvocationJobS3OutputDataConfig{
			S3Uri: aws.String(b.opts.Objects.URI(folder + "out/"))}},
	})
	if err != nil {
		return orderError(err)
	}
	j.ARN = aws.ToString(out.JobArn)
	return nil
}

// orderError says what to mend where the service takes no order.
func orderError(err error) error {
	ce := bedrockError(err)
	if ce.Class == judge.ClassInvalid && ce.Hint == "" {
		ce.Hint = "check evaluate.batch in the configuration: that Bedrock may take the role, that the role may read and write the place, and how many records a job of this model takes"
	}
	return ce
}

// maxBlindLooks is how many looks at a job may fail in a row.
const maxBlindLooks = 30

// wait returns when the job has ended. A job that failed as a whole is no error: what it did not answer is asked online.
func (b *batch) wait(ctx context.Context, arn string) error {
	var last types.ModelInvocationJobStatus
	for failed := 0; ; {
		out, err := b.jobs.GetModelInvocationJob(ctx, &control.GetModelInvocationJobInput{JobIdentifier: aws.String(arn)})
		_, gone := errors.AsType[*types.ResourceNotFoundException](err)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case gone:
			b.opts.Log.Warn("the batch job is no longer there; what it did not write is asked online", "job", arn)
			return nil
		case err != nil: // hours of waiting outlive a service that is away for minutes
			ce := bedrockError(err)
			if failed++; !ce.Class.Retryable() || failed > maxBlindLooks {
				return ce
			}
			b.opts.Log.Warn("a look at the batch job failed", "job", arn, "err", err)
			out = &control.GetModelInvocationJobOutput{Status: last}
		default:
			failed = 0
		}
		if out.Status != last {
			last = out.Status
			b.opts.Log.Info("batch job", "job", arn, "status", last, "message", aws.ToString(out.Message))
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
func (b *batch) collect(ctx context.Context, folder, arn, input string) error {
	key := fmt.Sprintf("%sout/%s/%s.out", folder, arn[strings.LastIndexByte(arn, '/')+1:], input[strings.LastIndexByte(input, '/')+1:])
	data, err := b.opts.Objects.Get(ctx, key)
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

// Clean implements [Batcher].
func (b *batch) Clean(ctx context.Context, run string) error {
	return b.opts.Objects.DeleteBelow(ctx, folderOf(run))
}
