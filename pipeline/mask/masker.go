package mask

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

const (
	rulesVersion = 4 // raise it when a matcher, a filter or the marker changes what comes out
	maxRounds    = 8 // until nothing changes any more; two are the rule
)

// Masker masks texts. It is immutable and safe for concurrent use.
type Masker struct {
	key      []byte
	pii      bool
	depth    int
	maxBytes int
	tokens   []token
	params   []urlParameter
	programs []program
	vendors  []vendor
	filter   *prefilter
	buffers  *sync.Pool // of *[]byte
	version  string
}

// New returns a Masker with the given options.
func New(opts Options) *Masker {
	m := &Masker{
		key:      slices.Clone(opts.Key),
		pii:      opts.PII,
		depth:    cmp.Or(opts.MaxDecodeDepth, 4),
		maxBytes: cmp.Or(opts.MaxValueBytes, 64<<20),
		tokens:   tokens(),
		params:   urlParameters(),
		programs: programs(),
		vendors:  vendorNames(),
		buffers:  &sync.Pool{New: func() any { return new([]byte) }},
	}
	m.filter = newPrefilter(anchors(m.tokens, m.params, m.programs, m.vendors))
	h := sha256.New()
	for _, t := range m.tokens {
		fmt.Fprintf(h, "%s %s %d %d %t %d\n", t.kind, t.lit, t.body, t.min, t.glued, t.vet)
	}
	m.version = fmt.Sprintf("mask/%d-%s;hash=%t;pii=%t;depth=%d;max=%d", rulesVersion, hex.EncodeToString(h.Sum(nil)[:4]), m.key != nil, m.pii, m.depth, m.maxBytes)
	return m
}

// Version names the rules, the form of the markers and the options. It changes when the same text may be masked
// differently; the bytes of the key are no part of it.
func (m *Masker) Version() string { return m.version }

// SensitiveKey reports whether a value under this key is masked whatever it looks like.
func (m *Masker) SensitiveKey(key string) bool { return m.classify(key) != classNone }

// String masks a text. A clean text is returned as it is. JSON in the text keeps its shape.
func (m *Masker) String(s string, c Counts) string { return m.text(s, classNone, c) }

// Leaf masks a text that is held under a key. Under a sensitive key the whole value goes, unless it is empty, a truth
// value, a small number or a reference such as ${NAME}.
func (m *Masker) Leaf(key, s string, c Counts) string { return m.text(s, m.classify(key), c) }

// JSON masks the strings, keys and large secret numbers of a document, which stays valid and keeps its shape. What is
// no JSON is masked as text.
func (m *Masker) JSON(doc []byte, c Counts) []byte {
	s := string(doc)
	out := m.text(s, classNone, c)
	switch out {
	case s:
		return doc
	case marker(Failed, ""):
		return []byte(`"` + out + `"`)
	}
	if n := strings.TrimSpace(s); n != "" {
		if end, num := scalarEnd(n, 0); num && end == len(n) { // digits that were hex of a secret
			return []byte(`"` + strings.TrimSpace(out) + `"`)
		}
	}
	return []byte(out)
}

// text masks until nothing changes any more. So masking what comes out changes nothing, by construction.
func (m *Masker) text(s string, key class, c Counts) (out string) {
	if len(s) > m.maxBytes {
		c.add(Failed)
		return marker(Failed, "")
	}
	defer func() {
		// Raw text must never leave because of a defect here.
		if recover() != nil {
			c.add(Failed)
			out = marker(Failed, "")
		}
	}()
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	var found []Kind
	for range maxRounds {
		spans := m.findKeyed(nil, s, level{}, carried{class: key})
		if len(spans) == 0 {
			return m.close(s, found, c)
		}
		spans = merge(spans)
		for _, p := range spans {
			found = append(found, p.kind)
		}
		s = apply(s, spans)
	}
	c.add(Failed)
	return marker(Failed, "")
}

// close counts what was found, unless the markers made the value too large to be masked again.
func (m *Masker) close(s string, found []Kind, c Counts) string {
	if len(s) > m.maxBytes {
		c.add(Failed)
		return marker(Failed, "")
	}
	for _, k := range found {
		c.add(k)
	}
	return s
}

// Joined masks the parts of one message, or consecutive deltas, as one text, so that a secret cut over parts is
// found; each part that holds a piece gets a marker of its own. The number of parts stays.
func (m *Masker) Joined(parts []string, c Counts) (out []string) {
	total := 0
	for _, p := range parts {
		total += len(p)
	}
	fail := func() []string {
		c.add(Failed)
		failed := make([]string, len(parts))
		for i := range failed {
			failed[i] = marker(Failed, "")
		}
		return failed
	}
	if total > m.maxBytes {
		return fail()
	}
	defer func() {
		if recover() != nil {
			out = fail()
		}
	}()
	cur := parts
	for i, p := range parts {
		if !utf8.ValidString(p) {
			if &cur[0] == &parts[0] {
				cur = slices.Clone(parts)
			}
			cur[i] = strings.ToValidUTF8(p, "\uFFFD")
		}
	}
	var found []Kind
	for range maxRounds {
		spans := merge(m.rests(m.find(nil, strings.Join(cur, ""), level{}), cur))
		if len(spans) == 0 {
			next, kinds := m.each(cur)
			if len(kinds) == 0 {
				for _, k := range found {
					c.add(k)
				}
				return cur
			}
			cur, found = next, append(found, kinds...)
			continue
		}
		for _, p := range spans {
			found = append(found, p.kind)
		}
		cur = applyParts(cur, spans)
	}
	return fail()
}

// each masks every part for itself, since a part may be a document of its own. It returns no kinds if all are clean.
func (m *Masker) each(parts []string) (out []string, found []Kind) {
	out = parts
	for i, p := range parts {
		spans := merge(m.find(nil, p, level{}))
		if len(spans) == 0 {
			continue
		}
		if len(found) == 0 {
			out = slices.Clone(parts)
		}
		for _, p := range spans {
			found = append(found, p.kind)
		}
		out[i] = apply(p, spans)
	}
	return out, found
}

// level says how far inside encodings a text lies.
type level struct {
	json    int  // strings of JSON around it
	encoded int  // layers of base64 or hex that it came out of
	loose   bool // it came out of escapes, percent-encoding or entities
	wrapped bool // its lines were joined
}

// find appends the spans of a text, as JSON if it is some.
func (m *Masker) find(dst []span, s string, lv level) []span {
	if lv.json <= m.depth && looksJSON(s) {
		if spans, ok := m.findJSON(dst, s, lv, carried{}); ok {
			return spans
		}
	}
	return m.scanText(dst, s, lv)
}

// findKeyed appends the spans of a text about which a key says something.
func (m *Masker) findKeyed(dst []span, s string, lv level, c carried) []span {
	if c.class == classNone || exempt(s) || c.class == classWorkDir && !secretValue(c.class, s, manner{quoted: true}) {
		return m.find(dst, s, lv)
	}
	if lv.json <= m.depth && looksJSON(s) {
		if spans, ok := m.findJSON(dst, s, lv, c); ok {
			return spans
		}
	}
	from := 0
	if c.class == classAuthorization {
		if from = schemeEnd(s); from == len(s) || from > 0 && exempt(s[from:]) {
			return m.find(dst, s, lv)
		}
	}
	p := m.span(s, from, len(s), c.class.kind())
	p.generic = true
	if t, ok := m.wholeToken(s[from:]); ok {
		p.kind = t
	}
	return append(dst, p)
}

// scanText appends the spans of running text.
func (m *Masker) scanText(dst []span, s string, lv level) []span {
	sc := scanner{m: m, s: s, spans: dst}
	sc.scan()
	dst = sc.spans
	if lv.encoded < maxEncoded {
		dst = m.encodedRuns(dst, s, lv)
	}
	if m.pii && !lv.wrapped {
		dst = m.personal(dst, s)
	}
	if !lv.wrapped {
		dst = m.unwrapped(dst, s, lv)
	}
	if lv.loose {
		return dst
	}
	if v := loosen(s); v != nil {
		lv.loose = true
		spans := merge(m.find(nil, v.text, lv))
		v.lift(spans)
		dst = append(dst, spans...)
	}
	return dst
}
