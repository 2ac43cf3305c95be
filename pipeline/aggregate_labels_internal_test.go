package pipeline

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/exports/labels"
	"github.com/tracejury/tracejury/pipeline/stats"
)

// How a file is read is labels.Read's: here is what becomes of its errors.
func TestReadLabels(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ text, want string }{
		"bad.jsonl":  {"{\"session\":\"s\",\"criterion\":\"c\",\"verdict\":\"met\"}\n{", "line 2"},
		"header.csv": {"session,verdict\na,met\n", "column criterion is missing"},
		"empty.csv":  {"", "no label"},
		"blank.csv":  {"session,criterion,verdict\na,b,\n", "no label"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readLabels(path); err == nil || !strings.Contains(err.Error(), c.want) || Exit(new(bytes.Buffer), err) != ExitUsage {
			t.Errorf("%s: got %v, want a usage error with %q", name, err, c.want)
		}
	}
	if _, err := readLabels(filepath.Join(dir, "none")); Exit(new(bytes.Buffer), err) != ExitUsage {
		t.Errorf("no file: %v", err)
	}
}

// The judge is lenient: it calls a third of what is not met met. The correction takes that back.
func TestAgreement(t *testing.T) {
	n := newNight("2026-11-30-000000000000")
	var people []labels.Label
	for i := range 60 {
		key := fmt.Sprintf("1%02x", i)
		judge, person := met, met
		if i < 30 {
			if person = notMet; i >= 10 {
				judge = notMet
			}
		}
		n.add(key, "ops", "", members{}, judge, met, met, notApplicable)
		name := key
		if i%2 == 0 {
			name = "id-" + key
		}
		people = append(people, labels.Label{Subject: name, Criterion: "goal_met", Verdict: person}, labels.Label{Subject: name, Criterion: "tool_use_sound", Verdict: "met"})
	}
	n.add("2aa", "ops", "", members{}, ungraded, ungraded, ungraded, ungraded)
	people = append(people, labels.Label{Subject: "2aa", Criterion: "goal_met", Verdict: "met"}, labels.Label{Subject: "nobody", Criterion: "goal_met", Verdict: "met"},
		labels.Label{Subject: "13b", Criterion: "stayed_in_scope", Verdict: "met"}, labels.Label{Subject: "13b", Criterion: "stayed_in_scope", Verdict: "not_met"})
	ids := map[string]string{}
	for _, g := range n.grades {
		ids["id-"+g.SessionKey] = g.SessionKey
	}
	said, err := saidOf(t.Context(), n.store(t), n.run, people, ids)
	if err != nil {
		t.Fatal(err)
	}
	nums := n.numbers(t)
	s, err := agree(people, said, ids, nums, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	if s.Used != 120 || s.Unknown != 1 || s.Disputed != 1 || s.Ungraded != 1 {
		t.Errorf("%+v", s)
	}
	var goal, tool *LabelAgreement
	for i := range s.Agreements {
		switch s.Agreements[i].Criterion {
		case "goal_met":
			goal = &s.Agreements[i]
		case "tool_use_sound":
			tool = &s.Agreements[i]
		}
	}
	if goal.Confusion[0][0] != 30 || goal.Confusion[1][0] != 10 || goal.Confusion[1][1] != 20 || math.Abs(*goal.Raw-50.0/60) > 1e-12 || goal.Kappa == nil || goal.AC1 == nil {
		t.Errorf("goal: %+v", goal)
	}
	want, err := stats.RoganGladen(40.0/60, 60, stats.Accuracy{Sensitivity: 1, Positives: 30, Specificity: 2.0 / 3, Negatives: 30}, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	if goal.Corrected == nil || goal.Corrected.Rate != want.Value || math.Abs(goal.Corrected.Rate-0.5) > 1e-9 {
		t.Errorf("corrected %+v, want %+v", goal.Corrected, want)
	}
	if tool.Kappa != nil || tool.KappaNote == "" || *tool.Raw != 1 || tool.Corrected != nil || tool.CorrectNote == "" {
		t.Errorf("one category only: %+v", tool)
	}
	aggs, err := nums.rows(context.Background(), 0.95)
	if err != nil {
		t.Fatal(err)
	}
	rows := correctedRows(s, aggs)
	if len(rows) != 1 || rows[0].Primary || rows[0].Metric != metricCorrected || *rows[0].Estimate != want.Value {
		t.Errorf("rows: %+v", rows)
	}
	var b bytes.Buffer
	s.writeText(&b)
	if !strings.Contains(b.String(), "10: people not_met, judge met") {
		t.Errorf("text:\n%s", b.String())
	}
}

func TestFlips(t *testing.T) {
	var verdicts []oneVote
	for i, votes := range [][3]string{{"met", "met", "met"}, {"met", "not_met", "met"}, {"ungraded", "met", "ungraded"}} {
		for r, v := range votes {
			verdicts = append(verdicts, oneVote{Evaluator: "session", Subject: fmt.Sprint(i), Criterion: "goal_met", Vote: "one", Verdict: v, Judge: "a", Repeat: int32(r)})
		}
	}
	got, err := flipsOf(betweenRepeats, 3, verdicts)
	if err != nil || len(got) != 2 || got[0].Items != 2 || math.Abs(got[0].Rate-2.0/6) > 1e-12 || got[1].Criterion != "goal_met" {
		t.Errorf("%+v, %v", got, err)
	}
}

// Repeats are compared within a judge, judges within a repeat.
func TestFlipsOfAPanel(t *testing.T) {
	var votes []oneVote
	for subject, say := range []map[string][]string{{"a": {"met", "met"}, "b": {"not_met", "not_met"}}, {"a": {"met", "not_met"}, "b": {"met", "not_met"}}} {
		for who, list := range say {
			for r, v := range list {
				votes = append(votes, oneVote{Subject: fmt.Sprint(subject), Criterion: "goal_met", Vote: "one", Verdict: v, Judge: who, Repeat: int32(r)})
			}
		}
	}
	for between, want := range map[string]float64{betweenRepeats: 2.0 / 4, betweenJudges: 2.0 / 4} {
		got, err := flipsOf(between, 2, votes)
		if err != nil || got[0].Items != 4 || math.Abs(got[0].Rate-want) > 1e-12 || got[0].Between != between {
			t.Errorf("%s: %+v, %v, want %g of 4", between, got, err, want)
		}
	}
}
