package stats

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestSamplingFixture(t *testing.T) {
	// Maps, because encoding/json folds the keys N and n.
	var f struct {
		Stratified []map[string]any
		Allocation []struct {
			Weights, Caps, Allocation []int
			N                         int
		}
		Plan []struct {
			Delta, Discordant float64
			Pairs             int `json:"n_pairs"`
		}
		MDE []struct {
			N          int
			Discordant float64
			MDE        float64 `json:"mde_approx"`
		}
	}
	mustFixture(t, "sampling.json", &f)
	for _, c := range f.Stratified {
		var strata []Stratum
		for _, s := range c["strata"].([]any) {
			m := s.(map[string]any)
			strata = append(strata, Stratum{int(m["N"].(float64)), int(m["n"].(float64)), int(m["k"].(float64))})
		}
		what := fmt.Sprint(c["name"])
		got, err := Stratified(strata, 0.95)
		near(t, what, got.Value, c["estimate"].(float64), 1e-9)
		if c["se"] == nil {
			if _, ok := errors.AsType[*UndefinedError](err); !ok {
				t.Errorf("%s: got %v, want an UndefinedError", what, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		near(t, what+" SE", got.SE, c["se"].(float64), 1e-9)
	}
	for _, c := range f.Allocation {
		got, err := AllocateCapped(c.Weights, c.Caps, c.N)
		if err != nil || !slices.Equal(got, c.Allocation) {
			t.Errorf("%+v: got %v, %v", c, got, err)
		}
	}
	for _, c := range f.Plan {
		got, err := RequiredPairs(c.Delta, c.Discordant, 0.95, 0.8)
		if err != nil || got != c.Pairs {
			t.Errorf("%+v: got %d, %v", c, got, err)
		}
	}
	for _, c := range f.MDE {
		got, err := DetectableDifference(c.N, c.Discordant, 0.95, 0.8)
		if err != nil {
			t.Error(err)
		}
		near(t, fmt.Sprintf("%+v", c), got, c.MDE, 1e-9)
	}
}

func TestStratifiedLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		strata := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Stratum {
			size := rapid.IntRange(0, 200).Draw(t, "size")
			sampled := rapid.IntRange(0, size).Draw(t, "sampled")
			return Stratum{size, sampled, rapid.IntRange(0, sampled).Draw(t, "passed")}
		}), 0, 6).Draw(t, "strata")
		got, err := Stratified(strata, 0.95)
		if _, ok := errors.AsType[*UndefinedError](err); ok {
			return
		}
		iv := got.Interval
		if err != nil || !(iv.Low >= 0 && iv.High <= 1 && iv.containsNearly(got.Value, 1e-12)) || !finite(got.SE) {
			t.Fatalf("got %+v, %v", got, err)
		}
		if (iv.Method == MethodCensus) != (iv.Width() == 0) {
			t.Fatalf("only a census has no width: %+v", iv)
		}
	})
	// One stratum is simple random sampling: its SE is that of WilsonFinite's effective size, but for n−1.
	got, err := Stratified([]Stratum{{200, 20, 18}}, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "one stratum", got.SE, math.Sqrt(0.9*0.1/19*0.9), 1e-12)
}

func TestAllocateLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(0, 300), 0, 8).Draw(t, "sizes")
		n := rapid.IntRange(0, 1500).Draw(t, "n")
		got, err := Allocate(sizes, n)
		if err != nil {
			t.Fatal(err)
		}
		sum, total := 0, 0
		for _, s := range sizes {
			total += s
		}
		for i, g := range got {
			sum += g
			if g < 0 || g > sizes[i] {
				t.Fatalf("stratum of %d got %d", sizes[i], g)
			}
			if total > 0 && n <= total && math.Abs(float64(g)-float64(n)*float64(sizes[i])/float64(total)) > 1 {
				t.Fatalf("stratum of %d of %d got %d of %d: more than one from its quota", sizes[i], total, g, n)
			}
		}
		if sum != min(n, total) {
			t.Fatalf("allocated %d of %d, want %d", sum, n, min(n, total))
		}
	})
	for _, bad := range [][2][]int{{{-1}, {1}}, {{1}, {-1}}, {{1, 2}, {1}}} {
		if got, err := AllocateCapped(bad[0], bad[1], 3); err == nil {
			t.Errorf("%v: got %v, want an error", bad, got)
		}
	}
}

func TestPlanArguments(t *testing.T) {
	for name, f := range map[string]func() error{
		"no pairs":              func() error { _, err := DetectableDifference(0, 0.1, 0.95, 0.8); return err },
		"nothing discordant":    func() error { _, err := DetectableDifference(10, 0, 0.95, 0.8); return err },
		"power":                 func() error { _, err := DetectableDifference(10, 0.1, 0.95, 1); return err },
		"delta too large":       func() error { _, err := RequiredPairs(0.3, 0.2, 0.95, 0.8); return err },
		"NaN":                   func() error { _, err := RequiredPairs(math.NaN(), 0.2, 0.95, 0.8); return err },
		"a promise of 1":        func() error { _, err := RequiredAllPass(1, 0.95); return err },
		"rate":                  func() error { _, err := DetectableChange(-0.1, 10, 10, 0.95, 0.8); return err },
		"an empty second night": func() error { _, err := DetectableChange(0.9, 10, 0, 0.95, 0.8); return err },
	} {
		if _, ok := errors.AsType[*ArgumentError](f()); !ok {
			t.Errorf("%s: got %v, want an ArgumentError", name, f())
		}
	}
	if got, err := DetectableChange(1, 20, 20, 0.95, 0.8); err != nil || !(got > 0 && got < 1) {
		t.Errorf("two nights of 20 that all pass: got %g, %v", got, err)
	}
}
