package pipeline

import (
	"context"
	"fmt"
	"slices"

	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// findPart finds the part of a run that is wanted. For latest that is the newest run that has such a part: the newest of all may be
// of another kind.
func findPart(ctx context.Context, st store.Store, id, until, what string, wanted func(schema.Run) bool) (schema.Run, error) {
	if id != "latest" {
		runs, err := findRun(ctx, st, id, until)
		if err != nil {
			return schema.Run{}, err
		}
		if i := slices.IndexFunc(runs, wanted); i >= 0 {
			return runs[i], nil
		}
		return schema.Run{}, &ExitError{Code: ExitUsage, Err: fmt.Errorf("run %s graded no %s: there is nothing to export", id, what)}
	}
	objects, err := runObjects(ctx, st, until)
	if err != nil {
		return schema.Run{}, err
	}
	for _, obj := range objects {
		runs, _, err := table.Read[schema.Run](ctx, st, obj.Key)
		if err != nil {
			return schema.Run{}, err
		}
		if i := slices.IndexFunc(runs, wanted); i >= 0 {
			return runs[i], nil
		}
	}
	return schema.Run{}, &ExitError{Code: ExitNoResult, Err: fmt.Errorf("%s holds no run that graded a %s", st.URI(), what), Hint: "run evaluate with the same --data first"}
}
