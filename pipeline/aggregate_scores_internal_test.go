package pipeline

import (
	"testing"

	"github.com/tracejury/tracejury/pipeline/stats"
	"github.com/tracejury/tracejury/schema"
)

// A mean of scores and its interval stay on the scale, and yes and no are a proportion.
func TestMeanOfScoresStaysOnItsScale(t *testing.T) {
	for name, tt := range map[string]struct {
		values []float64
		method string
	}{
		"yes and no":     {[]float64{0, 1, 1, 0}, stats.MethodWilson},
		"all yes":        {[]float64{1, 1, 1}, stats.MethodWilson},
		"one":            {[]float64{1}, stats.MethodWilson},
		"few of a scale": {[]float64{0.25, 1, 1}, stats.MethodStudent},
		"equal":          {[]float64{0.5, 0.5}, "none"},
		"many":           {[]float64{0, 0.25, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0.75}, stats.MethodBCa},
	} {
		row := schema.Aggregate{RunID: "r", Group: "g", Level: 0.95}
		if err := fillMean(t.Context(), &row, tt.values); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if tt.method == "none" {
			if row.Low != nil || row.Reason == "" {
				t.Errorf("%s: %+v", name, row)
			}
			continue
		}
		if row.Method != tt.method || *row.Low < 0 || *row.High > 1 || *row.Low > *row.Estimate || *row.High < *row.Estimate {
			t.Errorf("%s: %s %v in %v to %v", name, row.Method, *row.Estimate, *row.Low, *row.High)
		}
	}
}
