package archive

import (
	"encoding/binary"
	"fmt"
)

const reasonLost = "bytes were lost before, and where the next message begins is not known; what came before is kept"

// frameWindows cuts a chain of frames, window by window.
func (r *reader) frameWindows() {
	reason := "a frame's length or content is wrong; reading goes on at the next frame that fits"
	for at := 0; r.err == nil; {
		r.ensure(&at, lookahead)
		b := r.buf[at:]
		if len(b) == 0 {
			if !r.behindLoss(&at) {
				return
			}
			continue
		}
		if len(b) < 4 {
			r.problem(at, len(r.buf), "the object ends within a frame's header: it was cut; upload it again", string(FramingLength))
			at = len(r.buf)
			continue
		}
		size := int(min(binary.BigEndian.Uint32(b), maxFrame+1))
		if _, _, ok := frameAt(b); !ok {
			r.ensure(&at, r.windowSize()/2)
			next := nextChain(r.buf[at:], 1, !r.feed.done)
			if next == len(r.buf)-at && !r.feed.done {
				next = max(1, next-4)
			}
			r.problem(at, at+next, reason, string(FramingLength))
			at += next
			continue
		}
		if int64(size) > r.opts.MaxDocument {
			r.separate(&at, 4)
			r.tooLong(&at, size)
			continue
		}
		r.ensure(&at, 4+size)
		body, complete, _ := frameAt(r.buf[at:])
		r.separate(&at, 4)
		r.frame(at, body, complete)
		at += len(body)
	}
}

// frame reads the body of a frame at the given place of the window, which may be compressed.
func (r *reader) frame(at int, body []byte, complete bool) {
	window, shift, total, f, limit := r.buf, r.shift, r.res.BytesOut, r.feed, r.opts.MaxDecompressed
	r.feed, r.opts.MaxDecompressed = nil, min(limit, total+r.opts.MaxDocument)
	r.shift += int64(at)
	r.body(body, complete)
	more := r.res.BytesOut - total - int64(len(body))
	f.framed += more
	r.buf, r.shift, r.res.BytesOut, r.feed, r.opts.MaxDecompressed = window, shift+more, total, f, limit
}

// separate counts n bytes of the window from at on as separators.
func (r *reader) separate(at *int, n int) {
	r.separator(n)
	*at += n
}

// tooLong passes a document of n bytes that is larger than the limit.
func (r *reader) tooLong(at *int, n int) {
	for n > 0 {
		r.ensure(at, min(n, r.chunk()))
		m := min(n, len(r.buf)-*at)
		if m == 0 {
			return
		}
		r.problem(*at, *at+m, r.overDocument(), "")
		*at += m
		n -= m
	}
}

// behindLoss goes on behind a loss; it is false at the end.
func (r *reader) behindLoss(at *int) bool {
	r.refill(*at, 0)
	*at = 0
	if !r.feed.broken {
		return len(r.buf) > 0
	}
	r.feed.broken = false
	return r.refill(0, r.chunk()) || r.feed.broken
}

// varintWindows cuts a chain of messages with varint lengths, window by window.
func (r *reader) varintWindows() {
	for at := 0; r.err == nil; {
		r.ensure(&at, lookahead)
		if at == len(r.buf) {
			if r.behindLoss(&at) {
				r.rest(reasonLost, string(FramingVarint))
			}
			return
		}
		size, head := binary.Uvarint(r.buf[at:])
		switch {
		case head == 0:
			r.problem(at, len(r.buf), fmt.Sprintf("the object ends within the length of a message: it was cut at byte %d; upload it again", r.shift+int64(at)), string(FramingVarint))
			return
		case head < 0 || size > maxFrame || size > 0 && len(r.buf)-at > head && r.buf[at+head] != '\n':
			r.refill(at, 0)
			r.rest("the length of a message is wrong, and where the next begins is not known; what came before is kept", string(FramingVarint))
			return
		}
		r.separate(&at, head)
		if int64(size) > r.opts.MaxDocument {
			r.tooLong(&at, int(size))
			continue
		}
		r.ensure(&at, int(size))
		n := min(int(size), len(r.buf)-at)
		if n > 0 {
			r.document(at, at+n, Proto, n < int(size))
		} else if size > 0 {
			r.problem(at, at, "the object ends behind the length of a message: it was cut; upload it again", string(FramingVarint))
		}
		at += n
	}
}

// protoWindows cuts a message into the groups that it is made of: any run of them is a message too.
func (r *reader) protoWindows() {
	for at := 0; r.err == nil; {
		r.ensure(&at, lookahead)
		b := r.buf[at:]
		if len(b) == 0 {
			if r.behindLoss(&at) {
				r.rest(reasonLost, string(FramingProto))
			}
			return
		}
		if end := wholeGroups(b); end > 0 {
			r.document(at, at+end, Proto, false)
			at += end
			continue
		}
		size, n := binary.Uvarint(b[1:])
		if b[0] != '\n' || n < 0 || size > maxFrame {
			r.refill(at, 0)
			r.rest("a field of the message is wrong, and where the next begins is not known; what came before is kept", string(FramingProto))
			return
		}
		if whole := 1 + n + int(size); int64(whole) > r.opts.MaxDocument {
			r.tooLong(&at, whole)
			continue
		} else if r.ensure(&at, whole); wholeGroups(r.buf[at:]) > 0 {
			continue
		}
		r.document(at, len(r.buf), Proto, true) // cut, or malformed within
		at = len(r.buf)
	}
}
