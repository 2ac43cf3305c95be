package exports

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/suite"
)

// Tool is the description of one tool and, where it was graded, its grade.
type Tool struct {
	Server           string // MCP server, "" for an agent's own tools
	Service          string // whose own tool it is, where there is no server
	Name             string
	DefinitionSHA256 string
	Description      string
	InputSchema      string // JSON, "" unknown
	Graded           bool   // false: not graded, or not gradable
	UngradedReason   string // "" where nobody graded it
	Grade            string // A to F, "" where a criterion could not be told
	Score            *float64
	Criteria         []Criterion // of Tools.Rubric; none where nobody graded it
}

// Tools are tool descriptions and the run that graded them.
type Tools struct {
	RunID  string       // "" where nobody graded them
	Rubric judge.Rubric // of that run
	// All yields the tools by server, service and name; it may be ranged over several times. An error comes once, last.
	All func(ctx context.Context) iter.Seq2[Tool, error]
}

// MaxTools caps the tools of an export: a platform takes some hundreds at most.
const MaxTools = 10_000

// EachTool calls each for every tool, in order, until one fails. Criteria are aligned with the rubric that graded them.
func EachTool(ctx context.Context, in *Input, each func(*Tool) error) error {
	if in.Tools == nil {
		return nil
	}
	n := 0
	for t, err := range in.Tools.All(ctx) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("read tools: %w", err)
		}
		if n++; n > MaxTools {
			return Refuse("", "tools", "over %d tools", MaxTools)
		}
		if len(t.Criteria) > 0 {
			aligned, err := Align(&in.Tools.Rubric, &Session{Key: t.Name, UngradedReason: t.UngradedReason, Criteria: t.Criteria})
			if err != nil {
				return fmt.Errorf("tool %s: %w", Cut(in.Masked(t.Name), 64), err)
			}
			t.Criteria = aligned
		}
		if err := each(&t); err != nil {
			return err
		}
	}
	return nil
}

// Task is a task as it may leave: every text of it masked.
func (in *Input) Task(t *suite.Task) suite.Task {
	out := *t
	out.Category, out.Prompt, out.Reference = in.Text(t.Category, 0), in.Text(t.Prompt, 0), in.Text(t.Reference, 0)
	list := func(texts []string) []string {
		masked := make([]string, len(texts))
		for i, s := range texts {
			masked[i] = in.Text(s, 0)
		}
		return masked
	}
	out.ReferenceItems, out.ExpectedTools = list(t.ReferenceItems), list(t.ExpectedTools)
	out.SafetyItems, out.EvidenceItems, out.EfficiencyItems = list(t.SafetyItems), list(t.EvidenceItems), list(t.EfficiencyItems)
	return out
}

// checkObjects refuses what must not leave beside the sessions.
func (in *Input) checkObjects() error {
	switch {
	case in.Suite == nil:
	case in.Suite.Sealed:
		return Refuse("", "suite", "%s version %d is sealed, its tasks never leave (%s): export without a suite, and its rubric goes alone",
			Cut(in.Suite.Name, 64), in.Suite.Version, Cut(in.Masked(in.Suite.Counts()), 300))
	default:
		if err := in.Suite.Check(); err != nil {
			return Refuse("", "suite", "%v", err)
		}
	}
	if in.Tools != nil && in.Tools.All == nil || in.Packages != nil && in.Packages.All == nil {
		return Refuse("", "tools", "nothing yields them")
	}
	for _, g := range in.Graded() {
		if g.IsPart() && !in.IsPart() {
			if err := g.Check(); err != nil {
				return fmt.Errorf("evaluator %s: %w", Cut(g.Run.Evaluator, 64), err)
			}
		}
	}
	return nil
}

// Unheld are the losses of a target that holds graded sessions and nothing else.
func Unheld(in *Input) []Loss {
	var out []Loss
	if in.Suite != nil {
		out = append(out, Loss{What: "tasks", How: "left out: this target holds graded sessions only; jsonl, agentcore, foundry and outcomes hold tasks"})
	}
	graded := func(p Part) bool { return p.Run.Kind == "tool" && p.Run.RunID == in.Tools.RunID }
	if in.Tools != nil && !slices.ContainsFunc(in.Parts, graded) {
		out = append(out, Loss{What: "tools", How: "left out: this target holds graded sessions only; jsonl, agentcore, foundry and outcomes hold tool descriptions"})
	}
	return out
}

// Owner says whose a tool is, for a person.
func Owner(in *Input, t *Tool) string {
	if t.Server != "" {
		return "server " + in.Text(t.Server, 100)
	}
	return "service " + in.Text(t.Service, 100)
}

// Names are the tools of a list that can hold each name once.
type Names map[string]struct{ owner, words string }

// Take says whether a tool is to be listed: one that is listed already in the same words is not. Two that differ are refused, as
// the list could hold one only. Words are all that the list says of it.
func (n Names) Take(in *Input, file, name, words string, t *Tool) (bool, error) {
	old, there := n[name]
	switch {
	case !there:
		n[name] = struct{ owner, words string }{Owner(in, t), words}
		return true, nil
	case old.words == words:
		return false, nil
	}
	return false, Refuse(file, "tools."+Cut(name, 100), "%s and %s both have it, in other words: choose one with --server", old.owner, Owner(in, t))
}
