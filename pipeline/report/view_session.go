package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/schema"
)

// sessionRow is one sampled session. Numbers that are not known are a dash and sort last.
type sessionRow struct {
	ID, Key, Service, Agent, Harness string
	Started, Day, Clock              string
	StartedSort                      string
	Turns, Tools, Errors, Denied     string
	Pass, Safe                       outcome
	Undecided                        bool
	Reason                           string // why it is ungraded
	Chips                            []chip // in the order of the columns; a missing verdict is a chip without a verdict
	Far                              bool   // beyond what a page shows at first
	Detail                           *detail
}

// outcome is a grade that may be unknown.
type outcome struct{ Key, Text, Symbol string }

// chip is the verdict on one criterion.
type chip struct {
	Criterion    string
	Index        int
	Verdict      string // as in the tables; "" when there is none
	Class        string // the verdict if it is one of those that the page knows, else "other"
	Text, Symbol string
	Detail       string // score and steps
}

func (v *view) sessions(m *Model, most int) {
	choices := make(map[string]bool)
	v.SessionsLeft = m.SessionsLeft
	for i := range m.Sessions {
		if i == most {
			v.SessionsLeft += len(m.Sessions) - most
			break
		}
		row := v.session(&m.Sessions[i])
		if !choices[row.Service] {
			choices[row.Service] = true
			v.Choices = append(v.Choices, row.Service)
		}
		v.Sessions = append(v.Sessions, row)
	}
	slices.Sort(v.Choices)
}

func (v *view) session(s *Session) sessionRow {
	g, row := &s.Grade, &s.Row
	out := sessionRow{
		ID:        name(row.SessionID),
		Key:       name(cmp.Or(g.SessionKey, g.Subject)),
		Service:   name(cmp.Or(g.Service, row.Service)),
		Agent:     name(cmp.Or(g.Agent, row.Agent)),
		Harness:   name(cmp.Or(g.Harness, row.Harness)),
		Started:   instant(row.StartedUnixNano),
		Turns:     unknown,
		Tools:     unknown,
		Undecided: g.Undecided,
		Pass:      passed(g),
		Safe:      safe(g),
	}
	if row.HarnessVersion != "" && out.Harness != "" {
		out.Harness = name(cmp.Or(g.Harness, row.Harness) + " " + row.HarnessVersion)
	}
	out.Day, out.Clock, _ = strings.Cut(out.Started, " ")
	if row.StartedUnixNano != 0 {
		out.StartedSort = strconv.FormatInt(row.StartedUnixNano/1e6, 10)
	}
	if row.SessionKey != "" { // still in the tables
		out.Turns, out.Tools = group(int64(row.NTurns)), group(int64(row.NToolCalls))
		out.Errors, out.Denied = number(row.NToolErrors), number(row.NDenied)
	}
	if g.State == "ungraded" {
		out.Reason = name(strings.ReplaceAll(g.UngradedReason, "_", " "))
	}
	for _, c := range v.Columns {
		chip := chipOf(pick(s.Verdicts, c.key), c.Label, c.Index)
		if chip.Detail == out.Reason {
			chip.Detail = "" // said once, at the grade
		}
		out.Chips = append(out.Chips, chip)
	}
	return out
}

// pick is the verdict that stands for a criterion: the vote of all judges before that of one, the first repeat before others.
func pick(verdicts []schema.Verdict, criterion string) *schema.Verdict {
	var best *schema.Verdict
	for i := range verdicts {
		v := &verdicts[i]
		if v.Criterion != criterion {
			continue
		}
		if best == nil || v.Vote == "final" && best.Vote != "final" || v.Vote == best.Vote && v.Repeat < best.Repeat {
			best = v
		}
	}
	return best
}

func chipOf(v *schema.Verdict, criterion string, index int) chip {
	c := chip{Criterion: criterion, Index: index, Text: unknown}
	if v == nil {
		return c
	}
	c.Verdict, c.Text, c.Symbol = name(v.Verdict), verdictText(v.Verdict), symbol(v.Verdict)
	if c.Class = "other"; verdictRank(v.Verdict) < len(verdictOrder) {
		c.Class = v.Verdict
	}
	switch {
	case v.Verdict == string(judge.NotApplicable):
		c.Text = "N/A"
	case v.Verdict == string(judge.Scored) && finite(v.Score) != nil:
		c.Text = strconv.FormatFloat(*v.Score, 'g', 4, 64)
		if v.Label != "" {
			c.Detail = name(v.Label)
		}
	case v.Verdict == string(judge.Ungraded):
		c.Detail = name(strings.ReplaceAll(v.UngradedReason, "_", " "))
	}
	if v.Verdict == string(judge.NotMet) && len(v.EvidenceSteps) > 0 {
		c.Detail = steps(v.EvidenceSteps)
	}
	return c
}

// steps names where to look, not all of where one could.
func steps(at []int32) string {
	const most = 3
	var b strings.Builder
	b.WriteString("step ")
	if len(at) > 1 {
		b.Reset()
		b.WriteString("steps ")
	}
	for i, s := range at {
		if i == most {
			b.WriteString(" …")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Itoa(int(s)))
	}
	return b.String()
}

// symbol is a sign that tells a verdict without its colour.
func symbol(verdict string) string {
	switch judge.Verdict(verdict) {
	case judge.Met:
		return "✓"
	case judge.NotMet:
		return "✕"
	case judge.NotApplicable:
		return "∅"
	case judge.Unclear:
		return "?"
	case judge.Ungraded:
		return "!"
	}
	return "•"
}

func passed(g *schema.Grade) outcome {
	switch {
	case g.State == "ungraded":
		return outcome{"ungraded", "Ungraded", "!"}
	case g.Pass == nil:
		return outcome{"not_applicable", "N/A", "∅"}
	case *g.Pass:
		return outcome{"met", "Passed", "✓"}
	}
	return outcome{"not_met", "Not passed", "✕"}
}

func safe(g *schema.Grade) outcome {
	switch {
	case g.State == "ungraded":
		return outcome{"ungraded", "Ungraded", "!"}
	case g.Safe == nil:
		return outcome{"not_applicable", "N/A", "∅"}
	case *g.Safe:
		return outcome{"met", "Safe", "✓"}
	}
	return outcome{"not_met", "Not safe", "✕"}
}
