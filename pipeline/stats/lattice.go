package stats

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// BootstrapPaired is the exact percentile bootstrap of the paired difference: n draws from the values −1, 0 and 1. Where
// all pairs agree, or there are fewer than two, it is the Tango interval with FallbackFrom set.
func BootstrapPaired(p Pairs, level float64) (Interval, error) {
	return pairedBootstrap("BootstrapPaired", p, level, MethodPercentileExact)
}

// BCaPaired is BootstrapPaired, bias-corrected and accelerated.
func BCaPaired(p Pairs, level float64) (Interval, error) {
	return pairedBootstrap("BCaPaired", p, level, MethodBCaExact)
}

func pairedBootstrap(fn string, p Pairs, level float64, method string) (Interval, error) {
	if err := p.checkInterval(fn, level); err != nil {
		return Interval{}, err
	}
	n := p.N()
	var reason string
	switch same := p.Both + p.Neither; {
	case n < 2:
		reason = fmt.Sprintf("%d pairs", n)
	case same == n || p.Gained == n || p.Lost == n:
		reason = fmt.Sprintf("all %d differences are equal", n)
	}
	if reason != "" {
		iv, err := Tango(p, level)
		return iv.fallback(method, reason), err
	}
	return latticeInterval(fn, []int{p.Lost, p.Both + p.Neither, p.Gained}, -1, 1, level, method)
}

// BCaProportion is BootstrapProportion, bias-corrected and accelerated.
func BCaProportion(k, n int, level float64) (Interval, error) {
	const fn = "BCaProportion"
	if err := checkProportion(fn, k, n, level); err != nil {
		return Interval{}, err
	}
	if reason := degenerateProportion(k, n); reason != "" {
		iv, err := Wilson(k, n, level)
		return iv.fallback(MethodBCaExact, reason), err
	}
	return latticeInterval(fn, []int{n - k, k}, 0, 1, level, MethodBCaExact)
}

// BootstrapExact is the exact percentile bootstrap of the mean of values·unit: scores that are multiples of a quarter
// are integers with the unit 0.25. Equal values, or fewer than two, have no bootstrap interval.
func BootstrapExact(values []int, unit, level float64) (Interval, error) {
	return exactBootstrap("BootstrapExact", values, unit, level, MethodPercentileExact)
}

// BCaExact is BootstrapExact, bias-corrected and accelerated.
func BCaExact(values []int, unit, level float64) (Interval, error) {
	return exactBootstrap("BCaExact", values, unit, level, MethodBCaExact)
}

func exactBootstrap(fn string, values []int, unit, level float64, method string) (Interval, error) {
	if err := checkLevel(fn, level); err != nil {
		return Interval{}, err
	}
	if !(unit > 0 && unit <= maxMagnitude) {
		return Interval{}, &ArgumentError{Func: fn, Arg: "unit", Value: unit}
	}
	if len(values) < 2 {
		return Interval{}, &UndefinedError{Func: fn, Reason: observations(len(values))}
	}
	low, high := slices.Min(values), slices.Max(values)
	if low == high {
		return Interval{}, &UndefinedError{Func: fn, Reason: fmt.Sprintf("all %d observations are equal", len(values))}
	}
	if low < -maxCount || high > maxCount || high-low >= maxLattice {
		return Interval{}, &ArgumentError{Func: fn, Arg: "values", Value: high - low}
	}
	counts := make([]int, high-low+1)
	for _, v := range values {
		counts[v-low]++
	}
	return latticeInterval(fn, counts, low, unit, level, method)
}

// latticeInterval is the exact bootstrap of the mean of integers, low+i having been seen counts[i] times.
func latticeInterval(fn string, counts []int, low int, unit, level float64, method string) (Interval, error) {
	n, sum := 0, 0
	for i, c := range counts {
		n += c
		sum += c * i
	}
	dist, ok := sumDistribution(counts, n)
	if !ok {
		return Interval{}, &ArgumentError{Func: fn, Arg: "n", Value: n}
	}
	lower := (1 - level) / 2
	upper := lower
	if method == MethodBCaExact {
		below, at := dist.rank(sum)
		z0 := mathext.NormalQuantile(math.Min(1, below+at/2))
		lower, upper, ok = bcaTails(z0, latticeAcceleration(counts, n, sum), level)
		if !ok {
			return Interval{}, &UndefinedError{Func: fn, Reason: "the bias correction has no finite value"}
		}
	}
	mean := func(sum int) float64 { return (float64(sum)/float64(n) + float64(low)) * unit }
	return Interval{
		Low: mean(dist.quantile(lower)), High: mean(dist.upperQuantile(upper)), Level: level, Method: method,
	}, nil
}

// latticeAcceleration is a = Σu³/(6(Σu²)^1.5) over the jackknife; for a mean u is proportional to value − mean.
func latticeAcceleration(counts []int, n, sum int) float64 {
	mean := float64(sum) / float64(n)
	var s2, s3 float64
	for i, c := range counts {
		d := float64(i) - mean
		s2 += float64(c) * d * d
		s3 += float64(c) * d * d * d
	}
	return s3 / (6 * math.Pow(s2, 1.5))
}

// bcaTails are the probabilities below and above the interval that BCa uses instead of (1−level)/2 twice (Efron 1987).
// It is not ok where z0 is infinite or the acceleration folds the scale over.
func bcaTails(z0, a, level float64) (lower, upper float64, ok bool) {
	z := zTwoSided(level)
	denLow, denHigh := 1-a*(z0-z), 1-a*(z0+z)
	lower = normalCDF(z0 + (z0-z)/denLow)
	upper = normalCDF(-(z0 + (z0+z)/denHigh))
	return lower, upper, denLow > 0 && denHigh > 0 && finite(lower) && finite(upper) && !math.IsInf(z0, 0)
}

const (
	// maxLattice bounds the support that a convolution may have: a product of two such takes a quarter of a second.
	maxLattice = 1 << 15
	// negligible is the probability that is cut from either end after a convolution; it keeps the support at about
	// nineteen standard deviations of the sum instead of n times its range.
	negligible = 1e-22
)

// lattice is a distribution on the integers from start.
type lattice struct {
	start int
	pmf   []float64
}

// sumDistribution is the distribution of the sum of n draws of i with probability counts[i]/n, by repeated squaring.
func sumDistribution(counts []int, n int) (lattice, bool) {
	one := lattice{pmf: make([]float64, len(counts))}
	for i, c := range counts {
		one.pmf[i] = float64(c) / float64(n)
	}
	total, power, ok := lattice{pmf: []float64{1}}, one, true
	for m := n; ; {
		if m&1 == 1 {
			if total, ok = total.add(power); !ok {
				return lattice{}, false
			}
		}
		if m >>= 1; m == 0 {
			return total, true
		}
		if power, ok = power.add(power); !ok {
			return lattice{}, false
		}
	}
}

func (a lattice) add(b lattice) (lattice, bool) {
	if len(a.pmf)+len(b.pmf) > maxLattice {
		return lattice{}, false
	}
	out := make([]float64, len(a.pmf)+len(b.pmf)-1)
	for i, p := range a.pmf {
		if p == 0 {
			continue
		}
		row := out[i : i+len(b.pmf)]
		for j, q := range b.pmf {
			row[j] += p * q
		}
	}
	first, cut := 0, out[0]
	for cut < negligible && first < len(out)-1 {
		first++
		cut += out[first]
	}
	last := len(out)
	for cut = out[last-1]; cut < negligible && last > first+1; {
		last--
		cut += out[last-1]
	}
	return lattice{a.start + b.start + first, out[first:last]}, true
}

// rank returns P(X < x) and P(X = x).
func (a lattice) rank(x int) (below, at float64) {
	for i, p := range a.pmf {
		switch v := a.start + i; {
		case v < x:
			below += p
		case v == x:
			at = p
		}
	}
	return below, at
}

// quantile is the least x with P(X ≤ x) ≥ q, for a small q.
func (a lattice) quantile(q float64) int {
	cdf := 0.0
	for i, p := range a.pmf {
		if cdf += p; p > 0 && cdf >= q*(1-quantileSlack) {
			return a.start + i
		}
	}
	return a.start + len(a.pmf) - 1
}

// upperQuantile is the greatest x with P(X ≥ x) ≥ tail: quantile of the mirrored distribution, summed from the top.
func (a lattice) upperQuantile(tail float64) int {
	above := 0.0
	for i := len(a.pmf) - 1; i > 0; i-- {
		if above += a.pmf[i]; a.pmf[i] > 0 && above >= tail*(1-quantileSlack) {
			return a.start + i
		}
	}
	return a.start
}
