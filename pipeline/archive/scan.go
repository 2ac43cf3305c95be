package archive

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
	quotes   = 0x2222222222222222
	slashes  = 0x5c5c5c5c5c5c5c5c
	newlines = 0x0a0a0a0a0a0a0a0a
)

// stringEnd is the offset behind the string that begins at b[at], -1 if it does not end. A raw line feed in it, which
// JSON forbids, is passed unless a JSON document that is whole begins right behind it: then the string was cut there,
// and cut is the offset of that document.
func stringEnd(b []byte, at int) (end, cut int) {
	i := at + 1
	for i < len(b) {
		if i+8 <= len(b) {
			x := binary.LittleEndian.Uint64(b[i:])
			q, s, n := x^quotes, x^slashes, x^newlines
			m := ((q-lowBits)&^q | (s-lowBits)&^s | (n-lowBits)&^n) & highBits
			if m == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(m) >> 3
		}
		switch b[i] {
		case '"':
			return i + 1, 0
		case '\\':
			i++
		case '\n':
			if lineIsDocument(b, i+1) {
				return -1, i + 1
			}
		}
		i++
	}
	return -1, 0
}

// lineIsDocument is whether a JSON document begins at b[at] and is whole before its line ends.
func lineIsDocument(b []byte, at int) bool {
	if at+1 >= len(b) || !(b[at] == '{' && b[at+1] == '"' || b[at] == '[' && b[at+1] == '{') {
		return false
	}
	end := len(b)
	if n := bytes.IndexByte(b[at:], '\n'); n >= 0 {
		end = at + n
	}
	close, _ := valueEnd(b[:end], at)
	return close > 0
}

// valueEnd is the offset behind the object or array that begins at b[at], judged by brackets and strings alone, -1 if it
// does not end. cut, when not 0, is where another document begins within what would have been a string of this one.
func valueEnd(b []byte, at int) (end, cut int) {
	depth := 0
	for i := at; i < len(b); {
		switch b[i] {
		case '"':
			next, cut := stringEnd(b, i)
			if next < 0 {
				return -1, cut
			}
			i = next
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1, 0
			}
		}
		i++
	}
	return -1, 0
}
