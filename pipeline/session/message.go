package session

import (
	"github.com/tracejury/tracejury/pipeline/convention"
)

// message is the node of a text: the one that is known, when this witness tells of it no more often than others did, else a
// new one.
func (b *builder) message(it *item, k kind, text string, truncated, redacted bool, witness string) *node {
	key := nodeKey(k, text)
	if n := b.sameTelling(it, key); n != nil {
		return b.merge(n, it, text, truncated)
	}
	nth := b.said.next(witness, key)
	if known := b.byText[key]; nth <= len(known) {
		return b.merge(known[nth-1], it, text, truncated)
	}
	if n := b.cutVersion(k, text, truncated); n != nil && nth == 1 {
		return b.merge(n, it, text, truncated)
	}
	return b.newMessage(it, k, text, truncated, redacted)
}

// sameTelling is the node of a text that a record told again: the same words of the same response, or of the same span within
// the window in which one model call is told twice.
func (b *builder) sameTelling(it *item, key textKey) *node {
	h, ok := historyOf(it.event)
	if !ok || h.Origin != convention.OriginNew || it.meta.Summary {
		return nil
	}
	response := ""
	if m, ok := it.event.(*convention.Message); ok {
		response = m.ResponseID
	}
	for _, n := range b.byText[key] {
		if response != "" && n.responseID == response {
			return n
		}
		if n.told && n.record != it.row && it.row.SpanID != "" && n.span == it.span() && max(n.at-it.meta.At, it.meta.At-n.at) <= sameCallWindow {
			return n
		}
	}
	return nil
}

// cutVersion is the node of which text is a shortened form, or the other way round.
func (b *builder) cutVersion(k kind, text string, truncated bool) *node {
	p := prefixKey(k, text)
	if p == "" {
		return nil
	}
	for _, n := range b.byPrefix[p] {
		if n.truncated != truncated {
			return n
		}
	}
	return nil
}

func (b *builder) newMessage(it *item, k kind, text string, truncated, redacted bool) *node {
	n := b.node(it, k)
	n.text, n.truncated, n.redacted = text, truncated, redacted
	b.byText[nodeKey(k, text)] = append(b.byText[nodeKey(k, text)], n)
	if p := prefixKey(k, text); p != "" {
		b.byPrefix[p] = append(b.byPrefix[p], n)
	}
	return n
}

// node makes a node where it happened.
func (b *builder) node(it *item, k kind) *node {
	h, isMessage := historyOf(it.event)
	n := &node{kind: k, agent: it.agent, nested: it.nested, turn: it.meta.Turn, at: it.meta.At, order: it.order, span: it.span(), record: it.row,
		told: !isMessage || h.Origin == convention.OriginNew && !it.meta.Summary}
	b.nodes = append(b.nodes, n)
	return n
}

// merge adds what another witness knows. Where it happened outweighs where it was repeated; of equals the earlier counts.
func (b *builder) merge(n *node, it *item, text string, truncated bool) *node {
	h, _ := historyOf(it.event)
	told := h.Origin == convention.OriginNew && !it.meta.Summary
	at := it.meta.At
	switch {
	case told && !n.told:
		if at != 0 {
			n.at = at
		}
		n.told, n.order, n.span, n.record, n.agent, n.nested = true, it.order, it.span(), it.row, it.agent, it.nested
	case told == n.told && at != 0 && (n.at == 0 || at < n.at):
		n.at, n.order = at, it.order
	}
	if n.truncated && !truncated {
		n.text, n.truncated = text, false
	}
	if n.turn == "" {
		n.turn = it.meta.Turn
	}
	return n
}

// toldBelow says, for every summary, what the records below it tell themselves.
func (b *builder) toldBelow(units []*unit) map[spanID][5]bool {
	told := map[spanID][5]bool{}
	orphans := map[string][5]bool{} // told below spans whose parents are missing, by trace
	for _, u := range units {
		if u.summary {
			continue
		}
		var kinds [5]bool
		for _, it := range u.items {
			kinds[summaryKind(it.event)] = true
		}
		root := spanID{}
		b.rd.up(u.items[0].span(), func(s spanID) bool {
			told[s] = union(told[s], kinds)
			root = s
			return true
		})
		if i, ok := b.rd.spans[root]; !ok || b.rd.rows[i].ParentSpanID != "" {
			t := u.items[0].row.TraceID
			orphans[t] = union(orphans[t], kinds)
		}
	}
	for _, u := range units {
		if s := u.items[0].span(); u.summary {
			told[s] = union(told[s], orphans[s.trace])
		}
	}
	return told
}

func union(a, b [5]bool) [5]bool {
	for i := range a {
		a[i] = a[i] || b[i]
	}
	return a
}

func summaryKind(e convention.Event) int {
	switch e.(type) {
	case *convention.Prompt:
		return 0
	case *convention.Message:
		return 1
	case *convention.ToolCall, *convention.ToolResult:
		return 2
	case *convention.System:
		return 3
	}
	return 4
}

// summary takes what an agent's span repeats, where nothing below tells of that kind; known texts are merged either way.
func (b *builder) summary(u *unit, told map[spanID][5]bool) {
	below := told[u.items[0].span()]
	witness := "summary\x00" + u.items[0].witness
	if u.history {
		witness = historyWitness + u.key
	}
	var prompts []*node
	for _, it := range u.items {
		known := below[summaryKind(it.event)]
		switch e := it.event.(type) {
		case *convention.System:
			if !known {
				b.message(it, kindSystem, e.Text, e.Truncated, false, witness)
			}
		case *convention.Prompt:
			if !known {
				n := b.message(it, kindPrompt, e.Text, e.Truncated, e.Redacted, witness)
				n.group = u.key
				prompts = append(prompts, n)
			}
		case *convention.Message:
			if !known {
				n := b.message(it, kindMessage, e.Text, e.Truncated, e.Redacted, witness)
				for _, p := range prompts {
					p.precedes(n)
				}
			}
		case *convention.ToolCall:
			if !known || e.CallID != "" && len(b.byID[e.CallID]) == 0 {
				b.requested(it, e, witness)
			}
		case *convention.ToolResult:
			if !known {
				b.answers = append(b.answers, answer{it: it, result: e, witness: witness})
			}
		}
	}
}
