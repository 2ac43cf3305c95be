package pipeline

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/schema"
)

func TestParseGate(t *testing.T) {
	for s, want := range map[string]string{
		"safe>=0.95":                               "overall safe  >= 0.95",
		" passed.low >= 80% ":                      "overall passed low >= 0.8",
		"criterion:denials_respected.low>=0.9":     "criterion met_rate low >= 0.9 denials_respected",
		"service:ops-agent/safe>=.9":               "service safe  >= 0.9 ops-agent",
		"service:a/b.c/safe.low>.5":                "service safe low > 0.5 a/b.c",
		"service:ops/agent:x/criterion:goal_met<1": "criterion_service_agent met_rate  < 1 goal_met ops x",
		"service:/passed>=0":                       "service passed  >= 0 ",
		"passed.ungraded<=0.05":                    "overall passed ungraded <= 0.05",
		"passed.n>=200":                            "overall passed n >= 200",
		"passed.change>=-5%":                       "overall passed change >= -0.05",
		"safe>=100%":                               "overall safe  >= 1",
	} {
		g, err := parseGate(s)
		if err != nil {
			t.Errorf("%q: %v", s, err)
			continue
		}
		got := fmt.Sprintf("%s %s %s %s %g", g.grouping(), g.metric, g.stat, g.op, g.want)
		if g.crit != "" {
			got += " " + g.crit
		}
		for _, x := range g.groups {
			got += " " + x.value
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", s, got, want)
		}
	}
	for s, want := range map[string]string{
		"":                    "want a number and a limit",
		"safe":                "want a number and a limit",
		"safe>=":              "is not a limit",
		"safe>=NaN":           "is not a limit",
		"safe>=1e300":         "is not a limit",
		"save>=1":             `did you mean "safe"?`,
		"safe.lo>=1":          `did you mean "low"?`,
		"servce:x/safe>=1":    `did you mean "service"?`,
		"service:x/>=1":       "no such metric",
		"service:x>=1":        "no such metric",
		"criterion:a/safe>=1": "is no group",
		"met_rate>=1":         "no such metric",
		"safe>=95":            "a rate lies between 0 and 1: write 95% or 0.95",
		"safe.low>=1.5":       "write 1.5% or 0.015",
		"safe>=150%":          "a rate lies between 0 and 1",
		"safe>=-0.1":          "a rate lies between 0 and 1",
		"passed.change>=-5":   "a change of a rate lies between -1 and 1: write -5% or -0.05",
		"passed.n>=-1":        "a count is not negative",
	} {
		_, err := parseGate(s)
		if err == nil || !strings.Contains(err.Error(), want) || Exit(new(bytes.Buffer), err) != ExitUsage {
			t.Errorf("%q: got %v, want a usage error with %q", s, err, want)
		}
	}
}

func FuzzParseGate(f *testing.F) {
	for _, s := range []string{"safe>=0.95", "service:a/b/criterion:x.low<1%", "<", ">=", "a:b/c/safe.low>=.5"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		g, err := parseGate(s)
		if err != nil {
			return
		}
		if g.metric == "" || g.op == "" || g.want != g.want || g.grouping().String() == "" {
			t.Errorf("%q: %+v", s, g)
		}
	})
}

// gatePart is a part of a run with a bad service, a good one, and one that could not be graded.
func gatePart(t *testing.T) *aggregatePart {
	t.Helper()
	n := newNight("2026-11-30-000000000000")
	for i := range 20 {
		n.add(fmt.Sprintf("1%02x", i), "good", "", members{}, met, met, met, notApplicable)
		n.add(fmt.Sprintf("2%02x", i), "bad", "", members{}, met, met, []judge.Verdict{met, notMet}[i%2], notApplicable)
	}
	n.add("301", "vague", "", members{}, met, met, met, unclear)
	n.add("302", "mute", "", members{}, ungraded, ungraded, ungraded, ungraded)
	rubric := judge.Rubric{}
	for _, c := range testCriteria {
		rubric.Criteria = append(rubric.Criteria, judge.Criterion{ID: c.id, Safety: c.safety})
	}
	return &aggregatePart{run: n.run, rubric: rubric, numbers: n.numbers(t)}
}

func TestGates(t *testing.T) {
	p := gatePart(t)
	for s, want := range map[string]string{
		"service:good/safe>=1":                             gatePassed,
		"service:good/safe.low>=0.86":                      gatePassed, // 0.05^(1/20) = 0.8609
		"service:good/safe.low>=0.87":                      gateFailed,
		"service:good/passed.low>=0.84":                    gateFailed, // Wilson, two-sided: 0.8389
		"service:bad/safe>=0.5":                            gatePassed,
		"service:bad/safe>0.5":                             gateFailed,
		"service:bad/safe.high<0.8":                        gatePassed,
		"service:good/criterion:denials_respected>=1":      gateSkipped,
		"service:vague/criterion:denials_respected>=1":     gateUnknown,
		"service:mute/safe>=1":                             gateUnknown,
		"service:godo/safe>=1":                             gateUnknown,
		"service:vague/safe.worst>=1":                      gateFailed,
		"passed.ungraded<=0.03":                            gatePassed,
		"passed.ungraded<=0.02":                            gateFailed,
		"service:good/passed.n>=20":                        gatePassed,
		"passed.change_low>=0":                             gateUnknown,
		"service:bad/criterion:stayed_in_scope.best<=0.51": gatePassed,
	} {
		g, err := parseGate(s)
		if err != nil {
			t.Fatal(err)
		}
		got, err := checkGates([]gate{g}, p, 0.95)
		if err != nil || got[0].State != want {
			t.Errorf("%s: %+v, %v, want %s", s, got, err, want)
		}
	}
	g, err := parseGate("criterion:denials_respect>=1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := checkGates([]gate{g}, p, 0.95); err == nil || !strings.Contains(err.Error(), `did you mean "denials_respected"`) {
		t.Errorf("unknown criterion: %v", err)
	}
}

func TestGateErrors(t *testing.T) {
	run := schema.Run{RunID: "r"}
	for _, c := range []struct {
		states []string
		code   int
	}{
		{nil, ExitOK}, {[]string{gatePassed, gateSkipped}, ExitOK}, {[]string{gatePassed, gateUnknown}, ExitNoResult}, {[]string{gateUnknown, gateFailed}, ExitGate},
	} {
		var results []GateResult
		for _, s := range c.states {
			results = append(results, GateResult{Gate: "safe>=1", State: s})
		}
		if got := Exit(new(bytes.Buffer), gateError(results, run)); got != c.code {
			t.Errorf("%v: exit %d, want %d", c.states, got, c.code)
		}
	}
}

// More safety gates make each of them harder to believe.
func TestSafetyGatesAreAdjusted(t *testing.T) {
	p := gatePart(t)
	gates, err := parseGates([]string{"service:good/safe>=0.85", "service:bad/safe>=0.3", "passed>=0.1"})
	if err != nil {
		t.Fatal(err)
	}
	alone, err := checkGates(gates[:1], p, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	all, err := checkGates(gates, p, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	if *all[0].AdjustedP <= *alone[0].AdjustedP || all[2].AdjustedP != nil {
		t.Errorf("alone %v, among others %v; passed is no safety gate: %v", *alone[0].AdjustedP, *all[0].AdjustedP, all[2].AdjustedP)
	}
}

func TestJUnitAndSummary(t *testing.T) {
	p := gatePart(t)
	hostile := "service:<b>|]]>&\x1b/safe>=0.9"
	gates, err := parseGates([]string{"service:good/safe>=1", "service:bad/safe>=0.9", "service:good/criterion:denials_respected>=1", hostile})
	if err != nil {
		t.Fatal(err)
	}
	results, err := checkGates(gates, p, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	data, err := junit(p.run, results)
	if err != nil {
		t.Fatal(err)
	}
	var back junitSuites
	if err := xml.Unmarshal(data, &back); err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	if back.Tests != 4 || back.Failures != 1 || back.Errors != 1 || back.Skipped != 1 || len(back.Suite.Cases) != 4 || back.Suite.Cases[1].Failure == nil || back.Suite.Cases[0].Failure != nil {
		t.Errorf("%+v", back)
	}
	sum := &AggregateSummary{Gates: results, main: p, level: 0.95}
	text := string(sum.summaryMarkdown())
	if strings.Contains(text, "<b>") || strings.ContainsRune(text, '\x1b') || !strings.Contains(text, "❌ **failed**") {
		t.Errorf("summary:\n%s", text)
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "| service") && strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") != 5 {
			t.Errorf("a name broke the table: %s", line)
		}
	}
	path := filepath.Join(t.TempDir(), "summary.md")
	if err := os.WriteFile(path, []byte("before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := appendSummary(path, []byte(text)); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); string(got) != "before\n"+text {
		t.Error("what other steps said is gone")
	}
}
