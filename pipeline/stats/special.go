package stats

import "math"

// The binomial probability is written in Loader's saddle-point form (Loader 2000, "Fast and accurate computation of
// binomial probabilities"; the form R uses). Differences of log-gamma values of a large n cancel: at n = 1e6 they lose
// seven digits, this form loses none. The incomplete beta function and everything built on it take their leading
// factor from here.

var halfLogTwoPi = 0.5 * math.Log(2*math.Pi)

// stirlingError is log(x!) minus Stirling's formula for it, x > 0.
func stirlingError(x float64) float64 {
	if x <= 15 {
		lg, _ := math.Lgamma(x + 1)
		return lg - (x+0.5)*math.Log(x) + x - halfLogTwoPi
	}
	const (
		s0 = 1.0 / 12
		s1 = 1.0 / 360
		s2 = 1.0 / 1260
		s3 = 1.0 / 1680
		s4 = 1.0 / 1188
		s5 = 691.0 / 360360
	)
	y := 1 / (x * x)
	return (s0 - (s1-(s2-(s3-(s4-s5*y)*y)*y)*y)*y) / x
}

// deviance is x·log(x/m) + m − x for x, m > 0, without cancellation where x is near m.
func deviance(x, m float64) float64 {
	if math.Abs(x-m) >= 0.1*(x+m) {
		return x*math.Log(x/m) + m - x
	}
	v := (x - m) / (x + m)
	sum := (x - m) * v
	term := 2 * x * v
	v *= v
	for j := 1; j < 1000; j++ {
		term *= v
		next := sum + term/float64(2*j+1)
		if next == sum {
			break
		}
		sum = next
	}
	return sum
}

// logBinomialRaw is the log of Γ(n+1)/(Γ(x+1)Γ(n−x+1))·p^x·q^(n−x) for real 0 ≤ x ≤ n, with q = 1 − p given apart.
func logBinomialRaw(x, n, p, q float64) float64 {
	switch {
	case p <= 0:
		return logIndicator(x <= 0)
	case q <= 0:
		return logIndicator(x >= n)
	case x <= 0:
		return n * log1mOf(p, q)
	case x >= n:
		return n * log1mOf(q, p)
	}
	lead := stirlingError(n) - stirlingError(x) - stirlingError(n-x) - deviance(x, n*p) - deviance(n-x, n*q)
	return lead + 0.5*(math.Log(n/(x*(n-x)))-math.Log(2*math.Pi))
}

func logIndicator(yes bool) float64 {
	if yes {
		return 0
	}
	return math.Inf(-1)
}

// log1mOf is log(1−p), from whichever of p and q = 1−p says it more precisely.
func log1mOf(p, q float64) float64 {
	if p < 0.5 {
		return math.Log1p(-p)
	}
	return math.Log(q)
}

// logIncompleteBeta returns the logs of the regularised incomplete beta function I_x(a, b) and of its complement,
// for a, b > 0 and y = 1 − x.
func logIncompleteBeta(x, y, a, b float64) (lower, upper float64) {
	if x <= 0 {
		return math.Inf(-1), 0
	}
	if y <= 0 {
		return 0, math.Inf(-1)
	}
	front := logBinomialRaw(a, a+b, x, y) + math.Log(a) + math.Log(b) - math.Log(a+b)
	if x*(a+b+2) < a+1 {
		lower = math.Min(0, front-math.Log(a)+math.Log(betaFraction(x, a, b)))
		return lower, log1mExp(lower)
	}
	upper = math.Min(0, front-math.Log(b)+math.Log(betaFraction(y, b, a)))
	return log1mExp(upper), upper
}

// log1mExp is log(1 − e^v) for v ≤ 0.
func log1mExp(v float64) float64 {
	if v >= 0 {
		return math.Inf(-1)
	}
	if v > -math.Ln2 {
		return math.Log(-math.Expm1(v))
	}
	return math.Log1p(-math.Exp(v))
}

// betaFraction is the continued fraction of the incomplete beta function (DLMF 8.17.22), by Lentz's method. It needs
// about √max(a, b) steps where x is below the mean, which is where it is called.
func betaFraction(x, a, b float64) float64 {
	const tiny = 1e-300
	guard := func(v float64) float64 {
		if math.Abs(v) < tiny {
			return tiny
		}
		return v
	}
	c := 1.0
	d := 1 / guard(1-(a+b)*x/(a+1))
	h := d
	for i := 1; i < 200000; i++ {
		m := float64(i)
		even := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		d = 1 / guard(1+even*d)
		c = guard(1 + even/c)
		h *= d * c
		odd := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		d = 1 / guard(1+odd*d)
		c = guard(1 + odd/c)
		step := d * c
		h *= step
		if math.Abs(step-1) < 1e-16 {
			break
		}
	}
	return h
}

// betaQuantile solves I_x(a, b) = p for x and returns x and 1 − x, each to full relative precision.
//
// log I as a function of log x is concave, so Newton's method on that scale comes from the left after one step and
// cannot leave the root again; the side is chosen so that the root lies below the mean, where the slope is not flat.
func betaQuantile(p, a, b float64) (x, y float64) {
	if p <= 0 {
		return 0, 1
	}
	if p >= 1 {
		return 1, 0
	}
	mean := a / (a + b)
	if lower, _ := logIncompleteBeta(mean, b/(a+b), a, b); lower >= math.Log(p) {
		x = betaQuantileLow(math.Log(p), a, b)
		return x, 1 - x
	}
	y = betaQuantileLow(math.Log1p(-p), b, a)
	return 1 - y, y
}

func betaQuantileLow(logP, a, b float64) float64 {
	t := math.Log(a / (a + b))
	for range 200 {
		x := math.Exp(t)
		if x == 0 {
			return 0
		}
		y := -math.Expm1(t)
		lower, _ := logIncompleteBeta(x, y, a, b)
		// d log I / d log x = x·pdf/I, and x·(1−x)·pdf is the leading factor.
		front := logBinomialRaw(a, a+b, x, y) + math.Log(a) + math.Log(b) - math.Log(a+b)
		slope := math.Exp(front-lower) / y
		if !(slope > 0) {
			return x
		}
		step := (logP - lower) / slope
		t = math.Min(t+step, 0)
		if math.Abs(step) <= 1e-15*math.Max(1, math.Abs(t)) {
			break
		}
	}
	return math.Exp(t)
}

// binomialPMF is P(X = k) for X ~ Binomial(n, p).
func binomialPMF(k, n int, p float64) float64 {
	if k < 0 || k > n {
		return 0
	}
	return math.Exp(logBinomialRaw(float64(k), float64(n), p, 1-p))
}

// binomialCDF is P(X ≤ k) for X ~ Binomial(n, p).
func binomialCDF(k, n int, p float64) float64 {
	if k < 0 {
		return 0
	}
	if k >= n {
		return 1
	}
	lower, _ := logIncompleteBeta(1-p, p, float64(n-k), float64(k+1))
	return math.Exp(lower)
}

// logHypergeometric is log P(X = k): k marked units among n drawn without replacement from size units of which marked
// are marked. Loader's product of three binomials, so that no factorial is formed.
func logHypergeometric(k, n, marked, size int) float64 {
	if k < 0 || k > n || k > marked || n-k > size-marked {
		return math.Inf(-1)
	}
	p := float64(n) / float64(size)
	q := float64(size-n) / float64(size)
	return logBinomialRaw(float64(k), float64(marked), p, q) +
		logBinomialRaw(float64(n-k), float64(size-marked), p, q) -
		logBinomialRaw(float64(n), float64(size), p, q)
}

// hypergeometricUpper is P(X ≥ k), summed from k upwards; every term is positive.
func hypergeometricUpper(k, n, marked, size int) float64 {
	low, high := max(0, n-(size-marked)), min(n, marked)
	if k <= low {
		return 1
	}
	if k > high {
		return 0
	}
	term := math.Exp(logHypergeometric(k, n, marked, size))
	sum := term
	for i := k; i < high; i++ {
		term *= float64(marked-i) * float64(n-i) / (float64(i+1) * float64(size-marked-n+i+1))
		sum += term
		if term < sum*1e-18 && float64(i)*float64(size) > float64(n)*float64(marked) {
			break // past the mode and falling
		}
	}
	return math.Min(1, sum)
}

// normalCDF is Φ(z).
func normalCDF(z float64) float64 { return 0.5 * math.Erfc(-z/math.Sqrt2) }

// studentQuantile is the t with P(T > t) = upper for T with df degrees of freedom, upper ≤ 1/2.
func studentQuantile(upper, df float64) float64 {
	x, y := betaQuantile(2*upper, df/2, 0.5)
	return math.Sqrt(df * y / x)
}
