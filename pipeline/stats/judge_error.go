package stats

import (
	"fmt"
	"math"
)

// Estimate is a number with its standard error and interval.
type Estimate struct {
	Value, SE float64
	Interval  Interval
	// Effective is how many independent observations SE amounts to, where the interval rests on that number; else 0.
	Effective float64
}

// Accuracy is what a comparison with a trusted reference says about an imperfect classifier.
type Accuracy struct {
	// Specificity is the share of the Negatives reference cases that it called negative.
	Specificity float64
	Negatives   int
	// Sensitivity is the share of the Positives reference cases that it called positive.
	Sensitivity float64
	Positives   int
}

// RoganGladen corrects a rate, measured on n units by an imperfect classifier, for the classifier's errors, with the
// interval of Lee et al. 2025, which also carries the uncertainty of Accuracy. It is undefined for a classifier no better
// than chance, Sensitivity + Specificity ≤ 1. SE belongs to the interval's smoothed counts.
func RoganGladen(rate float64, n int, acc Accuracy, level float64) (Estimate, error) {
	const fn = "RoganGladen"
	if err := checkLevel(fn, level); err != nil {
		return Estimate{}, err
	}
	for _, c := range [...]struct {
		name string
		v    float64
	}{{"rate", rate}, {"Specificity", acc.Specificity}, {"Sensitivity", acc.Sensitivity}} {
		if err := checkUnit(fn, c.name, c.v); err != nil {
			return Estimate{}, err
		}
	}
	for _, c := range [...]struct {
		name  string
		count int
	}{{"n", n}, {"Negatives", acc.Negatives}, {"Positives", acc.Positives}} {
		if c.count < 0 || c.count > maxCount {
			return Estimate{}, &ArgumentError{Func: fn, Arg: c.name, Value: c.count}
		}
		if c.count == 0 {
			return Estimate{}, &UndefinedError{Func: fn, Reason: c.name + " is 0"}
		}
	}
	informed := acc.Specificity + acc.Sensitivity - 1
	z := zTwoSided(level)
	size, m0, m1 := float64(n)+z*z, float64(acc.Negatives)+2, float64(acc.Positives)+2
	p := (float64(n)*rate + z*z/2) / size
	q0 := (float64(acc.Negatives)*acc.Specificity + 1) / m0
	q1 := (float64(acc.Positives)*acc.Sensitivity + 1) / m1
	smoothed := q0 + q1 - 1
	if informed <= 1e-9 || smoothed <= 1e-9 {
		return Estimate{}, &UndefinedError{Func: fn, Reason: "sensitivity + specificity is not above 1"}
	}
	centre := (p + q0 - 1) / smoothed
	v0, v1 := q0*(1-q0)/m0, q1*(1-q1)/m1
	se := math.Sqrt(p*(1-p)/size+(1-centre)*(1-centre)*v0+centre*centre*v1) / smoothed
	centre += 2 * z * z * (-(1-centre)*v0 + centre*v1)
	iv := Interval{Low: centre - z*se, High: centre + z*se, Level: level, Method: MethodLee}
	return Estimate{
		Value: math.Min(1, math.Max(0, (rate+acc.Specificity-1)/informed)), SE: se, Interval: iv.Clip(0, 1),
	}, nil
}

// PPI is prediction-powered inference for a rate or a mean score in [0, 1]: labels are human, predictions the judge's for
// the same units, unlabelled the judge's for units without a label (Angelopoulos et al. 2023). The judge's mean is
// shifted by its mean error on the labelled units. The interval is cut to [0, 1].
func PPI(labels, predictions, unlabelled []float64, level float64) (Estimate, error) {
	return ppi("PPI", labels, predictions, unlabelled, level, func() float64 { return 1 }, MethodPPI)
}

// PPIPlus is PPI with the judge's weight chosen for the least variance, from 0 (labels only) to 1, which is also
// returned. It is never much worse than labels alone; below some thirty labels prefer the Wilson interval of the labels.
func PPIPlus(labels, predictions, unlabelled []float64, level float64) (est Estimate, lambda float64, err error) {
	est, err = ppi("PPIPlus", labels, predictions, unlabelled, level, func() float64 {
		lambda = ppiLambda(labels, predictions, unlabelled)
		return lambda
	}, MethodPPIPlus)
	return est, lambda, err
}

func ppi(
	fn string, labels, predictions, unlabelled []float64, level float64, weight func() float64, method string,
) (Estimate, error) {
	if err := checkLevel(fn, level); err != nil {
		return Estimate{}, err
	}
	if len(labels) != len(predictions) {
		return Estimate{}, &ArgumentError{Func: fn, Arg: "predictions", Value: len(predictions)}
	}
	for _, c := range [...]struct {
		name   string
		values []float64
	}{{"labels", labels}, {"predictions", predictions}, {"unlabelled", unlabelled}} {
		for _, v := range c.values {
			if err := checkUnit(fn, c.name, v); err != nil {
				return Estimate{}, err
			}
		}
	}
	if len(labels) < 2 || len(unlabelled) == 0 {
		return Estimate{}, &UndefinedError{Func: fn, Reason: fmt.Sprintf(
			"%d labelled and %d unlabelled units", len(labels), len(unlabelled))}
	}
	lambda := weight()
	rectifier := make([]float64, len(labels))
	for i, y := range labels {
		rectifier[i] = y - lambda*predictions[i]
	}
	value := lambda*meanOf(unlabelled) + meanOf(rectifier)
	se := math.Sqrt(lambda*lambda*populationVariance(unlabelled)/float64(len(unlabelled)) +
		populationVariance(rectifier)/float64(len(labels)))
	if se == 0 {
		return Estimate{}, &UndefinedError{Func: fn, Reason: "nothing varies, the normal interval would have no width"}
	}
	half := zTwoSided(level) * se
	iv := Interval{Low: value - half, High: value + half, Level: level, Method: method}
	return Estimate{Value: math.Min(1, math.Max(0, value)), SE: se, Interval: iv.Clip(0, 1)}, nil
}

// ppiLambda is cov(Y, Ŷ)/((1 + n/N)·var(Ŷ)), cut to [0, 1]; 0 for a judge that always says the same. As in the authors'
// package the covariance divides by n and the variance, over all predictions, by their number less one.
func ppiLambda(labels, predictions, unlabelled []float64) float64 {
	n, size := float64(len(labels)), float64(len(unlabelled))
	my, mp := meanOf(labels), meanOf(predictions)
	var cov float64
	for i, y := range labels {
		cov += (y - my) * (predictions[i] - mp)
	}
	cov /= n
	all := append(append(make([]float64, 0, len(predictions)+len(unlabelled)), predictions...), unlabelled...)
	variance := populationVariance(all) * (n + size) / (n + size - 1)
	if variance <= 0 {
		return 0
	}
	return math.Min(1, math.Max(0, cov/((1+n/size)*variance)))
}

// populationVariance divides by n, as the authors' package does.
func populationVariance(values []float64) float64 {
	mean := meanOf(values)
	var s2 float64
	for _, v := range values {
		s2 += (v - mean) * (v - mean)
	}
	return s2 / float64(len(values))
}
