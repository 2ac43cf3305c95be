package pipeline_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tracejury/tracejury/exports/jsonl"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/evaluator/registry"
	"github.com/tracejury/tracejury/judge/evaluator/skillpackage"
	"github.com/tracejury/tracejury/judge/judgetest"
	"github.com/tracejury/tracejury/pipeline"
	"github.com/tracejury/tracejury/schema"
)

// exported exports a run into a folder of its own and returns its files by path.
func exported(t *testing.T, data, run string, to ...string) (map[string][]byte, error) {
	t.Helper()
	cfg := evaluateConfig(t, data)
	cfg.Export.Run, cfg.Export.To, cfg.Export.Out = run, to, t.TempDir()
	sum, err := pipeline.Export(context.Background(), cfg, pipeline.ExportOptions{}, quiet())
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, f := range sum.Files {
		if files[f.Path], err = os.ReadFile(filepath.Join(sum.Dir, f.Path)); err != nil {
			t.Fatal(err)
		}
	}
	return files, nil
}

// What every evaluator found goes out: of a run of sessions, and of runs that graded tools or packages alone.
func TestExportOfEveryEvaluator(t *testing.T) {
	data := filepath.Join(t.TempDir(), "lake")
	mustIngest(t, config(t, demoArchive, data), pipeline.IngestOptions{})
	bedrock(t, judgetest.Options{})
	evaluate := func(label string, do func(cfg *pipeline.Config) error) {
		t.Helper()
		cfg := evaluateConfig(t, data)
		cfg.Evaluate.Label, cfg.Evaluate.Sample = label, 10
		if err := do(cfg); err != nil {
			t.Fatal(err)
		}
	}
	names := registry.Names(registry.Of(evaluator.OfSessions))
	evaluate("sessions", func(cfg *pipeline.Config) error {
		cfg.Evaluate.Evaluators = names
		_, err := pipeline.Evaluate(context.Background(), cfg, pipeline.EvaluateOptions{}, quiet())
		return err
	})
	evaluate("tools", func(cfg *pipeline.Config) error {
		_, err := pipeline.EvaluateTools(context.Background(), cfg, pipeline.ToolOptions{From: writeFile(t, "shop.json", toolsList)}, quiet())
		return err
	})
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte(skillText), 0o600); err != nil {
		t.Fatal(err)
	}
	evaluate("packages", func(cfg *pipeline.Config) error {
		_, err := pipeline.EvaluatePackages(context.Background(), cfg, pipeline.PackageOptions{Files: []string{dir}, Task: "Check invoices against orders"}, quiet())
		return err
	})

	// Every row of grades and verdicts is in some file, whichever evaluator wrote it.
	runs, kinds := map[string][]string{}, map[string]string{}
	for _, r := range readTable[schema.Run](t, data, "runs") {
		runs[r.Label], kinds[r.Evaluator] = append(runs[r.Label], r.Evaluator), r.Kind
	}
	if len(runs["sessions"]) != len(names) || len(runs["packages"]) != 3 || len(runs["tools"]) != 1 {
		t.Fatalf("runs %v, want one for each of %v", runs, names)
	}
	graded := map[string]int{}
	for _, g := range readTable[schema.Grade](t, data, "grades") {
		graded[g.Evaluator]++
	}
	for label, evaluators := range runs {
		files, err := exported(t, data, "label:"+label, "jsonl", "csv", "parquet", "otlp")
		if err != nil {
			t.Fatalf("%s: %v", label, err)
		}
		for _, e := range evaluators {
			name := "jsonl/graded_" + e + ".jsonl"
			if e == "session" {
				name = jsonl.File
			}
			n := 0
			for rec, err := range jsonl.Read(bytes.NewReader(files[name])) {
				if err != nil || rec.Evaluator != e || kinds[e] != "session" && (rec.Subject == nil || rec.Subject.Kind != kinds[e]) {
					t.Fatalf("%s: %v %+v", name, err, rec)
				}
				n++
			}
			if n == 0 || n != graded[e] {
				t.Errorf("%s holds %d of %d grades", name, n, graded[e])
			}
		}
	}

	sets, err := exported(t, data, "label:packages", "agentarts")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := skillpackage.ReadJSONL(bytes.NewReader(sets["agentarts/evaluation_set.jsonl"]))
	if err != nil || len(rows) != 3 || rows[0].Package.Name != "invoice-audit" || rows[0].Package.Task != "Check invoices against orders" || rows[0].Extra["criterion"] != "skill_completeness" {
		t.Errorf("the evaluation set: %v %+v", err, rows)
	}
	tools, err := exported(t, data, "label:tools", "agentcore", "foundry", "outcomes")
	if err != nil || !strings.Contains(string(tools["agentcore/tools.json"]), "find_order") || tools["agentcore/evaluator.json"] != nil || tools["foundry/tools.jsonl"] == nil || tools["claude/tools.json"] == nil {
		t.Errorf("tools alone: %v, %d files", err, len(tools))
	}
	for label, to := range map[string]string{"packages": "agentcore", "tools": "labels", "sessions": "agentarts"} {
		var exit *pipeline.ExitError
		if _, err := exported(t, data, "label:"+label, to); !errors.As(err, &exit) || exit.Code != pipeline.ExitUsage || !strings.Contains(err.Error(), to) {
			t.Errorf("%s to %s: %v", label, to, err)
		}
	}
	if files, err := exported(t, data, "latest", "jsonl"); err != nil || files[jsonl.File] == nil {
		t.Errorf("latest is the run that graded sessions: %v", err)
	}
}

// A rubric and tasks need no run, and no data root.
func TestExportOfARubricAlone(t *testing.T) {
	cfg := &pipeline.Config{AsOf: demoAsOf}
	cfg.Export.Rubric, cfg.Export.Suite, cfg.Export.To, cfg.Export.Out = "session", "../testdata/suites/ops_practice.yaml", []string{"agentcore", "foundry", "outcomes", "jsonl"}, t.TempDir()
	if err := cfg.Complete(time.Now()); err != nil {
		t.Fatal(err)
	}
	sum, err := pipeline.Export(context.Background(), cfg, pipeline.ExportOptions{}, quiet())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range sum.Files {
		names = append(names, f.Path)
	}
	for _, want := range []string{"agentcore/dataset.jsonl", "agentcore/evaluator.json", "claude/outcomes.jsonl", "foundry/dataset.jsonl", "jsonl/tasks.jsonl", "criteria.json"} {
		if !slices.Contains(names, want) {
			t.Errorf("no %s among %v", want, names)
		}
	}
	if filepath.Base(sum.Dir) != "rubric-session-v1" || sum.RunID != "" {
		t.Errorf("%s of run %q", sum.Dir, sum.RunID)
	}
	cfg.Export.Rubric = "sesion"
	if _, err := pipeline.Export(context.Background(), cfg, pipeline.ExportOptions{}, quiet()); err == nil || !strings.Contains(err.Error(), "session") {
		t.Errorf("an unknown rubric: %v", err)
	}
}
