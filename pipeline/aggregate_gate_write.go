package pipeline

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"os"
	"strings"

	"github.com/tracejury/tracejury/schema"
)

// JUnit as CI systems read it: a suite, a case a gate.
type (
	junitSuites struct {
		XMLName  xml.Name   `xml:"testsuites"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Errors   int        `xml:"errors,attr"`
		Skipped  int        `xml:"skipped,attr"`
		Suite    junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string          `xml:"name,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Skipped    int             `xml:"skipped,attr"`
		Timestamp  string          `xml:"timestamp,attr"`
		Properties []junitProperty `xml:"properties>property"`
		Cases      []junitCase     `xml:"testcase"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Failure *junitMessage `xml:"failure"`
		Error   *junitMessage `xml:"error"`
		Skipped *junitMessage `xml:"skipped"`
		Out     string        `xml:"system-out,omitempty"`
	}
	junitMessage struct {
		Message string `xml:"message,attr"`
	}
)

// junit is the gates of a run as JUnit XML. A gate without a result is an error, not a failure.
func junit(run schema.Run, results []GateResult) ([]byte, error) {
	suite := junitSuite{Name: "tracejury " + run.RunID, Tests: len(results), Timestamp: asOfRun(run).Format("2006-01-02T15:04:05"), Properties: []junitProperty{
		{"run", run.RunID}, {"evaluator", run.Evaluator}, {"state", run.State}, {"judge", printable(strings.Join(run.JudgeModels, ", "), 200)},
		{"calibration", run.Calibration}, {"offline", fmt.Sprint(run.Offline)}, {"rubric_sha256", run.RubricSHA256}}}
	for i := range results {
		r := &results[i]
		c := junitCase{Class: "tracejury.gates", Name: printable(r.Gate, 400), Out: printable(r.detail(), 800)}
		message := &junitMessage{printable(r.text(), 800)}
		switch r.State {
		case gateFailed:
			c.Failure = message
			suite.Failures++
		case gateUnknown:
			c.Error = message
			suite.Errors++
		case gateSkipped:
			c.Skipped = message
			suite.Skipped++
		}
		suite.Cases = append(suite.Cases, c)
	}
	var b bytes.Buffer
	b.WriteString(xml.Header)
	e := xml.NewEncoder(&b)
	e.Indent("", "  ")
	if err := e.Encode(junitSuites{Tests: suite.Tests, Failures: suite.Failures, Errors: suite.Errors, Skipped: suite.Skipped, Suite: suite}); err != nil {
		return nil, fmt.Errorf("encode JUnit: %w", err)
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// detail is what stands beside a gate: how its number was made.
func (r *GateResult) detail() string {
	s := r.State + ": " + r.text()
	if r.Method != "" {
		s += "; " + r.Method
	}
	if r.AdjustedP != nil {
		s += fmt.Sprintf("; were the true rate at the limit, this or better would come with p %s (Holm over all safety gates)", pText(*r.AdjustedP))
	}
	return s
}

// writeJUnit writes the gates to path.
func writeJUnit(path string, run schema.Run, results []GateResult) error {
	data, err := junit(run, results)
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		return fmt.Errorf("write --junit: %w", err)
	}
	return nil
}

// markdownEscape keeps untrusted text from being markup on a page that takes Markdown and HTML.
var markdownEscape = strings.NewReplacer("\\", "\\\\", "|", "\\|", "<", "&lt;", ">", "&gt;", "&", "&amp;", "`", "'", "*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]", "#", "\\#", "!", "\\!", "~", "\\~", "@", "&#64;", "$", "\\$", "://", "&#58;//")

func md(s string, limit int) string { return markdownEscape.Replace(printable(s, limit)) }

// summaryMarkdown is what a CI page shows of a run: the gates, the rates, what changed.
func (s *AggregateSummary) summaryMarkdown() []byte {
	var b strings.Builder
	run := &s.main.run
	fmt.Fprintf(&b, "### tracejury: %s, run %s\n\n", md(run.Evaluator, 48), md(run.RunID, 48))
	switch {
	case run.State == "no_result":
		b.WriteString("**No result**: more than 10 % could not be graded, or nothing was eligible.\n\n")
	case run.State != "finished":
		fmt.Fprintf(&b, "**%s**: %d of %d sampled sessions were not attempted.\n\n", md(run.State, 16), run.NotAttempted, run.Sampled)
	}
	if run.Offline {
		b.WriteString("Offline: verdicts come from code, not from a model.\n\n")
	}
	if run.Calibration != "passed" {
		b.WriteString("Informational: the judge is not calibrated on labels of people.\n\n")
	}
	if len(s.Gates) > 0 {
		b.WriteString("| gate | | value | of |\n|---|---|---:|---:|\n")
		for i := range s.Gates {
			g := &s.Gates[i]
			value := "–"
			if g.Value != nil {
				value = fmt.Sprintf("%.4g", *g.Value)
			}
			mark := map[string]string{gatePassed: "✅ passed", gateFailed: "❌ **failed**", gateSkipped: "⏭️ nothing applied", gateUnknown: "⚠️ no result"}[g.State]
			if g.Reason != "" {
				mark += ": " + md(g.Reason, 200)
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %d of %d |\n", md(g.Gate, 160), mark, value, g.K, g.N)
		}
		b.WriteByte('\n')
	}
	s.markdownRates(&b)
	for i := range s.Comparisons {
		s.Comparisons[i].markdown(&b)
	}
	return []byte(b.String())
}

func (s *AggregateSummary) markdownRates(b *strings.Builder) {
	b.WriteString("| | rate | interval | of | n/a | unclear | ungraded |\n|---|---:|---:|---:|---:|---:|---:|\n")
	for _, a := range s.Aggregates {
		if !a.Primary || a.Evaluator != s.main.run.Evaluator || a.GroupBy != overallGroup && a.GroupBy != "criterion" && a.GroupBy != "service" || a.Metric == metricMeanScore {
			continue
		}
		name := a.Metric
		switch {
		case a.Criterion != "":
			name = a.Criterion
		case a.Group != "" || a.GroupBy == "service":
			name += ", " + dash(a.Group)
		}
		rate, interval := "–", "–"
		switch {
		case a.NoResult:
			rate = "no result"
		case a.Estimate != nil:
			rate = fmt.Sprintf("%.1f%%", 100**a.Estimate)
			interval = fmt.Sprintf("%.1f–%.1f%%", 100**a.Low, 100**a.High)
		}
		fmt.Fprintf(b, "| %s | %s | %s | %d of %d | %d | %d | %d |\n", md(name, 96), rate, interval, a.Met, a.N, a.NotApplicable, a.Unclear, a.Ungraded)
	}
	fmt.Fprintf(b, "\nWilson intervals, level %.4g %%, each for itself.\n\n", 100*s.level)
}

func (c *Comparison) markdown(b *strings.Builder) {
	fmt.Fprintf(b, "**Since %s**: %s.\n\n", md(c.Baseline, 48), md(c.Overlap(), 300))
	if len(c.Forced) > 0 {
		fmt.Fprintf(b, "Not asked alike: another %s.\n\n", md(strings.Join(c.Forced, ", "), 200))
	}
	for i := range c.Changes {
		if x := &c.Changes[i]; x.GroupBy == overallGroup || x.Flagged {
			fmt.Fprintf(b, "- %s: %s\n", md(x.name(), 160), md(x.text(), 300))
		}
	}
	for i, t := range c.Turned {
		if i == maxTurnedShown {
			fmt.Fprintf(b, "- and %d more that passed before and do not now\n", len(c.Turned)-i)
			break
		}
		fmt.Fprintf(b, "- %s (%s) passed before and does not now: %s\n", md(t.Subject, 64), md(dash(t.Service), 48), md(strings.Join(t.NotMet, ", "), 200))
	}
	b.WriteByte('\n')
}

// appendSummary appends the Markdown to path: GITHUB_STEP_SUMMARY may hold what other steps said.
func appendSummary(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.Write(data)
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}
	if err != nil {
		return fmt.Errorf("write the Markdown summary: %w", err)
	}
	return nil
}
