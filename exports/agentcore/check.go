package agentcore

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/tracejury/tracejury/exports"
)

// Limits of the service, as its model and documentation state them. The number of dimensions is not stated: ten is what is
// known to be safe.
const (
	maxName         = 48
	maxDimensions   = 10
	maxDescription  = 200
	maxInstruction  = 4000
	maxLabel        = 100
	maxTags         = 50
	maxTagKey       = 128
	maxTagValue     = 256
	maxExplanation  = 2048
	minToken        = 33
	maxToken        = 256
	maxModelID      = 2048
	maxRecordString = 256
)

var (
	namePattern  = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_]{0,47}$`)
	tokenPattern = regexp.MustCompile(`^[a-zA-Z0-9](-*[a-zA-Z0-9]){0,256}$`)
	tagPattern   = regexp.MustCompile(`^[a-zA-Z0-9\s._:/=+@-]*$`)
	placeholder  = regexp.MustCompile(`\{\s*[A-Za-z_][A-Za-z0-9_ ]*\}`)
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
		req, err := t.evaluator(in)
		if err != nil {
			return err
		}
		if err := req.check(); err != nil {
			return err
		}
	}
	if err := t.checkDatasets(in); err != nil {
		return err
	}
	_, err := newTools(ctx, in)
	return err
}

// check holds the request against the rules that the SDK does not know.
func (r *request) check() error {
	refuse := func(field, format string, args ...any) error {
		return exports.Refuse(EvaluatorFile, field, format, args...)
	}
	j := &r.EvaluatorConfig.LLMAsAJudge
	switch n := len(j.RatingScale.MultiDimensional); {
	case !namePattern.MatchString(r.EvaluatorName):
		return refuse("evaluatorName", "%q: want a letter and up to 47 letters, digits and underscores", r.EvaluatorName)
	case !length(r.Description, 1, maxDescription):
		return refuse("description", "want 1 to %d characters", maxDescription)
	case len(r.ClientToken) < minToken || len(r.ClientToken) > maxToken || !tokenPattern.MatchString(r.ClientToken):
		return refuse("clientToken", "%q: want %d to %d letters, digits and inner hyphens", r.ClientToken, minToken, maxToken)
	case n < 1 || n > maxDimensions:
		return refuse("ratingScale.multiDimensional", "%d dimensions: want 1 to %d, the number that is known to be taken", n, maxDimensions)
	}
	if id := j.ModelConfig.Bedrock.ModelID; len(id) > maxModelID || !bedrockModel.MatchString(id) {
		return refuse("modelConfig.bedrockEvaluatorModelConfig.modelId", "%q: want a Bedrock model or inference profile", exports.Cut(id, 100))
	}
	seen := map[string]bool{}
	for i := range j.RatingScale.MultiDimensional {
		d := &j.RatingScale.MultiDimensional[i]
		if err := d.check(fmt.Sprintf("ratingScale.multiDimensional[%d]", i)); err != nil {
			return err
		}
		if seen[d.Name] {
			return refuse(fmt.Sprintf("ratingScale.multiDimensional[%d].dimensionName", i), "%s appears twice", d.Name)
		}
		seen[d.Name] = true
	}
	return checkTags(EvaluatorFile, r.Tags)
}

func (d *dimension) check(field string) error {
	refuse := func(name, format string, args ...any) error {
		return exports.Refuse(EvaluatorFile, field+"."+name, format, args...)
	}
	texts := []struct{ name, text string }{{"dimensionInstruction", d.Instruction}}
	switch {
	case !namePattern.MatchString(d.Name):
		return refuse("dimensionName", "%q: want a letter and up to 47 letters, digits and underscores", exports.Cut(d.Name, 100))
	case !length(d.Instruction, 1, maxInstruction):
		return refuse("dimensionInstruction", "criterion %s: question, applies_when and anchors have %d characters: want 1 to %d", d.Name, utf8.RuneCountInString(d.Instruction), maxInstruction)
	}
	for i, c := range d.RatingScale.Categorical {
		texts = append(texts, struct{ name, text string }{fmt.Sprintf("dimensionRatingScale.categorical[%d].definition", i), c.Definition})
		if !length(c.Label, 1, maxLabel) {
			return refuse(fmt.Sprintf("dimensionRatingScale.categorical[%d].label", i), "want 1 to %d characters", maxLabel)
		}
	}
	for i, l := range d.RatingScale.Numerical {
		texts = append(texts, struct{ name, text string }{fmt.Sprintf("dimensionRatingScale.numerical[%d].definition", i), l.Definition})
		if !length(l.Label, 1, maxLabel) {
			return refuse(fmt.Sprintf("dimensionRatingScale.numerical[%d].label", i), "want 1 to %d characters", maxLabel)
		}
	}
	for _, t := range texts {
		if p := placeholder.FindString(t.text); p != "" {
			return refuse(t.name, "criterion %s: %q reads as a placeholder: write it without braces", d.Name, exports.Cut(p, 100))
		}
	}
	return nil
}

func checkTags(file string, tags map[string]string) error {
	if len(tags) > maxTags {
		return exports.Refuse(file, "tags", "%d tags: at most %d are allowed", len(tags), maxTags)
	}
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		v := tags[k]
		if len(k) < 1 || len(k) > maxTagKey || len(v) > maxTagValue || !tagPattern.MatchString(k) || !tagPattern.MatchString(v) {
			return exports.Refuse(file, "tags", "%q: want letters, digits and ._:/=+@-, key to %d and value to %d characters", exports.Cut(k, 100), maxTagKey, maxTagValue)
		}
	}
	return nil
}

func length(s string, low, high int) bool {
	n := utf8.RuneCountInString(s)
	return n >= low && n <= high
}
