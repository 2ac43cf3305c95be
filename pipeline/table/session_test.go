package table_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// ranges counts what is asked of a store.
type ranges struct {
	store.Store
	requests int
	bytes    int64
}

func (r *ranges) Get(ctx context.Context, key, etag string) ([]byte, store.Object, error) {
	b, o, err := r.Store.Get(ctx, key, etag)
	r.requests, r.bytes = r.requests+1, r.bytes+int64(len(b))
	return b, o, err
}

func (r *ranges) GetRange(ctx context.Context, key string, off, n int64, etag string) ([]byte, error) {
	b, err := r.Store.GetRange(ctx, key, off, n, etag)
	r.requests, r.bytes = r.requests+1, r.bytes+int64(len(b))
	return b, err
}

// One session's steps are read from at most two row groups of one object and its footer, by three requests, and are the rows
// that reading everything gives.
func TestSessionIsReadFromTwoRowGroups(t *testing.T) {
	ctx := t.Context()
	dir, err := store.Open(ctx, t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	noise, padding := make([]byte, 2000), strings.Repeat("words ", 10_000)
	src := rand.NewChaCha8([32]byte{1})
	var rows []schema.Step
	for s := range 91 {
		for n := range 20 { // 1.2 MB a session: about 20 sessions a row group
			_, _ = src.Read(noise[:2000]) // so that the object is too large to fetch whole
			text := fmt.Sprintf("%x", noise[:2000]) + padding
			rows = append(rows, schema.Step{Tenant: "default", SessionKey: fmt.Sprintf("%032x", s*7), Step: int32(n + 1), Role: "assistant", Kind: "message", Text: text})
		}
	}
	var buf bytes.Buffer
	if err := table.Encode(&buf, schema.Steps, rows); err != nil {
		t.Fatal(err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		t.Fatal(err)
	}
	keys := []string{fmt.Sprintf("%032x", 1), rows[len(rows)/2].SessionKey} // the first one is not there
	largest := int64(0)
	for _, g := range f.Metadata().RowGroups {
		largest = max(largest, g.TotalCompressedSize)
		keys = append(keys, string(g.Columns[1].MetaData.Statistics.MaxValue)) // goes on in the next
	}
	if n := len(f.RowGroups()); n < 4 || buf.Len() < 5<<20 {
		t.Fatalf("%d row groups in %d bytes are too few to show anything", n, buf.Len())
	}
	if _, err := dir.Put(ctx, "steps/x.parquet", bytes.NewReader(buf.Bytes()), store.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	sessionOf := func(s *schema.Step) string { return s.SessionKey }
	for _, key := range keys {
		st := &ranges{Store: dir}
		got, err := table.ReadSession(ctx, st, "steps/x.parquet", key, sessionOf)
		if err != nil {
			t.Fatal(err)
		}
		var want []schema.Step
		for _, r := range rows {
			if r.SessionKey == key {
				want = append(want, r)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("session %s: %d rows, want %d", key, len(got), len(want))
		}
		if limit := 2*largest + 64<<10; st.requests > 3 || st.bytes > limit {
			t.Errorf("session %s: %d requests for %d bytes, want 3 for at most %d", key, st.requests, st.bytes, limit)
		}
	}
	if got, err := table.ReadSession(ctx, dir, "steps/none.parquet", "0", sessionOf); err != nil || got != nil {
		t.Errorf("missing object: %d rows, %v", len(got), err)
	}
}
