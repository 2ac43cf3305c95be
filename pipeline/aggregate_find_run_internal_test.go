package pipeline

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/schema"
)

// readOnly is a store that denies every write.
type readOnly struct{ store.Store }

func (r readOnly) Put(context.Context, string, io.ReadSeeker, store.PutOptions) (store.Object, error) {
	return store.Object{}, store.ErrDenied
}

// lakeOfRuns writes runs with one graded session each.
func lakeOfRuns(t *testing.T, runs ...schema.Run) string {
	t.Helper()
	dir := t.TempDir()
	st, err := store.Open(t.Context(), dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.PutIfAbsent(t.Context(), schema.LayoutKey, bytes.NewReader(testLayout.Marshal()), store.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	rubric := judge.Rubric{Name: "r", Version: 1, Criteria: []judge.Criterion{{ID: "goal_met", Question: "?"}}}
	if err := saveRubric(t.Context(), st, rubric); err != nil {
		t.Fatal(err)
	}
	for _, r := range runs {
		n := newNight(r.RunID)
		n.run.Evaluator = cmp.Or(r.Evaluator, n.run.Evaluator)
		n.run.Label, n.run.FilterService, n.run.RubricSHA256, n.run.Graded = r.Label, r.FilterService, rubric.SHA256(), 1
		n.add("1a", "ops", "", members{}, met)
		for _, err := range []error{
			putRows(t.Context(), st, schema.Verdicts, schema.Verdicts.RunKey(r.RunID), n.verdicts),
			putRows(t.Context(), st, schema.Grades, schema.Grades.RunKey(r.RunID), n.grades),
			putRows(t.Context(), st, schema.Runs, schema.Runs.RunKey(r.RunID), []schema.Run{n.run}),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(12 * time.Millisecond) // a tick of the clock of files: later is later
	}
	return dir
}

func TestFindRun(t *testing.T) {
	id := func(s string) string { return s + "-000000000000" }
	dir := lakeOfRuns(t, schema.Run{RunID: id("2026-11-28"), Label: "release"}, schema.Run{RunID: id("2026-11-29")},
		schema.Run{RunID: "2026-11-30-aaaaaaaaaaaa"}, schema.Run{RunID: "2026-11-30-bbbbbbbbbbbb", FilterService: "ops"}, schema.Run{RunID: "2026-11-30-cccccccccccc", Label: "try"}, schema.Run{RunID: "2026-11-30-dddddddddddd", Evaluator: "tool_description"})
	st, err := store.Open(t.Context(), dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"latest": "2026-11-30-aaaaaaaaaaaa", "aaaa": "2026-11-30-aaaaaaaaaaaa", "2026-11-30-b": "2026-11-30-bbbbbbbbbbbb", "2026-11-29": id("2026-11-29"), "label:release": id("2026-11-28"), "label:try": "2026-11-30-cccccccccccc", id("2026-11-29"): id("2026-11-29"),
	} {
		if rows, err := findRun(t.Context(), st, name, ""); err != nil || rows[0].RunID != want {
			t.Errorf("%s: %v, %v, want %s", name, rows, err, want)
		}
	}
	for until, want := range map[string]string{"2026-12-24": "2026-11-30-aaaaaaaaaaaa", "2026-11-29": id("2026-11-29"), "2026-11-28": id("2026-11-28")} {
		if rows, err := findRun(t.Context(), st, "latest", until); err != nil || rows[0].RunID != want {
			t.Errorf("latest up to %s: %v, %v, want %s", until, rows, err, want)
		}
	}
	if _, err := findRun(t.Context(), st, "latest", "2026-11-27"); err == nil || Exit(new(bytes.Buffer), err) != ExitNoResult || !strings.Contains(err.Error(), "up to 2026-11-27") {
		t.Errorf("latest before the first: %v", err)
	}
	if _, err := findRun(t.Context(), st, "2026-11-30", ""); err == nil || !strings.Contains(err.Error(), `4 runs that begin with "2026-11-30"`) {
		t.Errorf("an ambiguous beginning: %v", err)
	}
	for _, name := range []string{"label:relaese", id("2026-11-27"), "aaa", "2026-12", ""} {
		if _, err := findRun(t.Context(), st, name, ""); err == nil || Exit(new(bytes.Buffer), err) != ExitUsage {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Where nothing may be written the numbers are printed all the same, and where latest is an ad hoc run that is said.
func TestAggregateWhereNothingMayBeWritten(t *testing.T) {
	cfg := &Config{Data: lakeOfRuns(t, schema.Run{RunID: "2026-11-30-aaaaaaaaaaaa", Label: "try"})}
	if err := cfg.Complete(time.Now()); err != nil {
		t.Fatal(err)
	}
	cfg.wrap = func(st store.Store) store.Store { return readOnly{st} }
	sum, err := Aggregate(t.Context(), cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	warnings := strings.Join(sum.Warnings, "\n")
	if len(sum.Aggregates) == 0 || !strings.Contains(warnings, "aggregates was not written") || !strings.Contains(warnings, "not of everything (label try)") {
		t.Errorf("%d aggregates, warnings %q", len(sum.Aggregates), warnings)
	}
}
