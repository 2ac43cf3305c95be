package stats

import (
	"fmt"
	"math"
)

// ArgumentError reports an argument that no data could have produced: a negative count, a level outside (0, 1).
type ArgumentError struct {
	Func, Arg string
	Value     any
}

// Error names the function, the argument and its value.
func (e *ArgumentError) Error() string {
	return fmt.Sprintf("stats.%s: argument %s: invalid value %v", e.Func, e.Arg, e.Value)
}

// UndefinedError reports valid data for which the asked number does not exist. Show null and the reason.
type UndefinedError struct {
	Func, Reason string
}

// Error names the function and the reason.
func (e *UndefinedError) Error() string {
	return fmt.Sprintf("stats.%s: undefined: %s", e.Func, e.Reason)
}

func checkLevel(fn string, level float64) error {
	if !(level > 0 && level < 1) { // also refuses NaN
		return &ArgumentError{Func: fn, Arg: "level", Value: level}
	}
	return nil
}

func checkCount(fn string, k, n int) error {
	if n < 0 || n > maxCount {
		return &ArgumentError{Func: fn, Arg: "n", Value: n}
	}
	if k < 0 || k > n {
		return &ArgumentError{Func: fn, Arg: "k", Value: k}
	}
	return nil
}

func checkProportion(fn string, k, n int, level float64) error {
	if err := checkCount(fn, k, n); err != nil {
		return err
	}
	return checkLevel(fn, level)
}

func checkFinite(fn, arg string, values []float64) error {
	for _, v := range values {
		if math.IsNaN(v) || math.Abs(v) > maxMagnitude {
			return &ArgumentError{Func: fn, Arg: arg, Value: v}
		}
	}
	return nil
}

func checkUnit(fn, arg string, v float64) error {
	if !(v >= 0 && v <= 1) {
		return &ArgumentError{Func: fn, Arg: arg, Value: v}
	}
	return nil
}

const (
	// maxCount keeps products of two counts inside int64 and the loops over a count short.
	maxCount = 1 << 30
	// maxMagnitude keeps sums of squares of a million values finite.
	maxMagnitude = 1e140
)

// observations counts in words.
func observations(n int) string {
	if n == 1 {
		return "1 observation"
	}
	return fmt.Sprintf("%d observations", n)
}
