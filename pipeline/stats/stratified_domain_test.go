package stats

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func drawDomain(t *rapid.T, label string) DomainStratum {
	sampled := rapid.IntRange(2, 40).Draw(t, label+" sampled")
	in := rapid.IntRange(0, sampled).Draw(t, label+" in")
	return DomainStratum{Size: sampled + rapid.IntRange(0, 200).Draw(t, label+" more"), Sampled: sampled, In: in, Met: rapid.IntRange(0, in).Draw(t, label+" met")}
}

func TestStratifiedDomainLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		strata := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) DomainStratum { return drawDomain(t, "stratum") }), 1, 6).Draw(t, "strata")
		got, err := StratifiedDomain(strata, 0.95)
		if _, ok := errors.AsType[*UndefinedError](err); ok {
			return
		}
		if err != nil || !finite(got.SE) || !got.Interval.containsNearly(got.Value, 1e-12) || got.Interval.Low < 0 || got.Interval.High > 1 {
			t.Fatalf("got %+v, %v", got, err)
		}
		// The order of strata does not matter.
		other := append([]DomainStratum{strata[len(strata)-1]}, strata[:len(strata)-1]...)
		again, err := StratifiedDomain(other, 0.95)
		if err != nil || math.Abs(again.Value-got.Value) > 1e-12 || math.Abs(again.SE-got.SE) > 1e-9 {
			t.Fatalf("another order: %+v, %v, was %+v", again, err, got)
		}
		// What is in between two rates stays there.
		low, high := 1.0, 0.0
		for _, s := range strata {
			if s.In > 0 {
				p := float64(s.Met) / float64(s.In)
				low, high = min(low, p), max(high, p)
			}
		}
		if got.Value < low-1e-12 || got.Value > high+1e-12 {
			t.Fatalf("%g is outside of what the strata have: %g to %g", got.Value, low, high)
		}
	})
}

// Where every stratum is drawn at the same rate, weights are all alike: the estimate is that without any.
func TestStratifiedDomainWithEqualFractionsIsUnweighted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		times := rapid.IntRange(1, 9).Draw(t, "one of so many")
		var strata []DomainStratum
		met, in := 0, 0
		for range rapid.IntRange(1, 6).Draw(t, "strata") {
			s := drawDomain(t, "stratum")
			s.Size = s.Sampled * times
			strata = append(strata, s)
			met, in = met+s.Met, in+s.In
		}
		got, err := StratifiedDomain(strata, 0.95)
		if in == 0 {
			if err == nil {
				t.Fatal("a rate of nothing")
			}
			return
		}
		if err != nil || math.Abs(got.Value-float64(met)/float64(in)) > 1e-12 {
			t.Fatalf("got %+v, %v, want %d/%d", got, err, met, in)
		}
		if times > 1 && got.Effective > float64(in)*float64(times)/float64(times-1)+1e-6 {
			t.Fatalf("%g effective observations of %d, one of %d drawn", got.Effective, in, times)
		}
	})
}

// The whole is the mean of its parts by their sizes.
func TestStratifiedWholeIsTheMeanOfItsParts(t *testing.T) {
	strata := []DomainStratum{{1000, 20, 20, 19}, {50, 20, 20, 10}, {8, 8, 8, 2}}
	got, err := StratifiedDomain(strata, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "whole", got.Value, (1000*0.95+50*0.5+8*0.25)/1058, 1e-12)
}

// A large stratum of which all passed hides its error from SE, and the interval must not believe it: simulated coverage.
func TestStratifiedDomainCovers(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 20261130))
	for _, c := range []struct {
		name  string
		sizes []int
		rates []float64
		draw  int
		least float64
	}{
		{"a large good service and a small bad one", []int{2000, 40}, []float64{0.97, 0.5}, 20, 0.93},
		{"equal services", []int{300, 300, 300}, []float64{0.9, 0.8, 0.95}, 20, 0.94},
		{"nearly all drawn", []int{25, 30}, []float64{0.9, 0.6}, 20, 0.94},
	} {
		const rounds = 3000
		covered := 0
		for range rounds {
			strata := make([]DomainStratum, len(c.sizes))
			truth, total := 0, 0
			for i, size := range c.sizes {
				good := int(math.Round(c.rates[i] * float64(size)))
				truth, total = truth+good, total+size
				strata[i] = DomainStratum{Size: size, Sampled: c.draw, In: c.draw}
				left, goodLeft := size, good
				for range c.draw { // without replacement
					if random.IntN(left) < goodLeft {
						strata[i].Met++
						goodLeft--
					}
					left--
				}
			}
			got, err := StratifiedDomain(strata, 0.95)
			if err != nil {
				t.Fatal(err)
			}
			if got.Interval.Contains(float64(truth) / float64(total)) {
				covered++
			}
		}
		if share := float64(covered) / rounds; share < c.least {
			t.Errorf("%s: covers %.3f, want at least %.2f", c.name, share, c.least)
		} else {
			t.Logf("%s: covers %.3f", c.name, share)
		}
	}
}

func TestEstimatesDifference(t *testing.T) {
	a, _ := RateEstimate(18, 20, 0.95)
	b, _ := RateEstimate(9, 20, 0.95)
	iv, test, err := EstimatesDifference(a, b, 0.95)
	want, _ := NewcombeDifference(18, 20, 9, 20, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "low", iv.Low, want.Low, 1e-12)
	near(t, "high", iv.High, want.High, 1e-12)
	near(t, "p", test.P, math.Erfc(0.45/math.Sqrt(2*0.675*0.325*0.1)), 1e-12)
	all, _ := RateEstimate(20, 20, 0.95)
	if _, test, err := EstimatesDifference(all, all, 0.95); err != nil || test.P != 1 {
		t.Errorf("no difference: %+v, %v", test, err)
	}
	if _, _, err := EstimatesDifference(Estimate{}, all, 0.95); err == nil {
		t.Error("an estimate of nothing has a difference")
	}
	if _, err := RateEstimate(0, 0, 0.95); err == nil {
		t.Error("0 of 0 has a rate")
	}
}
