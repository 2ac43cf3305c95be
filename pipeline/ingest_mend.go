package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// What someone or something damaged, --full mends: a stored object that cannot be read counts as one without rows, the archive is
// read again, and what it gives takes the object's place. What the archive no longer holds of it is lost, and a warning says so.

// lastCommit finds the newest commit; with --full the newest that can be read, under the number of the newest.
func (r *ingestRun) lastCommit(ctx context.Context) (*Commit, error) {
	last, err := lastCommit(ctx, r.root.Store)
	if err == nil || !r.opts.Full || !errors.Is(err, table.ErrDamaged) {
		return last, err
	}
	r.log.Warn("the last commit is damaged: going on from the one before", "error", err.Error())
	seqs, err := commits(ctx, r.root.Store)
	if err != nil {
		return nil, err
	}
	for _, seq := range slices.Backward(seqs) {
		c, err := readCommit(ctx, r.root.Store, seq)
		if errors.Is(err, table.ErrDamaged) {
			continue
		}
		if err == nil {
			c.Seq = seqs[len(seqs)-1]
		}
		return c, err
	}
	return &Commit{Seq: seqs[len(seqs)-1], ContentOn: true}, nil
}

// checkLayout says that the layout is not the one that the tables were written with: in the wrong buckets nothing would be found,
// and everything would be written twice.
func (r *ingestRun) checkLayout(last *Commit) error {
	if last == nil || last.Buckets == 0 || last.Buckets == r.root.Layout.Buckets {
		return nil
	}
	return &ExitError{Code: ExitUsage, Err: fmt.Errorf("%s/%s says %d buckets, but the tables were written with %d", r.root.Store.URI(), schema.LayoutKey, r.root.Layout.Buckets, last.Buckets),
		Hint: fmt.Sprintf("put %s back into %s; for another number of buckets ingest into a new --data", strings.TrimSpace(string(schema.Layout{SchemaVersion: r.root.Layout.SchemaVersion, Buckets: last.Buckets}.Marshal())), schema.LayoutKey)}
}

// readMended reads the rows of a stored object; with --full a damaged one has none.
func readMended[T any](ctx context.Context, r *ingestRun, key string) ([]T, string, error) {
	rows, etag, err := table.Read[T](ctx, r.root.Store, key)
	if r.opts.Full && errors.Is(err, table.ErrDamaged) {
		r.log.Warn("damaged: built anew", "object", r.root.Store.URI()+"/"+key, "error", err.Error())
		return nil, etag, nil
	}
	return rows, etag, err
}

// mended reads all of a local object. A damaged one loses its rows, but for the index, whose rows are those of the sessions.
func (r *ingestRun) mended(ctx context.Context, dir, key string, lo localObject) (localObject, error) {
	name, _, _ := strings.Cut(key, "/")
	var err error
	switch name {
	case schema.Spans.Name:
		err = readAll[schema.Span](lo)
	case schema.Sessions.Name:
		err = readAll[schema.Session](lo)
	case schema.Steps.Name:
		err = readAll[schema.Step](lo)
	case schema.Skills.Name:
		err = readAll[schema.Skill](lo)
	case schema.Tools.Name:
		err = readAll[schema.Tool](lo)
	case schema.Traces.Name:
		err = readAll[schema.Trace](lo)
	}
	if !errors.Is(err, table.ErrDamaged) {
		return lo, err
	}
	r.log.Warn("damaged: built anew from the archive", "object", lo.name, "error", err.Error())
	lo.remove()
	lo = localObject{name: lo.name, etag: lo.etag}
	if name != schema.Traces.Name {
		return lo, nil
	}
	return r.rebuildIndex(ctx, dir, key, lo)
}

func readAll[T any](lo localObject) error {
	rows, err := openRows[T](lo)
	if err != nil {
		return err
	}
	defer func() { _ = rows.close() }() // only read
	for {
		row, err := rows.peek()
		if err != nil || row == nil {
			return err
		}
		rows.pop()
	}
}

// rebuildIndex makes the rows of a bucket of traces from those of all sessions.
func (r *ingestRun) rebuildIndex(ctx context.Context, dir, key string, lo localObject) (localObject, error) {
	var all []schema.Trace
	for from, err := range r.root.keys(ctx, schema.Sessions.Name+"/") {
		if err != nil {
			return lo, fmt.Errorf("list sessions: %w", err)
		}
		m := dayBucket.FindStringSubmatch(from)
		if m == nil {
			continue
		}
		sessions, _, err := readMended[schema.Session](ctx, r, from)
		if err != nil {
			return lo, err
		}
		for _, s := range sessions {
			for _, trace := range append([]string{""}, s.TraceIDs...) {
				t := schema.Trace{Tenant: s.Tenant, TraceID: trace, SessionKey: s.SessionKey, Dt: m[2]}
				if schema.Traces.BucketKey(r.indexPartition(indexKey(t))) == key {
					all = append(all, t)
				}
			}
		}
	}
	slices.SortFunc(all, compareTraces)
	all = slices.CompactFunc(all, func(a, b schema.Trace) bool { return cmp.Or(compareTraces(a, b)) == 0 })
	var out stagedFile[schema.Trace]
	defer out.abandon()
	path := localName(dir, "mended", key)
	if err := out.begin(path, schema.Traces, false); err != nil {
		return lo, err
	}
	for i := range all {
		if err := out.w.Write(&all[i]); err != nil {
			return lo, err
		}
	}
	if _, err := out.end(); err != nil {
		return lo, err
	}
	built, err := fileOf(path)
	lo.file, lo.size = built.file, built.size
	return lo, err
}
