package otlp

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// escapes maps the letter of a short escape to its character.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// str reads the string at pos. It is unescaped where it stands, which never needs more room: an escape of two bytes
// gives one, one of six at most three.
func (s *scanner) str() (string, bool) {
	start := s.pos + 1
	i, high := s.plain(start)
	if i >= len(s.buf) {
		s.pos = len(s.buf)
		return "", s.fail(reasonCut)
	}
	if s.buf[i] == '"' {
		s.pos = i + 1
		if high == 0 {
			return alias(s.buf[start:i]), true
		}
		return s.valid(s.buf[start:i], true), true
	}
	return s.unescape(start, i, high)
}

// unescape goes on with the string that began at start and has its first escape or NUL at i.
func (s *scanner) unescape(start, i int, high uint64) (string, bool) {
	b, w, hasNUL := s.buf, i, false
	for {
		for i+8 <= len(b) {
			x := binary.LittleEndian.Uint64(b[i:])
			high |= x & highBits
			if marks(x) != 0 {
				break
			}
			binary.LittleEndian.PutUint64(b[w:], x) // w ≤ i, and all eight were read
			i, w = i+8, w+8
		}
		for i < len(b) && b[i] != '"' && b[i] != '\\' {
			hasNUL = hasNUL || b[i] == 0
			high |= uint64(b[i] & 0x80)
			b[w] = b[i]
			i, w = i+1, w+1
		}
		if i+1 >= len(b) && (i >= len(b) || b[i] == '\\') {
			s.pos = len(b)
			return "", s.fail(reasonCut)
		}
		if b[i] == '"' {
			s.pos = i + 1
			if high == 0 && !hasNUL {
				return alias(b[start:w]), true
			}
			return s.valid(b[start:w], high != 0 || hasNUL), true
		}
		switch c := b[i+1]; {
		case c == 'u':
			r, n := unicodeEscape(b[i:])
			if n == 0 {
				b[w], b[w+1] = '\\', 'u'
				i, w = i+2, w+2
				break
			}
			if r == 0 {
				s.counts.NULs++
				r = utf8.RuneError
			}
			w += utf8.EncodeRune(b[w:w+4:w+4], r)
			i += n
		case escapes[c] != 0:
			b[w] = escapes[c]
			i, w = i+2, w+1
		default: // no such escape: both characters stay
			b[w], b[w+1] = '\\', c
			high |= uint64(c & 0x80)
			hasNUL = hasNUL || c == 0
			i, w = i+2, w+2
		}
	}
}

// unicodeEscape reads a \uXXXX, or a pair of them; n is the bytes read, 0 if this is none.
func unicodeEscape(b []byte) (r rune, n int) {
	r, ok := hex4(b)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if low, ok := hex4(b[6:]); ok {
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return utf8.RuneError, 6
}

func hex4(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range b[2:6] {
		d := hexDigit(c)
		if d > 15 {
			return 0, false
		}
		r = r<<4 | rune(d)
	}
	return r, true
}

// hexDigit is the value of a hexadecimal digit, 255 of anything else.
func hexDigit(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10
	}
	return 255
}

// valid is b as a string of valid UTF-8 without NUL: each run of wrong bytes and each NUL becomes U+FFFD, and is counted.
// Where nothing is wrong it is b itself.
func (s *scanner) valid(b []byte, check bool) string {
	if !check {
		return alias(b)
	}
	if !validUTF8(b) {
		s.counts.InvalidUTF8++
		b = s.keep(bytes.ToValidUTF8(b, []byte("\uFFFD")))
	}
	if n := bytes.Count(b, []byte{0}); n > 0 {
		s.counts.NULs += int64(n)
		b = s.keep(bytes.ReplaceAll(b, []byte{0}, []byte("\uFFFD")))
	}
	return alias(b)
}

// validUTF8 is utf8.Valid for text that is ASCII with other characters here and there: the standard one goes on byte by byte
// after the first of them.
func validUTF8(b []byte) bool {
	for i := 0; i < len(b); {
		if i+8 <= len(b) {
			m := binary.LittleEndian.Uint64(b[i:]) & highBits
			if m == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(m) >> 3
		} else if b[i] < utf8.RuneSelf {
			i++
			continue
		}
		for i < len(b) && b[i] >= utf8.RuneSelf {
			switch c := b[i]; {
			case c >= 0xc2 && c < 0xe0 && i+1 < len(b) && b[i+1]&0xc0 == 0x80:
				i += 2
			case c > 0xe0 && c < 0xf0 && c != 0xed && i+2 < len(b) && b[i+1]&0xc0 == 0x80 && b[i+2]&0xc0 == 0x80:
				i += 3
			default: // the edges of the table
				_, n := utf8.DecodeRune(b[i:])
				if n == 1 {
					return false
				}
				i += n
			}
		}
	}
	return true
}

// keep copies b to where it lives as long as the record.
func (s *scanner) keep(b []byte) []byte {
	c := s.owned.take(len(b))
	copy(c, b)
	return c
}
