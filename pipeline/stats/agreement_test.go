package stats

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"
)

type kappaFixture struct {
	Kappa, SE *float64
	SENull    *float64 `json:"se_null"`
}

func TestAgreementFixture(t *testing.T) {
	var f struct {
		Tables []struct {
			Name         string
			Table        [][]int
			Observed     float64 `json:"p_o"`
			Kappa        kappaFixture
			Linear       kappaFixture                  `json:"kappa_linear"`
			Quadratic    kappaFixture                  `json:"kappa_quadratic"`
			AC1          struct{ AC1, PA, PE float64 } `json:"gwet_ac1"`
			AC2Quadratic float64                       `json:"gwet_ac2_quadratic"`
			AC2Linear    float64                       `json:"gwet_ac2_linear"`
			Krippendorff map[string]*float64
		}
		Missing struct {
			Data  [][]*float64
			Alpha map[string]float64
		} `json:"krippendorff_missing"`
		Fleiss struct {
			Ratings    [][]int
			Categories int
			Kappa      float64
		}
		Retest struct {
			Run1, Run2 []int
			Table      [][]float64
			FlipRate   float64 `json:"flip_rate"`
			Kappa, AC1 float64
		} `json:"test_retest"`
	}
	mustFixture(t, "agreement.json", &f)
	for _, c := range f.Tables {
		for w, want := range map[Weights]kappaFixture{Nominal: c.Kappa, Linear: c.Linear, Quadratic: c.Quadratic} {
			got, err := CohenKappa(c.Table, w)
			if want.Kappa == nil {
				if _, ok := errors.AsType[*UndefinedError](err); !ok || got.Observed != 1 {
					t.Errorf("%s: got %+v, %v; want an UndefinedError beside the raw agreement", c.Name, got, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", c.Name, err)
				continue
			}
			near(t, c.Name+" kappa", got.Coefficient, *want.Kappa, 1e-9)
			near(t, c.Name+" SE", got.SE, *want.SE, 1e-9)
			near(t, c.Name+" SE null", got.SENull, *want.SENull, 1e-9)
			if w == Nominal {
				near(t, c.Name+" observed", got.Observed, c.Observed, 1e-12)
			}
		}
		for w, want := range map[Weights]float64{Nominal: c.AC1.AC1, Linear: c.AC2Linear, Quadratic: c.AC2Quadratic} {
			got, err := GwetAC(c.Table, w)
			if err != nil {
				t.Errorf("%s: %v", c.Name, err)
			}
			near(t, c.Name+" AC", got.Coefficient, want, 1e-9)
			if w == Nominal {
				near(t, c.Name+" AC1 expected", got.Expected, c.AC1.PE, 1e-12)
				near(t, c.Name+" AC1 observed", got.Observed, c.AC1.PA, 1e-12)
			}
		}
		for name, want := range c.Krippendorff {
			got, err := KrippendorffAlpha(unitsOf(c.Table), metrics[name])
			if want == nil {
				if _, ok := errors.AsType[*UndefinedError](err); !ok {
					t.Errorf("%s alpha: got %+v, %v; want an UndefinedError", c.Name, got, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s alpha %s: %v", c.Name, name, err)
			}
			near(t, c.Name+" alpha "+name, got.Coefficient, *want, 1e-9)
		}
	}
	for name, want := range f.Missing.Alpha {
		units := make([][]float64, len(f.Missing.Data[0]))
		for _, rater := range f.Missing.Data {
			for u, v := range rater {
				if v != nil {
					units[u] = append(units[u], *v)
				}
			}
		}
		got, err := KrippendorffAlpha(units, metrics[name])
		if err != nil {
			t.Fatal(err)
		}
		near(t, "alpha with missing values, "+name, got.Coefficient, want, 1e-9)
	}
	counts := make([][]int, len(f.Fleiss.Ratings))
	for i, row := range f.Fleiss.Ratings {
		counts[i] = make([]int, f.Fleiss.Categories)
		for _, c := range row {
			counts[i][c]++
		}
	}
	got, err := FleissKappa(counts)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "Fleiss", got.Coefficient, f.Fleiss.Kappa, 1e-9)

	table, err := Table(f.Retest.Run1, f.Retest.Run2, 2)
	if err != nil {
		t.Fatal(err)
	}
	flips, err := FlipRate(f.Retest.Run1, f.Retest.Run2)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "flip rate", flips, f.Retest.FlipRate, 1e-12)
	kappa, err := CohenKappa(table, Nominal)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "retest kappa", kappa.Coefficient, f.Retest.Kappa, 1e-9)
	ac1, err := GwetAC(table, Nominal)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "retest AC1", ac1.Coefficient, f.Retest.AC1, 1e-9)
}

var metrics = map[string]Metric{
	"nominal": NominalMetric, "ordinal": OrdinalMetric, "interval": IntervalMetric, "ratio": RatioMetric,
}

// unitsOf lists the two ratings of every item of a table.
func unitsOf(table [][]int) [][]float64 {
	var out [][]float64
	for i, row := range table {
		for j, n := range row {
			for range n {
				out = append(out, []float64{float64(i), float64(j)})
			}
		}
	}
	return out
}

func TestAgreementLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := rapid.IntRange(2, 5).Draw(t, "categories")
		n := rapid.IntRange(1, 60).Draw(t, "items")
		category := rapid.IntRange(0, q-1)
		first := rapid.SliceOfN(category, n, n).Draw(t, "first")
		second := rapid.SliceOfN(category, n, n).Draw(t, "second")
		w := Weights(rapid.IntRange(0, 2).Draw(t, "weights"))
		ab := mustTable(t, first, second, q)
		ba := mustTable(t, second, first, q)
		for name, f := range map[string]func([][]int, Weights) (Agreement, error){"kappa": CohenKappa, "AC": GwetAC} {
			got, err := f(ab, w)
			swapped, errSwapped := f(ba, w)
			if (err == nil) != (errSwapped == nil) {
				t.Fatalf("%s: %v, swapped %v", name, err, errSwapped)
			}
			if err != nil {
				continue
			}
			if !(got.Coefficient >= -1-1e-9 && got.Coefficient <= 1+1e-9) && w == Nominal {
				t.Fatalf("%s outside [-1, 1]: %+v", name, got)
			}
			if !finite(got.Coefficient) || !finite(got.SE) || !finite(got.SENull) {
				t.Fatalf("%s not finite: %+v", name, got)
			}
			if math.Abs(got.Coefficient-swapped.Coefficient) > 1e-9 {
				t.Fatalf("%s: the order of raters matters: %+v, %+v", name, got, swapped)
			}
			perfect, err := f(mustTable(t, first, first, q), w)
			if err == nil && math.Abs(perfect.Coefficient-1) > 1e-12 {
				t.Fatalf("%s of a rater with itself is %g", name, perfect.Coefficient)
			}
		}
		// With nominal weights and two ratings a unit, alpha is Scott's pi with a small-sample correction.
		alpha, err := KrippendorffAlpha(unitsOf(ab), NominalMetric)
		if err != nil {
			return
		}
		var pe, po float64
		for c := range q {
			pi := 0.0
			for j := range q {
				pi += float64(ab[c][j]+ab[j][c]) / float64(2*n)
			}
			pe += pi * pi
			po += float64(ab[c][c]) / float64(n)
		}
		want := 1 - (1-po)/(1-pe)*(1-1/float64(2*n))
		if math.Abs(alpha.Coefficient-want) > 1e-9 {
			t.Fatalf("alpha %g, Scott's pi corrected %g", alpha.Coefficient, want)
		}
	})
}

func mustTable(tb rapid.TB, first, second []int, q int) [][]int {
	tb.Helper()
	table, err := Table(first, second, q)
	if err != nil {
		tb.Fatal(err)
	}
	return table
}

func TestAgreementArguments(t *testing.T) {
	argument := func(what string, err error) {
		t.Helper()
		if _, ok := errors.AsType[*ArgumentError](err); !ok {
			t.Errorf("%s: got %v, want an ArgumentError", what, err)
		}
	}
	undefined := func(what string, err error) {
		t.Helper()
		if _, ok := errors.AsType[*UndefinedError](err); !ok {
			t.Errorf("%s: got %v, want an UndefinedError", what, err)
		}
	}
	_, err := CohenKappa([][]int{{1, 2}, {3}}, Nominal)
	argument("ragged table", err)
	_, err = CohenKappa([][]int{{1, -2}, {3, 4}}, Nominal)
	argument("negative count", err)
	_, err = GwetAC([][]int{{1, 2}, {3, 4}}, Weights(7))
	argument("unknown weights", err)
	_, err = Table([]int{0, 5}, []int{0, 0}, 2)
	argument("category out of range", err)
	_, err = KrippendorffAlpha([][]float64{{-1, 2}}, RatioMetric)
	argument("negative rating on a ratio scale", err)
	_, err = KrippendorffAlpha([][]float64{{math.NaN(), 2}}, IntervalMetric)
	argument("NaN rating", err)
	_, err = FleissKappa([][]int{{2, 1}, {1, 1}})
	argument("different numbers of raters", err)
	_, err = CohenKappa([][]int{{0, 0}, {0, 0}}, Nominal)
	undefined("no items", err)
	_, err = KrippendorffAlpha([][]float64{{1}, {2}, nil}, NominalMetric)
	undefined("no unit rated twice", err)
	_, err = FleissKappa([][]int{{3, 0}, {3, 0}})
	undefined("one category", err)
	_, err = FlipRate(nil, nil)
	undefined("no items", err)
}

func TestRepeatNoise(t *testing.T) {
	// Item means 0.5, 1, 0 vary by 0.25; within the first item the variance is 0.5, so 1/6 on average.
	got, err := RepeatNoise([][]float64{{0, 1}, {1, 1}, {0, 0}})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "within", got.Within, 1.0/6, 1e-12)
	near(t, "between", got.Between, 0.25-1.0/12, 1e-12)
	if got, err := RepeatNoise([][]float64{{0, 1}, {1, 0}}); err != nil || got.Between != 0 {
		t.Errorf("noise alone: got %+v, %v; want no variance between items", got, err)
	}
	for _, bad := range [][][]float64{nil, {{1, 2}}, {{1}, {2}}, {{1, 2}, {1}}} {
		if got, err := RepeatNoise(bad); err == nil {
			t.Errorf("%v: got %+v, want an error", bad, got)
		}
	}
}

// Categories that nobody used change no coefficient.
func TestUsed(t *testing.T) {
	small := [][]int{{40, 9}, {6, 45}}
	wide := [][]int{{40, 0, 9, 0}, {0, 0, 0, 0}, {6, 0, 45, 0}, {0, 0, 0, 0}}
	a, err := GwetAC(small, Nominal)
	if err != nil {
		t.Fatal(err)
	}
	b, err := GwetAC(Used(wide), Nominal)
	if err != nil || a != b {
		t.Errorf("%v: %+v, %+v", err, a, b)
	}
	if got := Used([][]int{{0, 0}, {0, 0}}); len(got) != 0 {
		t.Error(got)
	}
}
