package table

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/parquet-go/parquet-go"

	"github.com/tracejury/tracejury/pipeline/store"
)

// footerGuess is about the size of a footer of many row groups.
const footerGuess = 64 << 10

// ReadSession reads the rows of one session from the object at key, in their order. Of an object that is worth it only the
// footer and the row groups that may hold the session are fetched, in one request each: since rows are sorted by session, one or
// two. A missing object is no rows. sessionOf is the session of a row.
func ReadSession[T any](ctx context.Context, st store.Store, key, session string, sessionOf func(*T) string) (rows []T, err error) {
	r, err := openObject(ctx, st, key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer r.snap.Close() //nolint:errcheck // only read
	named := func(e error) error { return fmt.Errorf("%s/%s: %w", st.URI(), key, e) }
	defer func() { // the library panics on some damaged files
		if p := recover(); p != nil {
			rows, err = nil, named(fmt.Errorf("read parquet: damaged: %v", p))
		}
	}()
	if _, err := r.fetch([]span{{max(0, r.snap.Size-footerGuess), r.snap.Size}}); err != nil {
		return nil, named(err)
	}
	f, err := openFile(r)
	if err != nil {
		return nil, named(err)
	}
	all := make([]int, len(f.Metadata().Schema))
	for i := range all {
		all[i] = i // what is beyond the leaves is passed over
	}
	for i, g := range f.RowGroups() {
		if !mayHold(f, i, [2]string{"session_key", session}) {
			continue
		}
		release, err := r.fetch(spans(f, i, all))
		if err == nil {
			rows, err = appendSession(rows, g, session, sessionOf)
			release()
		}
		if err != nil {
			return nil, named(fmt.Errorf("row group %d: %w", i, err))
		}
	}
	return rows, nil
}

func appendSession[T any](rows []T, g parquet.RowGroup, session string, sessionOf func(*T) string) ([]T, error) {
	r := parquet.NewGenericRowGroupReader[T](g)
	defer r.Close() //nolint:errcheck // only read
	for {
		buf := make([]T, readRows) // not used again: rows are kept
		n, err := r.Read(buf)
		for i := range buf[:n] {
			if sessionOf(&buf[i]) == session {
				rows = append(rows, buf[i])
			}
		}
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, fmt.Errorf("read parquet: %w", err)
		}
	}
}
