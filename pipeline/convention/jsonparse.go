package convention

import (
	"encoding/json"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// jsonParser reads the trees that encoding/json would, several times faster: message lists are most of what a session is
// built from. Strings without escapes are parts of the text.
type jsonParser struct {
	s     string
	at    int
	depth int
}

// maxParseDepth is that of encoding/json.
const maxParseDepth = 10000

func (p *jsonParser) space() {
	for p.at < len(p.s) {
		switch p.s[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return
		}
	}
}

// next is the next byte behind white space, 0 at the end.
func (p *jsonParser) next() byte {
	p.space()
	if p.at == len(p.s) {
		return 0
	}
	return p.s[p.at]
}

func (p *jsonParser) value() (t tree, ok bool) {
	switch c := p.next(); c {
	case '{':
		return p.object()
	case '[':
		return p.array()
	case '"':
		return p.str()
	case 't':
		return true, p.word("true")
	case 'f':
		return false, p.word("false")
	case 'n':
		return nil, p.word("null")
	default:
		return p.number()
	}
}

func (p *jsonParser) word(w string) bool {
	ok := strings.HasPrefix(p.s[p.at:], w)
	p.at += len(w)
	return ok
}

func (p *jsonParser) object() (tree, bool) {
	if p.depth++; p.depth > maxParseDepth {
		return nil, false
	}
	p.at++
	m := map[string]any{}
	if p.next() == '}' {
		p.at++
		p.depth--
		return m, true
	}
	for {
		if p.next() != '"' {
			return nil, false
		}
		k, ok := p.str()
		if !ok || p.next() != ':' {
			return nil, false
		}
		p.at++
		v, ok := p.value()
		if !ok {
			return nil, false
		}
		m[k.(string)] = v
		switch p.next() {
		case ',':
			p.at++
		case '}':
			p.at++
			p.depth--
			return m, true
		default:
			return nil, false
		}
	}
}

func (p *jsonParser) array() (tree, bool) {
	if p.depth++; p.depth > maxParseDepth {
		return nil, false
	}
	p.at++
	list := []any{}
	if p.next() == ']' {
		p.at++
		p.depth--
		return list, true
	}
	for {
		v, ok := p.value()
		if !ok {
			return nil, false
		}
		list = append(list, v)
		switch p.next() {
		case ',':
			p.at++
		case ']':
			p.at++
			p.depth--
			return list, true
		default:
			return nil, false
		}
	}
}

func (p *jsonParser) digits() bool {
	from := p.at
	for p.at < len(p.s) && p.s[p.at] >= '0' && p.s[p.at] <= '9' {
		p.at++
	}
	return p.at > from
}

func (p *jsonParser) is(c byte) bool { return p.at < len(p.s) && p.s[p.at] == c }

func (p *jsonParser) number() (tree, bool) {
	from := p.at
	if p.is('-') {
		p.at++
	}
	if p.is('0') {
		p.at++
	} else if !p.digits() {
		return nil, false
	}
	if p.is('.') {
		p.at++
		if !p.digits() {
			return nil, false
		}
	}
	if p.is('e') || p.is('E') {
		p.at++
		if p.is('+') || p.is('-') {
			p.at++
		}
		if !p.digits() {
			return nil, false
		}
	}
	return json.Number(p.s[from:p.at]), true
}

// str reads the string that begins at a quote.
func (p *jsonParser) str() (tree, bool) {
	p.at++
	from := p.at
	high := p.plain()
	if p.at == len(p.s) {
		return nil, false
	}
	switch p.s[p.at] {
	case '"':
		s := p.s[from:p.at]
		p.at++
		if high && !utf8.ValidString(s) {
			s = fixed(s)
		}
		return s, true
	case '\\':
		return p.escaped(from, high)
	}
	return nil, false
}

// plain goes on to the next quote, backslash or control character, or to the end. high says whether there may be a byte on the
// way that is not ASCII.
func (p *jsonParser) plain() (high bool) {
	const ones = 0x0101010101010101
	s, i := p.s, p.at
	var seen uint64
	for i+8 <= len(s) {
		w := s[i : i+8]
		x := uint64(w[0]) | uint64(w[1])<<8 | uint64(w[2])<<16 | uint64(w[3])<<24 |
			uint64(w[4])<<32 | uint64(w[5])<<40 | uint64(w[6])<<48 | uint64(w[7])<<56
		seen |= x
		q, b := x^ones*'"', x^ones*'\\'
		if stop := ((q-ones)&^q | (b-ones)&^b | (x-ones*' ')&^x) & (ones * 0x80); stop != 0 { // the lowest bit is right
			p.at = i + bits.TrailingZeros64(stop)>>3
			return seen&(ones*0x80) != 0
		}
		i += 8
	}
	for ; i < len(s) && s[i] >= ' ' && s[i] != '"' && s[i] != '\\'; i++ {
		seen |= uint64(s[i])
	}
	p.at = i
	return seen&(ones*0x80) != 0
}

// fixed replaces each byte that is no UTF-8, as encoding/json does.
func fixed(s string) string {
	var b strings.Builder
	for _, r := range s {
		b.WriteRune(r)
	}
	return b.String()
}

// escaped goes on with a string from its first escape.
func (p *jsonParser) escaped(from int, high bool) (tree, bool) {
	b := make([]byte, 0, p.rawLength(from))
	for p.at < len(p.s) {
		b = append(b, p.s[from:p.at]...)
		switch p.s[p.at] {
		case '"':
			p.at++
			if high && !utf8.Valid(b) {
				return fixed(string(b)), true
			}
			return unsafe.String(unsafe.SliceData(b), len(b)), true // nobody else has b
		case '\\':
			var ok bool
			if b, ok = p.escape(b); !ok {
				return nil, false
			}
			from = p.at
			if p.plain() {
				high = true
			}
		default:
			return nil, false
		}
	}
	return nil, false
}

// rawLength is how many bytes the string that began at from takes as it is written, which is at least what it holds.
func (p *jsonParser) rawLength(from int) int {
	for at := p.at; ; {
		k := strings.IndexByte(p.s[at:], '"')
		if k < 0 {
			return len(p.s) - from
		}
		at += k
		back := at
		for back > from && p.s[back-1] == '\\' {
			back--
		}
		if (at-back)%2 == 0 {
			return at - from
		}
		at++
	}
}

func (p *jsonParser) escape(b []byte) ([]byte, bool) {
	if p.at++; p.at == len(p.s) {
		return b, false
	}
	c := p.s[p.at]
	p.at++
	if i := strings.IndexByte(`"\/bfnrt`, c); i >= 0 {
		return append(b, "\"\\/\b\f\n\r\t"[i]), true
	}
	if c != 'u' {
		return b, false
	}
	r, ok := p.hex()
	if !ok {
		return b, false
	}
	if utf16.IsSurrogate(r) {
		if back := p.at; strings.HasPrefix(p.s[p.at:], `\u`) {
			p.at += 2
			low, ok := p.hex()
			if !ok {
				return b, false
			}
			if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
				p.at = back // the other may be a character of its own
			}
		} else {
			r = utf8.RuneError
		}
	}
	return utf8.AppendRune(b, r), true
}

func (p *jsonParser) hex() (rune, bool) {
	if len(p.s)-p.at < 4 || p.s[p.at] == '+' || p.s[p.at] == '-' {
		return 0, false
	}
	n, err := strconv.ParseUint(p.s[p.at:p.at+4], 16, 32)
	p.at += 4
	return rune(n), err == nil
}
