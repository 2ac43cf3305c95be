package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestCompareRates(t *testing.T) {
	// Large tables: R's prop.test(c(5200, 5000), c(10000, 10000), correct = FALSE) has chi-square 8.003202.
	got, err := CompareRates(5200, 10000, 5000, 10000)
	if err != nil {
		t.Fatal(err)
	}
	if want := math.Erfc(math.Sqrt(8.003202 / 2)); got.Method != MethodScoreTest || math.Abs(got.P-want) > 1e-6 {
		t.Errorf("got %+v, want p = %.8f by the score test", got, want)
	}
	small, err := CompareRates(1, 20, 9, 20)
	if err != nil {
		t.Fatal(err)
	}
	if exact, _ := FisherExact(1, 20, 9, 20); small != exact {
		t.Errorf("got %+v, want Fisher's %+v", small, exact)
	}
	for _, bad := range [][4]int{{-1, 2, 1, 2}, {3, 2, 1, 2}, {1, 2, 3, 2}} {
		if _, err := CompareRates(bad[0], bad[1], bad[2], bad[3]); err == nil {
			t.Errorf("%v: no error", bad)
		}
	}
}

func TestAtLeast(t *testing.T) {
	for _, c := range []struct {
		k, n    int
		rate, p float64
	}{
		{20, 20, 0.95, math.Pow(0.95, 20)},
		{0, 20, 0.5, 1},
		{0, 0, 0.9, 1},
		{1, 1, 0.9, 0.9},
		{19, 20, 0.95, math.Pow(0.95, 20) + 20*0.05*math.Pow(0.95, 19)},
		{3, 3, 1, 1},
		{3, 3, 0, 0},
	} {
		got, err := AtLeast(c.k, c.n, c.rate)
		if err != nil || math.Abs(got.P-c.p) > 1e-12 {
			t.Errorf("AtLeast(%d, %d, %g) = %v, %v, want %v", c.k, c.n, c.rate, got.P, err, c.p)
		}
	}
	if _, err := AtLeast(2, 1, 0.5); err == nil {
		t.Error("2 of 1: no error")
	}
}

// The test and the one-sided bound are two sides of one thing.
func TestAtLeastAgreesWithTheLowerBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 200).Draw(t, "n")
		k := rapid.IntRange(0, n).Draw(t, "k")
		rate := rapid.Float64Range(0.01, 0.99).Draw(t, "rate")
		low, err := ClopperPearsonLower(k, n, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		test, err := AtLeast(k, n, rate)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(low-rate) > 1e-9 && (low > rate) != (test.P < 0.05) {
			t.Errorf("%d of %d: lower bound %v, p = %v against %v", k, n, low, test.P, rate)
		}
	})
}

func TestRequiredForWidth(t *testing.T) {
	for _, c := range []struct {
		rate, width float64
	}{{0.9, 0.2}, {0.5, 0.2}, {1, 0.1}, {0, 0.05}, {0.97, 0.02}} {
		n, err := RequiredForWidth(c.rate, c.width, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		z := zTwoSided(0.95)
		if w := wilsonWidth(c.rate, float64(n), z); w > c.width {
			t.Errorf("rate %g width %g: n = %d gives %g", c.rate, c.width, n, w)
		}
		if w := wilsonWidth(c.rate, float64(n-1), z); n > 1 && w <= c.width {
			t.Errorf("rate %g width %g: n = %d is not the least", c.rate, c.width, n)
		}
	}
	// The width is that of the interval itself.
	iv, _ := Wilson(45, 50, 0.95)
	if w := wilsonWidth(0.9, 50, zTwoSided(0.95)); math.Abs(w-iv.Width()) > 1e-12 {
		t.Errorf("width %v, interval %v", w, iv.Width())
	}
	for _, bad := range []float64{0, -1, math.NaN()} {
		if _, err := RequiredForWidth(0.5, bad, 0.95); err == nil {
			t.Errorf("width %v: no error", bad)
		}
	}
}
