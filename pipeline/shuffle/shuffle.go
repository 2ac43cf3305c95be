// Package shuffle groups records by key beyond memory: records go in in any order and come out group by group, keys in order.
//
// It does not know what a record means. Records are kept by partition in memory; past Options.Memory they go to files in a
// directory of the shuffle's own, which is gone after Close whatever happened. A partition larger than Options.Load is
// sorted in runs and merged, so that reading needs no more memory than that and one group.
package shuffle

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
)

// Options bounds a Shuffle. Zero values are the defaults.
type Options struct {
	Memory     int64                // bytes of records held before spilling; 256 MiB
	Load       int64                // bytes of one partition held while it is read; Memory / 4
	Hold       int64                // bytes of one group held beyond Load; a larger group comes in parts; 0 is no bound
	Dir        string               // parent of the spill directory; os.TempDir
	Partitions int                  // 64
	Partition  func(key string) int // partition of a key; nil spreads keys by a hash
}

// Group is all records with one key, in no particular order. Of one that takes more than Options.Hold it is a part.
type Group struct {
	Key     string
	Records [][]byte // the slice is valid until the next group, what it holds for ever
	More    bool     // the next group is the next part of this one
}

// Shuffle collects records. Add may be called concurrently; Groups after the last Add, once for each partition.
type Shuffle struct {
	opts  Options
	chunk int
	seed  maphash.Seed
	parts []partition
	held  atomic.Int64
	total atomic.Int64

	spilling sync.Mutex
	dir      string // guarded by spilling
	runs     int    // guarded by spilling

	freeMu sync.Mutex
	free   [][]byte // chunks that were spilled
}

type partition struct {
	mu     sync.Mutex
	chunks [][]byte // whole frames; the last one grows
	file   *os.File
	size   int64 // bytes of frames, in file and chunks
}

const (
	minChunk = 4 << 10
	maxChunk = 256 << 10
)

// New makes an empty Shuffle.
func New(opts Options) *Shuffle {
	opts.Memory = cmp.Or(opts.Memory, 256<<20)
	opts.Load = cmp.Or(opts.Load, max(opts.Memory/4, 1))
	opts.Dir = cmp.Or(opts.Dir, os.TempDir())
	opts.Partitions = cmp.Or(opts.Partitions, 64)
	s := &Shuffle{opts: opts, seed: maphash.MakeSeed(), parts: make([]partition, opts.Partitions)}
	s.chunk = int(min(max(opts.Memory/int64(2*opts.Partitions), minChunk), maxChunk))
	return s
}

// Add takes one record: the concatenation of parts, which are copied.
func (s *Shuffle) Add(key string, parts ...[]byte) error {
	n := 0
	for _, b := range parts {
		n += len(b)
	}
	p := &s.parts[s.partition(key)]
	p.mu.Lock()
	var head [2 * binary.MaxVarintLen64]byte
	h := binary.AppendUvarint(binary.AppendUvarint(head[:0], uint64(len(key))), uint64(n))
	size := len(h) + len(key) + n
	var grown int64
	if last := len(p.chunks) - 1; last < 0 || cap(p.chunks[last])-len(p.chunks[last]) < size {
		c := s.newChunk(size)
		p.chunks = append(p.chunks, c)
		grown = int64(cap(c))
	}
	c := &p.chunks[len(p.chunks)-1]
	*c = append(append(*c, h...), key...)
	for _, b := range parts {
		*c = append(*c, b...)
	}
	p.size += int64(size)
	p.mu.Unlock()
	s.total.Add(int64(size))
	if grown > 0 && s.held.Add(grown) > s.opts.Memory {
		return s.spill()
	}
	return nil
}

func (s *Shuffle) partition(key string) int {
	if s.opts.Partition != nil {
		return s.opts.Partition(key)
	}
	return int(maphash.String(s.seed, key) % uint64(len(s.parts)))
}

func (s *Shuffle) newChunk(size int) []byte {
	if size > s.chunk {
		return make([]byte, 0, size)
	}
	s.freeMu.Lock()
	defer s.freeMu.Unlock()
	if n := len(s.free); n > 0 {
		c := s.free[n-1]
		s.free = s.free[:n-1]
		return c
	}
	return make([]byte, 0, s.chunk)
}

func (s *Shuffle) release(c []byte) {
	if cap(c) != s.chunk {
		return
	}
	s.freeMu.Lock()
	defer s.freeMu.Unlock()
	s.free = append(s.free, c[:0])
}

// Bytes is the size of all records added.
func (s *Shuffle) Bytes() int64 { return s.total.Load() }

// Partitions is the number of partitions.
func (s *Shuffle) Partitions() int { return len(s.parts) }

// Size is the bytes of one partition.
func (s *Shuffle) Size(i int) int64 {
	p := &s.parts[i]
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.size
}

// spill writes every held record to its partition's file.
func (s *Shuffle) spill() error {
	s.spilling.Lock()
	defer s.spilling.Unlock()
	if s.held.Load() <= s.opts.Memory {
		return nil // someone else did it
	}
	for i := range s.parts {
		if err := s.spillPartition(i); err != nil {
			return fmt.Errorf("spill partition %d: %w", i, err)
		}
	}
	return nil
}

func (s *Shuffle) spillPartition(i int) error {
	p := &s.parts[i]
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.chunks) == 0 {
		return nil
	}
	if p.file == nil {
		f, err := s.create(fmt.Sprintf("part-%04d", i))
		if err != nil {
			return err
		}
		p.file = f
	}
	for _, c := range p.chunks {
		if _, err := p.file.Write(c); err != nil {
			return err
		}
		s.held.Add(-int64(cap(c)))
		s.release(c)
	}
	p.chunks = p.chunks[:0]
	return nil
}

// create makes a file in the spill directory. The caller holds s.spilling.
func (s *Shuffle) create(name string) (*os.File, error) {
	if s.dir == "" {
		dir, err := os.MkdirTemp(s.opts.Dir, "tracejury-spill-")
		if err != nil {
			return nil, err
		}
		s.dir = dir
	}
	return os.OpenFile(filepath.Join(s.dir, name), os.O_CREATE|os.O_RDWR|os.O_EXCL, 0o600)
}

// Close removes what was spilled. It may be called more than once.
func (s *Shuffle) Close() error {
	var errs []error
	for i := range s.parts {
		p := &s.parts[i]
		p.mu.Lock()
		if p.file != nil {
			errs = append(errs, p.file.Close())
		}
		p.chunks, p.file, p.size = nil, nil, 0
		p.mu.Unlock()
	}
	s.free = nil
	s.spilling.Lock()
	defer s.spilling.Unlock()
	if s.dir != "" {
		errs = append(errs, os.RemoveAll(s.dir))
		s.dir = ""
	}
	return errors.Join(errs...)
}
