package pipeline_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/tracejury/tracejury/pipeline"
	"github.com/tracejury/tracejury/pipeline/session"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// The same documents in every framing are the same tables.
func TestIngestFramingsAreOneTable(t *testing.T) {
	var docs []string
	for i := range 12 {
		docs = append(docs, oneSpan(fmt.Sprintf("%032x", 7+i/4), fmt.Sprintf("%016x", i+1), map[bool]string{true: fmt.Sprint("s", i/6)}[i%4 == 3]))
	}
	gz := func(parts ...string) string {
		var b bytes.Buffer
		for _, p := range parts { // a member each
			w := gzip.NewWriter(&b)
			_, _ = w.Write([]byte(p))
			_ = w.Close()
		}
		return b.String()
	}
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer enc.Close()
	length := ""
	for _, d := range docs {
		length += string(binary.BigEndian.AppendUint32(nil, uint32(len(d)))) + d
	}
	all := strings.Join(docs, "\n") + "\n"
	var want map[string]string
	for _, f := range []struct{ name, body string }{
		{"ndjson", all}, {"concatenated", strings.Join(docs, "")}, {"pretty", strings.ReplaceAll(strings.Join(docs, "\n\n"), `,"`, ",\n  \"")},
		{"array", "[" + strings.Join(docs, ",\n") + "]"}, {"bom", "\ufeff" + all}, {"gzip", gz(all)}, {"gzip members", gz(docs...)}, {"gzip twice", gz(gz(all))},
		{"zstd", string(enc.EncodeAll([]byte(all), nil))}, {"length prefix", length},
	} {
		from, data := filepath.Join(t.TempDir(), "in"), filepath.Join(t.TempDir(), "lake")
		putFile(t, from, "object", f.body)
		if c := mustIngest(t, config(t, from, data), pipeline.IngestOptions{}).Counts; c.Written != 12 || c.Quarantined != 0 {
			t.Errorf("%s: %d written, %d quarantined, want 12 and none", f.name, c.Written, c.Quarantined)
		}
		got := tree(t, data, sessionTables...)
		if want == nil {
			want = got
		}
		t.Run(f.name, func(t *testing.T) { diffTrees(t, got, want) })
	}
}

// rows reads a table.
func rows[T any](tb testing.TB, data, prefix string) []T {
	tb.Helper()
	var all []T
	for key := range tree(tb, data, prefix) {
		raw, err := os.ReadFile(filepath.Join(data, filepath.FromSlash(key)))
		if err != nil {
			tb.Fatal(err)
		}
		got, err := table.Decode[T](raw)
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, got...)
	}
	return all
}

// An id that arrives last, on a leaf of a trace that was a session of its own, moves all of it; so does an earlier start.
func TestIngestMovesSessions(t *testing.T) {
	from, data := filepath.Join(t.TempDir(), "in"), filepath.Join(t.TempDir(), "lake")
	putFile(t, from, "1.json", oneSpan(traceA, "0000000000000001", ""))
	mustIngest(t, config(t, from, data), pipeline.IngestOptions{})
	putFile(t, from, "2.json", oneSpan(traceA, "0000000000000002", "late"))
	sum := mustIngest(t, config(t, from, data), pipeline.IngestOptions{})
	old, now := session.Key("default", "", traceA), session.Key("default", "svc", "late")
	if moved := rows[schema.SessionMoved](t, data, "sessions_moved/"); len(moved) != 1 || moved[0].OldKey != old || moved[0].NewKey != now || sum.Counts.Moved != 1 {
		t.Errorf("sessions_moved %+v, want %s to %s", moved, old, now)
	}
	early := strings.ReplaceAll(oneSpan("1af7651916cd43dd8448eb211c80319c", "0000000000000003", "late"), "17959", "17957")
	putFile(t, from, "3.json", early)
	mustIngest(t, config(t, from, data), pipeline.IngestOptions{})
	got := rows[schema.Session](t, data, "sessions/")
	if len(got) != 1 || got[0].SessionKey != now || len(got[0].TraceIDs) != 2 {
		t.Errorf("sessions %+v, want one with both traces", got)
	}
	for _, s := range rows[schema.Span](t, data, "spans/") {
		if s.SessionKey != now {
			t.Errorf("span %s is left in session %s", s.SpanID, s.SessionKey)
		}
	}
	for key := range tree(t, data, "spans/") {
		if !strings.Contains(key, "dt=2026-11-27") && !strings.Contains(key, "dt=2026-11-26") {
			t.Errorf("%s: the session lies on its first day only", key)
		}
	}
	fresh := filepath.Join(t.TempDir(), "lake")
	mustIngest(t, config(t, from, fresh), pipeline.IngestOptions{})
	diffTrees(t, tree(t, data, sessionTables...), tree(t, fresh, sessionTables...))
}

// One id at two tenants is two sessions, each in its place.
func TestIngestKeepsTenantsApart(t *testing.T) {
	dir, data := t.TempDir(), filepath.Join(t.TempDir(), "lake")
	for _, tenant := range []string{"a", "b"} {
		putFile(t, filepath.Join(dir, tenant), "x.json", oneSpan(traceA, spanA, "same")+oneSpan("1af7651916cd43dd8448eb211c80319c", "0000000000000003", "other"))
	}
	cfg := config(t, filepath.Join(dir, "a"), data)
	cfg.Sources = []pipeline.Source{{URI: filepath.Join(dir, "b"), Tenant: "b"}, {URI: filepath.Join(dir, "a"), Tenant: "a"}}
	sum := mustIngest(t, cfg, pipeline.IngestOptions{})
	if sum.Counts.Written != 4 || sessions(t, data) != 4 {
		t.Errorf("%d records, %d sessions, want 4 and 4", sum.Counts.Written, sessions(t, data))
	}
}

// Of two ingests at once on one root one works and the other names it and exits 6, or finds nothing left to do.
func TestIngestTwoAtOnce(t *testing.T) {
	data := filepath.Join(t.TempDir(), "lake")
	errs := make([]error, 2)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			_, errs[i] = pipeline.Ingest(context.Background(), config(t, demoArchive, data), pipeline.IngestOptions{}, quiet())
		})
	}
	wg.Wait()
	for _, err := range errs {
		var exit *pipeline.ExitError
		if err != nil && (!errors.As(err, &exit) || exit.Code != pipeline.ExitLocked) {
			t.Errorf("got %v, want exit 6", err)
		}
	}
	if errs[0] != nil && errs[1] != nil {
		t.Error("both gave up")
	}
	fresh := filepath.Join(t.TempDir(), "lake")
	mustIngest(t, config(t, demoArchive, fresh), pipeline.IngestOptions{})
	diffTrees(t, tree(t, data, sessionTables...), tree(t, fresh, sessionTables...))
}
