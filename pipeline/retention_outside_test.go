package pipeline_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tracejury/tracejury/judge/judgetest"
	"github.com/tracejury/tracejury/pipeline"
	"github.com/tracejury/tracejury/schema"
)

// filesWith are the files below dir that hold text, or all of them for "".
func filesWith(t *testing.T, dir, text string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Contains(path, ".tracejury") {
			return err
		}
		raw, err := os.ReadFile(path)
		if bytes.Contains(raw, []byte(text)) {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// outsideConfig has all places outside of --data at which an evaluation leaves content.
func outsideConfig(t *testing.T, data string) (*pipeline.Config, string, string) {
	cfg := evaluateConfig(t, data)
	cfg.Evaluate.Cache, cfg.Evaluate.Batch.URI = t.TempDir(), t.TempDir()
	return cfg, cfg.Evaluate.Cache, cfg.Evaluate.Batch.URI
}

// What an evaluation leaves outside of --data expires as content does: files of batch jobs, replies in the shared cache, logs of runs that
// did not end; and only what is of this data root.
func TestRetentionOutsideOfData(t *testing.T) {
	data := demoLake(t)
	bedrock(t, judgetest.Options{Script: func(c judgetest.Call) judgetest.Answer { return validAnswer(t, c) }})
	cfg, cache, batch := outsideConfig(t, data)
	cfg.Evaluate.BudgetCalls = 4
	sum, err := pipeline.Evaluate(t.Context(), cfg, pipeline.EvaluateOptions{}, quiet())
	wantExit(t, err, pipeline.ExitPartial)
	logs := func() int {
		names, err := filepath.Glob(filepath.Join(cfg.StateDir, "ledger", "*", "*.ledger"))
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	replies := filesWith(t, cache, "")
	if len(replies) != 4 || logs() != 1 {
		t.Fatalf("%d replies, %d logs", len(replies), logs())
	}
	logDirs, err := filepath.Glob(filepath.Join(cfg.StateDir, "ledger", "*"))
	if err != nil || len(logDirs) != 1 {
		t.Fatal(logDirs, err)
	}
	root := filepath.Base(logDirs[0])
	mine, others, foreign := "tracejury-"+sum.RunID+"-"+root+"-0123456789ab/job-0/in/records-0000.jsonl", "tracejury-"+sum.RunID+"-ffffffffffff-0123456789ab/state.json", "somebody/else.txt"
	for _, name := range []string{mine, others, foreign} {
		putFile(t, batch, name, "{}")
	}
	retain := func(asOf string) {
		t.Helper()
		later := at(t, config(t, "", data), asOf)
		later.StateDir, later.Evaluate.Cache, later.Evaluate.Batch.URI = cfg.StateDir, cache, batch
		mustIngest(t, later, pipeline.IngestOptions{RetentionOnly: true, ExpireAhead: true})
	}
	retain("2026-12-01T06:00:00Z")
	if len(filesWith(t, cache, "")) != 4 || len(filesWith(t, batch, "")) != 3 || logs() != 1 {
		t.Errorf("expired too early: %v %v, %d logs", filesWith(t, cache, ""), filesWith(t, batch, ""), logs())
	}
	// Files of a job that nobody came back for.
	old := time.Now().Add(-9 * 24 * time.Hour)
	for _, name := range []string{mine, others, foreign} {
		if err := os.Chtimes(filepath.Join(batch, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	day := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	if err := os.Chtimes(replies[0], day, day); err != nil {
		t.Fatal(err)
	}
	retain("2026-12-01T06:00:00Z")
	if left := filesWith(t, batch, ""); len(left) != 2 || strings.Contains(strings.Join(left, " "), root) {
		t.Errorf("left of the batch jobs: %v", left)
	}
	if left := filesWith(t, cache, ""); len(left) != 3 {
		t.Errorf("left in the cache: %v", left)
	}
	// The run's day has passed.
	putFile(t, batch, mine, "{}")
	retain("2027-03-15T06:00:00Z")
	if len(filesWith(t, cache, "")) != 0 || logs() != 0 || len(filesWith(t, batch, "")) != 2 {
		t.Errorf("left: %v %v, %d logs", filesWith(t, cache, ""), filesWith(t, batch, ""), logs())
	}
}

// An erased session is gone outside of --data too: its replies in the cache, the log of a run that did not end, the files of jobs that may hold
// it; and calls say no longer whom they were about.
func TestEraseOutsideOfData(t *testing.T) {
	data := demoLake(t)
	bedrock(t, judgetest.Options{Script: func(c judgetest.Call) judgetest.Answer { return validAnswer(t, c) }})
	cfg, cache, batch := outsideConfig(t, data)
	cfg.Evaluate.Sample = 6
	finished, err := pipeline.Evaluate(t.Context(), cfg, pipeline.EvaluateOptions{}, quiet())
	if err != nil {
		t.Fatal(err)
	}
	cfg.Evaluate.Sample, cfg.Evaluate.BudgetCalls = 9, 2
	_, err = pipeline.Evaluate(t.Context(), cfg, pipeline.EvaluateOptions{}, quiet())
	wantExit(t, err, pipeline.ExitPartial)
	grades := readTable[schema.Grade](t, data, "grades")
	key, calls := grades[0].SessionKey, len(readTable[schema.Call](t, data, "calls"))
	ofKey := 0
	for _, c := range readTable[schema.Call](t, data, "calls") {
		if c.Subject == key && c.RunID == finished.RunID {
			ofKey++
		}
	}
	before := len(filesWith(t, cache, ""))
	logDirs, _ := filepath.Glob(filepath.Join(cfg.StateDir, "ledger", "*"))
	if ofKey == 0 || before == 0 || len(logDirs) != 1 {
		t.Fatalf("%d calls of %s, %d replies, logs %v", ofKey, key, before, logDirs)
	}
	root := filepath.Base(logDirs[0])
	for _, run := range []string{finished.RunID, "2026-11-30-aaaaaaaaaaaa"} { // graded it; killed before it had any table
		putFile(t, batch, "tracejury-"+run+"-"+root+"-0123456789ab/job-0/in/records-0000.jsonl", "{}")
	}
	putFile(t, batch, "tracejury-2026-11-30-aaaaaaaaaaaa-ffffffffffff-0123456789ab/state.json", "{}")
	eraser := config(t, "", data)
	eraser.StateDir, eraser.Evaluate.Cache, eraser.Evaluate.Batch.URI = cfg.StateDir, cache, batch
	if _, err := pipeline.Ingest(t.Context(), eraser, pipeline.IngestOptions{Erase: "session:" + key}, quiet()); err != nil {
		t.Fatal(err)
	}
	if left := append(filesWith(t, data, key), filesWith(t, cfg.StateDir, key)...); len(left) > 0 {
		t.Errorf("still named in %v", left)
	}
	if after := len(filesWith(t, cache, "")); after >= before || after < before-ofKey {
		t.Errorf("%d replies of %d are left, of which %d calls were about the session", after, before, ofKey)
	}
	if left := filesWith(t, batch, ""); len(left) != 1 {
		t.Errorf("left of the batch jobs: %v", left)
	}
	if n := len(readTable[schema.Call](t, data, "calls")); n != calls {
		t.Errorf("%d calls of %d: what was paid for is lost", n, calls)
	}
}
