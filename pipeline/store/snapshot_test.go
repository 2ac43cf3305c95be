package store_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"testing"

	"github.com/tracejury/tracejury/pipeline/store"
)

// plain hides what kind of store it is.
type plain struct{ store.Store }

// A snapshot of a file is not touched by a replacement; elsewhere a replacement is noticed.
func TestSnapshot(t *testing.T) {
	ctx := context.Background()
	st, err := store.Open(ctx, t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []store.Store{st, plain{st}} {
		if _, err := s.Put(ctx, "a/b", bytes.NewReader([]byte("first state")), store.PutOptions{}); err != nil {
			t.Fatal(err)
		}
		snap, err := store.OpenSnapshot(ctx, s, "a/b")
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			off, n int64
			want   string
		}{{0, 5, "first"}, {6, 100, "state"}, {11, 4, ""}, {40, 4, ""}} {
			if got, err := snap.Range(c.off, c.n); err != nil || string(got) != c.want {
				t.Errorf("%T: %d at %d: %q, %v", s, c.n, c.off, got, err)
			}
		}
		if _, err := s.Put(ctx, "a/b", bytes.NewReader([]byte("other state")), store.PutOptions{}); err != nil {
			t.Fatal(err)
		}
		got, err := snap.Range(0, snap.Size)
		if changed := errors.Is(err, store.ErrChanged); !changed && string(got) != "first state" {
			t.Errorf("%T: after a replacement: %q, %v", s, got, err)
		}
		if err := snap.Close(); err != nil {
			t.Error(err)
		}
		if _, err := store.OpenSnapshot(ctx, s, "none"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%T: a missing object: %v", s, err)
		}
	}
}
