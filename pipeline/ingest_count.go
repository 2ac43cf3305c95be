package pipeline

import (
	"github.com/tracejury/tracejury/schema"
)

// identity is what makes two stored rows the same record: a span's ids, a log's hash.
func identity(r *schema.Span) string {
	if r.Signal == "span" && r.TraceID != "" && r.SpanID != "" {
		return "s" + r.TraceID + r.SpanID
	}
	return "r" + r.RecordSHA256
}

// reading is where a record was read: one place in one object.
type reading struct {
	id     string
	object string
	index  int64
}

func readingOf(row *schema.Span) reading {
	return reading{id: identity(row), object: row.SourceObject, index: row.SourceIndex}
}

// countRows says of every record of a session that was read now whether it is written or a duplicate. Written is the reading
// that the row which is kept names as its source. Where the lake had the record already all are duplicates, but for the very
// reading that the lake's row names: the counts of the object stay what they were, or become what they would have been if the run
// that wrote the row had not died. Only the summary of a run with --full does not count them as new.
func (r *ingestRun) countRows(rows []spilled, kept []schema.Span) {
	held := map[string]struct{}{}
	sources := map[reading]struct{}{}
	for i := range rows {
		if rows[i].kind == recStored {
			held[identity(&rows[i].row)] = struct{}{}
			sources[readingOf(&rows[i].row)] = struct{}{}
		}
	}
	for i := range kept {
		if _, ok := held[identity(&kept[i])]; !ok {
			sources[readingOf(&kept[i])] = struct{}{}
		}
	}
	written := map[reading]int{}
	for i := range rows {
		at := readingOf(&rows[i].row)
		if _, ok := sources[at]; !ok || rows[i].kind != recNew {
			continue
		}
		// Two sources may hold objects of one name.
		if j, ok := written[at]; !ok || rows[i].input < rows[j].input {
			written[at] = i
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range rows {
		if rows[i].kind != recNew {
			continue
		}
		res := r.results[rows[i].input]
		at := readingOf(&rows[i].row)
		if j, ok := written[at]; ok && j == i {
			res.row.Written++
			if _, ok := held[at.id]; ok && r.inputs[rows[i].input].again {
				res.held++
			}
		} else {
			res.row.Duplicates++
		}
	}
}

// joinMasked masks again what was joined from several parts.
func (r *ingestRun) joinMasked(parts []string) []string {
	if len(parts) == 1 {
		return []string{r.mask.String(parts[0], nil)} // the same, at half the price
	}
	return r.mask.Joined(parts, nil)
}
