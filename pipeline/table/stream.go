package table

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"github.com/tracejury/tracejury/schema"
)

const (
	batchRows  = 256     // rows handed to the library at once; fixed, since pages end between batches
	batchBytes = 1 << 20 // and about so many bytes
	readRows   = 64
)

// Writer writes the rows of one Parquet object in key order, holding at most one row group.
type Writer[T schema.Row[T]] struct {
	table schema.Table
	pw    *parquet.GenericWriter[T]
	nulls optionals
	batch []T
	bytes int // of the batch
	group int // bytes of the row group, batch included
	last  T   // row before the batch
	rows  int
	err   error
}

// NewWriter starts an object of table t. There is one for each object: a parquet.GenericWriter that is reset forgets the names
// and the order of its columns (v0.32.0).
func NewWriter[T schema.Row[T]](w io.Writer, t schema.Table) *Writer[T] {
	return &Writer[T]{table: t, pw: parquet.NewGenericWriter[T](w, options(t)...), nulls: optionalsOf[T]()}
}

// Rows is the number of rows written.
func (w *Writer[T]) Rows() int { return w.rows }

// Write adds a row, which is copied; it must not sort before the last one.
func (w *Writer[T]) Write(row *T) error {
	if w.err != nil {
		return w.err
	}
	if w.rows > 0 {
		last := &w.last
		if n := len(w.batch); n > 0 {
			last = &w.batch[n-1]
		}
		if (*last).Compare(*row) > 0 {
			w.err = fmt.Errorf("write %s: row %d is out of key order", w.table.Name, w.rows)
			return w.err
		}
	}
	size := (*row).ByteSize()
	w.batch = append(w.batch, *row)
	w.bytes += size
	w.group += size
	w.rows++
	switch {
	case w.group >= RowGroupBytes:
		w.err = w.endGroup()
	case len(w.batch) == batchRows || w.bytes >= batchBytes:
		w.err = w.flush()
	}
	return w.err
}

func (w *Writer[T]) flush() error {
	n := len(w.batch)
	if n == 0 {
		return nil
	}
	for rest := w.batch; len(rest) > 0; {
		part := rest[:safeRows(&w.nulls, rest)]
		if _, err := w.pw.Write(part); err != nil {
			return fmt.Errorf("write %s: %w", w.table.Name, err)
		}
		rest = rest[len(part):]
	}
	w.last = w.batch[n-1]
	clear(w.batch) // do not keep the rows' strings
	w.batch, w.bytes = w.batch[:0], 0
	return nil
}

func (w *Writer[T]) endGroup() error {
	if err := w.flush(); err != nil {
		return err
	}
	if err := w.pw.Flush(); err != nil {
		return fmt.Errorf("write %s: %w", w.table.Name, err)
	}
	w.group = 0
	return nil
}

// Close ends the object.
func (w *Writer[T]) Close() error {
	if w.err != nil {
		return w.err
	}
	if err := w.flush(); err != nil {
		return err
	}
	if err := w.pw.Close(); err != nil {
		return fmt.Errorf("write %s: %w", w.table.Name, err)
	}
	return nil
}

// Reader reads the rows of one Parquet object one by one.
type Reader[T any] struct {
	r     *parquet.GenericReader[T]
	buf   []T
	at, n int
	read  int64
	rows  int64
}

// ErrDamaged is an object that is no whole Parquet file of ours.
var ErrDamaged = errors.New("damaged")

// NewReader opens a Parquet object of size bytes. Columns that T lacks are skipped, columns that the object lacks are zero.
func NewReader[T any](in io.ReaderAt, size int64) (r *Reader[T], err error) {
	defer func() { // the library panics on some damaged files
		if p := recover(); p != nil {
			r, err = nil, fmt.Errorf("read parquet: %w: %v", ErrDamaged, p)
		}
	}()
	f, err := parquet.OpenFile(in, size)
	if err != nil {
		return nil, fmt.Errorf("read parquet: %w: %w", ErrDamaged, err)
	}
	if v, ok := f.Lookup("tracejury.schema_version"); ok {
		if n, err := strconv.Atoi(v); err != nil || n > schema.Version {
			return nil, fmt.Errorf("read parquet: schema version %s is newer than this program's %d: use a newer tracejury", v, schema.Version)
		}
	}
	return &Reader[T]{r: parquet.NewGenericReader[T](f), rows: f.NumRows()}, nil
}

// NumRows is the number of rows of the object.
func (r *Reader[T]) NumRows() int64 { return r.rows }

// Next returns the next row, which is the caller's to keep, or io.EOF.
func (r *Reader[T]) Next() (*T, error) {
	if r.at == r.n {
		if err := r.fill(); err != nil {
			return nil, err
		}
	}
	row := &r.buf[r.at]
	r.at++
	return row, nil
}

func (r *Reader[T]) fill() (err error) {
	if r.read == r.rows {
		return io.EOF
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("read parquet: %w: %v", ErrDamaged, p)
		}
	}()
	r.buf = make([]T, min(readRows, r.rows-r.read)) // not used again: callers keep rows
	r.at, r.n = 0, 0
	for r.n < len(r.buf) {
		m, err := r.r.Read(r.buf[r.n:])
		if r.n += m; err != nil && (!errors.Is(err, io.EOF) || r.n < len(r.buf)) {
			r.n = 0
			return fmt.Errorf("read parquet: row %d of %d: %w: %w", r.read, r.rows, ErrDamaged, err)
		}
	}
	r.read += int64(r.n)
	return nil
}

// Close ends reading.
func (r *Reader[T]) Close() error { return r.r.Close() }
