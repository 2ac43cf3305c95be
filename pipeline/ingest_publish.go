package pipeline

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/schema"
)

// staged is one object that is ready to be published.
type staged struct {
	key   string
	etag  string // of the object it replaces, "" none
	file  string // encoded bytes on local disk; "" deletes the object
	rows  int
	early string // encoded bytes that still hold the sessions which leave for another object; "" none needed
	gains bool   // holds sessions that it did not hold
	gone  bool   // of the index: no row is left
}

// publish makes the staged objects visible in an order that a run which dies anywhere leaves readable and repairable: first
// the index that says where sessions will be, then the objects that gain sessions, then those that lose them, then the index
// without what is gone. A run that died before the end is repaired by the next one, which reads the same inputs again.
func (m *merger) publish(ctx context.Context) error {
	index, err := m.stageIndex(ctx)
	if err != nil {
		return err
	}
	if err := m.putAll(ctx, index, func(s *staged) bool { return s.early != "" }); err != nil {
		return err
	}
	slices.SortFunc(m.staged, func(a, b staged) int { return strings.Compare(a.key, b.key) })
	// A session is visible in sessions last, so that no reader sees it without its steps; and it goes from there first.
	isSession := func(s *staged) bool { return strings.HasPrefix(s.key, schema.Sessions.Name+"/") }
	for _, last := range []bool{false, true} {
		if err := m.putAll(ctx, m.staged, func(s *staged) bool { return s.gains && isSession(s) == last }); err != nil {
			return err
		}
	}
	if err := m.writeMoves(ctx); err != nil { // while there are traces of them
		return err
	}
	for _, first := range []bool{true, false} {
		err := m.putAll(ctx, m.staged, func(s *staged) bool {
			if isSession(s) != first {
				return false
			}
			again := !s.gains || s.early != ""
			s.early = ""
			return again
		})
		if err != nil {
			return err
		}
	}
	return m.putAll(ctx, index, func(s *staged) bool {
		s.early = ""
		return s.file != "" || s.gone
	})
}

// putAll publishes the staged objects that are due, several at a time: the wait for the store is most of the work.
func (m *merger) putAll(ctx context.Context, all []staged, due func(*staged) bool) error {
	p := Plan[struct{}]{Stage: "ingest/publish"}
	for i := range all {
		if s := &all[i]; due(s) {
			p.Tasks = append(p.Tasks, Task[struct{}]{Name: s.key, Do: func(ctx context.Context) (struct{}, error) { return struct{}{}, m.put(ctx, s) }})
		}
	}
	_, err := runLocal(ctx, m.run.cfg.Ingest.Concurrency, p)
	return err
}

// put publishes one staged object, in its early form if it has one.
func (m *merger) put(ctx context.Context, s *staged) error {
	st := m.run.root.Store
	if s.file == "" && s.early == "" {
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
	if s.early == "" || s.file == "" { // else the next form is the one that counts
		m.run.noteChanged(CommitEntry{Key: s.key, ETag: obj.ETag, Rows: s.rows})
	}
	return nil
}

// stageIndex prepares the buckets of traces that change, twice each where it matters: early with the rows of before beside the
// new ones, and as they will be.
func (m *merger) stageIndex(ctx context.Context) ([]staged, error) {
	var early, final stagedFile[schema.Trace]
	defer func() {
		early.abandon()
		final.abandon()
	}()
	var out []staged
	for b := range m.run.root.Layout.Buckets {
		st, err := m.stageIndexBucket(ctx, b, &early, &final)
		if err != nil {
			return nil, fmt.Errorf("stage traces: %w", err)
		}
		if st.file != "" || st.early != "" || st.gone {
			out = append(out, st)
		}
	}
	return out, nil
}

func (m *merger) stageIndexBucket(ctx context.Context, b int, early, final *stagedFile[schema.Trace]) (st staged, err error) {
	old := m.run.index[b]
	key := schema.Traces.BucketKey(b)
	st = staged{key: key, etag: old.etag, file: localName(m.dir, "stage", key), early: localName(m.dir, "early", key)}
	rows, err := openRows[schema.Trace](old)
	if err != nil {
		return st, err
	}
	defer func() { err = errors.Join(err, rows.close()) }()
	if err := errors.Join(early.begin(st.early, schema.Traces, true), final.begin(st.file, schema.Traces, true)); err != nil {
		return st, err
	}
	keepUntil := func(next *schema.Trace) error { // stored rows before next
		for {
			t, err := rows.peek()
			if err != nil || t == nil || next != nil && compareTraces(*t, *next) > 0 {
				return err
			}
			rows.pop()
			if next == nil || *t != *next {
				err = early.w.Write(t)
			}
			if !m.isAffected(t.SessionKey) {
				err = errors.Join(err, final.w.Write(t))
			}
			if err != nil {
				return err
			}
		}
	}
	groups := 0
	for g, err := range m.g.byIndex.Groups(ctx, b) {
		groups++
		if err != nil {
			return st, err
		}
		t := parseIndexKey(g.Key)
		if err := errors.Join(keepUntil(&t), early.w.Write(&t), final.w.Write(&t)); err != nil {
			return st, err
		}
	}
	if err := keepUntil(nil); err != nil {
		return st, err
	}
	st.rows = final.w.Rows()
	sumEarly, errE := early.end()
	sum, errF := final.end()
	if err := errors.Join(errE, errF); err != nil {
		return st, err
	}
	switch {
	case st.rows == 0 && st.etag != "":
		st.early, st.file, st.gone = "", "", true // nothing came, so what is there is early enough
	case sum == old.sum && sumEarly == old.sum, st.rows == 0 && st.etag == "" && sumEarly == sum:
		st.early, st.file = "", "" // nothing changes
		if groups > 0 && st.etag != "" {
			m.run.noteChanged(CommitEntry{Key: key, ETag: st.etag, Rows: st.rows})
		}
	case sum == sumEarly:
		st.file, st.early = "", st.file // once is enough
	}
	return st, nil
}

// compareTraces orders rows of the index wholly: those of one session and trace by day.
func compareTraces(a, b schema.Trace) int {
	return cmp.Or(a.Compare(b), strings.Compare(a.Dt, b.Dt))
}

func (m *merger) isAffected(key string) bool {
	var sum [16]byte
	_, err := hex.Decode(sum[:], []byte(key))
	_, ok := m.affected[sum]
	return ok && err == nil
}

// writeMoves names the sessions that no longer exist under their old key.
func (m *merger) writeMoves(ctx context.Context) error {
	byBucket := map[int][]schema.SessionMoved{}
	for _, mv := range m.moves {
		b, err := m.run.root.Layout.Bucket(mv.OldKey)
		if err != nil {
			return err
		}
		byBucket[b] = append(byBucket[b], mv)
	}
	m.run.counts.Moved += int64(len(m.moves))
	var errs []error
	for _, b := range slices.Sorted(maps.Keys(byBucket)) {
		errs = append(errs, mergeRows(ctx, m.run, schema.SessionsMoved, schema.SessionsMoved.BucketKey(b), byBucket[b], func(schema.SessionMoved) bool { return true }))
	}
	return errors.Join(errs...)
}
