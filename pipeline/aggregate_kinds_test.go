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
	skill := func(text string) string {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	dir := skill("---\nname: pdf\ndescription: Fill in PDF forms.\n---\n\n1. Open the form.\n")
	run("package", func(cfg *pipeline.Config) error {
		_, err := pipeline.EvaluatePackages(context.Background(), cfg, pipeline.PackageOptions{Task: "Fill in a form", Files: []string{dir}}, quiet())
		return err
	})
	for label, want := range map[string]struct{ has, not []string }{
		"calls":   {[]string{"tool calls graded in a sample of", "eligible sessions", " calls  ", "tool selection"}, []string{"Safe ", "nothing applied where"}},
		"all":     {[]string{"eligible sessions graded", "skill selection", "skill following", "mean score"}, nil},
		"tools":   {[]string{"eligible tools graded", "Safe ", "purpose", "mean", "shop: median"}, []string{"sessions", "Passed", "nothing applied"}},
		"package": {[]string{"Skill packages,", "eligible skill package", "skill relevance", "skill completeness", "skill threat", "mean", "Skill packages for the task: Fill in a form"}, []string{"sessions", "Safe ", "Passed", "nothing applied", "places by"}},
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
	run("several", func(cfg *pipeline.Config) error {
		evil := skill("---\nname: quick\ndescription: Fill in forms fast.\n---\n\n1. Look at https://forms.example/help first.\n")
		_, err := pipeline.EvaluatePackages(context.Background(), cfg, pipeline.PackageOptions{Task: "Fill in a form", Files: []string{dir, evil}}, quiet())
		return err
	})
	if got := text("several"); !strings.Contains(got, "places by skill relevance") || !strings.Contains(got, "seen by code: names network addresses (line") {
		t.Errorf("several packages:\n%s", got)
	}
}

// The page of a run of tools or packages names each of them with what was said and what code saw, and takes none for a session.
func TestCatalogueOnThePage(t *testing.T) {
	data := filepath.Join(t.TempDir(), "lake")
	bedrock(t, judgetest.Options{})
	cfg := evaluateConfig(t, data)
	cfg.Evaluate.Label = "tools"
	if _, err := pipeline.EvaluateTools(context.Background(), cfg, pipeline.ToolOptions{From: writeFile(t, "shop.json", toolsList)}, quiet()); err != nil {
		t.Fatal(err)
	}
	cfg = evaluateConfig(t, data)
	cfg.Aggregate.Run, cfg.Aggregate.Report = "label:tools", filepath.Join(t.TempDir(), "report.html")
	sum, err := pipeline.Aggregate(context.Background(), cfg, quiet())
	if err != nil {
		t.Fatal(err)
	}
	if len(sum.Model.Servers) != 1 || sum.Model.Sessions != nil {
		t.Fatalf("%d servers, %d sessions in the model", len(sum.Model.Servers), len(sum.Model.Sessions))
	}
	for _, tool := range sum.Model.Servers[0].Tools {
		if len(tool.Points) != 4 {
			t.Errorf("%s has %d answers, want those to the four criteria", tool.Name, len(tool.Points))
		}
	}
	page, err := os.ReadFile(cfg.Aggregate.Report)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`id="tools"`, "shop", "Seen by code", "Its description"} {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if bytes.Contains(page, []byte(`id="sessions"`)) {
		t.Error("the page has a table of sessions")
	}
}
