package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// labelPrefix begins the name of a run that is looked for by its label.
const labelPrefix = "label:"

// findRun finds the parts of a run by its id or an unambiguous beginning of it, by its label (label:NAME, the newest that has it), or of
// the latest: highest date up to until, where that is not empty, then written last. Of the runs of that date latest prefers those of everything, that graded sessions without a filter and without a label: an
// ad hoc run in the afternoon, or one of tool descriptions, is not the night's.
func findRun(ctx context.Context, st store.Store, id, until string) ([]schema.Run, error) {
	label, byLabel := strings.CutPrefix(id, labelPrefix)
	if id != "latest" && !byLabel {
		rows, _, err := table.Read[schema.Run](ctx, st, schema.Runs.RunKey(id))
		if err != nil || len(rows) > 0 {
			return rows, err
		}
		whole, err := wholeRunID(ctx, st, id)
		if err != nil {
			return nil, err
		}
		rows, _, err = table.Read[schema.Run](ctx, st, schema.Runs.RunKey(whole))
		return rows, err
	}
	objects, err := runObjects(ctx, st, until)
	if err != nil {
		return nil, err
	}
	var fallback []schema.Run
	var labels []string
	for _, obj := range objects {
		if !byLabel && fallback != nil && runDate(obj.Key) != runDay(fallback[0].RunID) {
			break
		}
		rows, _, err := table.Read[schema.Run](ctx, st, obj.Key)
		switch {
		case err != nil:
			return nil, err
		case len(rows) == 0:
			return nil, fmt.Errorf("%s/%s holds no row", st.URI(), obj.Key)
		case byLabel && rows[0].Label == label, !byLabel && isOfEverything(rows):
			return rows, nil
		case fallback == nil && !isCalibration(&rows[0]): // a calibration is nobody's latest run
			fallback = rows
		}
		if l := rows[0].Label; l != "" && !slices.Contains(labels, labelPrefix+l) {
			labels = append(labels, labelPrefix+l)
		}
	}
	if byLabel {
		return nil, noLabel(st, id, labels)
	}
	if fallback == nil {
		return nil, &ExitError{Code: ExitNoResult, Err: fmt.Errorf("%s holds no run but calibrations", st.URI()), Hint: "run evaluate with the same --data first"}
	}
	return fallback, nil
}

func noLabel(st store.Store, id string, labels []string) error {
	err := &ExitError{Code: ExitUsage, Err: fmt.Errorf("%s holds no run with %q", st.URI(), id)}
	if len(labels) > 0 {
		err.Hint = suggest(id, labels)
	}
	return err
}

// isOfEverything says that the parts of a run are a night's: sessions were graded, without a filter and without a label.
func isOfEverything(parts []schema.Run) bool {
	return slices.ContainsFunc(parts, func(r schema.Run) bool {
		return r.Evaluator == mainEvaluator && r.Label == "" && r.FilterService == "" && r.FilterAgent == ""
	})
}

// runObjects are the objects of runs up to a date, the highest date first and of a date the one that was written last.
func runObjects(ctx context.Context, st store.Store, until string) ([]store.Object, error) {
	var out []store.Object
	later := false
	for obj, err := range st.List(ctx, schema.Runs.Name+"/", store.ListOptions{KeysOnly: true}) {
		if err != nil {
			return nil, fmt.Errorf("list runs: %w", err)
		}
		if until != "" && runDate(obj.Key) > until {
			later = true
			continue
		}
		out = append(out, obj)
	}
	if len(out) == 0 && later {
		return nil, &ExitError{Code: ExitNoResult, Err: fmt.Errorf("%s holds no run up to %s, the date of --as-of", st.URI(), until), Hint: "aggregate --list names the runs"}
	}
	if len(out) == 0 {
		return nil, &ExitError{Code: ExitNoResult, Err: fmt.Errorf("%s holds no run", st.URI()), Hint: "run evaluate with the same --data first"}
	}
	slices.SortStableFunc(out, func(a, b store.Object) int {
		if d := strings.Compare(runDate(b.Key), runDate(a.Key)); d != 0 {
			return d
		}
		if d := b.Modified.Compare(a.Modified); d != 0 {
			return d
		}
		return strings.Compare(b.Key, a.Key) // as the listing has it last
	})
	return out, nil
}

func runDate(key string) string {
	if m := runObject.FindStringSubmatch(key); m != nil {
		return m[1]
	}
	return ""
}

// minRunPrefix is how much of a run's id, or of what follows the date in it, names a run.
const minRunPrefix = 4

// wholeRunID is the one run whose id, or whose id without the date, begins like this.
func wholeRunID(ctx context.Context, st store.Store, begin string) (string, error) {
	var ids, like []string
	for obj, err := range st.List(ctx, schema.Runs.Name+"/", store.ListOptions{KeysOnly: true}) {
		if err != nil {
			return "", fmt.Errorf("list runs: %w", err)
		}
		parts := strings.Split(obj.Key, "/")
		if len(parts) != 3 {
			continue
		}
		id := strings.TrimPrefix(parts[1], "run=")
		ids = append(ids, id)
		if len(begin) >= minRunPrefix && (strings.HasPrefix(id, begin) || strings.HasPrefix(strings.TrimPrefix(id, runDay(id)+"-"), begin)) {
			like = append(like, id)
		}
	}
	slices.Sort(like)
	err := &ExitError{Code: ExitUsage, Err: fmt.Errorf("%s holds no run %q", st.URI(), begin)}
	switch {
	case len(like) == 1:
		return like[0], nil
	case len(like) > 1:
		err.Err = fmt.Errorf("%s holds %d runs that begin with %q", st.URI(), len(like), begin)
		err.Hint = "want one of " + strings.Join(like[:min(len(like), maxNamedRuns)], ", ")
	case len(ids) > 0:
		err.Hint = suggest(begin, ids)
		if len(ids) > maxNamedRuns && judge.Nearest(begin, ids) == "" {
			err.Hint = "aggregate --list names the runs"
		}
	}
	return "", err
}

// maxNamedRuns is how many runs a message names.
const maxNamedRuns = 10

// notOfEverything says plainly what latest took, where it is not a run of everything.
func notOfEverything(r *schema.Run) string {
	var parts []string
	for _, p := range [][2]string{{"label", r.Label}, {"service", r.FilterService}, {"agent", r.FilterAgent}} {
		if p[1] != "" {
			parts = append(parts, p[0]+" "+printable(p[1], 64))
		}
	}
	if r.Evaluator != mainEvaluator {
		parts = append(parts, "evaluator "+printable(r.Evaluator, 64))
	}
	return fmt.Sprintf("latest is run %s, which is not of everything (%s): the newest date has no other", r.RunID, strings.Join(parts, ", "))
}
