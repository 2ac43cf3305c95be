package stats

import (
	"cmp"
	"slices"
)

// Adjusted p-values come in the order of the input, never below it and never above 1. Leave tests that could not be
// made out of the input: they count as comparisons otherwise.

// Bonferroni multiplies every p by their number: the family-wise error under any dependence, with the least power.
func Bonferroni(p []float64) ([]float64, error) {
	n := float64(len(p))
	return adjust("Bonferroni", p, stepAlone, func(int) float64 { return n })
}

// Holm controls the family-wise error under any dependence and is never weaker than Bonferroni. Use it for gates.
func Holm(p []float64) ([]float64, error) {
	n := len(p)
	return adjust("Holm", p, stepDown, func(rank int) float64 { return float64(n - rank) })
}

// Hochberg controls the family-wise error for independent or positively dependent tests.
func Hochberg(p []float64) ([]float64, error) {
	n := len(p)
	return adjust("Hochberg", p, stepUp, func(rank int) float64 { return float64(n - rank) })
}

// BenjaminiHochberg controls the false discovery rate for independent or positively dependent tests. Use it for lists.
func BenjaminiHochberg(p []float64) ([]float64, error) {
	n := float64(len(p))
	return adjust("BenjaminiHochberg", p, stepUp, func(rank int) float64 { return n / float64(rank+1) })
}

// BenjaminiYekutieli controls the false discovery rate under any dependence.
func BenjaminiYekutieli(p []float64) ([]float64, error) {
	n, harmonic := float64(len(p)), 0.0
	for i := range p {
		harmonic += 1 / float64(i+1)
	}
	return adjust("BenjaminiYekutieli", p, stepUp, func(rank int) float64 { return n * harmonic / float64(rank+1) })
}

type step int

const (
	stepAlone step = iota
	stepDown       // from the smallest: never below the adjusted value before it
	stepUp         // from the largest: never above the adjusted value after it
)

// adjust multiplies the p of each rank, 0 the smallest, and makes the result monotone.
func adjust(fn string, p []float64, direction step, factor func(rank int) float64) ([]float64, error) {
	order := make([]int, len(p))
	for i, v := range p {
		if err := checkUnit(fn, "p", v); err != nil {
			return nil, err
		}
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	out := make([]float64, len(p))
	for rank, i := range order {
		out[i] = min(1, p[i]*factor(rank))
		if direction == stepDown && rank > 0 {
			out[i] = max(out[i], out[order[rank-1]])
		}
	}
	if direction == stepUp {
		for rank := len(order) - 2; rank >= 0; rank-- {
			out[order[rank]] = min(out[order[rank]], out[order[rank+1]])
		}
	}
	return out, nil
}
