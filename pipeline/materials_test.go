package pipeline_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/tracejury/tracejury/judge/judgetest"
	"github.com/tracejury/tracejury/pipeline"
	"github.com/tracejury/tracejury/schema"
)

// withSkills is a lake whose sessions were graded by skill following, and the run that did it.
func withSkills(t *testing.T) (data string, run schema.Run) {
	t.Helper()
	data = filepath.Join(t.TempDir(), "lake")
	mustIngest(t, config(t, demoArchive, data), pipeline.IngestOptions{})
	bedrock(t, judgetest.Options{})
	cfg := evaluateConfig(t, data)
	cfg.Evaluate.Sample, cfg.Evaluate.Evaluators = 50, []string{"skill-following"}
	if _, err := pipeline.Evaluate(context.Background(), cfg, pipeline.EvaluateOptions{}, quiet()); err != nil {
		t.Fatal(err)
	}
	runs := readTable[schema.Run](t, data, "runs")
	if len(runs) != 1 || len(runs[0].Materials) == 0 {
		t.Fatalf("%d runs, materials %v", len(runs), runs[0].Materials)
	}
	return data, runs[0]
}

// The texts of skills outlive the content of sessions, and go 400 days after the last run that was sent them; rubrics stay.
func TestMaterialsExpire(t *testing.T) {
	data, run := withSkills(t)
	for _, days := range []int{399, 402} {
		cfg := config(t, "", data)
		cfg.AsOf = time.Date(2026, 11, 30, 6, 0, 0, 0, time.UTC).AddDate(0, 0, days).Format(time.RFC3339)
		if err := cfg.Complete(time.Now()); err != nil {
			t.Fatal(err)
		}
		if _, err := pipeline.Ingest(t.Context(), cfg, pipeline.IngestOptions{RetentionOnly: true, ExpireAhead: true}, quiet()); err != nil {
			t.Fatal(err)
		}
		if days == 399 {
			for _, sum := range run.Materials {
				if materials(t, data)[sum].Kind != "skill" {
					t.Errorf("after %d days the skill %s is gone", days, sum)
				}
			}
		}
	}
	kept := materials(t, data)
	for _, sum := range run.Materials {
		if _, there := kept[sum]; there {
			t.Errorf("after 402 days the skill %s is still there", sum)
		}
	}
	if kept[run.RubricSHA256].Kind != "rubric" {
		t.Error("the rubric went with the skills")
	}
}

// Erasing a session takes with it what a run was sent of its skills.
func TestEraseReachesMaterials(t *testing.T) {
	data, run := withSkills(t)
	key := ""
	for _, v := range readTable[schema.Verdict](t, data, "verdicts") {
		if v.Skill != "" && v.RenderingSHA256 != "" {
			key = v.SessionKey
		}
	}
	if _, err := pipeline.Ingest(t.Context(), config(t, "", data), pipeline.IngestOptions{Erase: "session:" + key}, quiet()); err != nil {
		t.Fatal(err)
	}
	kept := materials(t, data)
	for _, sum := range run.Materials {
		if _, there := kept[sum]; there {
			t.Errorf("the skill %s is still there", sum)
		}
	}
	if kept[run.RubricSHA256].Kind != "rubric" {
		t.Error("the rubric went with the session")
	}
}
