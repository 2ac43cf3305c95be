package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/schema"
)

// Judged is what one evaluator said of a session or of a part of it, such as a skill that it loaded.
type Judged struct {
	Evaluator string // its tag
	About     string // the skill; "" the session
	Verdicts  []schema.Verdict
	// Words are the judge's reasons by criterion and item. They are content: empty unless it was asked for and is kept.
	Words map[[2]string]string
}

// Left is a session of the window that could not be judged.
type Left struct {
	Row schema.Session
	Why string // in words
}

// Limits of what a page holds of one session.
const (
	maxPageSteps = 400  // beyond, the first and those that verdicts point at
	maxStepText  = 4000 // characters
)

// detail is the page of one session as its script draws it: texts only, nothing of it is markup. Field names are short, for a page may hold
// thousands.
type detail struct {
	Facts    [][2]string   `json:"f"`
	Note     string        `json:"n,omitempty"` // what is not shown, and where it is
	Verdicts []verdictLine `json:"v"`
	Steps    []stepLine    `json:"s"`
	Left     int           `json:"l,omitempty"` // steps that are not shown
}

type verdictLine struct {
	By       string  `json:"b"` // evaluator and what it is about
	Question string  `json:"q"`
	Class    string  `json:"c"`
	Symbol   string  `json:"y"`
	Text     string  `json:"t"`
	Detail   string  `json:"d,omitempty"`
	Safety   bool    `json:"a,omitempty"`
	Evidence []int32 `json:"e,omitempty"`
	Words    string  `json:"w,omitempty"`
}

type stepLine struct {
	N       int32  `json:"n"`
	Turn    int32  `json:"t,omitempty"`
	Who     string `json:"w"`
	Tool    string `json:"x,omitempty"`
	Outcome string `json:"o,omitempty"`
	Bad     bool   `json:"b,omitempty"`
	Note    string `json:"m,omitempty"`
	Args    string `json:"a,omitempty"`
	Text    string `json:"p,omitempty"`
}

// passage is phrase for text of several lines.
func passage(s string) string {
	if len(s) > 16*maxStepText {
		s = s[:16*maxStepText]
	}
	var out []string
	left := maxStepText
	for line := range strings.Lines(strings.ReplaceAll(s, "\r\n", "\n")) {
		if left <= 0 {
			out = append(out, "…")
			break
		}
		indent := len(line) - len(strings.TrimLeftFunc(line, unicode.IsSpace))
		c := clean(line, left)
		left -= len([]rune(c)) + 1
		out = append(out, strings.Repeat(" ", min(indent, 16))+c)
	}
	return strings.TrimRight(strings.Join(out, "\n"), "\n ")
}

// detail draws up the page of a session. It answers nil where there is nothing to show but the row.
func (v *view) detail(s *Session) *detail {
	row, g := &s.Row, &s.Grade
	d := &detail{}
	fact := func(name, value string) {
		if value != "" && value != unknown {
			d.Facts = append(d.Facts, [2]string{name, value})
		}
	}
	fact("Session", name(row.SessionID))
	fact("Key", name(cmp.Or(g.SessionKey, g.Subject)))
	fact("Service", name(cmp.Or(g.Service, row.Service)))
	fact("Agent", name(cmp.Or(g.Agent, row.Agent)))
	fact("Harness", name(strings.TrimSpace(cmp.Or(g.Harness, row.Harness)+" "+row.HarnessVersion)))
	fact("Models", name(strings.Join(row.Models, ", ")))
	fact("Started", asOfText(row.StartedUnixNano))
	fact("Ended", asOfText(row.EndedUnixNano))
	if row.SessionKey != "" {
		fact("Turns", strconv.Itoa(int(row.NTurns)))
		fact("Tool calls", strings.Join(slices.DeleteFunc([]string{strconv.Itoa(int(row.NToolCalls)), some(row.NToolErrors, "failed"), some(row.NDenied, "denied")}, func(s string) bool { return s == "" }), ", "))
		fact("Never recorded", name(strings.ReplaceAll(strings.Join(row.Missing, ", "), "_", " ")))
	} else {
		fact("State", "the session is gone from the tables")
	}
	fact("Graded", outcomeText(g))
	fact("Not eligible now", phrase(s.WhyNot))
	for i := range row.Warnings {
		fact("Warning", phrase(row.Warnings[i]))
	}
	v.verdictLines(d, Judged{Verdicts: s.Verdicts, Words: s.Words})
	for i := range s.Others {
		v.verdictLines(d, s.Others[i])
	}
	d.addSteps(s)
	return d
}

func some(n int32, what string) string {
	if n == 0 {
		return ""
	}
	return group(int64(n)) + " " + what
}

// outcomeText is the grade in words.
func outcomeText(g *schema.Grade) string {
	if g.State == "ungraded" {
		return "ungraded: " + name(strings.ReplaceAll(g.UngradedReason, "_", " "))
	}
	parts := []string{strings.ToLower(passed(g).Text), strings.ToLower(safe(g).Text)}
	if g.Undecided {
		parts = append(parts, "undecided")
	}
	return strings.Join(parts, ", ")
}

// verdictLines adds what an evaluator said, what went wrong first.
func (v *view) verdictLines(d *detail, j Judged) {
	by := name(strings.ReplaceAll(j.Evaluator, "_", " "))
	if j.About != "" {
		by += ": " + name(j.About)
	}
	from := len(d.Verdicts)
	for i := range j.Verdicts {
		x := &j.Verdicts[i]
		if x.Vote != "" && x.Vote != "final" {
			continue
		}
		c := chipOf(x, label(x.Criterion), i)
		if x.Verdict == string(judge.Scored) && x.Score == nil && x.Label != "" {
			c.Text = name(strings.ReplaceAll(x.Label, "_", " ")) // a label is all that it is
		}
		line := verdictLine{By: by, Question: label(x.Criterion), Class: c.Class, Symbol: c.Symbol, Text: c.Text, Safety: x.Safety, Evidence: x.EvidenceSteps,
			Words: phrase(j.Words[[2]string{x.Criterion, x.Item}])}
		if x.Item != "" && x.Item != j.About {
			line.Question += ": " + name(x.Item)
		}
		if x.Verdict != string(judge.NotMet) {
			line.Detail = c.Detail // of a verdict that is not met, where to look: the links say it
		}
		if l := name(strings.ReplaceAll(x.Label, "_", " ")); l != "" && line.Detail == "" && !strings.EqualFold(l, line.Text) && x.Label != x.Verdict {
			line.Detail = l
		}
		for _, f := range x.Findings {
			line.Detail = strings.TrimPrefix(line.Detail+"; "+name(strings.ReplaceAll(f, "_", " ")), "; ")
		}
		d.Verdicts = append(d.Verdicts, line)
	}
	slices.SortStableFunc(d.Verdicts[from:], func(a, b verdictLine) int { return cmp.Compare(lookRank(a.Class), lookRank(b.Class)) })
}

// lookRank orders verdicts as a reader looks at them.
func lookRank(class string) int {
	return slices.Index([]string{"not_met", "ungraded", "unclear", "other", "scored", "met", "not_applicable"}, class)
}

// addSteps adds the steps, and says what of them is not there.
func (d *detail) addSteps(s *Session) {
	evidence := map[int32]bool{}
	for _, v := range d.Verdicts {
		for _, n := range v.Evidence {
			evidence[n] = true
		}
	}
	d.Left = s.StepsLeft
	for i := range s.Steps {
		st := &s.Steps[i]
		if i >= maxPageSteps && !evidence[st.Step] {
			d.Left++
			continue
		}
		d.Steps = append(d.Steps, stepOf(st))
	}
	d.Note = phrase(s.Note)
}

func stepOf(st *schema.Step) stepLine {
	line := stepLine{N: st.Step, Turn: st.Turn, Who: name(st.Role), Tool: name(st.Tool), Outcome: name(strings.ReplaceAll(st.Outcome, "_", " ")),
		Args: passage(st.Arguments), Text: passage(st.Text), Bad: st.Outcome == "error" || st.Outcome == "denied" || st.Outcome == "refused"}
	if st.Kind != "message" {
		line.Who += ", " + name(strings.ReplaceAll(st.Kind, "_", " "))
	}
	if st.ExitCode != nil {
		line.Outcome = strings.TrimPrefix(line.Outcome+", exit "+strconv.Itoa(int(*st.ExitCode)), ", ")
		line.Bad = line.Bad || *st.ExitCode != 0
	}
	var notes []string
	if st.Agent != "" {
		notes = append(notes, "agent "+name(st.Agent))
	}
	if st.Truncated {
		notes = append(notes, "cut by the harness")
	}
	if st.Earlier {
		notes = append(notes, "from an earlier conversation: context only")
	}
	line.Note = strings.Join(notes, "; ")
	return line
}
