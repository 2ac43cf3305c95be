package stats

import "math"

// McNemarExact is the exact two-sided test that gaining and losing are equally likely: binomial on the pairs that
// differ. It is conservative; without such a pair p is 1.
func McNemarExact(gained, lost int) (Test, error) {
	if err := checkDiscordant("McNemarExact", gained, lost); err != nil {
		return Test{}, err
	}
	tail, _ := mcNemarTail(gained, lost)
	return Test{P: math.Min(1, 2*tail), Method: MethodMcNemarExact}, nil
}

// McNemarMidP is the exact test with half the probability of what was observed: close to its nominal level and
// recommended over the exact one by Fagerland, Lydersen and Laake 2013.
func McNemarMidP(gained, lost int) (Test, error) {
	if err := checkDiscordant("McNemarMidP", gained, lost); err != nil {
		return Test{}, err
	}
	tail, point := mcNemarTail(gained, lost)
	p := 2*tail - point
	switch {
	case gained+lost == 0:
		p = 1
	case gained == lost:
		p = 1 - point/2
	}
	return Test{P: math.Min(1, p), Method: MethodMcNemarMidP}, nil
}

// mcNemarTail is P(X ≤ m) and P(X = m) for the smaller count m and X ~ Binomial(gained+lost, ½), in logs inside.
func mcNemarTail(gained, lost int) (tail, point float64) {
	m, n := min(gained, lost), gained+lost
	return binomialCDF(m, n, 0.5), binomialPMF(m, n, 0.5)
}

func checkDiscordant(fn string, gained, lost int) error {
	if gained < 0 || gained > maxCount/2 {
		return &ArgumentError{Func: fn, Arg: "gained", Value: gained}
	}
	if lost < 0 || lost > maxCount/2 {
		return &ArgumentError{Func: fn, Arg: "lost", Value: lost}
	}
	return nil
}

// maxFisher bounds the loop over tables with the same margins.
const maxFisher = 10_000_000

// FisherExact is the two-sided exact test that two independent groups have the same rate: the probability of all
// tables with these margins that are no likelier than the observed one.
func FisherExact(k1, n1, k2, n2 int) (Test, error) {
	const fn = "FisherExact"
	if err := checkCount(fn, k1, n1); err != nil {
		return Test{}, err
	}
	if err := checkCount(fn, k2, n2); err != nil {
		return Test{}, err
	}
	size, marked := n1+n2, k1+k2
	low, high := max(0, marked-n2), min(n1, marked)
	if high-low > maxFisher {
		return Test{}, &ArgumentError{Func: fn, Arg: "k1+k2", Value: marked}
	}
	if size == 0 {
		return Test{P: 1, Method: MethodFisher}, nil
	}
	// Tables of equal probability may differ in the last digits; R uses the same relative slack.
	observed := logHypergeometric(k1, n1, marked, size) + 1e-7
	sum := 0.0
	for k := low; k <= high; k++ {
		if lp := logHypergeometric(k, n1, marked, size); lp <= observed {
			sum += math.Exp(lp)
		}
	}
	return Test{P: math.Min(1, sum), Method: MethodFisher}, nil
}
