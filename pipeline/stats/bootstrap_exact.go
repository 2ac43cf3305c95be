package stats

import (
	"fmt"
	"math"
	"sort"

	"gonum.org/v1/gonum/mathext"
)

// The bootstrap distribution of a sum of n draws from n observed integers is the n-fold convolution of their empirical
// distribution. It needs no random numbers, hence no seed, and is the same on every machine.
//
// The lower end is the least value whose cumulative probability reaches the tail, the upper end its mirror image. The
// usual "least value that reaches 1 − tail" differs from that only where a tail is met exactly (level 0.875 of 2 of 4),
// and would make the interval of k depend on whether passes or failures are counted.

// quantileSlack absorbs rounding where a quantile meets a jump of the distribution function exactly, as ¼ does for the
// sum of two draws from {0, 1}. It is relative.
const quantileSlack = 1e-12

// BootstrapProportion is the percentile bootstrap of a proportion, computed exactly: k resampled from n is
// Binomial(n, k/n). Where all values are equal, or there are fewer than two, it is the Wilson interval with
// FallbackFrom set: resampling equal values would say that nothing can vary.
func BootstrapProportion(k, n int, level float64) (Interval, error) {
	if err := checkProportion("BootstrapProportion", k, n, level); err != nil {
		return Interval{}, err
	}
	if reason := degenerateProportion(k, n); reason != "" {
		iv, err := Wilson(k, n, level)
		return iv.fallback(MethodPercentileExact, reason), err
	}
	tail := (1 - level) / 2
	return Interval{
		Low:   float64(binomialBootstrap(k, n, tail)) / float64(n),
		High:  float64(n-binomialBootstrap(n-k, n, tail)) / float64(n),
		Level: level, Method: MethodPercentileExact,
	}, nil
}

func degenerateProportion(k, n int) string {
	switch {
	case n < 2:
		return observations(n)
	case k == 0 || k == n:
		return fmt.Sprintf("all %d observations are equal", n)
	}
	return ""
}

// binomialBootstrap is the least j with P(X ≤ j) ≥ tail for X ~ Binomial(n, k/n).
func binomialBootstrap(k, n int, tail float64) int {
	p, q := float64(k)/float64(n), float64(n-k)/float64(n)
	enough := func(j int) bool {
		below, _ := logIncompleteBeta(q, p, float64(n-j), float64(j+1))
		return math.Exp(below) >= tail*(1-quantileSlack)
	}
	// The search is among the neighbours of the normal approximation, as far as it has to go: each step costs a continued fraction.
	guess := float64(k) + mathext.NormalQuantile(tail)*math.Sqrt(float64(n)*p*q)
	at := int(math.Max(0, math.Min(guess, float64(n-1))))
	low, high := 0, n // the answer is one of these or between them
	if enough(at) {
		high = at
		for step := 1; high-step >= 0; step *= 4 {
			if !enough(high - step) {
				low = high - step + 1
				break
			}
			high -= step
		}
	} else {
		low = at + 1
		for step := 1; low+step < n; step *= 4 {
			if enough(low + step) {
				high = low + step
				break
			}
			low += step + 1
		}
	}
	return low + sort.Search(high-low, func(i int) bool { return enough(low + i) })
}
