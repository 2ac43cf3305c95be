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

// Object is one state of a Parquet object, to be read row by row and as often as wanted: no replacement of the object shows in it.
// T may have some of the columns only; the others are not fetched.
type Object[T any] struct {
	r      *objectReader // nil: there is no such object
	file   *parquet.File
	leaves []int
	name   string
}

// OpenObject opens the present state of the object at key; a missing one has no rows. The caller closes it.
func OpenObject[T any](ctx context.Context, st store.Store, key string) (*Object[T], error) {
	o := &Object[T]{name: st.URI() + "/" + key}
	r, err := openObject(ctx, st, key)
	if errors.Is(err, fs.ErrNotExist) {
		return o, nil
	}
	if err != nil {
		return nil, err
	}
	if o.file, err = openFile(r); err != nil {
		return nil, fmt.Errorf("%s: %w", o.name, errors.Join(err, r.snap.Close()))
	}
	o.r = r
	for _, column := range parquet.SchemaOf(new(T)).Columns() {
		if leaf, ok := o.file.Schema().Lookup(column...); ok {
			o.leaves = append(o.leaves, leaf.ColumnIndex)
		}
	}
	return o, nil
}

// Close lets the object go.
func (o *Object[T]) Close() error {
	if o.r == nil {
		return nil
	}
	return o.r.snap.Close()
}

// Rows reads the rows in their order, those of row groups that can hold a value of a column of text (see [Query]). Memory holds one
// row group as it lies in the object. The caller closes it.
func (o *Object[T]) Rows(where [2]string) *Rows[T] {
	rows := &Rows[T]{object: o}
	if o.r == nil {
		return rows
	}
	for i := range o.file.RowGroups() {
		if mayHold(o.file, i, where) {
			rows.groups = append(rows.groups, i)
		}
	}
	return rows
}

// Rows are the rows of an object, one by one.
type Rows[T any] struct {
	object  *Object[T]
	groups  []int // that are left
	reader  *parquet.GenericReader[T]
	left    int64 // rows that the open row group still owes
	release func()
	buf     []T
	at, n   int
}

// Next is the next row, which is the caller's to keep, or io.EOF.
func (r *Rows[T]) Next() (*T, error) {
	for r.at == r.n {
		if err := r.fill(); err != nil {
			return nil, err
		}
	}
	row := &r.buf[r.at]
	r.at++
	return row, nil
}

// fill reads some rows, perhaps none, of the row group that is open or of the next.
func (r *Rows[T]) fill() (err error) {
	named := func(e error) error { return fmt.Errorf("%s: %w", r.object.name, e) }
	defer func() { // the library panics on some damaged files
		if p := recover(); p != nil {
			err = named(fmt.Errorf("read parquet: %w: %v", ErrDamaged, p))
		}
	}()
	if r.reader == nil {
		if len(r.groups) == 0 {
			return io.EOF
		}
		i := r.groups[0]
		r.groups = r.groups[1:]
		if r.release, err = r.object.r.fetch(spans(r.object.file, i, r.object.leaves)); err != nil {
			return named(err)
		}
		group := r.object.file.RowGroups()[i]
		r.reader, r.left = parquet.NewGenericRowGroupReader[T](group), group.NumRows()
	}
	r.buf = make([]T, readRows) // not used again: callers keep rows
	r.at, r.n = 0, 0
	n, err := r.reader.Read(r.buf)
	if err != nil && !errors.Is(err, io.EOF) {
		return named(fmt.Errorf("read parquet: %w: %w", ErrDamaged, err))
	}
	r.n = n
	r.left -= int64(n)
	if err == nil {
		return nil
	}
	if r.left != 0 {
		return named(fmt.Errorf("read parquet: %w: a row group has %d rows fewer than its footer says", ErrDamaged, r.left))
	}
	return r.Close()
}

// Close ends reading; rows that were returned stay.
func (r *Rows[T]) Close() error {
	if r.reader == nil {
		return nil
	}
	err := r.reader.Close()
	r.release()
	r.reader = nil
	return err
}
