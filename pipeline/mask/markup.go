package mask

import "strings"

const (
	maxTag   = 512 // of a tag in which a value is looked for
	maxRows  = 256 // of a table
	maxInner = 3   // elements around a value
)

// markup takes the value of a telling name s[lo:hi] where markup stands between the two: elements and attributes of
// XML, property lists, tables.
func (sc *scanner) markup(lo, hi int) int {
	s := sc.s
	if lo == 0 || hi+1 >= len(s) || s[lo-1] == ' ' && s[hi] == ' ' && is(s[hi+1], cAlnum) { // prose
		return 0
	}
	tag, quoted, plist := opensTag(s, lo), isQuote(s[hi]) && s[lo-1] == s[hi] && nameAttribute(s, lo-1), s[lo-1] == '>' && has(s, hi, "</") && (hasFold(s, lo-5, "<key>") || hasFold(s, lo-6, "<name>"))
	if !tag && !quoted && !plist {
		return sc.table(lo, hi)
	}
	c := classify(s[lo:hi])
	if c == classNone || c == classWorkDir {
		return 0
	}
	if quoted {
		return sc.attribute(hi+1, c)
	}
	if from := tagEnd(s, hi); from > 0 {
		return sc.element(from, c)
	}
	return 0
}

// nameAttribute reports an attribute that names something, whose value begins with the quotation mark at i.
func nameAttribute(s string, i int) bool {
	if i < 4 || s[i-1] != '=' {
		return false
	}
	for _, a := range [...]string{"name", "key", "id", "property"} {
		if k := i - 1 - len(a); k > 0 && hasFold(s, k, a) && !is(s[k-1], cAlnum) {
			return true
		}
	}
	return false
}

// spacedName classifies a name of two words, such as API key.
func (sc *scanner) spacedName(lo, hi int) class {
	s := sc.s
	if hi-lo != len("key") || !hasFold(s, lo, "key") || lo < 4 || s[lo-1] != ' ' {
		return classNone
	}
	before := runStart(s, lo-1, cAlnum, 16)
	for _, w := range [...]string{"api", "secret", "private", "signing", "encryption", "master", "access"} {
		if lo-1-before == len(w) && hasFold(s, before, w) {
			return classAPIKey
		}
	}
	return classNone
}

// opensTag reports whether an element begins with the name at lo, with or without a namespace.
func opensTag(s string, lo int) bool {
	if s[lo-1] == ':' {
		lo = runStart(s, lo-1, cName, maxName)
	}
	return lo > 0 && s[lo-1] == '<'
}

// tagEnd returns where the content of an element begins whose tag goes on at i, or 0.
func tagEnd(s string, i int) int {
	for limit := min(len(s), i+maxTag); i < limit; i++ {
		switch s[i] {
		case '>':
			if s[i-1] == '/' {
				return 0
			}
			return i + 1
		case '\n', '{', ';':
			return 0
		}
	}
	return 0
}

// element takes what an element holds, or the element inside it does: <string>…, <value>….
func (sc *scanner) element(from int, c class) int {
	s := sc.s
	for i, n := from, 0; n < maxInner; n++ {
		for i < len(s) && s[i] <= ' ' {
			i++
		}
		if i >= len(s) || s[i] != '<' || has(s, i, "</") {
			break
		}
		if has(s, i, "<![CDATA[") {
			from = i + len("<![CDATA[")
			break
		}
		if i = tagEnd(s, i); i == 0 {
			return 0
		}
		from = i
	}
	end := from
	for end < len(s) && s[end] != '<' && end-from < maxQuoted {
		end++
	}
	if has(s, end-3, "]]>") && end < len(s) {
		end -= 3
	}
	if end >= len(s) {
		return 0
	}
	for from < end && s[from] <= ' ' {
		from++
	}
	for end > from && s[end-1] <= ' ' {
		end--
	}
	return sc.marked(from, end, c)
}

// attribute takes the attribute value of the tag in which another attribute at i held the name, or the content.
func (sc *scanner) attribute(i int, c class) int {
	s := sc.s
	for limit := min(len(s), i+maxTag); i < limit; i++ {
		switch s[i] {
		case '>':
			if s[i-1] == '/' {
				return 0
			}
			return sc.element(i+1, c)
		case '<', '{', ';':
			return 0
		case 'v', 'V', 'c':
			for _, name := range [...]string{"value=", "content="} {
				if from := i + len(name); s[i-1] <= ' ' && hasFold(s, i, name) && from < len(s) && isQuote(s[from]) {
					if end, ok := closing(s, from+1, s[from:from+1]); ok {
						return sc.marked(from+1, end, c)
					}
				}
			}
		}
	}
	return 0
}

// marked takes a value between marks of a markup.
func (sc *scanner) marked(from, end int, c class) int {
	if from >= end || onlyMarkers(sc.s[from:end]) || !secretValue(c, sc.s[from:end], manner{quoted: true}) {
		return 0
	}
	return sc.take(from, end, Assignment)
}

// table takes the cell beside a name, or the cells below it if the name heads a column.
func (sc *scanner) table(lo, hi int) int {
	s := sc.s
	bar := trimCell(s, hi, 1)
	if bar >= len(s) || s[bar] != '|' {
		return 0
	}
	c := classify(s[lo:hi])
	if c == classNone {
		if c = sc.spacedName(lo, hi); c != classNone {
			lo = runStart(s, lo-1, cAlnum, 16)
		}
	}
	if before := trimCell(s, lo, -1); c == classNone || c == classWorkDir || before == 0 || s[before-1] != '|' {
		return 0
	}
	eol := bar + 1 + max(strings.IndexByte(s[bar+1:], '\n'), -1)
	if strings.IndexByte(s[bar+1:], '\n') < 0 {
		eol = len(s)
	}
	if eol < len(s) && rule(line(s, eol+1)) {
		return sc.column(lo, eol+1, c)
	}
	next := strings.IndexByte(s[bar+1:eol], '|')
	if next < 0 {
		return 0
	}
	return sc.cell(bar+1, bar+1+next, c)
}

// trimCell goes over blanks and emphasis in a direction.
func trimCell(s string, i, step int) int {
	for {
		k := i
		if step < 0 {
			k--
		}
		if k < 0 || k >= len(s) || !is(s[k], cSpace) && s[k] != '*' && s[k] != '`' && s[k] != '_' {
			return i
		}
		i += step
	}
}

func line(s string, i int) string {
	if k := strings.IndexByte(s[i:], '\n'); k >= 0 {
		return s[i : i+k]
	}
	return s[i:]
}

// rule reports the line under the head of a table.
func rule(l string) bool {
	return strings.Contains(l, "--") && strings.Trim(l, "|-: \t\r+") == ""
}

// column takes the cells below the name at lo, from the line after the rule on.
func (sc *scanner) column(lo, from int, c class) int {
	s := sc.s
	head := s[strings.LastIndexByte(s[:lo], '\n')+1 : lo]
	n := strings.Count(head, "|")
	i := from + len(line(s, from)) + 1
	for range maxRows {
		if i >= len(s) {
			break
		}
		row := line(s, i)
		at := 0
		for range n {
			k := strings.IndexByte(row[at:], '|')
			if k < 0 {
				return 0
			}
			at += k + 1
		}
		if end := strings.IndexByte(row[at:], '|'); end >= 0 {
			sc.cell(i+at, i+at+end, c)
		}
		i += len(row) + 1
	}
	return 0
}

// cell takes a cell. Prose in a table that describes names is no secret, nor is a bare word.
func (sc *scanner) cell(from, end int, c class) int {
	s := sc.s
	quoted := strings.IndexByte(s[from:end], '`') >= 0
	from, end = trimCell(s[:end], from, 1), trimCell(s, end, -1)
	if from >= end {
		return 0
	}
	v := s[from:end]
	if len(v) < 6 || strings.ContainsAny(v, " \t([{<") || !quoted && identifier(v, true) && mix(v)&cDigit == 0 || namesSecret(v) && identifier(v, true) {
		return 0
	}
	return sc.marked(from, end, c)
}

// yamlBlock returns the extent of a block scalar whose sign | or > is at i, or 0: the lines that are indented deeper
// than the line of its name.
func yamlBlock(s string, lo, i int) (from, end int) {
	k := i + 1
	for k < len(s) && (s[k] == '-' || s[k] == '+' || is(s[k], cDigit|cSpace) || s[k] == '\r') {
		k++
	}
	if k >= len(s) || s[k] != '\n' {
		return 0, 0
	}
	begin := strings.LastIndexByte(s[:lo], '\n') + 1
	indent := 0
	for begin+indent < lo && (s[begin+indent] == ' ' || s[begin+indent] == '-') {
		indent++
	}
	for k++; k < len(s); {
		l := line(s, k)
		deep := len(l) - len(strings.TrimLeft(l, " "))
		if blank := strings.TrimSpace(l) == ""; !blank && deep <= indent {
			break
		} else if !blank {
			if from == 0 {
				from = k + deep
			}
			end = k + len(strings.TrimRight(l, " \t\r"))
		}
		k += len(l) + 1
	}
	return from, end
}
