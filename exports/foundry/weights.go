package foundry

import (
	"math"

	"github.com/tracejury/tracejury/judge"
)

// Foundry's weights, and the deviation in percentage points from which a loss is a warning.
const (
	minWeight  = 1
	maxWeight  = 10
	warnPoints = 5.0
)

// weights are the criteria's weights as whole numbers of 1 to 10: divided by their greatest common divisor, and where that is
// not enough, scaled to the nearest. off is the largest change of a criterion's share of the total, in percentage points.
func weights(criteria []judge.Criterion) (out []int, off float64) {
	out = make([]int, len(criteria))
	divisor, largest, total := 0, 0, 0
	for i := range criteria {
		w := weight(&criteria[i])
		divisor, largest, total = gcd(divisor, w), max(largest, w), total+w
	}
	for i := range criteria {
		w := weight(&criteria[i])
		if largest/divisor <= maxWeight {
			out[i] = w / divisor
			continue
		}
		out[i] = max(minWeight, int(math.Round(float64(w)*maxWeight/float64(largest))))
	}
	sum := 0
	for _, w := range out {
		sum += w
	}
	for i := range criteria {
		was, is := float64(weight(&criteria[i]))/float64(total), float64(out[i])/float64(sum)
		if largest/divisor > maxWeight {
			off = max(off, 100*math.Abs(was-is))
		}
	}
	return out, off
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
