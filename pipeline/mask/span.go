package mask

import (
	"cmp"
	"slices"
	"strings"
)

// span is a piece of a text that a marker replaces.
type span struct {
	start, end int
	kind       Kind
	hash       string // of the secret in its decoded form
	generic    bool   // found by a name, not by its own form: a specific kind wins over it
	quoted     bool   // stands for a JSON number: the marker needs quotes
	layers     int    // of JSON strings around the quotes
	suffix     string // makes a masked object key unique
}

func (m *Masker) span(s string, start, end int, k Kind) span {
	return span{start: start, end: end, kind: k, hash: m.hash(s[start:end])}
}

// quote returns the quotation mark of a marker that replaces a number.
func (p span) quote() string {
	if !p.quoted {
		return ""
	}
	return strings.Repeat(`\`, 1<<p.layers-1) + `"`
}

// merge sorts spans and joins those that overlap, in place.
func merge(spans []span) []span {
	if len(spans) < 2 {
		return spans
	}
	slices.SortStableFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end))
	})
	out := spans[:1]
	for _, p := range spans[1:] {
		last := &out[len(out)-1]
		if p.start >= last.end {
			out = append(out, p)
			continue
		}
		if p.start == last.start && p.end == last.end {
			if last.generic && !p.generic {
				p.quoted, p.layers, p.suffix = last.quoted, last.layers, last.suffix
				*last = p
			}
			continue
		}
		last.end = max(last.end, p.end)
	}
	return out
}

// apply replaces the merged spans of s.
func apply(s string, spans []span) string {
	var b strings.Builder
	b.Grow(len(s) + 16*len(spans))
	at := 0
	for _, p := range spans {
		b.WriteString(s[at:p.start])
		b.WriteString(p.quote())
		b.WriteString(marker(p.kind, p.hash))
		b.WriteString(p.suffix)
		b.WriteString(p.quote())
		at = p.end
	}
	b.WriteString(s[at:])
	return b.String()
}

// applyParts replaces the merged spans of the joined parts; each part that a span touches gets a marker of its own.
func applyParts(parts []string, spans []span) []string {
	out := make([]string, len(parts))
	base, next := 0, 0
	for i, part := range parts {
		end := base + len(part)
		var b strings.Builder
		at := base
		for next < len(spans) && spans[next].start < end {
			p := spans[next]
			from, to := max(p.start, base), min(p.end, end)
			b.WriteString(part[at-base : from-base])
			if from < to {
				if from == p.start {
					b.WriteString(p.quote())
				}
				b.WriteString(marker(p.kind, p.hash))
				if to == p.end {
					b.WriteString(p.suffix)
					b.WriteString(p.quote())
				}
			}
			at = to
			if p.end > end {
				break
			}
			next++
		}
		b.WriteString(part[at-base:])
		out[i] = b.String()
		base = end
	}
	return out
}
