package pipeline_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/pipeline"
)

// Tools that were graded from a list, and that no session was ever given, go out with their descriptions and schemas.
func TestExport_ToolsOfAList(t *testing.T) {
	data := filepath.Join(t.TempDir(), "lake")
	cfg := config(t, "../testdata/archive", data)
	mustIngest(t, cfg, pipeline.IngestOptions{})
	if _, err := pipeline.Evaluate(context.Background(), cfg, pipeline.EvaluateOptions{}, quiet()); err != nil {
		t.Fatal(err)
	}
	list := writeFile(t, "shop.json", toolsList)
	if _, err := pipeline.EvaluateTools(context.Background(), config(t, "", data), pipeline.ToolOptions{From: list}, quiet()); err != nil {
		t.Fatal(err)
	}
	out := config(t, "", data)
	out.Export.Tools, out.Export.To, out.Export.Out = "latest", []string{"jsonl"}, t.TempDir()
	if _, err := pipeline.Export(context.Background(), out, pipeline.ExportOptions{}, quiet()); err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(out.Export.Out, "*", "jsonl", "tools.jsonl"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%q, %v", found, err)
	}
	text, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Look up one order by its number. Read-only.", "order number", "Refund an order."} {
		if !strings.Contains(string(text), want) {
			t.Errorf("tools.jsonl lacks %q:\n%s", want, text)
		}
	}
}
