package stats

import "math"

// MethodScoreTest is the chi-square test of two rates, for counts that are too many for Fisher's.
const MethodScoreTest = "score_chi_square"

// MethodBinomial is the exact binomial test of one rate against a fixed one.
const MethodBinomial = "binomial_exact"

// fisherTables is how many tables Fisher's test may have before the normal approximation is as good: with margins that
// large every expected count is, too, or the p-value is beyond what anyone reads.
const fisherTables = 2000

// CompareRates is the two-sided test that two independent groups have the same rate: Fisher's exact test, or the score test
// (chi-square with one degree of freedom, no continuity correction) where more than 2,000 tables share the margins.
func CompareRates(k1, n1, k2, n2 int) (Test, error) {
	const fn = "CompareRates"
	if err := checkCount(fn, k1, n1); err != nil {
		return Test{}, err
	}
	if err := checkCount(fn, k2, n2); err != nil {
		return Test{}, err
	}
	if marked := k1 + k2; min(n1, marked)-max(0, marked-n2) <= fisherTables {
		return FisherExact(k1, n1, k2, n2)
	}
	a, b := float64(n1), float64(n2)
	p1, p2, p := float64(k1)/a, float64(k2)/b, float64(k1+k2)/(a+b)
	z := math.Abs(p1-p2) / math.Sqrt(p*(1-p)*(1/a+1/b))
	return Test{P: math.Erfc(z / math.Sqrt2), Method: MethodScoreTest}, nil
}

// AtLeast is the one-sided exact test against the hypothesis that the rate is at most rate: the probability of k or more in
// n under it. A small P speaks for a rate above.
func AtLeast(k, n int, rate float64) (Test, error) {
	const fn = "AtLeast"
	if err := checkCount(fn, k, n); err != nil {
		return Test{}, err
	}
	if err := checkUnit(fn, "rate", rate); err != nil {
		return Test{}, err
	}
	if k == 0 {
		return Test{P: 1, Method: MethodBinomial}, nil
	}
	// P(X ≥ k) is the other tail of n − X, which keeps its digits where it is small.
	return Test{P: math.Min(1, binomialCDF(n-k, n, 1-rate)), Method: MethodBinomial}, nil
}
