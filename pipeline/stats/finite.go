package stats

import "sort"

// FiniteProportion is the exact interval for the proportion in a population of size N of which n were drawn without
// replacement and k had the property. It inverts the two hypergeometric tails, so its ends are multiples of 1/N, and
// an estimate k/n between two such multiples may lie outside by less than one of them when N is small. When
// everything was looked at there is no sampling error: the interval has no width and its Method is "census".
func FiniteProportion(k, n, N int, level float64) (Interval, error) {
	if err := checkPopulation("FiniteProportion", k, n, N, level); err != nil {
		return Interval{}, err
	}
	iv := Interval{Low: 0, High: 1, Level: level, Method: MethodHypergeometric}
	switch n {
	case 0:
		if N == 0 {
			iv.Reason = "empty population"
		}
		return iv, nil
	case N:
		p := float64(k) / float64(n)
		return Interval{Low: p, High: p, Level: level, Method: MethodCensus}, nil
	}
	tail := (1 - level) / 2
	iv.Low = float64(leastMarked(k, n, N, tail)) / float64(N)
	iv.High = float64(N-leastMarked(n-k, n, N, tail)) / float64(N)
	return iv, nil
}

// leastMarked is the least number of marked units in the population that leaves P(X ≥ k) above tail.
func leastMarked(k, n, size int, tail float64) int {
	span := size - n // the population holds from k to k+span marked units
	return k + sort.Search(span, func(i int) bool { return hypergeometricUpper(k, n, k+i, size) > tail*(1+quantileSlack) })
}

// WilsonFinite is the Wilson interval with the effective sample size n(N−1)/(N−n): shorter than FiniteProportion, but
// only nominal on average. A census has no width.
func WilsonFinite(k, n, N int, level float64) (Interval, error) {
	if err := checkPopulation("WilsonFinite", k, n, N, level); err != nil {
		return Interval{}, err
	}
	if n == 0 {
		return Interval{Low: 0, High: 1, Level: level, Method: MethodWilsonFinite}, nil
	}
	p := float64(k) / float64(n)
	if n == N {
		return Interval{Low: p, High: p, Level: level, Method: MethodCensus}, nil
	}
	scale := float64(N-1) / float64(N-n)
	low, high := wilson(float64(k)*scale, float64(n)*scale, zTwoSided(level))
	if k == n {
		high = 1 // k·scale and n·scale round alike, but say so
	}
	return Interval{Low: low, High: high, Level: level, Method: MethodWilsonFinite}, nil
}

func checkPopulation(fn string, k, n, size int, level float64) error {
	if size < 0 || size > maxCount {
		return &ArgumentError{Func: fn, Arg: "N", Value: size}
	}
	if n > size {
		return &ArgumentError{Func: fn, Arg: "n", Value: n}
	}
	return checkProportion(fn, k, n, level)
}
