package integration

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/tracejury/tracejury/judge/judgetest"
)

// TestSharedCache: a second machine pays nothing for what the first was told; damage in the cache is a miss; a cache that is gone
// stops nobody; and neither prompts nor secrets lie there.
func TestSharedCache(t *testing.T) {
	endpoint, access, secret := startS3(t)
	s3Env(t, endpoint, access, secret)
	client := s3Client(t, closeIdle(t))
	bucket := "cache"
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket}); err != nil {
		t.Fatal(err)
	}
	base := newWorld(t)
	base.ingest()
	judge := base.withBedrock(judgetest.Options{Script: leakyJudge})
	var worlds []*world
	for _, name := range []string{"first", "second", "third", "fourth"} {
		w := base.with(name)
		copyLake(t, base.data, w.data)
		worlds = append(worlds, w)
	}
	configure := func(bucket string) {
		base.configure(`store: {endpoint: "` + endpoint + `", path_style: true}
evaluate: {cache: "s3://` + bucket + `/judge"}`)
	}
	configure(bucket)
	first := worlds[0].evaluate(nil)
	asked := judge.Calls()
	objects := batchBucket{t, client, bucket}
	keys := objects.Keys()
	if first.Calls != asked || len(keys) == 0 || len(keys) > asked {
		t.Fatalf("%+v, %d calls, %d objects", first, asked, len(keys))
	}
	for _, k := range keys {
		data, err := objects.Get(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		if text := string(data); strings.Contains(text, fakeKey) || strings.Contains(text, "<<DATA") || strings.Contains(text, "You grade") || len(text) > 8<<10 {
			t.Errorf("%s holds what it must not: %.300s", k, text)
		}
	}

	o := worlds[1].run(nil, "evaluate", "--sample", "50")
	second := summaryOf[evaluateSummary](t, o)
	if judge.Calls() != asked || second.Calls != 0 || second.RunID != first.RunID || second.FromCache != asked || !strings.Contains(o.stdout, "from the shared cache") {
		t.Errorf("the second machine: %+v, %d calls more\n%s", second, judge.Calls()-asked, o.stdout)
	}
	same(t, "asked and cached", hashes(t, worlds[0].data), hashes(t, worlds[1].data), "verdicts", "grades", "explanations")

	for i, damage := range []func([]byte) []byte{
		func(b []byte) []byte { return b[:len(b)/2] },
		func([]byte) []byte { return nil },
		func(b []byte) []byte { return []byte(strings.Replace(string(b), `\"met\"`, `\"not_met\"`, 1)) },
	} {
		data, err := objects.Get(t.Context(), keys[i])
		if err != nil {
			t.Fatal(err)
		}
		if err := objects.Put(t.Context(), keys[i], damage(data)); err != nil {
			t.Fatal(err)
		}
	}
	o = worlds[2].run(nil, "evaluate", "--sample", "50")
	if again := judge.Calls() - asked; again != 3 || !strings.Contains(o.stderr, "the shared cache of replies fails") {
		t.Errorf("three damaged objects: %d calls\n%s", again, o.stderr)
	}
	same(t, "asked and damaged", hashes(t, worlds[0].data), hashes(t, worlds[2].data), "verdicts", "grades", "explanations")

	configure("no-such-bucket")
	before := judge.Calls()
	gone := worlds[3].evaluate(nil)
	if gone.State != first.State || judge.Calls()-before != asked {
		t.Errorf("without its bucket: %+v", gone)
	}
	base.configure(`evaluate: {cache: "` + worlds[3].data + `/cache"}`)
	if o := worlds[3].run([]int{exitUsage}, "evaluate", "--sample", "50"); !strings.Contains(o.errorLine(), "below --data") {
		t.Errorf("a cache among the tables: %s", o.stderr)
	}
}
