package session

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/pipeline/convention"
	"github.com/tracejury/tracejury/schema"
)

// SourceTurn is the source of a session id where no attribute carries one and model calls of one turn are traces of their own,
// as under instrumentations of a model's SDK: the first tool call that the turn asked for. Every later call of the turn repeats it in
// its input. The id is made by the model, so that traces which share it are one turn's and no others are.
//
// It is a function of one record, so that no search through other traces decides where a record belongs. Calls before the last
// prompt do not count: examples in a prompt may hold the same ids in every conversation. So turns are not joined; what a turn's
// first input repeats of those before it is marked as earlier. Below a parent a call does not count either: there the trace is
// what holds a turn together.
const SourceTurn = "tool_call"

// minCallID is the shortest id of a call that is believed to be unique.
const minCallID = 16

// CandidateIn finds the session id that a record carries: an attribute's, else that of its turn.
func CandidateIn(r *convention.Record, extraIDKeys []string) Candidate {
	if id, source, ok := CandidateID(r.Attributes, r.Resource, extraIDKeys); ok {
		return Candidate{id, source}
	}
	if id := turnID(r); id != "" {
		return Candidate{id, SourceTurn}
	}
	return Candidate{}
}

// turnID is the first tool call that a model was asked or asked for after the last prompt, "" without one or where its id may not
// be unique.
func turnID(r *convention.Record) string {
	if r.Row.TraceID == "" || !mayHoldCallID(r.Row) {
		return ""
	}
	type said struct {
		position int
		id       string // "" of a prompt
	}
	var list []said
	c, ok := convention.Find(r)
	if !ok || c.Internal(r) {
		return ""
	}
	c.Events(r, func(e convention.Event) {
		h, ok := historyOf(e)
		if !ok {
			return
		}
		at := h.Position
		if h.Origin != convention.OriginHistory {
			at = int(^uint(0) >> 1) // what is new comes last
		}
		switch e := e.(type) {
		case *convention.Prompt:
			list = append(list, said{at, ""})
		case *convention.ToolCall:
			list = append(list, said{at, cmp.Or(e.CallID, "-")})
		}
	})
	slices.SortStableFunc(list, func(x, y said) int { return cmp.Compare(x.position, y.position) })
	first := ""
	for _, s := range list {
		switch {
		case s.id == "":
			first = ""
		case first == "":
			first = s.id
		}
	}
	if !uniqueCallID(first) {
		return ""
	}
	return first
}

// callPrefixes begin the ids that models and their servers make.
var callPrefixes = [...]string{"call_", "toolu_", "tooluse_", "chatcmpl-tool-", "fc_"}

// mayHoldCallID says quickly whether a record holds a text that looks like the id of a call.
func mayHoldCallID(r *schema.Span) bool {
	for _, text := range [...]string{r.Attributes, r.Events, r.Body} {
		for _, p := range callPrefixes {
			for rest := text; ; {
				i := strings.Index(rest, p)
				if i < 0 {
					break
				}
				rest = rest[i+len(p):]
				n := 0
				for n < len(rest) && n < minCallID && alphanumeric(rest[n]) {
					n++
				}
				if n == minCallID {
					return true
				}
			}
		}
	}
	return false
}

func alphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// uniqueCallID says whether an id looks random: a known beginning, and digits and letters mixed behind it.
func uniqueCallID(id string) bool {
	for _, p := range callPrefixes {
		rest, ok := strings.CutPrefix(id, p)
		if !ok || len(rest) < minCallID || len(id) > maxIDBytes {
			continue
		}
		changes := 0
		for i := 1; i < len(rest); i++ {
			if alphanumeric(rest[i-1]) && alphanumeric(rest[i]) && class(rest[i-1]) != class(rest[i]) {
				changes++
			}
		}
		return changes >= 4
	}
	return false
}

func class(c byte) byte {
	switch {
	case c <= '9':
		return 0
	case c <= 'Z':
		return 1
	}
	return 2
}

// turn is the session of a trace in which no attribute carries an id: the turn of its earliest root that has one.
func (a *assigner) turn(own []Candidate) (carried, bool) {
	best := -1
	for i, c := range own {
		if c.Source != SourceTurn || !a.isRoot(a.rows[i]) {
			continue
		}
		if best < 0 || a.compareTurn(i, best, own) < 0 {
			best = i
		}
	}
	if best < 0 {
		return carried{}, false
	}
	return carried{own[best].ID, SourceTurn, a.rows[best].Service}, true
}

// isRoot says whether a record is the root of its trace, or was written in it.
func (a *assigner) isRoot(r *schema.Span) bool {
	if r.Signal != "log" {
		return r.ParentSpanID == ""
	}
	parent, ok := a.parent[r.SpanID]
	return ok && parent == ""
}

func (a *assigner) compareTurn(i, j int, own []Candidate) int {
	return cmp.Or(cmp.Compare(a.rows[i].StartedUnixNano, a.rows[j].StartedUnixNano), cmp.Compare(own[i].ID, own[j].ID), cmp.Compare(a.rows[i].Service, a.rows[j].Service))
}
