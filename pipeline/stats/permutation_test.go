package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestSignFlipIsMcNemarForUnitDifferences(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gained, lost := rapid.IntRange(0, 9).Draw(t, "gained"), rapid.IntRange(0, 9).Draw(t, "lost")
		var d []float64
		for range gained {
			d = append(d, 0.1, 0) // a tenth is no binary fraction, and zeros are left out
		}
		for range lost {
			d = append(d, -0.1)
		}
		got, err := SignFlip(t.Context(), d, Resampling{})
		if err != nil {
			t.Fatal(err)
		}
		want, err := McNemarExact(gained, lost)
		if err != nil || math.Abs(got.P-want.P) > 1e-12 || got.Method != MethodSignFlipExact {
			t.Fatalf("got %+v, want p = %g, %v", got, want.P, err)
		}
	})
}

func TestSignFlipMonteCarloNearsTheExactTest(t *testing.T) {
	var d []float64
	for i := range 40 {
		d = append(d, 1)
		if i%3 == 0 {
			d[i] = -1
		}
	}
	got, err := SignFlip(t.Context(), d, Resampling{Seed: "s", Replicates: 40_000})
	if err != nil || got.Method != MethodSignFlip {
		t.Fatalf("got %+v, %v", got, err)
	}
	want, err := McNemarExact(26, 14)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "p", got.P, want.P, 0.006)
	for i := range d {
		d[i] = 1 + float64(i)/7
	}
	got, err = SignFlip(t.Context(), d, Resampling{Replicates: 99})
	if err != nil || got.P != 0.01 {
		t.Errorf("no pattern is as extreme: got %+v, %v; want p = 1/100, never 0", got, err)
	}
}
