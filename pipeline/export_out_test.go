package pipeline_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/judge/judgetest"
	"github.com/tracejury/tracejury/pipeline"
)

// graded is a lake with one run of sessions.
func graded(t *testing.T) (data string, sum *pipeline.EvaluateSummary) {
	t.Helper()
	data = filepath.Join(t.TempDir(), "lake")
	mustIngest(t, config(t, demoArchive, data), pipeline.IngestOptions{})
	bedrock(t, judgetest.Options{})
	sum, err := pipeline.Evaluate(context.Background(), evaluateConfig(t, data), pipeline.EvaluateOptions{}, quiet())
	if err != nil {
		t.Fatal(err)
	}
	return data, sum
}

// What people wrote into the folder of an export is never taken away, a filled sheet of labels above all.
func TestExportKeepsWhatPeopleWrote(t *testing.T) {
	data, _ := graded(t)
	cfg := evaluateConfig(t, data)
	cfg.Export.To, cfg.Export.Out = []string{"labels", "jsonl"}, t.TempDir()
	export := func() (*pipeline.ExportSummary, error) {
		return pipeline.Export(context.Background(), cfg, pipeline.ExportOptions{}, quiet())
	}
	sum, err := export()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := export(); err != nil {
		t.Errorf("the same export again: %v", err)
	}
	sheet := filepath.Join(sum.Dir, "labels", "sheet.csv")
	for name, change := range map[string]func() error{
		"a filled sheet": func() error {
			text, err := os.ReadFile(sheet)
			return errors.Join(err, os.WriteFile(sheet, append(text, "mine\n"...), 0o600))
		},
		"a file of one's own": func() error { return os.WriteFile(filepath.Join(sum.Dir, "notes.txt"), []byte("keep"), 0o600) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		var exit *pipeline.ExitError
		if _, err := export(); !errors.As(err, &exit) || exit.Code != pipeline.ExitUsage || !strings.Contains(err.Error(), "would be lost") {
			t.Errorf("%s: %v", name, err)
		}
		if text, err := os.ReadFile(sheet); err != nil || name == "a filled sheet" && !strings.HasSuffix(string(text), "mine\n") {
			t.Errorf("%s: the sheet is gone: %v", name, err)
		}
	}
	for _, out := range []string{"s3://bucket/x", "file:///tmp/x"} {
		cfg.Export.Out = out
		if _, err := export(); err == nil || !strings.Contains(err.Error(), "want a directory") {
			t.Errorf("--out %s: %v", out, err)
		}
	}
}

// The latest run is the same for aggregate and export: not the one that was filtered and labelled in the afternoon.
func TestExportTakesTheLatestOfAggregate(t *testing.T) {
	data, night := graded(t)
	cfg := evaluateConfig(t, data)
	cfg.Evaluate.Service, cfg.Evaluate.Label, cfg.Evaluate.Sample = "ops-agent", "adhoc", 2
	adhoc, err := pipeline.Evaluate(context.Background(), cfg, pipeline.EvaluateOptions{}, quiet())
	if err != nil || adhoc.RunID == night.RunID {
		t.Fatalf("%v, run %s", err, adhoc.RunID)
	}
	out := evaluateConfig(t, data)
	out.Export.To, out.Export.Out = []string{"jsonl"}, t.TempDir()
	sum, err := pipeline.Export(context.Background(), out, pipeline.ExportOptions{}, quiet())
	if err != nil || sum.RunID != night.RunID {
		t.Errorf("exported run %s, want %s: %v", sum.RunID, night.RunID, err)
	}
	out.Export.Rubric, out.Export.Run = "session", night.RunID
	if _, err := pipeline.Export(context.Background(), out, pipeline.ExportOptions{}, quiet()); err == nil || !strings.Contains(err.Error(), "leave out --run") {
		t.Errorf("a rubric with a run: %v", err)
	}
}
