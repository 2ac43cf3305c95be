package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tracejury/tracejury/pipeline/convention"
	"github.com/tracejury/tracejury/pipeline/mask"
	"github.com/tracejury/tracejury/pipeline/session"
	"github.com/tracejury/tracejury/pipeline/shuffle"
	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// IngestOptions are the flags of one ingest that are not configuration.
type IngestOptions struct {
	Full          bool // read every object again, also those already ingested
	RetentionOnly bool // read nothing, only delete what has expired
	BreakLock     bool
	DryRun        bool // list and forecast, read and write nothing
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
	Expired     int64            `json:"days_expired"`
	Masked      map[string]int64 `json:"masked"`
	Shapes      map[string]int64 `json:"documents_by_shape"`
}

// IngestSummary is what an ingest reports.
type IngestSummary struct {
	Data   string       `json:"data"`
	Commit int64        `json:"commit"` // -1: nothing was new, no commit
	Counts IngestCounts `json:"counts"`
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
	inputs      []input
	plan        string

	mu      sync.Mutex
	results map[string]*objectResult // by source \0 object
	traces  map[string]struct{}      // tenant \0 trace of every record read now
	idents  map[string]session.Ident
	moves   map[schema.SessionMoved]struct{}
	idOrder []string // attributes that carry session ids, first asked first
	counts  IngestCounts
	changed []CommitEntry
	deleted []string
}

// Ingest reads what is new in the sources into session tables. It holds the writer lock of the data root meanwhile.
func Ingest(ctx context.Context, cfg *Config, opts IngestOptions, log *slog.Logger) (*IngestSummary, error) {
	r := &ingestRun{cfg: cfg, opts: opts, log: log, conventions: convention.All(), results: map[string]*objectResult{}, traces: map[string]struct{}{},
		idents: map[string]session.Ident{}, moves: map[schema.SessionMoved]struct{}{}, idOrder: session.DefaultIDKeys().Keys}
	r.counts = IngestCounts{Objects: map[string]int64{}, FilteredBy: map[string]int64{}, Masked: map[string]int64{}, Shapes: map[string]int64{}}
	var err error
	if r.mask, err = cfg.masker(); err != nil {
		return nil, err
	}
	if len(cfg.Sources) == 0 && !opts.RetentionOnly {
		return nil, usagef("no archive to read: give --from (a directory or s3://bucket/prefix) or sources: in the configuration")
	}
	if r.root, err = createRoot(ctx, cfg, log); err != nil {
		return nil, err
	}
	lk, ctx, err := acquireLock(ctx, r.root.Store, opts.BreakLock, log)
	if err != nil {
		return nil, err
	}
	defer lk.release(ctx)
	sum, err := r.run(ctx)
	if cause := context.Cause(ctx); errors.Is(cause, errLockLost) {
		return nil, &ExitError{Code: ExitLocked, Err: fmt.Errorf("ingest: %w", cause)}
	}
	return sum, err
}

func (r *ingestRun) run(ctx context.Context) (*IngestSummary, error) {
	sum := &IngestSummary{Data: r.root.Store.URI(), Commit: -1}
	last, err := lastCommit(ctx, r.root.Store)
	if err != nil {
		return nil, err
	}
	if !r.opts.RetentionOnly {
		if err := r.listInputs(ctx); err != nil {
			return nil, err
		}
	}
	if r.opts.DryRun {
		sum.Counts = r.counts
		return sum, nil
	}
	c := r.nextCommit(last)
	if len(r.inputs) > 0 {
		if err := r.ingestInputs(ctx, c.Seq); err != nil {
			return nil, err
		}
	}
	if err := r.applyRetention(ctx, c); err != nil {
		return nil, err
	}
	if len(r.inputs) > 0 || len(r.changed) > 0 || len(r.deleted) > 0 || last == nil || last.ContentOn != c.ContentOn {
		slices.SortFunc(r.changed, func(a, b CommitEntry) int { return strings.Compare(a.Key, b.Key) })
		slices.Sort(r.deleted)
		c.Written, c.Deleted, c.Counts = r.changed, slices.Compact(r.deleted), r.counts
		if err := putCommit(ctx, r.root.Store, c); err != nil {
			return nil, err
		}
		sum.Commit = c.Seq
	}
	sum.Counts = r.counts
	return sum, nil
}

func (r *ingestRun) nextCommit(last *Commit) *Commit {
	c := &Commit{Seq: 1, SchemaVersion: schema.Version, AsOf: r.cfg.asOf, InputsSHA256: r.plan, ContentOn: r.cfg.Content.Storage == "on"}
	if last != nil {
		c.Seq, c.ContentSince = last.Seq+1, last.ContentSince
		if c.ContentOn && !last.ContentOn {
			c.ContentSince = r.cfg.asOf
		}
	}
	return c
}

// ingestInputs reads the inputs, groups their records with what the lake holds of the same traces and sessions, and publishes
// every table that changed.
func (r *ingestRun) ingestInputs(ctx context.Context, seq int64) error {
	memory, err := parseBytes(r.cfg.Ingest.Memory)
	if err != nil {
		return err
	}
	spill, err := os.MkdirTemp(r.cfg.Ingest.SpillDir, "tracejury-ingest-")
	if err != nil {
		return fmt.Errorf("make spill directory: %w", err)
	}
	defer os.RemoveAll(spill)
	byTrace := shuffle.New(shuffle.Options{Memory: memory / 4, Dir: spill})
	defer byTrace.Close()
	byBucket := shuffle.New(shuffle.Options{Memory: memory / 4, Dir: spill, Partitions: r.root.Layout.Buckets})
	defer byBucket.Close()

	if err := r.readInputs(ctx, byTrace, byBucket); err != nil {
		return err
	}
	idx, err := r.loadTraceIndex(ctx)
	if err != nil {
		return err
	}
	if err := r.loadStoredTraces(ctx, idx, byTrace); err != nil {
		return err
	}
	if err := r.assignTraces(ctx, byTrace, byBucket); err != nil {
		return err
	}
	if err := byTrace.Close(); err != nil {
		return err
	}
	m := &merger{run: r, index: idx, spill: spill}
	if err := m.merge(ctx, byBucket); err != nil {
		return err
	}
	if err := m.publish(ctx); err != nil {
		return err
	}
	return r.recordObjects(ctx, seq)
}

// readInputs reads every input; its records go into byTrace, or straight into byBucket where no trace can change their session.
func (r *ingestRun) readInputs(ctx context.Context, byTrace, byBucket *shuffle.Shuffle) error {
	p := Plan[struct{}]{Stage: "ingest/read"}
	progress := newProgress(r.log, "reading", int64(len(r.inputs)))
	defer progress.done()
	for _, in := range r.inputs {
		p.Tasks = append(p.Tasks, Task[struct{}]{Name: in.name() + " " + in.obj.ETag, Do: func(ctx context.Context) (struct{}, error) {
			res, err := r.readObject(ctx, in, func(row *schema.Span) error { return r.keep(row, byTrace, byBucket) })
			if err != nil {
				return struct{}{}, err
			}
			progress.add(1)
			r.mu.Lock()
			defer r.mu.Unlock()
			r.results[objectID(res.row.Source, res.row.Object)] = &res
			return struct{}{}, nil
		}})
	}
	_, err := runLocal(ctx, r.cfg.Ingest.Concurrency, p)
	return err
}

func objectID(source, object string) string { return source + "\x00" + object }

// traceID joins tenant and trace.
func traceKey(tenant, trace string) string { return tenant + "\x00" + trace }

func (r *ingestRun) keep(row *schema.Span, byTrace, byBucket *shuffle.Shuffle) error {
	if row.TraceID == "" {
		return r.assignRows(row.Tenant, []*schema.Span{row}, []bool{false}, byBucket)
	}
	key := traceKey(row.Tenant, row.TraceID)
	r.mu.Lock()
	r.traces[key] = struct{}{}
	r.mu.Unlock()
	return byTrace.Add(key, appendSpan(nil, row, false))
}

// recordObjects writes what became of each object, last before the commit: a run that dies before reads them again.
func (r *ingestRun) recordObjects(ctx context.Context, seq int64) error {
	objects := map[int][]schema.Object{}
	bad := map[int][]schema.QuarantineRow{}
	for _, id := range slices.Sorted(maps.Keys(r.results)) {
		res := r.results[id]
		res.row.CommitSeq = seq
		b := r.root.Layout.BucketOfDigest(digest(id))
		objects[b] = append(objects[b], res.row)
		bad[b] = append(bad[b], res.quarantine...)
		r.count(res)
	}
	for _, b := range slices.Sorted(maps.Keys(objects)) {
		read := func(source, object string) bool {
			_, ok := r.results[objectID(source, object)]
			return ok
		}
		err := mergeRows(ctx, r, schema.Quarantine, schema.Quarantine.BucketKey(b), bad[b], func(q schema.QuarantineRow) bool { return !read(q.Source, q.Object) })
		if err != nil {
			return err
		}
		err = mergeRows(ctx, r, schema.Objects, schema.Objects.BucketKey(b), objects[b], func(o schema.Object) bool {
			res, ok := r.results[objectID(o.Source, o.Object)]
			return !ok || res.row.ETag != o.ETag
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *ingestRun) count(res *objectResult) {
	c := &r.counts
	c.Objects[res.row.Status]++
	c.BytesStored += res.row.Size
	c.Bytes += res.row.BytesIn
	c.Records += res.row.Records
	c.Written += res.row.Written
	c.Duplicates += res.row.Duplicates
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
	old, etag, err := table.Read[T](ctx, r.root.Store, key)
	if err != nil {
		return err
	}
	rows := append([]T(nil), add...)
	for _, o := range old {
		if stays(o) {
			rows = append(rows, o)
		}
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
	r.changed = append(r.changed, CommitEntry{Key: key, ETag: obj.ETag, Rows: len(rows)})
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
