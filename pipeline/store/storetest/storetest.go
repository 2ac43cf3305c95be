// Package storetest holds the contract of store.Store as a suite that every implementation must pass. It knows the
// interface and nothing of what lies behind it.
package storetest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/pipeline/store"
)

// BigBytes is the size of the largest body that the suite writes. Open the store with Options.PartBytes of 5 MiB, and
// the suite covers multipart uploads too.
const BigBytes = 11<<20 + 7

// Run runs the suite. open returns an empty store; it is called once per test, and cleans up by tb.Cleanup.
func Run(t *testing.T, open func(tb testing.TB) store.Store) {
	t.Helper()
	for _, test := range []struct {
		name string
		run  func(*testing.T, store.Store)
	}{
		{"RoundTrip", testRoundTrip},
		{"Keys", testKeys},
		{"BadKeys", testBadKeys},
		{"Missing", testMissing},
		{"List", testList},
		{"ListPages", testListPages},
		{"Ranges", testRanges},
		{"IfMatch", testIfMatch},
		{"PutIfAbsent", testPutIfAbsent},
		{"PutIfMatch", testPutIfMatch},
		{"RaceIfAbsent", testRaceIfAbsent},
		{"RaceIfMatch", testRaceIfMatch},
		{"RaceCounter", testRaceCounter},
		{"ReadersSeeWholeObjects", testWhole},
		{"Big", testBig},
		{"Delete", testDelete},
		{"Cancel", testCancel},
		{"Under", testUnder},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
	}
}

func put(t testing.TB, s store.Store, key, body string) store.Object {
	t.Helper()
	o, err := s.Put(t.Context(), key, strings.NewReader(body), store.PutOptions{})
	if err != nil {
		t.Fatalf("Put(%q): %v", key, err)
	}
	return o
}

func get(t testing.TB, s store.Store, key string) string {
	t.Helper()
	b, _, err := s.Get(t.Context(), key, "")
	if err != nil {
		t.Fatalf("Get(%q): %v", key, err)
	}
	return string(b)
}

func list(t testing.TB, s store.Store, prefix string, opts store.ListOptions) (objects []store.Object) {
	t.Helper()
	for o, err := range s.List(t.Context(), prefix, opts) {
		if err != nil {
			t.Fatalf("List(%q): %v", prefix, err)
		}
		objects = append(objects, o)
	}
	return objects
}

func keys(objects []store.Object) (keys []string) {
	for _, o := range objects {
		keys = append(keys, o.Key)
	}
	return keys
}

func wantErr(t testing.TB, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got error %v, want %v", what, err, want)
	}
	if e, ok := errors.AsType[*store.Error](err); err != nil && (!ok || e.Op == "" || e.URI == "") {
		t.Errorf("%s: %#v is no *store.Error that says what was done to what", what, err)
	}
}

func pattern(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{7}).Read(b)
	return b
}

func testRoundTrip(t *testing.T, s store.Store) {
	for name, body := range map[string][]byte{
		"empty": {}, "one": {0}, "text": []byte("a line\r\n\x00\xff"), "64k": pattern(64 << 10), "1m": pattern(1<<20 + 1),
		"gzip": {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1, 0, 0, 255, 255}, // stored bytes stay as they are
	} {
		put, err := s.Put(t.Context(), "r/"+name, bytes.NewReader(body), store.PutOptions{ContentType: "application/json"})
		if err != nil {
			t.Fatalf("Put(%s): %v", name, err)
		}
		stat, err := s.Stat(t.Context(), "r/"+name)
		if err != nil {
			t.Fatalf("Stat(%s): %v", name, err)
		}
		got, o, err := s.Get(t.Context(), "r/"+name, "")
		if err != nil || !bytes.Equal(got, body) {
			t.Errorf("Get(%s): %d bytes, %v; want the %d that were put", name, len(got), err, len(body))
		}
		r, opened, err := s.Open(t.Context(), "r/"+name, put.ETag)
		if err != nil {
			t.Fatalf("Open(%s): %v", name, err)
		}
		streamed, err := io.ReadAll(r)
		if closeErr := r.Close(); err != nil || closeErr != nil || !bytes.Equal(streamed, body) {
			t.Errorf("Open(%s): %d bytes, %v, %v; want the %d that were put", name, len(streamed), err, closeErr, len(body))
		}
		for what, x := range map[string]store.Object{"Put": put, "Stat": stat, "Get": o, "Open": opened} {
			if x.Key != "r/"+name || x.Size != int64(len(body)) || x.ETag != put.ETag || x.ETag == "" || strings.Contains(x.ETag, `"`) {
				t.Errorf("%s(%s) says %+v; want size %d and ETag %q", what, name, x, len(body), put.ETag)
			}
		}
		if stat.Modified.IsZero() {
			t.Errorf("Stat(%s) does not say when it was modified", name)
		}
	}
}

var goodKeys = []string{
	"a", "A", "a.b", "a-b/c", "a+b", "a b/c d", "ä/ö/ü", "日本/語", "100%", "%41", "%2F", "a%2fb", "x=1/y=2.parquet",
	"q?a=b&c=d", "h#frag", "it's", "~tilde", "(p)[q]{r}", "semi;colon,comma", "dollar$@!*", "e\u0301", "🦜", "a:b", `"quoted"`,
	".hidden", "trailing.", "<xml>&amp;", "dt=2026-11-30/bucket=07.parquet", strings.Repeat("k", 200),
}

func testKeys(t *testing.T, s store.Store) {
	for _, key := range goodKeys {
		put(t, s, "keys/"+key, "body of "+key)
	}
	listed := map[string]bool{}
	for _, key := range keys(list(t, s, "keys/", store.ListOptions{})) {
		listed[key] = true
	}
	if len(listed) != len(goodKeys) {
		t.Errorf("%d keys listed, want %d", len(listed), len(goodKeys))
	}
	for _, key := range goodKeys {
		if got := get(t, s, "keys/"+key); got != "body of "+key {
			t.Errorf("Get(%q) = %q", key, got)
		}
		if !listed["keys/"+key] {
			t.Errorf("%q is not listed", key)
		}
		if got := list(t, s, "keys/"+key, store.ListOptions{}); len(got) == 0 || got[0].Key != "keys/"+key {
			t.Errorf("List(%q) = %v", key, keys(got))
		}
	}
}

func testBadKeys(t *testing.T, s store.Store) {
	for _, key := range []string{
		"", "/", "/abs", "a/", "a//b", ".", "..", "a/../b", "../a", "a/..", "./a", "a/./b", "a\x00b", `a\b`, `..\a`, "a\nb", "\xff",
		".tracejury", ".tracejury/lock", "a/.tracejury-x", strings.Repeat("k", 1025),
	} {
		_, err := s.Put(t.Context(), key, strings.NewReader("x"), store.PutOptions{})
		wantErr(t, "Put "+key, err, store.ErrBadKey)
		_, err = s.PutIfAbsent(t.Context(), key, strings.NewReader("x"), store.PutOptions{})
		wantErr(t, "PutIfAbsent "+key, err, store.ErrBadKey)
		if _, _, err := s.Get(t.Context(), key, ""); err == nil {
			t.Errorf("Get(%q) succeeded", key)
		}
	}
	if got := list(t, s, "", store.ListOptions{}); len(got) != 0 {
		t.Errorf("bad keys left %v", keys(got))
	}
}

func testMissing(t *testing.T, s store.Store) {
	put(t, s, "there/is", "something")
	for _, key := range []string{"no", "there", "there/no", "there/is/no", "there/is/no/way"} {
		_, _, err := s.Get(t.Context(), key, "")
		wantErr(t, "Get "+key, err, store.ErrNotExist)
		_, err = s.GetRange(t.Context(), key, 0, 1, "")
		wantErr(t, "GetRange "+key, err, store.ErrNotExist)
		_, err = s.GetRange(t.Context(), key, 0, 0, "")
		wantErr(t, "GetRange of nothing "+key, err, store.ErrNotExist)
		_, err = s.Stat(t.Context(), key)
		wantErr(t, "Stat "+key, err, store.ErrNotExist)
		_, _, err = s.Open(t.Context(), key, "")
		wantErr(t, "Open "+key, err, store.ErrNotExist)
	}
	if got := list(t, s, "nothing/here/", store.ListOptions{}); got != nil {
		t.Errorf("List of nothing: %v", keys(got))
	}
}

func testDelete(t *testing.T, s store.Store) {
	for _, key := range []string{"d/a", "d/b/c", "d/b/d"} {
		put(t, s, key, "x")
	}
	for range 2 { // the second time nothing is there
		for _, key := range []string{"d/b/c", "d/b/d", "never/was"} {
			if err := s.Delete(t.Context(), key); err != nil {
				t.Fatalf("Delete(%q): %v", key, err)
			}
		}
	}
	if got := keys(list(t, s, "", store.ListOptions{})); len(got) != 1 || got[0] != "d/a" {
		t.Errorf("left %v, want [d/a]", got)
	}
	put(t, s, "d/b/c", "again")
	put(t, s, "never", "a prefix without objects does not exist")
}

func testCancel(t *testing.T, s store.Store) {
	o := put(t, s, "c/a", "x")
	put(t, s, "c/b", "x")
	why := errors.New("the user pressed a key")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	r, _, err := s.Open(ctx, "c/a", "")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() //nolint:errcheck // only read
	n := 0
	for _, err := range s.List(ctx, "c/", store.ListOptions{}) {
		if n++; n > 1 {
			wantOneOf(t, "List", err, nil, why) // the page may be here already
		}
		cancel(why)
	}
	_, _, err = s.Get(ctx, "c/a", "")
	wantErr(t, "Get", err, why)
	_, err = s.GetRange(ctx, "c/a", 0, 1, "")
	wantErr(t, "GetRange", err, why)
	_, err = s.Stat(ctx, "c/a")
	wantErr(t, "Stat", err, why)
	_, _, err = s.Open(ctx, "c/a", "")
	wantErr(t, "Open", err, why)
	_, err = s.Put(ctx, "c/new", strings.NewReader("x"), store.PutOptions{})
	wantErr(t, "Put", err, why)
	_, err = s.PutIfAbsent(ctx, "c/new", strings.NewReader("x"), store.PutOptions{})
	wantErr(t, "PutIfAbsent", err, why)
	_, err = s.PutIfMatch(ctx, "c/a", strings.NewReader("y"), o.ETag, store.PutOptions{})
	wantErr(t, "PutIfMatch", err, why)
	_, err = s.Put(ctx, "c/big", bytes.NewReader(make([]byte, BigBytes)), store.PutOptions{})
	wantErr(t, "big Put", err, why)
	wantErr(t, "Delete", s.Delete(ctx, "c/a"), why)
	for _, err := range s.List(ctx, "c/", store.ListOptions{}) {
		wantErr(t, "List", err, why)
	}
	if got := keys(list(t, s, "c/", store.ListOptions{})); len(got) != 2 || get(t, s, "c/a") != "x" {
		t.Errorf("after cancelled calls there are %v", got)
	}
}

func wantOneOf(t testing.TB, what string, err error, list ...error) {
	t.Helper()
	for _, want := range list {
		if errors.Is(err, want) {
			return
		}
	}
	t.Errorf("%s: got error %v, want one of %v", what, err, list)
}

func testUnder(t *testing.T, s store.Store) {
	put(t, s, "top", "x")
	sub := store.Under(s, "/in/side/")
	if want := s.URI() + "/in/side"; sub.URI() != want {
		t.Errorf("URI %q, want %q", sub.URI(), want)
	}
	if store.Under(s, "") != s {
		t.Error("Under of nothing is another store")
	}
	put(t, sub, "a", "1")
	o := put(t, sub, "b/c", "2")
	if o.Key != "b/c" || get(t, s, "in/side/b/c") != "2" {
		t.Errorf("%+v was not put where it belongs", o)
	}
	if _, err := sub.PutIfMatch(t.Context(), "b/c", strings.NewReader("3"), o.ETag, store.PutOptions{}); err != nil {
		t.Error(err)
	}
	_, err := sub.PutIfAbsent(t.Context(), "a", strings.NewReader("3"), store.PutOptions{})
	wantErr(t, "PutIfAbsent", err, store.ErrExist)
	for _, key := range []string{"../../top", "..", "/top", "b/../../../top", ""} {
		_, _, err := sub.Get(t.Context(), key, "")
		wantErr(t, "Get "+key, err, store.ErrBadKey)
	}
	if got := strings.Join(keys(list(t, sub, "", store.ListOptions{})), " "); got != "a b/c" {
		t.Errorf("List: %s", got)
	}
	if got := strings.Join(keys(list(t, sub, "b", store.ListOptions{StartAfter: "a"})), " "); got != "b/c" {
		t.Errorf("List: %s", got)
	}
	if err := sub.Delete(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	if got := strings.Join(keys(list(t, s, "", store.ListOptions{})), " "); got != "in/side/b/c top" {
		t.Errorf("List of all: %s", got)
	}
}
