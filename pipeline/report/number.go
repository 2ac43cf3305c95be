package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/tracejury/tracejury/pipeline/stats"
)

// unknown stands where there is no number. It is never 0.
const unknown = "–"

// percent prints a share to a tenth. Only a true 0 and a true 1 print as 0.0% and 100.0%.
func percent(v float64) string { return tenth(v) + "%" }

func tenth(v float64) string {
	r := math.Round(v*1000) / 10
	switch {
	case v < 1 && r >= 100:
		r = 99.9
	case v > 0 && r <= 0:
		r = 0.1
	}
	return strconv.FormatFloat(r, 'f', 1, 64)
}

// points prints a difference of two shares with its sign.
func points(v float64) string {
	s := strconv.FormatFloat(math.Abs(v)*100, 'f', 1, 64)
	switch {
	case s == "0.0":
		return s
	case v < 0:
		return "−" + s
	}
	return "+" + s
}

// levelText is 95% for 0.95 and 99.9% for 0.999.
func levelText(level float64) string {
	return strconv.FormatFloat(math.Round(level*1e6)/1e4, 'f', -1, 64) + "%"
}

// share is v where it is a proportion, and nil for everything else, NaN included.
func share(v *float64) *float64 {
	if v == nil || !(*v >= 0 && *v <= 1) {
		return nil
	}
	return v
}

// finite is v where it can be printed.
func finite(v *float64) *float64 {
	if v == nil || math.IsNaN(*v) || math.IsInf(*v, 0) {
		return nil
	}
	return v
}

// methodText names the arithmetic of an interval as a statistician would.
func methodText(method string) string {
	switch method {
	case stats.MethodWilson:
		return "Wilson"
	case stats.MethodWilsonFinite:
		return "Wilson, finite population"
	case stats.MethodStratified:
		return "Wilson, weighted"
	case stats.MethodStratifiedMean:
		return "Student's t, weighted"
	case stats.MethodKornGraubard:
		return "Korn–Graubard"
	case stats.MethodClopperPearson:
		return "Clopper–Pearson"
	case stats.MethodJeffreys:
		return "Jeffreys"
	case stats.MethodHypergeometric:
		return "exact hypergeometric"
	case stats.MethodPercentileExact, "bootstrap":
		return "exact bootstrap"
	case stats.MethodBCaExact:
		return "exact BCa bootstrap"
	case stats.MethodBCa:
		return "BCa bootstrap"
	case stats.MethodStudent:
		return "Student t"
	case stats.MethodCensus:
		return "census"
	}
	return name(strings.ReplaceAll(method, "_", " "))
}

// group puts spaces between thousands, so that a million reads as one.
func group(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = "−", s[1:]
	}
	var b strings.Builder
	for i := range len(s) {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteByte(s[i])
	}
	return sign + b.String()
}

// instant prints a time of the tables to the minute in UTC; 0 is unknown.
func instant(unixNano int64) string {
	if unixNano == 0 {
		return unknown
	}
	return time.Unix(0, unixNano).UTC().Format("2006-01-02 15:04")
}

// dollars prints a cost that is kept in millionths.
func dollars(micros int64) string {
	sign, m := "", uint64(micros)
	if micros < 0 {
		sign, m = "−", -m
	}
	return fmt.Sprintf("%s%d.%06d USD", sign, m/1e6, m%1e6)
}

// counted joins a number and its noun.
func counted(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "s") {
		return group(n) + " " + noun
	}
	return group(n) + " " + noun + "s"
}
