package mask_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/pipeline/mask"
)

// Terminal programs print secrets in colour: a colour code beside a token is no part of the word.
func TestColourCodesHideNothing(t *testing.T) {
	m := mask.New(mask.Options{})
	secrets := []string{
		"AKIA" + strings.Repeat("FAKE", 4),
		"glpat-" + strings.Repeat("FAKE", 5),
		"sk-proj-" + strings.Repeat("FAKE", 12),
		"npm_" + strings.Repeat("FAKE", 9),
		"AIza" + strings.Repeat("FAKE", 8) + "FAK",
	}
	for _, secret := range secrets {
		for _, e := range []string{"\x1b", `\x1b`, `\u001b`, `\033`, `\e`} {
			for _, text := range []string{
				e + "[31m" + secret + e + "[0m",
				"found " + e + "[1;31m" + secret + e + "[0m in config.env",
				e + "[36mpassword" + e + "[0m=" + e + "[33m" + secret + e + "[0m",
			} {
				got := m.String(text, mask.Counts{})
				if strings.Contains(got, secret) || !strings.Contains(got, "[MASKED:") {
					t.Errorf("%q became %q", text, got)
				}
				doc, err := json.Marshal(map[string]string{"output": text})
				if err != nil {
					t.Fatal(err)
				}
				if got := string(m.JSON(doc, mask.Counts{})); strings.Contains(got, secret) || !json.Valid([]byte(got)) {
					t.Errorf("%s became %s", doc, got)
				}
			}
		}
	}
	for _, clean := range []string{"\x1b[32mok\x1b[0m 12 tests", `\u001b[1mPASS\u001b[0m`, "a[0m b", "\x1b]0;title\x07"} {
		if got := m.String(clean, mask.Counts{}); got != clean {
			t.Errorf("%q became %q", clean, got)
		}
	}
}
