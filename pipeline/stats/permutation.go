package stats

import (
	"context"
	"math"
)

// maxExactSigns is the number of differences up to which all sign patterns are counted: 2^17 sums.
const maxExactSigns = 18

// SignFlip tests that paired differences are symmetric about 0, by flipping their signs: the exact counterpart of the
// paired t test, without a normal distribution. Zeros say nothing and are left out. Up to eighteen differences all
// patterns are counted, beyond that r draws them and p is (hits+1)/(replicates+1), so that it is never 0.
func SignFlip(ctx context.Context, differences []float64, r Resampling) (Test, error) {
	const fn = "SignFlip"
	if err := checkFinite(fn, "differences", differences); err != nil {
		return Test{}, err
	}
	if err := r.check(fn, len(differences)); err != nil {
		return Test{}, err
	}
	var sizes []float64
	var sum, scale float64
	for _, d := range differences {
		if d != 0 {
			sizes = append(sizes, math.Abs(d))
			sum += d
			scale += math.Abs(d)
		}
	}
	// A pattern ties with the data when only the order of summation tells them apart.
	bound := math.Abs(sum) - tieSlack*scale
	switch {
	case len(sizes) == 0:
		return Test{P: 1, Method: MethodSignFlipExact}, nil
	case len(sizes) <= maxExactSigns:
		// The first sign is fixed: flipping all signs changes no absolute value.
		hits := countExtreme(sizes[1:], sizes[0], bound)
		return Test{P: float64(hits) / float64(int(1)<<(len(sizes)-1)), Method: MethodSignFlipExact}, nil
	}
	drawn, err := replicate(ctx, r, fn, func(s source) func() float64 { return func() float64 { return s.signedSum(sizes) } })
	if err != nil {
		return Test{}, err
	}
	hits := 0
	for _, v := range drawn {
		if math.Abs(v) >= bound {
			hits++
		}
	}
	return Test{P: float64(hits+1) / float64(len(drawn)+1), Method: MethodSignFlip}, nil
}

func countExtreme(sizes []float64, sum, bound float64) int {
	if len(sizes) == 0 {
		if math.Abs(sum) >= bound {
			return 1
		}
		return 0
	}
	return countExtreme(sizes[1:], sum+sizes[0], bound) + countExtreme(sizes[1:], sum-sizes[0], bound)
}

// signedSum gives each size a sign from one random bit.
func (s source) signedSum(sizes []float64) float64 {
	var sum float64
	var word uint64
	for i, v := range sizes {
		if i%64 == 0 {
			word = s.stream.Uint64()
		}
		if word&1 == 1 {
			v = -v
		}
		word >>= 1
		sum += v
	}
	return sum
}
