package stats

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// mustFixture decodes one file of reference values made with numpy, scipy, statsmodels and R. They are not part of
// the repository; without them the published values in anchors_test.go still hold the package in place.
func mustFixture(tb testing.TB, name string, into any) {
	tb.Helper()
	root := os.Getenv("TRACEJURY_SHARED")
	if root == "" {
		tb.Skip("TRACEJURY_SHARED is not set: the reference values are not on this machine")
	}
	raw, err := os.ReadFile(filepath.Join(root, "fixtures", "statistics", name))
	if err != nil {
		tb.Fatalf("reading reference values: %v", err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		tb.Fatalf("decoding %s: %v", name, err)
	}
}

// near fails unless |got − want| ≤ tol; a NaN fails.
func near(tb testing.TB, what string, got, want, tol float64) {
	tb.Helper()
	if !(math.Abs(got-want) <= tol) {
		tb.Errorf("%s: got %.17g, want %.17g (difference %.3g)", what, got, want, got-want)
	}
}

func nearInterval(tb testing.TB, what string, got Interval, err error, want []float64, tol float64) {
	tb.Helper()
	if err != nil {
		tb.Errorf("%s: %v", what, err)
		return
	}
	near(tb, what+" low", got.Low, want[0], tol)
	near(tb, what+" high", got.High, want[1], tol)
}
