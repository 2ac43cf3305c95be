package session

import (
	"slices"
	"strings"
	"time"

	"github.com/tracejury/tracejury/schema"
)

// defaultMaxSteps caps the steps of a session where Options does not.
const defaultMaxSteps = 20_000

// Options tunes [Build]. The zero value is right for tests.
type Options struct {
	AsOf time.Time // times after it are not believed; the zero time believes all
	// Join masks text again after parts were put together, since a credential may have been cut in two. It returns parts of
	// the same number. nil leaves them as they are.
	Join     func(parts []string) []string
	MaxSteps int // steps kept, the first ones; 0 means 20,000
	// MaxBytes caps the records, in bytes of their rows, that a session is derived from: the first in time. 0 is no cap.
	MaxBytes int64
	// Prices give model calls a cost whose telemetry tells none. Without a price for every call, and no cost told, it is unknown.
	Prices []Price
}

// Built is everything derived of one session. Steps, skills and tools are in table order.
type Built struct {
	Session schema.Session
	Steps   []schema.Step
	Skills  []schema.Skill
	Tools   []schema.Tool
}

// Warnings that a session is not whole: its first records or steps are there, its end is not.
const (
	warnRecords = "records_beyond_limit"
	warnSteps   = "steps_cut"
)

// Cut says whether a session lacks its end, since it has more records or steps than are kept of one.
func Cut(s *schema.Session) bool {
	return slices.ContainsFunc(s.Warnings, func(w string) bool {
		code, _, _ := strings.Cut(w, ":")
		return code == warnRecords || code == warnSteps
	})
}

// Build derives one session from its stored rows. It is pure: order and duplicates of rows do not matter, and rows is not
// changed.
func Build(id Ident, tenant string, rows []schema.Span, opts Options) Built {
	kept, _ := Dedupe(rows)
	all := NewExtent(opts.AsOf)
	for i := range kept {
		all.Add(&kept[i])
	}
	dt := Dt(kept)
	if in := all.Within(opts.MaxBytes); in != nil {
		n := 0
		for i := range kept {
			if in[i] {
				kept[n] = kept[i]
				n++
			}
		}
		kept = kept[:n]
	}
	return BuildWithin(id, tenant, dt, kept, all, opts)
}

// BuildWithin derives one session, whose records all lies over and which began on the day dt, from those of its rows that
// [Extent.Within] chose, without duplicates and in the order of the table. Build is the same where all rows fit into memory.
func BuildWithin(id Ident, tenant, dt string, rows []schema.Span, all *Extent, opts Options) Built {
	b := builder{id: id, tenant: tenant, opts: opts, warnings: map[string]int{}, kept: rows, extent: all, dt: dt}
	if beyond := len(all.places) - len(rows); beyond > 0 {
		b.warnings[warnRecords] = beyond
	}
	b.rd = read(rows, id)
	b.tell()
	b.calls()
	b.servers()
	b.order()
	return b.finish()
}
