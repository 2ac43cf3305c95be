package pipeline

import (
	"cmp"
	"strings"

	"github.com/tracejury/tracejury/pipeline/mask"
	"github.com/tracejury/tracejury/pipeline/session"
	"github.com/tracejury/tracejury/schema"
)

// identity is what makes two stored rows the same record: a span's ids, a log's hash.
func identity(r *schema.Span) string {
	if r.Signal == "span" && r.TraceID != "" && r.SpanID != "" {
		return "s" + r.TraceID + r.SpanID
	}
	return "r" + r.RecordSHA256
}

// countRows says of every record read now whether it is written or a duplicate. Of several that are the same the smallest
// (object, index) is written, unless the lake had it already.
func (r *ingestRun) countRows(p *pile) {
	type first struct {
		row    *schema.Span
		stored bool
	}
	firsts := map[string]first{}
	for i := range p.rows {
		id, row := identity(&p.rows[i]), &p.rows[i]
		f, ok := firsts[id]
		switch {
		case !ok || p.stored[i]:
			firsts[id] = first{row, p.stored[i]}
		case !f.stored && cmp.Or(strings.Compare(row.SourceObject, f.row.SourceObject), cmp.Compare(row.SourceIndex, f.row.SourceIndex)) < 0:
			firsts[id] = first{row, false}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range p.rows {
		if p.stored[i] {
			continue
		}
		res := r.resultOf(&p.rows[i])
		if f := firsts[identity(&p.rows[i])]; !f.stored && f.row == &p.rows[i] {
			res.row.Written++
		} else {
			res.row.Duplicates++
		}
	}
}

// resultOf finds the reading that a new row came from. Two sources may hold the same key: the tenant tells them apart, and
// where it does not, either will do for a count.
func (r *ingestRun) resultOf(row *schema.Span) *objectResult {
	for _, src := range r.sources {
		if src.cfg.Tenant != row.Tenant {
			continue
		}
		if res := r.results[objectID(src.store.URI(), row.SourceObject)]; res != nil && res.claimed < res.kept {
			res.claimed++
			return res
		}
	}
	return &objectResult{}
}

func (r *ingestRun) addFiltered(row *schema.Span, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	res := r.resultOf(row)
	res.row.Filtered++
	addCount(r.counts.FilteredBy, why, 1)
}

// ident is how a session is known.
func (r *ingestRun) ident(key string) session.Ident {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.idents[key]
}

// joinMasked masks again what was joined from several parts.
func (r *ingestRun) joinMasked(parts []string) []string { return r.mask.Joined(parts, mask.Counts{}) }
