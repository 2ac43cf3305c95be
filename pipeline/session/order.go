package session

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/tracejury/tracejury/pipeline/convention"
)

// order puts the nodes into the sequence in which things happened: the harness's own sequence and cause before effect where
// they are known, time between what they leave open.
func (b *builder) order() {
	b.others()
	b.sequences()
	b.responses()
	b.subAgents()
	b.earlier()
	b.timeline = sorted(b.nodes)
	for i, n := range b.timeline {
		n.place = i
		if n.kind == kindCatalogue {
			b.catalogues = append(b.catalogues, n)
		}
	}
}

// others makes nodes of what is no message: failures and catalogues.
func (b *builder) others() {
	failures := map[string]bool{}
	for i := range b.rd.items {
		it := &b.rd.items[i]
		switch e := it.event.(type) {
		case *convention.Failure:
			key := it.row.TraceID + "\x00" + e.Text
			if failures[key] { // errors climb the spans above them
				continue
			}
			failures[key] = true
			n := b.node(it, kindFailure)
			n.text = e.Text
			if n.text == "" {
				n.text = e.Type
			}
		case *convention.Catalogue:
			if it.meta.Summary {
				continue
			}
			n := b.node(it, kindCatalogue)
			n.catalogue = e.Skills
		case *convention.ToolDefinition:
			if !isSkillTool(e.Tool) {
				continue
			}
			if skills, ok := convention.CatalogueIn(e.Description); ok {
				n := b.node(it, kindCatalogue)
				n.catalogue = skills
			}
		}
	}
	for _, n := range slices.Clone(b.nodes) {
		switch n.kind {
		case kindSystem:
			if skills, ok := convention.CatalogueIn(n.text); ok {
				b.catalogueAfter(n, skills)
			}
		case kindResult:
			if isDiscovery(n.call.tool) {
				if skills, ok := catalogueResult(n.call.text()); ok {
					b.catalogueAfter(n, skills)
				}
			}
		}
	}
	b.summaryCatalogue()
}

// summaryCatalogue believes a mere list of names where nothing else tells what was offered.
func (b *builder) summaryCatalogue() {
	for _, n := range b.nodes {
		if n.kind == kindCatalogue {
			return
		}
	}
	for i := range b.rd.items {
		it := &b.rd.items[i]
		if e, ok := it.event.(*convention.Catalogue); ok && it.meta.Summary {
			n := b.node(it, kindCatalogue)
			n.catalogue = e.Skills
		}
	}
}

func (b *builder) catalogueAfter(n *node, skills []convention.CatalogueSkill) {
	c := &node{kind: kindCatalogue, catalogue: skills, agent: n.agent, nested: n.nested, turn: n.turn, at: n.at, order: n.order, sub: n.sub + 1, span: n.span}
	c.after = n.after // what follows the text follows the catalogue in it
	n.after = nil
	n.precedes(c)
	b.nodes = append(b.nodes, c)
}

// sequences links nodes told by records that the harness numbered.
func (b *builder) sequences() {
	type numbered struct {
		n  *node
		at int64
	}
	bySequence := map[string][]numbered{}
	first := map[int]*node{}
	asked := map[string]bool{}
	for _, n := range b.nodes {
		if n.kind == kindCall && n.responseID != "" {
			asked[n.responseID] = true
		}
	}
	for _, n := range b.nodes {
		if n.kind == kindMessage && asked[n.responseID] {
			continue // told late; its response puts it in its place
		}
		if n.kind == kindResult && n.order == n.call.node.order {
			continue
		}
		if first[n.order] == nil {
			first[n.order] = n
		}
	}
	for i := range b.rd.items {
		it := &b.rd.items[i]
		n := first[it.order]
		if n == nil || it.meta.Sequence == 0 {
			continue
		}
		k := it.meta.SequenceOf
		bySequence[k] = append(bySequence[k], numbered{n, it.meta.Sequence})
	}
	for _, list := range bySequence {
		slices.SortStableFunc(list, func(x, y numbered) int { return cmp.Compare(x.at, y.at) })
		for i := 1; i < len(list); i++ {
			if list[i-1].n.order != list[i].n.order {
				list[i-1].n.precedes(list[i].n)
			}
		}
	}
}

// responses puts the text of a model response before the calls that it asked for.
func (b *builder) responses() {
	texts := map[string][]*node{}
	for _, n := range b.nodes {
		if n.kind == kindMessage && n.responseID != "" {
			texts[n.responseID] = append(texts[n.responseID], n)
		}
	}
	for _, n := range b.nodes {
		if n.kind == kindCall && n.responseID != "" {
			for _, t := range texts[n.responseID] {
				t.precedes(n)
			}
		}
	}
}

// subAgents puts what a sub-agent did between the call that started it and that call's result.
func (b *builder) subAgents() {
	for _, n := range b.nodes {
		if !n.nested {
			continue
		}
		own := n.call
		b.rd.up(n.span, func(s spanID) bool {
			c, ok := b.ofSpan[s]
			if !ok || c == own {
				return true
			}
			c.node.precedes(n)
			n.precedes(c.result)
			return false
		})
	}
}

// sorted orders nodes so that each comes after those that precede it, and by time among those that may come next. A circle
// (clocks and causes that disagree) is broken at its earliest node.
func sorted(nodes []*node) []*node {
	waits := make(map[*node]int, len(nodes))
	for _, n := range nodes {
		waits[n] = 0
	}
	for _, n := range nodes {
		for _, m := range n.after {
			waits[m]++
		}
	}
	ready := make(nodeHeap, 0, len(nodes))
	rest := slices.Clone(nodes)
	slices.SortFunc(rest, earlier)
	done := make(map[*node]bool, len(nodes))
	for _, n := range rest {
		if waits[n] == 0 {
			ready = append(ready, n)
		}
	}
	heap.Init(&ready)
	out := make([]*node, 0, len(nodes))
	next := 0
	for len(out) < len(nodes) {
		var n *node
		if len(ready) > 0 {
			n = heap.Pop(&ready).(*node)
		} else {
			for done[rest[next]] {
				next++
			}
			n = rest[next]
		}
		if done[n] {
			continue
		}
		done[n] = true
		out = append(out, n)
		for _, m := range n.after {
			if waits[m]--; waits[m] == 0 && !done[m] {
				heap.Push(&ready, m)
			}
		}
	}
	return out
}

func earlier(a, b *node) int {
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.order, b.order), cmp.Compare(a.sub, b.sub), cmp.Compare(a.kind, b.kind), cmp.Compare(a.text, b.text))
}

type nodeHeap []*node

func (h nodeHeap) Len() int           { return len(h) }
func (h nodeHeap) Less(i, j int) bool { return earlier(h[i], h[j]) < 0 }
func (h nodeHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *nodeHeap) Push(x any)        { *h = append(*h, x.(*node)) }
func (h *nodeHeap) Pop() any {
	old := *h
	n := old[len(old)-1]
	*h = old[:len(old)-1]
	return n
}
