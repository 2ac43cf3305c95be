package session

import (
	"sort"

	"github.com/tracejury/tracejury/pipeline/convention"
	"github.com/tracejury/tracejury/pipeline/otlp"
	"github.com/tracejury/tracejury/schema"
)

// maxAncestors bounds each walk to the root, which untrusted parent ids may make a circle or a chain as long as the trace. Agents
// nest some dozens of spans deep.
const maxAncestors = 512

// Assign gives every row of one trace its session: its own id, else that of its nearest ancestor, else that of the trace's
// majority (ties: the smallest key), else the turn that its calls belong to ([SourceTurn]), else the trace itself. All rows of
// the trace must be passed, in stored form. Rows without a trace id stand alone: their own id, else the day of their service. The
// result is a pure function of the set.
func Assign(tenant string, rows []*schema.Span, extraIDKeys []string) []Ident {
	own := make([]Candidate, len(rows))
	for i, r := range rows {
		own[i] = CandidateOf(r, extraIDKeys)
	}
	return AssignCandidates(tenant, rows, own, extraIDKeys)
}

// Candidate is the session id that a record carries itself, and the attribute that carries it. The zero value is none.
type Candidate struct{ ID, Source string }

// CandidateOf finds the session id that a stored row carries.
func CandidateOf(r *schema.Span, extraIDKeys []string) Candidate {
	attrs, _ := otlp.ParseAttributes(r.Attributes)
	resource, _ := otlp.ParseAttributes(r.Resource)
	if id, source, ok := CandidateID(attrs, resource, extraIDKeys); ok {
		return Candidate{id, source}
	}
	if r.TraceID == "" || !mayHoldCallID(r) {
		return Candidate{}
	}
	rec, _ := convention.Parse(r)
	return CandidateIn(rec, extraIDKeys)
}

// AssignCandidates is [Assign] for a caller that knows what each row carries. Of a row it reads signal, service, the three
// ids and the start only.
func AssignCandidates(tenant string, rows []*schema.Span, own []Candidate, extraIDKeys []string) []Ident {
	out := make([]Ident, len(rows))
	a := assigner{tenant: tenant, rows: rows, extra: extraIDKeys, own: make([]carried, len(rows))}
	for i, c := range own {
		if c.ID != "" && c.Source != SourceTurn {
			a.own[i] = carried{c.ID, c.Source, rows[i].Service}
		}
	}
	a.index()
	a.unify()
	majority, any := a.majority()
	if turn, ok := a.turn(own); ok && !any {
		majority, any = turn.ident(tenant), true
	}
	for i, r := range rows {
		switch {
		case a.own[i].id != "":
			out[i] = a.own[i].ident(tenant)
		case r.TraceID == "":
			out[i] = ident(tenant, r.Service, "untraced-"+day(r.StartedUnixNano), SourceNone)
		default:
			if up, ok := a.inherited(r); ok {
				out[i] = up.ident(tenant)
			} else if any {
				out[i] = majority
			} else {
				out[i] = ident(tenant, "", r.TraceID, SourceTrace)
			}
		}
	}
	return out
}

// carried is a session id as one record carries it.
type carried struct{ id, source, service string }

func (c carried) ident(tenant string) Ident { return ident(tenant, c.service, c.id, c.source) }

type assigner struct {
	tenant string
	rows   []*schema.Span
	extra  []string
	own    []carried
	parent map[string]string  // span id to parent's
	spans  map[string]carried // span id to the id that a record of this span carries
	depth  map[string]int
}

// index maps spans to parents. Of several rows with one span id the smallest parent counts, so that order does not.
func (a *assigner) index() {
	a.parent = make(map[string]string, len(a.rows))
	for _, r := range a.rows {
		if r.SpanID == "" || r.TraceID == "" || r.Signal == "log" {
			continue
		}
		if p, seen := a.parent[r.SpanID]; !seen || r.ParentSpanID < p {
			a.parent[r.SpanID] = r.ParentSpanID
		}
	}
	a.depth = make(map[string]int, len(a.parent))
	for _, r := range a.rows {
		a.findDepth(r.SpanID)
	}
}

// findDepth notes how far below a root a span and those above it lie. A circle has no root: whatever leads into one lies at
// maxAncestors.
func (a *assigner) findDepth(span string) {
	if _, ok := a.depth[span]; ok || span == "" {
		return
	}
	var path []string
	onPath := map[string]bool{}
	depth := -1 // of what lies above the path
	for span != "" {
		if known, ok := a.depth[span]; ok {
			depth = known
			break
		}
		if onPath[span] {
			depth = maxAncestors
			break
		}
		path = append(path, span)
		onPath[span] = true
		span = a.parent[span]
	}
	for i := len(path) - 1; i >= 0; i-- {
		depth = min(depth+1, maxAncestors)
		a.depth[path[i]] = depth
	}
}

// unify makes one identity of an id that several services carry in this trace: the service nearest to the root owns it, and
// the best key that carried it is its source. Then it records what each span carries.
func (a *assigner) unify() {
	type claim struct {
		depth   int
		service string
		source  string
	}
	best := map[string]claim{}
	for i, c := range a.own {
		r := a.rows[i]
		if c.id == "" || r.TraceID == "" {
			continue
		}
		d := a.depth[r.SpanID]
		if r.SpanID == "" {
			d = maxAncestors
		}
		b, seen := best[c.id]
		if !seen {
			best[c.id] = claim{d, c.service, c.source}
			continue
		}
		if d < b.depth || d == b.depth && c.service < b.service {
			b.depth, b.service = d, c.service
		}
		if pc, pb := priority(c.source, a.extra), priority(b.source, a.extra); pc < pb || pc == pb && c.source < b.source {
			b.source = c.source
		}
		best[c.id] = b
	}
	a.spans = map[string]carried{}
	for i, r := range a.rows {
		if a.own[i].id == "" || r.TraceID == "" {
			continue
		}
		b := best[a.own[i].id]
		a.own[i].service, a.own[i].source = b.service, b.source
		if r.SpanID == "" {
			continue
		}
		// A span's own attribute outweighs that of a log inside it; among equals the smallest key counts.
		if was, ok := a.spans[r.SpanID]; !ok || a.own[i].ident(a.tenant).Key < was.ident(a.tenant).Key {
			a.spans[r.SpanID] = a.own[i]
		}
	}
}

// inherited is the id of the nearest span above r that has one. A log's nearest span is the one it was written in.
func (a *assigner) inherited(r *schema.Span) (carried, bool) {
	span := r.SpanID
	for range maxAncestors {
		if span == "" {
			return carried{}, false
		}
		if c, ok := a.spans[span]; ok {
			return c, true
		}
		p, ok := a.parent[span]
		if !ok && span == r.SpanID {
			p = r.ParentSpanID
		}
		span = p
	}
	return carried{}, false
}

// majority is the identity that most rows carry.
func (a *assigner) majority() (Ident, bool) {
	count := map[Ident]int{}
	for i, c := range a.own {
		if c.id != "" && a.rows[i].TraceID != "" {
			count[c.ident(a.tenant)]++
		}
	}
	all := make([]Ident, 0, len(count))
	for id := range count {
		all = append(all, id)
	}
	if len(all) == 0 {
		return Ident{}, false
	}
	sort.Slice(all, func(i, j int) bool {
		if count[all[i]] != count[all[j]] {
			return count[all[i]] > count[all[j]]
		}
		return all[i].Key < all[j].Key
	})
	return all[0], true
}
