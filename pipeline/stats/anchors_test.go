package stats

import (
	"fmt"
	"testing"
)

// Published values, so that the tests mean something without the reference files.
func TestPublishedAnchors(t *testing.T) {
	type anchor struct {
		source    string
		iv        Interval
		err       error
		low, high float64
		tol       float64
	}
	of := func(iv Interval, err error) anchor { return anchor{iv: iv, err: err} }
	want := func(a anchor, source string, low, high, tol float64) anchor {
		a.source, a.low, a.high, a.tol = source, low, high, tol
		return a
	}
	for _, a := range []anchor{
		want(of(Wilson(81, 263, 0.95)), "Newcombe 1998, single proportion, 81/263, method 3", 0.2553, 0.3662, 5e-5),
		want(of(Wilson(15, 148, 0.95)), "Newcombe 1998, 15/148, method 3", 0.0624, 0.1605, 5e-5),
		want(of(Wilson(0, 20, 0.95)), "Newcombe 1998, 0/20, method 3", 0, 0.1611, 5e-5),
		want(of(Wilson(1, 29, 0.95)), "Newcombe 1998, 1/29, method 3", 0.0061, 0.1718, 5e-5),
		want(of(ClopperPearson(81, 263, 0.95)), "Newcombe 1998, 81/263, method 5", 0.2527, 0.3676, 5e-5),
		want(of(ClopperPearson(15, 148, 0.95)), "Newcombe 1998, 15/148, method 5", 0.0578, 0.1617, 5e-5),
		want(of(ClopperPearson(0, 20, 0.95)), "Newcombe 1998, 0/20, method 5", 0, 0.1684, 5e-5),
		want(of(ClopperPearson(1, 29, 0.95)), "Newcombe 1998, 1/29, method 5", 0.0009, 0.1776, 5e-5),
		want(of(NewcombeDifference(56, 70, 48, 80, 0.95)), "Newcombe 1998, 56/70 - 48/80, method 10", 0.0524, 0.3339, 5e-5),
		want(of(NewcombeDifference(9, 10, 3, 10, 0.95)), "Newcombe 1998, 9/10 - 3/10, method 10", 0.1705, 0.8090, 5e-5),
		want(of(NewcombeDifference(10, 10, 0, 20, 0.95)), "Newcombe 1998, 10/10 - 0/20, method 10", 0.6791, 1, 5e-5),
		want(of(Newcombe10(Pairs{36, 12, 2, 0}, 0.95)), "Newcombe 1998, paired 36/12/2/0, method 10", 0.0569, 0.3404, 5e-5),
		want(of(Tango(Pairs{Both: 10, Neither: 10}, 0.95)), "Tango with no change: z²/(n+z²)", -0.1611, 0.1611, 5e-5),
		want(of(BootstrapProportion(17, 20, 0.95)), "exact bootstrap of 17 of 20", 0.70, 1, 1e-12),
		want(of(BCaProportion(17, 20, 0.95)), "exact BCa of 17 of 20: z0 -0.0660, a -0.0731", 0.65, 0.95, 1e-12),
		want(of(roganGladenInterval()), "Lee et al. 2025 worked in Python", 0.8252, 1, 5e-5),
	} {
		nearInterval(t, a.source, a.iv, a.err, []float64{a.low, a.high}, a.tol)
	}

	value := func(what string, got float64, err error, want, tol float64) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		near(t, what, got, want, tol)
	}
	p, err := FisherExact(3, 4, 1, 4)
	value("Fisher's tea tasting, two-sided", p.P, err, 34.0/70, 1e-9)
	p, err = McNemarExact(12, 2)
	value("McNemar 12 against 2", p.P, err, 2*106.0/16384, 1e-12)
	p, err = McNemarMidP(9, 2)
	value("Fagerland, Lydersen and Laake 2013: mid-p of 9 against 2 is 0.0386", p.P, err, 0.0386, 5e-5)
	bound, err := ClopperPearsonLower(20, 20, 0.95)
	value("all of 20 pass", bound, err, 0.8609, 5e-5)
	n, err := RequiredAllPass(0.95, 0.95)
	value("units without failure for 95 % at 95 %", float64(n), err, 59, 0)

	a, err := GwetAC([][]int{{118, 5}, {2, 0}}, Nominal)
	value("Gwet 2008, 118/5/2/0", a.Coefficient, err, 0.9408, 5e-5)
	a, err = CohenKappa([][]int{{118, 5}, {2, 0}}, Nominal)
	value("the same by kappa", a.Coefficient, err, -0.0234, 5e-5)
	for metric, want := range []float64{0.743, 0.815, 0.849, 0.797} {
		a, err = KrippendorffAlpha(krippendorffExample, Metric(metric))
		value(fmt.Sprintf("Krippendorff 2011, metric %d", metric), a.Coefficient, err, want, 5e-4)
	}
	a, err = CohenKappa([][]int{{1, 0, 1}, {0, 1, 0}, {0, 0, 1}}, Quadratic)
	value("quadratic kappa by hand", a.Coefficient, err, 5.0/13, 1e-12)
	a, err = CohenKappa([][]int{{1, 0, 1}, {0, 1, 0}, {0, 0, 1}}, Linear)
	value("linear kappa by hand", a.Coefficient, err, 0.5, 1e-12)
	a, err = FleissKappa(fleissExample)
	value("Fleiss 1971 as worked in Wikipedia", a.Coefficient, err, 0.210, 5e-4)

	_, lambda, err := PPIPlus([]float64{0, 1}, []float64{0, 1}, []float64{0, 1}, 0.95)
	value("PPI++ weight by hand: (1/4)/((1+1)/3)", lambda, err, 0.375, 1e-12)
	n, err = RequiredPairs(0.1, 0.2, 0.95, 0.8)
	value("pairs for ten points when a fifth changes", float64(n), err, 150, 0)
	n, err = RequiredPairs(0.05, 0.2, 0.95, 0.8)
	value("pairs for five points when a fifth changes", float64(n), err, 621, 0)
	near(t, "type 7 quantile", quantile7([]float64{1, 2, 3, 4}, 0.25), 1.75, 1e-15)

	adjusted, err := BenjaminiHochberg([]float64{0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459,
		0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1})
	if err != nil {
		t.Fatal(err)
	}
	rejected := 0
	for _, v := range adjusted {
		if v <= 0.05 {
			rejected++
		}
	}
	if rejected != 4 {
		t.Errorf("Benjamini and Hochberg 1995 reject the four smallest of fifteen, got %d", rejected)
	}
}

func roganGladenInterval() (Interval, error) {
	est, err := RoganGladen(0.85, 200, Accuracy{Specificity: 0.85, Negatives: 40, Sensitivity: 0.9, Positives: 60}, 0.95)
	return est.Interval, err
}

// Units 1 to 12 of the example with four observers and missing ratings; 0 marks none and is dropped.
var krippendorffExample = dropZeros([][]float64{
	{1, 1, 0, 1}, {2, 2, 3, 2}, {3, 3, 3, 3}, {3, 3, 3, 3}, {2, 2, 2, 2}, {1, 2, 3, 4},
	{4, 4, 4, 4}, {1, 1, 2, 1}, {2, 2, 2, 2}, {0, 5, 5, 5}, {0, 0, 1, 1}, {0, 3, 0, 0},
})

func dropZeros(units [][]float64) [][]float64 {
	for u, row := range units {
		kept := row[:0]
		for _, v := range row {
			if v != 0 {
				kept = append(kept, v)
			}
		}
		units[u] = kept
	}
	return units
}

// Fourteen raters, ten subjects, five categories.
var fleissExample = [][]int{
	{0, 0, 0, 0, 14}, {0, 2, 6, 4, 2}, {0, 0, 3, 5, 6}, {0, 3, 9, 2, 0}, {2, 2, 8, 1, 1},
	{7, 7, 0, 0, 0}, {3, 2, 6, 3, 0}, {2, 5, 3, 2, 2}, {6, 5, 2, 1, 0}, {0, 2, 2, 3, 7},
}
