package pipeline_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tracejury/tracejury/pipeline"
)

// oneSpan is a document of one span of a session.
func oneSpan(trace, span, session string) string {
	attr := ""
	if session != "" {
		attr = `,"attributes":[{"key":"session.id","value":{"stringValue":"` + session + `"}}]`
	}
	return `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"svc"}}]},"scopeSpans":[{"spans":[{"traceId":"` + trace +
		`","spanId":"` + span + `","name":"x","startTimeUnixNano":"1795900000000000000","endTimeUnixNano":"1795900001000000000"` + attr + `}]}]}]}`
}

func putFile(tb testing.TB, dir, key, content string) {
	tb.Helper()
	path := filepath.Join(dir, filepath.FromSlash(key))
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(content), 0o644)
	}
	if err != nil {
		tb.Fatal(err)
	}
}

const traceA, spanA = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"

// Keys that name old times are listed at the first ingest, once a week and with --full; what is new in between is found.
func TestIngestListsFromTheLastCommit(t *testing.T) {
	from, data := filepath.Join(t.TempDir(), "in"), filepath.Join(t.TempDir(), "lake")
	at := func(asOf string, opts pipeline.IngestOptions) pipeline.IngestCounts {
		cfg := config(t, from, data)
		cfg.AsOf = asOf
		if err := cfg.Complete(time.Now()); err != nil {
			t.Fatal(err)
		}
		return mustIngest(t, cfg, opts).Counts
	}
	for day, key := range map[string]string{"1": "a/year=2026/month=11/day=01/hour=05/x.json", "2": "a/year=2026/month=11/day=29/hour=23/x.json", "3": "b/2026/11/30/04/x.json", "4": "c/no-time.json"} {
		putFile(t, from, key, oneSpan(traceA, "000000000000000"+day, "s"+day))
	}
	if c := at("2026-11-30T06:00:00Z", pipeline.IngestOptions{}); c.Listed != 4 || c.New != 4 {
		t.Errorf("first night: %d listed, %d new, want all 4", c.Listed, c.New)
	}
	putFile(t, from, "a/year=2026/month=11/day=02/hour=05/late.json", oneSpan(traceA, "0000000000000005", "s5"))
	putFile(t, from, "a/year=2026/month=11/day=30/hour=22/x.json", oneSpan(traceA, "0000000000000006", "s6"))
	if c := at("2026-12-01T06:00:00Z", pipeline.IngestOptions{}); c.Listed != 4 || c.New != 1 {
		t.Errorf("second night: %d listed, %d new, want 4 and 1: old days are passed over", c.Listed, c.New)
	}
	if c := at("2026-12-02T06:00:00Z", pipeline.IngestOptions{}); c.New != 0 {
		t.Errorf("third night: %d new, want none", c.New)
	}
	if c := at("2026-12-08T06:00:00Z", pipeline.IngestOptions{}); c.Listed != 6 || c.New != 1 {
		t.Errorf("a week later: %d listed, %d new, want all 6 and the late one", c.Listed, c.New)
	}
	if c := at("2026-12-08T07:00:00Z", pipeline.IngestOptions{Full: true}); c.New != 6 || c.Written != 0 {
		t.Errorf("--full: %d read, %d written, want 6 and none", c.New, c.Written)
	}
	days, err := filepath.Glob(filepath.Join(data, "objects", "dt=*"))
	if err != nil || len(days) != 3 {
		t.Errorf("objects has days %v, want the three of the commits", days)
	}
}

// What --since passes over is found by the next ingest without it.
func TestIngestSinceSelectsObjects(t *testing.T) {
	from, data := filepath.Join(t.TempDir(), "in"), filepath.Join(t.TempDir(), "lake")
	putFile(t, from, "year=2026/month=11/day=20/hour=05/x.json", oneSpan(traceA, "0000000000000001", "s"))
	putFile(t, from, "year=2026/month=11/day=30/hour=05/x.json", oneSpan(traceA, "0000000000000002", "s"))
	cfg := config(t, from, data)
	cfg.Ingest.Since = "2d"
	if c := mustIngest(t, cfg, pipeline.IngestOptions{}).Counts; c.New != 1 {
		t.Errorf("--since 2d read %d objects, want 1", c.New)
	}
	if c := mustIngest(t, config(t, from, data), pipeline.IngestOptions{}).Counts; c.New != 1 {
		t.Errorf("without --since %d objects were new, want the other one", c.New)
	}
}

// A data root inside the archive is no part of it.
func TestIngestSkipsDataInsideTheArchive(t *testing.T) {
	from := t.TempDir()
	putFile(t, from, "x.json", oneSpan(traceA, spanA, "s"))
	data := filepath.Join(from, "lake")
	mustIngest(t, config(t, from, data), pipeline.IngestOptions{})
	if c := mustIngest(t, config(t, from, data), pipeline.IngestOptions{Full: true}).Counts; c.Listed != 1 {
		t.Errorf("%d objects listed, want 1: tables were read as an archive", c.Listed)
	}
}

// Keys in a template of the user's own.
func TestIngestKeyTimeLayout(t *testing.T) {
	from, data := filepath.Join(t.TempDir(), "in"), filepath.Join(t.TempDir(), "lake")
	putFile(t, from, "logs-2026-10-01.json", oneSpan(traceA, "0000000000000001", "s"))
	run := func(asOf, layout string) (pipeline.IngestCounts, error) {
		cfg := &pipeline.Config{Data: data, AsOf: asOf, Sources: []pipeline.Source{{URI: from, KeyTimeLayout: layout}}}
		if err := cfg.Complete(time.Now()); err != nil {
			return pipeline.IngestCounts{}, err
		}
		sum, err := pipeline.Ingest(t.Context(), cfg, pipeline.IngestOptions{}, quiet())
		if err != nil {
			return pipeline.IngestCounts{}, err
		}
		return sum.Counts, nil
	}
	if c, err := run("2026-11-30T06:00:00Z", "logs-%Y-%m-%d"); err != nil || c.New != 1 {
		t.Fatalf("got %d objects, %v", c.New, err)
	}
	putFile(t, from, "logs-2026-10-02.json", oneSpan(traceA, "0000000000000002", "s"))
	putFile(t, from, "logs-2026-11-30.json", oneSpan(traceA, "0000000000000003", "s"))
	if c, err := run("2026-12-01T06:00:00Z", "logs-%Y-%m-%d"); err != nil || c.Listed != 1 || c.New != 1 {
		t.Errorf("got %d listed, %d new, %v, want the newest only", c.Listed, c.New, err)
	}
	for _, bad := range []string{"%Y-%j", "%Y", "%H%M%S", "%"} {
		var exit *pipeline.ExitError
		if _, err := run("2026-12-01T06:00:00Z", bad); !errors.As(err, &exit) || exit.Code != pipeline.ExitUsage {
			t.Errorf("key_time_layout %q: %v, want a usage error", bad, err)
		}
	}
}

// A root in a place that cannot be opened is a mistake of configuration, not of a service.
func TestRootsThatCannotBeOpened(t *testing.T) {
	for _, uri := range []string{"gs://bucket/archive", "az://x/y", "https://example.com/a", "s3:///a"} {
		for _, cfg := range []*pipeline.Config{config(t, uri, filepath.Join(t.TempDir(), "lake")), config(t, t.TempDir(), uri)} {
			_, err := pipeline.Ingest(t.Context(), cfg, pipeline.IngestOptions{}, quiet())
			if code := pipeline.Exit(io.Discard, err); code != pipeline.ExitUsage {
				t.Errorf("%s: exit %d, %v; want %d", uri, code, err, pipeline.ExitUsage)
			}
		}
	}
}

// Tables are no archive: a source that is the data root, however it is written, is a wrong flag and nothing is committed.
func TestSourceIsNotTheDataRoot(t *testing.T) {
	data := filepath.Join(t.TempDir(), "lake")
	for _, from := range []string{data, data + "/", filepath.Dir(data) + "/./lake", "file://" + data} {
		cfg := config(t, from, data)
		_, err := pipeline.Ingest(t.Context(), cfg, pipeline.IngestOptions{}, quiet())
		var exit *pipeline.ExitError
		if !errors.As(err, &exit) || exit.Code != pipeline.ExitUsage {
			t.Errorf("--from %s: %v, want exit %d", from, err, pipeline.ExitUsage)
		}
		if left, _ := filepath.Glob(filepath.Join(data, "_commits", "*")); len(left) > 0 {
			t.Errorf("--from %s: left commits %v", from, left)
		}
	}
}
