package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/tracejury/tracejury/schema"
)

// Names that are markup stay text in what is said of earlier runs, in every format.
func TestPastIsSaidAndHarmless(t *testing.T) {
	low, high := 0.34, 0.74
	hostile := `<script>x</script>|](http://example.test)`
	point := 0.55
	rate := Counted{K: 11, N: 20, Rate: &point, Low: &low, High: &high}
	m := &Model{
		Run: schema.Run{RunID: "2026-11-30-000000000000", Evaluator: "session", State: "finished"},
		Trend: []Night{
			{AsOf: time.Date(2026, 11, 29, 6, 0, 0, 0, time.UTC), RunID: "a", Label: hostile, Passed: rate, Safe: Counted{}},
			{AsOf: time.Date(2026, 11, 30, 6, 0, 0, 0, time.UTC), RunID: "b", Shared: 7, Passed: rate, Safe: rate, Differs: []string{"judge"}},
		},
		Earlier: &Earlier{Baseline: hostile, Overlap: "7 of these 20 are among the 20 of the baseline", Differs: []string{"judge"}, Worse: []Worse{{hostile, hostile + " passed before and does not now"}}},
		Gates:   []Gate{{Text: hostile + ">=1", State: "failed", Detail: "is 0.5"}},
	}
	var page, text bytes.Buffer
	if err := HTML(&page, m); err != nil {
		t.Fatal(err)
	}
	if err := Markdown(&text, m); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`id="trend"`, `id="since"`, `id="gates"`, "Shared with the run before", `<td class="num">7</td>`, "Not asked alike", `id="line-p-t"`, "34.0–74.0%"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page.String(), "<script>x") {
		t.Error("a name became markup on the page")
	}
	for _, want := range []string{"## Gates", "## Trend", "another", "11 of 20"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("Markdown lacks %q", want)
		}
	}
	for line := range strings.Lines(text.String()) {
		if i := strings.Index(line, "<script>"); i >= 0 && strings.Count(line[:i], "`")%2 == 0 {
			t.Errorf("a name became markup: %s", line)
		}
	}
	// One run alone is no trend.
	m.Trend = m.Trend[:1]
	page.Reset()
	if err := HTML(&page, m); err != nil || strings.Contains(page.String(), `id="trend"`) {
		t.Errorf("a trend of one run: %v", err)
	}
}
