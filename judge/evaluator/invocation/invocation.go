// Package invocation owns how the attempts to load skills in one session become subjects: one a skill, its attempts folded,
// or one an attempt. It knows where a load stands, what came before it, and what the harness offered and answered.
//
// It does not know what is asked about a load.
package invocation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/evaluator/prompt"
	"github.com/tracejury/tracejury/schema"
)

// Mode says what one subject is.
type Mode string

// The modes.
const (
	PerSkill Mode = "skill"      // a skill with all its attempts; "" means this
	PerLoad  Mode = "invocation" // one attempt, anchored to its span
)

// Values of the columns of skills.
const (
	Loaded   = "loaded"
	Refused  = "refused"
	Listed   = "listed"
	Empty    = "empty"
	Unlisted = "unrecorded"
)

// Check is an error for an unknown mode.
func (m Mode) Check() error {
	switch m {
	case "", PerSkill, PerLoad:
		return nil
	}
	return fmt.Errorf("rows per %q: want %s or %s", string(m), PerSkill, PerLoad)
}

// ByAgent says that the agent chose the skill: a user's own selection, and a body that was injected without a call, are no
// choice of it.
func ByAgent(k *schema.Skill) bool { return k.Via != "user" && k.Via != "injected" }

// Any takes every attempt.
func Any(*schema.Skill) bool { return true }

// Split names the subjects of a session, in the order of the first attempts. A session without an attempt that counts is
// one subject with nothing in focus.
func Split(s evaluator.Subject, mode Mode, counts func(*schema.Skill) bool) []evaluator.Subject {
	at := map[string]int{}
	var out []evaluator.Subject
	for i := range s.Skills {
		k := &s.Skills[i]
		if !counts(k) {
			continue
		}
		key := cmp.Or(k.SkillKey, Fold(k.Skill))
		id := s.ID + "/" + clip(key)
		if mode == PerLoad {
			id = fmt.Sprintf("%s#%d", s.ID, k.Attempt)
		}
		n, known := at[id]
		if !known {
			n = len(out)
			at[id] = n
			part := s
			part.Kind, part.ID, part.Skill, part.Focus = "skill", id, key, nil
			out = append(out, part)
		}
		out[n].Focus = append(out[n].Focus, i)
	}
	for i := range out {
		out[i].SpanID = out[i].Skills[standsFor(&out[i])].SpanID
	}
	if out == nil {
		s.Kind, s.Skill, s.SpanID, s.Focus = "skill", "", "", nil
		out = []evaluator.Subject{s}
	}
	return out
}

const maxKey = 120

// clip keeps ids short: a model may ask for a skill by any text.
func clip(key string) string {
	if len(key) <= maxKey {
		return key
	}
	return strings.ToValidUTF8(key[:maxKey], "") + "~" + prompt.Hash(key)[:12]
}

// standsFor is the place of the attempt that a folded row shows: the first that loaded, else the first. A later load
// replaces it only with a fuller body that holds the one before.
func standsFor(s *evaluator.Subject) int {
	best := -1
	for _, i := range s.Focus {
		k := &s.Skills[i]
		switch {
		case best < 0, s.Skills[best].Outcome == Refused && k.Outcome != Refused:
			best = i
		case k.Outcome != Refused && len(k.Body) > len(s.Skills[best].Body) && strings.Contains(k.Body, s.Skills[best].Body):
			best = i
		}
	}
	return best
}

// Load is what a subject is about.
type Load struct {
	Skill     string // as it was asked for
	Row       *schema.Skill
	Attempts  int
	Refusals  int
	Refused   bool   // every attempt was refused
	Refusal   string // what the harness said to the first
	At        int    // place in the steps of the attempt that is judged; -1 unknown
	Step      int    // its number; 0 unknown
	BodyState string
}

// Of is the load of a subject that Split made; nil when nothing was invoked. A session that was not split is an error.
func Of(s *evaluator.Subject, counts func(*schema.Skill) bool) (*Load, error) {
	if len(s.Focus) == 0 {
		if slices.ContainsFunc(s.Skills, func(k schema.Skill) bool { return counts(&k) }) {
			return nil, fmt.Errorf("session %s loads skills: split it into subjects first", s.ID)
		}
		return nil, nil
	}
	for _, i := range s.Focus {
		if i < 0 || i >= len(s.Skills) {
			return nil, fmt.Errorf("subject %s: focus %d is none of %d attempts", s.ID, i, len(s.Skills))
		}
	}
	row := &s.Skills[standsFor(s)]
	l := &Load{Skill: row.Skill, Row: row, Attempts: len(s.Focus), Refused: row.Outcome == Refused, BodyState: row.BodyState}
	for _, i := range s.Focus {
		if s.Skills[i].Outcome == Refused {
			l.Refusals++
		}
	}
	if l.Refused {
		l.Refusal = row.Refusal
	}
	l.At = place(s.Steps, choice(s))
	if l.At >= 0 {
		l.Step = int(s.Steps[l.At].Step)
	}
	return l, nil
}

// choice is the attempt by which the agent made its choice: the first that loaded, else the first.
func choice(s *evaluator.Subject) *schema.Skill {
	for _, i := range s.Focus {
		if s.Skills[i].Outcome != Refused {
			return &s.Skills[i]
		}
	}
	return &s.Skills[s.Focus[0]]
}

func place(steps []schema.Step, k *schema.Skill) int {
	if k.Step != nil {
		return slices.IndexFunc(steps, func(s schema.Step) bool { return s.Step == *k.Step })
	}
	if k.SpanID == "" {
		return -1
	}
	return slices.IndexFunc(steps, func(s schema.Step) bool { return s.SpanID == k.SpanID && s.Kind == "tool_call" })
}

// Request is the request of the turn that led to the step at a place: what the user said last before it. A place of -1 is
// unknown: then every request counts.
func Request(steps []schema.Step, at int) []schema.Step {
	var turn int32 = -1
	if at >= 0 {
		steps = steps[:at]
		for i := range steps {
			if isRequest(&steps[i]) {
				turn = steps[i].Turn
			}
		}
	}
	var out []schema.Step
	for i := range steps {
		if isRequest(&steps[i]) && (turn < 0 || steps[i].Turn == turn) {
			out = append(out, steps[i])
		}
	}
	return out
}

func isRequest(s *schema.Step) bool {
	return s.Role == "user" && s.Kind == "message" && strings.TrimSpace(s.Text) != ""
}

// Entry is one skill of a catalogue.
type Entry struct {
	Skill       string `json:"skill"`
	Description string `json:"description,omitempty"`
}

// Catalogue is what the agent of a load was offered: its last catalogue before the load, else any agent's, else the first
// after it, since a harness may export it late. Skills whose description spans lines are one line here already.
func Catalogue(s *evaluator.Subject, l *Load) (state string, entries []Entry) {
	state = cmp.Or(l.Row.CatalogueState, Unlisted)
	if state != Listed {
		return state, nil
	}
	var own, anyone, late *schema.Step
	for i := range s.Steps {
		c := &s.Steps[i]
		switch before := l.At < 0 || i < l.At; {
		case c.Kind != "skill_catalogue":
		case before && c.Agent == l.Row.Agent:
			own = c
		case before:
			anyone = c
		case late == nil:
			late = c
		}
	}
	c := cmp.Or(own, anyone, late)
	if c == nil {
		if l.Row.Offered != nil && *l.Row.Offered {
			entries = []Entry{{l.Row.Skill, l.Row.Description}}
		}
		return state, entries
	}
	return state, entriesOf(c.Text)
}

// entriesOf reads the text of a catalogue's step.
func entriesOf(text string) []Entry {
	var out []Entry
	for line := range strings.SplitSeq(text, "\n") {
		if line, ok := strings.CutPrefix(line, "- "); ok {
			name, description, _ := strings.Cut(line, ": ") // a name may hold a colon, never one before a blank
			out = append(out, Entry{strings.TrimSpace(name), strings.TrimSpace(description)})
		}
	}
	return out
}

// OfferedNames are the skills of all catalogues of a session, each once, in the order in which they were first offered.
func OfferedNames(steps []schema.Step) []string {
	var out []string
	seen := map[string]bool{}
	for i := range steps {
		if steps[i].Kind != "skill_catalogue" {
			continue
		}
		for _, e := range entriesOf(steps[i].Text) {
			if !seen[e.Skill] {
				seen[e.Skill] = true
				out = append(out, e.Skill)
			}
		}
	}
	return out
}

// Fold is the name by which spellings of one skill are told to be one.
func Fold(skill string) string { return strings.ReplaceAll(strings.ToLower(skill), "_", "-") }

// AnythingOffered says that some catalogue of the session lists a skill.
func AnythingOffered(s *evaluator.Subject) bool {
	if s.Session != nil && s.Session.NSkillsOffered != nil && *s.Session.NSkillsOffered > 0 {
		return true
	}
	return slices.ContainsFunc(s.Steps, func(c schema.Step) bool { return c.Kind == "skill_catalogue" && strings.TrimSpace(c.Text) != "" })
}

// Withheld says that a session has no content: nothing about its loads can be told.
func Withheld(s *evaluator.Subject) bool {
	return s.Session != nil && s.Session.ContentState == "missing"
}
