package store

import (
	"context"
	"errors"
	"io"
	"os"
)

// Snapshot is one state of an object, to be read in parts: no replacement of the object shows in it. Reads may go side by side.
type Snapshot struct {
	Size int64
	read func(off, n int64) ([]byte, error)
	file *os.File
}

// OpenSnapshot opens the present state of an object. Where files are the objects it costs no hash: an open file stays what it was.
// Elsewhere a read after a replacement is ErrChanged. The caller closes it.
func OpenSnapshot(ctx context.Context, st Store, key string) (*Snapshot, error) {
	if d, ok := st.(*dirStore); ok {
		f, info, err := d.openFile(ctx, "get", key)
		if err != nil {
			return nil, d.fail("get", key, err)
		}
		s := &Snapshot{Size: info.Size(), file: f}
		s.read = func(off, n int64) ([]byte, error) {
			data := make([]byte, max(0, min(n, s.Size-off)))
			got, err := f.ReadAt(data, off)
			if err != nil && !errors.Is(err, io.EOF) {
				return nil, d.fail("get", key, err)
			}
			return data[:got], nil
		}
		return s, nil
	}
	obj, err := st.Stat(ctx, key)
	if err != nil {
		return nil, err
	}
	return &Snapshot{Size: obj.Size, read: func(off, n int64) ([]byte, error) {
		return st.GetRange(ctx, key, off, n, obj.ETag)
	}}, nil
}

// Range reads n bytes at off, fewer only where the object ends.
func (s *Snapshot) Range(off, n int64) ([]byte, error) { return s.read(off, n) }

// Local says whether a read costs no request, so that nothing is won by reading more than is needed.
func (s *Snapshot) Local() bool { return s.file != nil }

// Close ends reading.
func (s *Snapshot) Close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}
