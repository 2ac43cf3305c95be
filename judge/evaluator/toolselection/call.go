package toolselection

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/evaluator/invocation"
	"github.com/tracejury/tracejury/schema"
)

// Kind of the subjects.
const Kind = "tool_call"

// calls are the places of the calls among the steps. A call that loads a skill is not one: which skill to load is the question of
// skill selection.
func calls(s *evaluator.Subject) []int {
	loads := map[int32]bool{}
	for i := range s.Skills {
		if k := &s.Skills[i]; k.Step != nil {
			loads[*k.Step] = true
		}
	}
	var out []int
	for i := range s.Steps {
		if st := &s.Steps[i]; st.Kind == "tool_call" && !st.Earlier && !loads[st.Step] {
			out = append(out, i)
		}
	}
	return out
}

// split makes a subject of each call; of a session without any, the session itself.
func split(s evaluator.Subject) []evaluator.Subject {
	var out []evaluator.Subject
	for _, at := range calls(&s) {
		st := &s.Steps[at]
		part := s
		part.Kind, part.ID, part.SpanID = Kind, fmt.Sprintf("%s#step%d", s.ID, st.Step), st.SpanID
		part.Tool = &schema.Tool{Tool: st.Tool}
		if d := definition(s.Tools, st.Tool); d != nil {
			part.Tool = d
		}
		part.Focus = []int{at}
		out = append(out, part)
	}
	if out == nil {
		s.Kind, s.SpanID, s.Tool, s.Focus = Kind, "", nil, nil
		out = []evaluator.Subject{s}
	}
	return out
}

// definition finds what was offered under the name of a call: harnesses put the server before the tool in different ways.
func definition(tools []schema.Tool, called string) *schema.Tool {
	for i := range tools {
		if tools[i].Server == "" && tools[i].Tool == called {
			return &tools[i]
		}
	}
	for i := range tools {
		t := &tools[i]
		names := []string{t.Tool}
		if t.Server != "" {
			names = append(names, "mcp__"+t.Server+"__"+t.Tool, "mcp_"+t.Server+"_"+t.Tool, t.Server+"__"+t.Tool, t.Server+"_"+t.Tool, t.Server+"-"+t.Tool, t.Server+"."+t.Tool)
		}
		if slices.Contains(names, called) {
			return t
		}
	}
	return nil
}

// decision is one call as the agent chose it.
type decision struct {
	at      int
	step    *schema.Step
	offered *schema.Tool // nil: not among the recorded definitions
	never   bool         // it did not run
	message string       // what the harness said to a call that did not run
	repeats int          // calls of the same tool with the same arguments before it that were answered
}

// neverRan are the outcomes of calls that did not run.
var neverRan = []string{"denied", "refused", "not_executed"}

// knowsNone finds answers that say that there is no such tool.
var knowsNone = regexp.MustCompile(`(?i)\b(?:unknown|no such|unrecognized|invalid) tool\b|\btool\b.{0,80}\b(?:not found|does not exist|doesn't exist|is not available|not recognized)\b`)

// look reads the call that a subject is about.
func look(s *evaluator.Subject) (*decision, error) {
	if len(s.Focus) == 0 {
		if len(calls(s)) > 0 {
			return nil, fmt.Errorf("session %s calls tools: split it into subjects first", s.ID)
		}
		return nil, nil
	}
	at := s.Focus[0]
	if at < 0 || at >= len(s.Steps) || s.Steps[at].Kind != "tool_call" {
		return nil, fmt.Errorf("subject %s: place %d is no call", s.ID, at)
	}
	d := &decision{at: at, step: &s.Steps[at]}
	d.offered = definition(s.Tools, d.step.Tool)
	d.never = slices.Contains(neverRan, d.step.Outcome)
	for i := range s.Steps {
		o := &s.Steps[i]
		switch {
		case i > at && o.CallID != "" && o.CallID == d.step.CallID && (o.Kind == "tool_result" || o.Kind == "denial" || o.Kind == "error"):
			if d.message == "" && (d.never || knowsNone.MatchString(o.Text)) {
				d.never, d.message = true, o.Text
			}
		case i < at && o.Kind == "tool_call" && o.Tool == d.step.Tool && o.Arguments == d.step.Arguments && o.Arguments != "" && o.Outcome == "ok":
			d.repeats++
		}
	}
	return d, nil
}

// unknown is whether the harness knows no tool of that name.
func (d *decision) unknown(s *evaluator.Subject) bool {
	return len(s.Tools) > 0 && d.offered == nil && knowsNone.MatchString(d.message)
}

// named is whether the user asked for the tool by a name that is no plain word.
func (d *decision) named(task []schema.Step) bool {
	name := d.step.Tool
	if d.offered != nil {
		name = d.offered.Tool
	}
	if len(name) < 5 || !strings.ContainsAny(name, "_-") {
		return false
	}
	return slices.ContainsFunc(task, func(t schema.Step) bool {
		return regexp.MustCompile(`(?i)(?:^|[^\w-])` + regexp.QuoteMeta(name) + `(?:$|[^\w-])`).MatchString(t.Text)
	})
}

// before is the session until the call, without what its header would tell of later turns, and without the outcome of calls that
// were under way.
func before(s *evaluator.Subject, at int) (*schema.Session, []schema.Step, []schema.Skill) {
	steps := invocation.WithoutCatalogue(s.Steps[:at])
	later := map[string]bool{}
	for i := at; i < len(s.Steps); i++ {
		if r := &s.Steps[i]; r.Kind != "tool_call" && r.CallID != "" {
			later[r.CallID] = true
		}
	}
	for i := range steps {
		if steps[i].Kind == "tool_call" && later[steps[i].CallID] {
			steps[i].Outcome = ""
		}
	}
	var skills []schema.Skill
	for i := range s.Skills {
		if k := &s.Skills[i]; k.Step != nil && *k.Step < s.Steps[at].Step {
			skills = append(skills, *k)
		}
	}
	if s.Session == nil {
		return nil, steps, skills
	}
	then := *s.Session
	then.NTurns = 0
	for i := range steps {
		then.NTurns = max(then.NTurns, steps[i].Turn)
	}
	return &then, steps, skills
}
