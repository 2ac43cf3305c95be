package stats

import (
	"math"
	"sort"

	"gonum.org/v1/gonum/mathext"
)

// DetectableDifference is about the smallest change of a pass rate that n pairs show with the given power (0.8) in a
// two-sided test at 1 − level, when the share discordant of the pairs changes either way: (z + z_power)·√(discordant/n).
// A result above discordant means that no change which is possible can be shown.
func DetectableDifference(n int, discordant, level, power float64) (float64, error) {
	const fn = "DetectableDifference"
	if n < 1 || n > maxCount {
		return 0, &ArgumentError{Func: fn, Arg: "n", Value: n}
	}
	z, err := planZ(fn, level, power)
	if err != nil {
		return 0, err
	}
	if !(discordant > 0 && discordant <= 1) {
		return 0, &ArgumentError{Func: fn, Arg: "discordant", Value: discordant}
	}
	return z * math.Sqrt(discordant/float64(n)), nil
}

// DetectableChange is the same for two independent samples of n1 and n2 with a pass rate near rate, as between two
// nights. Rates of 0 and 1 leave no variance to plan with: the rate is moved inside by the rule of Wilson's centre.
func DetectableChange(rate float64, n1, n2 int, level, power float64) (float64, error) {
	const fn = "DetectableChange"
	if n1 < 1 || n1 > maxCount {
		return 0, &ArgumentError{Func: fn, Arg: "n1", Value: n1}
	}
	if n2 < 1 || n2 > maxCount {
		return 0, &ArgumentError{Func: fn, Arg: "n2", Value: n2}
	}
	if err := checkUnit(fn, "rate", rate); err != nil {
		return 0, err
	}
	z, err := planZ(fn, level, power)
	if err != nil {
		return 0, err
	}
	n, za := float64(n1+n2), zTwoSided(level)
	centre := (n*rate + za*za/2) / (n + za*za)
	return z * math.Sqrt(centre*(1-centre)*(1/float64(n1)+1/float64(n2))), nil
}

// RequiredPairs is the number of pairs that shows a change of delta with the given power: ((z + z_power)/delta)² times
// the variance discordant − delta² of a paired difference (Miller 2024).
func RequiredPairs(delta, discordant, level, power float64) (int, error) {
	const fn = "RequiredPairs"
	z, err := planZ(fn, level, power)
	if err != nil {
		return 0, err
	}
	if !(discordant > 0 && discordant <= 1) {
		return 0, &ArgumentError{Func: fn, Arg: "discordant", Value: discordant}
	}
	if !(delta >= 1e-4 && delta <= discordant) {
		return 0, &ArgumentError{Func: fn, Arg: "delta", Value: delta}
	}
	n := z * z * (discordant - delta*delta) / (delta * delta)
	return max(1, int(math.Ceil(n-1e-9))), nil
}

// RequiredAllPass is the number of units that must all pass before the one-sided exact lower bound reaches rate: 59 for a
// rate of 0.95 at 0.95.
func RequiredAllPass(rate, level float64) (int, error) {
	const fn = "RequiredAllPass"
	if err := checkLevel(fn, level); err != nil {
		return 0, err
	}
	if !(rate > 0 && rate <= 1-1e-6) {
		return 0, &ArgumentError{Func: fn, Arg: "rate", Value: rate}
	}
	return max(1, int(math.Ceil(math.Log1p(-level)/math.Log(rate)-1e-9))), nil
}

func planZ(fn string, level, power float64) (float64, error) {
	if err := checkLevel(fn, level); err != nil {
		return 0, err
	}
	if !(power >= 0.5 && power < 1) { // less would be a coin
		return 0, &ArgumentError{Func: fn, Arg: "power", Value: power}
	}
	return zTwoSided(level) + mathext.NormalQuantile(power), nil
}

// RequiredForWidth is the number of units from which on the Wilson interval of a rate is no wider than width. It is a plan,
// not a promise: the next sample may have another rate.
func RequiredForWidth(rate, width, level float64) (int, error) {
	const fn = "RequiredForWidth"
	if err := checkLevel(fn, level); err != nil {
		return 0, err
	}
	if err := checkUnit(fn, "rate", rate); err != nil {
		return 0, err
	}
	z := zTwoSided(level)
	wide := func(n int) float64 { return wilsonWidth(rate, float64(n), z) }
	if !(width > 0) || wide(maxCount) > width {
		return 0, &ArgumentError{Func: fn, Arg: "width", Value: width}
	}
	return 1 + sort.Search(maxCount-1, func(i int) bool { return wide(i+1) <= width }), nil
}

// wilsonWidth falls with n for every rate: its square is z²·(4np(1−p) + z²)/(n + z²)².
func wilsonWidth(p, n, z float64) float64 {
	return z * math.Sqrt(4*n*p*(1-p)+z*z) / (n + z*z)
}
