package stats

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"runtime"

	"golang.org/x/sync/errgroup"
)

// Resampling says how a Monte Carlo result is drawn. The result is a function of the data, Seed and Replicates alone.
type Resampling struct {
	// Seed may be any text; runs that must agree share it.
	Seed string
	// Replicates is the number of resamples, 0 for 10,000.
	Replicates int
	// Workers bounds the goroutines, 0 for one per core. It never changes a result.
	Workers int
}

const (
	defaultReplicates = 10_000
	maxReplicates     = 10_000_000
	// chunkSize replicates share one random stream. It is part of the result: another size is another draw.
	chunkSize = 256
	// maxDraws bounds replicates × observations, some minutes of one core.
	maxDraws = 100_000_000_000
)

func (r Resampling) replicates() int {
	if r.Replicates == 0 {
		return defaultReplicates
	}
	return r.Replicates
}

func (r Resampling) check(fn string, n int) error {
	b := r.replicates()
	if b < 1 || b > maxReplicates {
		return &ArgumentError{Func: fn, Arg: "Replicates", Value: r.Replicates}
	}
	if r.Workers < 0 {
		return &ArgumentError{Func: fn, Arg: "Workers", Value: r.Workers}
	}
	if n > maxDraws/b {
		return &ArgumentError{Func: fn, Arg: "n", Value: n}
	}
	return nil
}

// source is one random stream. ChaCha8 is specified, and the bounded draw is ours, so that no release of Go changes a
// published interval.
type source struct{ stream *rand.ChaCha8 }

func newSource(seed, domain string, chunk int) source {
	h := sha256.New()
	h.Write([]byte(seed))
	h.Write([]byte{0})
	h.Write([]byte(domain))
	h.Write(binary.BigEndian.AppendUint64([]byte{0}, uint64(chunk)))
	return source{rand.NewChaCha8([32]byte(h.Sum(nil)))}
}

// below is uniform on [0, n), by Lemire's multiplication with rejection.
func (s source) below(n int) int {
	bound := uint64(n)
	high, low := bits.Mul64(s.stream.Uint64(), bound)
	if low < bound {
		for threshold := -bound % bound; low < threshold; {
			high, low = bits.Mul64(s.stream.Uint64(), bound)
		}
	}
	return int(high)
}

// replicate fills one slot per replicate with what draw makes of its chunk's stream. newDraw is called once per chunk,
// so that draw may own a buffer.
func replicate(ctx context.Context, r Resampling, domain string, newDraw func(source) func() float64) ([]float64, error) {
	out := make([]float64, r.replicates())
	workers := r.Workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for start := 0; start < len(out); start += chunkSize {
		if inner.Err() != nil {
			break
		}
		part := out[start:min(start+chunkSize, len(out))]
		chunk := start / chunkSize
		group.Go(func() error {
			draw := newDraw(newSource(r.Seed, domain, chunk))
			for i := range part {
				if err := inner.Err(); err != nil {
					return err
				}
				part[i] = draw()
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("resampling for %s: %w", domain, err)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("resampling for %s: %w", domain, err)
	}
	return out, nil
}
