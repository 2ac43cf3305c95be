package mask

import "strings"

const (
	minWrapped = 16      // characters of a run that may go on in the next line
	maxLine    = 4 << 10 // of a line that is looked back at
)

// unwrapped appends the spans of secrets that are wrapped over lines.
func (m *Masker) unwrapped(dst []span, s string, lv level) []span {
	lv.wrapped = true
	for i := 0; ; {
		k := strings.IndexByte(s[i:], '\n')
		if k < 0 {
			return dst
		}
		i += k + 1
		if _, next := lineBreak(s, i-1); next == 0 {
			continue
		}
		from := max(0, i-1-maxLine)
		if k := strings.LastIndexByte(s[from:i-1], '\n'); k >= 0 {
			from += k + 1
		}
		to := i - 1
		for to < len(s) {
			_, next := lineBreak(s, to)
			if next == 0 {
				break
			}
			to = next + len(line(s, next))
		}
		v := &view{below: s[from:to], decode: decodeWrapped}
		v.text = decodeWrapped(v.below, nil)
		spans := merge(m.scanText(nil, v.text, lv))
		v.lift(spans)
		for _, p := range spans {
			p.start, p.end = p.start+from, p.end+from
			dst = append(dst, p)
		}
		i = to
	}
}

func decodeWrapped(s string, segs *[]seg) string {
	d := decoder{segs: segs}
	d.b.Grow(len(s))
	from := 0
	for i := 0; ; {
		k := strings.IndexByte(s[i:], '\n')
		if k < 0 {
			d.literal(s, from, len(s))
			return d.b.String()
		}
		i += k
		end, next := lineBreak(s, i)
		i++
		if next == 0 {
			continue
		}
		d.literal(s, from, end)
		from = next
		i = next
	}
}

// lineBreak tells whether a run goes on over the line break at i: where it ends before it, and where it begins again.
// next is 0 if it does not. A mark that continues a line says so; else the next line must be a run and no word.
func lineBreak(s string, i int) (end, next int) {
	end = i
	if end > 0 && s[end-1] == '\r' {
		end--
	}
	soft := end > 1 && (s[end-1] == '\\' || s[end-1] == '=' && is(s[end-2], cAnyBase64) && !paddingEnds(s, i+1))
	if soft {
		end--
	}
	run := end >= minWrapped && is(s[end-1], cRun) && is(s[end-minWrapped/2], cRun) && is(s[end-minWrapped], cRun)
	if !soft && !run {
		return 0, 0 // most lines
	}
	next = i + 1
	for next < len(s) && (is(s[next], cSpace) || s[next] == '>') {
		next++
	}
	if soft && s[end-1] > ' ' && next < len(s) && s[next] > ' ' {
		return end, next
	}
	if !run || runStart(s, end, cRun, minWrapped) != end-minWrapped {
		return 0, 0
	}
	to := runEnd(s, next, cRun)
	if to == next || has(s, next, markerOpen) {
		return 0, 0
	}
	after := to
	for after < len(s) && after-to < 4 && strings.IndexByte("\"'`,;)}]\r ", s[after]) >= 0 {
		after++
	}
	if to-next < 4 || after < len(s) && s[after] != '\n' {
		return 0, 0
	}
	begin := max(0, end-maxLine)
	if k := strings.LastIndexByte(s[begin:end], '\n'); k >= 0 {
		begin += k + 1
	}
	if to-next > end-begin || to-i-1 > end-begin+2 {
		return 0, 0 // wrapped lines do not grow
	}
	if !chosen(s[next:to]) && strings.ContainsAny(strings.TrimLeft(s[begin:end], " \t>"), " \t") {
		return 0, 0
	}
	return end, next
}

// paddingEnds reports whether nothing of a run follows, so that the sign before the line break is padding.
func paddingEnds(s string, i int) bool {
	return i >= len(s) || !is(s[i], cAnyBase64)
}

// chosen reports a run that is no word: digits, or capitals inside.
func chosen(v string) bool {
	for i := range len(v) {
		if is(v[i], cDigit) || i > 0 && is(v[i], cUpper) && is(v[i-1], cLower) {
			return true
		}
	}
	return false
}
