package pipeline_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/pipeline"
	"github.com/tracejury/tracejury/pipeline/otlp/otlpgen"
	"github.com/tracejury/tracejury/schema"
)

// A session, or a trace, that does not fit into memory becomes the same rows as where it does: at once or over many nights, with
// duplicates, and where it holds more than sessions are derived from.
func TestIngestSessionLargerThanMemory(t *testing.T) {
	bulk := t.TempDir()
	if _, err := otlpgen.WriteBulk(t.Context(), bulk, otlpgen.BulkOptions{Spans: 600, BytesPerSpan: 2000, Seed: 3, Format: otlpgen.FormatJSON, Objects: 6, Sessions: 2, Services: 1, Late: 0.1}); err != nil {
		t.Fatal(err)
	}
	for i := range 3 { // one trace of 400 KB, of which the last object says the session
		var b strings.Builder
		for j := range 50 {
			id := ""
			if i == 2 && j == 49 {
				id = "giant"
			}
			b.WriteString(strings.Replace(oneSpan(traceA, fmt.Sprintf("%016x", 1+i*40+j), id), `"name":"x"`, `"name":"`+strings.Repeat("x", 3000)+`"`, 1) + "\n")
		}
		putFile(t, bulk, fmt.Sprintf("trace/%d.json", i), b.String())
	}
	files := archiveFiles(t, bulk)
	for _, limit := range []int64{0, 300_000} {
		ingest := func(from, data, memory string, full bool) *pipeline.IngestSummary {
			cfg := config(t, from, data)
			cfg.Ingest.Memory = memory
			if limit > 0 {
				cfg.Limits.MaxSessionBytes = limit
			}
			return mustIngest(t, cfg, pipeline.IngestOptions{Full: full})
		}
		whole := filepath.Join(t.TempDir(), "lake")
		want := ingest(bulk, whole, "1GiB", false)
		cut := 0
		for _, s := range rows[schema.Session](t, whole, "sessions/") {
			if slices.ContainsFunc(s.Warnings, func(w string) bool { return strings.HasPrefix(w, "records_beyond_limit:") }) {
				cut++
			}
		}
		if (cut > 0) != (limit > 0) {
			t.Errorf("limit %d: %d sessions say that they are cut", limit, cut)
		}
		small := filepath.Join(t.TempDir(), "lake")
		got := ingest(bulk, small, "512KiB", false)
		if got.Counts.Written != want.Counts.Written || got.Counts.Duplicates != want.Counts.Duplicates || got.Counts.Sessions != want.Counts.Sessions {
			t.Errorf("limit %d: counts %+v, want %+v", limit, got.Counts, want.Counts)
		}
		diffTrees(t, tree(t, small, append([]string{"objects/"}, sessionTables...)...), tree(t, whole, append([]string{"objects/"}, sessionTables...)...))

		from, nights := filepath.Join(t.TempDir(), "in"), filepath.Join(t.TempDir(), "lake")
		for i, f := range files {
			copyFile(t, filepath.Join(bulk, f), filepath.Join(from, f))
			if i%3 == 0 {
				copyFile(t, filepath.Join(bulk, f), filepath.Join(from, "zz-again", f))
			}
			if i%2 == 1 || i == len(files)-1 {
				ingest(from, nights, "512KiB", false)
			}
		}
		diffTrees(t, tree(t, nights, sessionTables...), tree(t, whole, sessionTables...))
		ingest(from, nights, "512KiB", true)
		diffTrees(t, tree(t, nights, sessionTables...), tree(t, whole, sessionTables...))
	}
}
