package shuffle

import (
	"bufio"
	"bytes"
	"cmp"
	"container/heap"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"unsafe"
)

// record is a frame in memory; both parts alias it.
type record struct {
	key string
	val []byte
}

// Groups yields the groups of one partition in the order of their keys, and frees it. Partitions may be read concurrently.
func (s *Shuffle) Groups(ctx context.Context, i int) iter.Seq2[Group, error] {
	return func(yield func(Group, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(Group{}, err)
			return
		}
		p := &s.parts[i]
		p.mu.Lock()
		defer p.mu.Unlock()
		var err error
		if p.size <= s.opts.Load || p.file == nil {
			err = s.inMemory(p, yield)
		} else {
			err = s.merged(ctx, i, p, yield)
		}
		if err != nil && !errors.Is(err, errStopped) {
			yield(Group{}, fmt.Errorf("read spill partition %d: %w", i, err))
		}
		for _, c := range p.chunks {
			s.held.Add(-int64(cap(c)))
		}
		p.chunks = nil
		if p.file != nil {
			_ = p.file.Close() // it was read; Close removes what remains
			_ = os.Remove(p.file.Name())
			p.file = nil
		}
	}
}

// errStopped says that the reader wants no more groups.
var errStopped = errors.New("stopped")

func (s *Shuffle) inMemory(p *partition, yield func(Group, error) bool) error {
	recs, err := frames(nil, p.chunks...)
	if err != nil {
		return err
	}
	if p.file != nil {
		data, err := readFile(p.file)
		if err != nil {
			return err
		}
		if recs, err = frames(recs, data); err != nil {
			return err
		}
	}
	sortRecords(recs)
	var vals [][]byte
	for from := 0; from < len(recs); {
		to := from
		for vals = vals[:0]; to < len(recs) && recs[to].key == recs[from].key; to++ {
			vals = append(vals, recs[to].val)
		}
		if !yield(Group{Key: recs[from].key, Records: vals}, nil) {
			return errStopped
		}
		from = to
	}
	return nil
}

func sortRecords(recs []record) {
	slices.SortFunc(recs, func(a, b record) int { return cmp.Compare(a.key, b.key) })
}

func readFile(f *os.File) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	data := make([]byte, info.Size())
	_, err = io.ReadFull(io.NewSectionReader(f, 0, info.Size()), data)
	return data, err
}

// frames appends the records of whole frames.
func frames(recs []record, chunks ...[]byte) ([]record, error) {
	for _, data := range chunks {
		for len(data) > 0 {
			r, n, err := readFrame(data)
			if err != nil {
				return nil, err
			}
			recs, data = append(recs, r), data[n:]
		}
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
	mid, end := at+int(kl), at+int(kl)+int(vl)
	key := ""
	if kl > 0 {
		key = unsafe.String(&data[at], int(kl)) // frames are never changed once they are read
	}
	return record{key, data[mid:end:end]}, end, nil
}

// merged sorts the partition in runs of at most Load bytes and merges them.
func (s *Shuffle) merged(ctx context.Context, i int, p *partition, yield func(Group, error) bool) error {
	var runs []*run
	defer func() {
		for _, r := range runs {
			_ = r.f.Close()
			_ = os.Remove(r.f.Name())
		}
	}()
	sorted := func(recs []record) error {
		if len(recs) == 0 {
			return nil
		}
		sortRecords(recs)
		r, err := s.writeRun(i, recs)
		if err == nil {
			runs = append(runs, r)
		}
		return err
	}
	recs, err := frames(nil, p.chunks...)
	if err != nil {
		return err
	}
	if err := sorted(recs); err != nil {
		return err
	}
	info, err := p.file.Stat()
	if err != nil {
		return err
	}
	in := bufio.NewReaderSize(io.NewSectionReader(p.file, 0, info.Size()), 64<<10)
	for more := true; more; {
		if err := ctx.Err(); err != nil {
			return err
		}
		recs, more, err = readUpTo(in, s.opts.Load)
		if err != nil {
			return err
		}
		if err := sorted(recs); err != nil {
			return err
		}
	}
	if err := errors.Join(p.file.Close(), os.Remove(p.file.Name())); err != nil { // the runs hold it all
		return err
	}
	p.file = nil
	return mergeRuns(runs, s.opts.Hold, yield)
}

// readUpTo reads frames of about limit bytes, at least one.
func readUpTo(in *bufio.Reader, limit int64) (recs []record, more bool, err error) {
	var size int64
	for size < limit {
		r, n, err := nextFrame(in)
		if errors.Is(err, io.EOF) {
			return recs, false, nil
		}
		if err != nil {
			return nil, false, err
		}
		recs = append(recs, r)
		size += int64(n) + 64
	}
	return recs, true, nil
}

// nextFrame reads one frame into memory of its own. io.EOF means that there is none.
func nextFrame(in *bufio.Reader) (record, int, error) {
	kl, err := binary.ReadUvarint(in)
	if err != nil {
		return record{}, 0, err
	}
	vl, err := binary.ReadUvarint(in)
	if err != nil || kl > 1<<32 || vl > 1<<32 {
		return record{}, 0, errFrame
	}
	buf := make([]byte, kl+vl)
	if _, err := io.ReadFull(in, buf); err != nil {
		return record{}, 0, errFrame
	}
	key := ""
	if kl > 0 {
		key = unsafe.String(&buf[0], int(kl))
	}
	return record{key, buf[kl:]}, len(buf), nil
}

// run is a sorted file that is being merged.
type run struct {
	f   *os.File
	in  *bufio.Reader
	cur record
}

func (r *run) next() error {
	rec, _, err := nextFrame(r.in)
	r.cur = rec
	return err
}

func (s *Shuffle) writeRun(i int, recs []record) (*run, error) {
	s.spilling.Lock()
	s.runs++
	f, err := s.create(fmt.Sprintf("run-%04d-%06d", i, s.runs))
	s.spilling.Unlock()
	if err != nil {
		return nil, err
	}
	w := bufio.NewWriterSize(f, 64<<10)
	var head [2 * binary.MaxVarintLen64]byte
	for _, r := range recs {
		_, _ = w.Write(binary.AppendUvarint(binary.AppendUvarint(head[:0], uint64(len(r.key))), uint64(len(r.val)))) // errors stay in w
		_, _ = w.WriteString(r.key)
		_, _ = w.Write(r.val)
	}
	if err := w.Flush(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	r := &run{f: f, in: bufio.NewReaderSize(nil, 64<<10)}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	r.in.Reset(f)
	return r, nil
}

// runHeap orders runs by their current key.
type runHeap []*run

func (h runHeap) Len() int { return len(h) }
func (h runHeap) Less(i, j int) bool {
	if c := cmp.Compare(h[i].cur.key, h[j].cur.key); c != 0 {
		return c < 0
	}
	return bytes.Compare(h[i].cur.val, h[j].cur.val) < 0
}
func (h runHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *runHeap) Push(x any)   { *h = append(*h, x.(*run)) }
func (h *runHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

func mergeRuns(runs []*run, hold int64, yield func(Group, error) bool) error {
	h := runHeap{}
	for _, r := range runs {
		if err := r.next(); err != nil {
			return err // a run is never empty
		}
		h = append(h, r)
	}
	heap.Init(&h)
	var g Group
	var size int64
	for len(h) > 0 {
		r := h[0]
		same := r.cur.key == g.Key
		if len(g.Records) > 0 && (!same || hold > 0 && size >= hold) {
			g.More = same
			if !yield(g, nil) {
				return errStopped
			}
			g.Records, size = g.Records[:0], 0
		}
		g.Key, g.More = r.cur.key, false
		g.Records = append(g.Records, r.cur.val)
		size += int64(len(r.cur.val)) + 64
		switch err := r.next(); {
		case errors.Is(err, io.EOF):
			heap.Pop(&h)
		case err != nil:
			return err
		default:
			heap.Fix(&h, 0)
		}
	}
	if len(g.Records) > 0 && !yield(g, nil) {
		return errStopped
	}
	return nil
}
