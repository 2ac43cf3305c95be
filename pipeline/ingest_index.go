package pipeline

import (
	"context"
	"fmt"
	"hash/maphash"
	"maps"
	"math/bits"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/tracejury/tracejury/pipeline/session"
	"github.com/tracejury/tracejury/pipeline/shuffle"
	"github.com/tracejury/tracejury/schema"
)

// traceFilter is a set of traces in fixed memory, that says yes to a few that are not in it (a Bloom filter). Whoever is
// taken for one of the set is read for nothing, and no result changes.
type traceFilter struct {
	seed maphash.Seed
	bits []atomic.Uint64
	mask uint64
}

const filterHashes = 4

func newTraceFilter(bytes int64) *traceFilter {
	n := uint64(1) << (bits.Len64(uint64(max(bytes, 1<<16))) - 1) // a power of two
	return &traceFilter{seed: maphash.MakeSeed(), bits: make([]atomic.Uint64, n/8), mask: n*8 - 1}
}

func (f *traceFilter) add(key string) {
	h := maphash.String(f.seed, key)
	for range filterHashes {
		at := h & f.mask
		if w := &f.bits[at/64]; w.Load()&(1<<(at%64)) == 0 {
			w.Or(1 << (at % 64))
		}
		h = bits.RotateLeft64(h, 17) * 0x9e3779b97f4a7c15
	}
}

func (f *traceFilter) has(key string) bool {
	h := maphash.String(f.seed, key)
	for range filterHashes {
		at := h & f.mask
		if f.bits[at/64].Load()&(1<<(at%64)) == 0 {
			return false
		}
		h = bits.RotateLeft64(h, 17) * 0x9e3779b97f4a7c15
	}
	return true
}

// traceKey joins tenant and trace; sessionID tenant and session key.
func traceKey(tenant, trace string) string { return tenant + "\x00" + trace }

func sessionID(tenant, key string) string { return tenant + "\x00" + key }

// leading is the first 16 bits of a hex digest.
func leading(hex string) int {
	n, err := strconv.ParseUint(hex[:min(4, len(hex))], 16, 16)
	if err != nil {
		return 0 // keys are digests of our own
	}
	return int(n)
}

// groupings are the three shuffles of an ingest: records by trace, by session, and rows of the index by where they lie.
type groupings struct {
	byTrace   *shuffle.Shuffle
	bySession *shuffle.Shuffle
	byIndex   *shuffle.Shuffle
	filter    *traceFilter
	sub       int   // partitions of bySession for each bucket
	load      int64 // bytes of records that one worker may hold while it reads
	dir       string
}

// newGroupings makes shuffles for about total bytes of records within memory.
func (r *ingestRun) newGroupings(memory, total int64, dir string) *groupings {
	load := max(memory/16, 1<<14)
	parts := int(min(max(2*total/load, int64(2*runtime.GOMAXPROCS(0))), 512))
	g := &groupings{sub: 1, load: load, dir: dir, filter: newTraceFilter(memory / 64)}
	if len(r.tenants()) == 1 { // else the order of partitions is not that of keys
		for g.sub*r.root.Layout.Buckets < parts && g.sub < 64 {
			g.sub *= 2
		}
	}
	buckets := r.root.Layout.Buckets
	g.byTrace = shuffle.New(shuffle.Options{Memory: memory / 4, Load: load, Hold: load, Dir: dir, Partitions: parts})
	g.bySession = shuffle.New(shuffle.Options{Memory: memory / 4, Load: load, Hold: load, Dir: dir, Partitions: buckets * g.sub, Partition: func(key string) int {
		return leading(key[max(0, len(key)-32):]) * buckets * g.sub >> 16
	}})
	g.byIndex = shuffle.New(shuffle.Options{Memory: memory / 32, Load: load / 4, Dir: dir, Partitions: buckets, Partition: r.indexPartition})
	return g
}

func (r *ingestRun) tenants() []string {
	var all []string
	for _, s := range r.cfg.Sources {
		all = append(all, s.Tenant)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (g *groupings) close() {
	for _, s := range []*shuffle.Shuffle{g.byTrace, g.bySession, g.byIndex} {
		_ = s.Close() // the spill directory goes as a whole
	}
}

// indexKey is a row of traces as a key that sorts as the rows do.
func indexKey(t schema.Trace) string {
	return t.Tenant + "\x00" + t.TraceID + "\x00" + t.SessionKey + "\x00" + t.Dt
}

func parseIndexKey(key string) schema.Trace {
	p := strings.SplitN(key, "\x00", 4)
	return schema.Trace{Tenant: p[0], TraceID: p[1], SessionKey: p[2], Dt: p[3]}
}

// indexPartition is the bucket of a row of traces: by its trace, or by its session where it has none.
func (r *ingestRun) indexPartition(key string) int {
	t := parseIndexKey(key)
	if t.TraceID == "" {
		return leading(t.SessionKey) * r.root.Layout.Buckets >> 16
	}
	return r.root.Layout.BucketOfDigest(digest(t.TraceID))
}

// loadStoredTraces adds to the shuffles what the lake holds of the sessions that have one of the traces read now: a record
// that arrives late can give all of a trace another session.
func (r *ingestRun) loadStoredTraces(ctx context.Context, g *groupings, dir string) error {
	wanted := map[string]map[string]struct{}{} // object ─► tenant \0 session key
	for b := range r.root.Layout.Buckets {
		if err := r.findStored(ctx, g, dir, b, wanted); err != nil {
			return err
		}
	}
	if err := r.findDue(ctx, dir, wanted); err != nil {
		return err
	}
	p := Plan[struct{}]{Stage: "ingest/load"}
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		p.Tasks = append(p.Tasks, Task[struct{}]{Name: key, Do: func(ctx context.Context) (struct{}, error) {
			return struct{}{}, r.loadStored(ctx, g, dir, key, wanted[key])
		}})
	}
	_, err := runLocal(ctx, runtime.GOMAXPROCS(0), p)
	return err
}

// findStored notes which objects hold sessions with traces read now, by one bucket of the index.
func (r *ingestRun) findStored(ctx context.Context, g *groupings, dir string, b int, wanted map[string]map[string]struct{}) (err error) {
	lo, err := r.fetch(ctx, dir, schema.Traces.BucketKey(b))
	if err != nil {
		return fmt.Errorf("read traces: %w", err)
	}
	r.index[b] = lo // writeIndex needs it again
	rows, err := openRows[schema.Trace](lo)
	if err != nil {
		return fmt.Errorf("read traces: %w", err)
	}
	defer func() { _ = rows.close() }() // only read
	for {
		t, err := rows.peek()
		if err != nil {
			return fmt.Errorf("read traces: %w", err)
		}
		if t == nil {
			return nil
		}
		rows.pop()
		if t.TraceID == "" || !g.filter.has(traceKey(t.Tenant, t.TraceID)) {
			continue
		}
		bucket, err := r.root.Layout.Bucket(t.SessionKey)
		if err != nil {
			return err
		}
		key := schema.Spans.DayKey(t.Dt, bucket)
		if wanted[key] == nil {
			wanted[key] = map[string]struct{}{}
		}
		wanted[key][sessionID(t.Tenant, t.SessionKey)] = struct{}{}
	}
}

// loadStored passes on the rows of the given sessions that lie in one object.
func (r *ingestRun) loadStored(ctx context.Context, g *groupings, dir, key string, sessions map[string]struct{}) error {
	lo, err := r.fetch(ctx, dir, key)
	if err != nil {
		return fmt.Errorf("read spans: %w", err)
	}
	defer lo.remove()
	rows, err := openRows[schema.Span](lo)
	if err != nil {
		return fmt.Errorf("read %s: %w", key, err)
	}
	defer func() { _ = rows.close() }() // only read
	var buf []byte
	for {
		row, err := rows.peek()
		if err != nil {
			return fmt.Errorf("read %s: %w", key, err)
		}
		if row == nil {
			break
		}
		rows.pop()
		id := sessionID(row.Tenant, row.SessionKey)
		if _, ok := sessions[id]; !ok {
			continue
		}
		s := spilled{row: *row, kind: recStored, own: session.CandidateOf(row, r.sessionKeys(row.Tenant))}
		buf = appendRow(buf[:0], &s)
		if row.TraceID == "" {
			err = g.bySession.Add(id, buf)
		} else {
			err = g.byTrace.Add(traceKey(row.Tenant, row.TraceID), buf)
		}
		if err != nil {
			return err
		}
	}
	m := dayBucket.FindStringSubmatch(key)
	if m == nil {
		return fmt.Errorf("key of spans %q: no day", key)
	}
	for id := range sessions {
		if err := g.bySession.Add(id, appendText([]byte{recWhole}, m[2])); err != nil {
			return err
		}
	}
	return nil
}

// assignTraces gives every record its session and passes it on by that.
func (r *ingestRun) assignTraces(ctx context.Context, g *groupings) error {
	p := Plan[struct{}]{Stage: "ingest/assign"}
	for i := range g.byTrace.Partitions() {
		p.Tasks = append(p.Tasks, Task[struct{}]{Name: strconv.Itoa(i), Do: func(ctx context.Context) (struct{}, error) {
			return struct{}{}, eachGroup(ctx, g.byTrace, i, g.dir, func(group shuffle.Group) error { return r.assignTrace(group, g) },
				func(key string, log *recordLog) error { return r.assignLarge(tenantOf(key), log, g) })
		}})
	}
	_, err := runLocal(ctx, runtime.GOMAXPROCS(0), p)
	return err
}

func (r *ingestRun) assignTrace(group shuffle.Group, g *groupings) error {
	t := traceAssignment{tenant: tenantOf(group.Key), rows: make([]*schema.Span, 0, len(group.Records)), own: make([]session.Candidate, 0, len(group.Records))}
	heads := make([]spilled, len(group.Records))
	for i, rec := range group.Records {
		var tail cursor
		heads[i], tail = decodeHead(rec)
		if tail.err != nil {
			return tail.err
		}
		t.add(&heads[i])
	}
	t.assign(r)
	for i, rec := range group.Records {
		if err := t.pass(i, rec, g); err != nil {
			return err
		}
	}
	return nil
}

func tenantOf(key string) string {
	tenant, _, _ := strings.Cut(key, "\x00")
	return tenant
}

// assignLarge is assignTrace for a trace whose records do not fit into memory: only what assigning them needs is held.
func (r *ingestRun) assignLarge(tenant string, log *recordLog, g *groupings) error {
	t := traceAssignment{tenant: strings.Clone(tenant)}
	err := log.each(false, func(rec []byte) error {
		head, tail := decodeHead(rec)
		for _, s := range head.headStrings() {
			*s = strings.Clone(*s)
		}
		t.add(&head)
		return tail.err
	})
	if err != nil {
		return err
	}
	t.assign(r)
	i := 0
	return log.each(false, func(rec []byte) error {
		i++
		return t.pass(i-1, rec, g)
	})
}

// traceAssignment gives the records of one trace their sessions.
type traceAssignment struct {
	tenant string
	rows   []*schema.Span
	own    []session.Candidate
	news   bool
	ids    []session.Ident
}

// add notes the head of a record.
func (t *traceAssignment) add(head *spilled) {
	t.rows, t.own = append(t.rows, &head.row), append(t.own, head.own)
	t.news = t.news || head.kind == recNew
}

func (t *traceAssignment) assign(r *ingestRun) {
	if t.news { // else rows of a session that was read for another trace: nothing is known that was not
		t.ids = session.AssignCandidates(t.tenant, t.rows, t.own, r.sessionKeys(t.tenant))
	}
}

// pass passes the record that was added as the i-th on to its session.
func (t *traceAssignment) pass(i int, rec []byte, g *groupings) error {
	head, tail := decodeHead(rec)
	was := ""
	if head.kind == recStored {
		var err error
		if _, was, err = tail.storedKey(); err != nil {
			return err
		}
	}
	to := was
	if t.news {
		to = t.ids[i].Key
	}
	if err := g.bySession.Add(sessionID(t.tenant, to), rec); err != nil {
		return err
	}
	if was == "" || was == to {
		return nil
	}
	return g.bySession.Add(sessionID(t.tenant, was), appendText([]byte{recMoved}, to))
}

// assignAlone passes on a row without a trace.
func (r *ingestRun) assignAlone(s *spilled, rec []byte, g *groupings) error {
	ids := session.AssignCandidates(s.row.Tenant, []*schema.Span{&s.row}, []session.Candidate{s.own}, r.sessionKeys(s.row.Tenant))
	return g.bySession.Add(sessionID(s.row.Tenant, ids[0].Key), rec)
}

// sessionKeys is the configured session attributes of a tenant's sources, in order of configuration.
func (r *ingestRun) sessionKeys(tenant string) []string {
	var keys []string
	for _, s := range r.cfg.Sources {
		if s.Tenant == tenant {
			keys = append(keys, s.SessionIDAttributes...)
		}
	}
	return keys
}
