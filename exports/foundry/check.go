package foundry

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tracejury/tracejury/exports"
)

// Limits that the platform states, and caps of ours where it states none (maxShort, maxExplanation).
const (
	maxName          = 256
	maxRows          = 100_000
	maxMetadata      = 16
	maxMetadataKey   = 64
	maxMetadataValue = 512
	maxShort         = 256
	maxExplanation   = 2048
)

var (
	namePattern    = regexp.MustCompile(`^[A-Za-z0-9_.~-]{1,256}$`)
	datasetPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,256}$`)
	snakeCase      = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
	variable       = regexp.MustCompile(`\{\{[^{}]*\}\}`)
)

// Check implements exports.Target.
func (t Target) Check(ctx context.Context, in *exports.Input) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := in.Check(); err != nil {
		return err
	}
	if err := exports.NeedRubricOrTools(in); err != nil {
		return err
	}
	if in.HasRubric() {
		if err := newEvaluator(in).check(); err != nil {
			return err
		}
	}
	if in.HasSessions() {
		if err := checkGraded(in); err != nil {
			return err
		}
	}
	if err := t.checkTasks(in); err != nil {
		return err
	}
	return eachTool(ctx, in, func(map[string]any) error { return nil })
}

func checkGraded(in *exports.Input) error {
	if in.Run.Graded > maxRows {
		return exports.Refuse(RowsFile, "rows", "%d graded sessions: an evaluation takes at most %d", in.Run.Graded, maxRows)
	}
	if err := newEval(in).check(EvalFile); err != nil {
		return err
	}
	if name := datasetName(in); !datasetPattern.MatchString(name) {
		return exports.Refuse(RunFile, "data_source.source.id", "dataset name %q: want up to %d letters, digits, underscores and hyphens", exports.Cut(name, 100), maxName)
	}
	return nil
}

func (e *evaluator) check() error {
	refuse := func(field, format string, args ...any) error {
		return exports.Refuse(EvaluatorFile, field, format, args...)
	}
	switch {
	case !namePattern.MatchString(e.Name) || strings.HasPrefix(e.Name, "builtin."):
		return refuse("name", "%q: want up to %d letters, digits and _.~-, not beginning with builtin.", exports.Cut(e.Name, 100), maxName)
	case e.Definition.PassThreshold < 0 || e.Definition.PassThreshold > 1:
		return refuse("definition.pass_threshold", "%v: want 0 to 1", e.Definition.PassThreshold)
	case len(e.Definition.Dimensions) == 0:
		return refuse("definition.dimensions", "want at least one")
	}
	seen := map[string]bool{}
	for i, d := range e.Definition.Dimensions {
		field := fmt.Sprintf("definition.dimensions[%d].", i)
		switch {
		case !snakeCase.MatchString(d.ID):
			return refuse(field+"id", "%q: want snake_case", exports.Cut(d.ID, 100))
		case seen[d.ID]:
			return refuse(field+"id", "%s appears twice", d.ID)
		case d.Weight < minWeight || d.Weight > maxWeight:
			return refuse(field+"weight", "%d: want %d to %d", d.Weight, minWeight, maxWeight)
		case strings.TrimSpace(d.Description) == "":
			return refuse(field+"description", "criterion %s: want a text", d.ID)
		}
		if v := variable.FindString(d.Description); v != "" {
			return refuse(field+"description", "criterion %s: %q reads as a template variable: write it without double braces", d.ID, exports.Cut(v, 100))
		}
		seen[d.ID] = true
	}
	return checkMetadata(EvaluatorFile, e.Metadata)
}

func (e *eval) check(file string) error {
	names := map[string]bool{}
	for i, c := range e.TestingCriteria {
		field := fmt.Sprintf("testing_criteria[%d].", i)
		inputs := map[string]string{"input": c.Input}
		if c.Type == "azure_ai_evaluator" {
			inputs = c.Mapping
			if !namePattern.MatchString(c.Evaluator) || c.Parameters["deployment_name"] == "" {
				return exports.Refuse(file, field+"evaluator_name", "want the name of an evaluator, and a deployment_name")
			}
		}
		for _, k := range slices.Sorted(maps.Keys(inputs)) {
			if !e.knows(inputs[k]) {
				return exports.Refuse(file, field+k, "%s: no such column in item_schema", exports.Cut(inputs[k], 100))
			}
		}
		if names[c.Name] {
			return exports.Refuse(file, field+"name", "%s appears twice", c.Name)
		}
		names[c.Name] = true
	}
	return checkMetadata(file, e.Metadata)
}

// knows says whether a template names a column of the rows, or the sample where the eval has one.
func (e *eval) knows(template string) bool {
	name, ok := strings.CutPrefix(template, "{{")
	name, closed := strings.CutSuffix(name, "}}")
	if col, isItem := strings.CutPrefix(name, "item."); isItem {
		_, known := e.DataSourceConfig.ItemSchema.Properties[col]
		return ok && closed && known
	}
	return ok && closed && e.DataSourceConfig.IncludeSampleSchema && (name == "sample.output_text" || name == "sample.output_items")
}

func checkMetadata(file string, m map[string]string) error {
	if len(m) > maxMetadata {
		return exports.Refuse(file, "metadata", "%d pairs: at most %d are allowed", len(m), maxMetadata)
	}
	for k, v := range m {
		if len(k) > maxMetadataKey || utf8.RuneCountInString(v) > maxMetadataValue {
			return exports.Refuse(file, "metadata", "a key may have %d and a value %d characters", maxMetadataKey, maxMetadataValue)
		}
	}
	return nil
}
