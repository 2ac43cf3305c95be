package archive

import "bytes"

const (
	reasonGarbage = "bytes between documents are no JSON; they are left out, reading goes on at the next line that begins a document"
	reasonOpen    = "an array of documents is not closed: the object was cut; upload it again"
	maxArrays     = 8 // documents lie in arrays of at most this depth
)

// stream cuts buf[from:to] into JSON values. Where compressed bytes were lost, nothing that began before goes on behind.
func (r *reader) stream(from, to int) {
	for _, at := range r.breaks {
		if at > from && at < to {
			r.segment(from, at)
			from = at
		}
	}
	r.segment(from, to)
}

// values is the state of cutting one segment.
type values struct {
	*reader
	b      []byte // buf up to the end of the segment
	at     int
	arrays int
	budget int // bytes that may still be scanned twice, so that hostile input costs no more than linear time
}

// segment cuts buf[from:to], which holds NDJSON, pretty-printed or concatenated values, arrays of documents, or lines
// with a time before each value. All are one case: separators are passed, whatever opens with a brace is a document.
// Of a stream, the segment goes on in further windows.
func (r *reader) segment(from, to int) {
	v := &values{reader: r, b: r.buf[:to], at: from, budget: 4*(to-from) + 1<<20}
	for r.err == nil {
		v.separators()
		if v.at >= len(v.b) {
			break
		}
		switch c := v.b[v.at]; {
		case c == '[' && v.arrays < maxArrays && v.opensDocuments():
			v.arrays++
			v.at++
			v.separator(1)
		case c == '{' || c == '[':
			v.value()
		case c == ']' && v.arrays > 0:
			v.arrays--
			v.at++
			v.separator(1)
		case bytes.HasPrefix(v.b[v.at:], []byte("null")):
			v.at += 4
			v.document(v.at-4, v.at, JSON, false)
		case v.arrays > 0 && v.scalar():
		default:
			v.garbage()
		}
	}
	if v.arrays > 0 && r.err == nil {
		r.problem(len(v.b), len(v.b), reasonOpen, "json")
	}
}

// more takes more of a stream into the window, which begins at what is being read then. It is false when there is no more.
func (v *values) more(want int) bool {
	if v.feed == nil {
		return false
	}
	ok := v.refill(v.at, want)
	if ok {
		v.budget += 4 * len(v.buf)
	}
	v.b, v.at = v.buf, 0
	return ok
}

// separators passes white space, commas, byte order marks, record separators and log line times.
func (v *values) separators() {
	for v.between() {
	}
}

// between passes separators of the window, and is true when there is more of a stream to look at.
func (v *values) between() bool {
	start := v.at
	defer func() { v.separator(v.at - start) }()
	for v.at < len(v.b) {
		if len(v.b)-v.at < lookahead && v.feed != nil && !v.feed.done && !v.feed.broken {
			v.separator(v.at - start)
			start = v.at
			if v.more(lookahead) {
				start = 0
				continue
			}
			start = v.at
		}
		switch c := v.b[v.at]; {
		case space(c) || c == ',' && v.arrays > 0:
			v.at++
		case c == 0xef && bytes.HasPrefix(v.b[v.at:], []byte(bom)):
			v.at += len(bom)
		case c >= '0' && c <= '9' && (v.at == 0 || v.b[v.at-1] == '\n' || v.at == start):
			n := stampLen(v.b[v.at:])
			if n == 0 {
				return false
			}
			v.at += n
		default:
			return false
		}
	}
	if v.feed == nil {
		return false
	}
	v.separator(v.at - start)
	start = v.at
	ok := v.more(lookahead)
	start = 0
	return ok
}

// opensDocuments is whether the array at hand may hold documents: it is empty, or its first element opens with a bracket.
func (v *values) opensDocuments() bool {
	for _, c := range v.b[v.at+1:] {
		if c > ' ' {
			return c == '{' || c == '[' || c == ']' || c == 'n'
		}
	}
	return true
}

// value hands over the value at hand. One that does not end is cut short before the next line that begins a document.
func (v *values) value() {
	start := v.at
	if end := v.line(); end > 0 {
		v.at = end
		v.document(start, end, JSON, false)
		return
	}
	end, cut := valueEnd(v.b, start)
	switch {
	case end > 0:
		v.at = end
		v.document(start, end, JSON, false)
		return
	case cut == 0 && v.more(0):
		return // with more of it
	case cut == 0 && v.full():
		v.skip(v.overDocument(), "json")
		return
	}
	start = v.at
	switch {
	case cut > 0:
		v.at = cut
	default:
		v.at = v.next(start)
	}
	end = v.at
	for end > start && space(v.b[end-1]) && v.at < len(v.b) {
		end--
	}
	v.document(start, end, JSON, true)
	v.separator(v.at - end)
	v.arrays = 0 // what was open is lost with it
}

// line is the end of the value at hand if it fills its line, told without looking into it; 0 if that is not sure. A brace,
// a line feed and a brace are always a border, since JSON has no line feed in strings and wants a comma between elements.
// So it is one value, unless several stand on the line side by side.
func (v *values) line() int {
	b := v.b[v.at:]
	if v.arrays > 0 || len(b) < 2 || b[0] != '{' || b[1] != '"' {
		return 0
	}
	n := bytes.IndexByte(b, '\n')
	if n < 0 || n+2 < len(b) && !(b[n+1] == '{' && b[n+2] == '"') || n+2 >= len(b) && v.feed != nil && !v.feed.done {
		return 0
	}
	if n > 0 && b[n-1] == '\r' {
		n--
	}
	if b[n-1] != '}' || bytes.Contains(b[:n], []byte("}{")) {
		return 0
	}
	return v.at + n
}

// next is the offset of the next line after at that begins a document which ends, or begins one at all when there is no
// budget left to look; the end if there is none.
func (v *values) next(at int) int {
	for {
		n := bytes.IndexByte(v.b[at:], '\n')
		if n < 0 {
			return len(v.b)
		}
		if at = lineWithJSON(v.b, at+n+1); at < 0 {
			return len(v.b)
		}
		begin := at + stampLen(v.b[at:])
		if v.budget <= 0 {
			if lineIsDocument(v.b, begin) {
				return at
			}
			continue
		}
		end, _ := valueEnd(v.b, begin)
		if end > 0 {
			v.budget -= end - at
			return at
		}
		v.budget -= len(v.b) - at
	}
}

// garbage passes what is no JSON, to the next line that begins a document.
func (v *values) garbage() {
	if v.feed != nil {
		v.skip(reasonGarbage, "text")
		return
	}
	start := v.at
	end := len(v.b)
	if n := bytes.IndexByte(v.b[start:], '\n'); n >= 0 {
		if at := lineWithJSON(v.b, start+n+1); at >= 0 {
			end = at
		}
	}
	v.at = end
	for end > start+1 && space(v.b[end-1]) && v.at < len(v.b) {
		end--
	}
	v.problem(start, end, reasonGarbage, "text")
	v.separator(v.at - end)
	v.arrays = 0
}

// full is whether the window of a stream is as large as it may be.
func (v *values) full() bool { return v.feed != nil && len(v.b) >= v.windowSize() }

// skip passes what is at hand as a problem, window by window, to the next line that begins a document.
func (v *values) skip(reason, detected string) {
	v.arrays = 0
	for {
		start := v.at
		end, found := len(v.b), false
		if n := bytes.IndexByte(v.b[start:], '\n'); n >= 0 {
			if at := lineWithJSON(v.b, start+n+1); at >= 0 {
				end, found = at, true
			}
		}
		if !found && !v.feed.done && !v.feed.broken { // what the next line begins with may stand in the next window
			end = max(start, end-lookahead)
		}
		last := end
		for found && last > start+1 && space(v.b[last-1]) {
			last--
		}
		v.problem(start, last, reason, detected)
		v.separator(end - last)
		if v.at = end; found {
			return
		}
		if !v.more(v.chunk()) {
			if v.at < len(v.b) {
				v.problem(v.at, len(v.b), reason, detected)
			}
			v.at = len(v.b)
			return
		}
	}
}

// scalar passes an element of an array of documents that is a string, number or word.
func (v *values) scalar() bool {
	start := v.at
	end := start
	if v.b[start] == '"' {
		for end, _ = stringEnd(v.b, start); end < 0 && v.more(0); end, _ = stringEnd(v.b, start) {
			start = v.at
		}
		start = v.at
	} else {
		for end < len(v.b) && (v.b[end] == '-' || v.b[end] == '+' || v.b[end] == '.' || v.b[end] >= '0' && v.b[end] <= 'z') && v.b[end] != '[' && v.b[end] != ']' {
			end++
		}
	}
	if end <= start {
		return false
	}
	v.at = end
	v.problem(start, end, "an element of an array of documents is no object; it is left out", "json")
	return true
}
