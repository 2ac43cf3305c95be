package table

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/schema"
)

const (
	scanBatch = 1 << 16
	// wholeObject is the size up to which an object is fetched at once: a request costs more than the columns that are not needed.
	wholeObject = 4 << 20
)

// Scan reads some columns of the object at key, and nothing of the others, as batches of columns in the order asked. Text comes
// as numbers into a dictionary where it is stored so. A column that the object lacks is nil in every batch. A missing object is
// no batch. A batch is only lent.
func Scan(ctx context.Context, st store.Store, key string, columns []string, each func(n int, batch []arrow.Array) error) (err error) {
	r, err := openForScan(ctx, st, key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { // the library panics on some damaged files
		if p := recover(); p != nil {
			err = fmt.Errorf("%s/%s: read parquet: damaged: %v", st.URI(), key, p)
		}
	}()
	if err := scan(ctx, r, columns, each); err != nil {
		return fmt.Errorf("%s/%s: %w", st.URI(), key, err)
	}
	return nil
}

func scan(ctx context.Context, r parquet.ReaderAtSeeker, columns []string, each func(n int, batch []arrow.Array) error) error {
	pf, err := file.NewParquetReader(r)
	if err != nil {
		return fmt.Errorf("read parquet: %w", err)
	}
	defer pf.Close()
	if v := pf.MetaData().KeyValueMetadata().FindValue("tracejury.schema_version"); v != nil {
		if n, err := strconv.Atoi(*v); err != nil || n > schema.Version {
			return fmt.Errorf("read parquet: schema version %s is newer than this program's %d: use a newer tracejury", *v, schema.Version)
		}
	}
	props := pqarrow.ArrowReadProperties{Parallel: true, BatchSize: scanBatch}
	var leaves, place []int // of the columns that are there: leaf in the file, place in columns
	for i, name := range columns {
		leaf := pf.MetaData().Schema.ColumnIndexByName(name)
		if leaf < 0 {
			continue
		}
		leaves, place = append(leaves, leaf), append(place, i)
		if pf.MetaData().Schema.Column(leaf).PhysicalType() == parquet.Types.ByteArray && hasDictionary(pf, leaf) {
			props.SetReadDict(leaf, true)
		}
	}
	if pf.NumRows() == 0 || len(leaves) == 0 {
		return nil
	}
	fr, err := pqarrow.NewFileReader(pf, props, memory.DefaultAllocator)
	if err != nil {
		return fmt.Errorf("read parquet: %w", err)
	}
	rr, err := fr.GetRecordReader(ctx, leaves, nil)
	if err != nil {
		return fmt.Errorf("read parquet: %w", err)
	}
	defer rr.Release()
	batch := make([]arrow.Array, len(columns))
	for rr.Next() {
		rec := rr.RecordBatch()
		for j := range leaves {
			// Arrow gives the columns in the order of the file.
			batch[place[j]] = rec.Column(rec.Schema().FieldIndices(columns[place[j]])[0])
		}
		if err := each(int(rec.NumRows()), batch); err != nil {
			return err
		}
	}
	if err := rr.Err(); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read parquet: %w", err)
	}
	return nil
}

func hasDictionary(pf *file.Reader, leaf int) bool {
	if pf.NumRowGroups() == 0 {
		return false
	}
	c, err := pf.MetaData().RowGroup(0).ColumnChunk(leaf)
	return err == nil && c.HasDictionaryPage()
}

func openForScan(ctx context.Context, st store.Store, key string) (parquet.ReaderAtSeeker, error) {
	obj, err := st.Stat(ctx, key)
	if err != nil {
		return nil, err
	}
	if obj.Size <= wholeObject {
		data, _, err := st.Get(ctx, key, obj.ETag)
		return bytes.NewReader(data), err
	}
	r := &rangeReader{ctx: ctx, st: st, key: key, etag: obj.ETag}
	r.SectionReader = io.NewSectionReader(readerAt(r.read), 0, obj.Size)
	return r, nil
}

// rangeReader reads an object by ranges, all of the same state of it.
type rangeReader struct {
	*io.SectionReader
	ctx       context.Context
	st        store.Store
	key, etag string
}

func (r *rangeReader) read(p []byte, off int64) (int, error) {
	data, err := r.st.GetRange(r.ctx, r.key, off, int64(len(p)), r.etag)
	if err != nil {
		return 0, err
	}
	if n := copy(p, data); n < len(p) {
		return n, io.EOF
	}
	return len(p), nil
}

type readerAt func(p []byte, off int64) (int, error)

// ReadAt implements io.ReaderAt.
func (f readerAt) ReadAt(p []byte, off int64) (int, error) { return f(p, off) }

// Text is a column of text: plain, or numbers into a dictionary. Null is "".
type Text struct {
	plain *array.String
	dict  *array.Dictionary
	index []int32 // into words, -1 for null; nil for plain
	words []string
}

// TextOf reads a batch's column as text. A nil column is all null.
func TextOf(a arrow.Array) (Text, error) {
	switch a := a.(type) {
	case nil:
		return Text{}, nil
	case *array.String:
		return Text{plain: a}, nil
	case *array.Dictionary:
		words, ok := a.Dictionary().(*array.String)
		index, isInt := a.Indices().(*array.Int32)
		if !ok || !isInt {
			return Text{}, fmt.Errorf("column of %s is not text", a.DataType())
		}
		t := Text{dict: a, index: index.Int32Values(), words: make([]string, words.Len())}
		for i := range t.words {
			t.words[i] = strings.Clone(words.Value(i))
		}
		return t, nil
	}
	return Text{}, fmt.Errorf("column of %s is not text", a.DataType())
}

// Value is the text of row i.
func (t *Text) Value(i int) string {
	switch {
	case t.dict != nil && !t.dict.IsNull(i):
		return t.words[t.index[i]]
	case t.plain != nil && !t.plain.IsNull(i):
		return t.plain.Value(i)
	}
	return ""
}

// Numbers maps each word of the dictionary once and gives the number of every row: what number says of its text. It costs a
// table look-up a row, however long the text is.
func (t *Text) Numbers(n int, into []int32, number func(string) int32) []int32 {
	into = into[:0]
	if t.dict == nil {
		for i := range n {
			into = append(into, number(t.Value(i)))
		}
		return into
	}
	byWord := make([]int32, len(t.words))
	for i, w := range t.words {
		byWord[i] = number(w)
	}
	if t.dict.NullN() == 0 {
		for _, x := range t.index[:n] {
			into = append(into, byWord[x])
		}
		return into
	}
	none := number("")
	for i, x := range t.index[:n] {
		if t.dict.IsNull(i) {
			into = append(into, none)
			continue
		}
		into = append(into, byWord[x])
	}
	return into
}

// Own is Value as a text that outlives the batch. Words of a dictionary do.
func (t *Text) Own(i int) string {
	if t.plain == nil {
		return t.Value(i)
	}
	return strings.Clone(t.Value(i))
}
