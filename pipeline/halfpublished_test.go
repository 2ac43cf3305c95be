package pipeline_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/tracejury/tracejury/pipeline"
)

// A lake that an ingest left half published is not graded: a verdict about sessions without their steps would stand for good.
func TestHalfPublishedLakeIsNotGraded(t *testing.T) {
	t.Run("no steps", func(t *testing.T) {
		data := demoLake(t)
		if err := os.RemoveAll(filepath.Join(data, "steps")); err != nil {
			t.Fatal(err)
		}
		_, err := pipeline.Evaluate(context.Background(), config(t, "", data), pipeline.EvaluateOptions{}, quiet())
		wantExit(t, err, pipeline.ExitService)
	})
	t.Run("no commit", func(t *testing.T) {
		data := demoLake(t)
		if err := os.RemoveAll(filepath.Join(data, "_commits")); err != nil {
			t.Fatal(err)
		}
		_, err := pipeline.Evaluate(context.Background(), config(t, "", data), pipeline.EvaluateOptions{}, quiet())
		wantExit(t, err, pipeline.ExitNoResult)
	})
	t.Run("as-of ahead of the clock", func(t *testing.T) {
		data := demoLake(t)
		before := tree(t, data, "spans/", "steps/")
		_, err := pipeline.Ingest(context.Background(), at(t, config(t, "", data), "2126-11-30T06:00:00Z"), pipeline.IngestOptions{RetentionOnly: true}, quiet())
		wantExit(t, err, pipeline.ExitUsage)
		diffTrees(t, tree(t, data, "spans/", "steps/"), before)
	})
}
