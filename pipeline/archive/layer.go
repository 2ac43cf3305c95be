package archive

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// compressions are told by their first bytes.
const (
	gzipMagic = "\x1f\x8b"
	zstdMagic = "\x28\xb5\x2f\xfd"
	lz4Magic  = "\x04\x22\x4d\x18"
)

// maxWindow is the memory that one zstd frame may ask for, that of zstd --long.
const maxWindow = 128 << 20

// compression is the name of b's compression, "" if it has none.
func compression(b []byte) string {
	switch {
	case bytes.HasPrefix(b, []byte(gzipMagic)):
		return "gzip"
	case bytes.HasPrefix(b, []byte(zstdMagic)), skippable(b):
		return "zstd"
	case bytes.HasPrefix(b, []byte(lz4Magic)):
		return "lz4"
	}
	return ""
}

// skippable is whether b begins with a frame that zstd and lz4 decoders pass over.
func skippable(b []byte) bool {
	return len(b) >= 8 && b[0]&0xf0 == 0x50 && string(b[1:4]) == "\x2a\x4d\x18"
}

// peel decompresses body, layer by layer, into r.buf.
func (r *reader) peel(body []byte) {
	r.buf = body
	for depth := 0; ; depth++ {
		kind := compression(r.buf)
		if kind == "" || depth == r.opts.MaxDepth {
			return
		}
		r.res.Layers = append(r.res.Layers, kind)
		in, outer := r.buf, len(r.res.Problems)
		r.buf, r.breaks = nil, nil
		p := &peeler{r: r, kind: kind, in: in}
		p.run()
		r.buf = p.out
		r.moveLosses(outer, int64(len(in)), int64(len(r.buf)))
	}
}

// moveLosses moves the first n problems, the losses of outer layers, from the input of a layer into its output: a loss at the end
// stays one at the end, any other has no exact place there. What several layers say of one place is one loss.
func (r *reader) moveLosses(n int, inputEnd, end int64) {
	kept := r.res.Problems[:0]
	seen := map[int64]bool{}
	for i, p := range r.res.Problems {
		if i < n {
			if p.Offset >= inputEnd {
				p.Offset = end
			}
			p.Offset = min(p.Offset, end)
		}
		if p.Length > 0 || !seen[p.Offset] {
			kept = append(kept, p)
		}
		seen[p.Offset] = seen[p.Offset] || p.Length == 0
	}
	r.res.Problems = kept
}

// peeler undoes one layer: a sequence of gzip members, zstd frames or lz4 frames, some of which may be broken.
type peeler struct {
	r    *reader
	kind string
	in   []byte
	out  []byte
	zstd *zstd.Decoder
	gzip *gzip.Reader
	lz4  *lz4.Reader
}

func (p *peeler) run() {
	defer func() {
		if p.zstd != nil {
			p.zstd.Close()
		}
	}()
	for at := 0; at < len(p.in); {
		rest := p.in[at:]
		if len(bytes.Trim(rest, "\x00")) == 0 && at > 0 { // padding
			return
		}
		if skippable(rest) {
			size := int(rest[4]) | int(rest[5])<<8 | int(rest[6])<<16 | int(rest[7])<<24
			if size < 0 || 8+size > len(rest) {
				p.broken(at, "ends in a skippable frame")
				return
			}
			at += 8 + size
			continue
		}
		if compression(rest) != p.kind {
			next := p.resync(at + 1)
			p.broken(at, fmt.Sprintf("has %d bytes between its parts that are no %s", next-at, p.kind))
			at = next
			continue
		}
		n, err := p.member(rest)
		switch {
		case err == nil && n > 0:
			at += n
			continue
		case errors.Is(err, ErrTooLarge):
			p.r.over = true
			p.r.problem(len(p.out), len(p.out), p.r.overLimit(), p.kind)
			return
		}
		next := len(p.in)
		if p.kind != "gzip" || !errors.Is(err, io.ErrUnexpectedEOF) { // else nothing is left: what looks like a member is one inside this
			next = p.resync(at + 1)
		}
		if next == len(p.in) && (errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)) {
			p.broken(next, "ends early: it was cut")
		} else {
			p.broken(at, "is damaged in what begins")
		}
		at = next
	}
}

// broken notes a loss of compressed bytes at the current end of the output. What was decompressed before stays.
func (p *peeler) broken(at int, what string) {
	n := len(p.out)
	p.r.breaks = append(p.r.breaks, n)
	p.r.problem(n, n, fmt.Sprintf("the %s stream %s at byte %d of %d; what could be decompressed is used; upload the object again", p.kind, what, at, len(p.in)), p.kind)
}

// resync is the offset of the next thing that begins like a member or frame, len(in) if there is none.
func (p *peeler) resync(from int) int {
	magic := map[string]string{"gzip": gzipMagic + "\x08", "zstd": zstdMagic, "lz4": lz4Magic}[p.kind]
	if from < len(p.in) {
		if n := bytes.Index(p.in[from:], []byte(magic)); n >= 0 {
			return from + n
		}
	}
	return len(p.in)
}

// member decompresses the first member or frame of b and is the number of its bytes.
func (p *peeler) member(b []byte) (int, error) {
	src := bytes.NewReader(b)
	var dec io.Reader
	size := len(b)
	switch p.kind {
	case "gzip":
		if p.gzip == nil {
			p.gzip = new(gzip.Reader)
		}
		if err := p.gzip.Reset(src); err != nil {
			return 0, err
		}
		p.gzip.Multistream(false)
		dec = p.gzip
	case "zstd":
		n, whole := zstdFrame(b)
		if whole {
			src, size = bytes.NewReader(b[:n]), n
		}
		if err := p.openZstd(src); err != nil {
			return 0, err
		}
		err := p.drain(p.zstd)
		return size, err
	default:
		if p.lz4 == nil {
			p.lz4 = lz4.NewReader(src)
		} else {
			p.lz4.Reset(src)
		}
		dec = p.lz4
	}
	err := p.drain(dec)
	return size - src.Len(), err
}

func (p *peeler) openZstd(src io.Reader) (err error) {
	if p.zstd == nil {
		p.zstd, err = zstd.NewReader(src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		return err
	}
	return p.zstd.Reset(src)
}

// drain appends what dec gives, up to the limit.
func (p *peeler) drain(dec io.Reader) error {
	for {
		if cap(p.out)-len(p.out) < 512 {
			p.out = append(p.out, make([]byte, max(len(p.out), 4*len(p.in), 4096))...)[:len(p.out)]
		}
		room := p.out[len(p.out):cap(p.out)]
		left := p.r.opts.MaxDecompressed - int64(len(p.out))
		if int64(len(room)) > left+1 {
			room = room[:left+1]
		}
		n, err := dec.Read(room)
		p.out = p.out[:len(p.out)+n]
		if int64(len(p.out)) > p.r.opts.MaxDecompressed {
			p.out = p.out[:p.r.opts.MaxDecompressed]
			return ErrTooLarge
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// zstdFrame is the length of the zstd frame that b begins with, told from its headers alone; whole is false if it is cut
// or malformed.
func zstdFrame(b []byte) (n int, whole bool) {
	var h zstd.Header
	if h.Decode(b) != nil || h.Skippable {
		return 0, false
	}
	at := h.HeaderSize
	for {
		if at+3 > len(b) {
			return 0, false
		}
		block := int(b[at]) | int(b[at+1])<<8 | int(b[at+2])<<16
		size := block >> 3
		switch block >> 1 & 3 {
		case 1:
			size = 1 // one byte, repeated
		case 3:
			return 0, false
		}
		at += 3 + size
		if block&1 == 1 {
			break
		}
	}
	if h.HasCheckSum {
		at += 4
	}
	return at, at <= len(b)
}
