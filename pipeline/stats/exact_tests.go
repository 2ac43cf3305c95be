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
	weight := hypergeometricWeights(n1, n2, marked, low, high)
	// Tables of equal probability may differ in the last digits; R uses the same relative slack.
	observed := weight[k1-low] * (1 + 1e-7)
	var sum, all float64
	for _, w := range weight {
		if all += w; w <= observed {
			sum += w
		}
	}
	return Test{P: math.Min(1, sum/all), Method: MethodFisher}, nil
}

// hypergeometricWeights are the probabilities of low to high marked units among n1 of n1+n2, in parts of the greatest: from it
// outward each is the one before times a ratio of whole numbers, which costs a hundredth of logarithms and loses no digit.
func hypergeometricWeights(n1, n2, marked, low, high int) []float64 {
	w := make([]float64, high-low+1)
	mode := int(float64(n1+1) * (float64(marked+1) / float64(n1+n2+2)))
	mode = min(max(mode, low), high)
	w[mode-low] = 1
	for k := mode; k < high; k++ { // P(k+1) of P(k)
		w[k+1-low] = w[k-low] * (float64(n1-k) * float64(marked-k)) / (float64(k+1) * float64(n2-marked+k+1))
	}
	for k := mode; k > low; k-- {
		w[k-1-low] = w[k-low] * (float64(k) * float64(n2-marked+k)) / (float64(n1-k+1) * float64(marked-k+1))
	}
	return w
}
