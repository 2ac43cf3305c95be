package stats

import (
	"fmt"
	"math"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

func TestPairedFixture(t *testing.T) {
	var f struct {
		Cases []struct {
			Both    int `json:"both_pass"`
			Gained  int `json:"with_only"`
			Lost    int `json:"without_only"`
			Neither int `json:"both_fail"`
			Diff    float64
			Exact   float64 `json:"mcnemar_exact_p"`
			MidP    float64 `json:"mcnemar_midp"`
			CI      map[string]struct{ Newcombe10, Tango []float64 }
		}
		Independent []struct {
			K1, N1, K2, N2 int
			Newcombe95     []float64
			Fisher         float64 `json:"fisher_p"`
		} `json:"independent_difference"`
	}
	mustFixture(t, "paired_binary.json", &f)
	for _, c := range f.Cases {
		p := Pairs{c.Both, c.Gained, c.Lost, c.Neither}
		what := fmt.Sprintf("%+v", p)
		near(t, "difference "+what, p.Difference(), c.Diff, 1e-15)
		near(t, "mcnemar "+what, mustTest(t)(McNemarExact(c.Gained, c.Lost)).P, c.Exact, 1e-12)
		near(t, "mid-p "+what, mustTest(t)(McNemarMidP(c.Gained, c.Lost)).P, c.MidP, 1e-12)
		for text, want := range c.CI {
			level, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatal(err)
			}
			iv, err := Tango(p, level)
			nearInterval(t, "tango "+what, iv, err, want.Tango, 1e-7)
			iv, err = Newcombe10(p, level)
			nearInterval(t, "newcombe10 "+what, iv, err, want.Newcombe10, 1e-9)
		}
	}
	for _, c := range f.Independent {
		what := fmt.Sprintf("%d/%d - %d/%d", c.K1, c.N1, c.K2, c.N2)
		iv, err := NewcombeDifference(c.K1, c.N1, c.K2, c.N2, 0.95)
		nearInterval(t, "newcombe "+what, iv, err, c.Newcombe95, 1e-9)
		near(t, "fisher "+what, mustTest(t)(FisherExact(c.K1, c.N1, c.K2, c.N2)).P, c.Fisher, 1e-9)
	}
}

func mustTest(tb testing.TB) func(Test, error) Test {
	return func(test Test, err error) Test {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return test
	}
}

func drawPairs(t *rapid.T) Pairs {
	count := rapid.OneOf(rapid.IntRange(0, 5), rapid.IntRange(0, 300))
	return Pairs{count.Draw(t, "both"), count.Draw(t, "gained"), count.Draw(t, "lost"), count.Draw(t, "neither")}
}

func TestPairedLaws(t *testing.T) {
	const slack = 1e-9
	for name, f := range map[string]func(Pairs, float64) (Interval, error){
		"tango": Tango, "newcombe10": Newcombe10, "bootstrap": BootstrapPaired, "bca": BCaPaired,
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				p := drawPairs(t)
				level := drawLevel(t)
				iv, err := f(p, level)
				if err != nil {
					t.Fatal(err)
				}
				if !(iv.Low >= -1-slack && iv.High <= 1+slack) || !iv.containsNearly(p.Difference(), slack) {
					t.Fatalf("outside [-1, 1] or without its estimate %g: %+v", p.Difference(), iv)
				}
				wider, err := f(p, (1+level)/2)
				if err != nil || wider.Low > iv.Low+slack || wider.High < iv.High-slack {
					t.Fatalf("shrinks with the level: %+v, then %+v, %v", iv, wider, err)
				}
				mirror, err := f(Pairs{p.Both, p.Lost, p.Gained, p.Neither}, level)
				if err != nil || math.Abs(mirror.Low+iv.High) > slack || math.Abs(mirror.High+iv.Low) > slack {
					t.Fatalf("not symmetric: %+v, mirrored %+v, %v", iv, mirror, err)
				}
				if iv.Width() <= 0 {
					t.Fatalf("no width: %+v", iv)
				}
			})
		})
	}
}

// The score at an end of the Tango interval is ±z: the definition, checked without the bisection.
func TestTangoEndsSolveTheScoreEquation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPairs(t)
		if p.N() == 0 {
			return
		}
		iv, err := Tango(p, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		z := zTwoSided(0.95)
		for _, end := range []struct{ at, want float64 }{{iv.Low, z}, {iv.High, -z}} {
			if math.Abs(end.at) > 1-1e-9 {
				continue // the data allow everything up to the border
			}
			if got := tangoScore(p.Gained, p.Lost, p.N(), end.at); math.Abs(got-end.want) > 1e-4 {
				t.Fatalf("score at %g is %g, want %g", end.at, got, end.want)
			}
		}
	})
}

func TestPairedTestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gained, lost := rapid.IntRange(0, 3000).Draw(t, "gained"), rapid.IntRange(0, 3000).Draw(t, "lost")
		exact, err := McNemarExact(gained, lost)
		if err != nil {
			t.Fatal(err)
		}
		mid, err := McNemarMidP(gained, lost)
		if err != nil {
			t.Fatal(err)
		}
		if !(mid.P >= 0 && mid.P <= exact.P && exact.P <= 1) {
			t.Fatalf("want 0 <= mid-p %g <= exact %g <= 1", mid.P, exact.P)
		}
		if other, err := McNemarExact(lost, gained); err != nil || other.P != exact.P {
			t.Fatalf("not symmetric: %g and %g, %v", exact.P, other.P, err)
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		n1, n2 := rapid.IntRange(0, 60).Draw(t, "n1"), rapid.IntRange(0, 60).Draw(t, "n2")
		k1, k2 := rapid.IntRange(0, n1).Draw(t, "k1"), rapid.IntRange(0, n2).Draw(t, "k2")
		test, err := FisherExact(k1, n1, k2, n2)
		if err != nil || !(test.P > 0 && test.P <= 1) {
			t.Fatalf("fisher: p = %g, %v", test.P, err)
		}
		swapped, err := FisherExact(n2-k2, n2, n1-k1, n1)
		if err != nil || math.Abs(swapped.P-test.P) > 1e-9 {
			t.Fatalf("fisher not symmetric: %g and %g, %v", test.P, swapped.P, err)
		}
		iv, err := NewcombeDifference(k1, n1, k2, n2, 0.95)
		if err != nil || iv.Low < -1 || iv.High > 1 || iv.Width() <= 0 {
			t.Fatalf("newcombe: %+v, %v", iv, err)
		}
	})
}

func TestPairedDegenerateFallsBackToTango(t *testing.T) {
	for _, p := range []Pairs{{Both: 20}, {Gained: 5}, {Lost: 3}, {Both: 10, Neither: 10}, {}, {Gained: 1}} {
		want, err := Tango(p, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range []func(Pairs, float64) (Interval, error){BootstrapPaired, BCaPaired} {
			got, err := f(p, 0.95)
			if err != nil || got.Low != want.Low || got.High != want.High || got.Method != MethodTango ||
				got.FallbackFrom == "" || got.Reason == "" {
				t.Errorf("%+v: got %+v, %v; want %+v as a fallback with a reason", p, got, err, want)
			}
		}
	}
}
