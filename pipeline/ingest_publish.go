package pipeline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

func (m *merger) addStaged(s staged) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.staged = append(m.staged, s)
}

// locate notes where the sessions of a merged bucket now lie: a row for each of their traces, and one without a trace.
func (m *merger) locate(sessions []*built) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range sessions {
		m.affected[s.key] = struct{}{}
		if s.to == "" {
			continue
		}
		m.run.counts.Sessions++
		m.located = append(m.located, schema.Trace{Tenant: s.tenant, SessionKey: s.key, Dt: s.to})
		for _, t := range s.out.Session.TraceIDs {
			m.located = append(m.located, schema.Trace{Tenant: s.tenant, TraceID: t, SessionKey: s.key, Dt: s.to})
		}
	}
}

// publish makes the staged objects visible in an order that a run which dies anywhere leaves readable and repairable: first
// the index that says where sessions will be, then the objects that gain sessions, then those that lose them, then the index
// without what is gone. A run that died before the end is repaired by the next one, which reads the same inputs again.
func (m *merger) publish(ctx context.Context) error {
	if err := m.writeIndex(ctx, true); err != nil {
		return err
	}
	slices.SortFunc(m.staged, func(a, b staged) int { return strings.Compare(a.key, b.key) })
	if err := m.putAll(ctx, func(s *staged) bool { return s.gains }); err != nil {
		return err
	}
	err := m.putAll(ctx, func(s *staged) bool {
		again := !s.gains || s.early != ""
		s.early = ""
		return again
	})
	if err != nil {
		return err
	}
	if err := m.writeIndex(ctx, false); err != nil {
		return err
	}
	return m.writeMoves(ctx)
}

// putAll publishes the staged objects that are due, several at a time: the wait for the store is most of the work.
func (m *merger) putAll(ctx context.Context, due func(*staged) bool) error {
	p := Plan[struct{}]{Stage: "ingest/publish"}
	for i := range m.staged {
		if s := &m.staged[i]; due(s) {
			p.Tasks = append(p.Tasks, Task[struct{}]{Name: s.key, Do: func(ctx context.Context) (struct{}, error) { return struct{}{}, m.put(ctx, s) }})
		}
	}
	_, err := runLocal(ctx, m.run.cfg.Ingest.Concurrency, p)
	return err
}

// put publishes one staged object, in its early form if it has one.
func (m *merger) put(ctx context.Context, s *staged) error {
	st := m.run.root.Store
	if s.file == "" {
		if err := st.Delete(ctx, s.key); err != nil {
			return err
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.run.deleted = append(m.run.deleted, s.key)
		return nil
	}
	file := s.file
	if s.early != "" {
		file = s.early
	}
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("publish %s: %w", s.key, err)
	}
	defer f.Close()
	opts := store.PutOptions{ContentType: "application/vnd.apache.parquet"}
	var obj store.Object
	if s.etag == "" {
		obj, err = st.PutIfAbsent(ctx, s.key, f, opts)
	} else {
		obj, err = st.PutIfMatch(ctx, s.key, f, s.etag, opts)
	}
	if err != nil {
		return writeError(err, st, s.key)
	}
	s.etag = obj.ETag
	if s.early == "" {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.run.changed = append(m.run.changed, CommitEntry{Key: s.key, ETag: obj.ETag, Rows: s.rows})
	}
	return nil
}

// writeIndex writes the buckets of traces that change. With keepOld the rows of before stay beside the new ones.
func (m *merger) writeIndex(ctx context.Context, keepOld bool) error {
	fresh := map[int][]schema.Trace{}
	for _, t := range m.located {
		b, err := m.indexBucket(t)
		if err != nil {
			return err
		}
		fresh[b] = append(fresh[b], t)
	}
	for b, old := range m.index.rows {
		rows := fresh[b]
		for _, t := range old {
			if _, gone := m.affected[t.SessionKey]; !gone || keepOld {
				rows = append(rows, t)
			}
		}
		table.Sort(rows)
		rows = slices.CompactFunc(rows, func(a, b schema.Trace) bool { return a == b })
		if slices.Equal(rows, old) {
			continue
		}
		key := schema.Traces.BucketKey(b)
		obj, err := table.Write(ctx, m.run.root.Store, schema.Traces, key, rows, m.index.etags[b])
		if err != nil {
			return writeError(err, m.run.root.Store, key)
		}
		m.index.rows[b], m.index.etags[b] = rows, obj.ETag
		m.run.changed = slices.DeleteFunc(m.run.changed, func(e CommitEntry) bool { return e.Key == key })
		m.run.changed = append(m.run.changed, CommitEntry{Key: key, ETag: obj.ETag, Rows: len(rows)})
	}
	return nil
}

// indexBucket is where a row of traces lies: by its trace, or by its session where it has none.
func (m *merger) indexBucket(t schema.Trace) (int, error) {
	if t.TraceID == "" {
		return m.run.root.Layout.Bucket(t.SessionKey)
	}
	return m.run.root.Layout.BucketOfDigest(digest(t.TraceID)), nil
}

// writeMoves names the sessions that no longer exist under their old key.
func (m *merger) writeMoves(ctx context.Context) error {
	alive := map[string]bool{}
	for _, t := range m.located {
		alive[t.SessionKey] = true
	}
	byBucket := map[int][]schema.SessionMoved{}
	for mv := range m.run.moves {
		if _, merged := m.affected[mv.OldKey]; !merged || alive[mv.OldKey] {
			continue // some of its records left, the session stayed
		}
		b, err := m.run.root.Layout.Bucket(mv.OldKey)
		if err != nil {
			return err
		}
		byBucket[b] = append(byBucket[b], mv)
		m.run.counts.Moved++
	}
	var errs []error
	for _, b := range slices.Sorted(maps.Keys(byBucket)) {
		errs = append(errs, mergeRows(ctx, m.run, schema.SessionsMoved, schema.SessionsMoved.BucketKey(b), byBucket[b], func(schema.SessionMoved) bool { return true }))
	}
	return errors.Join(errs...)
}
