package archive

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// loss is the error of a reader behind which the bytes do not go on where they ended: some were lost. Reading may go on.
type loss struct{ reason, kind string }

func (l *loss) Error() string { return l.reason }

// source is one layer's input, buffered.
type source struct {
	*bufio.Reader
	edge *edge
}

func newSource(in io.Reader) *source {
	e := &edge{in: in}
	return &source{Reader: bufio.NewReaderSize(e, defaultChunk), edge: e}
}

// pass goes on behind a loss.
func (s *source) pass() { s.edge.loss = nil }

// edge keeps a loss until it is passed, since those who read forget errors that they look past. Other errors stay.
type edge struct {
	in   io.Reader
	loss *loss
	err  error // neither a loss nor the end
	at   int64 // bytes that were read
}

func (e *edge) Read(p []byte) (int, error) {
	switch {
	case e.loss != nil:
		return 0, e.loss
	case e.err != nil:
		return 0, e.err
	}
	n, err := e.in.Read(p)
	e.at += int64(n)
	switch {
	case err == nil || errors.Is(err, io.EOF):
	case errors.As(err, &e.loss):
	default:
		e.err = err
	}
	return n, err
}

// unpack undoes the layers of compression of body.
func (r *reader) unpack(body io.Reader) *source {
	in := newSource(body)
	for range r.opts.MaxDepth {
		head, _ := in.Peek(8) // fewer at the end
		kind := compression(head)
		if kind == "" {
			break
		}
		r.res.Layers = append(r.res.Layers, kind)
		in = newSource(&unpacker{in: in, kind: kind})
	}
	return in
}

// unpacker undoes one layer: a sequence of gzip members, zstd frames or lz4 frames, some of which may be broken. Broken ones end in a
// loss; of what several layers lose in one place the outermost is told.
type unpacker struct {
	in     *source
	kind   string
	dec    io.Reader // of the member at hand
	began  int64     // where it begins
	parts  int       // members so far
	lost   bool      // looking for the next member after a loss that was told
	failed error     // of dec, to be told when what came with it was read

	gzip *gzip.Reader
	zstd *zstd.Decoder
	lz4  *lz4.Reader
}

// at is the offset in the layer's input.
func (u *unpacker) at() int64 { return u.in.edge.at - int64(u.in.Buffered()) }

func (u *unpacker) Read(p []byte) (int, error) {
	for {
		if u.failed != nil {
			err := u.failed
			u.failed, u.dec = nil, nil
			if errors.Is(err, io.EOF) {
				u.parts++
				continue
			}
			u.lost = true
			return 0, u.tell(err)
		}
		if u.dec == nil {
			if err := u.next(); err != nil {
				if errors.Is(err, io.EOF) && u.zstd != nil {
					u.zstd.Close()
				}
				return 0, err
			}
			continue
		}
		n, err := u.dec.Read(p)
		if u.failed = err; n > 0 {
			return n, nil
		}
	}
}

// tell makes an error of a member a loss, or is the error of the input.
func (u *unpacker) tell(err error) error {
	if e := u.in.edge; e.err != nil {
		return e.err
	} else if l := e.loss; l != nil {
		u.in.pass()
		return l
	}
	what, at := "is damaged in what begins", u.began
	if _, end := u.in.Peek(1); end != nil && (errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)) {
		what, at = "ends early: it was cut", u.at()
	}
	return &loss{kind: u.kind, reason: fmt.Sprintf("the %s stream %s at byte %d; what could be decompressed is used; upload the object again", u.kind, what, at)}
}

// next opens the next member. Its error is io.EOF, a loss, or one of the input.
func (u *unpacker) next() error {
	for {
		b, err := u.in.Peek(8)
		switch {
		case len(b) == 0:
			if l := u.in.edge.loss; l != nil {
				u.in.pass()
				u.lost = true
				return l
			}
			return err
		case skippable(b):
			size := int(b[4]) | int(b[5])<<8 | int(b[6])<<16 | int(b[7])<<24
			if n, err := u.in.Discard(8 + size); err != nil && n < 8+size {
				u.lost = true
				return u.tell(io.ErrUnexpectedEOF)
			}
		case compression(b) == u.kind:
			u.lost, u.began = false, u.at()
			if u.dec, err = u.open(); err != nil {
				u.dec, u.lost = nil, true
				return u.tell(err)
			}
			return nil
		default:
			n, zeros := u.resync()
			if n > 0 && !u.lost && !(zeros && u.parts > 0 && u.ended()) {
				u.lost = true
				return &loss{kind: u.kind, reason: fmt.Sprintf("the %s stream has %d bytes between its parts that are no %s; what could be decompressed is used; upload the object again", u.kind, n, u.kind)}
			}
		}
	}
}

func (u *unpacker) ended() bool {
	b, _ := u.in.Peek(1)
	return len(b) == 0 && u.in.edge.loss == nil
}

// resync passes bytes up to the next thing that begins like a member, at least one, and says whether all were zero.
func (u *unpacker) resync() (n int, zeros bool) {
	magic := []byte(map[string]string{"gzip": gzipMagic + "\x08", "zstd": zstdMagic, "lz4": lz4Magic}[u.kind])
	zeros = true
	for {
		b, err := u.in.Peek(defaultChunk / 2)
		from := 0
		if n == 0 {
			from = 1
		}
		drop, found := len(b), false
		if i := bytes.Index(b[min(from, len(b)):], magic); i >= 0 {
			drop, found = from+i, true
		} else if err == nil {
			drop = len(b) - len(magic) + 1
		}
		zeros = zeros && len(bytes.Trim(b[:drop], "\x00")) == 0
		_, _ = u.in.Discard(drop) // it was seen
		n += drop
		if found || err != nil {
			return n, zeros
		}
	}
}

// open begins the member at hand.
func (u *unpacker) open() (io.Reader, error) {
	switch u.kind {
	case "gzip":
		if u.gzip == nil {
			u.gzip = new(gzip.Reader)
		}
		if err := u.gzip.Reset(u.in); err != nil {
			return nil, noEnd(err)
		}
		u.gzip.Multistream(false)
		return u.gzip, nil
	case "zstd":
		f, err := newZstdFrame(u.in.Reader)
		if err != nil {
			_, _ = u.in.Discard(1) // or the same frame would be tried again
			return nil, err
		}
		if u.zstd == nil {
			u.zstd, err = zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		} else {
			err = u.zstd.Reset(f)
		}
		return u.zstd, err
	}
	if u.lz4 == nil {
		u.lz4 = lz4.NewReader(u.in)
	} else {
		u.lz4.Reset(u.in)
	}
	return u.lz4, nil
}

func noEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// zstdFrameReader reads the bytes of one frame and no further: its end is told from the headers of its blocks.
type zstdFrameReader struct {
	in       *bufio.Reader
	left     int // bytes of the piece at hand
	last     bool
	checksum bool
}

func newZstdFrame(in *bufio.Reader) (*zstdFrameReader, error) {
	b, _ := in.Peek(zstd.HeaderMaxSize)
	var h zstd.Header
	if err := h.Decode(b); err != nil {
		return nil, noEnd(err)
	}
	return &zstdFrameReader{in: in, left: h.HeaderSize, checksum: h.HasCheckSum}, nil
}

func (f *zstdFrameReader) Read(p []byte) (int, error) {
	for f.left == 0 {
		switch {
		case f.last && f.checksum:
			f.checksum, f.left = false, 4
			continue
		case f.last:
			return 0, io.EOF
		}
		b, err := f.in.Peek(3)
		if len(b) < 3 {
			return 0, noEnd(err)
		}
		block := int(b[0]) | int(b[1])<<8 | int(b[2])<<16
		size := block >> 3
		if block>>1&3 == 1 {
			size = 1 // one byte, repeated
		}
		f.left, f.last = 3+size, block&1 == 1
	}
	n, err := f.in.Read(p[:min(len(p), f.left)])
	f.left -= n
	if n > 0 {
		return n, nil
	}
	return n, noEnd(err)
}
