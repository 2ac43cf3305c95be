package exports

import (
	"errors"
	"fmt"
	"time"
)

// Refusal says what a platform would refuse: the file, the field in it, and the rule that the field breaks.
type Refusal struct {
	File  string // path within the export, "" when the input itself is unusable
	Field string // as the platform calls it: evaluatorName, dimensions[2].weight
	Rule  string // what is and what must be
}

func (r *Refusal) Error() string {
	if r.File == "" {
		return fmt.Sprintf("%s: %s", r.Field, r.Rule)
	}
	return fmt.Sprintf("%s: %s: %s", r.File, r.Field, r.Rule)
}

// Refuse makes a *Refusal.
func Refuse(file, field, format string, args ...any) error {
	return &Refusal{File: file, Field: field, Rule: fmt.Sprintf(format, args...)}
}

// Check says whether the input can be exported at all, to any target.
func (in *Input) Check() error {
	switch {
	case in == nil || in.Mask == nil:
		return errors.New("export input: want a mask")
	case in.AsOf.Before(time.Unix(0, 0)) || in.AsOf.Year() > 2261:
		return Refuse("", "as_of", "%s: want a time from 1970 to 2261", in.AsOf.UTC().Format(time.RFC3339))
	case in.IsPart() && !in.HasSessions():
		return errors.New("export input: a part without subjects")
	case !in.HasRubric() && (in.HasSessions() || in.Suite != nil || in.Tools == nil && in.Packages == nil && len(in.Parts) == 0):
		return Refuse("", "rubric", "no rubric: there is nothing to export")
	case !in.HasRubric():
		return in.checkObjects()
	case len(in.Rubric.Criteria) == 0:
		return Refuse("", "rubric", "no criteria: there is nothing to export")
	case in.Rubric.Version < 1:
		return Refuse("", "rubric.version", "%d: want 1 or more", in.Rubric.Version)
	case !snakeCase.MatchString(in.Rubric.Name):
		return Refuse("", "rubric.name", "%q: want snake_case", Cut(in.Masked(in.Rubric.Name), 64))
	}
	seen := map[string]bool{}
	for i, c := range in.Rubric.Criteria {
		field := fmt.Sprintf("rubric.criteria[%d].id", i)
		switch {
		case !snakeCase.MatchString(c.ID) || len(c.ID) > 48:
			return Refuse("", field, "%q: want snake_case of at most 48 characters", Cut(in.Masked(c.ID), 64))
		case seen[c.ID]:
			return Refuse("", field, "%s appears twice", c.ID)
		case c.Weight < 0:
			return Refuse("", fmt.Sprintf("rubric.criteria[%d].weight", i), "%d: want 0 or more", c.Weight)
		}
		seen[c.ID] = true
	}
	return in.checkObjects()
}
