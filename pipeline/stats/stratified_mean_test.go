package stats

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// Calculated by hand: R = (5·1.5 + 2·1.5)/(5·2 + 2·3), variances 10²·0.8·0.125/2 and 6²·0.5·0.25/3, t(3) = 3.182446.
func TestStratifiedMeanByHand(t *testing.T) {
	got, err := StratifiedMean([]ScoreStratum{{10, 2, []float64{1, 0.5}}, {6, 3, []float64{0, 0.5, 1}}}, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	se := math.Sqrt(100*0.8*0.125/2+36*0.5*0.25/3) / 16
	near(t, "mean", got.Value, 10.5/16, 1e-12)
	near(t, "standard error", got.SE, se, 1e-12)
	near(t, "low", got.Interval.Low, 10.5/16-3.182446305*se, 1e-7)
	near(t, "high", got.Interval.High, 10.5/16+3.182446305*se, 1e-7)
}

// A service that is drawn thinly counts by its size, not by its sample.
func TestStratifiedMeanCountsBySize(t *testing.T) {
	got, err := StratifiedMean([]ScoreStratum{{1000, 4, []float64{1, 1, 0.75, 0.75}}, {10, 5, []float64{0, 0, 0, 0.25, 0.25}}}, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "mean", got.Value, (250*3.5+2*0.5)/(1000+10), 1e-12)
}

func TestStratifiedMeanUndefined(t *testing.T) {
	for name, c := range map[string]struct {
		strata []ScoreStratum
		value  float64
	}{
		"nothing":               {nil, 0},
		"nothing counts":        {[]ScoreStratum{{10, 5, nil}}, 0},
		"one of several":        {[]ScoreStratum{{10, 1, []float64{0.5}}, {4, 4, []float64{1, 1, 1, 1}}}, 9.0 / 14},
		"all alike":             {[]ScoreStratum{{10, 3, []float64{0.3, 0.3, 0.3}}}, 0.3},
		"alike in each stratum": {[]ScoreStratum{{10, 2, []float64{0, 0}}, {10, 2, []float64{1, 1}}}, 0.5},
	} {
		got, err := StratifiedMean(c.strata, 0.95)
		var undefined *UndefinedError
		if !errors.As(err, &undefined) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		near(t, name, got.Value, c.value, 1e-12)
	}
	var wrong *ArgumentError
	if _, err := StratifiedMean([]ScoreStratum{{10, 2, []float64{1, math.NaN()}}}, 0.95); !errors.As(err, &wrong) {
		t.Error("a score that is no number is taken")
	}
	if _, err := StratifiedMean([]ScoreStratum{{10, 1, []float64{1, 0}}}, 0.95); !errors.As(err, &wrong) {
		t.Error("more values than units are taken")
	}
}

// Scores of 0 and 1 are a rate: estimate and standard error are those of the rate.
func TestStratifiedMeanOfYesAndNoIsTheRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var domain []DomainStratum
		var scores []ScoreStratum
		for range rapid.IntRange(1, 5).Draw(t, "strata") {
			d := drawDomain(t, "stratum")
			values := make([]float64, d.In)
			for i := range d.Met {
				values[i] = 1
			}
			domain, scores = append(domain, d), append(scores, ScoreStratum{d.Size, d.Sampled, values})
		}
		want, wantErr := StratifiedDomain(domain, 0.95)
		got, err := StratifiedMean(scores, 0.95)
		if math.Abs(got.Value-want.Value) > 1e-9 {
			t.Fatalf("mean %g, rate %g", got.Value, want.Value)
		}
		if wantErr == nil && err == nil && math.Abs(got.SE-want.SE) > 1e-9 {
			t.Fatalf("standard error %g, of the rate %g", got.SE, want.SE)
		}
		if wantErr != nil && err == nil {
			t.Fatalf("a mean where there is no rate: %v", wantErr)
		}
	})
}
