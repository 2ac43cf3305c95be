package stats

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// Kind is how an interval is read off bootstrap replicates.
type Kind int

// The kinds. BCa is second-order correct for a mean (Efron 1987); Percentile and Basic are its simpler relatives.
const (
	Percentile Kind = iota
	BCa
	Basic
)

func (k Kind) method() (string, bool) {
	switch k {
	case Percentile:
		return MethodPercentile, true
	case BCa:
		return MethodBCa, true
	case Basic:
		return MethodBasic, true
	}
	return "", false
}

// Statistic computes a number from the observations at index, which has repetitions and is only lent. It is called from
// several goroutines at once. It answers false where the number does not exist for those observations.
type Statistic func(index []int) (float64, bool)

// MeanInterval is the interval to report for a mean of scores: BCa for ten values or more, Student's t for fewer, with
// FallbackFrom set. Equal values, or fewer than two, have none.
func MeanInterval(ctx context.Context, values []float64, level float64, r Resampling) (Interval, error) {
	const fn = "MeanInterval"
	if err := checkSpread(fn, values, level); err != nil {
		return Interval{}, err
	}
	if n := len(values); n < 10 {
		iv, err := StudentMean(values, level)
		return iv.fallback(MethodBCa, observations(n)+", fewer than 10"), err
	}
	return BootstrapMean(ctx, values, BCa, level, r)
}

// StudentMean is the t interval for a mean: right on average for near-normal values, unaware of any range.
func StudentMean(values []float64, level float64) (Interval, error) {
	if err := checkSpread("StudentMean", values, level); err != nil {
		return Interval{}, err
	}
	mean, se := meanSE(values)
	half := se * studentQuantile((1-level)/2, float64(len(values)-1))
	return Interval{Low: mean - half, High: mean + half, Level: level, Method: MethodStudent}, nil
}

// MeanSE is the mean and its standard error √(Σ(v−mean)²/(n−1)/n). For differences of pairs that is the paired standard
// error of Miller 2024.
func MeanSE(values []float64) (mean, se float64, err error) {
	const fn = "MeanSE"
	if err := checkFinite(fn, "values", values); err != nil {
		return 0, 0, err
	}
	if len(values) < 2 {
		return 0, 0, &UndefinedError{Func: fn, Reason: observations(len(values))}
	}
	mean, se = meanSE(values)
	return mean, se, nil
}

func meanSE(values []float64) (mean, se float64) {
	n := float64(len(values))
	mean = meanOf(values)
	var s2 float64
	for _, v := range values {
		s2 += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(s2 / (n - 1) / n)
}

func meanOf(values []float64) float64 {
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// checkSpread refuses what no interval for a mean can be made of.
func checkSpread(fn string, values []float64, level float64) error {
	if err := checkLevel(fn, level); err != nil {
		return err
	}
	if err := checkFinite(fn, "values", values); err != nil {
		return err
	}
	if len(values) < 2 {
		return &UndefinedError{Func: fn, Reason: observations(len(values))}
	}
	if slices.Min(values) == slices.Max(values) {
		return &UndefinedError{Func: fn, Reason: fmt.Sprintf("all %d observations are equal", len(values))}
	}
	return nil
}

// BootstrapMean is the Monte Carlo bootstrap of a mean. Equal values, or fewer than two, have no bootstrap interval. For
// counts and graded scores BootstrapProportion, BootstrapPaired and BootstrapExact need no random numbers.
func BootstrapMean(ctx context.Context, values []float64, kind Kind, level float64, r Resampling) (Interval, error) {
	const fn = "BootstrapMean"
	if err := checkSpread(fn, values, level); err != nil {
		return Interval{}, err
	}
	mean := func(index []int) (float64, bool) {
		var sum float64
		for _, i := range index {
			sum += values[i]
		}
		return sum / float64(len(index)), true
	}
	jackknife := func([]int) []float64 { // in n steps instead of n²
		n := float64(len(values))
		sum := meanOf(values) * n
		out := make([]float64, len(values))
		for i, v := range values {
			out[i] = (sum - v) / (n - 1)
		}
		return out
	}
	return bootstrap(ctx, fn, len(values), mean, jackknife, kind, level, r)
}

// BootstrapStatistic is the Monte Carlo bootstrap of any statistic of n exchangeable units, such as kappa over items or
// a ratio over clusters. Resamples for which it does not exist are left out and counted in Reason; when more than one in
// twenty is, or all resamples agree, there is no interval.
func BootstrapStatistic(
	ctx context.Context, n int, stat Statistic, kind Kind, level float64, r Resampling,
) (Interval, error) {
	const fn = "BootstrapStatistic"
	jackknife := func(all []int) []float64 { return leaveOneOut(all, stat) }
	return bootstrap(ctx, fn, n, stat, jackknife, kind, level, r)
}

// bootstrap draws under the name fn, which is part of the seed: two functions never share a stream.
func bootstrap(
	ctx context.Context, fn string, n int, stat Statistic, leaveOut func(all []int) []float64,
	kind Kind, level float64, r Resampling,
) (Interval, error) {
	if _, ok := kind.method(); !ok {
		return Interval{}, &ArgumentError{Func: fn, Arg: "kind", Value: kind}
	}
	if err := checkLevel(fn, level); err != nil {
		return Interval{}, err
	}
	if n < 0 || n > maxCount {
		return Interval{}, &ArgumentError{Func: fn, Arg: "n", Value: n}
	}
	if err := r.check(fn, n); err != nil {
		return Interval{}, err
	}
	if n < 2 {
		return Interval{}, &UndefinedError{Func: fn, Reason: observations(n)}
	}
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	estimate, ok := stat(all)
	if !ok || !finite(estimate) {
		return Interval{}, &UndefinedError{Func: fn, Reason: "the statistic does not exist for the data"}
	}
	drawn, err := replicate(ctx, r, fn, func(s source) func() float64 {
		index := make([]int, n)
		return func() float64 {
			for i := range index {
				index[i] = s.below(n)
			}
			if v, ok := stat(index); ok {
				return v
			}
			return math.NaN() // never leaves this function
		}
	})
	if err != nil {
		return Interval{}, err
	}
	kept := slices.DeleteFunc(drawn, func(v float64) bool { return !finite(v) })
	lost := r.replicates() - len(kept)
	if lost*20 > r.replicates() {
		return Interval{}, &UndefinedError{Func: fn, Reason: fmt.Sprintf(
			"the statistic does not exist in %d of %d resamples", lost, r.replicates())}
	}
	var jackknife []float64
	if kind == BCa {
		jackknife = leaveOut(all)
	}
	iv, err := fromReplicates(fn, kept, estimate, jackknife, kind, level)
	if lost > 0 && err == nil && iv.Reason == "" {
		iv.Reason = fmt.Sprintf("%d of %d resamples left out: the statistic does not exist", lost, r.replicates())
	}
	return iv, err
}

// leaveOneOut is nil where the statistic does not exist without some unit.
func leaveOneOut(all []int, stat Statistic) []float64 {
	out := make([]float64, len(all))
	rest := make([]int, len(all)-1)
	for i := range all {
		copy(rest, all[:i])
		copy(rest[i:], all[i+1:])
		v, ok := stat(rest)
		if !ok || !finite(v) {
			return nil
		}
		out[i] = v
	}
	return out
}

// fromReplicates reads an interval off the replicates, which it sorts. BCa without a usable correction becomes the
// percentile interval and says so.
func fromReplicates(
	fn string, replicates []float64, estimate float64, jackknife []float64, kind Kind, level float64,
) (Interval, error) {
	slices.Sort(replicates)
	b := len(replicates)
	if b == 0 {
		return Interval{}, &UndefinedError{Func: fn, Reason: "no resample has the statistic"}
	}
	span := replicates[b-1] - replicates[0]
	if span <= tieSlack*math.Abs(estimate) {
		return Interval{}, &UndefinedError{Func: fn, Reason: "all resamples agree"}
	}
	method, _ := kind.method()
	iv := Interval{Level: level, Method: method}
	lower := (1 - level) / 2
	upper := lower
	switch kind {
	case Basic:
		iv.Low = 2*estimate - quantile7(replicates, 1-upper)
		iv.High = 2*estimate - quantile7(replicates, lower)
		return iv, nil
	case BCa:
		z0 := mathext.NormalQuantile(midRank(replicates, estimate))
		a, ok := acceleration(jackknife)
		if ok {
			var l, h float64
			if l, h, ok = bcaTails(z0, a, level); ok {
				lower, upper = l, h
			}
		}
		if !ok {
			iv.Method = MethodPercentile
			iv = iv.fallback(MethodBCa, "the bias correction has no finite value")
		}
	}
	iv.Low, iv.High = quantile7(replicates, lower), quantile7(replicates, 1-upper)
	return iv, nil
}

// tieSlack is the relative difference below which two sums of the same numbers in another order count as equal.
const tieSlack = 1e-12

// midRank is (P(<) + P(≤))/2 of the estimate among sorted replicates. Half of the ties count, as in scipy; R's boot
// counts none, which on tied data moves an end by one step.
func midRank(sorted []float64, estimate float64) float64 {
	slack := tieSlack * math.Max(math.Abs(estimate), sorted[len(sorted)-1]-sorted[0])
	below, _ := slices.BinarySearch(sorted, estimate-slack)
	upTo, _ := slices.BinarySearch(sorted, math.Nextafter(estimate+slack, math.Inf(1)))
	return float64(below+upTo) / (2 * float64(len(sorted)))
}

// acceleration is a = Σu³/(6(Σu²)^1.5), u = mean − jackknife value; it is not ok without jackknife values.
func acceleration(jackknife []float64) (float64, bool) {
	if len(jackknife) == 0 {
		return 0, false
	}
	mean := meanOf(jackknife)
	var s2, s3 float64
	for _, v := range jackknife {
		u := mean - v
		s2 += u * u
		s3 += u * u * u
	}
	a := s3 / (6 * math.Pow(s2, 1.5))
	return a, finite(a)
}

// quantile7 interpolates between order statistics at (B−1)·q, the default of R and numpy.
func quantile7(sorted []float64, q float64) float64 {
	h := q * float64(len(sorted)-1)
	i := int(math.Floor(h))
	if i >= len(sorted)-1 {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (h-float64(i))*(sorted[i+1]-sorted[i])
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
