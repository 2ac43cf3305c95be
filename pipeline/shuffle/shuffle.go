// Package shuffle groups records by key beyond memory: records go in in any order and come out group by group, sorted.
//
// It does not know what a record means. Up to Options.Memory it holds records in memory; past that it spills them to
// partition files in a directory of its own, which is gone after Close whatever happened.
package shuffle

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// Options bounds a Shuffle. The zero value holds 256 MiB in memory and spills to the system's temporary directory.
type Options struct {
	Memory     int64  // bytes of records held before spilling; 0 means 256 MiB
	Dir        string // parent of the spill directory; "" means os.TempDir
	Partitions int    // spill files; 0 means 64
}

// Group is all records with one key.
type Group struct {
	Key     string
	Records [][]byte // sorted by bytes; valid until the next group
}

// Shuffle collects records. Add may be called concurrently; Groups once, after the last Add.
type Shuffle struct {
	opts  Options
	mu    sync.Mutex
	parts []partition
	held  int64
	total int64
	dir   string
}

type partition struct {
	recs []record
	file *os.File
	w    *bufio.Writer
}

type record struct {
	key string
	val []byte
}

// recordOverhead is what a record costs in memory beside its bytes.
const recordOverhead = 48

// New makes an empty Shuffle.
func New(opts Options) *Shuffle {
	opts.Memory = cmp.Or(opts.Memory, 256<<20)
	opts.Dir = cmp.Or(opts.Dir, os.TempDir())
	opts.Partitions = cmp.Or(opts.Partitions, 64)
	return &Shuffle{opts: opts, parts: make([]partition, opts.Partitions)}
}

// Add takes one record and owns val from then on.
func (s *Shuffle) Add(key string, val []byte) error {
	n := int(crc32.ChecksumIEEE([]byte(key)) % uint32(len(s.parts)))
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &s.parts[n]
	p.recs = append(p.recs, record{key, val})
	size := int64(len(key)+len(val)) + recordOverhead
	s.held += size
	s.total += size
	if s.held > s.opts.Memory {
		return s.spillLocked()
	}
	return nil
}

// Bytes is the size of all records added, with their overhead in memory.
func (s *Shuffle) Bytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

// spillLocked writes every held record to its partition's file. The caller holds s.mu.
func (s *Shuffle) spillLocked() error {
	if s.dir == "" {
		dir, err := os.MkdirTemp(s.opts.Dir, "tracejury-spill-")
		if err != nil {
			return fmt.Errorf("spill: %w", err)
		}
		s.dir = dir
	}
	for i := range s.parts {
		p := &s.parts[i]
		if len(p.recs) == 0 {
			continue
		}
		if p.file == nil {
			f, err := os.OpenFile(filepath.Join(s.dir, fmt.Sprintf("part-%03d", i)), os.O_CREATE|os.O_RDWR|os.O_EXCL, 0o600)
			if err != nil {
				return fmt.Errorf("spill: %w", err)
			}
			p.file, p.w = f, bufio.NewWriterSize(f, 64<<10)
		}
		for _, r := range p.recs {
			if err := writeFrame(p.w, r); err != nil {
				return fmt.Errorf("spill partition %d: %w", i, err)
			}
		}
		clear(p.recs)
		p.recs = p.recs[:0]
	}
	s.held = 0
	return nil
}

func writeFrame(w *bufio.Writer, r record) error {
	var head [2 * binary.MaxVarintLen64]byte
	b := binary.AppendUvarint(head[:0], uint64(len(r.key)))
	b = binary.AppendUvarint(b, uint64(len(r.val)))
	if _, err := w.Write(b); err != nil {
		return err
	}
	if _, err := w.WriteString(r.key); err != nil {
		return err
	}
	_, err := w.Write(r.val)
	return err
}

// Groups yields every group once: partition by partition, keys in order within one. One partition is in memory at a time.
func (s *Shuffle) Groups(ctx context.Context) iter.Seq2[Group, error] {
	return func(yield func(Group, error) bool) {
		for i := range s.parts {
			if err := ctx.Err(); err != nil {
				yield(Group{}, err)
				return
			}
			recs, err := s.load(i)
			if err != nil {
				yield(Group{}, fmt.Errorf("read spill partition %d: %w", i, err))
				return
			}
			if !yieldGroups(recs, yield) {
				return
			}
		}
	}
}

func yieldGroups(recs []record, yield func(Group, error) bool) bool {
	slices.SortFunc(recs, func(a, b record) int { return cmp.Or(cmp.Compare(a.key, b.key), bytes.Compare(a.val, b.val)) })
	var vals [][]byte
	for from := 0; from < len(recs); {
		to := from
		for vals = vals[:0]; to < len(recs) && recs[to].key == recs[from].key; to++ {
			vals = append(vals, recs[to].val)
		}
		if !yield(Group{Key: recs[from].key, Records: vals}, nil) {
			return false
		}
		from = to
	}
	return true
}

// load returns all records of one partition and forgets the held ones.
func (s *Shuffle) load(i int) ([]record, error) {
	p := &s.parts[i]
	recs := p.recs
	p.recs = nil
	if p.file == nil {
		return recs, nil
	}
	if err := p.w.Flush(); err != nil {
		return nil, err
	}
	if _, err := p.file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(p.file)
	if err != nil {
		return nil, err
	}
	for len(data) > 0 {
		r, n, err := readFrame(data)
		if err != nil {
			return nil, err
		}
		recs, data = append(recs, r), data[n:]
	}
	return recs, nil
}

var errFrame = errors.New("damaged frame")

func readFrame(data []byte) (record, int, error) {
	kl, n := binary.Uvarint(data)
	if n <= 0 {
		return record{}, 0, errFrame
	}
	vl, m := binary.Uvarint(data[n:])
	if m <= 0 {
		return record{}, 0, errFrame
	}
	at := n + m
	left := uint64(len(data) - at)
	if kl > left || vl > left-kl {
		return record{}, 0, errFrame
	}
	end := at + int(kl) + int(vl)
	return record{string(data[at : at+int(kl)]), data[at+int(kl) : end : end]}, end, nil
}

// Close removes what was spilled. It may be called more than once.
func (s *Shuffle) Close() error {
	var errs []error
	for i := range s.parts {
		if f := s.parts[i].file; f != nil {
			errs = append(errs, f.Close())
		}
		s.parts[i] = partition{}
	}
	if s.dir != "" {
		errs = append(errs, os.RemoveAll(s.dir))
		s.dir = ""
	}
	return errors.Join(errs...)
}
