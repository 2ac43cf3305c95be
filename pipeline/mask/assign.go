package mask

import "strings"

const (
	maxName   = 64
	maxQuoted = 16 << 10 // of a literal beside a name; a longer one is taken to its first blank
	maxCode   = 256      // of a value that is looked at as code
)

// named matches a telling name and takes the value beside it. at lies inside the name.
func named(sc *scanner, at int) int {
	if sc.tokensOnly {
		return 0
	}
	s := sc.s
	lo := runStart(s, at, cName, maxName)
	if lo > 0 && sc.escaped(lo) {
		lo++
	}
	hi := runEnd(s[:min(len(s), at+maxName)], at, cName)
	for hi > at && (s[hi-1] == '.' || s[hi-1] == '-') {
		hi--
	}
	if has(s, lo-len(markerOpen), markerOpen) {
		return 0
	}
	if !separated(s, lo, hi) {
		return sc.markup(lo, hi)
	}
	v, ok := sc.valueBeside(lo, hi)
	if !ok {
		return sc.markup(lo, hi)
	}
	c := classify(s[lo:hi])
	if c == classNone {
		c = sc.spacedName(lo, hi)
	}
	if c == classNone {
		return 0
	}
	v.class = c
	switch c {
	case classAuthorization:
		return sc.authorization(v)
	case classCookie:
		return sc.cookie(v)
	}
	return sc.assign(v)
}

// separated is the quick look whether the name s[lo:hi] may have a value: in prose it has none.
func separated(s string, lo, hi int) bool {
	if hi >= len(s) {
		return false
	}
	if !is(s[hi], cSpace) {
		return is(s[hi], cSep)
	}
	k := runEnd(s, hi, cSpace)
	return k < len(s) && is(s[k], cSep) || s[lo] == '-'
}

// beside is where the value of a name lies.
type beside struct {
	manner
	class class
	start int
	delim string // that closes a quoted value: a quotation mark, with backslashes inside other strings
	end   int    // of a block of lines
}

// valueBeside parses what is between a name and its value.
func (sc *scanner) valueBeside(lo, hi int) (beside, bool) {
	s := sc.s
	b := beside{}
	b.name = s[lo:hi]
	i := skip(s, hi, '\\')
	if i == len(s) {
		return b, false
	}
	quoted := isQuote(s[i])
	if quoted {
		i++
	} else if i > hi {
		return b, false
	}
	i = skip(s, i, ']')
	for n := 0; n < 2 && i < len(s) && s[i] == '*'; n++ { // **Password**: …
		i++
	}
	j := runEnd(s, i, cSpace)
	if j >= len(s) {
		return b, false
	}
	switch s[j] {
	case '=':
		b.spaced = j > i
		switch {
		case has(s, j, "=>"), has(s, j, "=="):
			j = skip(s, j+1, '=')
			j += b2i(has(s, j, ">"))
			b.spaced = true
		default:
			j++
		}
		b.env = !quoted && !b.spaced && upperName(b.name)
		b.query = lo > 0 && (s[lo-1] == '?' || s[lo-1] == '&' || s[lo-1] == ';')
	case ':':
		if has(s, j, "::") {
			return b, false
		}
		j++
		b.spaced, b.colon = true, true
		if has(s, j, "=") {
			j++
			b.colon = false
		}
		if k := runEnd(s, j, cSpace); k < len(s) && (s[k] == '|' || s[k] == '>') {
			if b.start, b.end = yamlBlock(s, lo, k); b.end > 0 {
				b.quoted = true
				return b, true
			}
		}
	case ',': // setenv("NAME", "value"), ["--password", "value"]
		if !quoted || lo < 2 || !(strings.HasPrefix(b.name, "-") || s[lo-2] == '(' || has(s, lo-3, `(\`)) {
			return b, false
		}
		j = runEnd(s, j+1, cSpace)
		if k := skip(s, j, '\\'); k >= len(s) || !isQuote(s[k]) {
			return b, false
		}
	case '\n', '\r': // name: PASSWORD, and in the next line value: …
		k := yamlValue(s, j)
		if k == 0 {
			return b, false
		}
		b.spaced, b.colon = true, true
		j = k
	default: // --password value
		switch {
		case j == hi || quoted:
			return b, false
		case s[j] == '\'' && hasFold(b.name, 0, "password") && len(b.name) == len("password"): // SQL: PASSWORD '…'
		case strings.HasPrefix(b.name, "--") || strings.HasPrefix(b.name, "-") && classify(b.name) == classPassword:
			b.env = true
		default:
			return b, false
		}
	}
	for n := 0; n < 2 && j < len(s) && s[j] == '*'; n++ { // **Password:** …
		j++
	}
	if k := skip(s, j, '+'); k > j && k < len(s) && isQuote(s[k]) { // a blank in forms
		j = k
	}
	k := runEnd(s, j, cSpace)
	b.spaced = b.spaced || k > j && !b.env
	if k+1 < len(s) && strings.IndexByte("rbfuRBFU@", s[k]) >= 0 && isQuote(s[k+1]) { // b'…', f"…"
		k++
	}
	q := skip(s, k, '\\')
	if q < len(s) && isQuote(s[q]) {
		if q+1 >= len(s) || strings.IndexByte(" \t\r\n),;.+}]:", s[q+1]) >= 0 {
			return b, false // the mark closes something: input("password: ")
		}
		b.quoted, b.delim, k = true, s[k:q+1], q+1
	}
	b.start = k
	return b, k < len(s)
}

func isQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

func skip(s string, i int, c byte) int {
	for i < len(s) && s[i] == c {
		i++
	}
	return i
}

// upperName reports NAME_LIKE_THIS, the way of environment variables.
func upperName(name string) bool { return mix(name)&cLower == 0 && mix(name)&cUpper != 0 }

// yamlValue returns where the value of a name and value pair begins whose name ends at the line break i.
func yamlValue(s string, i int) int {
	for i < len(s) && (s[i] == '\r' || s[i] == '\n') {
		i++
	}
	i = runEnd(s, i, cSpace)
	for _, p := range []string{"value:", "Value:"} {
		if has(s, i, p) {
			return runEnd(s, i+len(p), cSpace)
		}
	}
	return 0
}

// assign takes the value of an ordinary name.
func (sc *scanner) assign(b beside) int {
	s := sc.s
	end := sc.valueEnd(b)
	if end <= b.start {
		return 0
	}
	v := s[b.start:end]
	if b.end > 0 { // of a block, the first line tells whether it is a secret
		v = line(v, 0)
	}
	b.next, b.cut = s[end:min(len(s), end+16)], sc.cut(end)
	if len(v) <= maxCode && !secretValue(b.class, v, b.manner) || onlyMarkers(v) {
		return 0
	}
	kind := Assignment
	switch b.class {
	case classAWSSecret, classAWSSession:
		kind = b.class.kind()
	}
	sc.take(b.start, end, kind)
	if strings.Contains(v, "BEGIN") {
		return 0 // a private key in a literal that is cut goes on behind its first blank
	}
	return end
}

// take notes a value as secret. A token that fills it gives it the better name.
func (sc *scanner) take(start, end int, k Kind) int {
	p := sc.m.span(sc.s, start, end, k)
	p.generic = true
	if t, ok := sc.m.wholeToken(sc.s[start:end]); ok {
		p.kind = t
	}
	sc.spans = append(sc.spans, p)
	return end
}

// wholeToken tells the kind of a value that is one token from end to end.
func (m *Masker) wholeToken(v string) (Kind, bool) {
	if len(v) > 4<<10 {
		return "", false
	}
	sub := scanner{m: m, s: v, tokensOnly: true}
	sub.scan()
	if spans := merge(sub.spans); len(spans) == 1 && spans[0].start == 0 && spans[0].end == len(v) {
		return spans[0].kind, true
	}
	return "", false
}

// valueEnd returns where the value of a name ends.
func (sc *scanner) valueEnd(b beside) int {
	s := sc.s
	if b.end > 0 {
		return b.end
	}
	if b.quoted {
		if end, ok := closing(s, b.start, b.delim); ok {
			return end
		}
		if sc.openLiteral(b) {
			return len(s)
		}
	}
	i := b.start
	for i < len(s) {
		c := s[i]
		switch {
		case c == '&' && b.query:
			return i
		case is(c, cEnd):
			if !b.env || is(c, cSpace) || c <= ' ' || isQuote(c) || c == ';' {
				return i
			}
			if c == '\\' && (i+1 >= len(s) || strings.IndexByte(`nrtu"'\`, s[i+1]) >= 0) {
				return i
			}
			if has(s, i, markerOpen) || (c == '[' || c == '(' || c == '<' || c == '{') && identifier(s[b.start:i], true) && i-b.start < maxCode {
				return i
			}
			if (c == ')' || c == ']' || c == '}' || c == '>' || c == ',') && (i+1 == len(s) || is(s[i+1], cEnd)) {
				return i
			}
		}
		i++
	}
	return i
}

// openLiteral reports a literal that the end of the text cuts: all of it is the value. Where blanks tell that it is none of the class, the
// value ends at the first one.
func (sc *scanner) openLiteral(b beside) bool {
	v := sc.s[b.start:]
	return len(v) <= maxCode && !strings.ContainsAny(v, "\n\r") && !(b.class.soft() && strings.ContainsAny(v, " \t"))
}

// closing finds the mark that closes a literal in the same line.
func closing(s string, start int, delim string) (int, bool) {
	limit := min(len(s), start+maxQuoted)
	for i := start; i < limit; i++ {
		switch s[i] {
		case '\n', '\r':
			return 0, false
		case delim[len(delim)-1]:
			k := i
			for k > start && s[k-1] == '\\' {
				k--
			}
			if i-k == len(delim)-1 {
				return k, true
			}
			if i-k < len(delim)-1 {
				return k, true // an outer string ends here
			}
		}
	}
	return 0, false
}

// authorization keeps the scheme and takes the credentials.
func (sc *scanner) authorization(b beside) int {
	s := sc.s
	start := b.start
	scheme := schemeEnd(s[start:min(len(s), start+maxName)])
	from := start + scheme
	to := runEnd(s, from, cTok)
	many := hasFold(s, start, "digest ") || hasFold(s, start, "aws4-") || hasFold(s, start, "hawk ") || hasFold(s, start, "oauth ")
	if many {
		to = lineEnd(s, from)
	}
	v := s[from:to]
	if len(v) < 8 || exempt(v) || has(s, from, markerOpen) {
		return 0
	}
	if scheme == 0 {
		plain := identifier(v, true) && mix(v)&cDigit == 0
		if plain && !(b.colon && sc.cut(to) && !stopWord(v)) || b.spaced && !b.colon && !b.quoted {
			return 0
		}
	}
	if !many && to < len(s) && strings.IndexByte("([{", s[to]) >= 0 && identifier(v, true) {
		return 0
	}
	return sc.take(from, to, Authorization)
}

// schemeEnd returns the length of an authentication scheme and the blanks after it, or 0.
func schemeEnd(v string) int {
	for _, scheme := range []string{"bearer", "basic", "token", "digest", "negotiate", "apikey", "api-key", "api-token", "aws4-hmac-sha256", "hawk", "oauth", "ntlm", "splunk", "sso-key", "key"} {
		if hasFold(v, 0, scheme) {
			if i := runEnd(v, len(scheme), cSpace); i > len(scheme) {
				return i
			}
		}
	}
	return 0
}

// bearer matches Bearer with something random after it, without a header name.
func bearer(sc *scanner, at int) int {
	s := sc.s
	i := at + len("bearer")
	from := runEnd(s, i, cSpace)
	if has(s, i, "%20") {
		from = i + 3
	}
	if next := folded(s, from); next > 0 {
		from = next
	}
	if sc.tokensOnly || from == i || !sc.open(at, cAlnum) {
		return 0
	}
	end := runEnd(s, from, cTok)
	for end > from && (s[end-1] == '.' || s[end-1] == ':') {
		end--
	}
	v := s[from:end]
	if len(v) < 16 && !(len(v) >= tailMin && sc.cut(end)) || mix(v)&cDigit == 0 || exempt(v) {
		return 0
	}
	return sc.take(from, end, Authorization)
}

// folded is where a header goes on that is folded over a line break at i, 0 if it does not: the next line is indented or quoted.
func folded(s string, i int) int {
	if has(s, i, "\r") {
		i++
	}
	if !has(s, i, "\n") {
		return 0
	}
	next := i + 1
	for next < len(s) && (is(s[next], cSpace) || s[next] == '>') {
		next++
	}
	return next
}

// cookie takes everything to the end of the line. Prose about cookies has no name=value.
func (sc *scanner) cookie(b beside) int {
	s := sc.s
	head := s[b.start:min(len(s), b.start+2*maxName)]
	eq := strings.IndexByte(head, '=')
	if eq <= 0 || strings.ContainsAny(head[:eq], " \t\r\n(.[\"'") {
		return 0
	}
	end, ok := 0, false
	if b.quoted {
		end, ok = closing(s, b.start, b.delim)
	}
	if !ok {
		end = lineEnd(s, b.start)
	}
	if end-b.start-eq < 5 || has(s, b.start+eq+1, markerOpen) {
		return 0
	}
	return sc.take(b.start, end, Cookie)
}

// lineEnd returns the end of the line or of the string literal that s[i:] lies in.
func lineEnd(s string, i int) int {
	for i < len(s) && s[i] != '\n' && s[i] != '\r' && s[i] != '\\' && !isQuote(s[i]) {
		i++
	}
	return i
}
