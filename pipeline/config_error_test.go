package pipeline_test

import (
	"strings"
	"testing"

	"github.com/tracejury/tracejury/pipeline"
)

func TestParseConfig_ErrorsNamePlaceAndMend(t *testing.T) {
	for file, want := range map[string]string{
		"evaluate:\n  days: abc":                    `line 2, column 9: days: "abc": want a whole number`,
		"evaluate:\n  budget_usd: lots":             `line 2, column 15: budget_usd: "lots": want a number`,
		"mask: {pii: perhaps}":                      `line 1, column 13: pii: "perhaps": want true or false`,
		"evaluate: [1]":                             `line 1, column 11: evaluate: a list: want keys and values (key: value)`,
		"evaluate: 7":                               `line 1, column 11: evaluate: "7": want keys and values (key: value)`,
		"sources: here":                             `line 1, column 10: sources: "here": want a list (lines that start with -)`,
		"limits: {max_depth: 99999999999999999999}": `line 1, column 21: max_depth: "99999999999999999999": want a`,
		"evaluate: {dayz: 1}":                       `line 1, column 12: unknown key "dayz": did you mean "days"?`,
		"data: [":                                   "line 1, column 7: ",
	} {
		_, err := pipeline.ParseConfig([]byte(file))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s\n got %v\nwant %s", file, err, want)
		}
	}
}
