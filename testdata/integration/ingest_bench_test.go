package integration

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tracejury/tracejury/pipeline"
	"github.com/tracejury/tracejury/pipeline/otlp/otlpgen"
)

const (
	duckAttributes = `STRUCT("key" VARCHAR, "value" STRUCT("stringValue" VARCHAR, "intValue" VARCHAR, "doubleValue" DOUBLE, "boolValue" BOOLEAN))[]`
	duckSpans      = `STRUCT("traceId" VARCHAR, "spanId" VARCHAR, "parentSpanId" VARCHAR, "name" VARCHAR, "kind" INTEGER, "startTimeUnixNano" VARCHAR,
		"endTimeUnixNano" VARCHAR, "attributes" ` + duckAttributes + `, "events" STRUCT("name" VARCHAR, "timeUnixNano" VARCHAR, "attributes" ` + duckAttributes + `)[],
		"status" STRUCT("code" INTEGER, "message" VARCHAR))[]`
	duckResourceSpans = `STRUCT("resource" STRUCT("attributes" ` + duckAttributes + `), "scopeSpans" STRUCT("scope" STRUCT("name" VARCHAR, "version" VARCHAR), "spans" ` + duckSpans + `)[])[]`
)

// BenchmarkIngest reads the same archive into all tables, masked, with two workers, and lets DuckDB make a Parquet file of its
// spans alone with two threads, by turns. The metric that counts is the ratio.
func BenchmarkIngest(b *testing.B) {
	for _, size := range []int{2000, 9000} {
		b.Run(fmt.Sprintf("span=%d", size), func(b *testing.B) {
			from := b.TempDir()
			spans := 100_000_000 / size
			made, err := otlpgen.WriteBulk(b.Context(), from, otlpgen.BulkOptions{Spans: spans, BytesPerSpan: size, Seed: 1, Format: otlpgen.FormatJSON, Objects: 24})
			if err != nil {
				b.Fatal(err)
			}
			var ours, theirs time.Duration
			for range b.N {
				ours += timeIngest(b, from, int64(made.Spans))
				theirs += timeDuck(b, from, int64(made.Spans))
			}
			mb := float64(made.PlainBytes) * float64(b.N) / 1e6
			b.ReportMetric(mb/ours.Seconds(), "MB/s")
			b.ReportMetric(mb/theirs.Seconds(), "duckdb-MB/s")
			b.ReportMetric(theirs.Seconds()/ours.Seconds(), "x-duckdb")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func timeIngest(b *testing.B, from string, spans int64) time.Duration {
	b.Helper()
	dir := b.TempDir()
	defer os.RemoveAll(dir)
	cfg := &pipeline.Config{Data: filepath.Join(dir, "lake"), AsOf: "2026-12-01T00:00:00Z", Sources: []pipeline.Source{{URI: from}}}
	if err := cfg.Complete(time.Now()); err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	sum, err := pipeline.Ingest(b.Context(), cfg, pipeline.IngestOptions{}, slog.New(slog.DiscardHandler))
	took := time.Since(start)
	if err != nil || sum.Counts.Written != spans {
		b.Fatalf("ingest wrote %d of %d spans: %v", sum.Counts.Written, spans, err)
	}
	return took
}

func timeDuck(b *testing.B, from string, spans int64) time.Duration {
	b.Helper()
	dir := b.TempDir()
	defer os.RemoveAll(dir)
	db := duck(b)
	defer db.Close()
	if _, err := db.Exec(`SET threads = 2`); err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	res, err := db.Exec(fmt.Sprintf(`COPY (
		WITH documents AS (SELECT unnest("resourceSpans") AS rs FROM read_json('%s/**/*.json', columns = {resourceSpans: '%s'}, maximum_object_size = 33554432)),
		scopes AS (SELECT rs.resource AS resource, unnest(rs."scopeSpans") AS ss FROM documents),
		spans AS (SELECT resource, ss.scope AS scope, unnest(ss.spans) AS s FROM scopes)
		SELECT s."traceId" AS trace_id, s."spanId" AS span_id, s."parentSpanId" AS parent_span_id, s.name, s.kind, scope.name AS scope_name, scope.version AS scope_version,
			s."startTimeUnixNano"::BIGINT AS started, s."endTimeUnixNano"::BIGINT AS ended, s.status.code AS status, s.status.message AS status_message,
			s.attributes AS attributes, s.events AS events, resource.attributes AS resource
		FROM spans) TO '%s' (FORMAT parquet, COMPRESSION zstd)`, from, duckResourceSpans, filepath.Join(dir, "spans.parquet")))
	took := time.Since(start)
	if err != nil {
		b.Fatal(err)
	}
	if n, err := res.RowsAffected(); err != nil || n != spans {
		b.Fatalf("DuckDB wrote %d of %d spans: %v", n, spans, err)
	}
	return took
}
