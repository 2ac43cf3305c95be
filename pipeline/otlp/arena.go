package otlp

import "slices"

// slab hands out slices of one growing chunk. A chunk that is full is left to those who hold parts of it.
type slab[T any] struct{ cur []T }

// maxKept bounds the elements a slab keeps between documents, so that one huge document is not paid for ever.
const maxKept = 1 << 16

// take is a slice of n elements with undefined content that nobody else holds.
func (s *slab[T]) take(n int) []T {
	at := len(s.cur)
	if at+n > cap(s.cur) {
		s.cur = make([]T, 0, max(2*cap(s.cur), n, 64))
		at = 0
	}
	s.cur = s.cur[:at+n]
	return s.cur[at : at+n : at+n]
}

// reset makes everything that was handed out free again.
func (s *slab[T]) reset() {
	if cap(s.cur) > maxKept {
		s.cur = nil
	}
	s.cur = s.cur[:0]
}

// arena is the memory of one record, or of one resource and scope.
type arena struct {
	kvs    slab[KeyValue]
	values slab[Value]
	events slab[SpanEvent]
	bytes  slab[byte]
}

func (a *arena) reset() {
	a.kvs.reset()
	a.values.reset()
	a.events.reset()
	a.bytes.reset()
}

// sorter puts attributes in order. Writers emit the same keys in the same order again and again, so it first tries the
// permutation that fitted the last list of that length; that check is linear and also proves that no key comes twice.
type sorter struct {
	last [64][]int32
	perm []int32
}

// into copies in, sorted by key with the last of equal keys, to a slice from the slab. dups counts the keys left out.
func (s *sorter) into(dst *slab[KeyValue], in []KeyValue) (out []KeyValue, dups int64) {
	n := len(in)
	if n == 0 {
		return nil, 0
	}
	out = dst.take(n)
	if n < len(s.last) {
		if p := s.last[n]; p != nil && ascending(in, p) {
			for i, j := range p {
				out[i] = in[j]
			}
			return out, 0
		}
	}
	s.perm = s.perm[:0]
	for i := range n {
		s.perm = append(s.perm, int32(i))
	}
	p := s.perm
	slices.SortFunc(p, func(a, b int32) int {
		switch x, y := in[a].Key, in[b].Key; {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return int(a - b)
	})
	k := 0
	for i, j := range p {
		if i+1 < n && in[p[i+1]].Key == in[j].Key {
			dups++
			continue
		}
		out[k] = in[j]
		k++
	}
	if n < len(s.last) && dups == 0 {
		s.last[n] = append(s.last[n][:0], p...)
	}
	return out[:k:k], dups
}

func ascending(in []KeyValue, p []int32) bool {
	for i := 1; i < len(p); i++ {
		if in[p[i-1]].Key >= in[p[i]].Key {
			return false
		}
	}
	return true
}
