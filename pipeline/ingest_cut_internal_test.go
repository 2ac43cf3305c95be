package pipeline

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tracejury/tracejury/pipeline/archive"
	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/schema"
)

// framing is one way to write the same few records in an object. Bodies are whole; tests cut them.
type framing struct {
	name, body string
	ends       []int // lengths at which a cut body is a whole one of fewer records
}

// cutDocs are two documents of two spans each, the same in JSON and protobuf.
func cutDocs(tb testing.TB) (docs, protos []string) {
	for d := range 2 {
		var spans []string
		for s := range 2 {
			spans = append(spans, fmt.Sprintf(`{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"b7ad6b716920333%d","name":"a \"b\" {[é","startTimeUnixNano":"1795900000000000000","attributes":[{"key":"session.id","value":{"stringValue":"s\\n"}}]}`, 2*d+s))
		}
		docs = append(docs, `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"svc"}}]},"scopeSpans":[{"scope":{"name":"sc"},"spans":[`+strings.Join(spans, ",")+`]}]}]}`)
		traces, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces([]byte(docs[d]))
		if err != nil {
			tb.Fatal(err)
		}
		p, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(traces)
		if err != nil {
			tb.Fatal(err)
		}
		protos = append(protos, string(p))
	}
	return docs, protos
}

func packGzip(parts ...string) string {
	var b bytes.Buffer
	for _, p := range parts {
		w := gzip.NewWriter(&b)
		_, _ = w.Write([]byte(p))
		_ = w.Close()
	}
	return b.String()
}

func packZstd(parts ...string) string {
	enc, _ := zstd.NewWriter(nil)
	defer enc.Close()
	var b []byte
	for _, p := range parts {
		b = append(b, enc.EncodeAll([]byte(p), nil)...)
	}
	return string(b)
}

func packLZ4(parts ...string) string {
	var b bytes.Buffer
	for _, p := range parts {
		w := lz4.NewWriter(&b)
		_, _ = w.Write([]byte(p))
		_ = w.Close()
	}
	return b.String()
}

func packLength(parts ...string) string {
	var b []byte
	for _, p := range parts {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(p))), p...)
	}
	return string(b)
}

func packVarint(parts ...string) string {
	var b []byte
	for _, p := range parts {
		b = append(binary.AppendUvarint(b, uint64(len(p))), p...)
	}
	return string(b)
}

// joined is the parts one after another, with the lengths at which one ends.
func joined(name, between string, parts ...string) framing {
	f := framing{name: name}
	for i, p := range parts {
		if i > 0 {
			f.body += between
		}
		f.body += p
		f.ends = append(f.ends, len(f.body))
	}
	return f
}

// framings is the same records in everything that archives hold.
func framings(tb testing.TB) []framing {
	d, p := cutDocs(tb)
	quote := func(s string) string { b, _ := json.Marshal(s); return string(b) }
	var flat, envelopes, stamped, stampedDocs []string
	for i := range 4 {
		flat = append(flat, fmt.Sprintf(`{"resource":{"attributes":{"service.name":"svc"}},"scope":{"name":"sc"},"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"b7ad6b716920333%d","kind":"SERVER","name":"a \"b\" {[é","startTimeUnixNano":1795900000000000000,"attributes":{"session.id":"s\\n"}}`, i))
		stamped = append(stamped, "2026-11-28T21:06:40.000Z "+flat[i])
	}
	for _, doc := range d {
		stampedDocs = append(stampedDocs, "2026-11-28T21:06:40.000Z "+doc)
	}
	for i := range 2 {
		envelopes = append(envelopes, `{"messageType":"DATA_MESSAGE","owner":"1","logGroup":"aws/spans","logStream":"default","subscriptionFilters":["f"],"logEvents":[{"id":"1","timestamp":1795900000000,"message":`+
			quote(flat[2*i])+`},{"id":"2","timestamp":1795900000000,"message":`+quote(flat[2*i+1])+`}]}`)
	}
	whole := func(name, body string) framing { return framing{name: name, body: body} }
	list := []framing{
		joined("NDJSON", "\n", d...), joined("NDJSON with CRLF", "\r\n", d...), joined("concatenated", "", d...),
		joined("pretty", "\n", pretty(tb, d[0]), pretty(tb, d[1])), joined("byte order mark", "", "\ufeff"+d[0], d[1]),
		whole("array", "["+d[0]+",\n"+d[1]+"]"), whole("a document", d[0]), whole("Tempo", strings.Replace(d[0], "resourceSpans", "batches", 1)),
		joined("aws/spans", "\n", flat...), joined("subscription", "", envelopes...), joined("export task", "\n", stamped...), joined("export task of documents", "\n", stampedDocs...),
		whole("protobuf", p[0]), joined("glued protobuf", "", p...),
		whole("Jaeger", `{"data":[{"traceID":"0af7651916cd43dd8448eb211c80319c","spans":[{"traceID":"0af7651916cd43dd8448eb211c80319c","spanID":"b7ad6b7169203330","operationName":"a","startTime":1795900000000000,"duration":5,"tags":[],"processID":"p1"},{"traceID":"0af7651916cd43dd8448eb211c80319c","spanID":"b7ad6b7169203331","operationName":"b","startTime":1795900000000000,"duration":5,"tags":[],"processID":"p1"}],"processes":{"p1":{"serviceName":"svc","tags":[]}}}]}`),
	}
	length := func(name string, parts ...string) framing {
		f := framing{name: name}
		for _, part := range parts {
			f.body += packLength(part)
			f.ends = append(f.ends, len(f.body))
		}
		return f
	}
	varint := joined("varint", "", packVarint(p[0]), packVarint(p[1]))
	list = append(list, length("length of JSON", d...), length("length of protobuf", p...), length("length of zstd", packZstd(d[0]), packZstd(p[1])), varint)
	lines := d[0] + "\n" + d[1] + "\n"
	list = append(list,
		whole("gzip", packGzip(lines)), joined("gzip members", "", packGzip(d[0]+"\n"), packGzip(d[1])), joined("gzip of envelopes", "", packGzip(envelopes[0]), packGzip(envelopes[1])),
		whole("gzip in gzip", packGzip(packGzip(lines))), whole("gzip in zstd", packZstd(packGzip(lines))), whole("gzip of protobuf", packGzip(p[0]+p[1])),
		whole("zstd", packZstd(lines)), joined("zstd frames", "", packZstd(d[0]), packZstd(d[1])), whole("zstd of lengths", packZstd(packLength(p...))),
		whole("lz4", packLZ4(lines)), whole("gzip in lz4", packLZ4(packGzip(lines))), whole("gzip of lengths of zstd", packGzip(packLength(packZstd(d[0]), packZstd(d[1])))), whole("gzip of an array", packGzip("["+d[0]+","+d[1]+"]")),
	)
	return list
}

func pretty(tb testing.TB, doc string) string {
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(doc), "", "  "); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

// cutReader decodes bodies as ingest does and says what became of each.
type cutReader struct {
	rd     *reader
	run    *ingestRun
	source *openSource
	rows   []schema.Span
}

func newCutReader(tb testing.TB) *cutReader {
	cfg := &Config{Data: tb.TempDir(), AsOf: "2026-11-30T06:00:00Z"}
	if err := cfg.Complete(time.Now()); err != nil {
		tb.Fatal(err)
	}
	st, err := store.Open(context.Background(), cfg.Data, store.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	c := &cutReader{run: &ingestRun{cfg: cfg, log: slog.New(slog.DiscardHandler), horizon: horizonOf(cfg.asOf, nil)}}
	c.source = &openSource{cfg: Source{Tenant: "default"}, store: st}
	if c.run.mask, err = cfg.masker(); err != nil {
		tb.Fatal(err)
	}
	c.rd = c.run.newReader(1<<20, func(s *spilled) error {
		row := s.row
		row.SourceIndex = 0
		for _, p := range s.tailStrings() {
			*p = strings.Clone(*p)
		}
		row = s.row
		row.TraceID, row.SpanID, row.Resource = strings.Clone(row.TraceID), strings.Clone(row.SpanID), strings.Clone(row.Resource)
		c.rows = append(c.rows, row)
		return nil
	})
	return c
}

func (c *cutReader) read(tb testing.TB, body string) (*objectResult, []string) {
	tb.Helper()
	c.rows = nil
	in := input{source: c.source, obj: store.Object{Key: "object", Size: int64(len(body))}}
	res := newObjectResult(in)
	err := c.rd.decode(context.Background(), in, res, func(each func(archive.Document) error) (archive.Result, error) {
		return archive.Documents("object", []byte(body), c.rd.options(), each)
	})
	if err != nil {
		tb.Fatal(err)
	}
	var ids []string
	for i := range c.rows { // not the hash: a resource may come behind its records, and be cut off
		ids = append(ids, c.rows[i].TraceID+c.rows[i].SpanID+c.rows[i].Name)
	}
	return res, ids
}

// An object that is cut anywhere, in whatever framing, gives the records before the cut, one row of quarantine that says from
// where to the end nothing could be read, and counts that add up. A cut between documents cannot be seen.
func TestCutAnywhereInEveryFraming(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine: nothing for the race detector")
	}
	c := newCutReader(t)
	for _, f := range framings(t) {
		t.Run(f.name, func(t *testing.T) {
			res, all := c.read(t, f.body)
			if len(all) == 0 || res.row.Quarantined != 0 || res.row.Status != "ok" {
				t.Fatalf("whole: %d records, %+v, %+v", len(all), res.row, res.quarantine)
			}
			for n := range len(f.body) {
				res, got := c.read(t, f.body[:n])
				row := res.row
				if row.Records != int64(len(got))+row.Quarantined || len(res.quarantine) != int(row.Quarantined) {
					t.Fatalf("cut at %d: %d records, %d kept, %d quarantined in %d rows", n, row.Records, len(got), row.Quarantined, len(res.quarantine))
				}
				if len(got) > len(all) || !slices.Equal(got, all[:len(got)]) {
					t.Errorf("cut at %d: %d records that are not the first of %d", n, len(got), len(all))
				}
				border := n == 0 || slices.Contains(f.ends, n)
				if want := int64(1); row.Quarantined != want && !(border && row.Quarantined == 0) && !blank(f.body, n, f.ends) {
					t.Errorf("cut at %d of %d: %d rows of quarantine %+v", n, len(f.body), row.Quarantined, res.quarantine)
				}
				for _, q := range res.quarantine {
					if q.Offset+q.Length != row.BytesIn {
						t.Errorf("cut at %d: quarantined %d bytes from %d of %d: %s", n, q.Length, q.Offset, row.BytesIn, q.Reason)
					}
				}
			}
		})
	}
}

// blank is whether what a cut at n leaves behind the last whole part is white space or a mark of the byte order.
func blank(body string, n int, ends []int) bool {
	from := 0
	for _, e := range ends {
		if e <= n {
			from = e
		}
	}
	return strings.Trim(body[from:n], " \r\n\ufeff") == ""
}

// A defect in reading one object costs that object's rest, never the run.
func TestDefectInOneObject(t *testing.T) {
	c := newCutReader(t)
	keep, n := c.rd.keep, 0
	c.rd.keep = func(s *spilled) error {
		if n++; n == 2 {
			panic("index out of range")
		}
		return keep(s)
	}
	docs, _ := cutDocs(t)
	res, got := c.read(t, docs[0]+docs[1])
	if len(got) != 1 || res.row.Records != 2 || res.row.Status != "partial" || len(res.quarantine) != 1 || !strings.Contains(res.quarantine[0].Reason, "index out of range") {
		t.Errorf("%d records, %+v, %+v", len(got), res.row, res.quarantine)
	}
}

// Layers of compression have a limit of their own, which has nothing to do with how deep attributes nest.
func TestLayersOfCompressionAreLimited(t *testing.T) {
	c := newCutReader(t)
	docs, _ := cutDocs(t)
	body := docs[0]
	for n := 1; n <= 4; n++ {
		body = packGzip(body)
		if res, got := c.read(t, body); (len(got) == 2) != (n <= 3) || res.row.Quarantined != int64(n/4) {
			t.Errorf("%d layers: %d records, %+v", n, len(got), res.quarantine)
		}
	}
}
