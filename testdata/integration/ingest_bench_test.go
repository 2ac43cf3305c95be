package integration

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tracejury/tracejury/pipeline"
	"github.com/tracejury/tracejury/pipeline/otlp"
	"github.com/tracejury/tracejury/pipeline/otlp/otlpgen"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

const (
	duckAttributes = `STRUCT("key" VARCHAR, "value" STRUCT("stringValue" VARCHAR, "intValue" VARCHAR, "doubleValue" DOUBLE, "boolValue" BOOLEAN))[]`
	duckSpans      = `STRUCT("traceId" VARCHAR, "spanId" VARCHAR, "parentSpanId" VARCHAR, "name" VARCHAR, "kind" INTEGER, "startTimeUnixNano" VARCHAR,
		"endTimeUnixNano" VARCHAR, "attributes" ` + duckAttributes + `, "events" STRUCT("name" VARCHAR, "timeUnixNano" VARCHAR, "attributes" ` + duckAttributes + `)[],
		"status" STRUCT("code" INTEGER, "message" VARCHAR))[]`
	duckResourceSpans = `STRUCT("resource" STRUCT("attributes" ` + duckAttributes + `), "scopeSpans" STRUCT("scope" STRUCT("name" VARCHAR, "version" VARCHAR), "spans" ` + duckSpans + `)[])[]`
)

// BenchmarkIngest reads an archive into all tables, masked, with two workers, and into spans alone, neither masked nor
// grouped; and lets DuckDB make a Parquet file of its spans with two threads, by turns. The metrics that count are the ratios: of
// time on two idle cores, and of processor time, which other work on the machine disturbs less. Two shapes are what instrumented
// agents export, small spans without content and larger ones with it; the other two are a text with little around it, the shape
// that suits an engine of columns best.
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
			shape.Spans, shape.Objects, shape.Seed, shape.Format = 200_000_000/shape.BytesPerSpan, 48, 1, otlpgen.FormatJSON
			made, err := otlpgen.WriteBulk(b.Context(), from, shape.BulkOptions)
			if err != nil {
				b.Fatal(err)
			}
			var all, alone, theirs cost
			for range b.N {
				all.add(b, func(dir string) { ingestAll(b, from, dir, int64(made.Spans)) })
				alone.add(b, func(dir string) { spansAlone(b, from, dir, int64(made.Spans)) })
				theirs.add(b, func(dir string) { duckSpansOf(b, from, dir, int64(made.Spans)) })
			}
			mb := float64(made.PlainBytes) * float64(b.N) / 1e6
			b.ReportMetric(mb/all.wall.Seconds(), "MB/s")
			b.ReportMetric(mb/theirs.wall.Seconds(), "duckdb-MB/s")
			b.ReportMetric(theirs.wall.Seconds()/all.wall.Seconds(), "x-duckdb")
			b.ReportMetric(theirs.cpu.Seconds()/all.cpu.Seconds(), "x-duckdb-cpu")
			b.ReportMetric(theirs.wall.Seconds()/alone.wall.Seconds(), "spans-alone-x-duckdb")
			b.ReportMetric(theirs.cpu.Seconds()/alone.cpu.Seconds(), "spans-alone-x-duckdb-cpu")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// cost is what something took.
type cost struct{ wall, cpu time.Duration }

// add runs do in a folder of its own.
func (c *cost) add(b *testing.B, do func(dir string)) {
	b.Helper()
	dir := b.TempDir()
	cpu, start := processorTime(b), time.Now()
	do(dir)
	c.wall += time.Since(start)
	c.cpu += processorTime(b) - cpu
	if err := os.RemoveAll(dir); err != nil {
		b.Fatal(err)
	}
}

func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func ingestAll(b *testing.B, from, dir string, spans int64) {
	b.Helper()
	cfg := &pipeline.Config{Data: filepath.Join(dir, "lake"), AsOf: "2026-12-01T00:00:00Z", Sources: []pipeline.Source{{URI: from}}}
	if err := cfg.Complete(time.Now()); err != nil {
		b.Fatal(err)
	}
	sum, err := pipeline.Ingest(b.Context(), cfg, pipeline.IngestOptions{}, slog.New(slog.DiscardHandler))
	if err != nil || sum.Counts.Written != spans {
		b.Fatalf("ingest wrote %d of %d spans: %v", sum.Counts.Written, spans, err)
	}
}

// spansAlone decodes every object and writes its spans as one object of the table, two at a time.
func spansAlone(b *testing.B, from, dir string, spans int64) {
	b.Helper()
	var paths []string
	err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	written, errs := make([]int64, len(paths)), make([]error, len(paths))
	var g sync.WaitGroup
	for worker := range 2 {
		g.Go(func() {
			for i := worker; i < len(paths); i += 2 {
				written[i], errs[i] = spansOf(paths[i], filepath.Join(dir, fmt.Sprintf("%03d.parquet", i)))
			}
		})
	}
	g.Wait()
	if err := errors.Join(errs...); err != nil {
		b.Fatal(err)
	}
	total := int64(0)
	for _, n := range written {
		total += n
	}
	if total != spans {
		b.Fatalf("wrote %d of %d spans", total, spans)
	}
}

func spansOf(path, to string) (int64, error) {
	doc, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	var rows []schema.Span
	var buf []byte
	var resource string
	var last *otlp.Resource
	_, faults, err := otlp.NewDecoder(otlp.Limits{}).JSON(doc, func(r *otlp.Record) error {
		if r.Resource != last || last == nil {
			last, resource = r.Resource, string(otlp.AppendAttributes(nil, r.Resource.Attributes))
		}
		buf = otlp.AppendAttributes(buf[:0], r.Attributes)
		row := schema.Span{Tenant: "default", Signal: "span", TraceID: strings.Clone(r.TraceID), SpanID: strings.Clone(r.SpanID), ParentSpanID: strings.Clone(r.ParentSpanID),
			Name: strings.Clone(r.Name), Kind: r.Kind, ScopeName: strings.Clone(r.ScopeName), ScopeVersion: strings.Clone(r.ScopeVersion), Status: r.Status,
			StatusMessage: strings.Clone(r.StatusMessage), StartedUnixNano: r.StartUnixNano, EndedUnixNano: r.EndUnixNano, StartedAt: r.StartUnixNano / 1000,
			EndedAt: r.EndUnixNano / 1000, TimeQuality: r.TimeQuality.String(), Attributes: string(buf), Resource: resource}
		if len(r.Events) > 0 {
			row.Events = string(otlp.AppendEvents(nil, r.Events))
		}
		rows = append(rows, row)
		return nil
	})
	if err != nil || len(faults) > 0 {
		return 0, fmt.Errorf("decode %s: %d faults: %w", path, len(faults), err)
	}
	slices.SortFunc(rows, schema.Span.Compare)
	f, err := os.Create(to)
	if err != nil {
		return 0, err
	}
	if err := table.Encode(f, schema.Spans, rows); err != nil {
		return 0, err
	}
	return int64(len(rows)), f.Close()
}

func duckSpansOf(b *testing.B, from, dir string, spans int64) {
	b.Helper()
	db := duck(b)
	defer db.Close()
	if _, err := db.Exec(`SET threads = 2`); err != nil {
		b.Fatal(err)
	}
	res, err := db.Exec(fmt.Sprintf(`COPY (
		WITH documents AS (SELECT unnest("resourceSpans") AS rs FROM read_json('%s/**/*.json', columns = {resourceSpans: '%s'}, maximum_object_size = 33554432)),
		scopes AS (SELECT rs.resource AS resource, unnest(rs."scopeSpans") AS ss FROM documents),
		spans AS (SELECT resource, ss.scope AS scope, unnest(ss.spans) AS s FROM scopes)
		SELECT s."traceId" AS trace_id, s."spanId" AS span_id, s."parentSpanId" AS parent_span_id, s.name, s.kind, scope.name AS scope_name, scope.version AS scope_version,
			s."startTimeUnixNano"::BIGINT AS started, s."endTimeUnixNano"::BIGINT AS ended, s.status.code AS status, s.status.message AS status_message,
			s.attributes AS attributes, s.events AS events, resource.attributes AS resource
		FROM spans) TO '%s' (FORMAT parquet, COMPRESSION zstd)`, from, duckResourceSpans, filepath.Join(dir, "spans.parquet")))
	if err != nil {
		b.Fatal(err)
	}
	if n, err := res.RowsAffected(); err != nil || n != spans {
		b.Fatalf("DuckDB wrote %d of %d spans: %v", n, spans, err)
	}
}
