package mask

const (
	maxEncoded = 2 // layers of base64 or hex
	minBase64  = 20
	minHexRun  = 32
	minHexText = 24 // hex digits that decode to printable text
	asciiRun   = 4  // groups of four characters that must decode to ASCII before a run is decoded at all
)

// encodedRuns looks into runs of base64 and hex and replaces each whole run that hides a secret.
//
// A run is found by a probe of twelve bytes every eight: a run of 20 covers one of them, words of prose hardly ever.
func (m *Masker) encodedRuns(dst []span, s string, lv level) []span {
	for i := 0; i+12 <= len(s); i += 8 {
		if below(word(s, i), '+')|below(word(s, i+4), '+') != 0 {
			continue // holds a blank, a quote or the like
		}
		start := runStart(s, i, cAnyBase64, i)
		end := runEnd(s, i, cAnyBase64)
		if end-start >= minBase64 {
			if start > 1 && (s[start-1] == '.' || s[start-1] == '|' || s[start-1] == '%') {
				sc := scanner{m: m, s: s, spans: dst}
				sc.lone(start, end)
				dst = sc.spans
			}
			dst = m.encodedRun(dst, s, start, end, level{encoded: lv.encoded + 1})
			i = end &^ 7 // the next probe lies behind the run
		}
	}
	return dst
}

// below is not 0 if a byte of w is less than c, which is ASCII.
func below(w uint64, c byte) uint64 {
	const ones = 0x0101010101010101
	return (w - uint64(c)*ones) &^ w & (0x80 * ones)
}

func (m *Masker) encodedRun(dst []span, s string, start, end int, lv level) []span {
	run := s[start:end]
	if end-start >= minHexRun {
		if at, n := hexPart(run); n >= minHexRun {
			if p, ok := m.hidden(decodeHex(run[at:at+n]), lv); ok {
				p.start, p.end = start+at, start+at+n
				dst = append(dst, p)
			}
		}
	}
	for phase := range 4 {
		for at := phase; ; {
			from, to := asciiGroups(run, phase, at)
			if from == to {
				break
			}
			at = to
			// A secret may begin or end in a group that holds a byte of something else.
			from = max(phase, from-4)
			if to += 4; to > len(run) {
				to = len(run)
			}
			if p, ok := m.hidden(decodeBase64(run[from:to]), lv); ok {
				return append(dst, wholeRun(s, start, end, p))
			}
		}
	}
	return dst
}

// wholeRun gives p the extent of the run with its padding, and of the lines that a wrapped key goes on.
func wholeRun(s string, start, end int, p span) span {
	p.start, p.end = start, end
	for pad := 0; pad < 2 && p.end < len(s) && s[p.end] == '='; pad++ {
		p.end++
	}
	if p.kind == PrivateKey {
		p.end = wrapped(s, p.end)
	}
	return p
}

// hidden scans a decoded text. The marker of the run carries the first secret in it.
func (m *Masker) hidden(text string, lv level) (span, bool) {
	if text == "" {
		return span{}, false
	}
	spans := merge(m.scanText(nil, text, lv))
	if len(spans) == 0 {
		return span{}, false
	}
	p := spans[0]
	return span{kind: p.kind, hash: p.hash}, true
}

// asciiGroups finds, at or after at among the groups of four that begin at phase, the next stretch that decodes to
// ASCII. It looks at every fourth group first: where four in a row are ASCII, one of these is.
func asciiGroups(run string, phase, at int) (from, to int) {
	for i := at + 4*(asciiRun-1); i+4 <= len(run); {
		if !asciiGroup(run[i : i+4]) {
			i += 4 * asciiRun
			continue
		}
		from, to = i, i+4
		for from-4 >= max(at, phase) && asciiGroup(run[from-4:from]) {
			from -= 4
		}
		for to+4 <= len(run) && asciiGroup(run[to:to+4]) {
			to += 4
		}
		if to-from >= 4*asciiRun {
			return from, to
		}
		i = to + 4*(asciiRun-1)
	}
	return 0, 0
}

// asciiGroup reports whether none of the three bytes that a group stands for is over 127 or a control character
// other than tab and line breaks.
func asciiGroup(g string) bool {
	a, b, c, d := sextet(g[0]), sextet(g[1]), sextet(g[2]), sextet(g[3])
	if a&32|b&8|c&2 != 0 {
		return false
	}
	return printable(a<<2|b>>4) && printable(b<<4|c>>2) && printable(c<<6|d)
}

func printable(c byte) bool { return c >= ' ' || c == '\n' || c == '\r' || c == '\t' }

func sextet(c byte) byte {
	switch {
	case is(c, cUpper):
		return c - 'A'
	case is(c, cLower):
		return c - 'a' + 26
	case is(c, cDigit):
		return c - '0' + 52
	case c == '+' || c == '-':
		return 62
	}
	return 63
}

// decodeBase64 decodes either alphabet without padding. A byte that is not ASCII becomes a blank.
func decodeBase64(run string) string {
	b := make([]byte, 0, len(run)/4*3+3)
	for i := 0; i+1 < len(run); i += 4 {
		var g [4]byte
		n := copy(g[:], run[i:])
		for k := range n {
			g[k] = sextet(g[k])
		}
		b = append(b, ascii(g[0]<<2|g[1]>>4))
		if n > 2 {
			b = append(b, ascii(g[1]<<4|g[2]>>2))
		}
		if n > 3 {
			b = append(b, ascii(g[2]<<6|g[3]))
		}
	}
	return string(b)
}

func ascii(c byte) byte {
	if c >= 0x80 || c == 0 {
		return ' '
	}
	return c
}

// hexPart returns the longest stretch of hex digits of the run.
func hexPart(run string) (at, n int) {
	for i := 0; i < len(run); {
		end := runEnd(run, i, cHexUp)
		if end-i > n {
			at, n = i, end-i
		}
		i = end + 1
	}
	return at, n
}

// decodeHex decodes the longest printable text that hex digits stand for, or returns nothing.
func decodeHex(run string) string {
	from, to := 0, 0
	for phase := range 2 {
		begin := phase
		for i := phase; i+2 <= len(run); i += 2 {
			if c := hexByte(run, i); c >= 0x80 || !printable(c) {
				begin = i + 2
			} else if i+2-begin > to-from {
				from, to = begin, i+2
			}
		}
	}
	if to-from < minHexText {
		return ""
	}
	b := make([]byte, 0, (to-from)/2)
	for i := from; i < to; i += 2 {
		b = append(b, hexByte(run, i))
	}
	return string(b)
}

func hexByte(run string, i int) byte {
	hi, _ := unhex(run[i])
	lo, _ := unhex(run[i+1])
	return hi<<4 | lo
}

// wrapped extends a run over the lines after it that are base64 and nothing else.
func wrapped(s string, end int) int {
	for {
		i := end
		for i < len(s) && (s[i] == '\r' || s[i] == '\n' || is(s[i], cSpace) || s[i] == '\\' && i+1 < len(s) && (s[i+1] == 'n' || s[i+1] == 'r')) {
			i += 1 + b2i(s[i] == '\\')
		}
		next := runEnd(s, i, cAnyBase64)
		if i == end || next-i < 4 {
			return end
		}
		for pad := 0; pad < 2 && next < len(s) && s[next] == '='; pad++ {
			next++
		}
		if next < len(s) && s[next] != '\r' && s[next] != '\n' && s[next] != '\\' && !is(s[next], cSpace) && !isQuote(s[next]) {
			return end
		}
		end = next
	}
}
