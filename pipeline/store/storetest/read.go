package storetest

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/tracejury/tracejury/pipeline/store"
)

func testList(t *testing.T, s store.Store) {
	// In byte order; a walk that sorts names folder by folder gets a, a-, a/ wrong.
	all := []string{"B", "a-/x", "a.txt", "a/b", "a/b.c", "a/b/c", "a/b0", "a0", "b/1", "b/10", "b/2", "ä/x"}
	all = slices.DeleteFunc(all, func(key string) bool { return key == "a/b" }) // a directory cannot hold a/b and a/b/c
	slices.Sort(all)
	for _, key := range all {
		put(t, s, key, key)
	}
	for _, prefix := range []string{"", "a", "a/", "a/b", "a/b/", "a/b.", "b/1", "b/10", "b/100", "c", "ä", "a.txt", "a.txt/"} {
		for _, after := range append([]string{"", "0", "a", "a/", "a/b", "a/zzz", "b/1", "zzzz", "ä/y"}, all...) {
			var want []string
			for _, key := range all {
				if len(key) >= len(prefix) && key[:len(prefix)] == prefix && key > after {
					want = append(want, key)
				}
			}
			for _, keysOnly := range []bool{false, true} {
				got := list(t, s, prefix, store.ListOptions{StartAfter: after, KeysOnly: keysOnly})
				if !slices.Equal(keys(got), want) {
					t.Errorf("List(%q) after %q: %q, want %q", prefix, after, keys(got), want)
				}
			}
		}
	}
	for o := range s.List(t.Context(), "", store.ListOptions{}) {
		stat, err := s.Stat(t.Context(), o.Key)
		if err != nil || stat.ETag != o.ETag || stat.Size != o.Size || o.ETag == "" {
			t.Errorf("List says %+v, Stat %+v, %v", o, stat, err)
		}
	}
	for range s.List(t.Context(), "", store.ListOptions{}) {
		break // an iterator must bear it
	}
}

func testListPages(t *testing.T, s store.Store) {
	const n = 1203 // more than one page of S3
	var g errgroup.Group
	g.SetLimit(16)
	var want []string
	for i := range n {
		key := fmt.Sprintf("p/%d/k%d", i%7, i)
		want = append(want, key)
		g.Go(func() error {
			_, err := s.Put(t.Context(), key, bytes.NewReader([]byte(key)), store.PutOptions{})
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(want)
	if got := keys(list(t, s, "p/", store.ListOptions{})); !slices.Equal(got, want) {
		t.Errorf("%d keys listed, or in another order; want %d", len(got), n)
	}
	if got := keys(list(t, s, "p/", store.ListOptions{StartAfter: want[99]})); !slices.Equal(got, want[100:]) {
		t.Errorf("%d keys listed after the hundredth, want %d", len(got), n-100)
	}
}

func testRanges(t *testing.T, s store.Store) {
	body := pattern(1000)
	o, err := s.Put(t.Context(), "r", bytes.NewReader(body), store.PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, "empty", "")
	for _, c := range []struct {
		off, n   int64
		from, to int
	}{
		{0, 1, 0, 1},
		{0, 1000, 0, 1000},
		{0, 5000, 0, 1000},
		{10, 20, 10, 30},
		{990, 100, 990, 1000},
		{999, 1, 999, 1000},
		{1000, 1, 0, 0},
		{5000, 10, 0, 0},
		{10, 0, 0, 0},
		{-1, 8, 992, 1000},
		{-8, 8, 992, 1000},
		{-1, 1000, 0, 1000},
		{-1, 5000, 0, 1000},
		{-1, 0, 0, 0},
	} {
		for _, tag := range []string{"", o.ETag} {
			got, err := s.GetRange(t.Context(), "r", c.off, c.n, tag)
			if err != nil || !bytes.Equal(got, body[c.from:c.to]) {
				t.Errorf("GetRange(%d, %d, %q): %d bytes, %v; want [%d:%d]", c.off, c.n, tag, len(got), err, c.from, c.to)
			}
		}
		if got, err := s.GetRange(t.Context(), "empty", c.off, c.n, ""); err != nil || len(got) != 0 {
			t.Errorf("GetRange(%d, %d) of an empty object: %d bytes, %v", c.off, c.n, len(got), err)
		}
	}
	for _, c := range [][2]int64{{0, -1}, {-1, -1}, {1, 1<<63 - 1}} {
		if _, err := s.GetRange(t.Context(), "r", c[0], c[1], ""); err == nil {
			t.Errorf("GetRange(%d, %d) succeeded", c[0], c[1])
		}
	}
}

func testIfMatch(t *testing.T, s store.Store) {
	old := put(t, s, "m", "old")
	now := put(t, s, "m", "new")
	if old.ETag == now.ETag {
		t.Fatal("two contents, one ETag")
	}
	_, _, err := s.Get(t.Context(), "m", old.ETag)
	wantErr(t, "Get", err, store.ErrChanged)
	_, err = s.GetRange(t.Context(), "m", 0, 2, old.ETag)
	wantErr(t, "GetRange", err, store.ErrChanged)
	_, err = s.GetRange(t.Context(), "m", -1, 2, old.ETag)
	wantErr(t, "GetRange", err, store.ErrChanged)
	_, err = s.GetRange(t.Context(), "m", 0, 0, old.ETag)
	wantErr(t, "GetRange", err, store.ErrChanged)
	_, _, err = s.Open(t.Context(), "m", old.ETag)
	wantErr(t, "Open", err, store.ErrChanged)
	if b, o, err := s.Get(t.Context(), "m", now.ETag); err != nil || string(b) != "new" || o.ETag != now.ETag {
		t.Errorf("Get: %q, %+v, %v", b, o, err)
	}
	if b, err := s.GetRange(t.Context(), "m", 1, 2, now.ETag); err != nil || string(b) != "ew" {
		t.Errorf("GetRange: %q, %v", b, err)
	}
	// One that was opened before is read to its end or fails; it never continues with other bytes.
	r, _, err := s.Open(t.Context(), "m", now.ETag)
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, "m", "other")
	b, err := io.ReadAll(r)
	if closeErr := r.Close(); closeErr != nil {
		t.Error(closeErr)
	}
	if err == nil && string(b) != "new" {
		t.Errorf("a reader opened on %q got %q", "new", b)
	}
	wantOneOf(t, "read", err, nil, store.ErrChanged)
}

func testBig(t *testing.T, s store.Store) {
	body := pattern(BigBytes)
	onlySeek := struct{ io.ReadSeeker }{bytes.NewReader(body)} // hides ReadAt
	first, err := s.PutIfAbsent(t.Context(), "big", onlySeek, store.PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := onlySeek.Seek(5, io.SeekStart); err != nil { // a body is read from its start, wherever it stands
		t.Fatal(err)
	}
	_, err = s.PutIfAbsent(t.Context(), "big", onlySeek, store.PutOptions{})
	wantErr(t, "PutIfAbsent", err, store.ErrExist)
	_, err = s.PutIfMatch(t.Context(), "big", bytes.NewReader(body), "0123456789abcdef0123456789abcdef", store.PutOptions{})
	wantErr(t, "PutIfMatch", err, store.ErrChanged)
	_, err = s.PutIfMatch(t.Context(), "gone", bytes.NewReader(body), first.ETag, store.PutOptions{})
	wantErr(t, "PutIfMatch", err, store.ErrChanged)
	got, o, err := s.Get(t.Context(), "big", first.ETag)
	if err != nil || !bytes.Equal(got, body) || o.Size != BigBytes {
		t.Fatalf("Get: %d bytes, %+v, %v", len(got), o, err)
	}
	body[BigBytes-1]++
	second, err := s.PutIfMatch(t.Context(), "big", onlySeek, first.ETag, store.PutOptions{})
	if err != nil || second.ETag == first.ETag {
		t.Fatalf("PutIfMatch: %+v, %v", second, err)
	}
	tail, err := s.GetRange(t.Context(), "big", BigBytes-9, 9, second.ETag)
	if err != nil || !bytes.Equal(tail, body[BigBytes-9:]) {
		t.Errorf("GetRange: %d bytes, %v", len(tail), err)
	}
	if _, err := s.Put(t.Context(), "big", bytes.NewReader(body[:1]), store.PutOptions{}); err != nil {
		t.Error(err)
	}
	if got := keys(list(t, s, "", store.ListOptions{})); len(got) != 1 {
		t.Errorf("left %v", got)
	}
}
