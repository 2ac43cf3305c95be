package pipeline_test

import (
	"strings"
	"testing"

	"github.com/tracejury/tracejury/pipeline"
)

// A fraction where a whole number belongs is told, not cut off: half a day of retention is not for ever.
func TestConfigurationRefusesFractions(t *testing.T) {
	for text, want := range map[string]string{
		"retention:\n  content: 0.5\n":                                 "line 2, column 12: retention.content: 0.5: want a whole number",
		"\"retention\":\n  \"content\": 0.5\n":                         "retention.content",
		"retention: {\"content\": 0.5}\n":                              "retention.content",
		"evaluate:\n  budget_usd: &a 0.5\nretention:\n  content: *a\n": "retention.content",
		"evaluate:\n  days: 1.5\n":                                     "evaluate.days",
		"evaluate: {sample: 2.5}\n":                                    "evaluate.sample",
		"limits:\n  max_object_bytes: 1.5\n":                           "limits.max_object_bytes",
		"evaluate:\n  days: 7.0\n":                                     "",
		"evaluate:\n  budget_usd: 2.5\n":                               "",
		"evaluate:\n  prices:\n    - {model: m, input: 0.5}\n":         "",
		"sources:\n  - uri: s3://a\n":                                  "",
	} {
		_, err := pipeline.ParseConfig([]byte(text))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add([]byte("retention:\n  content: 0.5\n"))
	f.Add([]byte("a: &x {b: 1.5}\nc: *x\n"))
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = pipeline.ParseConfig(data) })
}
