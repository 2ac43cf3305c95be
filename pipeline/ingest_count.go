package pipeline

import (
	"cmp"
	"strings"

	"github.com/tracejury/tracejury/pipeline/mask"
	"github.com/tracejury/tracejury/schema"
)

// identity is what makes two stored rows the same record: a span's ids, a log's hash.
func identity(r *schema.Span) string {
	if r.Signal == "span" && r.TraceID != "" && r.SpanID != "" {
		return "s" + r.TraceID + r.SpanID
	}
	return "r" + r.RecordSHA256
}

// countRows says of every record of a session that was read now whether it is written or a duplicate. Of several that are the
// same the smallest (object, index) is written, unless the lake had it already.
func (r *ingestRun) countRows(rows []spilled) {
	firsts := make(map[string]int, len(rows))
	for i := range rows {
		s := &rows[i]
		id := identity(&s.row)
		j, ok := firsts[id]
		switch {
		case !ok || s.kind == recStored:
			firsts[id] = i
		case rows[j].kind == recNew && cmp.Or(strings.Compare(s.row.SourceObject, rows[j].row.SourceObject), cmp.Compare(s.row.SourceIndex, rows[j].row.SourceIndex), cmp.Compare(s.input, rows[j].input)) < 0:
			firsts[id] = i
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range rows {
		s := &rows[i]
		if s.kind != recNew {
			continue
		}
		if res := r.results[s.input]; firsts[identity(&s.row)] == i {
			res.row.Written++
		} else {
			res.row.Duplicates++
		}
	}
}

// joinMasked masks again what was joined from several parts.
func (r *ingestRun) joinMasked(parts []string) []string { return r.mask.Joined(parts, mask.Counts{}) }
