package stats

import (
	"fmt"
	"math"
)

// maxCategories bounds the q² work on a table and its memory.
const maxCategories = 2000

// Weights say how much a disagreement between the categories i and j counts as agreement.
type Weights int

// Nominal counts every disagreement in full. Linear and Quadratic are for ordered categories.
const (
	Nominal Weights = iota
	Linear
	Quadratic
)

func (w Weights) valid() bool { return w >= Nominal && w <= Quadratic }

func (w Weights) at(i, j, q int) float64 {
	if i == j {
		return 1
	}
	d := math.Abs(float64(i-j)) / float64(q-1)
	switch w {
	case Linear:
		return 1 - d
	case Quadratic:
		return 1 - d*d
	}
	return 0
}

// Agreement is a chance-corrected coefficient with the raw agreement that belongs beside it: with one dominant category
// kappa can be near 0 while the raters agree on nearly everything.
type Agreement struct {
	N                  int
	Coefficient        float64
	Observed, Expected float64
	// SE is the large-sample standard error, and SENull the one under the hypothesis that the coefficient is 0. Both are
	// 0 where the coefficient has none here; use BootstrapStatistic over items then.
	SE, SENull float64
}

// Table counts two raters' categories 0 … categories−1 of the same items: a table for the functions below.
func Table(first, second []int, categories int) ([][]int, error) {
	const fn = "Table"
	if categories < 1 || categories > maxCategories {
		return nil, &ArgumentError{Func: fn, Arg: "categories", Value: categories}
	}
	if len(first) != len(second) {
		return nil, &ArgumentError{Func: fn, Arg: "second", Value: len(second)}
	}
	out := make([][]int, categories)
	for i := range out {
		out[i] = make([]int, categories)
	}
	for i, a := range first {
		b := second[i]
		if a < 0 || a >= categories {
			return nil, &ArgumentError{Func: fn, Arg: "first", Value: a}
		}
		if b < 0 || b >= categories {
			return nil, &ArgumentError{Func: fn, Arg: "second", Value: b}
		}
		out[a][b]++
	}
	return out, nil
}

// Used is the table without the categories that neither rater ever used. GwetAC takes every category of its table for one that chance
// could have picked: with four offered and two used it would flatter.
func Used(table [][]int) [][]int {
	var keep []int
	for c := range table {
		for k := range table {
			if table[c][k] > 0 || table[k][c] > 0 {
				keep = append(keep, c)
				break
			}
		}
	}
	out := make([][]int, len(keep))
	for i, r := range keep {
		for _, c := range keep {
			out[i] = append(out[i], table[r][c])
		}
	}
	return out
}

// shares turns a square table into proportions and margins.
type shares struct {
	n        int
	cell     [][]float64
	row, col []float64
}

func tableShares(fn string, table [][]int) (shares, error) {
	q := len(table)
	if q < 1 || q > maxCategories {
		return shares{}, &ArgumentError{Func: fn, Arg: "table", Value: q}
	}
	s := shares{cell: make([][]float64, q), row: make([]float64, q), col: make([]float64, q)}
	for _, r := range table {
		if len(r) != q {
			return shares{}, &ArgumentError{Func: fn, Arg: "table", Value: len(r)}
		}
		for _, c := range r {
			if c < 0 || c > maxCount || s.n > maxCount {
				return shares{}, &ArgumentError{Func: fn, Arg: "table", Value: c}
			}
			s.n += c
		}
	}
	if s.n == 0 {
		return shares{}, &UndefinedError{Func: fn, Reason: "no items"}
	}
	for i, r := range table {
		s.cell[i] = make([]float64, q)
		for j, c := range r {
			p := float64(c) / float64(s.n)
			s.cell[i][j] = p
			s.row[i] += p
			s.col[j] += p
		}
	}
	return s, nil
}

// oneCategory reports whether all of a margin lies in one place, from counts, so that rounding cannot matter.
func oneCategory(table [][]int) bool {
	rows, cols := make(map[int]bool), make(map[int]bool)
	for i, r := range table {
		for j, c := range r {
			if c > 0 {
				rows[i], cols[j] = true, true
			}
		}
	}
	if len(rows) != 1 || len(cols) != 1 {
		return false
	}
	for i := range rows {
		return cols[i]
	}
	return false
}

// CohenKappa is kappa of two raters, table[i][j] items having been put into i by the first and j by the second; weighted
// kappa with Linear or Quadratic. The standard errors are those of Fleiss, Cohen and Everitt 1969. When both raters use
// one and the same category only, kappa is 0/0: the error is an UndefinedError, and Observed is set nevertheless.
func CohenKappa(table [][]int, w Weights) (Agreement, error) {
	const fn = "CohenKappa"
	if !w.valid() {
		return Agreement{}, &ArgumentError{Func: fn, Arg: "w", Value: w}
	}
	s, err := tableShares(fn, table)
	if err != nil {
		return Agreement{}, err
	}
	q := len(table)
	a := Agreement{N: s.n}
	// The mean weight of a row's category against the other rater's margin, and of a column's.
	rowMean, colMean := make([]float64, q), make([]float64, q)
	// Disagreements are summed apart: 1 − Expected would cancel when one category dominates.
	var observed, expected float64
	for i := range q {
		for j := range q {
			weight := w.at(i, j, q)
			a.Observed += weight * s.cell[i][j]
			a.Expected += weight * s.row[i] * s.col[j]
			rowMean[i] += weight * s.col[j]
			colMean[j] += weight * s.row[i]
			observed += (1 - weight) * s.cell[i][j]
			expected += (1 - weight) * s.row[i] * s.col[j]
		}
	}
	if oneCategory(table) {
		a.Observed, a.Expected = 1, 1
		return a, &UndefinedError{Func: fn, Reason: "both raters used one and the same category only"}
	}
	a.Coefficient = 1 - observed/expected
	var variance, null float64
	for i := range q {
		for j := range q {
			weight, means := w.at(i, j, q), rowMean[i]+colMean[j]
			d := weight - means*(1-a.Coefficient)
			variance += s.cell[i][j] * d * d
			d = weight - means
			null += s.row[i] * s.col[j] * d * d
		}
	}
	c := a.Coefficient - a.Expected*(1-a.Coefficient)
	scale := expected * math.Sqrt(float64(s.n))
	a.SE = math.Sqrt(math.Max(0, variance-c*c)) / scale
	a.SENull = math.Sqrt(math.Max(0, null-a.Expected*a.Expected)) / scale
	return a, nil
}

// GwetAC is Gwet's AC1 with Nominal weights and AC2 with the others (Gwet 2008). Unlike kappa it does not collapse when
// one category dominates. With a single category in the table it does not exist.
func GwetAC(table [][]int, w Weights) (Agreement, error) {
	const fn = "GwetAC"
	if !w.valid() {
		return Agreement{}, &ArgumentError{Func: fn, Arg: "w", Value: w}
	}
	s, err := tableShares(fn, table)
	if err != nil {
		return Agreement{}, err
	}
	q := len(table)
	if q < 2 {
		return Agreement{N: s.n, Observed: 1}, &UndefinedError{Func: fn, Reason: "one category"}
	}
	a := Agreement{N: s.n}
	var weights, spread float64
	for i := range q {
		pi := (s.row[i] + s.col[i]) / 2
		spread += pi * (1 - pi)
		for j := range q {
			weight := w.at(i, j, q)
			weights += weight
			a.Observed += weight * s.cell[i][j]
		}
	}
	a.Expected = weights / float64(q*(q-1)) * spread
	if a.Expected >= 1 {
		return a, &UndefinedError{Func: fn, Reason: "expected agreement is complete"}
	}
	a.Coefficient = (a.Observed - a.Expected) / (1 - a.Expected)
	return a, nil
}

// FleissKappa is the agreement of several raters: counts[i][c] of them put item i into category c, as many for every
// item. It is undefined when only one category was ever used.
func FleissKappa(counts [][]int) (Agreement, error) {
	const fn = "FleissKappa"
	a := Agreement{N: len(counts)}
	if len(counts) == 0 {
		return a, &UndefinedError{Func: fn, Reason: "no items"}
	}
	q, raters := len(counts[0]), 0
	if q < 1 || q > maxCategories {
		return Agreement{}, &ArgumentError{Func: fn, Arg: "counts", Value: q}
	}
	totals := make([]float64, q)
	for i, row := range counts {
		if len(row) != q {
			return Agreement{}, &ArgumentError{Func: fn, Arg: "counts", Value: len(row)}
		}
		sum, pairs := 0, 0.0
		for c, v := range row {
			if v < 0 || v > maxCount/maxCategories {
				return Agreement{}, &ArgumentError{Func: fn, Arg: "counts", Value: v}
			}
			sum += v
			pairs += float64(v) * float64(v-1)
			totals[c] += float64(v)
		}
		if i == 0 {
			raters = sum
		}
		if sum != raters || raters < 2 {
			return Agreement{}, &ArgumentError{Func: fn, Arg: "counts", Value: sum}
		}
		a.Observed += pairs / (float64(raters) * float64(raters-1))
	}
	a.Observed /= float64(len(counts))
	all := float64(raters) * float64(len(counts))
	for _, v := range totals {
		if v == all {
			a.Observed, a.Expected = 1, 1
			return a, &UndefinedError{Func: fn, Reason: "only one category was used"}
		}
		a.Expected += v / all * v / all
	}
	a.Coefficient = (a.Observed - a.Expected) / (1 - a.Expected)
	return a, nil
}

// FlipRate is the share of items that changed between two runs of the same rater.
func FlipRate(first, second []int) (float64, error) {
	const fn = "FlipRate"
	if len(first) != len(second) {
		return 0, &ArgumentError{Func: fn, Arg: "second", Value: len(second)}
	}
	if len(first) == 0 {
		return 0, &UndefinedError{Func: fn, Reason: "no items"}
	}
	flips := 0
	for i := range first {
		if first[i] != second[i] {
			flips++
		}
	}
	return float64(flips) / float64(len(first)), nil
}

// Noise splits the variance of repeated measurements: the variance of the mean of n items, each measured K times, is
// (Between + Within/K)/n, so repeating a measurement shrinks only the second part (Miller 2024).
type Noise struct {
	Items, Repeats  int
	Between, Within float64
}

// RepeatNoise estimates Noise from scores[item][repeat], the same number of repeats, at least two, for at least two items.
// Between is what remains of the variance of the item means, never below 0.
func RepeatNoise(scores [][]float64) (Noise, error) {
	const fn = "RepeatNoise"
	if len(scores) < 2 {
		return Noise{}, &UndefinedError{Func: fn, Reason: fmt.Sprintf("%d items", len(scores))}
	}
	k := len(scores[0])
	if k < 2 {
		return Noise{}, &UndefinedError{Func: fn, Reason: fmt.Sprintf("%d repeats", k)}
	}
	out := Noise{Items: len(scores), Repeats: k}
	means := make([]float64, len(scores))
	for i, row := range scores {
		if len(row) != k {
			return Noise{}, &ArgumentError{Func: fn, Arg: "scores", Value: len(row)}
		}
		if err := checkFinite(fn, "scores", row); err != nil {
			return Noise{}, err
		}
		mean, se := meanSE(row)
		means[i] = mean
		out.Within += se * se * float64(k) / float64(len(scores))
	}
	_, se := meanSE(means)
	out.Between = math.Max(0, se*se*float64(len(scores))-out.Within/float64(k))
	return out, nil
}
