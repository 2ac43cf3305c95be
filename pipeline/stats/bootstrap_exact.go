package stats

import (
	"fmt"
	"sort"
)

// The bootstrap distribution of a sum of n draws from n observed integers is the n-fold convolution of their empirical
// distribution. It needs no random numbers, hence no seed, and is the same on every machine.

// quantileSlack absorbs rounding where a quantile meets a jump of the distribution function exactly, as in ½ of 1 of 2.
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
		Low: binomialBootstrap(k, n, tail), High: binomialBootstrap(k, n, 1-tail),
		Level: level, Method: MethodPercentileExact,
	}, nil
}

func degenerateProportion(k, n int) string {
	switch {
	case n < 2:
		return fmt.Sprintf("%d observations", n)
	case k == 0 || k == n:
		return fmt.Sprintf("all %d observations are equal", n)
	}
	return ""
}

// binomialBootstrap is the least j/n with P(X ≤ j) ≥ q for X ~ Binomial(n, k/n).
func binomialBootstrap(k, n int, q float64) float64 {
	p := float64(k) / float64(n)
	j := sort.Search(n, func(j int) bool { return binomialCDF(j, n, p) >= q-quantileSlack })
	return float64(j) / float64(n)
}
