package pipeline_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tracejury/tracejury/pipeline"
	"github.com/tracejury/tracejury/pipeline/otlp/otlpgen"
)

// processorTime is what this process has used: other work on the machine disturbs it less than the clock.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func ingestAsOf(b *testing.B, from, data, asOf string, opts pipeline.IngestOptions) (took time.Duration, sum *pipeline.IngestSummary) {
	b.Helper()
	cfg := &pipeline.Config{Data: data, AsOf: asOf, Sources: []pipeline.Source{{URI: from}}}
	if err := cfg.Complete(time.Now()); err != nil {
		b.Fatal(err)
	}
	start := processorTime(b)
	sum = mustIngest(b, cfg, opts)
	return processorTime(b) - start, sum
}

// BenchmarkIngestNight adds a day's objects, 2 % of whose records belong to sessions of before, to a lake of six days, and
// ingests the same objects into an empty lake. The metric that counts is the ratio, of processor time; the aim is 1.5.
func BenchmarkIngestNight(b *testing.B) {
	dir := b.TempDir()
	from, day := filepath.Join(dir, "archive"), filepath.Join(dir, "day")
	if _, err := otlpgen.WriteBulk(b.Context(), from, otlpgen.BulkOptions{Spans: 70_000, BytesPerSpan: 2000, Seed: 1, Objects: 70, Late: 0.02}); err != nil {
		b.Fatal(err)
	}
	const folder = "agents/year=2026/month=11/day=29"
	if err := os.MkdirAll(filepath.Join(day, filepath.Dir(folder)), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(from, "agents/year=2026/month=11/day=30")); err != nil {
		b.Fatal(err)
	}
	var night, fresh time.Duration
	for n := range b.N {
		if err := os.Rename(filepath.Join(from, folder), filepath.Join(day, folder)); err != nil {
			b.Fatal(err)
		}
		lake := filepath.Join(dir, "lake", string(rune('a'+n%26)))
		ingestAsOf(b, from, lake, "2026-11-29T00:30:00Z", pipeline.IngestOptions{})
		took, alone := ingestAsOf(b, day, lake+"-fresh", "2026-11-30T00:30:00Z", pipeline.IngestOptions{})
		fresh += took
		if err := os.Rename(filepath.Join(day, folder), filepath.Join(from, folder)); err != nil {
			b.Fatal(err)
		}
		took, added := ingestAsOf(b, from, lake, "2026-11-30T00:30:00Z", pipeline.IngestOptions{})
		night += took
		if added.Counts.New != alone.Counts.New || added.Counts.Written != alone.Counts.Written || added.Counts.Written < 5000 {
			b.Fatalf("the night read %d objects and %d records, the day has %d and %d", added.Counts.New, added.Counts.Written, alone.Counts.New, alone.Counts.Written)
		}
		_ = os.RemoveAll(filepath.Join(dir, "lake"))
	}
	b.ReportMetric(night.Seconds()/fresh.Seconds(), "x-fresh-day")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkSmallObjects lists, reads and decodes objects of one span each, and reads the same files in a plain loop. The metric
// that counts is the ratio of time; the store is a folder.
func BenchmarkSmallObjects(b *testing.B) {
	const objects = 20_000
	from := b.TempDir()
	if _, err := otlpgen.WriteBulk(b.Context(), from, otlpgen.BulkOptions{Spans: objects, BytesPerSpan: 1000, Seed: 1, Objects: objects}); err != nil {
		b.Fatal(err)
	}
	var ours, plain time.Duration
	for range b.N {
		start := time.Now()
		bytes := 0
		err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || !strings.HasSuffix(path, ".json") {
				return err
			}
			data, err := os.ReadFile(path)
			bytes += len(data)
			return err
		})
		if err != nil || bytes == 0 {
			b.Fatal(err)
		}
		plain += time.Since(start)
		start = time.Now()
		_, sum := ingestAsOf(b, from, filepath.Join(b.TempDir(), "lake"), "2026-12-01T00:00:00Z", pipeline.IngestOptions{Check: true})
		ours += time.Since(start)
		if sum.Counts.New != objects || sum.Counts.Records != objects {
			b.Fatalf("read %d objects and %d records, want %d", sum.Counts.New, sum.Counts.Records, objects)
		}
	}
	b.ReportMetric(float64(objects*b.N)/ours.Seconds(), "objects/s")
	b.ReportMetric(float64(objects*b.N)/plain.Seconds(), "plain-loop-objects/s")
	b.ReportMetric(ours.Seconds()/plain.Seconds(), "x-plain-loop")
	b.ReportMetric(0, "ns/op")
}
