package stats

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

var kinds = map[string]Kind{"percentile": Percentile, "bca": BCa, "basic": Basic}

func TestBootstrapMonteCarloFixture(t *testing.T) {
	var f struct {
		Cases []struct {
			Name, Method, Stat string
			Data               []float64
			Conf, Estimate     float64
			CI                 []float64
			Tol10000           float64 `json:"tol_B10000"`
			Tol100000          float64 `json:"tol_B100000"`
		}
		Frozen struct {
			Data     []float64
			Index    [][]int   `json:"index_matrix"`
			Values   []float64 `json:"replicates"`
			Estimate float64
			MidRank  float64 `json:"mid_rank"`
			Z0, A    float64
			Levels   map[string]struct {
				Percentile []float64 `json:"percentile_type7"`
				Alpha      []float64 `json:"bca_alpha"`
				BCa        []float64 `json:"bca_type7"`
				Basic      []float64 `json:"basic_type7"`
			}
		}
		Degenerate []struct {
			Name string
			Data []float64
			BCa  struct{ CI []*float64 }
		} `json:"scipy_degenerate"`
	}
	mustFixture(t, "bootstrap_mc.json", &f)
	for _, c := range f.Cases {
		for _, seed := range []string{"2026-11-30"} {
			iv, err := BootstrapMean(t.Context(), c.Data, kinds[c.Method], c.Conf, Resampling{Seed: seed, Replicates: 50_000})
			nearInterval(t, fmt.Sprintf("%s %s %g seed %s", c.Name, c.Method, c.Conf, seed), iv, err, c.CI, c.Tol10000)
		}
		// The same without chance: the data are hundredths. Against it the file's narrower tolerance holds; one run of
		// 100,000 resamples leaves it one time in ten for BCa of eight values.
		hundredths := make([]int, len(c.Data))
		for i, v := range c.Data {
			hundredths[i] = int(math.Round(100 * v))
		}
		switch kinds[c.Method] {
		case Percentile:
			iv, err := BootstrapExact(hundredths, 0.01, c.Conf)
			nearInterval(t, fmt.Sprintf("%s exact %g", c.Name, c.Conf), iv, err, c.CI, c.Tol100000)
		case BCa:
			iv, err := BCaExact(hundredths, 0.01, c.Conf)
			nearInterval(t, fmt.Sprintf("%s exact bca %g", c.Name, c.Conf), iv, err, c.CI, c.Tol100000)
		}
	}
	replicates := make([]float64, len(f.Frozen.Index))
	for i, index := range f.Frozen.Index {
		for _, j := range index {
			replicates[i] += f.Frozen.Data[j]
		}
		replicates[i] /= float64(len(index))
		near(t, "frozen replicate", replicates[i], f.Frozen.Values[i], 1e-12)
	}
	sorted := slices.Sorted(slices.Values(replicates))
	// The file says 0.42625: numpy sums one of its two ties to 0.6479999999999999 and does not see it. In hundredths,
	// which are integers, the mid rank is 0.425 exactly.
	near(t, "mid rank", midRank(sorted, f.Frozen.Estimate), 0.425, 1e-12)
	a, ok := acceleration(leaveOneOutMeans(f.Frozen.Data))
	if !ok {
		t.Error("acceleration does not exist")
	}
	near(t, "acceleration", a, f.Frozen.A, 1e-9)
	for text, want := range f.Frozen.Levels {
		level, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		for kind, ends := range map[Kind][]float64{Percentile: want.Percentile, Basic: want.Basic} {
			iv, err := fromReplicates("test", slices.Clone(replicates), f.Frozen.Estimate, nil, kind, level)
			nearInterval(t, fmt.Sprintf("frozen kind %d at %s", kind, text), iv, err, ends, 1e-9)
		}
		lower, upper, ok := bcaTails(f.Frozen.Z0, f.Frozen.A, level)
		if !ok {
			t.Error("BCa tails do not exist")
		}
		near(t, "alpha low", lower, want.Alpha[0], 1e-9)
		near(t, "alpha high", 1-upper, want.Alpha[1], 1e-9)
		near(t, "frozen BCa low", quantile7(sorted, lower), want.BCa[0], 1e-9)
		near(t, "frozen BCa high", quantile7(sorted, 1-upper), want.BCa[1], 1e-9)
	}
	for _, c := range f.Degenerate {
		_, err := BootstrapMean(t.Context(), c.Data, BCa, 0.95, Resampling{})
		if _, undefined := errors.AsType[*UndefinedError](err); undefined != (c.BCa.CI[0] == nil) {
			t.Errorf("%s: got %v, scipy's BCa is undefined: %t", c.Name, err, c.BCa.CI[0] == nil)
		}
	}
}

func leaveOneOutMeans(data []float64) []float64 {
	out := make([]float64, len(data))
	for i := range data {
		rest := slices.Delete(slices.Clone(data), i, i+1)
		out[i] = meanOf(rest)
	}
	return out
}

func TestResamplingIgnoresWorkers(t *testing.T) {
	values := []float64{0.12, 0.55, 0.61, 0.64, 0.7, 0.72, 0.75, 0.78, 0.8, 0.81, 0.99, 0.5}
	many := slices.Concat(values, values)
	var want Interval
	var wantP Test
	for i, workers := range []int{1, 2, 3, 16, 0} {
		r := Resampling{Seed: "s", Replicates: 3000, Workers: workers}
		iv, err := BootstrapMean(t.Context(), values, BCa, 0.95, r)
		if err != nil {
			t.Fatal(err)
		}
		p, err := SignFlip(t.Context(), many, r)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			want, wantP = iv, p
		}
		if iv != want || p != wantP {
			t.Errorf("%d workers: %+v %+v, 1 worker: %+v %+v", workers, iv, p, want, wantP)
		}
	}
	other, err := BootstrapMean(t.Context(), values, BCa, 0.95, Resampling{Seed: "t", Replicates: 3000})
	if err != nil || other == want {
		t.Errorf("another seed drew the same: %+v, %v", other, err)
	}
}

// These exact bytes are a contract: a report can be made again years later.
func TestResamplingIsStable(t *testing.T) {
	iv, err := BootstrapMean(t.Context(), []float64{1, 2, 3, 5, 8, 13}, Percentile, 0.9, Resampling{Seed: "fibonacci", Replicates: 500})
	nearInterval(t, "frozen draw", iv, err, []float64{2.8333333333333335, 8.3333333333333339}, 1e-12)
}

func TestSourceIsUniform(t *testing.T) {
	const n, draws = 7, 70_000
	s := newSource("seed", "test", 0)
	var counts [n]int
	for range draws {
		counts[s.below(n)]++
	}
	for i, c := range counts { // mean 10,000, standard deviation 93
		if math.Abs(float64(c)-draws/n) > 500 {
			t.Errorf("%d was drawn %d times", i, c)
		}
	}
}

// Bounds just above a power of two reject almost half of the words; a biased draw would never pass the middle.
func TestSourceRejects(t *testing.T) {
	const bound = 1<<62 + 1<<61
	s := newSource("seed", "test", 1)
	upper := 0
	for range 3000 {
		v := s.below(bound)
		if v < 0 || v >= bound {
			t.Fatalf("drew %d", v)
		}
		if v >= bound/2 {
			upper++
		}
	}
	if upper < 1350 || upper > 1650 { // mean 1500, standard deviation 27
		t.Errorf("%d of 3000 in the upper half", upper)
	}
}

func TestBootstrapStatisticUndefined(t *testing.T) {
	r := Resampling{Seed: "s", Replicates: 1000}
	undefinedWithout := func(unit int) Statistic {
		return func(index []int) (float64, bool) { return float64(index[0]), slices.Contains(index, unit) }
	}
	// A unit of four is missing from a third of the resamples.
	_, err := BootstrapStatistic(t.Context(), 4, undefinedWithout(2), Percentile, 0.95, r)
	if _, ok := errors.AsType[*UndefinedError](err); !ok {
		t.Errorf("got %v, want an UndefinedError", err)
	}
	rare := func(index []int) (float64, bool) { // undefined for one resample in 64
		return float64(index[0] + index[1]), !(index[0] == 3 && index[1] == 3 && index[2] == 3)
	}
	iv, err := BootstrapStatistic(t.Context(), 4, rare, Percentile, 0.95, r)
	if err != nil || iv.Reason == "" {
		t.Errorf("got %+v, %v; want an interval that counts what was left out", iv, err)
	}
	constant := func([]int) (float64, bool) { return 0.3, true }
	if _, err := BootstrapStatistic(t.Context(), 9, constant, BCa, 0.95, r); err == nil {
		t.Error("a statistic that cannot vary has an interval")
	}
	nan := func([]int) (float64, bool) { return math.NaN(), true }
	if iv, err := BootstrapStatistic(t.Context(), 9, nan, BCa, 0.95, r); err == nil {
		t.Errorf("a statistic of NaN has the interval %+v", iv)
	}
}

func TestBootstrapArguments(t *testing.T) {
	good := []float64{1, 2, 3}
	for name, c := range map[string]struct {
		values []float64
		kind   Kind
		level  float64
		r      Resampling
	}{
		"NaN":                 {[]float64{1, math.NaN()}, BCa, 0.95, Resampling{}},
		"infinity":            {[]float64{1, math.Inf(1)}, BCa, 0.95, Resampling{}},
		"level":               {good, BCa, 1, Resampling{}},
		"kind":                {good, Kind(9), 0.95, Resampling{}},
		"negative replicates": {good, BCa, 0.95, Resampling{Replicates: -1}},
		"many replicates":     {good, BCa, 0.95, Resampling{Replicates: math.MaxInt}},
		"workers":             {good, BCa, 0.95, Resampling{Workers: -1}},
	} {
		_, err := BootstrapMean(t.Context(), c.values, c.kind, c.level, c.r)
		if _, ok := errors.AsType[*ArgumentError](err); !ok {
			t.Errorf("%s: got %v, want an ArgumentError", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := BootstrapMean(ctx, good, BCa, 0.95, Resampling{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the cancellation", err)
	}
}

func TestMeanIntervalChoosesItsMethod(t *testing.T) {
	ten := []float64{0, 0.25, 0.5, 0.75, 1, 1, 1, 0.75, 0.5, 1}
	for _, c := range []struct {
		values       []float64
		method, from string
	}{{ten, MethodBCa, ""}, {ten[:9], MethodStudent, MethodBCa}, {[]float64{1, 1, 1}, "", ""}, {ten[:1], "", ""}, {nil, "", ""}} {
		iv, err := MeanInterval(t.Context(), c.values, 0.95, Resampling{Replicates: 1000})
		if iv.Method != c.method || iv.FallbackFrom != c.from || (err != nil) != (c.method == "") {
			t.Errorf("%v: got %+v, %v; want method %q in place of %q", c.values, iv, err, c.method, c.from)
		}
	}
}

func TestBootstrapNeverNaN(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.OneOf(rapid.Float64Range(-1e9, 1e9), rapid.SampledFrom([]float64{0, 1, 0.1, 1e-300, 1e139})), 0, 12).Draw(t, "values")
		kind := Kind(rapid.IntRange(0, 2).Draw(t, "kind"))
		iv, err := BootstrapMean(t.Context(), values, kind, 0.95, Resampling{Replicates: 100, Workers: 1})
		if err != nil {
			return
		}
		if !finite(iv.Low) || !finite(iv.High) || iv.Low > iv.High {
			t.Fatalf("got %+v", iv)
		}
	})
}
