package table

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strconv"

	"github.com/parquet-go/parquet-go"
	"golang.org/x/sync/errgroup"

	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/schema"
)

// Query says what a scan reads.
type Query struct {
	Columns []string // flat ones; one that the object lacks is null in every row
	// Where names a column of text and a value: row groups that cannot hold it, as their statistics say, are not read.
	Where   [2]string
	Workers int // row groups decoded at once; 0 is one a core
}

// Scan reads some columns of the object at key, and nothing of the others, row group by row group. It calls each once for every row
// group, in order of their numbers when there is one worker and from several goroutines otherwise. Pages are decoded as they lie,
// text as numbers into its dictionary: ten million values a second and core would be slow. A missing object has no row group.
func Scan(ctx context.Context, st store.Store, key string, q Query, each func(g *Group) error) error {
	r, err := openObject(ctx, st, key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer r.snap.Close()
	if err := scan(ctx, r, q, each); err != nil {
		return fmt.Errorf("%s/%s: %w", st.URI(), key, err)
	}
	return nil
}

func scan(ctx context.Context, r *objectReader, q Query, each func(g *Group) error) error {
	f, err := openFile(r)
	if err != nil {
		return err
	}
	leaves := make([]int, len(q.Columns))
	for i, name := range q.Columns {
		if leaves[i], err = flatLeaf(f, name); err != nil {
			return err
		}
	}
	var groups []int
	for i := range f.RowGroups() {
		if mayHold(f, i, q.Where) {
			groups = append(groups, i)
		}
	}
	workers := q.Workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	eg, ctx := errgroup.WithContext(ctx)
	for w := range min(workers, len(groups)) {
		eg.Go(func() error {
			g := &Group{file: f, columns: q.Columns, leaves: leaves, buf: make([]columnBuffer, len(leaves))}
			for i := w; i < len(groups); i += workers {
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := g.visit(r, groups[i], each); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return eg.Wait()
}

// openFile reads the footer, and nothing else.
func openFile(r *objectReader) (f *parquet.File, err error) {
	defer func() { // the library panics on some damaged files
		if p := recover(); p != nil {
			f, err = nil, fmt.Errorf("read parquet: %w: %v", ErrDamaged, p)
		}
	}()
	f, err = parquet.OpenFile(r, r.snap.Size, parquet.SkipMagicBytes(true), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, fmt.Errorf("read parquet: %w", err)
	}
	if v, ok := f.Lookup("tracejury.schema_version"); ok {
		if n, err := strconv.Atoi(v); err != nil || n > schema.Version {
			return nil, fmt.Errorf("read parquet: schema version %s is newer than this program's %d: use a newer tracejury", v, schema.Version)
		}
	}
	return f, nil
}

// flatLeaf is the number of a column that holds one value a row or none, -1 when there is no such column.
func flatLeaf(f *parquet.File, name string) (int, error) {
	leaf, ok := f.Schema().Lookup(name)
	switch {
	case !ok:
		return -1, nil
	case leaf.MaxRepetitionLevel > 0 || leaf.MaxDefinitionLevel > 1:
		return -1, fmt.Errorf("column %s is not flat", name)
	}
	return leaf.ColumnIndex, nil
}

// mayHold says whether a row group can hold the value that is looked for. Statistics that are not there exclude nothing.
func mayHold(f *parquet.File, group int, where [2]string) bool {
	leaf, ok := f.Schema().Lookup(where[0])
	if !ok {
		return true
	}
	chunks := f.Metadata().RowGroups[group].Columns
	if leaf.ColumnIndex >= len(chunks) {
		return true
	}
	s := &chunks[leaf.ColumnIndex].MetaData.Statistics
	if len(s.MinValue) == 0 || len(s.MaxValue) == 0 {
		return true
	}
	return string(s.MinValue) <= where[1] && where[1] <= string(s.MaxValue)
}

// Group is one row group of a scan. What it gives is only lent: the next row group overwrites it.
type Group struct {
	file    *parquet.File
	columns []string
	leaves  []int
	buf     []columnBuffer
	index   int
	rows    int
}

// columnBuffer holds what a column decodes into.
type columnBuffer struct {
	codes   []int32
	words   Strings
	flags   []int8
	floats  []float64
	strings Strings
}

// Index is the number of the row group in its object.
func (g *Group) Index() int { return g.index }

// Bounds are the smallest and the greatest text of column i of the query, as the statistics of the row group say; ok is false where they
// say nothing, or may have been cut.
func (g *Group) Bounds(i int) (low, high string, ok bool) {
	if g.leaves[i] < 0 {
		return "", "", false
	}
	s := &g.file.Metadata().RowGroups[g.index].Columns[g.leaves[i]].MetaData.Statistics
	return string(s.MinValue), string(s.MaxValue), len(s.MinValue) > 0 && len(s.MaxValue) > 0 && s.NullCount == 0
}

// Rows is how many rows the row group has.
func (g *Group) Rows() int { return g.rows }

func (g *Group) visit(r *objectReader, index int, each func(g *Group) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("read parquet: row group %d: %w: %v", index, ErrDamaged, p)
		}
	}()
	release, err := r.fetch(spans(g.file, index, g.leaves))
	if err != nil {
		return err
	}
	defer release()
	rows := g.file.RowGroups()[index].NumRows()
	if rows < 0 || rows > maxGroupRows {
		return fmt.Errorf("read parquet: row group %d: %d rows", index, rows)
	}
	g.index, g.rows = index, int(rows)
	return each(g)
}

// maxGroupRows bounds what a damaged footer can make us reserve: our row groups are closed by bytes and hold far fewer.
const maxGroupRows = 1 << 24

// spans are the places of the columns of a row group in the object.
func spans(f *parquet.File, index int, leaves []int) []span {
	var out []span
	chunks := f.Metadata().RowGroups[index].Columns
	for _, leaf := range leaves {
		if leaf < 0 || leaf >= len(chunks) {
			continue
		}
		m := &chunks[leaf].MetaData
		from := m.DataPageOffset
		if d := m.DictionaryPageOffset; d > 0 && d < from {
			from = d
		}
		out = append(out, span{from, from + m.TotalCompressedSize})
	}
	return out
}
