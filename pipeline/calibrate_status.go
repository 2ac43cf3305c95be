package pipeline

import (
	"context"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/judge/calibration"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/evaluator/paired"
	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/schema"
)

// decided says that a calibration has come to its end.
func decided(status string) bool {
	return status == string(calibration.AllPassed) || status == string(calibration.NotPassed)
}

// calibrationKind is what a run planted or changed to see what its judge makes of it, "" of a run that did not.
func calibrationKind(run *schema.Run) string {
	switch {
	case run.Kind == evaluator.OfControls || run.Evaluator == paired.ControlName: // whose rows once had the kind of tasks
		return evaluator.OfControls
	case run.Kind == evaluator.OfSessionControls:
		return run.Kind
	}
	return ""
}

// isCalibration says that a run has no rates.
func isCalibration(run *schema.Run) bool { return calibrationKind(run) != "" }

// calibrationOf is [calibrationAmong] all runs of a store.
func calibrationOf(ctx context.Context, st store.Store, run *schema.Run) (string, error) {
	all, err := allRuns(ctx, st)
	if err != nil {
		return "", err
	}
	return calibrationAmong(all, run), nil
}

// calibrationAmong is the status that calibrations give to the judge of a run: those on the same suite or on sessions, with the same
// rubric, prompt, rendering and judge. The newest that came to its end counts; one in progress takes nothing back.
func calibrationAmong(all []schema.Run, run *schema.Run) string {
	kind := evaluator.OfSessionControls
	switch run.Kind {
	case evaluator.OfTasks:
		kind = evaluator.OfControls
	case evaluator.OfSessions:
	default:
		return run.Calibration // nothing calibrates it
	}
	status := string(calibration.NotCalibrated)
	for i := range all {
		r := &all[i]
		if calibrationKind(r) != kind || r.SuiteSHA256 != run.SuiteSHA256 || r.RubricSHA256 != run.RubricSHA256 || r.PromptSHA256 != run.PromptSHA256 ||
			r.RenderingSHA256 != run.RenderingSHA256 || !slices.Equal(r.JudgeModels, run.JudgeModels) || r.JudgeMode != run.JudgeMode {
			continue
		}
		if decided(r.Calibration) {
			return r.Calibration
		}
		if r.Calibration == string(calibration.InProgress) {
			status = r.Calibration
		}
	}
	return status
}

// calibrationsOf are the statuses of every judge and rendering on a suite under a rubric: of each the newest that came to its end, else the
// newest.
func calibrationsOf(all []schema.Run, suiteSHA256, rubricSHA256 string) []CalibrationStatus {
	out := []CalibrationStatus{}
	at := map[string]int{}
	for _, r := range all {
		if calibrationKind(&r) != evaluator.OfControls || r.SuiteSHA256 != suiteSHA256 || r.RubricSHA256 != rubricSHA256 {
			continue
		}
		c := CalibrationStatus{JudgeModel: strings.Join(r.JudgeModels, "+"), RenderingSHA256: r.RenderingSHA256, Status: r.Calibration}
		key := c.JudgeModel + " " + r.JudgeMode + " " + r.RenderingSHA256 + " " + r.PromptSHA256
		i, seen := at[key]
		switch {
		case !seen:
			at[key], out = len(out), append(out, c)
		case !decided(out[i].Status) && decided(c.Status):
			out[i] = c
		}
	}
	return out
}
