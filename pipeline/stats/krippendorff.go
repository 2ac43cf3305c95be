package stats

import (
	"math"
	"slices"
)

// Metric is the distance between two ratings in Krippendorff's alpha.
type Metric int

// The metrics: equal or not, distance in ranks (weighted by how often the categories between occur), squared
// difference, squared difference relative to the sum.
const (
	NominalMetric Metric = iota
	OrdinalMetric
	IntervalMetric
	RatioMetric
)

// KrippendorffAlpha is the reliability of any number of raters, ratings[u] being those that unit u received, in any order
// and number: a missing rating is simply absent, and a unit with fewer than two says nothing (Krippendorff 2011). N
// counts the ratings that could be paired; Observed and Expected are disagreements here, not agreements. It is
// undefined when all of them are equal. RatioMetric needs ratings of at least 0.
func KrippendorffAlpha(ratings [][]float64, metric Metric) (Agreement, error) {
	const fn = "KrippendorffAlpha"
	if metric < NominalMetric || metric > RatioMetric {
		return Agreement{}, &ArgumentError{Func: fn, Arg: "metric", Value: metric}
	}
	values, err := ratingValues(fn, ratings, metric)
	if err != nil {
		return Agreement{}, err
	}
	if len(values) < 2 {
		return Agreement{}, &UndefinedError{Func: fn, Reason: "fewer than two different ratings that can be paired"}
	}
	coincidence, totals, n := coincidences(ratings, values)
	distance := metric.distances(values, totals)
	a := Agreement{N: n}
	for i := range values {
		for j := range values {
			a.Observed += coincidence[i][j] * distance[i][j]
			a.Expected += totals[i] * totals[j] * distance[i][j]
		}
	}
	a.Observed /= float64(n)
	a.Expected /= float64(n) * float64(n-1)
	if !(a.Expected > 0) || !finite(a.Expected) || !finite(a.Observed) {
		return Agreement{N: n}, &UndefinedError{Func: fn, Reason: "the ratings have no measurable distance"}
	}
	a.Coefficient = 1 - a.Observed/a.Expected
	return a, nil
}

// ratingValues are the different ratings of units that have at least two, ascending.
func ratingValues(fn string, ratings [][]float64, metric Metric) ([]float64, error) {
	seen := make(map[float64]bool)
	for _, unit := range ratings {
		if err := checkFinite(fn, "ratings", unit); err != nil {
			return nil, err
		}
		for _, v := range unit {
			if metric == RatioMetric && v < 0 {
				return nil, &ArgumentError{Func: fn, Arg: "ratings", Value: v}
			}
			if len(unit) > 1 {
				seen[v] = true
			}
		}
		if len(seen) > maxCategories {
			return nil, &ArgumentError{Func: fn, Arg: "ratings", Value: len(seen)}
		}
	}
	values := make([]float64, 0, len(seen))
	for v := range seen {
		values = append(values, v)
	}
	slices.Sort(values)
	return values, nil
}

// coincidences counts ordered pairs of ratings within a unit of m, each with weight 1/(m−1).
func coincidences(ratings [][]float64, values []float64) (matrix [][]float64, totals []float64, n int) {
	matrix = make([][]float64, len(values))
	for i := range matrix {
		matrix[i] = make([]float64, len(values))
	}
	totals = make([]float64, len(values))
	counts := make([]int, len(values))
	var present []int
	for _, unit := range ratings {
		if len(unit) < 2 {
			continue
		}
		n += len(unit)
		present = present[:0]
		for _, v := range unit {
			i, _ := slices.BinarySearch(values, v)
			if counts[i]++; counts[i] == 1 {
				present = append(present, i)
			}
			totals[i]++
		}
		slices.Sort(present)
		for _, i := range present {
			for _, j := range present {
				pairs := counts[i] * counts[j]
				if i == j {
					pairs = counts[i] * (counts[i] - 1)
				}
				matrix[i][j] += float64(pairs) / float64(len(unit)-1)
			}
		}
		for _, i := range present {
			counts[i] = 0
		}
	}
	return matrix, totals, n
}

func (m Metric) distances(values, totals []float64) [][]float64 {
	cumulative := make([]float64, len(values)+1)
	for i, t := range totals {
		cumulative[i+1] = cumulative[i] + t
	}
	out := make([][]float64, len(values))
	for i, a := range values {
		out[i] = make([]float64, len(values))
		for j, b := range values {
			var d float64
			switch {
			case i == j:
			case m == NominalMetric:
				d = 1
			case m == OrdinalMetric:
				low, high := min(i, j), max(i, j)
				d = cumulative[high+1] - cumulative[low] - (totals[i]+totals[j])/2
			case m == IntervalMetric:
				d = a - b
			case m == RatioMetric:
				d = (a - b) / (a + b)
			}
			out[i][j] = math.Pow(d, 2)
		}
	}
	return out
}
