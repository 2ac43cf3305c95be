// Package table reads and writes the Parquet objects of the tables: one bucket or run at a time, sorted, with the same
// bytes for the same rows.
//
// It does not know what the columns mean; package schema says how a table is keyed.
package table

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/schema"
)

// RowGroupBytes closes a row group after this many estimated uncompressed bytes, so that one session's rows lie in one or two.
const RowGroupBytes = 24 << 20

// pageBytes is larger than the library's default, which costs a fifth more on long text.
const pageBytes = 1 << 20

// Sort orders rows by their table's key.
func Sort[T schema.Row[T]](rows []T) {
	slices.SortFunc(rows, func(a, b T) int { return a.Compare(b) })
}

// Encode writes rows, which must be sorted, as one Parquet object.
func Encode[T schema.Row[T]](w io.Writer, t schema.Table, rows []T) error {
	pw := NewWriter[T](w, t)
	for i := range rows {
		if err := pw.Write(&rows[i]); err != nil {
			return err
		}
	}
	return pw.Close()
}

func options(t schema.Table) []parquet.WriterOption {
	opts := []parquet.WriterOption{
		parquet.CreatedBy("tracejury", "1", "schema"+strconv.Itoa(schema.Version)), // not the library's build: bytes stay the same
		parquet.Compression(codec{}),
		parquet.PageBufferSize(pageBytes),
		parquet.KeyValueMetadata("tracejury.schema_version", strconv.Itoa(schema.Version)),
		parquet.KeyValueMetadata("tracejury.table", t.Name),
	}
	sorting := make([]parquet.SortingColumn, len(t.Key))
	for i, c := range t.Key {
		sorting[i] = parquet.NullsFirst(parquet.Ascending(c))
	}
	opts = append(opts, parquet.SortingWriterConfig(parquet.SortingColumns(sorting...)))
	for _, c := range t.Content {
		opts = append(opts, parquet.SkipPageBounds(c))
	}
	if len(t.Bloom) > 0 {
		filters := make([]parquet.BloomFilterColumn, len(t.Bloom))
		for i, c := range t.Bloom {
			filters[i] = parquet.SplitBlockFilter(10, c)
		}
		opts = append(opts, parquet.BloomFilters(filters...))
	}
	return opts
}

// Decode reads all rows of one Parquet object. Columns that T lacks are skipped, columns that the object lacks are zero.
func Decode[T any](data []byte) (rows []T, err error) { return decode[T](data, nil) }

func decode[T any](data []byte, keep func(*T) bool) (rows []T, err error) {
	r, err := NewReader[T](bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if keep == nil {
		rows = make([]T, 0, r.NumRows())
	}
	for {
		row, err := r.Next()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		if keep == nil || keep(row) {
			rows = append(rows, *row)
		}
	}
}

// Read reads all rows of the object at key. A missing object is no rows and no ETag; of one that is damaged the ETag is known.
func Read[T any](ctx context.Context, st store.Store, key string) (rows []T, etag string, err error) {
	return read[T](ctx, st, key, nil)
}

// ReadWhere reads the rows of the object at key that keep says yes to; the others cost no memory. A missing object is no rows.
func ReadWhere[T any](ctx context.Context, st store.Store, key string, keep func(*T) bool) (rows []T, err error) {
	rows, _, err = read(ctx, st, key, keep)
	return rows, err
}

func read[T any](ctx context.Context, st store.Store, key string, keep func(*T) bool) (rows []T, etag string, err error) {
	data, obj, err := st.Get(ctx, key, "")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	if rows, err = decode(data, keep); err != nil {
		return nil, obj.ETag, fmt.Errorf("%s/%s: %w", st.URI(), key, err)
	}
	return rows, obj.ETag, nil
}

// Write replaces the object at key by rows if its ETag is still etag, "" meaning that there is none. No rows delete nothing:
// an empty table is an object with no rows, so that a reader's glob still finds its columns. It returns the new object.
func Write[T schema.Row[T]](ctx context.Context, st store.Store, t schema.Table, key string, rows []T, etag string) (store.Object, error) {
	var buf bytes.Buffer
	if err := Encode(&buf, t, rows); err != nil {
		return store.Object{}, err
	}
	opts := store.PutOptions{ContentType: "application/vnd.apache.parquet"}
	body := bytes.NewReader(buf.Bytes())
	if etag == "" {
		return st.PutIfAbsent(ctx, key, body, opts)
	}
	return st.PutIfMatch(ctx, key, body, etag, opts)
}
