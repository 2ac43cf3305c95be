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
// merged with what is there. Beyond what spools may keep in memory, one session of a bucket is held at a time.
type merger struct {
	run      *ingestRun
	g        *groupings
	dir      string
	existing map[string]struct{} // keys of stored objects
	stagers  chan *dayStager     // one for each bucket that may be merged at a time

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
		for group, err := range m.g.bySession.Groups(ctx, i) {
			if err == nil {
				err = bm.session(ctx, group)
			}
			if err != nil {
				return err
			}
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

// session puts the records of one session together and passes them on to the day where they will lie.
func (bm *bucketMerge) session(ctx context.Context, group shuffle.Group) error {
	r := bm.run
	tenant, key, _ := strings.Cut(group.Key, "\x00")
	days, err := bm.located(tenant, key)
	if err != nil {
		return err
	}
	var rows []spilled
	var moved, whole []string
	touched := false
	for _, rec := range group.Records {
		switch rec[0] {
		case recWhole:
			c := cursor{b: rec[1:]}
			whole = append(whole, c.text())
		case recMoved:
			c := cursor{b: rec[1:]}
			moved = append(moved, c.text())
			touched = true
		default:
			s, err := decodeRow(rec)
			if err != nil {
				return err
			}
			touched = touched || s.kind == recNew || s.row.SessionKey != key || r.horizon.cameTrue(&s.row)
			s.row.SessionKey = key
			r.horizon.qualify(&s.row)
			rows = append(rows, s)
		}
	}
	if len(rows) == 0 {
		touched = true // its rows have left, and a run that died could not say so
	}
	switch {
	case !touched:
		return nil // was read for a trace that is not of those read now
	case r.erased.has(key):
		r.filter(rows, "erased")
		return nil
	case slices.ContainsFunc(days, r.expired):
		r.filter(rows, "sealed")
		return nil
	}
	for _, dt := range days {
		if slices.Contains(whole, dt) {
			continue
		}
		if rows, err = bm.addStored(ctx, tenant, key, dt, rows); err != nil {
			return err
		}
	}
	return bm.place(tenant, key, days, rows, moved)
}

// addStored adds the rows of the session that the lake holds of one day.
func (bm *bucketMerge) addStored(ctx context.Context, tenant, key, dt string, rows []spilled) ([]spilled, error) {
	d := bm.day(dt)
	if err := bm.openStored(ctx, d); err != nil {
		return nil, err
	}
	for {
		row, err := d.stored.peek()
		if err != nil {
			return nil, fmt.Errorf("read spans of %s: %w", dt, err)
		}
		if row == nil {
			return rows, nil
		}
		c := compareSession(row.Tenant, row.SessionKey, tenant, key)
		if c > 0 {
			return rows, nil
		}
		if c == 0 {
			bm.run.horizon.qualify(row)
			rows = append(rows, spilled{row: *row, kind: recStored, own: session.CandidateOf(row, bm.run.sessionKeys(tenant))})
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
func (bm *bucketMerge) place(tenant, key string, days []string, rows []spilled, moved []string) error {
	id := bm.run.identOf(tenant, key, rows)
	all := make([]schema.Span, len(rows))
	for i := range rows {
		all[i] = rows[i].row
	}
	kept, _ := session.Dedupe(all)
	bm.run.countRows(rows, kept)
	to := ""
	if len(kept) > 0 {
		to = session.Dt(kept)
		d := bm.day(to)
		d.gains = d.gains || !slices.Contains(days, to)
		if err := d.spool.add(tenant, id, kept); err != nil {
			return fmt.Errorf("spool day %s: %w", to, err)
		}
	}
	bm.affected[sessionID(tenant, key)] = to
	for _, dt := range days {
		bm.day(dt) // rebuilt, also if the session leaves it
	}
	if err := bm.locate(tenant, key, to, kept); err != nil {
		return err
	}
	bm.mu.Lock()
	defer bm.mu.Unlock()
	var sum [16]byte
	if _, err := hex.Decode(sum[:], []byte(key)); err != nil {
		return fmt.Errorf("session key %q: %w", key, err)
	}
	bm.merger.affected[sum] = struct{}{}
	if to != "" {
		bm.run.counts.Sessions++ // some of its records may have left, the session stays
		return nil
	}
	for _, k := range slices.Compact(slices.Sorted(slices.Values(moved))) {
		bm.moves = append(bm.moves, schema.SessionMoved{Tenant: strings.Clone(tenant), OldKey: strings.Clone(key), NewKey: strings.Clone(k)})
	}
	return nil
}

// locate notes where a session will lie: a row of the index for each of its traces, and one without a trace.
func (bm *bucketMerge) locate(tenant, key, to string, kept []schema.Span) error {
	if to == "" {
		return nil
	}
	last := ""
	err := bm.g.byIndex.Add(indexKey(schema.Trace{Tenant: tenant, SessionKey: key, Dt: to}))
	for i := range kept { // in order of signal and trace: the same trace may come twice, which does no harm
		if t := kept[i].TraceID; t != last {
			err = errors.Join(err, bm.g.byIndex.Add(indexKey(schema.Trace{Tenant: tenant, TraceID: t, SessionKey: key, Dt: to})))
			last = t
		}
	}
	return err
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
