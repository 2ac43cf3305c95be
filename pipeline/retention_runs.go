package pipeline

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// materialDays is how long the texts of skills and lists of tools are kept after the last run that was sent them.
const materialDays = 400

// expireMaterials deletes the texts that no run of the last days was sent. Rubrics stay as long as the verdicts that they explain.
func (r *ingestRun) expireMaterials(ctx context.Context) error {
	var keys []string
	for key, err := range r.root.keys(ctx, schema.Materials.Name+"/") {
		if err != nil {
			return fmt.Errorf("list materials: %w", err)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil
	}
	runs, err := allRuns(ctx, r.root.Store)
	if err != nil {
		return err
	}
	first := r.cfg.asOf.AddDate(0, 0, -materialDays).Format(time.DateOnly)
	old, kept := map[string]bool{}, map[string]bool{}
	for _, run := range runs {
		for _, sum := range run.Materials {
			if runDay(run.RunID) < first {
				old[materialKey(sum)] = true
			} else {
				kept[materialKey(sum)] = true
			}
		}
		kept[materialKey(run.RubricSHA256)] = true
	}
	for _, key := range keys {
		if old[key] && !kept[key] {
			if err := r.delete(ctx, key); err != nil {
				return err
			}
		}
	}
	return nil
}

// ofSessions is whether a run judged sessions or parts of them.
func ofSessions(run schema.Run) bool {
	switch run.Kind {
	case evaluator.OfTools, evaluator.OfPackages, evaluator.OfTasks, evaluator.OfControls:
		return false
	}
	return true
}

// expireExplanations deletes what judges said about sessions and skills in them, by the date of the run. What they said about tools,
// packages and tasks is about nobody's session and stays.
func (r *ingestRun) expireExplanations(ctx context.Context) error {
	for key, err := range r.root.keys(ctx, schema.Explanations.Name+"/") {
		if err != nil {
			return fmt.Errorf("list explanations: %w", err)
		}
		m := runObject.FindStringSubmatch(key)
		if m == nil || !r.expired(m[1]) {
			continue
		}
		runs, _, err := table.Read[schema.Run](ctx, r.root.Store, schema.Runs.Name+key[len(schema.Explanations.Name):])
		if err != nil {
			return fmt.Errorf("read run of %s: %w", key, err)
		}
		if len(runs) > 0 && !slices.ContainsFunc(runs, ofSessions) {
			continue
		}
		if err := r.delete(ctx, key); err != nil {
			return err
		}
	}
	return nil
}
