package stats

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestProportionsFixture(t *testing.T) {
	var f struct {
		Cases []struct {
			K, N             int
			Conf             float64
			Wilson           []float64
			ClopperPearson   []float64 `json:"clopper_pearson"`
			JeffreysModified []float64 `json:"jeffreys_modified"`
		}
		OneSided []struct {
			N              int
			Conf           float64
			Lower          float64 `json:"lower_bound_all_pass"`
			UpperAllFailed float64 `json:"upper_bound_all_fail"`
		} `json:"one_sided_zero_failures"`
		BetaBinomial []struct {
			K, N      int
			Conf      float64
			Prior, CI []float64
			Mean      float64
		} `json:"beta_binomial"`
	}
	mustFixture(t, "proportions.json", &f)
	for _, c := range f.Cases {
		what := fmt.Sprintf("%d of %d at %g", c.K, c.N, c.Conf)
		iv, err := Wilson(c.K, c.N, c.Conf)
		nearInterval(t, "wilson "+what, iv, err, c.Wilson, 1e-9)
		iv, err = ClopperPearson(c.K, c.N, c.Conf)
		nearInterval(t, "clopper-pearson "+what, iv, err, c.ClopperPearson, 1e-9)
		iv, err = Jeffreys(c.K, c.N, c.Conf)
		nearInterval(t, "jeffreys "+what, iv, err, c.JeffreysModified, 1e-9)
	}
	for _, c := range f.OneSided {
		low, err := ClopperPearsonLower(c.N, c.N, c.Conf)
		if err != nil {
			t.Fatal(err)
		}
		near(t, fmt.Sprintf("all of %d pass", c.N), low, c.Lower, 1e-9)
		high, err := ClopperPearsonUpper(0, c.N, c.Conf)
		if err != nil {
			t.Fatal(err)
		}
		near(t, fmt.Sprintf("all of %d fail", c.N), high, c.UpperAllFailed, 1e-9)
	}
	for _, c := range f.BetaBinomial {
		mean, iv, err := BetaBinomial(c.K, c.N, c.Prior[0], c.Prior[1], c.Conf)
		what := fmt.Sprintf("beta-binomial %d of %d %v", c.K, c.N, c.Prior)
		nearInterval(t, what, iv, err, c.CI, 1e-9)
		near(t, what, mean, c.Mean, 1e-12)
	}
}

// encoding/json folds the keys n and N, a map keeps them apart.
func TestFiniteFixture(t *testing.T) {
	var f struct {
		Finite []map[string]any `json:"finite_population"`
	}
	mustFixture(t, "proportions.json", &f)
	for _, c := range f.Finite {
		k, n, size := int(c["k"].(float64)), int(c["n"].(float64)), int(c["N"].(float64))
		level := c["conf"].(float64)
		what := fmt.Sprintf("%d of %d from %d at %g", k, n, size, level)
		iv, err := FiniteProportion(k, n, size, level)
		nearInterval(t, "exact "+what, iv, err, pair(c["exact_p"]), 1e-12)
		if want := map[bool]string{true: MethodCensus, false: MethodHypergeometric}[n == size]; iv.Method != want {
			t.Errorf("%s: method %q, want %q", what, iv.Method, want)
		}
		iv, err = WilsonFinite(k, n, size, level)
		nearInterval(t, "wilson "+what, iv, err, pair(c["wilson_fpc"]), 1e-9)
	}
}

func pair(v any) []float64 {
	l := v.([]any)
	return []float64{l[0].(float64), l[1].(float64)}
}

// The definition, by counting populations one by one.
func TestFiniteProportionByBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(2, 60).Draw(t, "N")
		n := rapid.IntRange(1, size-1).Draw(t, "n")
		k := rapid.IntRange(0, n).Draw(t, "k")
		level := drawLevel(t)
		low, high := -1, -1
		for marked := range size + 1 {
			var atLeast, atMost float64
			for x := range n + 1 {
				p := math.Exp(logHypergeometric(x, n, marked, size))
				if x >= k {
					atLeast += p
				}
				if x <= k {
					atMost += p
				}
			}
			if low < 0 && atLeast > (1-level)/2*(1+quantileSlack) {
				low = marked
			}
			if atMost > (1-level)/2*(1+quantileSlack) {
				high = marked
			}
		}
		iv, err := FiniteProportion(k, n, size, level)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(iv.Low*float64(size)-float64(low)) > 1e-9 || math.Abs(iv.High*float64(size)-float64(high)) > 1e-9 {
			t.Fatalf("got %+v, want %d to %d of %d", iv, low, high, size)
		}
	})
}

type proportionInterval func(k, n int, level float64) (Interval, error)

var proportionIntervals = map[string]proportionInterval{
	"wilson": Wilson, "clopper_pearson": ClopperPearson, "jeffreys": Jeffreys, "bootstrap": BootstrapProportion,
	"finite of 400": func(k, n int, level float64) (Interval, error) { return FiniteProportion(k, n, 400, level) },
	"wilson of 400": func(k, n int, level float64) (Interval, error) { return WilsonFinite(k, n, 400, level) },
}

// drawLevel includes levels whose tails are met exactly by small samples of fair coins.
func drawLevel(t *rapid.T) float64 {
	return rapid.OneOf(
		rapid.Float64Range(0.8, 0.999), rapid.SampledFrom([]float64{0.875, 0.9, 0.9375, 0.95, 0.96875, 0.99}),
	).Draw(t, "level")
}

func mustInterval(tb rapid.TB, f proportionInterval, k, n int, level float64) Interval {
	tb.Helper()
	iv, err := f(k, n, level)
	if err != nil {
		tb.Fatalf("%d of %d at %g: %v", k, n, level, err)
	}
	return iv
}

func TestProportionLaws(t *testing.T) {
	const slack = 1e-12
	for name, f := range proportionIntervals {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				n := rapid.IntRange(0, 400).Draw(t, "n")
				k := rapid.IntRange(0, n).Draw(t, "k")
				level := drawLevel(t)
				iv := mustInterval(t, f, k, n, level)
				if !(iv.Low >= 0 && iv.Low <= iv.High && iv.High <= 1) {
					t.Fatalf("not inside [0, 1]: %+v", iv)
				}
				step := slack
				if iv.Method == MethodHypergeometric {
					step += 1.0 / 400 // k/n need not be a possible rate of 400
				}
				if n > 0 && !iv.containsNearly(float64(k)/float64(n), step) {
					t.Fatalf("does not contain the estimate: %+v", iv)
				}
				mirror := mustInterval(t, f, n-k, n, level)
				if math.Abs(mirror.Low-(1-iv.High)) > slack || math.Abs(mirror.High-(1-iv.Low)) > slack {
					t.Fatalf("not symmetric: %+v, mirrored %+v", iv, mirror)
				}
				wider := mustInterval(t, f, k, n, (level+1)/2)
				if wider.Low > iv.Low+slack || wider.High < iv.High-slack {
					t.Fatalf("shrinks with the level: %+v, then %+v", iv, wider)
				}
				// A fallback is another method, so the bootstrap is monotone only between its own intervals.
				if k < n {
					more := mustInterval(t, f, k+1, n, level)
					if more.Method == iv.Method && (more.Low < iv.Low-slack || more.High < iv.High-slack) {
						t.Fatalf("not monotone in k: %+v, then %+v", iv, more)
					}
				}
			})
		})
	}
}

func (i Interval) containsNearly(v, slack float64) bool { return i.Low-slack <= v && v <= i.High+slack }

func TestDegenerateBootstrapSaysSo(t *testing.T) {
	for _, c := range []struct{ k, n int }{{20, 20}, {0, 20}, {1, 1}, {0, 1}, {0, 0}, {0, 2}} {
		got := mustInterval(t, BootstrapProportion, c.k, c.n, 0.95)
		want := mustInterval(t, Wilson, c.k, c.n, 0.95)
		if got.Low != want.Low || got.High != want.High || got.Method != MethodWilson ||
			got.FallbackFrom != MethodPercentileExact || got.Reason == "" {
			t.Errorf("%d of %d: got %+v, want %+v as a fallback with a reason", c.k, c.n, got, want)
		}
	}
	if got := mustInterval(t, BootstrapProportion, 19, 20, 0.95); got.FallbackFrom != "" || got.Method != MethodPercentileExact {
		t.Errorf("19 of 20 needs no fallback, got %+v", got)
	}
}

func TestProportionArguments(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		k, n  int
		level float64
		arg   string
	}{
		{-1, 5, 0.95, "k"}, {6, 5, 0.95, "k"}, {0, -1, 0.95, "n"}, {1, math.MaxInt, 0.95, "n"},
		{1, 5, 0, "level"}, {1, 5, 1, "level"}, {1, 5, nan, "level"}, {1, 5, 95, "level"},
	} {
		for name, f := range proportionIntervals {
			_, err := f(c.k, c.n, c.level)
			bad, ok := errors.AsType[*ArgumentError](err)
			if !ok || (bad.Arg != c.arg && bad.Arg != "n") {
				t.Errorf("%s(%d, %d, %g): got error %v, want an ArgumentError about %s", name, c.k, c.n, c.level, err, c.arg)
			}
		}
	}
	if _, err := FiniteProportion(1, 5, 4, 0.95); err == nil {
		t.Error("a sample larger than its population is accepted")
	}
}

// Large counts must neither overflow nor lose their digits.
func TestLargeCounts(t *testing.T) {
	for _, n := range []int{100_000, 10_000_000, maxCount} {
		k := n / 10 * 9
		want := mustInterval(t, Wilson, k, n, 0.95)
		for _, f := range []proportionInterval{ClopperPearson, Jeffreys, BootstrapProportion} {
			got := mustInterval(t, f, k, n, 0.95)
			if tol := 5 / float64(n); math.Abs(got.Low-want.Low) > tol || math.Abs(got.High-want.High) > tol {
				t.Errorf("n=%d: %s %v..%v, wilson %v..%v", n, got.Method, got.Low, got.High, want.Low, want.High)
			}
		}
	}
}
