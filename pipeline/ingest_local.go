package pipeline

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// localObject is a stored object copied to local disk. The zero value is an object that does not exist.
type localObject struct {
	name string // URI
	etag string
	sum  [sha256.Size]byte
	file string
	size int64
}

// fetch copies the object at key below dir. A missing one is no error.
func (r *ingestRun) fetch(ctx context.Context, dir, key string) (localObject, error) {
	body, obj, err := r.root.Store.Open(ctx, key, "")
	if errors.Is(err, fs.ErrNotExist) {
		return localObject{}, nil
	}
	if err != nil {
		return localObject{}, err
	}
	lo, err := saveLocal(dir, key, body)
	lo.etag, lo.name = obj.ETag, r.root.Store.URI()+"/"+key
	if err := errors.Join(err, body.Close()); err != nil || !r.opts.Full {
		return lo, err
	}
	return r.mended(ctx, dir, key, lo)
}

func saveLocal(dir, key string, body io.Reader) (lo localObject, err error) {
	f, err := os.Create(localName(dir, "old", key))
	if err != nil {
		return lo, fmt.Errorf("copy %s: %w", key, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	h := sha256.New()
	if lo.size, err = io.Copy(io.MultiWriter(f, h), body); err != nil {
		return lo, fmt.Errorf("copy %s: %w", key, err)
	}
	lo.file = f.Name()
	h.Sum(lo.sum[:0])
	return lo, nil
}

// fileOf is a file of our own as a local object without a hash.
func fileOf(path string) (localObject, error) {
	info, err := os.Stat(path)
	if err != nil {
		return localObject{}, err
	}
	return localObject{file: path, size: info.Size()}, nil
}

func localName(dir, kind, key string) string {
	return filepath.Join(dir, fmt.Sprintf("%s-%x", kind, digest(key)[:12]))
}

// remove deletes the copy.
func (lo localObject) remove() {
	if lo.file != "" {
		_ = os.Remove(lo.file) // the whole directory goes at the end
	}
}

// rowStream reads the rows of a local object in order, with one row of look-ahead.
type rowStream[T any] struct {
	lo  localObject
	f   *os.File
	r   *table.Reader[T]
	cur *T
}

func openRows[T any](lo localObject) (*rowStream[T], error) {
	if lo.file == "" {
		return &rowStream[T]{}, nil
	}
	f, err := os.Open(lo.file)
	if err != nil {
		return nil, err
	}
	r, err := table.NewReader[T](f, lo.size)
	if err != nil {
		return nil, errors.Join(lo.failed(err), f.Close())
	}
	return &rowStream[T]{lo: lo, f: f, r: r}, nil
}

// peek is the next row, nil at the end.
func (s *rowStream[T]) peek() (*T, error) {
	if s.cur != nil || s.r == nil {
		return s.cur, nil
	}
	row, err := s.r.Next()
	if errors.Is(err, io.EOF) {
		return nil, s.close()
	}
	s.cur = row
	return row, s.lo.failed(err)
}

// failed names the object in an error of reading it.
func (lo localObject) failed(err error) error {
	if err == nil || lo.name == "" {
		return err
	}
	return fmt.Errorf("%s: %w", lo.name, err)
}

// pop passes the row that peek showed.
func (s *rowStream[T]) pop() { s.cur = nil }

func (s *rowStream[T]) close() error {
	if s == nil || s.r == nil {
		return nil
	}
	err := errors.Join(s.r.Close(), s.f.Close())
	s.r, s.f, s.cur = nil, nil, nil
	return err
}

// stagedFile is an object being written to local disk.
type stagedFile[T schema.Row[T]] struct {
	f   *os.File
	buf *bufio.Writer
	sum hash.Hash
	w   *table.Writer[T]
}

// begin starts an object at path. Only with compared is there a hash at the end.
func (s *stagedFile[T]) begin(path string, t schema.Table, compared bool) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("stage %s: %w", t.Name, err)
	}
	s.f, s.sum = f, sha256.New()
	out := io.Writer(f)
	if compared {
		out = io.MultiWriter(f, s.sum)
	}
	if s.buf == nil {
		s.buf = bufio.NewWriterSize(out, 64<<10)
	} else {
		s.buf.Reset(out)
	}
	s.w = table.NewWriter[T](s.buf, t)
	return nil
}

// end closes the object and is the hash of its bytes, if one was asked for.
func (s *stagedFile[T]) end() (sum [sha256.Size]byte, err error) {
	err = errors.Join(s.w.Close(), s.buf.Flush(), s.f.Close())
	s.f = nil
	s.sum.Sum(sum[:0])
	return sum, err
}

// abandon closes what an error left open.
func (s *stagedFile[T]) abandon() {
	if s.f != nil {
		_ = s.f.Close() // it is thrown away
		s.f = nil
	}
}
