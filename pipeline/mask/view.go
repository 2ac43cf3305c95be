package mask

import (
	"slices"
	"sort"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// view is a text with a layer of encoding undone. Where each byte lay in the text below is worked out only when
// something was found, by decoding once more: most texts are clean.
type view struct {
	text   string
	below  string
	decode func(s string, segs *[]seg) string
}

// seg maps a stretch of a view. A literal stretch has the same bytes below; another is one decoded character.
type seg struct {
	at, low, lowEnd int // begin in the view, begin and end below
	literal         bool
}

// lift maps spans of the view to spans of the text below.
func (v *view) lift(spans []span) {
	if len(spans) == 0 {
		return
	}
	var segs []seg
	v.decode(v.below, &segs)
	find := func(i int) seg {
		return segs[sort.Search(len(segs), func(k int) bool { return segs[k].at > i })-1]
	}
	for i := range spans {
		p := &spans[i]
		from, last := find(p.start), find(p.end-1)
		p.start = from.low + (p.start-from.at)*b2i(from.literal)
		if last.literal {
			p.end = last.low + p.end - last.at
		} else {
			p.end = last.lowEnd
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// decoder collects a view, and its stretches if they are asked for.
type decoder struct {
	b    strings.Builder
	segs *[]seg
}

func (d *decoder) literal(s string, from, to int) {
	if from >= to {
		return
	}
	if d.segs != nil {
		*d.segs = append(*d.segs, seg{at: d.b.Len(), low: from, lowEnd: to, literal: true})
	}
	d.b.WriteString(s[from:to])
}

func (d *decoder) char(r rune, from, to int) {
	if d.segs != nil {
		*d.segs = append(*d.segs, seg{at: d.b.Len(), low: from, lowEnd: to})
	}
	if r < utf8.RuneSelf {
		d.b.WriteByte(byte(r))
		return
	}
	d.b.WriteRune(r)
}

// unescapeJSON undoes the escapes of a JSON string, without its quotes.
func unescapeJSON(s string) *view {
	return &view{text: decodeJSON(s, nil), below: s, decode: decodeJSON}
}

const maxReused = 1 << 20 // a larger buffer is not worth to be held

// borrowJSON is unescapeJSON into a buffer of the masker's, for a text that nobody holds when free is called: most of what documents
// hold is looked at once.
func (m *Masker) borrowJSON(s string) (v *view, free func()) {
	buf := m.buffers.Get().(*[]byte)
	*buf = appendText((*buf)[:0], s)
	v = &view{text: unsafe.String(unsafe.SliceData(*buf), len(*buf)), below: s, decode: decodeJSON}
	return v, func() {
		if cap(*buf) <= maxReused {
			m.buffers.Put(buf)
		}
	}
}

// appendText is decodeJSON when nobody asks where things lie: what an escape leaves as it is begins the next stretch.
func appendText(b []byte, s string) []byte {
	b = slices.Grow(b, len(s))
	from, at := 0, 0
	for {
		k := strings.IndexByte(s[at:], '\\')
		if k < 0 {
			return append(b, s[from:]...)
		}
		at += k
		b = append(b, s[from:at]...)
		if at+1 < len(s) && (s[at+1] == '\\' || s[at+1] == '"' || s[at+1] == '/') {
			from = at + 1
			at += 2
			continue
		}
		r, n := jsonEscape(s[at:])
		if r < utf8.RuneSelf {
			b = append(b, byte(r))
		} else {
			b = utf8.AppendRune(b, r)
		}
		at += n
		from = at
	}
}

func decodeJSON(s string, segs *[]seg) string {
	if segs == nil {
		b := appendText(nil, s)
		return unsafe.String(unsafe.SliceData(b), len(b)) // nobody else has b
	}
	d := decoder{segs: segs}
	d.b.Grow(len(s))
	from := 0
	for {
		k := strings.IndexByte(s[from:], '\\')
		if k < 0 {
			d.literal(s, from, len(s))
			return d.b.String()
		}
		d.literal(s, from, from+k)
		at := from + k
		r, n := jsonEscape(s[at:])
		d.char(r, at, at+n)
		from = at + n
	}
}

// maxBackslashes before an escaped character: five layers of JSON strings need 31.
const maxBackslashes = 32

// jsonEscape decodes the escape that s starts with. An unknown one stands for its character.
func jsonEscape(s string) (rune, int) {
	if len(s) < 2 {
		return '\\', 1
	}
	switch s[1] {
	case 'n':
		return '\n', 2
	case 't':
		return '\t', 2
	case 'r':
		return '\r', 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'u':
		r, ok := hexRune(s, 2, 4)
		if !ok {
			return 'u', 2
		}
		if utf16.IsSurrogate(r) {
			if has(s, 6, `\u`) {
				if low, ok := hexRune(s, 8, 4); ok {
					if full := utf16.DecodeRune(r, low); full != utf8.RuneError {
						return full, 12
					}
				}
			}
			return utf8.RuneError, 6
		}
		return r, 6
	}
	r, n := utf8.DecodeRuneInString(s[1:])
	return r, 1 + n
}

func hexRune(s string, at, n int) (rune, bool) {
	if at+n > len(s) {
		return 0, false
	}
	var r rune
	for _, c := range []byte(s[at : at+n]) {
		d, ok := unhex(c)
		if !ok {
			return 0, false
		}
		r = r<<4 | rune(d)
	}
	return r, true
}

func unhex(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

// loosen undoes, at once and at any depth, what may hide a secret in text that is no valid document: backslash
// escapes, percent-encoding, zero-width characters and NUL bytes. It returns nil when s holds nothing of the kind
// beyond simple escapes, which the matchers read themselves.
func loosen(s string) *view {
	if !needsLoosening(s) {
		return nil
	}
	return &view{text: decodeLoose(s, nil), below: s, decode: decodeLoose}
}

func decodeLoose(s string, segs *[]seg) string {
	d := decoder{segs: segs}
	d.b.Grow(len(s))
	from, i := 0, 0
	for i < len(s) {
		if is(s[i], cPlain) {
			i++
			continue
		}
		r, n, drop := looseChar(s, i)
		if n == 0 {
			i++
			continue
		}
		d.literal(s, from, i)
		if !drop {
			d.char(r, i, i+n)
		}
		i += n
		from = i
	}
	d.literal(s, from, len(s))
	return d.b.String()
}

func needsLoosening(s string) bool {
	return anyLoose(s, '\\') || anyLoose(s, '%') || anyLoose(s, '&') || strings.IndexByte(s, 0) >= 0 || strings.IndexByte(s, esc) >= 0 || hasInvisible(s)
}

// anyLoose reports whether an escape that begins with c hides a character.
func anyLoose(s string, c byte) bool {
	for at := 0; ; {
		k := strings.IndexByte(s[at:], c)
		if k < 0 {
			return false
		}
		at += k
		if r, n, drop := looseChar(s, at); n > 0 && (drop || r > ' ' && r != '"' && r != '\'' && r != '\\' || c != '\\') {
			return true
		}
		at++
	}
}

func hasInvisible(s string) bool {
	i := 0
	for ; i+32 <= len(s); i += 32 {
		if (word(s, i)|word(s, i+8)|word(s, i+16)|word(s, i+24))&0x8080808080808080 != 0 && anyInvisible(s, i, i+32) {
			return true
		}
	}
	return anyInvisible(s, i, len(s))
}

func anyInvisible(s string, i, end int) bool {
	for ; i < end; i++ {
		if s[i] >= utf8.RuneSelf && invisible(s, i) > 0 {
			return true
		}
	}
	return false
}

// invisible returns the length of the zero-width character at i, or 0.
func invisible(s string, i int) int {
	if s[i] != 0xC2 && s[i] != 0xCD && s[i] != 0xE1 && s[i] != 0xE2 && s[i] != 0xEF {
		return 0
	}
	r, n := utf8.DecodeRuneInString(s[i:])
	switch {
	case r == 0xAD, r == 0x34F, r == 0x180E, r == 0xFEFF,
		0x200B <= r && r <= 0x200F, 0x202A <= r && r <= 0x202E, 0x2060 <= r && r <= 0x206F, 0xFE00 <= r && r <= 0xFE0F:
		return n
	}
	return 0
}

// looseChar decodes what starts at i. n is 0 for a plain character; drop says that it stands for nothing.
func looseChar(s string, i int) (r rune, n int, drop bool) {
	switch c := s[i]; {
	case c == '\\':
		k := i
		for k < len(s) && s[k] == '\\' && k-i < maxBackslashes {
			k++
		}
		if k == len(s) {
			return 0, 0, false
		}
		if n := escapeName(s, k); n > 0 {
			if m := controlSequence(s, k+n); m > 0 {
				return 0, k + n + m - i, true
			}
		}
		switch s[k] {
		case 'n':
			return '\n', k + 1 - i, false
		case 'r':
			return '\r', k + 1 - i, false
		case 't':
			return '\t', k + 1 - i, false
		case '"', '\'', '/':
			return rune(s[k]), k + 1 - i, false
		case 'u':
			if u, ok := hexRune(s, k+1, 4); ok && u > 0 && !utf16.IsSurrogate(u) {
				return u, k + 5 - i, zeroWidth(u)
			}
		case 'x':
			if u, ok := hexRune(s, k+1, 2); ok && ' ' <= u && u < utf8.RuneSelf {
				return u, k + 3 - i, false
			}
		}
		return 0, 0, false
	case c == '%':
		k := i + 1
		for has(s, k, "25") {
			k += 2
		}
		if u, ok := hexRune(s, k, 2); ok && (u == '\n' || u == '\r' || u == '\t' || ' ' <= u && u < utf8.RuneSelf) {
			return u, k + 2 - i, false
		}
		return 0, 0, false
	case c == '&':
		r, n := entity(s, i)
		return r, n, n > 0 && zeroWidth(r)
	case c == 0:
		return 0, 1, true
	case c == esc:
		if m := controlSequence(s, i+1); m > 0 {
			return 0, 1 + m, true
		}
		return 0, 0, false
	case c >= utf8.RuneSelf:
		n := invisible(s, i)
		return 0, n, true
	}
	return 0, 0, false
}

// entity decodes the character reference at i, also one whose ampersand is a reference itself. n is 0 without one.
func entity(s string, i int) (r rune, n int) {
	k := i + 1
	for has(s, k, "amp;") {
		k += len("amp;")
	}
	limit := min(len(s), k+maxEntity)
	end := strings.IndexByte(s[min(k, limit):limit], ';')
	if end > 0 {
		if r = namedCharacter(s[k : k+end]); r > 0 {
			return r, k + end + 1 - i
		}
	}
	if k > i+1 {
		return '&', k - i
	}
	return 0, 0
}

// maxEntity is the length of the longest character reference that is undone.
const maxEntity = 10

// namedCharacter returns the character that a reference names, without its ampersand and semicolon, or 0.
func namedCharacter(name string) (r rune) {
	if name[0] == '#' {
		digits, base := name[1:], rune(10)
		if digits != "" && lower(digits[0]) == 'x' {
			digits, base = digits[1:], 16
		}
		for i := range len(digits) {
			d, ok := unhex(digits[i])
			if !ok || rune(d) >= base {
				return 0
			}
			r = r*base + rune(d)
		}
		if r > utf8.MaxRune || utf16.IsSurrogate(r) {
			return 0
		}
		return r
	}
	switch name {
	case "quot":
		return '"'
	case "apos":
		return '\''
	case "lt":
		return '<'
	case "gt":
		return '>'
	case "colon":
		return ':'
	case "equals":
		return '='
	case "sol":
		return '/'
	case "lowbar":
		return '_'
	case "plus":
		return '+'
	case "commat":
		return '@'
	case "period":
		return '.'
	case "hyphen", "dash":
		return '-'
	}
	return 0
}

// esc begins the colour codes that terminal programs print around what they find.
const esc = 0x1b

// escapeName returns the length of a name of the escape character after a backslash at k: u001b, x1b, 033, e. 0 is none.
func escapeName(s string, k int) int {
	for _, name := range [...]string{"u001b", "u001B", "x1b", "x1B", "033", "e"} {
		if has(s, k, name) {
			return len(name)
		}
	}
	return 0
}

// controlSequence returns the length of a control sequence (ECMA-48 CSI) at i, which the escape character precedes. 0 is none.
func controlSequence(s string, i int) int {
	if i >= len(s) || s[i] != '[' {
		return 0
	}
	for k := i + 1; k < len(s) && k-i < 32; k++ {
		switch c := s[k]; {
		case '@' <= c && c <= '~':
			return k + 1 - i
		case c < ' ' || c > '?':
			return 0
		}
	}
	return 0
}

func zeroWidth(r rune) bool {
	var buf [utf8.UTFMax]byte
	s := string(utf8.AppendRune(buf[:0], r))
	return s[0] >= utf8.RuneSelf && invisible(s, 0) > 0
}
