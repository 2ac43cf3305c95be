package pipeline

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/tracejury/tracejury/pipeline/session"
	"github.com/tracejury/tracejury/pipeline/shuffle"
	"github.com/tracejury/tracejury/schema"
)

// merger rebuilds the buckets that the new records touch and stages the results on local disk until all are ready. First every
// session of a bucket is put together and goes to a spool of the day where it will lie, then each of these days is built and
// merged with what is there. Beyond what spools may keep in memory, one session of a bucket is held at a time, and of a large one
// only what is derived from.
type merger struct {
	run      *ingestRun
	g        *groupings
	dir      string
	existing map[string]struct{} // keys of stored objects
	stagers  chan *dayStager     // one for each bucket that may be merged at a time

	large sync.Mutex // held while a session that does not fit into memory is derived

	mu       sync.Mutex
	staged   []staged
	affected map[[16]byte]struct{} // session keys whose rows are replaced
	moves    []schema.SessionMoved
}

// dayTables are the tables that are merged, in the order in which they are staged.
func dayTables() []schema.Table {
	return []schema.Table{schema.Spans, schema.Sessions, schema.Steps, schema.Skills, schema.Tools}
}

// merge rebuilds every bucket that has records or loses some.
func (m *merger) merge(ctx context.Context) error {
	m.affected, m.existing = map[[16]byte]struct{}{}, map[string]struct{}{}
	for _, t := range dayTables() {
		for key, err := range m.run.root.keys(ctx, t.Name+"/") {
			if err != nil {
				return fmt.Errorf("list %s: %w", t.Name, err)
			}
			m.existing[key] = struct{}{}
		}
	}
	n := runtime.GOMAXPROCS(0)
	m.stagers = make(chan *dayStager, n)
	for range n {
		m.stagers <- &dayStager{m: m}
	}
	p := Plan[struct{}]{Stage: "ingest/merge"}
	for b := range m.run.root.Layout.Buckets {
		p.Tasks = append(p.Tasks, Task[struct{}]{Name: fmt.Sprintf("bucket %02d", b), Do: func(ctx context.Context) (struct{}, error) { return struct{}{}, m.bucket(ctx, b) }})
	}
	_, err := runLocal(ctx, n, p)
	return err
}

// bucketMerge is the work on one bucket.
type bucketMerge struct {
	*merger
	b        int
	where    *rowStream[schema.Trace] // the index rows that locate sessions
	asked    schema.Trace             // the last session that was looked for there
	days     map[string]*dayMerge
	affected map[string]string // tenant \0 session key ─► the dt where it will lie, "" when no record is left
	room     int64             // bytes of rows that may stay in memory
}

// dayMerge is what becomes of one day of a bucket.
type dayMerge struct {
	dt     string
	spool  spool
	gains  bool                    // a session arrives
	spans  localObject             // copy of the stored object, once it was needed
	stored *rowStream[schema.Span] // reads it
}

func (m *merger) bucket(ctx context.Context, b int) (err error) {
	bm := &bucketMerge{merger: m, b: b, days: map[string]*dayMerge{}, affected: map[string]string{}, room: m.g.load}
	defer func() { err = errors.Join(err, bm.close()) }()
	if bm.where, err = openRows[schema.Trace](m.run.index[b]); err != nil {
		return err
	}
	for i := b * m.g.sub; i < (b+1)*m.g.sub; i++ {
		err := eachGroup(ctx, m.g.bySession, i, m.dir, func(group shuffle.Group) error { return bm.session(ctx, group) },
			func(key string, log *recordLog) error { return bm.largeSession(ctx, key, log) })
		if err != nil {
			return err
		}
	}
	stager := <-m.stagers
	defer func() { m.stagers <- stager }()
	for _, dt := range slices.Sorted(maps.Keys(bm.days)) {
		if err := stager.stage(ctx, bm, bm.days[dt]); err != nil {
			return fmt.Errorf("day %s: %w", dt, err)
		}
	}
	return nil
}

func (bm *bucketMerge) close() error {
	errs := []error{bm.where.close()}
	for _, d := range bm.days {
		errs = append(errs, d.stored.close(), d.spool.close())
		d.spans.remove()
	}
	return errors.Join(errs...)
}

func (bm *bucketMerge) day(dt string) *dayMerge {
	d := bm.days[dt]
	if d == nil {
		d = &dayMerge{dt: dt}
		d.spool.room = &bm.room
		d.spool.path = filepath.Join(bm.dir, fmt.Sprintf("spool-%02d-%s", bm.b, dt))
		bm.days[dt] = d
	}
	return d
}

// located is where a session lies now: more than one day only after a run that died. Sessions are asked for in order.
// A session of another tenant may come from behind: rows are partitioned for the tenants of the sources, and the lake may hold more.
func (bm *bucketMerge) located(tenant, key string) ([]string, error) {
	if compareSession(tenant, key, bm.asked.Tenant, bm.asked.SessionKey) < 0 {
		if err := bm.where.close(); err != nil {
			return nil, err
		}
		var err error
		if bm.where, err = openRows[schema.Trace](bm.run.index[bm.b]); err != nil {
			return nil, err
		}
	}
	bm.asked = schema.Trace{Tenant: tenant, SessionKey: key}
	var days []string
	for {
		t, err := bm.where.peek()
		if err != nil || t == nil {
			return days, err
		}
		if t.TraceID == "" && t.Tenant == tenant && t.SessionKey == key {
			days = append(days, t.Dt)
		} else if c := strings.Compare(t.Tenant, tenant); c > 0 || c == 0 && (t.TraceID != "" || t.SessionKey > key) {
			return days, nil
		}
		bm.where.pop()
	}
}

// gathered is what the records of one session say beside its rows.
type gathered struct {
	tenant, key  string
	moved, whole []string // sessions that rows have moved to; days of which all rows are here
	rows         int
	touched      bool // something is new
}

// take reads a record. The row aliases rec; ok is false for a record that is none.
func (g *gathered) take(r *ingestRun, rec []byte) (s spilled, ok bool, err error) {
	switch rec[0] {
	case recWhole:
		c := cursor{b: rec[1:]}
		g.whole = append(g.whole, strings.Clone(c.text()))
		return s, false, c.err
	case recMoved:
		c := cursor{b: rec[1:]}
		if to := c.text(); len(g.moved) == 0 || g.moved[len(g.moved)-1] != to {
			g.moved = append(g.moved, strings.Clone(to))
		}
		g.touched = true
		return s, false, c.err
	}
	if s, err = decodeRow(rec); err != nil {
		return s, false, err
	}
	g.touched = g.touched || s.kind == recNew || s.row.SessionKey != g.key || r.horizon.cameTrue(&s.row)
	g.rows++
	s.row.SessionKey = g.key
	r.horizon.qualify(&s.row)
	return s, true, nil
}

// leftOut is why the session is not put together although it has new records; "" if it is.
func (g *gathered) leftOut(r *ingestRun, days []string) string {
	switch {
	case r.erased.has(g.key):
		return "erased"
	case slices.ContainsFunc(days, r.expired):
		return "sealed"
	}
	return ""
}

// session puts the records of one session together and passes them on to the day where they will lie.
func (bm *bucketMerge) session(ctx context.Context, group shuffle.Group) error {
	r := bm.run
	g := gathered{}
	g.tenant, g.key, _ = strings.Cut(group.Key, "\x00")
	days, err := bm.located(g.tenant, g.key)
	if err != nil {
		return err
	}
	var rows []spilled
	for _, rec := range group.Records {
		s, ok, err := g.take(r, rec)
		if err != nil {
			return err
		}
		if ok {
			rows = append(rows, s)
		}
	}
	if g.rows > 0 && !g.touched { // without a row: they have left, and a run that died could not say so
		return nil // was read for a trace that is not of those read now
	}
	if why := g.leftOut(r, days); why != "" {
		r.filter(rows, why)
		return nil
	}
	for _, dt := range days {
		if slices.Contains(g.whole, dt) {
			continue
		}
		err := bm.eachStored(ctx, g.tenant, g.key, dt, func(s *spilled) error {
			rows = append(rows, *s)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return bm.place(&g, days, rows)
}

// eachStored hands over the rows of the session that the lake holds of one day.
func (bm *bucketMerge) eachStored(ctx context.Context, tenant, key, dt string, do func(*spilled) error) error {
	d := bm.day(dt)
	if err := bm.openStored(ctx, d); err != nil {
		return err
	}
	for {
		row, err := d.stored.peek()
		if err != nil {
			return fmt.Errorf("read spans of %s: %w", dt, err)
		}
		if row == nil {
			return nil
		}
		c := compareSession(row.Tenant, row.SessionKey, tenant, key)
		if c > 0 {
			return nil
		}
		if c == 0 {
			bm.run.horizon.qualify(row)
			if err := do(&spilled{row: *row, kind: recStored, own: session.CandidateOf(row, bm.run.sessionKeys(tenant))}); err != nil {
				return err
			}
		}
		d.stored.pop()
	}
}

func (bm *bucketMerge) openStored(ctx context.Context, d *dayMerge) (err error) {
	if d.stored != nil {
		return nil
	}
	if d.spans, err = bm.fetchDay(ctx, schema.Spans, d.dt); err != nil {
		return err
	}
	d.stored, err = openRows[schema.Span](d.spans)
	return err
}

// fetchDay copies a stored object of the bucket to local disk.
func (bm *bucketMerge) fetchDay(ctx context.Context, t schema.Table, dt string) (localObject, error) {
	key := t.DayKey(dt, bm.b)
	if _, ok := bm.existing[key]; !ok {
		return localObject{}, nil
	}
	return bm.run.fetch(ctx, bm.dir, key)
}

func compareSession(t1, k1, t2, k2 string) int {
	if c := strings.Compare(t1, t2); c != 0 {
		return c
	}
	return strings.Compare(k1, k2)
}

// place decides where a session will lie and spools it there.
func (bm *bucketMerge) place(g *gathered, days []string, rows []spilled) error {
	find := bm.run.newIdentFinder(g.tenant, g.key)
	all := make([]schema.Span, len(rows))
	for i := range rows {
		find.add(&rows[i])
		all[i] = rows[i].row
	}
	kept, _ := session.Dedupe(all)
	bm.run.countRows(rows, kept)
	to := ""
	if len(kept) > 0 {
		to = session.Dt(kept)
		if err := bm.arrives(to, days).spool.add(g.tenant, find.ident(), kept); err != nil {
			return fmt.Errorf("spool day %s: %w", to, err)
		}
		last := ""
		for i := range kept { // in order of signal and trace: the same trace may come twice, which does no harm
			if t := kept[i].TraceID; t != last {
				if err := bm.locate(g.tenant, t, g.key, to); err != nil {
					return err
				}
				last = t
			}
		}
	}
	return bm.placed(g, days, to)
}

// arrives is the day where a session will lie that lay on days.
func (bm *bucketMerge) arrives(to string, days []string) *dayMerge {
	d := bm.day(to)
	d.gains = d.gains || !slices.Contains(days, to)
	return d
}

// placed notes that a session lay on days and will lie on to, "" where no record of it is left.
func (bm *bucketMerge) placed(g *gathered, days []string, to string) error {
	bm.affected[sessionID(g.tenant, g.key)] = to
	for _, dt := range days {
		bm.day(dt) // rebuilt, also if the session leaves it
	}
	if to != "" {
		if err := bm.locate(g.tenant, "", g.key, to); err != nil {
			return err
		}
	}
	bm.mu.Lock()
	defer bm.mu.Unlock()
	var sum [16]byte
	if _, err := hex.Decode(sum[:], []byte(g.key)); err != nil {
		return fmt.Errorf("session key %q: %w", g.key, err)
	}
	bm.merger.affected[sum] = struct{}{}
	if to != "" {
		bm.run.counts.Sessions++ // some of its records may have left, the session stays
		return nil
	}
	for _, k := range slices.Compact(slices.Sorted(slices.Values(g.moved))) {
		bm.moves = append(bm.moves, schema.SessionMoved{Tenant: strings.Clone(g.tenant), OldKey: strings.Clone(g.key), NewKey: k})
	}
	return nil
}

// locate notes where a session will lie: a row of the index for one of its traces, or one without a trace.
func (bm *bucketMerge) locate(tenant, trace, key, to string) error {
	return bm.g.byIndex.Add(indexKey(schema.Trace{Tenant: tenant, TraceID: trace, SessionKey: key, Dt: to}))
}

// filter counts new rows as left out.
func (r *ingestRun) filter(rows []spilled, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range rows {
		if rows[i].kind == recNew {
			r.results[rows[i].input].row.Filtered++
			addCount(r.counts.FilteredBy, why, 1)
		}
	}
}

// removeFile deletes a file of the spill directory that is no longer needed.
func removeFile(path string) {
	if path != "" {
		_ = os.Remove(path) // the directory goes at the end
	}
}
