package integration

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tracejury/tracejury/pipeline"
)

var sqlBlock = regexp.MustCompile("(?ms)^```sql\n(.*?)^```$")

// demoNight runs ingest, evaluate and aggregate over the demo archive and returns the data root.
func demoNight(tb testing.TB) string {
	tb.Helper()
	data := filepath.Join(tb.TempDir(), "lake")
	cfg := &pipeline.Config{Data: data, AsOf: "2026-11-30T06:00:00Z", StateDir: filepath.Join(tb.TempDir(), "state"), Sources: []pipeline.Source{{URI: "../archive"}}}
	cfg.Evaluate.Sample = 50
	if err := cfg.Complete(time.Now()); err != nil {
		tb.Fatal(err)
	}
	ctx, log := context.Background(), slog.New(slog.DiscardHandler)
	if _, err := pipeline.Ingest(ctx, cfg, pipeline.IngestOptions{}, log); err != nil {
		tb.Fatal(err)
	}
	if _, err := pipeline.Evaluate(ctx, cfg, pipeline.EvaluateOptions{}, log); err != nil {
		tb.Fatal(err)
	}
	if _, err := pipeline.Aggregate(ctx, cfg, log); err != nil {
		tb.Fatal(err)
	}
	return data
}

// Every query of the README and of the jobs' pages runs and finds something in the lake that make nightly leaves.
func TestReadmeQueries(t *testing.T) {
	pages, err := filepath.Glob("../../cmd/*/README.md")
	if err != nil {
		t.Fatal(err)
	}
	var blocks [][]string
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		blocks = append(blocks, sqlBlock.FindAllStringSubmatch(string(text), -1)...)
	}
	data, db := demoNight(t), duck(t)
	if len(blocks) < 4 {
		t.Fatalf("the README has %d queries", len(blocks))
	}
	for _, b := range blocks {
		query := strings.ReplaceAll(b[1], "out/lake", data)
		rows, err := db.Query(query)
		if err != nil {
			t.Errorf("%v in\n%s", err, query)
			continue
		}
		n := 0
		for rows.Next() {
			n++
		}
		if err := rows.Err(); err != nil || n == 0 {
			t.Errorf("%d rows, %v from\n%s", n, err, query)
		}
		rows.Close()
	}
}
