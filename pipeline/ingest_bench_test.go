package pipeline_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/tracejury/tracejury/pipeline"
	"github.com/tracejury/tracejury/pipeline/otlp/otlpgen"
)

// BenchmarkIngest reads a fresh archive into all tables, masking included, with two workers.
func BenchmarkIngest(b *testing.B) {
	for _, size := range []int{2000, 9000} {
		b.Run(fmt.Sprintf("span=%d", size), func(b *testing.B) {
			from := b.TempDir()
			made, err := otlpgen.WriteBulk(b.Context(), from, otlpgen.BulkOptions{Spans: 100_000_000 / size, BytesPerSpan: size, Seed: 1, Format: otlpgen.FormatJSON, Objects: 16})
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
