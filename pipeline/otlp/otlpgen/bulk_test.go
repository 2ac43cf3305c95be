package otlpgen

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

func bulkObjects(t *testing.T, o BulkOptions) ([][]byte, BulkResult) {
	t.Helper()
	dir := t.TempDir()
	result, err := WriteBulk(context.Background(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	var objects [][]byte
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var r io.Reader = bytes.NewReader(b)
		switch {
		case strings.HasSuffix(path, ".gz"):
			r, err = gzip.NewReader(r)
		case strings.HasSuffix(path, ".zst"):
			r, err = zstd.NewReader(r)
		}
		if err != nil {
			return err
		}
		plain, err := io.ReadAll(r)
		objects = append(objects, plain)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return objects, result
}

func TestBulkHoldsEverySpanOnce(t *testing.T) {
	for _, o := range []BulkOptions{
		{Spans: 1000, Format: FormatJSON, Objects: 3, Sessions: 70, Late: 0.1, BytesPerSpan: 900},
		{Spans: 1000, Format: FormatNDJSON, Compress: Gzip, Objects: 4, Sessions: 33, Services: 5, BytesPerSpan: 1200},
		{Spans: 1001, Format: FormatProto, Compress: Zstd, Objects: 7, Sessions: 1, Late: 0.5, BytesPerSpan: 1},
		{Spans: 5, Objects: 5, Sessions: 5, Late: 1},
		{Spans: 300, Objects: 2, Sessions: 9, Instrumented: true, NoContent: true},
		{Spans: 300, Objects: 2, Sessions: 9, Instrumented: true, BytesPerSpan: 9000},
	} {
		objects, result := bulkObjects(t, o)
		if len(objects) != o.Objects || result.Objects != o.Objects || result.Spans != o.Spans {
			t.Errorf("%+v: %d objects, result %+v", o, len(objects), result)
		}
		seen, sessions, roots := map[string]bool{}, map[string]bool{}, 0
		for _, doc := range objects {
			docs := [][]byte{doc}
			if o.Format == FormatNDJSON {
				docs = bytes.Split(bytes.TrimSpace(doc), []byte("\n"))
			}
			for _, d := range docs {
				traces, err := unmarshalTraces(o.Format, d)
				if err != nil {
					t.Fatalf("%+v: %v", o, err)
				}
				for _, rs := range traces.ResourceSpans().All() {
					for _, ss := range rs.ScopeSpans().All() {
						for _, s := range ss.Spans().All() {
							id := s.TraceID().String() + s.SpanID().String()
							if seen[id] {
								t.Fatalf("%+v: span %s twice", o, id)
							}
							seen[id] = true
							if s.ParentSpanID().IsEmpty() {
								roots++
							}
							v, _ := s.Attributes().Get("gen_ai.conversation.id")
							sessions[v.Str()] = true
						}
					}
				}
			}
		}
		if len(seen) != o.Spans || len(sessions) != o.Sessions || roots != o.Sessions {
			t.Errorf("%+v: %d spans, %d sessions, %d roots", o, len(seen), len(sessions), roots)
		}
	}
}

func unmarshalTraces(f Format, b []byte) (ptrace.Traces, error) {
	if f == FormatProto {
		return (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(b)
	}
	return (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(b)
}

func TestBulkIsAFunctionOfItsOptions(t *testing.T) {
	hash := func(seed uint64) (sum [32]byte) {
		h := sha256.New()
		objects, _ := bulkObjects(t, BulkOptions{Spans: 600, Objects: 3, Seed: seed, Compress: Zstd, Late: 0.05})
		for _, b := range objects {
			h.Write(b)
		}
		return [32]byte(h.Sum(nil))
	}
	first := hash(7)
	if first != hash(7) {
		t.Error("the same seed gave other bytes")
	}
	if first == hash(8) {
		t.Error("another seed gave the same bytes")
	}
}

func TestBulkSpanSize(t *testing.T) {
	for _, o := range []BulkOptions{
		{BytesPerSpan: 1500}, {BytesPerSpan: 4000}, {BytesPerSpan: 20000},
		{BytesPerSpan: 2300, NoContent: true}, {BytesPerSpan: 5000, NoContent: true}, {BytesPerSpan: 3000, Instrumented: true}, {BytesPerSpan: 9000, Instrumented: true},
	} {
		o.Spans, o.Objects = 400, 1
		_, result := bulkObjects(t, o)
		if got := int(result.PlainBytes) / result.Spans; got < o.BytesPerSpan*9/10 || got > o.BytesPerSpan*11/10 {
			t.Errorf("%+v: %d bytes a span", o, got)
		}
	}
}

func TestBulkOptionsAreChecked(t *testing.T) {
	for _, o := range []BulkOptions{{Spans: -1}, {Spans: 3, Sessions: 4}, {Spans: 3, Objects: 9}, {Late: 1.5}, {Format: "xml"}, {Compress: "lz4"}, {BytesPerSpan: 1 << 30}} {
		if _, err := WriteBulk(context.Background(), t.TempDir(), o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := WriteBulk(ctx, t.TempDir(), BulkOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

func BenchmarkBulkSpanJSON(b *testing.B) {
	w := &bulk{BulkOptions: BulkOptions{Spans: 1 << 20, Sessions: 1 << 15, BytesPerSpan: 2000, Services: 1}, order: newOrder(1<<20, 1<<15)}
	r := resource(str("service.name", "agent-1"))
	var buf []byte
	for b.Loop() {
		buf = AppendJSON(buf[:0], Traces, []Group{{Resource: r, Spans: []Span{w.span(w.order.next())}}})
	}
	b.SetBytes(int64(len(buf)))
}
