package archive

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
)

const (
	// lookahead is how many bytes telling one thing from another may want: a time before a value is the longest.
	lookahead = 64
	// defaultChunk is what is read at a time at least.
	defaultChunk = 64 << 10
	// defaultDocument is the largest document of a stream.
	defaultDocument = 64 << 20
)

// Stream is [Documents] for an object that is too large to hold: it reads body once and keeps a window of it, which holds the
// document at hand and no more than opts.MaxDocument bytes. A larger document is a problem that names the limit. Where an object is
// damaged, less may be salvaged than by Documents, which sees all of it. The error is one of each or of body.
func Stream(name string, body io.Reader, opts Options, each func(Document) error) (Result, error) {
	opts.MaxDocument = cmp.Or(opts.MaxDocument, defaultDocument)
	r := &reader{name: name, opts: opts.withDefaults(), each: each}
	src := r.unpack(body)
	r.feed = &feed{in: src}
	r.readWindows()
	r.res.BytesOut += r.feed.framed
	if err := src.edge.err; err != nil && r.err == nil {
		r.err = fmt.Errorf("read %s: %w", name, err)
	}
	return r.res, r.err
}

// feed is where the windows of a stream come from.
type feed struct {
	in     *source
	total  int64 // bytes taken
	framed int64 // what frames hold more, or less, than their compressed form
	done   bool  // there is no more
	broken bool  // bytes were lost behind the window
}

// refill drops the window's first keep bytes and takes want more into it: fewer at the end, before a loss, and when the window is as
// large as it may be. It is false when nothing came.
func (r *reader) refill(keep, want int) bool {
	f := r.feed
	if f == nil {
		return false
	}
	n := copy(r.buf, r.buf[keep:])
	r.buf = r.buf[:n]
	r.shift += int64(keep)
	if f.done || f.broken || r.err != nil {
		return false
	}
	want = min(max(want, r.chunk(), n), r.windowSize()-n)
	limited := int64(want) >= r.opts.MaxDecompressed-f.total
	if limited {
		want = int(r.opts.MaxDecompressed - f.total)
	}
	if want <= 0 && !limited {
		return false
	}
	r.buf = slices.Grow(r.buf, want)
	got, err := io.ReadFull(f.in, r.buf[n:n+want])
	r.buf = r.buf[:n+got]
	f.total += int64(got)
	r.res.BytesOut += int64(got)
	var lost *loss
	switch {
	case errors.As(err, &lost):
		r.problem(len(r.buf), len(r.buf), lost.reason, lost.kind)
		f.broken = true
		f.in.pass()
	case err != nil:
		f.done = true // the end, or an error that Stream returns
	case limited:
		if _, err := f.in.Peek(1); err == nil {
			r.problem(len(r.buf), len(r.buf), r.overLimit(), "")
		}
		f.done = true
	}
	return got > 0
}

func (r *reader) chunk() int { return cmp.Or(r.opts.chunk, defaultChunk) }

// windowSize is the most that a window holds.
func (r *reader) windowSize() int { return int(min(r.opts.MaxDocument, 1<<40)) + lookahead }

// ensure has at least n bytes of the window from at on, unless the segment ends before.
func (r *reader) ensure(at *int, n int) {
	for more := true; more && len(r.buf)-*at < n; {
		more = r.refill(*at, n-(len(r.buf)-*at))
		*at = 0 // what is left was moved in any case
	}
}

// readWindows finds the framing of the first window and cuts the object by it.
func (r *reader) readWindows() {
	at := 0
	for {
		r.ensure(&at, r.chunk())
		first := bytes.IndexFunc(r.buf[at:], notSpace)
		if first >= 0 {
			break
		}
		r.separator(len(r.buf) - at)
		if at = len(r.buf); r.feed.done {
			r.res.Empty = len(r.res.Problems) == 0
			return
		}
		if r.feed.broken = false; !r.refill(at, r.chunk()) && !r.feed.broken {
			r.res.Empty = len(r.res.Problems) == 0
			return
		}
		at = 0
	}
	b := r.buf
	first := bytes.IndexFunc(b, notSpace)
	kind, name := compression(b), foreign(b)
	switch {
	case kind != "":
		r.rest(fmt.Sprintf("more than %d layers of compression; decompress the object first", r.opts.MaxDepth), kind)
	case name != "":
		r.rest("the object is "+name+", which is not read; export it as OTLP JSON or protobuf", name)
	case jsonStart(b[first:]):
		r.res.Framing = FramingJSON
		r.windows()
	case stampLen(b[first:]) > 0:
		r.res.Framing = FramingCloudWatch
		r.windows()
	case lengthChain(b):
		r.res.Framing = FramingLength
		r.frameWindows()
	case varintChain(b):
		r.res.Framing = FramingVarint
		r.varintWindows()
	case b[0] == '\n' && messageEnd(b) >= 0 || wholeGroups(b) > 0:
		r.res.Framing = FramingProto
		r.protoWindows()
	case text(b) && lineWithJSON(b, 0) >= 0:
		r.res.Framing = FramingJSON
		if stampLen(b[lineWithJSON(b, 0):]) > 0 {
			r.res.Framing = FramingCloudWatch
		}
		r.windows()
	case text(b):
		r.rest("the object is text without JSON; only exports of OTLP, CloudWatch, Tempo and Jaeger are read", "text")
	default:
		r.rest("the object's bytes are of no known format; export it as OTLP JSON or protobuf", "unknown")
	}
}

// rest is a problem to the end of the object.
func (r *reader) rest(reason, detected string) {
	for {
		r.problem(0, len(r.buf), reason, detected)
		if r.feed.broken = false; !r.refill(len(r.buf), r.chunk()) && !r.feed.broken {
			return
		}
	}
}

// windows cuts JSON. Where bytes were lost, nothing that began before goes on behind.
func (r *reader) windows() {
	for {
		r.segment(0, len(r.buf))
		r.refill(len(r.buf), 0)
		if !r.feed.broken || r.err != nil {
			return
		}
		r.feed.broken = false
		r.refill(0, r.chunk())
	}
}

// overLimit says that the object is too large.
func (r *reader) overLimit() string {
	return fmt.Sprintf("decompresses to more than the limit of %d bytes; raise the limit, or write smaller objects", r.opts.MaxDecompressed)
}

// overDocument says that a document is too large.
func (r *reader) overDocument() string {
	return fmt.Sprintf("one document is larger than the limit of %d bytes; raise %s, or write smaller batches", r.opts.MaxDocument, r.opts.limitName())
}
