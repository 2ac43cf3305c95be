package archive

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// maxFrame is the largest length a frame may claim; more is no length.
const maxFrame = 1 << 30

// messageEnd walks the top level of an OTLP message: fields of number 1 that hold messages. It is the offset at which the
// walk ends: len(b) for a whole message, less for one that is cut in its last field, -1 for anything else.
func messageEnd(b []byte) int {
	at := 0
	for at < len(b) {
		if b[at] != '\n' {
			return -1
		}
		size, n := binary.Uvarint(b[at+1:])
		switch {
		case n < 0 || size > maxFrame:
			return -1
		case n == 0:
			return at
		}
		body := b[at+1+n:]
		if len(body) > 0 && size > 0 && !groupStart(body) {
			return -1
		}
		if size > uint64(len(body)) {
			return at
		}
		at += 1 + n + int(size)
	}
	return at
}

// wholeGroups is the offset behind the whole fields that b begins with.
func wholeGroups(b []byte) int {
	at := 0
	for at < len(b) && b[at] == '\n' {
		size, n := binary.Uvarint(b[at+1:])
		if n <= 0 || size > uint64(len(b)-at-1-n) {
			break
		}
		body := b[at+1+n:][:size]
		if len(body) > 0 && !groupStart(body) {
			break
		}
		at += 1 + n + int(size)
	}
	return at
}

// groupStart is whether b begins like a ResourceSpans, ResourceLogs or ResourceMetrics: with field 1, 2, 3 or 1000, each
// length-delimited.
func groupStart(b []byte) bool {
	return b[0] == 0x0a || b[0] == 0x12 || b[0] == 0x1a || b[0] == 0xc2 && (len(b) < 2 || b[1] == 0x3e)
}

// payload is whether b, the start of a frame's body, may be a document.
func payload(b []byte) bool {
	switch {
	case len(b) == 0:
		return true
	case b[0] == '\n':
		return messageEnd(b) >= 0
	case b[0] == '{' || b[0] == '[':
		return jsonStart(b)
	}
	return bytes.HasPrefix(b, []byte(zstdMagic))
}

// frameAt reads a frame header of four bytes; the body is cut at the end of b.
func frameAt(b []byte) (body []byte, whole, ok bool) {
	if len(b) < 4 {
		return nil, false, false
	}
	size := binary.BigEndian.Uint32(b)
	if size > maxFrame {
		return nil, false, false
	}
	body = b[4:]
	whole = int(size) <= len(body)
	if whole {
		body = body[:size]
	}
	return body, whole, payload(body)
}

// lengthChain is whether b begins a chain of frames: the first is whole and is followed by another's header, the end, or
// less than a header; or only the first is there and it is cut.
func lengthChain(b []byte) bool {
	body, whole, ok := frameAt(b)
	if !ok || len(body) == 0 {
		return false
	}
	if !whole {
		return b[0] == 0
	}
	rest := b[4+len(body):]
	if len(rest) < 5 {
		return true
	}
	_, _, ok = frameAt(rest)
	return ok || b[0] == 0
}

// frames cuts a chain of frames. Bodies that are compressed are decompressed in place, so offsets count headers and
// decompressed bodies.
func (r *reader) frames() {
	whole, outer := r.buf, len(r.res.Problems)
	defer func() { r.moveLosses(outer, int64(len(whole)), r.res.BytesOut) }()
	r.res.BytesOut = 0
	for at := 0; at < len(whole) && r.err == nil; {
		body, complete, ok := frameAt(whole[at:])
		if !ok {
			next := nextChain(whole, at+1, false)
			r.part(whole[at:next], func(n int) {
				reason := "a frame's length or content is wrong; reading goes on at the next frame that fits"
				if n < 4 {
					reason = "the object ends within a frame's header: it was cut; upload it again"
				}
				r.problem(0, n, reason, string(FramingLength))
			})
			at = next
			continue
		}
		r.part(whole[at:at+4], func(n int) { r.separator(n) })
		r.body(body, complete)
		at += 4 + len(body)
	}
}

// part makes b the buffer while f accounts for it, and moves on.
func (r *reader) part(b []byte, f func(n int)) {
	r.buf, r.breaks = b, nil
	f(len(b))
	r.shift += int64(len(b))
	r.res.BytesOut += int64(len(b))
}

// body reads the body of one frame.
func (r *reader) body(b []byte, complete bool) {
	r.buf, r.breaks = b, nil
	if kind := compression(b); kind != "" {
		if len(r.res.Layers) == 0 || r.res.Layers[len(r.res.Layers)-1] != kind+"-framed" {
			r.res.Layers = append(r.res.Layers, kind+"-framed")
		}
		limit := r.opts.MaxDecompressed
		r.opts.MaxDecompressed = max(0, limit-r.res.BytesOut)
		p := &peeler{r: r, kind: kind, in: b}
		p.run()
		r.buf, r.opts.MaxDecompressed = p.out, limit
	}
	switch b := r.buf; {
	case len(b) == 0 && !complete:
		r.problem(0, 0, "the object ends behind a frame's header: it was cut; upload it again", string(FramingLength))
	case len(b) == 0:
	case b[0] == '\n' && messageEnd(b) >= 0:
		r.document(0, len(b), Proto, !complete || messageEnd(b) < len(b))
	case bytes.IndexFunc(b, notSpace) < 0:
		r.separator(len(b))
	default:
		r.stream(0, len(b))
	}
	r.shift += int64(len(r.buf))
	r.res.BytesOut += int64(len(r.buf))
}

// nextChain is the offset at or after from at which frames tile the rest exactly, or up to one that goes on behind a window which
// is cut; len(b) if there is none.
func nextChain(b []byte, from int, cut bool) int {
	for i := from; i+5 <= len(b); i++ {
		switch b[i+4] {
		case '\n', '{', '[', zstdMagic[0]:
		default:
			continue
		}
		at := i
		for at < len(b) {
			body, whole, ok := frameAt(b[at:])
			if cut && at > i && (len(b)-at < 4 || ok && !whole) {
				return i
			}
			if !ok || !whole || len(body) == 0 {
				break
			}
			at += 4 + len(body)
		}
		if at == len(b) {
			return i
		}
	}
	return len(b)
}

// varintAt reads a message with a varint of length before it.
func varintAt(b []byte) (head int, body []byte, whole, ok bool) {
	size, n := binary.Uvarint(b)
	if n <= 0 || size > maxFrame {
		return 0, nil, false, false
	}
	body = b[n:]
	if whole = size <= uint64(len(body)); whole {
		body = body[:size]
	}
	return n, body, whole, len(body) == 0 || body[0] == '\n' && messageEnd(body) >= 0
}

// varintChain is whether b is a chain of messages with varint lengths, the last of which may be cut.
func varintChain(b []byte) bool {
	count := 0
	for len(b) > 0 {
		head, body, whole, ok := varintAt(b)
		if !ok || whole && messageEnd(body) != len(body) {
			return false
		}
		if !whole {
			return count > 0
		}
		if len(body) > 0 { // else anything of zeros would be a chain
			count++
		}
		b = b[head+len(body):]
	}
	return count > 0
}

// varints cuts a chain that varintChain accepted.
func (r *reader) varints() {
	for at := 0; at < len(r.buf) && r.err == nil; {
		head, body, whole, ok := varintAt(r.buf[at:])
		if !ok {
			r.problem(at, len(r.buf), fmt.Sprintf("the object ends within the length of a message: it was cut at byte %d; upload it again", at), string(FramingVarint))
			return
		}
		r.separator(head)
		at += head
		if len(body) > 0 {
			r.document(at, at+len(body), Proto, !whole)
		} else if !whole {
			r.problem(at, at, "the object ends behind the length of a message: it was cut; upload it again", string(FramingVarint))
		}
		at += len(body)
	}
}
