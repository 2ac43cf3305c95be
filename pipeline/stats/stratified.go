package stats

// Stratum is a part of a population, such as one service: Size units, of which Sampled were drawn and Passed passed.
type Stratum struct {
	Size, Sampled, Passed int
}

// Stratified is the pass rate of the population, each stratum weighing as its size, with the standard error
// √Σ (N_h/N)²(1 − n_h/N_h)·s²_h/n_h and s²_h = n_h·p(1−p)/(n_h−1). A completely sampled stratum adds no error; one that has
// a single sampled unit but more units leaves SE and interval undefined, though Value is set beside the error. Empty
// strata are left out. The interval is that of [StratifiedDomain].
func Stratified(strata []Stratum, level float64) (Estimate, error) {
	domain := make([]DomainStratum, len(strata))
	for i, s := range strata {
		domain[i] = DomainStratum{Size: s.Size, Sampled: s.Sampled, In: s.Sampled, Met: s.Passed}
	}
	return stratifiedDomain("Stratified", domain, level)
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
