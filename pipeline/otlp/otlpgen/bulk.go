package otlpgen

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// Format of a bulk archive.
type Format string

// The formats.
const (
	FormatJSON   Format = "json"   // one request an object
	FormatNDJSON Format = "ndjson" // one request a line
	FormatProto  Format = "proto"  // one request an object
)

// BulkOptions say how large an archive is and what is in it. Zero values mean the defaults.
type BulkOptions struct {
	Spans        int         // 100,000
	BytesPerSpan int         // size of a span in OTLP JSON, about; 2,000
	Instrumented bool        // with the attributes of host, network and model call that instrumentation adds, an event, and text with lines and quotes
	NoContent    bool        // content capture is off: there are no messages, arguments and results, and more attributes instead
	Seed         uint64      //
	Format       Format      // json
	Compress     Compression // none
	Objects      int         // one for 2,000 spans
	Sessions     int         // one for 25 spans
	Services     int         // 3
	Late         float64     // share of the spans that come one object later; 0 to 1
}

func (o BulkOptions) withDefaults() (BulkOptions, error) {
	o.Spans = cmp.Or(o.Spans, 100_000)
	o.BytesPerSpan = cmp.Or(o.BytesPerSpan, 2000)
	o.Format = cmp.Or(o.Format, FormatJSON)
	o.Compress = cmp.Or(o.Compress, None)
	o.Objects = cmp.Or(o.Objects, max(1, o.Spans/2000))
	o.Sessions = cmp.Or(o.Sessions, max(1, o.Spans/25))
	o.Services = cmp.Or(o.Services, 3)
	switch {
	case o.Spans < 1 || o.BytesPerSpan < 1 || o.Objects < 1 || o.Sessions < 1 || o.Services < 1:
		return o, fmt.Errorf("otlpgen: spans, bytes per span, objects, sessions and services must be at least 1")
	case o.Sessions > o.Spans || o.Objects > o.Spans:
		return o, fmt.Errorf("otlpgen: %d spans are too few for %d sessions in %d objects", o.Spans, o.Sessions, o.Objects)
	case o.BytesPerSpan > 16<<20:
		return o, fmt.Errorf("otlpgen: %d bytes a span: want at most 16 MiB", o.BytesPerSpan)
	case !(o.Late >= 0 && o.Late <= 1):
		return o, fmt.Errorf("otlpgen: late share %v: want 0 to 1", o.Late)
	case o.Format != FormatJSON && o.Format != FormatNDJSON && o.Format != FormatProto:
		return o, fmt.Errorf("otlpgen: unknown format %q: want json, ndjson or proto", o.Format)
	}
	return o, nil
}

// BulkResult counts what was written.
type BulkResult struct {
	Objects, Spans, Late int
	PlainBytes, Bytes    int64 // before and after compression
}

// WriteBulk writes an archive of OTel GenAI sessions into dir, one object after the other. Its memory does not grow with
// the archive: a span is a function of its number, so a late one is kept as a number. The same options give the same bytes.
func WriteBulk(ctx context.Context, dir string, opts BulkOptions) (BulkResult, error) {
	o, err := opts.withDefaults()
	if err != nil {
		return BulkResult{}, err
	}
	b := &bulk{BulkOptions: o, dir: dir, order: newOrder(o.Spans, o.Sessions)}
	for i := range o.Objects {
		if err := ctx.Err(); err != nil {
			return b.result, fmt.Errorf("otlpgen: stopped before object %d of %d: %w", i+1, o.Objects, err)
		}
		if err := b.object(i); err != nil {
			return b.result, err
		}
	}
	return b.result, nil
}

// batchSpans is how many spans are encoded at a time.
const batchSpans = 64

// bulk is the state of writing.
type bulk struct {
	BulkOptions
	dir    string
	order  order
	late   []place // of the last object, due in the next
	result BulkResult

	places []place
	buf    []byte
}

// place is a span by its session and its number within it.
type place struct{ session, index int }

// object writes object i: what was late from the one before, then its share of the spans in order.
func (b *bulk) object(i int) (err error) {
	due := b.late
	b.late = nil
	first, end := share(b.Spans, b.Objects, i)
	at := b.order.start(first/max(1, b.Spans/b.Sessions), b.Sessions).Add(time.Hour)
	ext := map[Format]string{FormatJSON: "json", FormatNDJSON: "jsonl", FormatProto: "binpb"}[b.Format]
	key := at.Format("agents/year=2006/month=01/day=02/hour=15/minute=04/") + fmt.Sprintf("traces_%09d.%s%s", i, ext, b.Compress.suffix())
	path := filepath.Join(b.dir, filepath.FromSlash(key))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("otlpgen: make folder of %s: %w", key, err)
	}
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("otlpgen: create %s: %w", key, err)
	}
	defer func() {
		if cerr := f.Close(); err == nil && cerr != nil {
			err = fmt.Errorf("otlpgen: close %s: %w", key, cerr)
		}
	}()
	stored := &counter{w: f}
	out := bufio.NewWriterSize(stored, 1<<18)
	z, err := b.Compress.writer(out, false)
	if err != nil {
		return err
	}
	plain := &counter{w: z}
	if err := b.body(plain, due, first, end, i == b.Objects-1); err != nil {
		return fmt.Errorf("otlpgen: write %s: %w", key, err)
	}
	if err := z.Close(); err != nil {
		return fmt.Errorf("otlpgen: compress %s: %w", key, err)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("otlpgen: write %s: %w", key, err)
	}
	b.result.Objects++
	b.result.PlainBytes += plain.n
	b.result.Bytes += stored.n
	return nil
}

func (b *bulk) body(w io.Writer, due []place, first, end int, last bool) error {
	w = &document{w: w, format: b.Format}
	for _, p := range due {
		if err := b.add(w, p); err != nil {
			return err
		}
	}
	for n := first; n < end; n++ {
		p := b.order.next()
		r := random{state: b.Seed ^ uint64(p.session)<<24 ^ uint64(p.index)}
		if !last && float64(r.next()>>11)/(1<<53) < b.Late {
			b.late = append(b.late, p)
			b.result.Late++
			continue
		}
		if err := b.add(w, p); err != nil {
			return err
		}
	}
	if err := b.flush(w); err != nil {
		return err
	}
	return w.(*document).end()
}

func (b *bulk) add(w io.Writer, p place) error {
	if b.places = append(b.places, p); len(b.places) < batchSpans {
		return nil
	}
	return b.flush(w)
}

// flush encodes the collected spans, grouped by service as a collector's batch is.
func (b *bulk) flush(w io.Writer) error {
	if len(b.places) == 0 {
		return nil
	}
	groups := make([]Group, b.Services)
	for _, p := range b.places {
		g := &groups[p.session%b.Services]
		if g.Resource == nil {
			g.Resource = resource(str("service.name", "agent-"+decimal(p.session%b.Services+1)), str("deployment.environment.name", "bench"))
			g.Scope = Scope{Name: "gen_ai"}
		}
		g.Spans = append(g.Spans, b.span(p))
	}
	b.result.Spans += len(b.places)
	b.places = b.places[:0]
	b.buf = b.buf[:0]
	switch b.Format {
	case FormatJSON:
		b.buf = appendJSONResources(b.buf, Traces, groups)
	case FormatNDJSON:
		b.buf = append(AppendJSON(b.buf, Traces, groups), '\n')
	case FormatProto:
		b.buf = AppendProto(b.buf, Traces, groups)
	}
	_, err := w.Write(b.buf)
	return err
}

// document puts the pieces of a JSON request together; the other formats need nothing around them.
type document struct {
	w      io.Writer
	format Format
	pieces int
}

func (d *document) Write(p []byte) (int, error) {
	if d.format == FormatJSON {
		before := ","
		if d.pieces == 0 {
			before = `{"resourceSpans":[`
		}
		if _, err := io.WriteString(d.w, before); err != nil {
			return 0, err
		}
	}
	d.pieces++
	return d.w.Write(p)
}

func (d *document) end() error {
	if d.format != FormatJSON {
		return nil
	}
	text := `]}`
	if d.pieces == 0 {
		text = `{"resourceSpans":[]}`
	}
	_, err := io.WriteString(d.w, text)
	return err
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// share is the i-th of k parts of n things: [first, end).
func share(n, k, i int) (first, end int) {
	part, rest := n/k, n%k
	first = i*part + min(i, rest)
	end = first + part
	if i < rest {
		end++
	}
	return first, end
}
