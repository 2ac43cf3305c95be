package stats

import (
	"fmt"
	"math"
)

// Stratum is a part of a population, such as one service: Size units, of which Sampled were drawn and Passed passed.
type Stratum struct {
	Size, Sampled, Passed int
}

// Stratified is the pass rate of the population, each stratum weighing as its size, with the standard error
// √Σ (N_h/N)²(1 − n_h/N_h)·s²_h/n_h and s²_h = n_h·p(1−p)/(n_h−1). A completely sampled stratum adds no error; one that has
// a single sampled unit but more units leaves SE and interval undefined, though Value is set beside the error. Empty
// strata are left out.
//
// The interval is Wilson's with the effective sample size that SE amounts to. Where nothing varies, so that SE would be 0
// without a census, the plain number of sampled units takes its place.
func Stratified(strata []Stratum, level float64) (Estimate, error) {
	const fn = "Stratified"
	if err := checkLevel(fn, level); err != nil {
		return Estimate{}, err
	}
	var size, sampled, weighted float64
	for _, s := range strata {
		if s.Size < 0 || s.Size > maxCount {
			return Estimate{}, &ArgumentError{Func: fn, Arg: "Size", Value: s.Size}
		}
		if s.Sampled < 0 || s.Sampled > s.Size {
			return Estimate{}, &ArgumentError{Func: fn, Arg: "Sampled", Value: s.Sampled}
		}
		if s.Passed < 0 || s.Passed > s.Sampled {
			return Estimate{}, &ArgumentError{Func: fn, Arg: "Passed", Value: s.Passed}
		}
		if s.Size == 0 {
			continue
		}
		if s.Sampled == 0 {
			return Estimate{}, &UndefinedError{Func: fn, Reason: fmt.Sprintf("nothing was sampled from a stratum of %d", s.Size)}
		}
		size += float64(s.Size)
		sampled += float64(s.Sampled)
		weighted += float64(s.Size) * (float64(s.Passed) / float64(s.Sampled))
	}
	if size == 0 {
		return Estimate{}, &UndefinedError{Func: fn, Reason: "empty population"}
	}
	est := Estimate{Value: math.Min(1, weighted/size)}
	variance, ok := stratifiedVariance(strata, size)
	if !ok {
		return est, &UndefinedError{Func: fn, Reason: "a stratum has one sampled unit of several"}
	}
	est.SE = math.Sqrt(variance)
	est.Interval = stratifiedInterval(est, size, sampled, level)
	return est, nil
}

func stratifiedVariance(strata []Stratum, size float64) (float64, bool) {
	var sum float64
	for _, s := range strata {
		if s.Sampled == s.Size {
			continue
		}
		if s.Sampled < 2 {
			return 0, false
		}
		n, p, w := float64(s.Sampled), float64(s.Passed)/float64(s.Sampled), float64(s.Size)/size
		sum += w * w * (1 - n/float64(s.Size)) * p * (1 - p) / (n - 1)
	}
	return sum, true
}

func stratifiedInterval(est Estimate, size, sampled, level float64) Interval {
	iv := Interval{Low: est.Value, High: est.Value, Level: level, Method: MethodCensus}
	if sampled == size {
		return iv
	}
	iv.Method = MethodStratified
	effective := sampled
	if est.SE > 0 {
		effective = est.Value * (1 - est.Value) / (est.SE * est.SE)
	} else {
		iv.Reason = "no sampled stratum varies: plain sample size"
	}
	iv.Low, iv.High = wilson(est.Value*effective, effective, zTwoSided(level))
	return iv
}

// Allocate divides n draws over strata in proportion to their sizes: whole parts first, the rest to the largest
// remainders, ties to the earlier stratum. No stratum gets more than its size; what it cannot use goes to the others in
// proportion again. The sum is min(n, Σ sizes).
func Allocate(sizes []int, n int) ([]int, error) {
	return AllocateCapped(sizes, sizes, n)
}

// AllocateCapped is Allocate with weights that need not be the sizes and with a cap for each stratum.
func AllocateCapped(weights, caps []int, n int) ([]int, error) {
	const fn = "AllocateCapped"
	if n < 0 || n > maxCount {
		return nil, &ArgumentError{Func: fn, Arg: "n", Value: n}
	}
	if len(weights) != len(caps) {
		return nil, &ArgumentError{Func: fn, Arg: "caps", Value: len(caps)}
	}
	for i := range weights {
		if weights[i] < 0 || weights[i] > maxCount {
			return nil, &ArgumentError{Func: fn, Arg: "weights", Value: weights[i]}
		}
		if caps[i] < 0 || caps[i] > maxCount {
			return nil, &ArgumentError{Func: fn, Arg: "caps", Value: caps[i]}
		}
	}
	out := make([]int, len(weights))
	for left := n; left > 0; {
		given := allocateRound(out, weights, caps, left)
		if given == 0 {
			break // every stratum is full
		}
		left -= given
	}
	return out, nil
}

// allocateRound hands out left draws among the strata that are not full and returns how many found a place. All is in
// integers: a remainder in floating point could break a tie.
func allocateRound(out, weights, caps []int, left int) int {
	total := 0
	for i, w := range weights {
		if out[i] < caps[i] {
			total += w
		}
	}
	if total == 0 {
		return 0
	}
	share, remainder := make([]int, len(out)), make([]int, len(out))
	rest := left
	for i, w := range weights {
		remainder[i] = -1
		if out[i] < caps[i] {
			share[i], remainder[i] = left*w/total, left*w%total
			rest -= share[i]
		}
	}
	for ; rest > 0; rest-- {
		best := 0
		for i, r := range remainder {
			if r > remainder[best] {
				best = i
			}
		}
		share[best]++
		remainder[best] = -1
	}
	given := 0
	for i := range out {
		take := min(share[i], caps[i]-out[i])
		out[i] += take
		given += take
	}
	return given
}
