package pipeline_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/judge/judgetest"
	"github.com/tracejury/tracejury/pipeline"
)

// What is printed of a run uses the words of what it graded, and names every evaluator.
func TestAggregateTextOfEveryKind(t *testing.T) {
	data := filepath.Join(t.TempDir(), "lake")
	mustIngest(t, config(t, demoArchive, data), pipeline.IngestOptions{})
	bedrock(t, judgetest.Options{})
	text := func(label string) string {
		t.Helper()
		cfg := evaluateConfig(t, data)
		cfg.Aggregate.Run = "label:" + label
		sum, err := pipeline.Aggregate(context.Background(), cfg, quiet())
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		sum.WriteText(&b)
		return b.String()
	}
	run := func(label string, evaluate func(cfg *pipeline.Config) error) {
		t.Helper()
		cfg := evaluateConfig(t, data)
		cfg.Evaluate.Label, cfg.Evaluate.Sample = label, 12
		if err := evaluate(cfg); err != nil {
			t.Fatal(err)
		}
	}
	run("calls", func(cfg *pipeline.Config) error {
		cfg.Evaluate.Evaluators = []string{"tool-selection"}
		_, err := pipeline.Evaluate(context.Background(), cfg, pipeline.EvaluateOptions{}, quiet())
		return err
	})
	run("all", func(cfg *pipeline.Config) error {
		cfg.Evaluate.Evaluators = []string{"session", "skill-selection", "skill-following"}
		_, err := pipeline.Evaluate(context.Background(), cfg, pipeline.EvaluateOptions{}, quiet())
		return err
	})
	run("tools", func(cfg *pipeline.Config) error {
		_, err := pipeline.EvaluateTools(context.Background(), cfg, pipeline.ToolOptions{From: writeFile(t, "shop.json", toolsList)}, quiet())
		return err
	})
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte("---\nname: pdf\ndescription: Fill in PDF forms.\n---\n\n1. Open the form.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run("package", func(cfg *pipeline.Config) error {
		_, err := pipeline.EvaluatePackages(context.Background(), cfg, pipeline.PackageOptions{Task: "Fill in a form", Files: []string{dir}}, quiet())
		return err
	})
	for label, want := range map[string]struct{ has, not []string }{
		"calls":   {[]string{"tool calls graded in a sample of", "eligible sessions", " calls  ", "tool selection"}, []string{"Safe ", "nothing applied where"}},
		"all":     {[]string{"eligible sessions graded", "skill selection", "skill following", "mean score"}, nil},
		"tools":   {[]string{"eligible tools graded", "Safe ", "purpose", "mean score"}, []string{"sessions", "Passed", "nothing applied"}},
		"package": {[]string{"eligible skill package", "skill relevance", "skill completeness", "skill threat", "mean score"}, []string{"sessions", "Safe ", "Passed", "nothing applied"}},
	} {
		got := text(label)
		for _, w := range want.has {
			if !strings.Contains(got, w) {
				t.Errorf("%s: lacks %q in\n%s", label, w, got)
			}
		}
		for _, w := range want.not {
			if strings.Contains(got, w) {
				t.Errorf("%s: holds %q in\n%s", label, w, got)
			}
		}
	}
}
