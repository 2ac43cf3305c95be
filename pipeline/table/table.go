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
	"github.com/parquet-go/parquet-go/compress/zstd"

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
	for i := 1; i < len(rows); i++ {
		if rows[i-1].Compare(rows[i]) > 0 {
			return fmt.Errorf("write %s: row %d is out of key order", t.Name, i)
		}
	}
	pw := parquet.NewGenericWriter[T](w, options(t)...)
	from, size := 0, 0
	for i, r := range rows {
		if size += r.ByteSize(); size < RowGroupBytes && i < len(rows)-1 {
			continue
		}
		if _, err := pw.Write(rows[from : i+1]); err != nil {
			return fmt.Errorf("write %s: %w", t.Name, err)
		}
		if err := pw.Flush(); err != nil {
			return fmt.Errorf("write %s: %w", t.Name, err)
		}
		from, size = i+1, 0
	}
	if err := pw.Close(); err != nil {
		return fmt.Errorf("write %s: %w", t.Name, err)
	}
	return nil
}

func options(t schema.Table) []parquet.WriterOption {
	opts := []parquet.WriterOption{
		parquet.CreatedBy("tracejury", "1", "schema"+strconv.Itoa(schema.Version)), // not the library's build: bytes stay the same
		parquet.Compression(&zstd.Codec{Level: zstd.DefaultLevel, Concurrency: 1}),
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
func Decode[T any](data []byte) (rows []T, err error) {
	defer func() { // the library panics on some damaged files
		if p := recover(); p != nil {
			rows, err = nil, fmt.Errorf("read parquet: damaged: %v", p)
		}
	}()
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("read parquet: %w", err)
	}
	if v, ok := f.Lookup("tracejury.schema_version"); ok {
		if n, err := strconv.Atoi(v); err != nil || n > schema.Version {
			return nil, fmt.Errorf("read parquet: schema version %s is newer than this program's %d: use a newer tracejury", v, schema.Version)
		}
	}
	r := parquet.NewGenericReader[T](f)
	defer r.Close()
	rows = make([]T, f.NumRows())
	for n := 0; n < len(rows); {
		m, err := r.Read(rows[n:])
		if n += m; err != nil && (!errors.Is(err, io.EOF) || n < len(rows)) {
			return nil, fmt.Errorf("read parquet: row %d of %d: %w", n, len(rows), err)
		}
	}
	return rows, nil
}

// Read reads all rows of the object at key. A missing object is no rows and no ETag.
func Read[T any](ctx context.Context, st store.Store, key string) (rows []T, etag string, err error) {
	data, obj, err := st.Get(ctx, key, "")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	if rows, err = Decode[T](data); err != nil {
		return nil, "", fmt.Errorf("%s/%s: %w", st.URI(), key, err)
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
