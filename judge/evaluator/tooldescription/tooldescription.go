// Package tooldescription owns the evaluator of tool descriptions: four criteria of equal weight, a grade from A to F that
// code computes, and the median grade of a server. What code can see of a definition is found first and given as facts.
//
// It does not know how the definitions were come by, nor which judge answers.
package tooldescription

import (
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/evaluator/prompt"
	"github.com/tracejury/tracejury/judge/transcript"
	"github.com/tracejury/tracejury/schema"
)

// Name of the evaluator.
const Name = "tool_description"

// The criteria.
const (
	Purpose     = "purpose"
	Parameters  = "parameters"
	SideEffects = "side_effects"
	NoHidden    = "no_hidden_instructions"
)

// Findings of tools that are not asked about.
const (
	FindingEmpty       = "description_empty"
	FindingNotExported = "definition_not_exported" // the telemetry has the tool's name only
)

const unclear = "Unclear"

//go:embed prompts/v0/*.tmpl
var prompts embed.FS

// Options tunes an [Evaluator].
type Options struct {
	Mask        func(string) string // nil shows text as it was stored
	MaskVersion string              // names what Mask does
	MaxTokens   int                 // of a reply; 0 means 4096: room for thinking
	Prompts     evaluator.Prompts
}

// Evaluator asks about tool descriptions.
type Evaluator struct {
	opts     Options
	criteria []criterion
	version  evaluator.Version
	prompts  *prompt.Set
	system   string
	schema   string
}

// criterion is a criterion with its three points.
type criterion struct {
	Criterion judge.Criterion
	Points    []evaluator.Point
}

var _ evaluator.Evaluator = (*Evaluator)(nil)

// New makes an evaluator for a rubric with the four criteria, each with the points 1, 0.5 and 0.
func New(rubric judge.Rubric, opts Options) (*Evaluator, error) {
	known := []string{Purpose, Parameters, SideEffects, NoHidden}
	if len(rubric.Criteria) != len(known) {
		return nil, fmt.Errorf("tool description evaluator: rubric %s has %d criteria: want %s", rubric.Name, len(rubric.Criteria), strings.Join(known, ", "))
	}
	e := &Evaluator{opts: opts}
	for i, c := range rubric.Criteria {
		if c.ID != known[i] || c.Weight > 1 {
			return nil, fmt.Errorf("tool description evaluator: criterion %d is %s of weight %d: want %s, all of one weight", i+1, c.ID, c.Weight, strings.Join(known, ", "))
		}
		points, err := evaluator.Points(c, 1, 0.5, 0)
		if err != nil {
			return nil, fmt.Errorf("tool description evaluator: %w", err)
		}
		e.criteria = append(e.criteria, criterion{c, points})
	}
	e.opts.MaxTokens = cmp.Or(opts.MaxTokens, 4096)
	choices := evaluator.Labels(e.criteria[0].Points, unclear)
	for _, c := range e.criteria[1:] {
		if strings.Join(evaluator.Labels(c.Points, unclear), "\x00") != strings.Join(choices, "\x00") {
			return nil, fmt.Errorf("tool description evaluator: criterion %s has other labels than %s", c.Criterion.ID, known[0])
		}
	}
	enum, err := judge.CanonicalJSON(choices)
	if err != nil {
		return nil, fmt.Errorf("tool description evaluator: %w", err)
	}
	e.schema = `{"type":"object","additionalProperties":false,"required":["criteria"],"properties":{` +
		`"criteria":{"type":"array","items":{"type":"object","additionalProperties":false,"required":["id","evidence_lines","reason","verdict"],"properties":{` +
		`"id":{"type":"string","enum":["` + strings.Join(known, `","`) + `"]},"evidence_lines":{"type":"array","items":{"type":"integer"}},` +
		`"reason":{"type":"string"},"verdict":{"type":"string","enum":` + string(enum) + `}}}}}}`
	if e.prompts, err = prompt.Load(prompts, "", opts.Prompts); err != nil {
		return nil, fmt.Errorf("tool description evaluator: %w", err)
	}
	e.system, err = prompt.Fill(e.prompts.System, map[string]any{"Rubric": rubric, "Criteria": e.criteria, "Choices": prompt.Or(choices), "Schema": e.schema})
	if err != nil {
		return nil, fmt.Errorf("tool description evaluator: %w", err)
	}
	rendering := prompt.Hash(transcript.Options{MaskVersion: opts.MaskVersion}.SettingsSHA256(), fmt.Sprint("most ", maxText, maxParameters))
	e.version = e.prompts.Identify(Name, "tool", rubric, e.schema, rendering)
	return e, nil
}

// Version is what identifies the evaluator.
func (e *Evaluator) Version() evaluator.Version { return e.version }

// Item asks about one tool. One without a description has no need of a judge, and of one whose definition the telemetry does
// not hold nothing is known.
func (e *Evaluator) Item(s evaluator.Subject, nonce string) (*evaluator.Item, []judge.Answer, error) {
	t := s.Tool
	if t == nil {
		return nil, nil, fmt.Errorf("tool description evaluator: subject %s holds no tool", s.ID)
	}
	if blank(t.Description) {
		if strings.TrimSpace(t.InputSchema) == "" {
			var out []judge.Answer
			for _, c := range e.criteria {
				out = append(out, evaluator.Unclear(c.Criterion.ID, FindingNotExported, "Neither a description nor a schema of this tool was recorded.")...)
			}
			return nil, out, nil
		}
		return nil, e.withoutDescription(t), nil
	}
	item, err := e.question(s, nonce)
	if err != nil {
		return nil, nil, fmt.Errorf("tool description evaluator: subject %s: %w", s.ID, err)
	}
	return item, nil, nil
}

// withoutDescription answers by code: nothing is described and nothing is hidden; the parameters are what the schema tells.
func (e *Evaluator) withoutDescription(t *schema.Tool) []judge.Answer {
	d := define(t, e.opts.Mask)
	documented := 0
	for _, p := range d.parameters {
		if p.documented {
			documented++
		}
	}
	parameters := 0.5
	switch documented {
	case len(d.parameters):
		parameters = 1
	case 0:
		parameters = 0
	}
	score := map[string]float64{NoHidden: 1, Parameters: parameters}
	out := make([]judge.Answer, len(e.criteria))
	for i, c := range e.criteria {
		s := score[c.Criterion.ID]
		out[i] = evaluator.Scored(c.Criterion.ID, labelOf(c.Points, s), s, nil)
		out[i].Findings = []string{FindingEmpty}
	}
	return out
}

func labelOf(points []evaluator.Point, score float64) string {
	for _, p := range points {
		if p.Score == score {
			return p.Label
		}
	}
	return ""
}

func (e *Evaluator) question(s evaluator.Subject, nonce string) (*evaluator.Item, error) {
	d := define(s.Tool, e.opts.Mask)
	block, body, err := transcript.Block(nonce, d.data...)
	if err != nil {
		return nil, err
	}
	facts := d.facts()
	var told strings.Builder
	for _, f := range facts {
		told.WriteString(prompt.Fact(f))
	}
	questions := make([]string, len(e.criteria))
	for i, c := range e.criteria {
		b, err := json.Marshal(struct {
			Criterion string   `json:"criterion"`
			Applies   string   `json:"applies"`
			Verdicts  []string `json:"verdicts"`
		}{c.Criterion.ID, "yes", c.open(facts)})
		if err != nil {
			return nil, fmt.Errorf("encode a question: %w", err)
		}
		questions[i] = string(b)
	}
	user, err := prompt.Fill(e.prompts.User, map[string]any{"Facts": told.String(), "Truncated": d.truncated, "Definition": block, "Questions": questions})
	if err != nil {
		return nil, err
	}
	item := &evaluator.Item{
		Subject: s.ID, RenderingSHA256: prompt.Hash(e.version.Rendering, told.String(), body), Transcript: d.plain, Reductions: []string{},
		Request: judge.Request{
			Evaluator: Name, Subject: s.ID, System: e.system, User: user, Schema: e.schema, SchemaName: Name, MaxTokens: e.opts.MaxTokens,
			Criteria: e.version.Rubric.Criteria, Facts: facts, Lines: d.lines,
		},
	}
	item.Suspected = transcript.SuspiciousDefinition(d.lines)
	if d.truncated {
		item.Reductions = append(item.Reductions, "definition_caps")
	}
	return item, nil
}
