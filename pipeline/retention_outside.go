package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tracejury/tracejury/judge/ledger"
	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// Evaluations leave content at three places outside of --data: files of batch jobs, the cache of replies that runs share, and on each machine
// the write-ahead logs of runs that did not end. They expire as content does, and an erasure reaches them, where the configuration names them.

// batchAge is how long files of a batch job may lie: the service ends a job after a week.
const batchAge = 8 * 24 * time.Hour

// batchFolder is the folder of the jobs of a run: the run, the data root, the model.
var batchFolder = regexp.MustCompile(`^tracejury-(\d{4}-\d{2}-\d{2}-[0-9a-f]{12})-([0-9a-f]{12})-[0-9a-f]{12}/`)

// rootHash names a data root in places that roots share.
func rootHash(st store.Store) string { return hashJSON(st.URI())[:12] }

// expireOutside deletes what has expired outside of --data. Unless nothing else was asked for, a place that cannot be reached stops nobody.
func (r *ingestRun) expireOutside(ctx context.Context) error {
	err := errors.Join(
		r.sweepBatches(ctx, func(run string, written time.Time) bool {
			return r.expired(runDay(run)) || time.Since(written) > batchAge
		}),
		r.expireCache(ctx),
		r.sweepLogs(func(run, _ string) (bool, error) { return r.expired(runDay(run)), nil }))
	if err != nil && !r.opts.RetentionOnly && r.opts.Erase == "" && ctx.Err() == nil {
		r.log.Error("content outside of --data was not expired; ingest --retention-only tries it again", "err", err)
		return nil
	}
	return err
}

// sweepBatches deletes files of batch jobs of this data root.
func (r *ingestRun) sweepBatches(ctx context.Context, gone func(run string, written time.Time) bool) error {
	b := &r.cfg.Evaluate.Batch
	if b.URI == "" {
		return nil
	}
	st, err := r.cfg.openStore(ctx, b.URI, r.cfg.Store.options(b.Region, "", maxBatchObject, r.log))
	if err != nil {
		return fmt.Errorf("evaluate.batch.uri: %w", err)
	}
	root := rootHash(r.root.Store)
	return r.sweep(ctx, st, "tracejury-", func(o store.Object) bool {
		m := batchFolder.FindStringSubmatch(o.Key)
		return m != nil && m[2] == root && gone(m[1], o.Modified)
	})
}

// sweep deletes the objects of another store that are gone.
func (r *ingestRun) sweep(ctx context.Context, st store.Store, prefix string, gone func(store.Object) bool) error {
	n := 0
	for o, err := range st.List(ctx, prefix, store.ListOptions{}) {
		if err == nil && gone(o) {
			n++
			err = st.Delete(ctx, o.Key)
		}
		if err != nil {
			return fmt.Errorf("expire content in %s: %w", st.URI(), err)
		}
	}
	if n > 0 {
		r.log.Info("content outside of --data was deleted", "place", st.URI(), "objects", n)
	}
	return nil
}

func (r *ingestRun) openCache(ctx context.Context) (store.Store, error) {
	if r.cfg.Evaluate.Cache == "" {
		return nil, nil
	}
	st, err := r.cfg.openStore(ctx, r.cfg.Evaluate.Cache, r.cfg.Store.options("", "", maxCached, r.log))
	if err != nil {
		return nil, fmt.Errorf("evaluate.cache: %w", err)
	}
	return st, nil
}

// expireCache deletes replies by the day on which they were given. Who shares a cache with a root that keeps content longer pays again.
func (r *ingestRun) expireCache(ctx context.Context) error {
	st, err := r.openCache(ctx)
	if err != nil || st == nil {
		return err
	}
	return r.sweep(ctx, st, cachePrefix, func(o store.Object) bool { return r.expired(o.Modified.UTC().Format(time.DateOnly)) })
}

// sweepLogs deletes write-ahead logs of this data root on this machine.
func (r *ingestRun) sweepLogs(gone func(run, name string) (bool, error)) error {
	names, err := filepath.Glob(filepath.Join(ledgerDir(r.cfg, r.root.Store), "*.ledger"))
	for _, name := range names {
		is, one := gone(strings.TrimSuffix(filepath.Base(name), ".ledger"), name)
		if one == nil && is {
			one = os.Remove(name)
		}
		if one != nil && !errors.Is(one, fs.ErrNotExist) {
			err = errors.Join(err, fmt.Errorf("expire write-ahead logs: %w", one))
		}
	}
	return err
}

// eraseOutside deletes what lies outside of --data about a subject: its replies in the cache, the files of batch jobs of the runs that judged it
// and of those that have not ended, since records there tell no subjects, and logs on this machine.
func (r *ingestRun) eraseOutside(ctx context.Context, about func(subject, sessionKey string) bool, touched map[string]bool) error {
	keys, err := r.repliesAbout(ctx, about)
	if err != nil {
		return err
	}
	var local []string
	err = r.sweepLogs(func(_, name string) (bool, error) {
		records, err := ledger.ReadFile(name)
		for _, rec := range records {
			if about(rec.Subject, "") {
				keys[rec.Key] = true
				local = append(local, name)
			}
		}
		return false, err
	})
	if err != nil {
		return err
	}
	cache, err := r.openCache(ctx)
	if err != nil {
		return err
	}
	for key := range keys {
		if cache == nil {
			break
		}
		if err := cache.Delete(ctx, cacheKey(key)); err != nil {
			return fmt.Errorf("evaluate.cache: %w", err)
		}
	}
	// What tells where replies lie goes last.
	if err := r.sweepLogs(func(_, name string) (bool, error) { return slices.Contains(local, name), nil }); err != nil {
		return err
	}
	runs, err := allRuns(ctx, r.root.Store)
	if err != nil {
		return err
	}
	ended := map[string]bool{}
	for _, run := range runs {
		ended[run.RunID] = run.State == "finished" || run.State == "no_result"
	}
	return r.sweepBatches(ctx, func(run string, _ time.Time) bool { return touched["run="+run] || !ended[run] })
}

// repliesAbout are the cache keys of what judges were asked about a subject: by the table calls, and by the sealed logs of runs that have no tables.
func (r *ingestRun) repliesAbout(ctx context.Context, about func(subject, sessionKey string) bool) (map[string]bool, error) {
	keys := map[string]bool{}
	for k, err := range r.root.keys(ctx, schema.Calls.Name+"/") {
		if err != nil {
			return nil, fmt.Errorf("list calls: %w", err)
		}
		if path.Ext(k) != ".parquet" {
			continue
		}
		rows, err := table.ReadWhere(ctx, r.root.Store, k, func(row *callRow) bool { return about(row.Subject, "") })
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			keys[row.RequestSHA256] = true
		}
	}
	err := r.segments(ctx, func(_ string, records []ledger.Record) {
		for _, rec := range records {
			if about(rec.Subject, "") {
				keys[rec.Key] = true
			}
		}
	})
	return keys, err
}

// callRow is what of a call tells where its reply lies in the cache.
type callRow struct {
	RequestSHA256 string `parquet:"request_sha256"`
	Subject       string `parquet:"subject"`
}

// segments reads the sealed logs below _ledger, each with its run as run=ID. A damaged one gives what is whole of it.
func (r *ingestRun) segments(ctx context.Context, see func(run string, records []ledger.Record)) error {
	for k, err := range r.root.keys(ctx, "_ledger/") {
		if err != nil {
			return fmt.Errorf("list _ledger: %w", err)
		}
		data, _, err := r.root.Store.Get(ctx, k, "")
		if errors.Is(err, fs.ErrNotExist) {
			continue // a run that goes on removed it
		}
		if err != nil {
			return fmt.Errorf("read _ledger: %w", err)
		}
		records, err := ledger.Decode(bytes.NewReader(data))
		if err != nil {
			return fmt.Errorf("read %s: %w", k, err)
		}
		run, _, _ := strings.Cut(strings.TrimPrefix(k, "_ledger/"), "/")
		see(run, records)
	}
	return nil
}
