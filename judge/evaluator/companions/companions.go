// Package companions owns the checks of sessions that need no judge: was the expected skill invoked, the expected tool called, was an
// error passed over, and which of the skills on offer were used. All answers come from code.
//
// It does not know where expectations come from.
package companions

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/evaluator/invocation"
	"github.com/tracejury/tracejury/judge/evaluator/prompt"
	"github.com/tracejury/tracejury/schema"
)

// Name of the evaluator.
const Name = "companions"

// The criteria.
const (
	SkillInvoked     = "skill_invoked"
	ToolCalled       = "tool_called"
	NoErrorUnhandled = "no_error_unhandled"
	SkillsOffered    = "skills_offered"
)

// rulesVersion is part of what identifies the evaluator: other rules are another one.
const rulesVersion = "1"

// Labels of answers: what came of a skill in a session.
const (
	LabelLoaded    = "loaded"
	LabelRefused   = "refused"
	LabelAttempted = "attempted" // asked for, and what came of it is not recorded
	LabelUnused    = "unused"    // on offer and never asked for
	LabelNever     = "never_asked"
	LabelUnknown   = "not_recorded"
)

// Evaluator answers by code.
type Evaluator struct {
	version  evaluator.Version
	expected []evaluator.Expectation
}

var (
	_ evaluator.Evaluator = (*Evaluator)(nil)
	_ evaluator.Coded     = (*Evaluator)(nil)
)

// Entries tells a run of this evaluator.
func Entries() []evaluator.Entry {
	return []evaluator.Entry{{
		Name: "companions", Of: evaluator.OfSessions, Rubrics: []string{"companions"}, Takes: []string{"expect"}, Help: "what code can tell without a judge: expected skills and tools, errors passed over, skills never used",
		New: func(r judge.Rubric, o evaluator.Options) (evaluator.Evaluator, error) { return New(r, o.Expected) },
	}}
}

// New makes an evaluator for the rubric of the four checks. What tasks expect is part of what identifies it.
func New(rubric judge.Rubric, expected []evaluator.Expectation) (*Evaluator, error) {
	known := []string{SkillInvoked, ToolCalled, NoErrorUnhandled, SkillsOffered}
	for i, c := range rubric.Criteria {
		if len(rubric.Criteria) != len(known) || c.ID != known[i] {
			return nil, fmt.Errorf("companions evaluator: rubric %s: want the criteria %s", rubric.Name, strings.Join(known, ", "))
		}
	}
	expects, err := judge.CanonicalJSON(expected)
	if err != nil {
		return nil, fmt.Errorf("companions evaluator: %w", err)
	}
	return &Evaluator{expected: expected, version: evaluator.Version{
		Evaluator: Name, Kind: "session", PromptVersion: "code", PromptSHA256: prompt.Hash("no prompt", rulesVersion), Rubric: rubric, RubricSHA256: rubric.SHA256(),
		SchemaSHA256: prompt.Hash("no schema"), Rendering: prompt.Hash("expectations", string(expects)),
	}}, nil
}

// Coded says that no judge is asked.
func (e *Evaluator) Coded() {}

// Version is what identifies the evaluator.
func (e *Evaluator) Version() evaluator.Version { return e.version }

// Item answers; there is never a question.
func (e *Evaluator) Item(s evaluator.Subject, _ string) (*evaluator.Item, []judge.Answer, error) {
	out := e.skillInvoked(&s)
	out = append(out, e.toolCalled(&s)...)
	out = append(out, noErrorUnhandled(&s))
	return nil, append(out, skillsOffered(&s)...), nil
}

// Read refuses every reply: nothing was asked.
func (e *Evaluator) Read(*judge.Request, string) ([]judge.Answer, error) {
	return nil, fmt.Errorf("companions evaluator: nothing was asked")
}

// Grade passes when no expectation is missed and no error was passed over. That skills on offer were not used fails nothing.
func (e *Evaluator) Grade(answers []judge.Answer) evaluator.Grade {
	g := evaluator.Grade{Graded: true}
	decided, unclear, pass := 0, 0, true
	for _, a := range answers {
		switch {
		case a.Criterion == SkillsOffered:
		case a.Verdict == judge.Met || a.Verdict == judge.NotMet:
			decided++
			pass = pass && a.Verdict == judge.Met
		case a.Verdict == judge.Unclear:
			unclear++
		}
	}
	if decided+unclear > 0 {
		g.Pass, g.Undecided = &pass, decided == 0
	}
	return g
}

// expectations are those that are about a session: by its id or key, or by the first thing that its user said.
func (e *Evaluator) expectations(s *evaluator.Subject) []evaluator.Expectation {
	first := ""
	if r := invocation.Request(s.Steps, -1); len(r) > 0 {
		first = strings.TrimSpace(r[0].Text)
	}
	var out []evaluator.Expectation
	for _, x := range e.expected {
		byID := x.Session != "" && (x.Session == s.ID || s.Session != nil && (x.Session == s.Session.SessionID || x.Session == s.Session.SessionKey))
		if byID || x.Session == "" && x.Input != "" && x.Input == first {
			out = append(out, x)
		}
	}
	return out
}

func answer(criterion, item string, v judge.Verdict, label, why string, steps ...int) judge.Answer {
	slices.Sort(steps)
	return judge.Answer{Criterion: criterion, Item: item, Verdict: v, Label: label, Explanation: why, EvidenceSteps: slices.Compact(steps)}
}

// skillInvoked compares names exactly, as the Strands check SkillInvoked does.
func (e *Evaluator) skillInvoked(s *evaluator.Subject) []judge.Answer {
	var out []judge.Answer
	for _, x := range e.expectations(s) {
		if x.Skill == "" || slices.ContainsFunc(out, func(a judge.Answer) bool { return a.Item == x.Skill }) {
			continue
		}
		out = append(out, invoked(s, x.Skill))
	}
	if out == nil {
		out = []judge.Answer{answer(SkillInvoked, "", judge.NotApplicable, evaluator.LabelNotApplicable, "No task expects a skill of this session.")}
	}
	return out
}

func invoked(s *evaluator.Subject, skill string) judge.Answer {
	refused, attempted := 0, 0
	var steps []int
	for i := range s.Skills {
		k := &s.Skills[i]
		if k.Skill != skill || !invocation.ByAgent(k) {
			continue
		}
		if k.Step != nil {
			steps = append(steps, int(*k.Step))
		}
		switch k.Outcome {
		case invocation.Loaded:
			return answer(SkillInvoked, skill, judge.Met, LabelLoaded, "The skill was loaded.", steps...)
		case invocation.Refused:
			refused++
		default:
			attempted++
		}
	}
	switch {
	case attempted > 0:
		return answer(SkillInvoked, skill, judge.Unclear, LabelAttempted, "The skill was asked for; what came of it is not recorded.", steps...)
	case refused > 0:
		return answer(SkillInvoked, skill, judge.NotMet, LabelRefused, fmt.Sprintf("The skill was asked for %d times and always refused.", refused), steps...)
	case len(s.Steps) == 0 || invocation.Withheld(s):
		return answer(SkillInvoked, skill, judge.Unclear, LabelUnknown, "The harness did not record what the agent did.")
	}
	return answer(SkillInvoked, skill, judge.NotMet, LabelNever, "The skill was never asked for.")
}

func (e *Evaluator) toolCalled(s *evaluator.Subject) []judge.Answer {
	var out []judge.Answer
	for _, x := range e.expectations(s) {
		if x.Tool == "" || slices.ContainsFunc(out, func(a judge.Answer) bool { return a.Item == x.Tool }) {
			continue
		}
		i := slices.IndexFunc(s.Steps, func(st schema.Step) bool { return st.Kind == "tool_call" && st.Tool == x.Tool })
		switch {
		case i >= 0:
			out = append(out, answer(ToolCalled, x.Tool, judge.Met, "called", "The tool was called.", int(s.Steps[i].Step)))
		case len(s.Steps) == 0 || invocation.Withheld(s):
			out = append(out, answer(ToolCalled, x.Tool, judge.Unclear, LabelUnknown, "The harness did not record what the agent did."))
		default:
			out = append(out, answer(ToolCalled, x.Tool, judge.NotMet, "never_called", "The tool was never called."))
		}
	}
	if out == nil {
		out = []judge.Answer{answer(ToolCalled, "", judge.NotApplicable, evaluator.LabelNotApplicable, "No task expects a tool of this session.")}
	}
	return out
}

// skillsOffered says of the session whether any skill on offer was used, and of each skill on offer or asked for what came of it.
func skillsOffered(s *evaluator.Subject) []judge.Answer {
	offered := invocation.OfferedNames(s.Steps)
	used := map[string]string{} // folded name ─► label; loaded goes before all, refused before nothing known
	spelled := map[string]string{}
	for i := range s.Skills {
		k := &s.Skills[i]
		key := invocation.Fold(k.Skill)
		if spelled[key] == "" {
			spelled[key] = k.Skill
		}
		label := map[string]string{invocation.Loaded: LabelLoaded, invocation.Refused: LabelRefused}[k.Outcome]
		switch {
		case used[key] == LabelLoaded:
		case label == LabelLoaded || used[key] == "":
			used[key] = label
			if label == "" {
				used[key] = LabelAttempted
			}
		}
	}
	var out []judge.Answer
	any := false
	for _, name := range offered {
		key := invocation.Fold(name)
		label := used[key]
		if label == "" {
			label = LabelUnused
		}
		any = any || label == LabelLoaded
		spelled[key] = "" // told
		out = append(out, answer(SkillsOffered, name, judge.Scored, label, ""))
	}
	for i := range s.Skills {
		key := invocation.Fold(s.Skills[i].Skill)
		if name := spelled[key]; name != "" {
			spelled[key] = ""
			out = append(out, answer(SkillsOffered, name, judge.Scored, used[key], ""))
		}
	}
	whole := answer(SkillsOffered, "", judge.NotApplicable, evaluator.LabelNotApplicable, "No skill was on offer.")
	switch {
	case any:
		whole = answer(SkillsOffered, "", judge.Met, LabelLoaded, "A skill on offer was loaded.")
	case len(offered) > 0:
		whole = answer(SkillsOffered, "", judge.NotMet, LabelUnused, "Skills were on offer and none was loaded.")
	case s.Session != nil && s.Session.NSkillsOffered == nil:
		whole = answer(SkillsOffered, "", judge.Unclear, LabelUnknown, "The harness did not record which skills it offered.")
	}
	return append([]judge.Answer{whole}, out...)
}
