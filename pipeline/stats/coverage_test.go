package stats

import (
	"fmt"
	"math"
	"testing"
)

// coverage is the probability that an interval holds the true rate, summed over all outcomes: no simulation.
func coverage(tb testing.TB, f proportionInterval, n int, p float64) float64 {
	tb.Helper()
	sum := 0.0
	for k := range n + 1 {
		iv, err := f(k, n, 0.95)
		if err != nil {
			tb.Fatal(err)
		}
		// The reference counts an end that equals p up to rounding as covering.
		if iv.containsNearly(p, 1e-12) {
			sum += binomialPMF(k, n, p)
		}
	}
	return sum
}

// meanWidth is the expected width of an interval, over all outcomes.
func meanWidth(tb testing.TB, f proportionInterval, n int, p float64) float64 {
	tb.Helper()
	sum := 0.0
	for k := range n + 1 {
		iv, err := f(k, n, 0.95)
		if err != nil {
			tb.Fatal(err)
		}
		iv.Low, iv.High = max(iv.Low, 0), min(iv.High, 1) // as the reference cuts what leaves the scale
		sum += binomialPMF(k, n, p) * iv.Width()
	}
	return sum
}

// bareBootstrap is what the package refuses to return for equal data.
func bareBootstrap(k, n int, level float64) (Interval, error) {
	if k == 0 || k == n {
		p := float64(k) / float64(n)
		return Interval{Low: p, High: p}, nil
	}
	return BootstrapProportion(k, n, level)
}

func bareWald(k, n int, level float64) (Interval, error) {
	p := float64(k) / float64(n)
	half := zTwoSided(level) * math.Sqrt(p*(1-p)/float64(n))
	return Interval{Low: p - half, High: p + half}, nil
}

var coverageMethods = map[string]proportionInterval{
	"wald": bareWald, "bootstrap_percentile": bareBootstrap, "wilson": Wilson,
	"clopper_pearson": ClopperPearson, "jeffreys_modified": Jeffreys,
}

// Why the bootstrap alone is not reported for a pass rate: exact coverage of nominal 95 % intervals.
func TestCoverageOfProportions(t *testing.T) {
	for _, row := range []struct {
		n                                          int
		p                                          float64
		wald, bootstrap, wilson, clopper, jeffreys float64
	}{
		{10, 0.90, 0.65, 0.65, 0.93, 0.99, 0.99},
		{20, 0.90, 0.88, 0.88, 0.96, 0.99, 0.96},
		{20, 0.95, 0.64, 0.64, 0.92, 0.98, 0.98},
		{20, 0.98, 0.33, 0.33, 0.94, 0.99, 0.94},
		{50, 0.95, 0.92, 0.91, 0.96, 0.99, 0.89},
		{50, 0.98, 0.64, 0.64, 0.92, 0.98, 0.98},
	} {
		for name, want := range map[string]float64{
			"wald": row.wald, "bootstrap_percentile": row.bootstrap, "wilson": row.wilson,
			"clopper_pearson": row.clopper, "jeffreys_modified": row.jeffreys,
		} {
			near(t, fmt.Sprintf("%s n=%d p=%g", name, row.n, row.p), coverage(t, coverageMethods[name], row.n, row.p), want, 0.0051)
		}
		if c := coverage(t, BootstrapProportion, row.n, row.p); c < row.bootstrap-0.01 {
			t.Errorf("the fallback lowers the coverage of the bootstrap to %g", c)
		}
	}
}

// Clopper-Pearson promises its level for every rate; the promise is what gates rest on.
func TestClopperPearsonNeverUndercovers(t *testing.T) {
	for _, n := range []int{1, 2, 5, 20, 37} {
		for i := 1; i < 200; i++ {
			if c := coverage(t, ClopperPearson, n, float64(i)/200); c < 0.95-1e-12 {
				t.Errorf("n=%d p=%g: coverage %g", n, float64(i)/200, c)
			}
		}
	}
}

func TestCoverageEvidenceFixture(t *testing.T) {
	var f struct {
		Single []struct {
			N        int
			P        float64
			Coverage map[string]float64
			Width    map[string]float64 `json:"mean_width"`
		}
		Paired []struct {
			N        int
			Gain     float64 `json:"p_gain"`
			Loss     float64 `json:"p_loss"`
			Coverage map[string]float64
		}
	}
	mustFixture(t, "coverage_evidence.json", &f)
	for _, c := range f.Single {
		for name, interval := range coverageMethods {
			what := fmt.Sprintf("%s n=%d p=%g", name, c.N, c.P)
			near(t, what, coverage(t, interval, c.N, c.P), c.Coverage[name], 1e-9)
			near(t, what+" mean width", meanWidth(t, interval, c.N, c.P), c.Width[name], 1e-9)
		}
	}
	for _, c := range f.Paired {
		for name, interval := range map[string]func(Pairs, float64) (Interval, error){
			"tango": Tango, "newcombe10": Newcombe10, "bootstrap_percentile": barePaired,
		} {
			what := fmt.Sprintf("%s n=%d gain=%g loss=%g", name, c.N, c.Gain, c.Loss)
			near(t, what, pairedCoverage(t, interval, 0.75, c.N, c.Gain, c.Loss), c.Coverage[name], 1e-9)
		}
	}
}

func barePaired(p Pairs, level float64) (Interval, error) {
	if d := p.Difference(); p.Gained+p.Lost == 0 || math.Abs(d) == 1 {
		return Interval{Low: d, High: d}, nil
	}
	return BootstrapPaired(p, level)
}

// pairedCoverage enumerates gains and losses. Newcombe's interval also depends on how many of the unchanged pairs passed
// both times: the share both.
func pairedCoverage(
	tb testing.TB, f func(Pairs, float64) (Interval, error), both float64, n int, gain, loss float64,
) float64 {
	tb.Helper()
	sum := 0.0
	for gained := range n + 1 {
		for lost := range n - gained + 1 {
			same := n - gained - lost
			p := Pairs{Gained: gained, Lost: lost, Both: int(math.RoundToEven(both * float64(same)))}
			p.Neither = same - p.Both
			iv, err := f(p, 0.95)
			if err != nil {
				tb.Fatal(err)
			}
			if iv.containsNearly(gain-loss, 1e-12) {
				sum += binomialPMF(gained, n, gain) * binomialPMF(lost, n-gained, loss/(1-gain))
			}
		}
	}
	return sum
}

// Tango is the default for pairs: with twenty tasks of which few change it holds its level. Newcombe's method 10 does
// while most unchanged pairs are alike, and not when half of them pass and half fail.
func TestCoverageOfPairs(t *testing.T) {
	for _, c := range []struct {
		name       string
		f          func(Pairs, float64) (Interval, error)
		both       float64
		n          int
		gain, loss float64
		want       float64
	}{
		{"bootstrap", barePaired, 0.75, 20, 0.10, 0.05, 0.859},
		{"bootstrap", barePaired, 0.75, 20, 0.10, 0, 0.876},
		{"bootstrap", barePaired, 0.75, 40, 0.10, 0.05, 0.950},
		{"bootstrap", barePaired, 0.75, 40, 0.10, 0, 0.914},
		{"tango", Tango, 0.75, 20, 0.10, 0.05, 0.982},
		{"tango", Tango, 0.75, 20, 0.10, 0, 0.998},
		{"tango", Tango, 0.75, 40, 0.10, 0.05, 0.956},
		{"tango", Tango, 0.75, 40, 0.10, 0, 0.970},
		{"newcombe10", Newcombe10, 0.75, 20, 0.10, 0.05, 0.982},
		{"newcombe10, half pass", Newcombe10, 0.5, 20, 0.10, 0, 0.876},
	} {
		got := pairedCoverage(t, c.f, c.both, c.n, c.gain, c.loss)
		near(t, fmt.Sprintf("%s n=%d gain=%g loss=%g", c.name, c.n, c.gain, c.loss), got, c.want, 0.00051)
	}
}
