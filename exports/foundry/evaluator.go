package foundry

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/judge"
)

// passThreshold is 0.75 of the weighted mean, our own rule for weighted criteria. Where every criterion is a gate it never
// decides: what is not 1 is 5 there.
const passThreshold = 0.75

// evaluator is the body of POST /evaluators/{name}/versions. Name belongs into the path and is stripped from the body.
type evaluator struct {
	Name          string            `json:"name"`
	DisplayName   string            `json:"display_name"`
	Description   string            `json:"description,omitempty"`
	EvaluatorType string            `json:"evaluator_type"`
	Categories    []string          `json:"categories"`
	Levels        []string          `json:"supported_evaluation_levels"`
	Metadata      map[string]string `json:"metadata"`
	Definition    definition        `json:"definition"`
}

type definition struct {
	Type          string      `json:"type"`
	PassThreshold float64     `json:"pass_threshold"`
	Dimensions    []dimension `json:"dimensions"`
}

type dimension struct {
	ID               string `json:"id"`
	Description      string `json:"description"`
	Weight           int    `json:"weight"`
	AlwaysApplicable bool   `json:"always_applicable,omitempty"`
}

func newEvaluator(in *exports.Input) *evaluator {
	r := &in.Rubric
	e := &evaluator{
		Name:          evaluatorName(r),
		DisplayName:   in.Text(oneLine(fmt.Sprintf("%s (version %d)", r.Title, r.Version)), maxShort),
		Description:   in.Text(oneLine(r.Description), maxMetadataValue),
		EvaluatorType: "custom",
		Categories:    []string{"agents"},
		Levels:        []string{"conversation"},
		Metadata:      map[string]string{"rubric": r.Name, "rubric_version": strconv.Itoa(r.Version), "rubric_sha256": r.SHA256()},
		Definition:    definition{Type: "rubric", PassThreshold: passThreshold},
	}
	var gates, safety []string
	ws, _ := weights(r.Criteria)
	for i := range r.Criteria {
		c := &r.Criteria[i]
		if c.Gate {
			gates = append(gates, c.ID)
		}
		if c.Safety {
			safety = append(safety, c.ID)
		}
		e.Definition.Dimensions = append(e.Definition.Dimensions, dimension{ID: c.ID, Description: describe(in, c), Weight: ws[i]})
	}
	for key, ids := range map[string][]string{"gates": gates, "safety": safety} {
		if len(ids) > 0 {
			e.Metadata[key] = exports.Cut(strings.Join(ids, " "), maxMetadataValue)
		}
	}
	return e
}

// evaluatorName has no version: the service counts versions itself.
func evaluatorName(r *judge.Rubric) string { return "tracejury-" + hyphens(r.Name) }

func hyphens(name string) string { return strings.ReplaceAll(name, "_", "-") }

// describe words a criterion so that the platform's rule, any 1 fails the item, is ours: what fails a session with us is
// scored 5 or 1, and what may fail alone is never scored 1. No dimension is always applicable, because what a conversation
// does not show must not be scored.
func describe(in *exports.Input, c *judge.Criterion) string {
	var b strings.Builder
	switch {
	case c.Gate:
		b.WriteString("Gate. ")
	case c.Safety:
		b.WriteString("Safety. ")
	}
	b.WriteString(in.Text(c.Question, 0))
	anchors := maps.Clone(c.Anchors)
	say := func(lead string, fallback string, keys ...string) {
		text := fallback
		for _, k := range keys {
			if t := anchors[k]; t != "" {
				text = in.Text(t, 0)
				delete(anchors, k)
				break
			}
		}
		fmt.Fprintf(&b, "\n%s: %s", lead, text)
	}
	switch {
	case lowestIsTwo(c) && c.Scale == judge.ScaleYesNo:
		say("5", "The answer is yes.", "Yes", "yes", "1")
		say("2", "The answer is no.", "No", "no", "0")
		b.WriteString("\nUse only 5 or 2, never 1.")
	case lowestIsTwo(c):
		say("5", "All of it, with evidence.", "5 - Full", "1", "1.0")
		say("4", "Nearly all of it.", "4 - Good", "0.75")
		say("3", "About half of it.", "3 - Partial", "0.5")
		say("2", "Little or nothing of it.", "2 - Poor", "0.25")
		b.WriteString("\nUse only 5, 4, 3 or 2, never 1.")
	case c.Scale == judge.ScaleMet:
		say("5", "It was satisfied.", string(judge.Met))
		say("1", "It was not satisfied.", string(judge.NotMet))
		b.WriteString("\nUse only 5 or 1.")
	default:
		say("5", "It was fully satisfied.", "Yes", "yes", "5 - Full", "1", "1.0")
		say("1", "It was not fully satisfied.", "No", "no", "1 - Failed", "0", "0.0")
		b.WriteString("\nUse only 5 or 1.")
	}
	if c.AppliesWhen != "" {
		b.WriteString("\nApplies when: " + in.Text(c.AppliesWhen, 0))
	}
	if c.AppliesWhen != "" || c.AppliesFact != "" {
		say("Not applicable", "Its condition did not arise.", string(judge.NotApplicable))
	}
	say("Also not applicable, never a low score", "The conversation does not show enough to tell.", string(judge.Unclear))
	for _, k := range slices.Sorted(maps.Keys(anchors)) {
		fmt.Fprintf(&b, "\n%s: %s", in.Text(k, 100), in.Text(anchors[k], 0))
	}
	return b.String()
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
