// Package archive turns the bytes of one object of an archive into documents: it peels compression, finds the framing and
// cuts the content into JSON values and protobuf messages. It trusts bytes only, never a name or a content type.
//
// Bad input is no error: what cannot be used is a Problem with its place, and never costs a valid neighbour. Every
// decompressed byte is accounted for: it lies in a document, in a problem, or is a separator (white space, commas and
// brackets between documents, frame headers, log line times).
//
// The package does not know what a span is; package otlp reads the documents.
package archive

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
)

// Encoding is how a document is written.
type Encoding uint8

// The encodings of documents.
const (
	JSON Encoding = iota + 1
	Proto
)

// Format names a way in which an object or a part of it is written, for reports.
type Format string

// Framings, as in Result.Framing.
const (
	FramingJSON       Format = "json"              // JSON values one after another, or in arrays
	FramingCloudWatch Format = "cloudwatch_export" // lines of a time and a JSON value
	FramingLength     Format = "length_prefixed"   // four bytes of length, big-endian, before each message
	FramingVarint     Format = "varint_delimited"  // a varint of length before each message
	FramingProto      Format = "proto"             // one protobuf message, or several glued together
)

// Document is one JSON value or one protobuf message.
//
// Data aliases the object's bytes or a buffer made of them. It is valid until each returns, which may overwrite it.
type Document struct {
	Data      []byte
	Offset    int64 // in the decompressed bytes
	Encoding  Encoding
	Truncated bool // the document ends early
}

// Problem is a part of an object that is no document.
type Problem struct {
	Offset, Length int64  // in the decompressed bytes; length 0 is a place where compressed bytes were lost
	Reason         string // one line: what is wrong and the mend; no content
	DetectedFormat string
}

// Result is what was found in an object.
type Result struct {
	Layers   []string // compressions, outermost first; of framed messages as well, last
	Framing  Format   // "" when there is none
	BytesOut int64    // decompressed; = DocumentBytes + ProblemBytes + SeparatorBytes
	Problems []Problem
	Empty    bool // nothing, or white space only

	Documents      int64
	DocumentBytes  int64
	ProblemBytes   int64
	SeparatorBytes int64
}

// Options bound what an object can cost. Zero values are the defaults.
type Options struct {
	MaxDecompressed int64  // decompressed bytes of one object, default 1 GiB
	MaxDepth        int    // layers of compression, default 3
	MaxDocument     int64  // bytes of one document, default MaxDecompressed; of a stream 64 MiB
	DocumentLimit   string // what a user sets to raise MaxDocument, for reasons
	Fit             bool   // an object over MaxDecompressed is ErrTooLarge, and no document of it is handed over

	chunk int // of streams, for tests
}

// ErrTooLarge is an object that does not fit.
var ErrTooLarge = errors.New("over the limit of decompressed bytes")

func (o Options) limitName() string { return cmp.Or(o.DocumentLimit, "the limit") }

func (o Options) withDefaults() Options {
	if o.MaxDecompressed <= 0 {
		o.MaxDecompressed = 1 << 30
	}
	if o.MaxDepth <= 0 {
		o.MaxDepth = 3
	}
	if o.MaxDocument <= 0 {
		o.MaxDocument = o.MaxDecompressed
	}
	return o
}

// Documents calls each with every document of an object, in the order of its bytes. name is used in errors only. The error
// is one of each, and ends the object. body may be overwritten by each, through Document.Data.
func Documents(name string, body []byte, opts Options, each func(Document) error) (Result, error) {
	r := &reader{name: name, opts: opts.withDefaults(), each: each}
	r.peel(body)
	if r.opts.Fit && r.over {
		return r.res, ErrTooLarge
	}
	r.res.BytesOut = int64(len(r.buf))
	r.read()
	return r.res, r.err
}

// reader is the state of one call of Documents.
type reader struct {
	name string
	opts Options
	each func(Document) error
	res  Result
	err  error // of each
	over bool  // decompressing ended at the limit

	buf    []byte // decompressed; of a stream the window
	feed   *feed  // of a stream
	breaks []int  // offsets in buf before which compressed bytes were lost
	shift  int64  // offset of buf in the decompressed bytes of the object; frames move it
}

// document hands over buf[start:end].
func (r *reader) document(start, end int, enc Encoding, truncated bool) {
	if r.err != nil {
		return
	}
	if int64(end-start) > r.opts.MaxDocument {
		r.problem(start, end, r.overDocument(), "")
		return
	}
	r.res.Documents++
	r.res.DocumentBytes += int64(end - start)
	doc := Document{Data: r.buf[start:end:end], Offset: r.shift + int64(start), Encoding: enc, Truncated: truncated}
	if err := r.each(doc); err != nil {
		r.err = fmt.Errorf("reading the document at byte %d of %s: %w", doc.Offset, r.name, err)
	}
}

// maxProblems of one object are listed; the last one stands for the rest.
const maxProblems = 1000

// problem notes buf[start:end] as unusable.
func (r *reader) problem(start, end int, reason string, detected string) {
	r.res.ProblemBytes += int64(end - start)
	p := Problem{Offset: r.shift + int64(start), Length: int64(end - start), Reason: reason, DetectedFormat: detected}
	if n := len(r.res.Problems); n > 0 {
		last := &r.res.Problems[n-1]
		if last.Reason == p.Reason && last.Offset+last.Length == p.Offset && p.Length > 0 {
			last.Length += p.Length
			return
		}
		if p.Length == 0 && last.Length == 0 && last.Offset == p.Offset {
			return // one loss, seen twice
		}
		if n >= maxProblems {
			last.Length += p.Length
			last.Reason = "many problems; this one stands for all that follow"
			return
		}
	}
	r.res.Problems = append(r.res.Problems, p)
}

// separator counts n bytes that only divide documents.
func (r *reader) separator(n int) { r.res.SeparatorBytes += int64(n) }

// read finds the framing of buf and cuts it.
func (r *reader) read() {
	b := r.buf
	if kind := compression(b); kind != "" {
		r.problem(0, len(b), fmt.Sprintf("more than %d layers of compression; decompress the object first", r.opts.MaxDepth), kind)
		return
	}
	if name := foreign(b); name != "" {
		r.problem(0, len(b), "the object is "+name+", which is not read; export it as OTLP JSON or protobuf", name)
		return
	}
	first := bytes.IndexFunc(b, notSpace)
	if first < 0 {
		r.separator(len(b))
		r.res.Empty = len(r.res.Problems) == 0
		return
	}
	switch {
	case jsonStart(b[first:]):
		r.res.Framing = FramingJSON
		r.stream(0, len(b))
	case stampLen(b[first:]) > 0:
		r.res.Framing = FramingCloudWatch
		r.stream(0, len(b))
	case lengthChain(b):
		r.res.Framing = FramingLength
		r.frames()
	case b[0] == '\n' && messageEnd(b) == len(b):
		r.res.Framing = FramingProto
		r.document(0, len(b), Proto, false)
	case varintChain(b):
		r.res.Framing = FramingVarint
		r.varints()
	case b[0] == '\n' && messageEnd(b) >= 0:
		r.res.Framing = FramingProto
		r.document(0, len(b), Proto, true)
	case wholeGroups(b) > 0: // malformed behind
		r.res.Framing = FramingProto
		r.document(0, len(b), Proto, true)
	case text(b) && lineWithJSON(b, 0) >= 0:
		r.res.Framing = FramingJSON
		if stampLen(b[lineWithJSON(b, 0):]) > 0 {
			r.res.Framing = FramingCloudWatch
		}
		r.stream(0, len(b))
	case text(b):
		r.problem(0, len(b), "the object is text without JSON; only exports of OTLP, CloudWatch, Tempo and Jaeger are read", "text")
	default:
		r.problem(0, len(b), "the object's bytes are of no known format; export it as OTLP JSON or protobuf", "unknown")
	}
}
