package session

import (
	"cmp"
	"slices"

	"github.com/tracejury/tracejury/pipeline/convention"
	"github.com/tracejury/tracejury/schema"
)

// historyWitness begins the witness of one model input, which tells of everything in it exactly as often as it happened.
const historyWitness = "history\x00"

// builder derives one session.
type builder struct {
	id     Ident
	tenant string
	opts   Options
	dt     string
	extent *Extent       // of all records
	kept   []schema.Span // those that the session is derived from
	rd     *reading

	nodes    []*node
	byText   map[textKey][]*node
	byPrefix map[string][]*node
	seen     counter
	said     textCounter

	all    []*call
	byID   map[string][]*call
	byArgs map[string][]*call
	ofRow  map[*schema.Span]*call
	ofSpan map[spanID]*call

	answers    []answer
	past       []*node // what the first model call was told before its prompt
	opened     bool
	tails      map[spanID][]*node // what a model call was sent last
	openings   map[*node][]opening
	timeline   []*node
	catalogues []*node           // of the timeline
	serverOf   map[string]string // MCP server of a tool, by the name that was called
	warnings   map[string]int
	unknown    []string // tools that seem to load skills and are not known
}

// unit is what one record or one model call's input tells, taken together and in time.
type unit struct {
	at      int64
	order   int
	history bool
	summary bool
	delta   bool
	key     string
	items   []*item
}

// opening is a model call that answered a prompt: the next call with the same input, after it and in another trace, is the
// same words said again.
type opening struct {
	trace  string
	end    int64
	system string
}

// answer is a tool result that a later model input told.
type answer struct {
	it      *item
	result  *convention.ToolResult
	call    *call // nil: look it up by id
	witness string
}

// tell turns the events of messages into nodes, those told where they happened and those repeated in histories, without
// telling anything twice.
func (b *builder) tell() {
	b.byText, b.byPrefix, b.seen, b.said = map[textKey][]*node{}, map[string][]*node{}, counter{}, textCounter{}
	b.byID, b.byArgs = map[string][]*call{}, map[string][]*call{}
	b.ofRow, b.ofSpan = map[*schema.Span]*call{}, map[spanID]*call{}
	b.tails, b.openings = map[spanID][]*node{}, map[*node][]opening{}
	units := b.units()
	answered := map[spanID]bool{}
	for _, u := range units {
		if !u.history && !u.summary {
			answered[u.items[0].span()] = true
		}
	}
	for _, u := range units {
		switch {
		case u.summary:
		case u.history:
			b.history(u, answered)
		default:
			b.output(u)
		}
	}
	told := b.toldBelow(units)
	for _, u := range units {
		if u.summary {
			b.summary(u, told)
		}
	}
}

// units groups the events of messages.
func (b *builder) units() []*unit {
	byKey := map[string]*unit{}
	var units []*unit
	for i := range b.rd.items {
		it := &b.rd.items[i]
		h, ok := historyOf(it.event)
		if !ok {
			continue
		}
		u := &unit{history: h.Origin == convention.OriginHistory, summary: it.meta.Summary, delta: h.Delta}
		u.key = it.scope + "\x00" + it.row.TraceID + "\x00" + it.row.RecordSHA256
		switch {
		case u.history && h.Position < 0: // one input told by several records
			u.key = it.scope + "\x00" + it.row.TraceID + "\x00" + h.Call + "\x00history"
		case u.history:
			u.key += "\x00" + h.Call + "\x00history"
		}
		if u.summary {
			u.key += "\x00summary"
		}
		known, seen := byKey[u.key]
		if !seen {
			u.at, u.order = it.meta.At, it.order
			byKey[u.key] = u
			units = append(units, u)
			known = u
		}
		if it.meta.At != 0 && (known.at == 0 || it.meta.At < known.at) {
			known.at = it.meta.At
		}
		known.items = append(known.items, it)
	}
	for _, u := range units {
		slices.SortStableFunc(u.items, func(x, y *item) int {
			hx, _ := historyOf(x.event)
			hy, _ := historyOf(y.event)
			if !u.history {
				return cmp.Compare(x.order, y.order)
			}
			return cmp.Or(cmp.Compare(hx.Position, hy.Position), cmp.Compare(x.meta.At, y.meta.At), cmp.Compare(roleRank(x.event), roleRank(y.event)), cmp.Compare(x.order, y.order))
		})
	}
	slices.SortStableFunc(units, func(x, y *unit) int {
		return cmp.Or(cmp.Compare(x.at, y.at), boolFirst(x.history, y.history), cmp.Compare(x.order, y.order))
	})
	return units
}

func boolFirst(x, y bool) int {
	switch {
	case x && !y:
		return -1
	case y && !x:
		return 1
	}
	return 0
}

// roleRank orders messages of one input that carry no position and one time: instructions, then the user.
func roleRank(e convention.Event) int {
	switch e.(type) {
	case *convention.System:
		return 0
	case *convention.Prompt:
		return 1
	}
	return 2
}

// historyOf is the origin of a message event; ok is false for events that are no messages of a model or user.
func historyOf(e convention.Event) (convention.History, bool) {
	switch e := e.(type) {
	case *convention.Prompt:
		return e.History, true
	case *convention.System:
		return e.History, true
	case *convention.Message:
		return e.History, true
	case *convention.Reasoning:
		return e.History, true
	case *convention.ToolCall:
		return e.History, e.Source == convention.SourceRequest
	case *convention.ToolResult:
		return e.History, e.Source == convention.SourceAnswer
	}
	return convention.History{}, false
}

// history takes a model call's input: what is known at its place stays, what is new is inserted before the call's answer.
func (b *builder) history(u *unit, answered map[spanID]bool) {
	witness := historyWitness + u.key
	if u.delta {
		witness = "delta\x00" + u.items[0].scope + "\x00" + u.items[0].agent
	}
	system := ""
	c := chain{}
	var pending []*call
	var said []*node
	for i, it := range u.items {
		var n *node
		switch e := it.event.(type) {
		case *convention.System:
			system += e.Text
			n = b.message(it, kindSystem, e.Text, e.Truncated, false, witness)
		case *convention.Prompt:
			if i == len(u.items)-1 && !u.delta {
				n = b.trailingPrompt(it, e, u, witness, system, answered)
			} else {
				n = b.message(it, kindPrompt, e.Text, e.Truncated, e.Redacted, witness)
			}
			n.group = u.key
		case *convention.Message:
			n = b.message(it, kindMessage, e.Text, e.Truncated, e.Redacted, witness)
		case *convention.Reasoning:
			n = b.message(it, kindReasoning, e.Text, e.Truncated, false, witness)
		case *convention.ToolCall:
			call := b.requested(it, e, witness)
			pending = append(pending, call)
			n = call.node
		case *convention.ToolResult:
			a := answer{it: it, result: e, witness: witness}
			if e.CallID == "" {
				a.call, pending = takePending(pending, e.Tool)
			} else {
				a.call, pending = takePendingID(pending, e.CallID)
			}
			b.answers = append(b.answers, a)
			if a.call != nil {
				n = a.call.result
			}
		}
		if n != nil {
			c.add(n)
		}
		said = append(said, n)
	}
	b.opens(u, said)
	first := u.items[0]
	b.tails[first.span()] = append(b.tails[first.span()], c.tail()...)
}

// trailingPrompt is the prompt that a call was made for. The same words answered before, in another trace, were said again.
func (b *builder) trailingPrompt(it *item, e *convention.Prompt, u *unit, witness, system string, answered map[spanID]bool) *node {
	known := b.byText[nodeKey(kindPrompt, e.Text)]
	isCall := it.row.TraceID != "" && it.row.SpanID != "" && answered[it.span()]
	if isCall && len(known) > 0 {
		n := known[len(known)-1]
		for _, o := range b.openings[n] {
			if o.trace != it.row.TraceID && o.end <= u.at && o.system == system && b.said[witness][nodeKey(kindPrompt, e.Text)] < len(known) {
				n = b.newMessage(it, kindPrompt, e.Text, e.Truncated, e.Redacted)
				break
			}
		}
		if n != known[len(known)-1] {
			b.openings[n] = append(b.openings[n], opening{it.row.TraceID, b.endOf(it), system})
			return n
		}
	}
	n := b.message(it, kindPrompt, e.Text, e.Truncated, e.Redacted, witness)
	if isCall {
		b.openings[n] = append(b.openings[n], opening{it.row.TraceID, b.endOf(it), system})
	}
	return n
}

// endOf is when the span ended in which an event was recorded.
func (b *builder) endOf(it *item) int64 {
	end := max(it.row.EndedUnixNano, it.row.StartedUnixNano)
	if i, ok := b.rd.spans[it.span()]; ok {
		end = max(end, b.rd.rows[i].EndedUnixNano)
	}
	return end
}

// takePending pairs a result without id with the first unanswered call of its input, by tool where the result names it.
func takePending(pending []*call, tool string) (*call, []*call) {
	_, tool = convention.SplitMCP(tool)
	for i, c := range pending {
		if tool == "" || c.tool == tool {
			return c, slices.Delete(slices.Clone(pending), i, i+1)
		}
	}
	if len(pending) > 0 {
		return pending[0], slices.Clone(pending[1:])
	}
	return nil, pending
}

// takePendingID pairs a result with the nearest call before it of the same id.
func takePendingID(pending []*call, id string) (*call, []*call) {
	for i := len(pending) - 1; i >= 0; i-- {
		if pending[i].id == id {
			return pending[i], slices.Delete(slices.Clone(pending), i, i+1)
		}
	}
	return nil, pending
}

// output takes what one record says as new.
func (b *builder) output(u *unit) {
	c := chain{}
	for _, n := range b.tails[u.items[0].span()] {
		c.add(n)
	}
	for _, it := range u.items {
		switch e := it.event.(type) {
		case *convention.System:
			c.add(b.message(it, kindSystem, e.Text, e.Truncated, false, it.witness))
		case *convention.Prompt:
			n := b.message(it, kindPrompt, e.Text, e.Truncated, e.Redacted, it.witness)
			n.group = u.key
			c.add(n)
		case *convention.Message:
			n := b.message(it, kindMessage, e.Text, e.Truncated, e.Redacted, it.witness)
			n.responseID = cmp.Or(n.responseID, e.ResponseID)
			c.add(n)
		case *convention.Reasoning:
			c.add(b.message(it, kindReasoning, e.Text, e.Truncated, false, it.witness))
		case *convention.ToolCall:
			c.add(b.requested(it, e, it.witness).node)
		case *convention.ToolResult:
			b.answers = append(b.answers, answer{it: it, result: e, witness: it.witness})
		}
	}
}

// chain links nodes in the order of one telling. Results of calls asked together came in any order, so they are not linked
// to each other.
type chain struct {
	last    *node
	results []*node
}

func (c *chain) add(n *node) {
	if n.kind == kindResult {
		if c.last != nil {
			c.last.precedes(n)
		}
		c.results = append(c.results, n)
		return
	}
	for _, r := range c.results {
		r.precedes(n)
	}
	c.results = nil
	if c.last != nil {
		c.last.precedes(n)
	}
	c.last = n
}

func (c *chain) tail() []*node {
	if len(c.results) > 0 {
		return c.results
	}
	if c.last != nil {
		return []*node{c.last}
	}
	return nil
}
