package pipeline

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/tracejury/tracejury/pipeline/shuffle"
)

// recordLog holds the records of one session, or of one trace, that are more than is held in memory: on local disk, in the order
// in which they were added, to be read as often as it takes.
type recordLog struct {
	f *os.File
	w *bufio.Writer
	n int
}

func newRecordLog(dir, name string) (*recordLog, error) {
	f, err := os.CreateTemp(dir, name+"-*")
	if err != nil {
		return nil, fmt.Errorf("spill what does not fit into memory: %w", err)
	}
	return &recordLog{f: f, w: bufio.NewWriterSize(f, 64<<10)}, nil
}

func (l *recordLog) add(rec []byte) error {
	var head [binary.MaxVarintLen64]byte
	_, _ = l.w.Write(binary.AppendUvarint(head[:0], uint64(len(rec)))) // errors stay in w
	_, err := l.w.Write(rec)
	l.n++
	return err
}

// each reads every record. With own the callee may keep them, else they are valid until the next one.
func (l *recordLog) each(own bool, do func(rec []byte) error) error {
	if err := l.w.Flush(); err != nil {
		return err
	}
	if _, err := l.f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	in := bufio.NewReaderSize(l.f, 64<<10)
	var buf []byte
	for range l.n {
		n, err := binary.ReadUvarint(in)
		if err != nil {
			return fmt.Errorf("read spilled records: %w", err)
		}
		if own || uint64(cap(buf)) < n {
			buf = make([]byte, n)
		}
		buf = buf[:n]
		if _, err := io.ReadFull(in, buf); err != nil {
			return fmt.Errorf("read spilled records: %w", err)
		}
		if err := do(buf); err != nil {
			return err
		}
	}
	_, err := l.f.Seek(0, io.SeekEnd)
	return err
}

func (l *recordLog) close() error {
	if l == nil {
		return nil
	}
	return errors.Join(l.f.Close(), os.Remove(l.f.Name()))
}

// eachGroup hands over the groups of a partition: whole ones, and those that do not fit into memory as a log, which is gone
// afterwards.
func eachGroup(ctx context.Context, s *shuffle.Shuffle, partition int, dir string, whole func(shuffle.Group) error, large func(key string, log *recordLog) error) (err error) {
	var log *recordLog
	defer func() { err = errors.Join(err, log.close()) }()
	for group, err := range s.Groups(ctx, partition) {
		if err != nil {
			return err
		}
		if log == nil && !group.More {
			if err := whole(group); err != nil {
				return err
			}
			continue
		}
		if log == nil {
			if log, err = newRecordLog(dir, "group"); err != nil {
				return err
			}
		}
		for _, rec := range group.Records {
			if err := log.add(rec); err != nil {
				return fmt.Errorf("spill what does not fit into memory: %w", err)
			}
		}
		if group.More {
			continue
		}
		if err := errors.Join(large(group.Key, log), log.close()); err != nil {
			return err
		}
		log = nil
	}
	return nil
}
