package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tracejury/tracejury/pipeline/convention"
	"github.com/tracejury/tracejury/pipeline/mask"
	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// IngestOptions are the flags of one ingest that are not configuration.
type IngestOptions struct {
	Full          bool // read every object again, also those already ingested
	RetentionOnly bool // read nothing, only delete what has expired
	BreakLock     bool
	ExpireAhead   bool   // delete expired content also where as-of lies ahead of this machine's clock
	DryRun        bool   // list and forecast, read and write nothing
	Check         bool   // read and decode, write nothing
	Erase         string // session:<key>: remove that session everywhere and read nothing
}

// IngestCounts adds up what an ingest met. Records = Written + Duplicates + Filtered + Quarantined.
type IngestCounts struct {
	Listed      int64            `json:"objects_listed"`
	New         int64            `json:"objects_new"`
	Objects     map[string]int64 `json:"objects_by_status"`
	BytesStored int64            `json:"bytes_stored"`
	Bytes       int64            `json:"bytes_decompressed"`
	Records     int64            `json:"records"`
	Written     int64            `json:"records_written"`
	Duplicates  int64            `json:"records_duplicate"`
	Filtered    int64            `json:"records_filtered"`
	FilteredBy  map[string]int64 `json:"records_filtered_by"`
	Quarantined int64            `json:"records_quarantined"`
	NoIDs       int64            `json:"spans_without_id"`
	Sessions    int64            `json:"sessions_written"`
	Moved       int64            `json:"sessions_moved"`
	Cut         int64            `json:"sessions_cut,omitempty"` // larger than limits.max_session_bytes or 20,000 steps: not judged
	Expired     int64            `json:"days_expired"`
	Masked      map[string]int64 `json:"masked"`
	Shapes      map[string]int64 `json:"documents_by_shape"`
	// SkillTools counts sessions by "harness tool": tools that were called as if to load a skill, and no load was recognised.
	SkillTools map[string]int64 `json:"skill_calls_not_recognised,omitempty"`
}

// IngestSummary is what an ingest reports.
type IngestSummary struct {
	Data    string       `json:"data"`
	Commit  int64        `json:"commit"`            // -1: nothing was new, no commit
	Checked bool         `json:"checked,omitempty"` // nothing was written, as asked
	Counts  IngestCounts `json:"counts"`
	DryRun  bool         `json:"dry_run,omitempty"` // nothing was read
	// Forecast of a dry run, guessed from the sizes and names of objects.
	Forecast *IngestForecast `json:"forecast,omitempty"`
}

// IngestForecast is what an ingest is about to take, in bytes.
type IngestForecast struct {
	Stored int64 `json:"bytes_stored"`
	Plain  int64 `json:"bytes_decompressed"` // about
	Disk   int64 `json:"bytes_local_disk"`   // at most, about
}

// ingestRun is the state of one ingest.
type ingestRun struct {
	cfg         *Config
	opts        IngestOptions
	log         *slog.Logger
	root        *Root
	mask        *mask.Masker
	conventions []convention.Convention
	sources     []*openSource
	empty       []string // sources that hold no object at all
	floor       string   // last day that was sealed before this run
	inputs      []input
	plan        string
	marks       map[string]ListMark // how far each source is listed when this run commits
	objectDays  []string            // stored objects of the table objects
	uncommitted []string            // those of them with rows of a run that died before its commit
	erased      *erasures
	horizon     horizon

	index   []localObject   // copies of the buckets of traces
	results []*objectResult // by input
	mu      sync.Mutex
	counts  IngestCounts
	changed []CommitEntry
	deleted []string
}

// Ingest reads what is new in the sources into session tables. It holds the writer lock of the data root meanwhile.
func Ingest(ctx context.Context, cfg *Config, opts IngestOptions, log *slog.Logger) (*IngestSummary, error) {
	r := &ingestRun{cfg: cfg, opts: opts, log: log, conventions: convention.All()}
	r.counts = IngestCounts{Objects: map[string]int64{}, FilteredBy: map[string]int64{}, Masked: map[string]int64{}, Shapes: map[string]int64{}, SkillTools: map[string]int64{}}
	var err error
	if r.mask, err = cfg.masker(); err != nil {
		return nil, err
	}
	eraseKey := ""
	if opts.Erase != "" {
		if eraseKey, err = parseErase(opts.Erase); err != nil {
			return nil, err
		}
	}
	if len(cfg.Sources) == 0 && !opts.RetentionOnly && eraseKey == "" {
		return nil, usagef("no archive to read: give --from (a directory or s3://bucket/prefix) or sources: in the configuration")
	}
	if opts.Check {
		return r.check(ctx, log)
	}
	if opts.DryRun {
		if r.root, err = planRoot(ctx, cfg, log); err != nil {
			return nil, err
		}
		return r.run(ctx, "")
	}
	if r.root, err = createRoot(ctx, cfg, log); err != nil {
		return nil, err
	}
	lk, ctx, err := acquireLock(ctx, r.root.Store, lockKey, opts.BreakLock, log)
	if err != nil {
		return nil, err
	}
	defer lk.release(ctx)
	sum, err := r.run(ctx, eraseKey)
	if cause := context.Cause(ctx); errors.Is(cause, errLockLost) {
		return nil, &ExitError{Code: ExitLocked, Err: fmt.Errorf("ingest: %w", cause)}
	}
	return sum, err
}

// nothingRead says that an archive gave nothing at all, which nobody should learn a week later.
func (r *ingestRun) nothingRead() error {
	c := &r.counts
	switch {
	case len(r.empty) > 0:
		return &ExitError{Code: ExitNoResult, Err: fmt.Errorf("%s holds no objects", strings.Join(r.empty, " and ")), Hint: "look at the prefix, and whether the exporter writes there"}
	case c.New > 0 && c.Objects["unreadable"] == c.New:
		return &ExitError{Code: ExitNoResult, Err: fmt.Errorf("none of the %d new objects could be read", c.New), Hint: "the table quarantine says why; ingest --explain OBJECT shows one"}
	}
	return nil
}

func (r *ingestRun) run(ctx context.Context, eraseKey string) (*IngestSummary, error) {
	sum := &IngestSummary{Data: r.root.Store.URI(), Commit: -1}
	last, err := r.lastCommit(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.checkLayout(last); err != nil {
		return nil, err
	}
	if r.erased, err = loadErasures(ctx, r.root.Store); err != nil {
		return nil, err
	}
	r.horizon = horizonOf(r.cfg.asOf, last)
	if last != nil {
		r.marks = last.Listed
	}
	if !r.opts.RetentionOnly && eraseKey == "" {
		if err := r.listInputs(ctx, last); err != nil {
			return nil, err
		}
	}
	if r.opts.DryRun {
		memory, err := parseBytes(r.cfg.Ingest.Memory)
		if err != nil {
			return nil, err
		}
		f := forecastOf(r.inputs, memory)
		sum.Counts, sum.DryRun, sum.Forecast = r.counts, true, &IngestForecast{Stored: f.stored, Plain: f.plain, Disk: f.disk}
		return sum, nil
	}
	c := r.nextCommit(last)
	if eraseKey != "" {
		if err := r.erase(ctx, eraseKey); err != nil {
			return nil, err
		}
	}
	if len(r.inputs) > 0 || len(r.horizon.due()) > 0 {
		if err := r.ingestInputs(ctx, c.Seq); err != nil {
			return nil, err
		}
	}
	if err := r.applyRetention(ctx, c); err != nil {
		return nil, err
	}
	if len(r.inputs) > 0 || len(r.changed) > 0 || len(r.deleted) > 0 || last == nil || last.ContentOn != c.ContentOn {
		c.Written, c.Deleted, c.Counts, c.Listed = r.written(), slices.Compact(slices.Sorted(slices.Values(r.deleted))), r.counts, r.marks
		c.Horizon, c.Future = r.horizon.asOf(), r.horizon.future
		if err := putCommit(ctx, r.root.Store, c); err != nil {
			return nil, err
		}
		sum.Commit = c.Seq
	}
	sum.Counts = r.counts
	return sum, r.nothingRead()
}

// noteChanged notes an object that this run wrote, or found to be as it would have written it. It may be called concurrently.
func (r *ingestRun) noteChanged(e CommitEntry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changed = append(r.changed, e)
}

// written lists what this run wrote and left, by key; of an object that was written twice the last form.
func (r *ingestRun) written() []CommitEntry {
	last := map[string]CommitEntry{}
	for _, e := range r.changed {
		last[e.Key] = e
	}
	for _, key := range r.deleted {
		delete(last, key)
	}
	return slices.SortedFunc(maps.Values(last), func(a, b CommitEntry) int { return strings.Compare(a.Key, b.Key) })
}

func (r *ingestRun) nextCommit(last *Commit) *Commit {
	c := &Commit{Seq: 1, SchemaVersion: schema.Version, Buckets: r.root.Layout.Buckets, AsOf: r.cfg.asOf, InputsSHA256: r.plan, ContentOn: r.cfg.Content.Storage == "on"}
	if last != nil {
		c.Seq, c.ContentSince, c.ContentFloor = last.Seq+1, last.ContentSince, last.ContentFloor
		if c.ContentOn && !last.ContentOn {
			c.ContentSince = r.cfg.asOf
		}
	}
	r.floor = c.ContentFloor
	c.ContentFloor = max(c.ContentFloor, contentFloor(r.cfg))
	return c
}

// ingestInputs reads the inputs, groups their records with what the lake holds of the same traces and sessions, and publishes
// every table that changed.
func (r *ingestRun) ingestInputs(ctx context.Context, seq int64) error {
	memory, err := parseBytes(r.cfg.Ingest.Memory)
	if err != nil {
		return err
	}
	if was := debug.SetMemoryLimit(-1); was == math.MaxInt64 { // no GOMEMLIMIT: collect garbage in time for the bound to hold
		debug.SetMemoryLimit(memory + memory/4)
		defer debug.SetMemoryLimit(was)
	}
	dir, err := newSpillDir(r.cfg.Ingest.SpillDir, r.log)
	if err != nil {
		return err
	}
	defer dir.close()
	spill := dir.path
	plan := forecastOf(r.inputs, memory)
	if err := checkSpace(spill, plan, r.log); err != nil {
		return err
	}
	g := r.newGroupings(memory, plan.plain+int64(len(r.inputs))<<16, spill)
	defer g.close()
	rd := r.newReader(memory/8, func(s *spilled) error { return r.keep(s, g) })
	m := &merger{run: r, g: g, dir: spill}
	r.index = make([]localObject, r.root.Layout.Buckets)
	for _, stage := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"read", rd.all},
		{"load", func(ctx context.Context) error { return r.loadStoredTraces(ctx, g, spill) }},
		{"assign", func(ctx context.Context) error { return errors.Join(r.assignTraces(ctx, g), g.byTrace.Close()) }},
		{"merge", m.merge},
		{"publish", m.publish},
		{"record", func(ctx context.Context) error { return r.recordObjects(ctx, seq) }},
	} {
		start := time.Now()
		if err := stage.do(ctx); err != nil {
			return err
		}
		r.log.Debug("stage done", "stage", stage.name, "elapsed", time.Since(start).Round(time.Millisecond).String())
	}
	return nil
}

// keep passes on a row that was read. It may be called concurrently.
func (r *ingestRun) keep(s *spilled, g *groupings) error {
	buf := rowBuffers.Get().(*[]byte)
	defer rowBuffers.Put(buf)
	*buf = appendRow((*buf)[:0], s)
	if s.row.TraceID == "" {
		return r.assignAlone(s, *buf, g)
	}
	key := traceKey(s.row.Tenant, s.row.TraceID)
	g.filter.add(key)
	return g.byTrace.Add(key, *buf)
}

// rowBuffers holds encoding buffers, which shuffles copy from.
var rowBuffers = sync.Pool{New: func() any { return new([]byte) }}

func objectID(source, object string) string { return source + "\x00" + object }

// recordObjects writes what became of each object, last before the commit: a run that dies before reads them again. The rows
// of one day of ingests lie in one object, so that a night does not rewrite all history.
func (r *ingestRun) recordObjects(ctx context.Context, seq int64) error {
	var objects []schema.Object
	bad := map[int][]schema.QuarantineRow{}
	read := map[string]string{} // object ─► ETag
	for _, res := range r.results {
		res.row.CommitSeq = seq
		id := objectID(res.row.Source, res.row.Object)
		read[id] = res.row.ETag
		objects = append(objects, res.row)
		if b := r.root.Layout.BucketOfDigest(digest(id)); len(res.quarantine) > 0 {
			bad[b] = append(bad[b], res.quarantine...)
		}
		r.count(res)
	}
	for b := range r.root.Layout.Buckets {
		err := mergeRows(ctx, r, schema.Quarantine, schema.Quarantine.BucketKey(b), bad[b], func(q schema.QuarantineRow) bool {
			_, again := read[objectID(q.Source, q.Object)]
			return !again
		})
		if err != nil {
			return err
		}
	}
	stays := func(o schema.Object) bool {
		etag, again := read[objectID(o.Source, o.Object)]
		return !again || etag != o.ETag
	}
	today := schema.Objects.DayKey(r.cfg.asOf.Format(time.DateOnly), 0)
	leave := r.uncommitted
	if slices.ContainsFunc(r.inputs, func(in input) bool { return in.again }) { // --full
		leave = r.objectDays
	}
	for _, key := range leave { // what is read again moves to this day
		if key != today {
			if err := mergeRows(ctx, r, schema.Objects, key, nil, stays); err != nil {
				return err
			}
		}
	}
	return mergeRows(ctx, r, schema.Objects, today, objects, stays)
}

func (r *ingestRun) count(res *objectResult) {
	c := &r.counts
	c.Objects[res.row.Status]++
	c.BytesStored += res.row.Size
	c.Bytes += res.row.BytesIn
	c.Records += res.row.Records
	c.Written += res.row.Written - res.held
	c.Duplicates += res.row.Duplicates + res.held
	c.Filtered += res.row.Filtered
	c.Quarantined += res.row.Quarantined
	c.NoIDs += res.noIDs
	addCount(c.FilteredBy, "metrics", res.metrics)
	addCount(c.FilteredBy, "internal", res.internal)
	for k, n := range res.masked {
		addCount(c.Masked, string(k), int64(n))
	}
	for k, n := range res.shapes {
		addCount(c.Shapes, k, n)
	}
}

func addCount(m map[string]int64, key string, n int64) {
	if n != 0 {
		m[key] += n
	}
}

// mergeRows replaces the object at key by the stored rows that stay and the new ones. Rows that are the same stay one.
func mergeRows[T schema.Row[T]](ctx context.Context, r *ingestRun, t schema.Table, key string, add []T, stays func(T) bool) error {
	old, etag, err := readMended[T](ctx, r, key)
	if err != nil {
		return err
	}
	rows, left := append([]T(nil), add...), 0
	for _, o := range old {
		if stays(o) {
			rows = append(rows, o)
		} else {
			left++
		}
	}
	if len(add) == 0 && left == 0 {
		return nil
	}
	table.Sort(rows)
	rows = slices.CompactFunc(rows, func(a, b T) bool { return a.Compare(b) == 0 })
	if len(rows) == 0 && etag == "" {
		return nil
	}
	obj, err := table.Write(ctx, r.root.Store, t, key, rows, etag)
	if err != nil {
		return writeError(err, r.root.Store, key)
	}
	r.noteChanged(CommitEntry{Key: key, ETag: obj.ETag, Rows: len(rows)})
	return nil
}

// writeError names the meaning of a lost race: someone else wrote where only the lock's holder may.
func writeError(err error, st store.Store, key string) error {
	if errors.Is(err, store.ErrChanged) || errors.Is(err, store.ErrExist) {
		return &ExitError{Code: ExitLocked, Err: fmt.Errorf("%s/%s was changed by someone else while this ingest held the lock: nothing of it was overwritten", st.URI(), key),
			Hint: "look for a second ingest that was started with --break-lock, then run again"}
	}
	return err
}

// sinceTime is the time before which objects are not read; zero reads all.
func (r *ingestRun) sinceTime() (time.Time, error) {
	if r.cfg.Ingest.Since == "" {
		return time.Time{}, nil
	}
	d, err := parseSpan(r.cfg.Ingest.Since)
	if err != nil {
		return time.Time{}, fmt.Errorf("--since: %w", err)
	}
	return r.cfg.asOf.Add(-d), nil
}
