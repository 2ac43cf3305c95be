package session

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/tracejury/tracejury/schema"
)

// Extent is what is known of all records of one session in about 60 bytes a record, whatever the records hold: enough to say
// when the session was, which revision it is, and which of its records the rest is derived from.
type Extent struct {
	asOf             int64
	revisions        [][sha256.Size]byte
	odd              []string // record hashes that are not of SHA-256
	places           []place
	traces           map[string]bool
	start, end, last int64
	future           int
	bytes            int64
}

// place is where a record stands in time, and what it takes.
type place struct {
	time int64
	size int64
}

// NewExtent is the extent of no records. Times after asOf are not believed; the zero time believes all.
func NewExtent(asOf time.Time) *Extent {
	e := &Extent{traces: map[string]bool{}}
	if !asOf.IsZero() {
		e.asOf = asOf.UnixNano()
	}
	return e
}

// Add notes a record. Records are without duplicates and come in the order of the table.
func (e *Extent) Add(r *schema.Span) {
	var sum [sha256.Size]byte
	if h := r.RecordSHA256; len(h) == 2*len(sum) && hexTo(sum[:], h) {
		e.revisions = append(e.revisions, sum)
	} else {
		e.odd = append(e.odd, strings.Clone(h))
	}
	t, size := usable(r), int64(r.ByteSize())
	e.places, e.bytes = append(e.places, place{t, size}), e.bytes+size
	if r.TraceID != "" && !e.traces[r.TraceID] {
		e.traces[strings.Clone(r.TraceID)] = true // a row may alias a buffer that is used again
	}
	if t == 0 || e.asOf != 0 && t > e.asOf {
		if r.TimeQuality == "future" || t != 0 {
			e.future++
		}
		return
	}
	if e.start == 0 || t < e.start {
		e.start = t
	}
	end := t
	if r.EndedUnixNano > t && r.EndedUnixNano < maxNano && (e.asOf == 0 || r.EndedUnixNano <= e.asOf) {
		end = r.EndedUnixNano
	}
	e.end, e.last = max(e.end, end), max(e.last, end)
}

// hexTo decodes lower-case hex of the right length.
func hexTo(dst []byte, s string) bool {
	_, err := hex.Decode(dst, []byte(s))
	return err == nil && strings.ToLower(s) == s
}

// Within says which records, by their order of Add, a session is derived from that may take limit bytes: the first in time, one at
// least. It is nil where all are; a limit of 0 is none.
func (e *Extent) Within(limit int64) []bool {
	if limit <= 0 || e.bytes <= limit {
		return nil
	}
	order := make([]int32, len(e.places))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(e.places[a].time, e.places[b].time), cmp.Compare(a, b))
	})
	in := make([]bool, len(order))
	for n, i := range order {
		if limit -= e.places[i].size; limit < 0 && n > 0 {
			break
		}
		in[i] = true
	}
	return in
}

// revision is the hash of the sorted record hashes: equal for equal sets of records.
func (e *Extent) revision() string {
	slices.Sort(e.odd)
	slices.SortFunc(e.revisions, func(a, b [sha256.Size]byte) int { return slices.Compare(a[:], b[:]) })
	h := sha256.New()
	line := make([]byte, 2*sha256.Size+1)
	line[2*sha256.Size] = '\n'
	for i := range e.revisions {
		hex.Encode(line, e.revisions[i][:])
		h.Write(line)
	}
	for _, s := range e.odd {
		h.Write([]byte(s))
		h.Write([]byte{'\n'})
	}
	return hex.EncodeToString(h.Sum(nil))
}

// times fills in the session's bounds from times that can be believed, and its traces.
func (e *Extent) times(s *schema.Session) {
	s.StartedUnixNano, s.StartedAt = e.start, e.start/1000
	s.EndedUnixNano, s.EndedAt = e.end, e.end/1000
	s.LastRecordUnixNano, s.LastRecordAt = e.last, e.last/1000
	for t := range e.traces {
		s.TraceIDs = append(s.TraceIDs, t)
	}
	slices.Sort(s.TraceIDs)
}
