package integration

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/tracejury/tracejury/judge/judgetest"
)

// batchBucket is the bucket of batch jobs as the service reaches it.
type batchBucket struct {
	t      testing.TB
	client *s3.Client
	bucket string
}

// URI implements judgetest.Objects.
func (b batchBucket) URI(key string) string { return "s3://" + b.bucket + "/" + key }

// Put implements judgetest.Objects.
func (b batchBucket) Put(ctx context.Context, key string, data []byte) error {
	_, err := b.client.PutObject(ctx, &s3.PutObjectInput{Bucket: &b.bucket, Key: &key, Body: bytes.NewReader(data)})
	return err
}

// Get implements judgetest.Objects.
func (b batchBucket) Get(ctx context.Context, key string) ([]byte, error) {
	out, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.bucket, Key: &key})
	if err != nil {
		return nil, err
	}
	defer out.Body.Close()
	return io.ReadAll(out.Body)
}

// Keys implements judgetest.Objects.
func (b batchBucket) Keys() []string {
	var keys []string
	for k := range etags(b.t, b.client, b.bucket) {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// TestBatchJudge: a run by a batch job over S3, told of by the configuration alone, killed and interrupted while the job runs, ends in the tables
// of the run online, with one order, and leaves nothing in the bucket.
func TestBatchJudge(t *testing.T) {
	endpoint, access, secret := startS3(t)
	s3Env(t, endpoint, access, secret)
	client := s3Client(t, closeIdle(t))
	bucket := "batch"
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket}); err != nil {
		t.Fatal(err)
	}
	online := newWorld(t)
	online.ingest()
	w := online.with("batch")
	copyLake(t, online.data, w.data)
	online.withBedrock(judgetest.Options{Script: leakyJudge})
	want := online.evaluate(nil)
	online.run(nil, "aggregate")

	service := w.withBedrock(judgetest.Options{Seed: "3", Script: leakyJudge, Looks: 14, Faults: judgetest.Faults{Unavailable: 0.2}, Objects: batchBucket{t, client, bucket}})
	w.judge = strings.Replace(bedrockJudge, "bedrock:", "bedrock-batch:", 1)
	w.setenv("AWS_ENDPOINT_URL_BEDROCK", service.URL)
	if o := w.run([]int{exitUsage}, "evaluate", "--sample", "50"); !strings.Contains(o.errorLine(), "evaluate.batch.uri") || !strings.Contains(o.errorLine(), "evaluate.batch.role_arn") {
		t.Errorf("without a place and a role: %s", o.stderr)
	}
	w.configure(`store: {endpoint: "` + endpoint + `", path_style: true}
evaluate:
  prices: [{model: "eu.anthropic.claude-haiku-4-5-20251001-v1:0", since: 2025-10-01, input: 1, output: 5}]
  batch: {uri: "s3://batch/jobs", role_arn: "arn:aws:iam::123456789012:role/judge", region: us-east-1, min_records: 10, poll: 100ms}`)
	dry := w.run(nil, "evaluate", "--sample", "50", "--dry-run")
	if !strings.Contains(dry.stdout, "in a batch job, at 0.5 of the price") || !strings.Contains(dry.stdout, "about $") {
		t.Errorf("dry run:\n%s", dry.stdout)
	}
	few := w.run(nil, "evaluate", "--sample", "5", "--dry-run")
	if !strings.Contains(few.stdout, "fewer than the 10") {
		t.Errorf("dry run of few:\n%s", few.stdout)
	}

	looks := func() (n int) {
		for _, l := range service.Jobs() {
			n += l
		}
		return n
	}
	for i, end := range []os.Signal{os.Kill, os.Interrupt} {
		r := w.start("evaluate", "--sample", "50")
		for deadline := time.Now().Add(30 * time.Second); looks() < 4*(i+1) && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
		if err := r.cmd.Process.Signal(end); err != nil {
			t.Fatal(err)
		}
		o := r.wait()
		if end == os.Interrupt && (o.code != exitPartial || !strings.Contains(o.stderr, "run the same command again to take its answers")) {
			t.Errorf("interrupted: exit %d\n%s", o.code, o.stderr)
		}
	}
	if service.Batched() > 0 || len(service.Jobs()) != 1 {
		t.Errorf("%d records answered before the end, jobs %v", service.Batched(), service.Jobs())
	}
	o := w.run(nil, "evaluate", "--sample", "50")
	got := summaryOf[evaluateSummary](t, o)
	t.Logf("%s%s%d records, %d of them failed, %d calls online", dry.stdout, o.stdout, service.Batched(), service.BatchFailed(), service.Calls())
	if got.RunID != want.RunID || got.State != "finished" || got.Graded != want.Graded || got.FromBatch != service.Batched()-service.BatchFailed() {
		t.Errorf("%+v, want %+v", got, want)
	}
	if len(service.Jobs()) != 1 || service.BatchFailed() == 0 || service.Calls() == 0 || service.Calls() > 3*service.BatchFailed()+want.Calls-want.Graded {
		t.Errorf("jobs %v, %d records failed, %d calls online", service.Jobs(), service.BatchFailed(), service.Calls())
	}
	if left := (batchBucket{t, client, bucket}).Keys(); len(left) > 0 {
		t.Errorf("left in the bucket: %v", left)
	}
	if service.Saw(fakeKey) {
		t.Error("a credential reached the service")
	}
	w.run(nil, "aggregate")
	// What was masked in the run differs in nothing, and what it cost is told in calls alone.
	same(t, "online and batch", hashes(t, online.data), hashes(t, w.data), slices.DeleteFunc(slices.Clone(byteIdentical), func(table string) bool { return table == "runs" })...)
	if left, err := filepath.Glob(filepath.Join(w.data, "_work", "*", "*")); err != nil || len(left) > 0 {
		t.Errorf("left below _work: %v, %v", left, err)
	}
}

// TestBatchJudgeAndCache: what the shared cache knows goes into no batch job, and every answer is counted once: as one of the cache, of the
// job, of a call or of the ledger.
func TestBatchJudgeAndCache(t *testing.T) {
	endpoint, access, secret := startS3(t)
	s3Env(t, endpoint, access, secret)
	client := s3Client(t, closeIdle(t))
	bucket := "batch"
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket}); err != nil {
		t.Fatal(err)
	}
	online := newWorld(t)
	online.ingest()
	w := online.with("batch")
	copyLake(t, online.data, w.data)
	settings := `store: {endpoint: "` + endpoint + `", path_style: true}
evaluate:
  cache: s3://batch/cache
  batch: {uri: "s3://batch/jobs", role_arn: "arn:aws:iam::123456789012:role/judge", region: us-east-1, min_records: 10, poll: 10ms}`
	online.configure(settings)
	w.configure(settings)
	server := online.withBedrock(judgetest.Options{})
	online.run(nil, "evaluate", "--sample", "10")
	asked := server.Answered()

	service := w.withBedrock(judgetest.Options{Seed: "3", Faults: judgetest.Faults{Unavailable: 0.2}, Objects: batchBucket{t, client, bucket}})
	w.setenv("AWS_ENDPOINT_URL_BEDROCK", service.URL)
	w.judge = strings.Replace(bedrockJudge, "bedrock:", "bedrock-batch:", 1)
	o := w.run(nil, "evaluate", "--sample", "35")
	got := summaryOf[evaluateSummary](t, o)
	fromJob := service.Batched() - service.BatchFailed()
	t.Logf("%+v; %d records, %d failed, %d calls online", got, service.Batched(), service.BatchFailed(), service.Calls())
	if got.FromCache != asked || got.FromLedger != 0 || got.FromBatch != fromJob || got.Calls != fromJob+service.Calls() || service.Batched()+asked < got.Sampled {
		t.Errorf("%+v; %d in the cache, %d records, %d failed, %d calls online", got, asked, service.Batched(), service.BatchFailed(), service.Calls())
	}
	if got.Graded+got.Ungraded+got.NotAttempted != got.Sampled {
		t.Errorf("%+v: subjects are lost", got)
	}
}
