package table

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/tracejury/tracejury/pipeline/store"
)

const (
	// wholeObject is the size up to which an object is fetched at once: requests cost more than the columns that are not needed.
	wholeObject = 4 << 20
	// bridge is the gap between two columns that is fetched with them, for the same reason.
	bridge = 256 << 10
)

// span is a part of an object, [from, to).
type span struct{ from, to int64 }

// segment is a part that was fetched.
type segment struct {
	span
	data []byte
}

// objectReader reads one state of an object: all of it, or the parts that were fetched and, slowly, any other.
type objectReader struct {
	snap *store.Snapshot

	mu   sync.RWMutex
	held []*segment
}

func openObject(ctx context.Context, st store.Store, key string) (*objectReader, error) {
	snap, err := store.OpenSnapshot(ctx, st, key)
	if err != nil {
		return nil, err
	}
	r := &objectReader{snap: snap}
	if snap.Size <= wholeObject && !snap.Local() {
		_, err = r.fetch([]span{{0, snap.Size}})
	}
	if err != nil {
		snap.Close()
		return nil, err
	}
	return r, nil
}

// fetch gets parts of the object in as few requests as are sensible, and keeps them until release is called.
func (r *objectReader) fetch(parts []span) (release func(), err error) {
	slices.SortFunc(parts, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	gap := int64(bridge)
	if r.snap.Local() {
		gap = 0
	}
	var want []span
	for _, p := range parts {
		if p.from < 0 || p.to > r.snap.Size || p.from > p.to {
			return nil, errors.New("read parquet: a column lies outside of the object")
		}
		if n := len(want); n > 0 && p.from-want[n-1].to <= gap {
			want[n-1].to = max(want[n-1].to, p.to)
			continue
		}
		want = append(want, p)
	}
	var got []*segment
	for _, w := range want {
		if r.find(w.from, int(w.to-w.from)) != nil {
			continue
		}
		data, err := r.snap.Range(w.from, w.to-w.from)
		if err != nil {
			return nil, err
		}
		got = append(got, &segment{span{w.from, w.from + int64(len(data))}, data})
	}
	r.mu.Lock()
	r.held = append(r.held, got...)
	r.mu.Unlock()
	return func() {
		r.mu.Lock()
		r.held = slices.DeleteFunc(r.held, func(s *segment) bool { return slices.Contains(got, s) })
		r.mu.Unlock()
	}, nil
}

// find is n bytes of what is held, from off on; nil when they are not.
func (r *objectReader) find(off int64, n int) []byte {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, s := range r.held {
		if s.from <= off && off+int64(n) <= s.to {
			return s.data[off-s.from:][:n]
		}
	}
	return nil
}

// ReadAt implements io.ReaderAt.
func (r *objectReader) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off >= r.snap.Size {
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), r.snap.Size-off))
	data := r.find(off, n)
	if data == nil {
		var err error
		if data, err = r.snap.Range(off, int64(n)); err != nil {
			return 0, err
		}
	}
	if n = copy(p, data); n < len(p) {
		return n, io.EOF
	}
	return n, nil
}
