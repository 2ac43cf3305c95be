package stats

import "math"

// ScoreStratum is a part of a population, such as one service, and the scores in its sample: of Size units Sampled were drawn, of which
// those that count have Values.
type ScoreStratum struct {
	Size, Sampled int
	Values        []float64
}

// MethodStratifiedMean is Student's t with the standard error of [StratifiedMean].
const MethodStratifiedMean = "student_t_stratified"

// StratifiedMean is [StratifiedDomain] for scores: the combined ratio estimator R = Σ w_h·Σv / Σ w_h·In_h with w_h = N_h/n_h, and the
// linearised standard error with z = v − R for the units that count and 0 for the other drawn ones (Cochran 1977, §6.11). The interval is
// Student's t with Σ n_h − H degrees of freedom over the H strata that hold a unit that counts and were not drawn completely.
//
// Errors are those of StratifiedDomain; values that do not vary have no interval, though Value is set beside the error.
func StratifiedMean(strata []ScoreStratum, level float64) (Estimate, error) {
	const fn = "StratifiedMean"
	domain := make([]DomainStratum, len(strata))
	var sum, in float64
	for i, s := range strata {
		if err := checkFinite(fn, "Values", s.Values); err != nil {
			return Estimate{}, err
		}
		domain[i] = DomainStratum{Size: s.Size, Sampled: s.Sampled, In: len(s.Values)}
		if s.Sampled > 0 {
			w := float64(s.Size) / float64(s.Sampled)
			for _, v := range s.Values {
				sum += w * v
			}
			in += w * float64(len(s.Values))
		}
	}
	if _, err := stratifiedDomain(fn, domain, level); err != nil { // what is wrong with the strata is wrong whatever the scores are
		est := Estimate{}
		if in > 0 {
			est.Value = sum / in
		}
		return est, err
	}
	est := Estimate{Value: sum / in}
	variance, freedom, count := 0.0, 0.0, 0
	for _, s := range strata {
		count += len(s.Values)
		if len(s.Values) == 0 {
			continue
		}
		if s.Sampled == s.Size {
			continue // adds no error
		}
		freedom += float64(s.Sampled) - 1
		n, size := float64(s.Sampled), float64(s.Size)
		var total, squares float64 // of z
		for _, v := range s.Values {
			total += v - est.Value
			squares += (v - est.Value) * (v - est.Value)
		}
		variance += size * size * (1 - n/size) * math.Max(0, squares-total*total/n) / (n - 1) / n
	}
	est.SE, est.Effective = math.Sqrt(variance)/in, float64(count)
	switch {
	case complete(strata):
		est.Interval = Interval{Low: est.Value, High: est.Value, Level: level, Method: MethodCensus}
		return est, nil
	case est.SE <= 1e-12*math.Abs(est.Value) || freedom < 1: // rounding is no spread
		return est, &UndefinedError{Func: fn, Reason: "the values of each stratum are all alike"}
	}
	half := est.SE * studentQuantile((1-level)/2, freedom)
	est.Interval = Interval{Low: est.Value - half, High: est.Value + half, Level: level, Method: MethodStratifiedMean}
	return est, nil
}

// complete says that all of every stratum that counts was drawn.
func complete(strata []ScoreStratum) bool {
	for _, s := range strata {
		if len(s.Values) > 0 && s.Sampled < s.Size {
			return false
		}
	}
	return true
}
