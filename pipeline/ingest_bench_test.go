package pipeline_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tracejury/tracejury/pipeline"
	"github.com/tracejury/tracejury/pipeline/otlp/otlpgen"
)

// BenchmarkIngest reads a fresh archive into all tables, masking included, with two workers.
func BenchmarkIngest(b *testing.B) {
	for _, shape := range []struct {
		name string
		otlpgen.BulkOptions
	}{
		{"small", otlpgen.BulkOptions{BytesPerSpan: 2300, Instrumented: true, NoContent: true}},
		{"content", otlpgen.BulkOptions{BytesPerSpan: 9000, Instrumented: true}},
		{"plain-2000", otlpgen.BulkOptions{BytesPerSpan: 2000}},
		{"plain-9000", otlpgen.BulkOptions{BytesPerSpan: 9000}},
	} {
		b.Run("span="+shape.name, func(b *testing.B) {
			from := b.TempDir()
			shape.Spans, shape.Objects, shape.Seed, shape.Format = 100_000_000/shape.BytesPerSpan, 16, 1, otlpgen.FormatJSON
			made, err := otlpgen.WriteBulk(b.Context(), from, shape.BulkOptions)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(made.PlainBytes)
			b.ResetTimer()
			for range b.N {
				data := filepath.Join(b.TempDir(), "lake")
				cfg := config(b, from, data)
				cfg.Ingest.Concurrency = 2
				if sum := mustIngest(b, cfg, pipeline.IngestOptions{}); sum.Counts.Written != int64(made.Spans) {
					b.Fatalf("wrote %d of %d spans", sum.Counts.Written, made.Spans)
				}
				b.StopTimer()
				_ = os.RemoveAll(data)
				b.StartTimer()
			}
		})
	}
}
