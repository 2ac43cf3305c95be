package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/tracejury/tracejury/judge/model"
	"github.com/tracejury/tracejury/pipeline/store"
)

// BatchConfig is where and how the judge bedrock-batch orders its jobs.
type BatchConfig struct {
	URI         string  `yaml:"uri"`      // s3://bucket/prefix, for questions and answers
	RoleARN     string  `yaml:"role_arn"` // role that Bedrock takes to read and write there
	Region      string  `yaml:"region"`   // of bucket and jobs; "" as AWS is configured
	MinRecords  int     `yaml:"min_records"`
	Poll        string  `yaml:"poll"`         // between looks at a job
	PriceFactor float64 `yaml:"price_factor"` // of what a call costs online
}

// batchPrice is what Bedrock asks for batch inference, of the price online.
const batchPrice = 0.5

// modelOptions are what the configuration says about the clients of judges.
func (e *evaluateRun) modelOptions(ctx context.Context, spec string, s *seat) (model.Options, error) {
	c := &e.cfg.Evaluate
	opts := model.Options{Connections: c.Concurrency}
	var err error
	if opts.Table, s.fixed, err = e.ways(ctx, spec); err != nil {
		return opts, err
	}
	s.way, _ = model.CapabilityOf(spec, opts.Table)
	if !strings.HasPrefix(spec, "bedrock-batch:") {
		return opts, nil
	}
	b := &c.Batch
	opts.Region = b.Region
	opts.Batch = model.BatchOptions{RoleARN: b.RoleARN, MinRecords: b.MinRecords, Log: e.log}
	if opts.Batch.Poll, err = parseSpan(b.Poll); err != nil {
		return opts, usagef("evaluate.batch.poll: %w", err)
	}
	switch {
	case b.MinRecords < 0:
		return opts, usagef("evaluate.batch.min_records: %d: want at least 1", b.MinRecords)
	case b.PriceFactor < 0 || b.PriceFactor > 1:
		return opts, usagef("evaluate.batch.price_factor: %v: want more than 0 and at most 1", b.PriceFactor)
	case b.URI == "":
		return opts, nil // the judge says what is missing
	case !strings.HasPrefix(b.URI, "s3://"):
		return opts, usagef("evaluate.batch.uri: %q: want s3://bucket/prefix: Bedrock reads and writes nowhere else", b.URI)
	}
	if e.opts.DryRun {
		opts.Batch.Objects = batchObjects{} // nothing is written
		return opts, nil
	}
	st, err := e.cfg.openStore(ctx, b.URI, e.cfg.Store.options(b.Region, "", maxBatchObject, e.log))
	if err != nil {
		return opts, usagef("evaluate.batch.uri: %w", err)
	}
	opts.Batch.Objects = batchObjects{st}
	return opts, nil
}

// maxBatchObject bounds an output file: the questions of one input file come back with their answers.
const maxBatchObject = 512 << 20

// batchObjects is a store as batch jobs need it.
type batchObjects struct{ st store.Store }

var _ model.Objects = batchObjects{}

// URI implements [model.Objects].
func (o batchObjects) URI(key string) string { return o.st.URI() + "/" + key }

// Put implements [model.Objects].
func (o batchObjects) Put(ctx context.Context, key string, data []byte) error {
	_, err := o.st.Put(ctx, key, bytes.NewReader(data), store.PutOptions{})
	return err
}

// Get implements [model.Objects].
func (o batchObjects) Get(ctx context.Context, key string) ([]byte, error) {
	data, _, err := o.st.Get(ctx, key, "")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", model.ErrNoObject, err)
	}
	return data, err
}

// DeleteBelow implements [model.Objects].
func (o batchObjects) DeleteBelow(ctx context.Context, prefix string) error {
	return deletePrefix(ctx, o.st, prefix)
}

// completeJudges fills in the defaults of how judges are reached.
func (e *EvaluateConfig) completeJudges() {
	def(&e.Batch.MinRecords, model.MinBatch)
	def(&e.Batch.Poll, time.Minute.String())
	def(&e.Batch.PriceFactor, batchPrice)
}
