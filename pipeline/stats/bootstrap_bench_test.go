package stats

import (
	"math/rand/v2"
	"testing"
	"time"
)

// The Monte Carlo bootstrap of a mean beside the cost of drawing its random numbers, in one run and on one core: with several cores both
// divide alike. The ratio is what has a target: 2.
func BenchmarkBootstrapMean(b *testing.B) {
	for _, n := range []int{20, 200, 2000} {
		b.Run(map[int]string{20: "n=20", 200: "n=200", 2000: "n=2000"}[n], func(b *testing.B) {
			random := rand.New(rand.NewPCG(1, 2))
			values := make([]float64, n)
			for i := range values {
				values[i] = float64(random.IntN(5)) / 4
			}
			const replicates = 2000
			var draws, whole time.Duration
			sink := 0
			for b.Loop() {
				began := time.Now()
				for chunk := 0; chunk < replicates; chunk += chunkSize {
					s := newSource("bench", "BootstrapMean", chunk/chunkSize)
					for range min(chunkSize, replicates-chunk) * n {
						sink += s.below(n)
					}
				}
				draws += time.Since(began)
				began = time.Now()
				if _, err := BootstrapMean(b.Context(), values, BCa, 0.95, Resampling{Seed: "bench", Replicates: replicates, Workers: 1}); err != nil {
					b.Fatal(err)
				}
				whole += time.Since(began)
			}
			if sink < 0 {
				b.Fatal("numbers below 0")
			}
			b.ReportMetric(float64(whole)/float64(draws), "x-of-its-draws")
			b.ReportMetric(float64(draws.Nanoseconds())/float64(b.N*replicates*n), "ns/draw")
		})
	}
}
