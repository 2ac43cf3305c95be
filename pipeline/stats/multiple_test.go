package stats

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestMultipleFixture(t *testing.T) {
	var f struct{ Cases []map[string]any }
	mustFixture(t, "multiple.json", &f)
	for _, c := range f.Cases {
		for name, adjust := range adjustments {
			got, err := adjust(floats(c["p"]))
			if err != nil {
				t.Fatal(err)
			}
			want := floats(c[name])
			if len(got) != len(want) {
				t.Fatalf("%s of %v: got %d values, want %d", name, c["name"], len(got), len(want))
			}
			for i := range want {
				near(t, fmt.Sprintf("%s of %v [%d]", name, c["name"], i), got[i], want[i], 1e-12)
			}
		}
	}
}

var adjustments = map[string]func([]float64) ([]float64, error){
	"bonferroni": Bonferroni, "holm": Holm, "hochberg": Hochberg, "bh": BenjaminiHochberg, "by": BenjaminiYekutieli,
}

func floats(v any) []float64 {
	out := []float64{}
	for _, x := range v.([]any) {
		out = append(out, x.(float64))
	}
	return out
}

func TestMultipleLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SliceOfN(rapid.OneOf(rapid.Float64Range(0, 1), rapid.SampledFrom([]float64{0, 0.01, 1})), 0, 40).Draw(t, "p")
		before := slices.Clone(p)
		got := map[string][]float64{}
		for name, adjust := range adjustments {
			out, err := adjust(p)
			if err != nil {
				t.Fatal(err)
			}
			got[name] = out
			for i := range p {
				if out[i] < p[i] || out[i] > 1 {
					t.Fatalf("%s: p %g became %g", name, p[i], out[i])
				}
				for j := range p {
					if p[i] < p[j] && out[i] > out[j] {
						t.Fatalf("%s changes the order of %g and %g", name, p[i], p[j])
					}
				}
			}
		}
		for i := range p { // each is known to be at least as strict as the next
			for _, chain := range [][]string{{"bonferroni", "holm", "hochberg", "bh"}, {"by", "bh"}} {
				for j := range len(chain) - 1 {
					if got[chain[j]][i] < got[chain[j+1]][i]-1e-12 {
						t.Fatalf("%s %g below %s %g", chain[j], got[chain[j]][i], chain[j+1], got[chain[j+1]][i])
					}
				}
			}
		}
		if !slices.Equal(p, before) {
			t.Fatal("the input was changed")
		}
	})
	for _, bad := range []float64{-0.1, 1.1, math.NaN()} {
		if _, err := Holm([]float64{0.5, bad}); err == nil {
			t.Errorf("p = %g is accepted", bad)
		}
	}
}
