package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/tracejury/tracejury/pipeline/otlp"
	"github.com/tracejury/tracejury/schema"
)

// futureMargin is how far beyond as-of a record's time may lie before it is not believed: clocks differ, days do not.
const futureMargin = 24 * time.Hour

// horizon is the time after which records are of the future. It is the latest as-of that any ingest of this root was given,
// plus the margin: time does not run backwards, so what was believed once stays believed, and the tables depend on the
// set of records and that as-of alone, not on which run read what. A record that was of the future when it was read is
// looked at again when the horizon has passed its time: commits name the days and buckets that hold such records.
type horizon struct {
	until  int64            // times after this are not believed
	was    int64            // until of the last commit
	future map[string]int64 // key of an object of spans ─► the earliest time in it that lies beyond until
}

// horizonOf is the horizon of an ingest at asOf after the given commit.
func horizonOf(asOf time.Time, last *Commit) horizon {
	h := horizon{future: map[string]int64{}, was: math.MaxInt64}
	if last != nil && !last.Horizon.IsZero() {
		h.was = last.Horizon.Add(futureMargin).UnixNano()
		if last.Horizon.After(asOf) {
			asOf = last.Horizon
		}
		maps.Copy(h.future, last.Future)
	}
	h.until = asOf.Add(futureMargin).UnixNano()
	return h
}

// asOf is the latest as-of of all ingests.
func (h *horizon) asOf() time.Time { return time.Unix(0, h.until).Add(-futureMargin).UTC() }

// due names the objects of spans that hold records whose time has come, in order.
func (h *horizon) due() []string {
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(h.future)) {
		if h.future[key] <= h.until {
			keys = append(keys, key)
		}
	}
	return keys
}

// beyond is the earliest time of a row that lies beyond the horizon, 0 if none does.
func (h *horizon) beyond(r *schema.Span) int64 {
	first := int64(0)
	for _, t := range [...]int64{r.StartedUnixNano, r.EndedUnixNano} {
		if t > h.until && t < math.MaxInt64 && (first == 0 || t < first) {
			first = t
		}
	}
	return first
}

// cameTrue is whether a time of the row has come since the last commit.
func (h *horizon) cameTrue(r *schema.Span) bool {
	came := func(t int64) bool { return t > h.was && t <= h.until }
	return came(r.StartedUnixNano) || came(r.EndedUnixNano)
}

// note remembers what lies beyond the horizon in an object of spans: first is the earliest time, 0 none.
func (h *horizon) note(key string, first int64) {
	if first == 0 {
		delete(h.future, key)
		return
	}
	h.future[key] = first
}

// qualify sets the row's time quality by the horizon: from what its times are by themselves, whatever an earlier ingest
// thought of them.
func (h *horizon) qualify(r *schema.Span) {
	if r.TimeQuality == otlp.QualityFuture.String() {
		r.TimeQuality = cmp.Or(r.TimeQualityThen, otlp.QualityOK.String())
	}
	r.TimeQualityThen = ""
	if t := r.StartedUnixNano; t > h.until && t < math.MaxInt64 {
		r.TimeQuality, r.TimeQualityThen = otlp.QualityFuture.String(), r.TimeQuality
	}
}

// findDue adds to wanted the sessions with records whose time has come.
func (r *ingestRun) findDue(ctx context.Context, dir string, wanted map[string]map[string]struct{}) error {
	for _, key := range r.horizon.due() {
		if err := r.findDueIn(ctx, dir, key, wanted); err != nil {
			return fmt.Errorf("look again at the future of %s: %w", key, err)
		}
	}
	return nil
}

func (r *ingestRun) findDueIn(ctx context.Context, dir, key string, wanted map[string]map[string]struct{}) error {
	lo, err := r.fetch(ctx, dir, key)
	if err != nil {
		return err
	}
	defer lo.remove()
	rows, err := openRows[schema.Span](lo)
	if err != nil {
		return err
	}
	defer func() { _ = rows.close() }() // only read
	left := int64(0)
	for {
		row, err := rows.peek()
		if err != nil {
			return err
		}
		if row == nil {
			break
		}
		rows.pop()
		left = earliest(left, r.horizon.beyond(row))
		if !r.horizon.cameTrue(row) {
			continue
		}
		if wanted[key] == nil {
			wanted[key] = map[string]struct{}{}
		}
		wanted[key][sessionID(row.Tenant, row.SessionKey)] = struct{}{}
	}
	r.horizon.note(key, left) // the session is built again: what it leaves here is noted then
	return nil
}

// earliest is the smaller of two times, of which 0 is none.
func earliest(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
