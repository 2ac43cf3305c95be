package session

import (
	"cmp"
	"slices"
	"time"

	"github.com/tracejury/tracejury/schema"
)

// Dedupe drops duplicates within one session. Of spans with one trace and span id it keeps the one with an end, then the one
// with more attributes, the longer one, the one with the greater hash; logs, and spans without ids, are one by record hash.
// Of equal records the smallest (source_object, source_index) survives. The kept rows come in the order of the table.
func Dedupe(rows []schema.Span) (kept []schema.Span, dropped int) {
	byHash := make(map[rowKey]int, len(rows))
	for i := range rows { // equal records first: lineage must not depend on which of them is richer
		h := rowKey{signal: rows[i].Signal, span: rows[i].RecordSHA256}
		if j, seen := byHash[h]; !seen || earlierSource(&rows[i], &rows[j]) {
			byHash[h] = i
		}
	}
	bySpan := make(map[rowKey]*schema.Span, len(byHash))
	for _, i := range byHash {
		r := &rows[i]
		k := spanKey(r)
		if known, seen := bySpan[k]; !seen || better(r, known) {
			bySpan[k] = r
		}
	}
	order := make([]*schema.Span, 0, len(bySpan)) // rows are large: they are moved once
	for _, r := range bySpan {
		order = append(order, r)
	}
	slices.SortFunc(order, tableOrder)
	kept = make([]schema.Span, len(order))
	for i, r := range order {
		kept[i] = *r
	}
	return kept, len(rows) - len(kept)
}

// rowKey is what two records of one span, or two copies of one record, have in common.
type rowKey struct{ signal, trace, span string }

func spanKey(r *schema.Span) rowKey {
	if r.Signal == "log" || r.TraceID == "" || r.SpanID == "" {
		return rowKey{signal: r.Signal, span: r.RecordSHA256}
	}
	return rowKey{signal: "span", trace: r.TraceID, span: r.SpanID}
}

func earlierSource(a, b *schema.Span) bool {
	if a.SourceObject != b.SourceObject {
		return a.SourceObject < b.SourceObject
	}
	return a.SourceIndex < b.SourceIndex
}

// better says whether a is the fuller record of the same span.
func better(a, b *schema.Span) bool {
	if ea, eb := a.EndedUnixNano != 0, b.EndedUnixNano != 0; ea != eb {
		return ea
	}
	if na, nb := members(a.Attributes), members(b.Attributes); na != nb {
		return na > nb
	}
	if la, lb := length(a), length(b); la != lb {
		return la > lb
	}
	return a.RecordSHA256 > b.RecordSHA256
}

func length(r *schema.Span) int64 {
	if r.EndedUnixNano < r.StartedUnixNano {
		return 0
	}
	return r.EndedUnixNano - r.StartedUnixNano
}

// members counts the members of a JSON object without building it.
func members(object string) int {
	depth, n, empty := 0, 0, true
	inString, escaped := false, false
	for i := 0; i < len(object); i++ {
		c := object[i]
		if inString {
			switch {
			case escaped:
				escaped = false
			case c == '\\':
				escaped = true
			case c == '"':
				inString = false
			}
			continue
		}
		switch c {
		case '"':
			inString, empty = true, false
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ',':
			if depth == 1 {
				n++
			}
		}
	}
	if empty {
		return 0
	}
	return n + 1
}

func tableOrder(a, b *schema.Span) int {
	return cmp.Or(
		cmp.Compare(a.Tenant, b.Tenant),
		cmp.Compare(a.SessionKey, b.SessionKey),
		cmp.Compare(a.Signal, b.Signal),
		cmp.Compare(a.TraceID, b.TraceID),
		cmp.Compare(a.SpanID, b.SpanID),
		cmp.Compare(a.RecordSHA256, b.RecordSHA256),
	)
}

// Dt is the UTC date of the earliest usable time of the rows, [schema.UnknownDay] when none is.
func Dt(rows []schema.Span) string {
	var first int64
	for i := range rows {
		if t := usable(&rows[i]); t != 0 && (first == 0 || t < first) {
			first = t
		}
	}
	return day(first)
}

// usable is a row's start when it can be believed, 0 otherwise.
func usable(r *schema.Span) int64 {
	switch r.TimeQuality {
	case "missing", "future":
		return 0
	case "clamped":
		if r.StartedUnixNano <= 0 || r.StartedUnixNano >= maxNano {
			return 0
		}
	}
	return max(0, r.StartedUnixNano)
}

// maxNano is the last second of 2261: clamped times lie at the end of int64.
const maxNano = 9_214_646_400_000_000_000

func day(nano int64) string {
	if nano <= 0 {
		return schema.UnknownDay
	}
	return time.Unix(0, nano).UTC().Format(time.DateOnly)
}
