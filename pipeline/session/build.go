package session

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
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

// Build derives one session from its stored rows. It is pure: order and duplicates of rows do not matter, and rows is not
// changed.
func Build(id Ident, tenant string, rows []schema.Span, opts Options) Built {
	kept, _ := Dedupe(rows)
	b := builder{id: id, tenant: tenant, opts: opts, warnings: map[string]int{}, kept: kept}
	b.dt = Dt(kept)
	b.revision = revision(kept)
	b.rd = read(kept, id)
	b.tell()
	b.calls()
	b.servers()
	b.order()
	return b.finish()
}

// revision is the hash of the sorted record hashes: equal for equal sets of records.
func revision(rows []schema.Span) string {
	hashes := make([]string, 0, len(rows))
	for i := range rows {
		hashes = append(hashes, rows[i].RecordSHA256)
	}
	slices.Sort(hashes)
	h := sha256.New()
	for _, s := range hashes {
		h.Write([]byte(s))
		h.Write([]byte{'\n'})
	}
	return hex.EncodeToString(h.Sum(nil))
}
