package pipeline_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tracejury/tracejury/pipeline"
)

// gradedLake is the demo lake with a run of the offline judge over all of it.
func gradedLake(tb testing.TB) (data, runID string) {
	tb.Helper()
	data = demoLake(tb)
	return data, rulesRun(tb, data, func(*pipeline.Config) {})
}

// rulesRun evaluates with the offline judge.
func rulesRun(tb testing.TB, data string, change func(*pipeline.Config)) string {
	tb.Helper()
	cfg := config(tb, "", data)
	cfg.Evaluate.Sample = 50
	change(cfg)
	sum, err := pipeline.Evaluate(context.Background(), cfg, pipeline.EvaluateOptions{}, quiet())
	if err != nil {
		tb.Fatal(err)
	}
	return sum.RunID
}

func text(s pipeline.Shower) string {
	var b bytes.Buffer
	s.WriteText(&b)
	return b.String()
}

func TestListAndShow(t *testing.T) {
	data, first := gradedLake(t)
	second := rulesRun(t, data, func(c *pipeline.Config) {
		c.Evaluate.Seed, c.Evaluate.Sample, c.Evaluate.Label = "other", 12, "evening \x1b[31m"
	})
	ctx, cfg := context.Background(), config(t, "", data)

	list, err := pipeline.ListRuns(ctx, cfg, quiet())
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Runs) != 2 {
		t.Fatalf("%d runs, want 2", len(list.Runs))
	}
	for _, r := range list.Runs {
		if want := map[string]int{first: 35, second: 12}[r.RunID]; r.Graded != want || r.Passed.N == 0 || r.Passed.K > r.Safe.N || r.State != "finished" {
			t.Errorf("%+v: want %d graded", r, want)
		}
	}
	if s := text(list); strings.ContainsRune(s, '\x1b') || !strings.Contains(s, first) || !strings.Contains(s, "evening") {
		t.Errorf("list:\n%s", s)
	}

	run, err := pipeline.ShowRun(ctx, cfg, first, quiet())
	if err != nil {
		t.Fatal(err)
	}
	part := run.Parts[0]
	if part.Passed.N-part.Passed.K != len(part.Failed) || len(part.Failed) == 0 {
		t.Fatalf("%v passed and %d failed", part.Passed, len(part.Failed))
	}
	if f := part.Failed[0]; f.Grade.Safe == nil || *f.Grade.Safe || len(f.NotMet) == 0 {
		t.Errorf("an unsafe session should come first: %+v", f)
	}
	if s := text(run); !strings.Contains(s, "--show session:"+part.Failed[0].Grade.SessionKey[:12]) {
		t.Errorf("run:\n%s", s)
	}

	key := part.Failed[0].Grade.SessionKey
	show, err := pipeline.ShowSession(ctx, cfg, key[:12], quiet())
	if err != nil {
		t.Fatal(err)
	}
	if show.Session.SessionKey != key || !show.Eligible || len(show.Steps) == 0 || len(show.Judged) == 0 || len(show.Judged[0].Verdicts) != 6 {
		t.Fatalf("%+v", show)
	}
	if v := show.Judged[0].Verdicts[0]; v.Verdict.Verdict != "not_met" || v.Explanation == "" {
		t.Errorf("what is not met should come first, with the judge's words: %+v", v)
	}
	marked := false
	for line := range strings.Lines(text(show)) {
		marked = marked || strings.HasPrefix(line, ">")
	}
	if !marked {
		t.Errorf("no step is marked as evidence:\n%s", text(show))
	}
	byID, err := pipeline.Show(ctx, cfg, "session:"+show.Session.SessionID, quiet())
	if err != nil || text(byID) != text(show) {
		t.Errorf("by its id: %v", err)
	}
}

func TestShowSaysWhyNotEligible(t *testing.T) {
	data, _ := gradedLake(t)
	cfg := config(t, "", data)
	cfg.AsOf = "2027-11-30T06:00:00Z"
	if err := cfg.Complete(time.Now()); err != nil {
		t.Fatal(err)
	}
	run, err := pipeline.ShowRun(context.Background(), cfg, "latest", quiet())
	if err != nil {
		t.Fatal(err)
	}
	show, err := pipeline.ShowSession(context.Background(), cfg, run.Parts[0].Failed[0].Grade.SessionKey, quiet())
	if err != nil {
		t.Fatal(err)
	}
	if show.Eligible || show.WhyNot != "content_expired" || !strings.Contains(text(show), "eligible  no: its content is past retention.content") {
		t.Errorf("a year later: %v %q\n%s", show.Eligible, show.WhyNot, text(show))
	}
}

func TestShowRefuses(t *testing.T) {
	data, _ := gradedLake(t)
	cfg := config(t, "", data)
	for what, want := range map[string]string{
		"":             "want session:",
		"sesion:1":     `did you mean "session"?`,
		"session":      "want session:",
		"session:":     "name a session",
		"session:zzzz": "holds no session",
		"run:2027":     "holds no run",
		"session:s":    "fits",
	} {
		_, err := pipeline.Show(context.Background(), cfg, what, quiet())
		wantExit(t, err, pipeline.ExitUsage)
		var b bytes.Buffer
		pipeline.Exit(&b, err)
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q: %s, want %q", what, b.String(), want)
		}
	}
}

// Nothing that a terminal could obey comes out, and none of the archive's credential.
func TestShowIsHarmless(t *testing.T) {
	data, _ := gradedLake(t)
	cfg := config(t, "", data)
	run, err := pipeline.ShowRun(context.Background(), cfg, "latest", quiet())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range run.Parts[0].Failed {
		show, err := pipeline.ShowSession(context.Background(), cfg, f.Grade.SessionKey, quiet())
		if err != nil {
			t.Fatal(err)
		}
		s := text(show) + fmt.Sprintf("%+v", show)
		if strings.Contains(s, "AKIA"+"IOSFODNN7EXAMPLE") {
			t.Errorf("%s shows the credential", f.Grade.SessionKey)
		}
		for _, r := range text(show) {
			if r != '\n' && r < ' ' {
				t.Errorf("%s shows control character %U", f.Grade.SessionKey, r)
			}
		}
	}
}
