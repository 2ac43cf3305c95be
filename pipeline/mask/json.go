package mask

import (
	"strconv"
	"strings"
)

const (
	minKey        = 12    // of a key that may be a secret itself
	maxTaken      = 64    // masked keys of one object that are compared with each other
	maxNesting    = 10000 // of arrays and objects, as in encoding/json
	lookaheadPart = 2     // the looks ahead of one document cost no more than this many times its length
)

// carried is what the keys above say about a value.
type carried struct {
	class class
	all   bool // every leaf below is meant, not only those under value-like keys
	text  bool // the key says that this is a text of a message
	item  bool // an element of a list
}

// walker finds the spans of one or several JSON documents in a row. It accepts a little more than the grammar, such
// as line breaks in strings; that does no harm, since it only replaces what lies inside strings.
type walker struct {
	m      *Masker
	s      string
	spans  []span
	lv     level
	budget int
	seams  seams
}

// findJSON appends the spans of s, or reports that s is no JSON.
func (m *Masker) findJSON(dst []span, s string, lv level, c carried) ([]span, bool) {
	w := walker{m: m, s: s, spans: dst, lv: lv, budget: lookaheadPart * len(s)}
	for i := w.space(0); i < len(s); i = w.space(i) {
		var ok bool
		if i, ok = w.value(i, 0, c); !ok {
			return dst, false
		}
	}
	return w.spans, true
}

// looksJSON reports whether it is worth a try.
func looksJSON(s string) bool {
	for i := range len(s) {
		switch s[i] {
		case ' ', '\t', '\n', '\r':
			continue
		case '{', '[', '"':
			return true
		}
		return false
	}
	return false
}

func (w *walker) space(i int) int {
	for i < len(w.s) && (w.s[i] == ' ' || w.s[i] == '\n' || w.s[i] == '\t' || w.s[i] == '\r') {
		i++
	}
	return i
}

// value walks over the value at i and returns its end.
func (w *walker) value(i, depth int, c carried) (int, bool) {
	if i >= len(w.s) || depth > maxNesting {
		return i, false
	}
	switch w.s[i] {
	case '{':
		return w.object(i+1, depth+1, c)
	case '[':
		return w.array(i+1, depth+1, c)
	case '"':
		end, escaped := stringEnd(w.s, i)
		if end < 0 {
			return i, false
		}
		w.leaf(i+1, end-1, escaped, c)
		return end, true
	}
	end, num := scalarEnd(w.s, i)
	if end < 0 {
		return i, false
	}
	if num && c.class != classNone && !smallNumber(w.s[i:end]) && (c.class == classPassword || c.class == classSecret || c.class == classAPIKey || c.class == classIdentity) {
		p := w.m.span(w.s, i, end, c.class.kind())
		p.quoted, p.layers = true, w.lv.json
		w.spans = append(w.spans, p)
	}
	return end, true
}

// text returns the string between two offsets, and the view that undoes its escapes.
func (w *walker) text(from, to int, escaped bool) (string, *view) {
	raw := w.s[from:to]
	if !escaped {
		return raw, nil
	}
	v := unescapeJSON(raw)
	return v.text, v
}

// lift appends the spans of a string to those of the document.
func (w *walker) lift(spans []span, v *view, from int) {
	if v != nil {
		v.lift(spans)
	}
	for i := range spans {
		spans[i].start += from
		spans[i].end += from
	}
	w.spans = append(w.spans, spans...)
}

func (w *walker) leaf(from, to int, escaped bool, c carried) {
	if to-from < 3 && c.class == classNone && !c.text {
		return
	}
	heard := c.text || c.item // the texts of a message are looked at again where the next one begins
	var text string
	var v *view
	if escaped && !heard {
		var free func()
		v, free = w.m.borrowJSON(w.s[from:to])
		defer free()
		text = v.text
	} else {
		text, v = w.text(from, to, escaped)
	}
	lv := w.lv
	lv.json++
	spans := merge(w.m.findKeyed(nil, text, lv, c))
	if heard && c.class == classNone {
		w.seam(piece{text, v, from, !c.text}, spans)
	} else if c.class != classNone {
		w.seams.reset()
	}
	if len(spans) > 0 {
		w.lift(spans, v, from)
	}
}

func (w *walker) array(i, depth int, c carried) (int, bool) {
	if c.class != classNone {
		c.all = true
	}
	if i = w.space(i); i < len(w.s) && w.s[i] == ']' {
		return i + 1, true
	}
	inKey := false // a private key as a list of lines
	flag := classNone
	var command *program
	var opt *option
	c.item = i < len(w.s) && w.s[i] == '"'
	if c.item && !c.text {
		defer func(outer seams) { w.seams = outer }(w.seams)
		w.seams = seams{}
	}
	for {
		here := c
		switch {
		case here.class != classNone:
		case inKey:
			here = carried{class: classPrivateKey, all: true}
		case flag != classNone:
			here = carried{class: flag}
		}
		end, ok := w.value(i, depth, here)
		if !ok {
			return end, false
		}
		flag = classNone
		if w.s[i] == '"' {
			text := w.s[i+1 : end-1]
			if opt != nil { // ["curl", "-u", "user:password"]
				if a, b := opt.secret(text); a < b && strings.IndexByte(text, '\\') < 0 {
					w.lift([]span{w.m.span(text, a, b, Assignment)}, nil, i+1)
				}
				opt = nil
			} else if command != nil {
				opt, _ = command.option(text, true)
			} else {
				command = w.m.program(text)
			}
			switch {
			case strings.HasPrefix(text, "--") && len(text) > 2 && text[2] != '-' && len(text) < maxName: // ["--password", "value"]
				flag = classify(text)
			case strings.Contains(text, "-----END "):
				inKey = false
			case strings.Contains(text, "-----BEGIN ") && strings.Contains(text, privateKey):
				inKey = true
			}
		}
		end = w.space(end)
		switch {
		case end < len(w.s) && w.s[end] == ',':
			i = w.space(end + 1)
		case end < len(w.s) && w.s[end] == ']':
			return end + 1, true
		default:
			return end, false
		}
	}
}

func (w *walker) object(i, depth int, c carried) (int, bool) {
	if c.class != classNone && !c.all {
		c.all = !w.schema(i)
	}
	if i = w.space(i); i < len(w.s) && w.s[i] == '}' {
		return i + 1, true
	}
	pair, named := classNone, false // what a sibling says about the value: {"name": "password", "value": …}
	var taken []string              // keys with markers
	kube := false                   // a manifest of kind Secret
	for {
		if i >= len(w.s) || w.s[i] != '"' {
			return i, false
		}
		end, escaped := stringEnd(w.s, i)
		if end < 0 {
			return i, false
		}
		key, v := w.text(i+1, end-1, escaped)
		taken = w.key(key, v, i+1, taken)
		if i = w.space(end); i >= len(w.s) || w.s[i] != ':' {
			return i, false
		}
		i = w.space(i + 1)
		if i >= len(w.s) {
			return i, false
		}
		child := carried{class: w.m.classify(key), text: textLike(key)}
		switch key {
		case "role":
			w.speaker(i)
		case "kind":
			kube = kube || has(w.s, i, `"Secret"`)
		}
		switch {
		case child.class != classNone:
		case c.class != classNone && (c.all || valueLike(key)):
			child = c
		case (key == "data" || key == "stringData") && w.s[i] == '{':
			if kube || w.kindAfter(i) == "Secret" {
				child = carried{class: classSecret, all: true}
			}
		case nameLike(key) && w.s[i] == '"':
			pair, named = w.named(i), true
		case valueLike(key):
			if !named && !typedValue(key) {
				pair, named = w.nameAfter(i), true
			}
			child.class = pair
		}
		end, ok := w.value(i, depth, child)
		if !ok {
			return end, false
		}
		end = w.space(end)
		switch {
		case end < len(w.s) && w.s[end] == ',':
			i = w.space(end + 1)
		case end < len(w.s) && w.s[end] == '}':
			return end + 1, true
		default:
			return end, false
		}
	}
}

// speaker ends a message where the next text is somebody else's.
func (w *walker) speaker(i int) {
	end, _ := stringEnd(w.s, i)
	if w.s[i] != '"' || end < 0 {
		return
	}
	if role := w.s[i+1 : end-1]; role != w.seams.role {
		w.seams.reset()
		w.seams.role = role
	}
}

// key masks a key that is a secret itself and keeps it different from the others of its object.
func (w *walker) key(key string, v *view, from int, taken []string) []string {
	if len(key) < minKey {
		return taken
	}
	lv := w.lv
	lv.json++
	spans := merge(w.m.scanText(nil, key, lv))
	if len(spans) == 0 {
		if strings.Contains(key, markerOpen) {
			taken = append(taken, key)
		}
		return taken
	}
	masked := apply(key, spans)
	unique := masked
	for n := 2; len(taken) <= maxTaken && contains(taken, unique); n++ {
		unique = masked + "#" + strconv.Itoa(n)
	}
	last := &spans[len(spans)-1]
	if len(taken) > maxTaken { // too many to compare: number them
		unique = masked + "#" + strconv.Itoa(from)
	}
	if last.end == len(key) {
		last.suffix = unique[len(masked):]
	} else if unique != masked {
		// The suffix belongs at the end of the key, so the last span takes the rest of it.
		last.end = len(key)
		last.suffix = unique[len(masked):]
	}
	w.lift(spans, v, from)
	return append(taken, unique)
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}

func nameLike(key string) bool {
	switch key {
	case "key", "name", "Key", "Name", "k":
		return true
	}
	return false
}

func valueLike(key string) bool {
	switch key {
	case "value", "stringValue", "string_value", "Value", "values", "val", "v", "arrayValue", "array_value", "bytesValue", "intValue", "default":
		return true
	}
	return false
}

// typedValue reports keys of the one member of a value of OTLP, which has no name beside it.
func typedValue(key string) bool {
	switch key {
	case "stringValue", "intValue", "arrayValue", "bytesValue", "string_value", "array_value":
		return true
	}
	return false
}

// named classifies the string at i as a name.
func (w *walker) named(i int) class {
	end, escaped := stringEnd(w.s, i)
	if end < 0 || end-i > 4*maxName {
		return classNone
	}
	text, _ := w.text(i+1, end-1, escaped)
	return w.m.classify(text)
}

// nameAfter looks behind the value at i for the name that belongs to it.
func (w *walker) nameAfter(i int) class {
	for range 2 {
		if i = w.space(w.skip(i)); i >= len(w.s) || w.s[i] != ',' {
			return classNone
		}
		if i = w.space(i + 1); i >= len(w.s) || w.s[i] != '"' {
			return classNone
		}
		end, _ := stringEnd(w.s, i)
		if end < 0 {
			return classNone
		}
		key := w.s[i+1 : end-1]
		if i = w.space(end); i >= len(w.s) || w.s[i] != ':' {
			return classNone
		}
		if i = w.space(i + 1); nameLike(key) && i < len(w.s) && w.s[i] == '"' {
			return w.named(i)
		}
	}
	return classNone
}

// kindAfter looks behind the value at i for what kind the object says that it is.
func (w *walker) kindAfter(i int) string {
	for range 4 {
		if i = w.space(w.skip(i)); i >= len(w.s) || w.s[i] != ',' {
			return ""
		}
		if i = w.space(i + 1); i >= len(w.s) || w.s[i] != '"' {
			return ""
		}
		end, _ := stringEnd(w.s, i)
		if end < 0 {
			return ""
		}
		key := w.s[i+1 : end-1]
		if i = w.space(end); i >= len(w.s) || w.s[i] != ':' {
			return ""
		}
		i = w.space(i + 1)
		if key == "kind" && i < len(w.s) && w.s[i] == '"' {
			if end, _ := stringEnd(w.s, i); end > 0 {
				return w.s[i+1 : end-1]
			}
		}
	}
	return ""
}

// schema reports whether the object that begins at i describes a value instead of holding it: the parameters of a
// tool have a key "password" too.
func (w *walker) schema(i int) bool {
	for i = w.space(i); i < len(w.s) && w.s[i] == '"' && w.budget > 0; i = w.space(i) {
		end, _ := stringEnd(w.s, i)
		if end < 0 {
			return false
		}
		key := w.s[i+1 : end-1]
		if i = w.space(end); i >= len(w.s) || w.s[i] != ':' {
			return false
		}
		i = w.space(i + 1)
		end = w.skip(i)
		switch key {
		case "$ref", "properties", "anyOf", "oneOf", "allOf", "$schema", "description":
			return true
		case "type":
			if oneOf(w.s[i:end], `"string"`, `"object"`, `"array"`, `"number"`, `"integer"`, `"boolean"`, `"null"`, `"STRING"`, `"OBJECT"`) || w.s[i] == '[' {
				return true
			}
		}
		if i = w.space(end); i >= len(w.s) || w.s[i] != ',' {
			return false
		}
		i++
	}
	return false
}

// skip returns the end of the value at i without looking into it, or the end of the text when the budget is spent.
func (w *walker) skip(from int) int {
	limit := min(len(w.s), from+w.budget)
	i, open := from, 0
loop:
	for i < limit {
		switch w.s[i] {
		case '"':
			end, _ := stringEnd(w.s[:limit], i)
			if end < 0 {
				i = limit
				break loop
			}
			i = end - 1
		case '{', '[':
			open++
		case '}', ']':
			open--
		}
		if open < 0 || open == 0 && w.s[i] == ',' {
			w.budget -= i - from
			return i
		}
		i++
	}
	w.budget -= i - from
	return len(w.s)
}

// stringEnd returns the end of the string at i, with its quotes, and whether it holds escapes; -1 without an end.
func stringEnd(s string, i int) (end int, escaped bool) {
	from := i + 1
	for at := from; ; {
		k := strings.IndexByte(s[at:], '"')
		if k < 0 {
			return -1, false
		}
		at += k
		back := at
		for back > from && s[back-1] == '\\' {
			back--
		}
		if (at-back)%2 == 0 {
			return at + 1, strings.IndexByte(s[from:at], '\\') >= 0
		}
		at++
	}
}

// scalarEnd returns the end of the number or literal at i, or -1.
func scalarEnd(s string, i int) (end int, num bool) {
	for _, l := range []string{"true", "false", "null"} {
		if has(s, i, l) {
			return i + len(l), false
		}
	}
	end = i
	for end < len(s) && (is(s[end], cDigit) || strings.IndexByte("+-.eE", s[end]) >= 0) {
		end++
	}
	if end == i || !is(s[i], cDigit) && s[i] != '-' {
		return -1, false
	}
	return end, true
}
