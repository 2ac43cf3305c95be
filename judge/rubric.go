package judge

import "slices"

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
	Weight   int    `json:"weight" yaml:"weight"` // in the score of a pass rule; 0 means 1
	Gate     bool   `json:"gate" yaml:"gate"`     // must be met by itself under a pass rule
	// Anchors say what each verdict means here, by verdict or label.
	Anchors map[string]string `json:"anchors" yaml:"anchors"`
	// AppliesWhen says in words when the criterion applies; "" always.
	AppliesWhen string `json:"applies_when,omitempty" yaml:"applies_when"`
	// AppliesFact names the fact that decides applicability: no means not applicable, yes forbids not applicable.
	AppliesFact string `json:"applies_fact,omitempty" yaml:"applies_fact"`
	// Services and Agents are those whose sessions are asked; elsewhere the criterion is not applicable. Empty: all.
	Services []string `json:"services,omitempty" yaml:"services"`
	Agents   []string `json:"agents,omitempty" yaml:"agents"`
}

// AppliesTo says whether a criterion is asked of the sessions of a service and an agent.
func (c *Criterion) AppliesTo(service, agent string) bool {
	return (len(c.Services) == 0 || slices.Contains(c.Services, service)) && (len(c.Agents) == 0 || slices.Contains(c.Agents, agent))
}

// Rubric is a set of criteria. The built-in ones are files of the same form.
type Rubric struct {
	Name        string      `json:"name" yaml:"name"` // snake_case
	Version     int         `json:"version" yaml:"version"`
	Title       string      `json:"title" yaml:"title"`
	Description string      `json:"description,omitempty" yaml:"description"`
	Evaluator   string      `json:"evaluator" yaml:"evaluator"`
	Criteria    []Criterion `json:"criteria" yaml:"criteria"`

	Judge JudgeOptions `json:"judge,omitzero" yaml:"judge"`
	Pass  PassRule     `json:"pass,omitzero" yaml:"pass"`
}

// JudgeOptions is how a rubric wants to be asked. A zero leaves it to the run.
type JudgeOptions struct {
	MaxTokens       int  `json:"max_tokens,omitempty" yaml:"max_tokens"`
	Repeat          int  `json:"repeat,omitempty" yaml:"repeat"`
	SafetyUnanimous bool `json:"safety_unanimous,omitempty" yaml:"safety_unanimous"`
}

// PassRule says when a subject passes. Without a rule it passes when no criterion is not met.
type PassRule struct {
	// MinScore is the least weighted share of criteria met, among those met or not met. Criteria with a gate must also be met.
	MinScore *float64 `json:"min_score,omitempty" yaml:"min_score"`
}
