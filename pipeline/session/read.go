package session

import (
	"cmp"
	"slices"

	"github.com/tracejury/tracejury/pipeline/convention"
	"github.com/tracejury/tracejury/schema"
)

// item is one event with where it was read.
type item struct {
	event   convention.Event
	meta    *convention.Meta
	row     *schema.Span
	order   int    // place in a fixed order of all events
	witness string // kind of record that told it
	scope   string // what instrumentation told it
	agent   string // who did it, resolved from the spans above
	nested  bool   // done by a sub-agent
}

// reading is everything that the records of a session say.
type reading struct {
	rows     []schema.Span
	items    []item
	exports  convention.Content
	spans    map[spanID]int // span to its row
	agents   map[spanID]agentSpan
	harness  convention.Identity
	main     string // name of the main agent
	unread   int    // records of no convention
	source   string // best key that carried the session's id
	badJSON  int
	services map[string]bool
}

// spanID identifies a span among several traces.
type spanID struct{ trace, span string }

// agentSpan is a span that bounds an agent.
type agentSpan struct {
	name   string
	at     int64
	works  bool // makes model calls of its own
	nested bool
}

// read parses the rows, which are without duplicates and in table order, and asks the conventions.
func read(rows []schema.Span, id Ident) *reading {
	rows = byTime(rows)
	rd := &reading{rows: rows, spans: map[spanID]int{}, agents: map[spanID]agentSpan{}, services: map[string]bool{}}
	best := len(convention.All()) + 1
	ranks := map[string]int{}
	for i, c := range convention.All() {
		ranks[c.Name()] = i
	}
	memo, parser := &convention.Memo{}, &convention.Parser{}
	for i := range rows {
		row := &rows[i]
		if row.Signal != "log" && row.SpanID != "" {
			rd.spans[spanID{row.TraceID, row.SpanID}] = i
		}
		if row.Service != "" {
			rd.services[row.Service] = true
		}
		rec, err := parser.Parse(row)
		if err != nil {
			rd.badJSON++
		}
		rec.Memo = memo
		rd.carries(rec, id)
		conv, ok := convention.Read(rec, func(e convention.Event) { rd.add(e, row) })
		if !ok {
			rd.unread++
			continue
		}
		rd.exports |= conv.Exports(rec)
		if rank := ranks[conv.Name()]; rank < best {
			best = rank
			rd.harness = convention.Identity{Harness: conv.Name()}
		}
	}
	rd.identify(ranks, best)
	rd.returnContent()
	rd.resolveAgents()
	return rd
}

// byTime is the rows by the time that can be believed, then in their own order.
func byTime(rows []schema.Span) []schema.Span {
	type at struct {
		time int64
		row  int
	}
	order := make([]at, len(rows))
	for i := range rows {
		order[i] = at{usable(&rows[i]), i}
	}
	slices.SortFunc(order, func(a, b at) int { return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.row, b.row)) })
	sorted := make([]schema.Span, len(rows))
	for i, o := range order {
		sorted[i] = rows[o.row]
	}
	return sorted
}

// carries notes the best usual key by which a record carries the session's id: traces of one session may have been assigned
// by different ones.
func (rd *reading) carries(rec *convention.Record, id Ident) {
	if priority(id.Source, nil) == len(defaultIDKeys) {
		rd.source = id.Source // configured, of the resource, or none
		return
	}
	if rd.source == "" {
		rd.source = id.Source
	}
	for _, k := range defaultIDKeys[:priority(rd.source, nil)] {
		if idAt(rec.Attributes, k) == id.ID {
			rd.source = k
			return
		}
	}
}

func (rd *reading) add(e convention.Event, row *schema.Span) {
	it := item{event: e, meta: e.Info(), row: row, order: len(rd.items), scope: e.Info().Convention + "/" + row.ScopeName}
	if it.witness = it.meta.Witness; it.witness == "" {
		it.witness = row.Signal + "/" + row.ScopeName + "/" + row.Name
	}
	rd.items = append(rd.items, it)
}

// identify picks what the best convention that read anything says of its harness: the most telling of its identities.
func (rd *reading) identify(ranks map[string]int, best int) {
	for i := range rd.items {
		id, ok := rd.items[i].event.(*convention.Identity)
		if !ok || ranks[id.Convention] != best {
			continue
		}
		if len(id.Harness) > len(rd.harness.Harness) || id.Harness == rd.harness.Harness && id.Version > rd.harness.Version {
			rd.harness = *id
		}
	}
}

// parentOf is the span above; ok is false at a root and at a parent that is not in the session.
func (rd *reading) parentOf(s spanID) (spanID, bool) {
	i, ok := rd.spans[s]
	if !ok || rd.rows[i].ParentSpanID == "" {
		return spanID{}, false
	}
	return spanID{s.trace, rd.rows[i].ParentSpanID}, true
}

// up yields a span and those above it until yield says stop.
func (rd *reading) up(s spanID, yield func(spanID) bool) {
	for range maxAncestors {
		if s.span == "" || !yield(s) {
			return
		}
		p, ok := rd.parentOf(s)
		if !ok {
			return
		}
		s = p
	}
}

func (it *item) span() spanID { return spanID{it.row.TraceID, it.row.SpanID} }

// agentAbove is the nearest agent span at or above s.
func (rd *reading) agentAbove(s spanID, self bool) (at spanID, found bool) {
	first := true
	rd.up(s, func(u spanID) bool {
		skip := first && !self
		first = false
		if _, ok := rd.agents[u]; ok && !skip {
			at, found = u, true
			return false
		}
		return true
	})
	return at, found
}

// maxAgentDepth bounds how deep agents start agents.
const maxAgentDepth = 64

// resolveAgents gives every event its agent. An agent below another that makes model calls of its own is nested; an agent
// span that only wraps others is no agent above them.
func (rd *reading) resolveAgents() {
	var order []spanID
	for i := range rd.items {
		it := &rd.items[i]
		if _, ok := it.event.(*convention.AgentStart); ok && it.row.SpanID != "" && it.row.Signal != "log" {
			if _, seen := rd.agents[it.span()]; !seen {
				order = append(order, it.span())
			}
			rd.agents[it.span()] = agentSpan{name: it.meta.Agent, at: it.meta.At}
		}
	}
	for i := range rd.items {
		it := &rd.items[i]
		if u, ok := it.event.(*convention.Usage); ok && !u.Total {
			if s, ok := rd.agentAbove(it.span(), true); ok {
				a := rd.agents[s]
				a.works = true
				rd.agents[s] = a
			}
		}
	}
	top := map[string]bool{"": true}
	haveMain := false
	for _, s := range order {
		a := rd.agents[s]
		at := s
		for range maxAgentDepth { // parents may be a circle
			up, ok := rd.agentAbove(at, false)
			if !ok {
				break
			}
			if rd.agents[up].works {
				a.nested = true
				break
			}
			at = up
		}
		rd.agents[s] = a
		if !a.nested {
			top[a.name] = true
			if (!haveMain || rd.main == "") && (a.works || a.name != "") {
				rd.main, haveMain = a.name, true
			}
		}
	}
	if !haveMain {
		rd.main = rd.firstAgent()
		top[rd.main] = true
	}
	for i := range rd.items {
		it := &rd.items[i]
		it.agent = it.meta.Agent
		if s, ok := rd.agentAbove(it.span(), true); ok {
			a := rd.agents[s]
			if it.agent == "" {
				it.agent = a.name
			}
			it.nested = a.nested
		} else {
			it.nested = !top[it.agent]
		}
		if it.agent == "" {
			it.agent = rd.main
		}
	}
}

// firstAgent is the name that the earliest event gives; events without a name belong to the main agent, which has none then.
func (rd *reading) firstAgent() string {
	for i := range rd.items {
		switch rd.items[i].event.(type) {
		case *convention.Identity, *convention.ToolDefinition, *convention.ToolServer, *convention.AgentStart, *convention.AgentEnd:
			continue
		}
		return rd.items[i].meta.Agent
	}
	return ""
}
