package stats

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"
)

// nearTail holds far tails to a relative tolerance, where an absolute one would say nothing.
func nearTail(tb testing.TB, what string, got, want float64) {
	tb.Helper()
	tol := 1e-9
	if math.Abs(want) < 1e-9 {
		tol = math.Abs(want)*1e-6 + 1e-320
	}
	near(tb, what, got, want, tol)
}

func TestSpecialFunctionsFixture(t *testing.T) {
	var f struct {
		NormPPF []struct{ P, Z float64 }       `json:"norm_ppf"`
		NormCDF []struct{ P, Z float64 }       `json:"norm_cdf"`
		BetaPPF []struct{ P, A, B, X float64 } `json:"beta_ppf"`
		Binom   []struct {
			K, N        int
			P, CDF, PMF float64
		}
		TPPF []struct{ P, DF, T float64 } `json:"t_ppf"`
	}
	mustFixture(t, "special_functions.json", &f)
	for _, c := range f.NormPPF {
		near(t, fmt.Sprintf("normal quantile %g", c.P), mathext.NormalQuantile(c.P), c.Z, 1e-9)
	}
	for _, c := range f.NormCDF {
		nearTail(t, fmt.Sprintf("normal cdf %g", c.Z), normalCDF(c.Z), c.P)
	}
	for _, c := range f.BetaPPF {
		x, _ := betaQuantile(c.P, c.A, c.B)
		nearTail(t, fmt.Sprintf("beta quantile %g %g %g", c.P, c.A, c.B), x, c.X)
	}
	for _, c := range f.Binom {
		what := fmt.Sprintf("binomial %d %d %g", c.K, c.N, c.P)
		nearTail(t, what+" pmf", binomialPMF(c.K, c.N, c.P), c.PMF)
		nearTail(t, what+" cdf", binomialCDF(c.K, c.N, c.P), c.CDF)
	}
	for _, c := range f.TPPF {
		// scipy 1.10's t quantile is itself wrong in the ninth digit; TestStudentQuantileClosedForms is sharper.
		near(t, fmt.Sprintf("student %g %g", c.P, c.DF), studentQuantile(1-c.P, c.DF), c.T, 2e-8)
	}
}

// One, two and four degrees of freedom have closed forms.
func TestStudentQuantileClosedForms(t *testing.T) {
	for _, upper := range []float64{1e-6, 0.005, 0.025, 0.05, 0.25, 0.499} {
		near(t, "df 1", studentQuantile(upper, 1)*math.Tan(math.Pi*upper), 1, 1e-12)
		near(t, "df 2", studentQuantile(upper, 2), (1-2*upper)/math.Sqrt(2*upper*(1-upper)), 1e-9)
		q := studentQuantile(upper, 4)
		s := 1 + q*q/4
		near(t, "df 4", 0.5+0.375*q/math.Sqrt(s)*(1-q*q/(12*s)), 1-upper, 1e-14)
	}
}

// The file has the keys k and K, which encoding/json folds together; a map does not.
func TestHypergeometricFixture(t *testing.T) {
	var f struct{ Hypergeom []map[string]float64 }
	mustFixture(t, "special_functions.json", &f)
	for _, c := range f.Hypergeom {
		k, n, marked, size := int(c["k"]), int(c["n"]), int(c["K"]), int(c["M"])
		what := fmt.Sprintf("hypergeometric %d %d %d %d", k, n, marked, size)
		near(t, what+" pmf", math.Exp(logHypergeometric(k, n, marked, size)), c["pmf"], 1e-9)
		near(t, what+" cdf", 1-hypergeometricUpper(k+1, n, marked, size), c["cdf"], 1e-9)
		near(t, what+" sf", hypergeometricUpper(k, n, marked, size), c["sf_inclusive"], 1e-9)
	}
}

func TestBetaQuantileInvertsTheDistribution(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := math.Exp(rapid.Float64Range(-3, 13).Draw(t, "log a"))
		b := math.Exp(rapid.Float64Range(-3, 13).Draw(t, "log b"))
		p := rapid.OneOf(rapid.Float64Range(1e-12, 1-1e-12), rapid.SampledFrom([]float64{0.005, 0.025, 0.05, 0.5, 0.975})).Draw(t, "p")
		x, y := betaQuantile(p, a, b)
		if x < 1e-290 || y < 1e-290 {
			return
		}
		lower, upper := logIncompleteBeta(x, y, a, b)
		if e := math.Abs(math.Exp(lower) - p); e > 1e-9*math.Max(p, 1e-3) && x < 0.5 {
			t.Fatalf("I(quantile(%g; %g, %g)) = %g", p, a, b, math.Exp(lower))
		}
		if e := math.Abs(math.Exp(upper) - (1 - p)); e > 1e-8 {
			t.Fatalf("complement of %g at %g, %g = %g", p, a, b, math.Exp(upper))
		}
	})
}

// Another implementation, where it is accurate: gonum's is good to about 1e-10 for moderate arguments.
func TestIncompleteBetaAgainstGonum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Float64Range(0.5, 300).Draw(t, "a"), rapid.Float64Range(0.5, 300).Draw(t, "b")
		x := rapid.Float64Range(0.001, 0.999).Draw(t, "x")
		lower, _ := logIncompleteBeta(x, 1-x, a, b)
		if want := mathext.RegIncBeta(a, b, x); math.Abs(math.Exp(lower)-want) > 1e-9 {
			t.Fatalf("I_%g(%g, %g) = %g, gonum %g", x, a, b, math.Exp(lower), want)
		}
		k := rapid.IntRange(0, 300).Draw(t, "k")
		if want := (distuv.Binomial{N: 300, P: x}).Prob(float64(k)); math.Abs(binomialPMF(k, 300, x)-want) > 1e-9 {
			t.Fatalf("pmf(%d; 300, %g) = %g, gonum %g", k, x, binomialPMF(k, 300, x), want)
		}
	})
}

func TestBinomialSumsToOne(t *testing.T) {
	for _, n := range []int{1, 2, 20, 1000, 20000} {
		for _, p := range []float64{1e-6, 0.02, 0.5, 0.97} {
			sum := 0.0
			for k := range n + 1 {
				sum += binomialPMF(k, n, p)
			}
			near(t, fmt.Sprintf("sum of pmf, n=%d p=%g", n, p), sum, 1, 1e-12)
		}
	}
}
