package exporttest

import (
	"bytes"
	"errors"
	"io"
)

// ErrFault is what a faulty sink answers.
var ErrFault = errors.New("fault")

// Sink keeps files in memory. The zero value works.
type Sink struct {
	Files map[string]*bytes.Buffer
	Fail  func(op, path string) bool // op is create, write or close; nil never fails
	Open  int                        // files created and not closed
}

// Create implements exports.Sink.
func (s *Sink) Create(path string) (io.WriteCloser, error) {
	if s.fails("create", path) {
		return nil, ErrFault
	}
	if s.Files == nil {
		s.Files = map[string]*bytes.Buffer{}
	}
	s.Files[path] = &bytes.Buffer{}
	s.Open++
	return &file{sink: s, path: path}, nil
}

func (s *Sink) fails(op, path string) bool { return s.Fail != nil && s.Fail(op, path) }

type file struct {
	sink *Sink
	path string
}

func (f *file) Write(p []byte) (int, error) {
	if f.sink.fails("write", f.path) {
		return 0, ErrFault
	}
	return f.sink.Files[f.path].Write(p)
}

func (f *file) Close() error {
	f.sink.Open--
	if f.sink.fails("close", f.path) {
		return ErrFault
	}
	return nil
}

// counter is a sink that keeps nothing but the number of bytes.
type counter struct{ bytes int64 }

func (c *counter) Create(string) (io.WriteCloser, error) { return counterFile{c}, nil }

type counterFile struct{ c *counter }

func (f counterFile) Write(p []byte) (int, error) { f.c.bytes += int64(len(p)); return len(p), nil }
func (counterFile) Close() error                  { return nil }
