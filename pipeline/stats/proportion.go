package stats

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// Every interval here is built from its lower end: High of k of n is 1 − Low of n−k of n. That makes the symmetry
// exact, keeps the digits of an end near 1, and never forms 1 − α/2.

// zTwoSided is the normal quantile of a two-sided interval: 1.96 for 0.95.
func zTwoSided(level float64) float64 { return -mathext.NormalQuantile((1 - level) / 2) }

// Wilson is the score interval for a proportion of k in n (Wilson 1927; recommended for small n by Brown, Cai and
// DasGupta 2001). Nothing observed, n = 0, is [0, 1].
func Wilson(k, n int, level float64) (Interval, error) {
	if err := checkProportion("Wilson", k, n, level); err != nil {
		return Interval{}, err
	}
	low, high := wilson(float64(k), float64(n), zTwoSided(level))
	return Interval{Low: low, High: high, Level: level, Method: MethodWilson}, nil
}

// wilson takes real counts, since a finite population or a stratified sample has an effective size.
func wilson(k, n, z float64) (low, high float64) {
	if n == 0 {
		return 0, 1
	}
	return wilsonLow(k, n, z), 1 - wilsonLow(n-k, n, z)
}

func wilsonLow(k, n, z float64) float64 {
	if k <= 0 {
		return 0 // the formula leaves a rounding error of 1e-17 here
	}
	// The textbook centre − half, multiplied out by its conjugate: no difference of near numbers for small k.
	z2 := z * z
	half := z * math.Sqrt(k*(n-k)/n+z2/4)
	return math.Min(1, k*k/(n*(k+z2/2+half)))
}

// ClopperPearson is the exact interval: it covers at least level for every true proportion, usually more. Use it
// where a promise must hold, such as a safety gate.
func ClopperPearson(k, n int, level float64) (Interval, error) {
	if err := checkProportion("ClopperPearson", k, n, level); err != nil {
		return Interval{}, err
	}
	tail := (1 - level) / 2
	return Interval{
		Low: clopperPearsonLow(k, n, tail), High: 1 - clopperPearsonLow(n-k, n, tail),
		Level: level, Method: MethodClopperPearson,
	}, nil
}

// ClopperPearsonLower is the one-sided exact lower bound: with confidence level the proportion is at least this.
// All of 20 at 0.95 gives 0.05^(1/20) = 0.861.
func ClopperPearsonLower(k, n int, level float64) (float64, error) {
	if err := checkProportion("ClopperPearsonLower", k, n, level); err != nil {
		return 0, err
	}
	return clopperPearsonLow(k, n, 1-level), nil
}

// ClopperPearsonUpper is the one-sided exact upper bound: with confidence level the proportion is at most this.
func ClopperPearsonUpper(k, n int, level float64) (float64, error) {
	if err := checkProportion("ClopperPearsonUpper", k, n, level); err != nil {
		return 0, err
	}
	return 1 - clopperPearsonLow(n-k, n, 1-level), nil
}

func clopperPearsonLow(k, n int, tail float64) float64 {
	switch k {
	case 0:
		return 0
	case n:
		return math.Pow(tail, 1/float64(n))
	}
	x, _ := betaQuantile(tail, float64(k), float64(n-k+1))
	return x
}

// Jeffreys is the equal-tailed interval of the posterior under the prior Beta(½, ½), with the end at an observed
// extreme set to 0 or 1 (the modification of Brown, Cai and DasGupta 2001).
func Jeffreys(k, n int, level float64) (Interval, error) {
	if err := checkProportion("Jeffreys", k, n, level); err != nil {
		return Interval{}, err
	}
	tail := (1 - level) / 2
	low := func(k int) float64 {
		if k == 0 {
			return 0
		}
		x, _ := betaQuantile(tail, float64(k)+0.5, float64(n-k)+0.5)
		return x
	}
	return Interval{Low: low(k), High: 1 - low(n-k), Level: level, Method: MethodJeffreys}, nil
}

// BetaBinomial is the posterior mean and the equal-tailed credible interval under the prior Beta(a, b); a = b = 1 is
// the choice of Bowyer, Aitchison and Ivanova 2025.
func BetaBinomial(k, n int, a, b, level float64) (mean float64, interval Interval, err error) {
	const fn = "BetaBinomial"
	if err := checkProportion(fn, k, n, level); err != nil {
		return 0, Interval{}, err
	}
	if !(a >= 1e-3 && a <= maxCount) {
		return 0, Interval{}, &ArgumentError{Func: fn, Arg: "a", Value: a}
	}
	if !(b >= 1e-3 && b <= maxCount) {
		return 0, Interval{}, &ArgumentError{Func: fn, Arg: "b", Value: b}
	}
	tail := (1 - level) / 2
	a, b = a+float64(k), b+float64(n-k)
	low, _ := betaQuantile(tail, a, b)
	high, _ := betaQuantile(tail, b, a)
	return a / (a + b), Interval{Low: low, High: 1 - high, Level: level, Method: MethodBetaBinomial}, nil
}
