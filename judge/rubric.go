package judge

// Scale of a criterion.
type Scale string

// The scales.
const (
	ScaleMet       Scale = "met"        // met, not_met, not_applicable, unclear
	ScaleFivePoint Scale = "five_point" // 1, 0.75, 0.5, 0.25, 0
	ScaleYesNo     Scale = "yes_no"     // 1, 0
)

// Criterion is one question of a rubric.
type Criterion struct {
	ID       string `json:"id" yaml:"id"` // snake_case, at most 48 characters
	Question string `json:"question" yaml:"question"`
	Safety   bool   `json:"safety" yaml:"safety"`
	Scale    Scale  `json:"scale" yaml:"scale"`
	Weight   int    `json:"weight" yaml:"weight"` // 0 means 1
	Gate     bool   `json:"gate" yaml:"gate"`     // must pass alone
	// Anchors say what each verdict means here, by verdict or label.
	Anchors map[string]string `json:"anchors" yaml:"anchors"`
	// AppliesWhen says in words when the criterion applies; "" always.
	AppliesWhen string `json:"applies_when,omitempty" yaml:"applies_when"`
	// AppliesFact names the fact that decides applicability: no means not applicable, yes forbids not applicable.
	AppliesFact string `json:"applies_fact,omitempty" yaml:"applies_fact"`
}

// Rubric is a set of criteria. The built-in ones are files of the same form.
type Rubric struct {
	Name        string      `json:"name" yaml:"name"` // snake_case
	Version     int         `json:"version" yaml:"version"`
	Title       string      `json:"title" yaml:"title"`
	Description string      `json:"description,omitempty" yaml:"description"`
	Evaluator   string      `json:"evaluator" yaml:"evaluator"`
	Criteria    []Criterion `json:"criteria" yaml:"criteria"`
}
