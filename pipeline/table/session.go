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

// ReadSession reads the rows of one session from the object at key, in their order. Of an object that is worth it only the
// footer and the row groups that may hold the session are fetched, in one request each: since rows are sorted by session, one or
// two. A missing object is no rows. sessionOf is the session of a row.
func ReadSession[T any](ctx context.Context, st store.Store, key, session string, sessionOf func(*T) string) (rows []T, err error) {
	r, err := openForScan(ctx, st, key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { // the library panics on some damaged files
		if p := recover(); p != nil {
			rows, err = nil, fmt.Errorf("%s/%s: read parquet: damaged: %v", st.URI(), key, p)
		}
	}()
	size, err := r.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, fmt.Errorf("%s/%s: %w", st.URI(), key, err)
	}
	w := &window{in: r}
	if err := w.fetch(max(0, size-footerGuess), size); err != nil {
		return nil, fmt.Errorf("%s/%s: %w", st.URI(), key, err)
	}
	f, err := parquet.OpenFile(w, size, parquet.SkipMagicBytes(true), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, fmt.Errorf("%s/%s: read parquet: %w", st.URI(), key, err)
	}
	for i, g := range f.RowGroups() {
		from, to, holds := groupRange(f, i, session)
		if !holds {
			continue
		}
		if err := w.fetch(from, to); err == nil {
			rows, err = appendSession(rows, g, session, sessionOf)
		}
		if err != nil {
			return nil, fmt.Errorf("%s/%s: row group %d: %w", st.URI(), key, i, err)
		}
	}
	return rows, nil
}

// footerGuess is about the size of a footer of many row groups.
const footerGuess = 64 << 10

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

// groupRange is where row group i lies, and whether it may hold the session by the bounds of its column.
func groupRange(f *parquet.File, i int, session string) (from, to int64, holds bool) {
	holds = true
	leaf, ok := f.Schema().Lookup("session_key")
	for j := range f.Metadata().RowGroups[i].Columns {
		m := &f.Metadata().RowGroups[i].Columns[j].MetaData
		start := m.DataPageOffset
		if d := m.DictionaryPageOffset; d > 0 && d < start {
			start = d
		}
		if j == 0 || start < from {
			from = start
		}
		to = max(to, start+m.TotalCompressedSize)
		if s := &m.Statistics; ok && j == leaf.ColumnIndex && len(s.MinValue) > 0 && len(s.MaxValue) > 0 {
			holds = session >= string(s.MinValue) && session <= string(s.MaxValue)
		}
	}
	return from, to, holds
}

// window reads a stretch ahead of those who read it piece by piece.
type window struct {
	in   io.ReaderAt
	data []byte
	from int64
}

func (w *window) fetch(from, to int64) error {
	data := make([]byte, max(0, to-from))
	if _, err := w.in.ReadAt(data, from); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	w.data, w.from = data, from
	return nil
}

// ReadAt implements io.ReaderAt.
func (w *window) ReadAt(p []byte, off int64) (int, error) {
	if at := off - w.from; at >= 0 && at+int64(len(p)) <= int64(len(w.data)) {
		return copy(p, w.data[at:]), nil
	}
	return w.in.ReadAt(p, off)
}
