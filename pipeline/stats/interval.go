package stats

import "math"

// Methods of an [Interval].
const (
	MethodWilson           = "wilson"
	MethodWilsonFinite     = "wilson_finite"
	MethodClopperPearson   = "clopper_pearson"
	MethodJeffreys         = "jeffreys"
	MethodBetaBinomial     = "beta_binomial"
	MethodHypergeometric   = "hypergeometric_exact"
	MethodCensus           = "census"
	MethodPercentileExact  = "bootstrap_percentile_exact"
	MethodBCaExact         = "bca_exact"
	MethodPercentile       = "bootstrap_percentile"
	MethodBCa              = "bca"
	MethodBasic            = "bootstrap_basic"
	MethodClusterBootstrap = "cluster_bootstrap"
	MethodClusterBCa       = "cluster_bca"
	MethodCR1              = "cr1_t"
	MethodStudent          = "student_t"
	MethodTango            = "tango"
	MethodNewcombe10       = "newcombe10"
	MethodNewcombe         = "newcombe_hybrid"
	MethodLee              = "rogan_gladen_lee"
	MethodPPI              = "ppi"
	MethodPPIPlus          = "ppi_plus"
	MethodNormal           = "normal"
	MethodStratified       = "wilson_effective_n"
	MethodKornGraubard     = "korn_graubard"
)

// Interval is a two-sided interval and how it came about. Its zero value means nothing.
type Interval struct {
	Low, High, Level float64
	// Method is the arithmetic that was used, one of the Method constants.
	Method string
	// FallbackFrom is the method that was asked for when another had to be used, and Reason says why in a few words.
	// Reason alone may also carry a warning about an interval that was not replaced.
	FallbackFrom, Reason string
}

// Width is High − Low.
func (i Interval) Width() float64 { return i.High - i.Low }

// Contains reports whether v lies in the closed interval.
func (i Interval) Contains(v float64) bool { return i.Low <= v && v <= i.High }

// Clip cuts both ends to [low, high]. Use it for a mean that cannot leave a range which its interval does not know.
func (i Interval) Clip(low, high float64) Interval {
	i.Low = math.Min(math.Max(i.Low, low), high)
	i.High = math.Min(math.Max(i.High, low), high)
	return i
}

// fallback marks i as standing in for a method that could not be used.
func (i Interval) fallback(from, reason string) Interval {
	i.FallbackFrom, i.Reason = from, reason
	return i
}

// Methods of a [Test].
const (
	MethodMcNemarExact  = "mcnemar_exact"
	MethodMcNemarMidP   = "mcnemar_mid_p"
	MethodFisher        = "fisher_exact"
	MethodSignFlipExact = "sign_flip_exact"
	MethodSignFlip      = "sign_flip_monte_carlo"
)

// Test is the two-sided p-value of a hypothesis of no difference.
type Test struct {
	P      float64
	Method string
}
