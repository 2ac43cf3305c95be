package otlpgen

import (
	"encoding/binary"
	"encoding/hex"
	"hash/fnv"
	"time"
)

// random is splitmix64: small, fast, and its numbers are fixed for ever, which no library promises.
type random struct{ state uint64 }

// newRandom seeds by name, so that a script's ids do not change when others are added.
func newRandom(name string) *random {
	h := fnv.New64a()
	h.Write([]byte(name))
	return &random{state: h.Sum64()}
}

func (r *random) next() uint64 {
	r.state += 0x9e3779b97f4a7c15
	z := r.state
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

// below returns a number in [0, n). The bias of the remainder does not matter here.
func (r *random) below(n int) int { return int(r.next() % uint64(n)) }

// between returns a duration of whole microseconds in [lo, hi).
func (r *random) between(lo, hi time.Duration) time.Duration {
	return lo + time.Duration(r.next()%uint64((hi-lo)/time.Microsecond))*time.Microsecond
}

func (r *random) traceID() (id TraceID) {
	binary.BigEndian.PutUint64(id[:8], r.next())
	binary.BigEndian.PutUint64(id[8:], r.next())
	return id
}

func (r *random) spanID() (id SpanID) {
	binary.BigEndian.PutUint64(id[:], r.next())
	return id
}

// hex returns n hex digits.
func (r *random) hex(n int) string {
	b := make([]byte, 0, n+16)
	for len(b) < n {
		b = hex.AppendEncode(b, binary.BigEndian.AppendUint64(nil, r.next()))
	}
	return string(b[:n])
}

// uuid returns a version 4 UUID.
func (r *random) uuid() string {
	h := []byte(r.hex(32))
	h[12], h[16] = '4', "89ab"[r.below(4)]
	return string(h[:8]) + "-" + string(h[8:12]) + "-" + string(h[12:16]) + "-" + string(h[16:20]) + "-" + string(h[20:])
}

// token returns prefix and n letters and digits, the form of most vendors' ids.
func (r *random) token(prefix string, n int) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	b := []byte(prefix)
	for range n {
		b = append(b, letters[r.below(len(letters))])
	}
	return string(b)
}
