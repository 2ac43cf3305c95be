package stats

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestJudgeCorrectionFixture(t *testing.T) {
	var f struct {
		PPI []struct {
			Name       string
			Y, Yhat    []float64
			Unlabelled []float64 `json:"Yhat_unlabeled"`
			Lambda     float64   `json:"lambda_opt"`
			One        []any     `json:"ppi_lambda1"`
			Plus       []any     `json:"ppi_plus"`
		}
		RoganGladen []struct {
			P          float64
			Q0         float64 `json:"q0_specificity"`
			Q1         float64 `json:"q1_sensitivity"`
			N, M0, M1  int
			Estimate   *float64
			CI95, CI90 []float64
		} `json:"rogan_gladen"`
	}
	mustFixture(t, "judge_correction.json", &f)
	check := func(what string, got Estimate, err error, want []any) {
		t.Helper()
		ends := floats(want[2])
		nearInterval(t, what, got.Interval, err, []float64{math.Max(0, ends[0]), math.Min(1, ends[1])}, 1e-9)
		near(t, what, got.Value, want[0].(float64), 1e-9)
		near(t, what+" SE", got.SE, want[1].(float64), 1e-9)
	}
	for _, c := range f.PPI {
		got, err := PPI(c.Y, c.Yhat, c.Unlabelled, 0.95)
		check("ppi "+c.Name, got, err, c.One)
		got, lambda, err := PPIPlus(c.Y, c.Yhat, c.Unlabelled, 0.95)
		check("ppi++ "+c.Name, got, err, c.Plus)
		near(t, "lambda "+c.Name, lambda, c.Lambda, 1e-9)
	}
	for _, c := range f.RoganGladen {
		for level, want := range map[float64][]float64{0.95: c.CI95, 0.9: c.CI90} {
			got, err := RoganGladen(c.P, c.N, Accuracy{c.Q0, c.M0, c.Q1, c.M1}, level)
			what := fmt.Sprintf("rogan-gladen %+v", c)
			if c.Estimate == nil {
				if _, ok := errors.AsType[*UndefinedError](err); !ok {
					t.Errorf("%s: got %v, want an UndefinedError", what, err)
				}
				continue
			}
			nearInterval(t, what, got.Interval, err, want, 1e-9)
			near(t, what, got.Value, *c.Estimate, 1e-9)
		}
	}
}

func TestJudgeCorrectionLaws(t *testing.T) {
	unit := rapid.Float64Range(0, 1)
	rapid.Check(t, func(t *rapid.T) {
		acc := Accuracy{
			unit.Draw(t, "specificity"), rapid.IntRange(0, 50).Draw(t, "negatives"),
			unit.Draw(t, "sensitivity"), rapid.IntRange(0, 50).Draw(t, "positives"),
		}
		got, err := RoganGladen(unit.Draw(t, "rate"), rapid.IntRange(0, 500).Draw(t, "n"), acc, 0.95)
		if _, ok := errors.AsType[*UndefinedError](err); ok {
			return
		}
		iv := got.Interval
		if err != nil || !(iv.Low >= 0 && iv.Low <= iv.High && iv.High <= 1 && got.Value >= 0 && got.Value <= 1) {
			t.Fatalf("got %+v, %v", got, err)
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		bit := rapid.SampledFrom([]float64{0, 1, 0.25})
		n := rapid.IntRange(0, 30).Draw(t, "n")
		labels := rapid.SliceOfN(bit, n, n).Draw(t, "labels")
		judged := rapid.SliceOfN(bit, n, n).Draw(t, "judged")
		rest := rapid.SliceOfN(bit, 0, 60).Draw(t, "rest")
		got, lambda, err := PPIPlus(labels, judged, rest, 0.95)
		if _, ok := errors.AsType[*UndefinedError](err); ok {
			return
		}
		iv := got.Interval
		if err != nil || lambda < 0 || lambda > 1 || !(iv.Low >= 0 && iv.Low <= iv.High && iv.High <= 1) {
			t.Fatalf("got %+v, lambda %g, %v", got, lambda, err)
		}
		if lambda == 0 && math.Abs(got.Value-meanOf(labels)) > 1e-12 {
			t.Fatalf("lambda 0 is the labels alone, got %g and %g", got.Value, meanOf(labels))
		}
	})
	if _, err := PPI([]float64{0, 2}, []float64{0, 1}, []float64{1}, 0.95); err == nil {
		t.Error("a label outside [0, 1] is accepted")
	}
	if _, err := PPI([]float64{1, 1}, []float64{1, 1}, []float64{1}, 0.95); err == nil {
		t.Error("data without variance have an interval")
	}
}
