package stats

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

func TestBootstrapExactFixture(t *testing.T) {
	var f struct {
		Cases []struct {
			Name       string
			Data       []int
			N          int
			Mean       float64
			Less       float64 `json:"prob_less"`
			Equal      float64 `json:"prob_equal"`
			Percentile map[string][]float64
			BCa        *struct {
				Z0, A  float64
				Levels map[string]struct{ Alpha, CI []float64 }
			}
		}
	}
	mustFixture(t, "bootstrap_exact.json", &f)
	for _, c := range f.Cases {
		for text, want := range c.Percentile {
			level, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatal(err)
			}
			what := c.Name + " at " + text
			if c.BCa == nil {
				for _, boot := range []func([]int, float64, float64) (Interval, error){BootstrapExact, BCaExact} {
					_, err := boot(c.Data, 1, level)
					if _, ok := errors.AsType[*UndefinedError](err); !ok {
						t.Errorf("%s: got %v, want an UndefinedError", what, err)
					}
				}
				continue
			}
			wantBCa := c.BCa.Levels[text]
			iv, err := BootstrapExact(c.Data, 1, level)
			nearInterval(t, "lattice "+what, iv, err, want, 1e-12)
			iv, err = BCaExact(c.Data, 1, level)
			nearInterval(t, "lattice bca "+what, iv, err, wantBCa.CI, 1e-12)
			p := Pairs{Gained: countOf(c.Data, 1), Lost: countOf(c.Data, -1), Neither: countOf(c.Data, 0)}
			iv, err = BootstrapPaired(p, level)
			nearInterval(t, "paired "+what, iv, err, want, 1e-12)
			iv, err = BCaPaired(p, level)
			nearInterval(t, "paired bca "+what, iv, err, wantBCa.CI, 1e-12)
			if p.Lost == 0 {
				iv, err = BootstrapProportion(p.Gained, c.N, level)
				nearInterval(t, "proportion "+what, iv, err, want, 1e-12)
				iv, err = BCaProportion(p.Gained, c.N, level)
				nearInterval(t, "proportion bca "+what, iv, err, wantBCa.CI, 1e-12)
			}
			lower, upper, ok := bcaTails(c.BCa.Z0, c.BCa.A, level)
			if !ok {
				t.Errorf("%s: BCa tails do not exist", what)
			}
			near(t, what+" alpha low", lower, wantBCa.Alpha[0], 1e-9)
			near(t, what+" alpha high", 1-upper, wantBCa.Alpha[1], 1e-9)
		}
		if c.BCa == nil {
			continue
		}
		counts := []int{countOf(c.Data, -1), countOf(c.Data, 0), countOf(c.Data, 1)}
		dist, ok := sumDistribution(counts, c.N)
		if !ok {
			t.Fatalf("%s: no distribution", c.Name)
		}
		sum := counts[1] + 2*counts[2]
		below, at := dist.rank(sum)
		near(t, c.Name+" P(<)", below, c.Less, 1e-9)
		near(t, c.Name+" P(=)", at, c.Equal, 1e-9)
		near(t, c.Name+" a", latticeAcceleration(counts, c.N, sum), c.BCa.A, 1e-12)
	}
}

func countOf(data []int, v int) int {
	n := 0
	for _, d := range data {
		if d == v {
			n++
		}
	}
	return n
}

// Every resample of a few values, listed one by one.
func TestSumDistributionByBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.IntRange(0, 4), 1, 6).Draw(t, "values")
		n := len(values)
		counts := make([]int, 5)
		for _, v := range values {
			counts[v]++
		}
		want := map[int]int{}
		total := 1
		for range n {
			total *= n
		}
		for code := range total {
			sum := 0
			for c, i := code, 0; i < n; i++ {
				sum += values[c%n]
				c /= n
			}
			want[sum]++
		}
		dist, ok := sumDistribution(counts, n)
		if !ok {
			t.Fatal("no distribution")
		}
		for sum := range 4*n + 1 {
			_, at := dist.rank(sum)
			if math.Abs(at-float64(want[sum])/float64(total)) > 1e-14 {
				t.Fatalf("P(%d) = %g, want %d/%d", sum, at, want[sum], total)
			}
		}
	})
}

func TestLatticeAgreesWithBinomial(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine: nothing for the race detector")
	}
	for _, c := range []struct{ k, n int }{{1, 2}, {19, 20}, {500, 1000}, {1, 5000}, {300_000, 1_000_000}} {
		for _, level := range []float64{0.5, 0.9, 0.95, 0.999} {
			want := mustInterval(t, BootstrapProportion, c.k, c.n, level)
			got, err := BootstrapPaired(Pairs{Gained: c.k, Neither: c.n - c.k}, level)
			nearInterval(t, fmt.Sprintf("%d of %d", c.k, c.n), got, err, []float64{want.Low, want.High}, 1e-12)
		}
	}
}

func TestExactBootstrapOfGradedScores(t *testing.T) {
	quarters := []int{4, 4, 3, 4, 2, 4, 1, 4, 4, 3}
	iv, err := BootstrapExact(quarters, 0.25, 0.95)
	if err != nil || !iv.Contains(0.825) || iv.Low < 0 || iv.High > 1 {
		t.Errorf("got %+v, %v", iv, err)
	}
	shifted := slices.Clone(quarters)
	for i := range shifted {
		shifted[i] -= 7
	}
	low, err := BootstrapExact(shifted, 0.25, 0.95)
	nearInterval(t, "shifted", low, err, []float64{iv.Low - 1.75, iv.High - 1.75}, 1e-12)
	for _, c := range []struct {
		values []int
		unit   float64
	}{{[]int{0, 1 << 20}, 1}, {[]int{0, 1}, 0}, {[]int{0, 1}, math.NaN()}} {
		_, err := BootstrapExact(c.values, c.unit, 0.95)
		if _, ok := errors.AsType[*ArgumentError](err); !ok {
			t.Errorf("%v: got %v, want an ArgumentError", c, err)
		}
	}
}

// The search from the normal approximation finds what a search of all finds.
func TestBinomialBootstrapSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 400).Draw(t, "n")
		k := rapid.IntRange(1, n-1).Draw(t, "k")
		tail := rapid.SampledFrom([]float64{0.001, 0.005, 0.025, 0.05, 0.25, 0.4999}).Draw(t, "tail")
		want := 0
		for want < n && binomialCDF(want, n, float64(k)/float64(n)) < tail*(1-quantileSlack) {
			want++
		}
		if got := binomialBootstrap(k, n, tail); got != want {
			t.Fatalf("%d of %d at %g: got %d, want %d", k, n, tail, got, want)
		}
	})
}
