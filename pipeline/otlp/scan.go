package otlp

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// scanner is a pull reader of JSON over one buffer. It is lenient where a reader can be without guessing: control
// characters in strings, trailing commas, NaN as a bare word. What it cannot read it reports once, in reason, at badAt.
//
// Invariant: skipping changes no byte of buf and reading a string changes only bytes before pos, so a value that was
// skipped may be read later, and a broken one can be left by going on from pos with depth (see resync).
type scanner struct {
	buf    []byte
	pos    int
	depth  int // containers open at pos
	reason string
	badAt  int
	keys   slab[byte] // unescaped member names
	counts *Stats
	owned  *slab[byte] // where strings that grow are kept
}

// Reasons of faults. They name the defect, never the content.
const (
	reasonCut      = "the document ends early: it was cut; what came before is kept"
	reasonSyntax   = "not JSON here: a value, comma or bracket is wrong; the rest of this piece is left out"
	reasonNoKey    = "not JSON here: an object wants a member name in quotes; the rest of this piece is left out"
	reasonNoColon  = "not JSON here: a colon is missing after a member name; the rest of this piece is left out"
	reasonTrailing = "bytes that are no JSON value; they are left out"
)

func (s *scanner) fail(reason string) bool {
	if s.reason == "" {
		if s.pos >= len(s.buf) {
			reason = reasonCut
		}
		s.reason, s.badAt = reason, min(s.pos, len(s.buf))
	}
	return false
}

// peek skips white space and is the byte there, or 0 at the end.
func (s *scanner) peek() byte {
	for s.pos < len(s.buf) {
		if c := s.buf[s.pos]; c > ' ' {
			return c
		}
		s.pos++
	}
	return 0
}

// open enters the object or array that begins with c.
func (s *scanner) open(c byte) bool {
	if s.peek() != c {
		return s.fail(reasonSyntax)
	}
	s.pos++
	s.depth++
	return true
}

// member moves to the next member of the open object and stops before its value. more is false past the last.
func (s *scanner) member() (key string, more, ok bool) {
	c := s.peek()
	if c == ',' {
		s.pos++
		c = s.peek()
	}
	switch c {
	case '"':
	case '}':
		s.pos++
		s.depth--
		return "", false, true
	default:
		return "", false, s.fail(reasonNoKey)
	}
	if key, ok = s.key(); !ok {
		return "", false, false
	}
	if s.peek() != ':' {
		return "", false, s.fail(reasonNoColon)
	}
	s.pos++
	return key, true, true
}

// element moves to the next element of the open array; more is false past the last.
func (s *scanner) element() (more, ok bool) {
	c := s.peek()
	if c == ',' {
		s.pos++
		c = s.peek()
	}
	switch c {
	case ']':
		s.pos++
		s.depth--
		return false, true
	case 0, '}', ':':
		return false, s.fail(reasonSyntax)
	}
	return true, true
}

const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
	quotes   = 0x2222222222222222
	slashes  = 0x5c5c5c5c5c5c5c5c
)

// marks has the high bit of the first byte of x that is a quote, a backslash or NUL; bits above the first may be wrong.
func marks(x uint64) uint64 {
	q, b := x^quotes, x^slashes
	return ((q-lowBits)&^q | (b-lowBits)&^b | (x-lowBits)&^x) & highBits
}

// plain is the index of the first quote, backslash or NUL at or after i, len(buf) if none. high is not 0 when a byte on
// the way, or shortly after, is not ASCII.
func (s *scanner) plain(i int) (at int, high uint64) {
	b := s.buf
	for i+8 <= len(b) {
		x := binary.LittleEndian.Uint64(b[i:])
		high |= x & highBits
		if m := marks(x); m != 0 {
			return i + bits.TrailingZeros64(m)>>3, high
		}
		i += 8
	}
	for ; i < len(b); i++ {
		c := b[i]
		if c == '"' || c == '\\' || c == 0 {
			return i, high
		}
		high |= uint64(c & 0x80)
	}
	return i, high
}

// key reads a member name. It leaves buf as it is, so that the object can be read twice.
func (s *scanner) key() (string, bool) {
	start := s.pos + 1
	i, high := s.plain(start)
	if i < len(s.buf) && s.buf[i] == '"' {
		s.pos = i + 1
		if high == 0 {
			return alias(s.buf[start:i]), true
		}
		return s.valid(s.buf[start:i], true), true
	}
	at := s.pos
	if !s.skipString() {
		return "", false
	}
	raw := s.keys.take(s.pos - at)
	copy(raw, s.buf[at:s.pos])
	whole, end := s.buf, s.pos
	s.buf, s.pos = raw, 0
	k, ok := s.str()
	s.buf, s.pos = whole, end
	return k, ok
}

// skipString passes the string at pos.
func (s *scanner) skipString() bool {
	i := s.pos + 1
	for {
		i, _ = s.plain(i)
		if i >= len(s.buf) {
			s.pos = len(s.buf)
			return s.fail(reasonCut)
		}
		switch s.buf[i] {
		case '"':
			s.pos = i + 1
			return true
		case '\\':
			i += 2
		default:
			i++
		}
	}
}

// skip passes one value, however deep, without recursion and without changing a byte.
func (s *scanner) skip() bool {
	switch s.peek() {
	case '"':
		return s.skipString()
	case '{', '[':
		s.pos++
		s.depth++
		return s.resync(s.depth - 1)
	}
	_, ok := s.token()
	return ok
}

// resync goes on from pos until the container that was opened at the given depth is closed.
func (s *scanner) resync(depth int) bool {
	for s.depth > depth {
		if s.pos >= len(s.buf) {
			return s.fail(reasonCut)
		}
		switch s.buf[s.pos] {
		case '"':
			if !s.skipString() {
				return false
			}
			continue
		case '{', '[':
			s.depth++
		case '}', ']':
			s.depth--
		}
		s.pos++
	}
	return true
}

// token reads a number or a bare word.
func (s *scanner) token() ([]byte, bool) {
	s.peek()
	start := s.pos
	for s.pos < len(s.buf) {
		switch c := s.buf[s.pos]; {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '-', c == '+', c == '.':
			s.pos++
			continue
		}
		break
	}
	tok := s.buf[start:s.pos]
	if len(tok) == 0 {
		return nil, s.fail(reasonSyntax)
	}
	if s.pos == len(s.buf) && s.depth > 0 {
		s.fail(reasonCut)
		s.badAt = start
		return nil, false // the token may be cut too
	}
	if c := tok[0]; c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' {
		return tok, true
	}
	switch string(tok) {
	case "null", "true", "false", "NaN", "Infinity", "undefined":
		return tok, true
	}
	s.pos = start
	return nil, s.fail(reasonSyntax)
}

// null passes a null at pos, if there is one.
func (s *scanner) null() bool {
	if s.peek() == 'n' && s.pos+4 <= len(s.buf) && string(s.buf[s.pos:s.pos+4]) == "null" {
		s.pos += 4
		return true
	}
	return false
}

// has passes the literal lit, if buf continues with exactly that.
func (s *scanner) has(lit string) bool {
	if len(s.buf)-s.pos >= len(lit) && string(s.buf[s.pos:s.pos+len(lit)]) == lit {
		s.pos += len(lit)
		return true
	}
	return false
}

func alias(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
