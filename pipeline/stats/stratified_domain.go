package stats

import (
	"fmt"
	"math"
)

// DomainStratum is a part of a population, such as one service, and what of its sample a rate is about: of Size units Sampled were
// drawn, In of these count (belong to the group, and the question applies to them), and Met of these were met.
type DomainStratum struct {
	Size, Sampled, In, Met int
}

// MethodStratifiedDifference is the hybrid of two intervals that each know the design of their sample (MOVER, Zou and Donner 2008).
const MethodStratifiedDifference = "mover_effective_n"

// MethodEffectiveScore is the score test of two rates with the numbers of observations that their samples amount to.
const MethodEffectiveScore = "score_effective_n"

// StratifiedDomain is the rate among the units of the population that count, each drawn unit weighing N_h/n_h: the combined ratio
// estimator R = Σ w_h·Met_h / Σ w_h·In_h with the linearised standard error √Σ N_h²(1 − n_h/N_h)·s²_h/n_h / Σ w_h·In_h, where s²_h is the
// variance, over all drawn units of the stratum, of z = met − R for those that count and 0 for the others (Cochran 1977, §6.11; Särndal,
// Swensson and Wretman 1992, §5.8). Where every drawn unit counts it is the stratified mean, and where every stratum is sampled at the
// same rate it is Met/In of all.
//
// Errors are those of [Stratified]: nothing sampled from a stratum, one sampled unit of several (Value is set), nothing that counts.
//
// The interval is Wilson's with the number of observations that SE amounts to, but never more than there would be if every stratum varied
// as the whole does: a stratum of which all passed has s² = 0, and knows no more of its rate than other samples of its size.
func StratifiedDomain(strata []DomainStratum, level float64) (Estimate, error) {
	return stratifiedDomain("StratifiedDomain", strata, level)
}

func stratifiedDomain(fn string, strata []DomainStratum, level float64) (Estimate, error) {
	if err := checkLevel(fn, level); err != nil {
		return Estimate{}, err
	}
	var met, in, count float64 // weighted, weighted, plain
	population := 0
	for _, s := range strata {
		if err := s.check(fn); err != nil {
			return Estimate{}, err
		}
		if s.Size == 0 {
			continue
		}
		population += s.Size
		if s.Sampled == 0 {
			return Estimate{}, &UndefinedError{Func: fn, Reason: fmt.Sprintf("nothing was sampled from a stratum of %d", s.Size)}
		}
		w := float64(s.Size) / float64(s.Sampled)
		met += w * float64(s.Met)
		in += w * float64(s.In)
		count += float64(s.In)
	}
	switch {
	case population == 0:
		return Estimate{}, &UndefinedError{Func: fn, Reason: "empty population"}
	case count == 0:
		return Estimate{}, &UndefinedError{Func: fn, Reason: "nothing to count"}
	}
	est := Estimate{Value: math.Min(1, met/in)}
	variance, spread, ok := domainVariance(strata, est.Value)
	if !ok {
		return est, &UndefinedError{Func: fn, Reason: "a stratum has one sampled unit of several"}
	}
	est.SE = math.Sqrt(variance) / in
	if spread == 0 { // all that counts was drawn
		est.Effective = count
		est.Interval = Interval{Low: est.Value, High: est.Value, Level: level, Method: MethodCensus}
		return est, nil
	}
	est.Effective = in * in / spread
	est.Interval = Interval{Level: level, Method: MethodStratified}
	if est.SE > 0 {
		est.Effective = math.Min(est.Effective, est.Value*(1-est.Value)/(est.SE*est.SE))
	} else {
		est.Interval.Reason = "no sampled stratum varies: the size of the sample by its weights"
	}
	est.Interval.Low, est.Interval.High = wilson(est.Value*est.Effective, est.Effective, zTwoSided(level))
	return est, nil
}

func (s DomainStratum) check(fn string) error {
	switch {
	case s.Size < 0 || s.Size > maxCount:
		return &ArgumentError{Func: fn, Arg: "Size", Value: s.Size}
	case s.Sampled < 0 || s.Sampled > s.Size:
		return &ArgumentError{Func: fn, Arg: "Sampled", Value: s.Sampled}
	case s.In < 0 || s.In > s.Sampled:
		return &ArgumentError{Func: fn, Arg: "In", Value: s.In}
	case s.Met < 0 || s.Met > s.In:
		return &ArgumentError{Func: fn, Arg: "Passed", Value: s.Met}
	}
	return nil
}

// domainVariance is the variance of Σ w·z, and what Σ w²(1 − f) of the units that count is: with it the variance would be p(1−p)·spread
// if every stratum varied as the whole does. False where a stratum that is not completely sampled has one unit.
func domainVariance(strata []DomainStratum, rate float64) (variance, spread float64, ok bool) {
	for _, s := range strata {
		if s.Sampled == s.Size || s.In == 0 {
			continue
		}
		if s.Sampled < 2 {
			return 0, 0, false
		}
		n, size, in, met := float64(s.Sampled), float64(s.Size), float64(s.In), float64(s.Met)
		open := 1 - n/size
		spread += (size / n) * (size / n) * open * in
		var squares float64 // Σ (z − z̄)²
		if s.In == s.Sampled {
			squares = met * (in - met) / in // exactly 0 where all are alike
		} else {
			sum := met - rate*in
			squares = met*(1-rate)*(1-rate) + (in-met)*rate*rate - sum*sum/n
		}
		variance += size * size * open * math.Max(0, squares) / (n - 1) / n
	}
	return variance, spread, true
}

// EstimatesDifference is a − b of two independent samples with the interval that follows from theirs (MOVER, Zou and Donner 2008; for plain
// rates it is [NewcombeDifference]), and the two-sided score test with their effective numbers of observations.
func EstimatesDifference(a, b Estimate, level float64) (Interval, Test, error) {
	const fn = "EstimatesDifference"
	if err := checkLevel(fn, level); err != nil {
		return Interval{}, Test{}, err
	}
	for _, e := range []Estimate{a, b} {
		if !(e.Effective > 0) || !(e.Value >= 0 && e.Value <= 1) {
			return Interval{}, Test{}, &UndefinedError{Func: fn, Reason: "an estimate has no interval"}
		}
	}
	d := a.Value - b.Value
	iv := Interval{Low: d - math.Hypot(a.Value-a.Interval.Low, b.Interval.High-b.Value), High: d + math.Hypot(a.Interval.High-a.Value, b.Value-b.Interval.Low),
		Level: level, Method: MethodStratifiedDifference}
	test := Test{P: 1, Method: MethodEffectiveScore}
	pooled := (a.Value*a.Effective + b.Value*b.Effective) / (a.Effective + b.Effective)
	if v := pooled * (1 - pooled) * (1/a.Effective + 1/b.Effective); v > 0 {
		test.P = math.Erfc(math.Abs(d) / math.Sqrt(2*v))
	}
	return iv.Clip(-1, 1), test, nil
}

// RateEstimate is k of n of a simple random sample as an [Estimate], with Wilson's interval.
func RateEstimate(k, n int, level float64) (Estimate, error) {
	iv, err := Wilson(k, n, level)
	if err != nil {
		return Estimate{}, err
	}
	if n == 0 {
		return Estimate{}, &UndefinedError{Func: "RateEstimate", Reason: "nothing to count"}
	}
	p := float64(k) / float64(n)
	return Estimate{Value: p, SE: math.Sqrt(p * (1 - p) / float64(n)), Interval: iv, Effective: float64(n)}, nil
}

// KornGraubard is [ClopperPearson] with the number of observations that an estimate amounts to (Korn and Graubard 1998): for promises about
// a rate from a sample that was not drawn at one rate.
func KornGraubard(e Estimate, level float64) (Interval, error) {
	const fn = "KornGraubard"
	if err := checkEffective(fn, e, level); err != nil {
		return Interval{}, err
	}
	tail := (1 - level) / 2
	return Interval{Low: effectiveLow(e.Value, e.Effective, tail), High: 1 - effectiveLow(1-e.Value, e.Effective, tail), Level: level, Method: MethodKornGraubard}, nil
}

// KornGraubardLower is the one-sided bound: with confidence level the rate is at least this.
func KornGraubardLower(e Estimate, level float64) (float64, error) {
	const fn = "KornGraubardLower"
	if err := checkEffective(fn, e, level); err != nil {
		return 0, err
	}
	return effectiveLow(e.Value, e.Effective, 1-level), nil
}

// AtLeastEstimate is [AtLeast] with the number of observations that an estimate amounts to.
func AtLeastEstimate(e Estimate, rate float64) (Test, error) {
	const fn = "AtLeastEstimate"
	if err := checkEffective(fn, e, 0.95); err != nil {
		return Test{}, err
	}
	if err := checkUnit(fn, "rate", rate); err != nil {
		return Test{}, err
	}
	met := e.Value * e.Effective
	if met <= 0 || rate >= 1 {
		return Test{P: 1, Method: MethodBinomial}, nil
	}
	if rate <= 0 {
		return Test{Method: MethodBinomial}, nil
	}
	lower, _ := logIncompleteBeta(rate, 1-rate, met, e.Effective-met+1)
	return Test{P: math.Min(1, math.Exp(lower)), Method: MethodBinomial}, nil
}

func checkEffective(fn string, e Estimate, level float64) error {
	if err := checkLevel(fn, level); err != nil {
		return err
	}
	if !(e.Effective > 0) || !(e.Value >= 0 && e.Value <= 1) {
		return &UndefinedError{Func: fn, Reason: "the estimate has no interval"}
	}
	return nil
}

// effectiveLow is clopperPearsonLow for a number of observations that need not be whole.
func effectiveLow(p, n, tail float64) float64 {
	switch met := p * n; {
	case met <= 0:
		return 0
	case p >= 1:
		return math.Pow(tail, 1/n)
	default:
		x, _ := betaQuantile(tail, met, n-met+1)
		return x
	}
}
