package session

// The input of a model call repeats what was said before. Where no attribute carries a session's id, each trace or turn is a
// session of its own, and the past in its first call's input was the doing of others, or examples in a prompt. It is kept, for
// without it the session cannot be understood, and marked, for it is not to be graded again here. Under an id the past is the
// session's own, whose records were lost or lie in no archive.

// opens notes the first model call's input: what stands in it before the prompt that it was made for.
func (b *builder) opens(u *unit, told []*node) {
	if own := b.id.Source != SourceTrace && b.id.Source != SourceTurn; own || b.opened || u.delta || u.items[0].nested {
		return
	}
	b.opened = true
	last := -1
	for i, n := range told {
		if n != nil && n.kind == kindPrompt {
			last = i
		}
	}
	for i := 0; i < last; i++ {
		if n := told[i]; n != nil && n.kind != kindSystem {
			b.past = append(b.past, n)
		}
	}
}

// earlier marks the past: nodes that nothing but inputs tell of. Prompts alone are no past: they are one turn's.
func (b *builder) earlier() {
	answered := false
	for _, n := range b.past {
		switch n.kind {
		case kindMessage, kindReasoning:
			answered = answered || !n.told
		case kindCall:
			answered = answered || onlyRepeated(n)
		}
	}
	if !answered {
		return
	}
	marked := 0
	mark := func(n *node) {
		if !n.earlier {
			n.earlier = true
			marked++
		}
	}
	for _, n := range b.past {
		if !onlyRepeated(n) {
			continue
		}
		mark(n)
		if n.kind == kindCall && n.call.result != nil {
			mark(n.call.result)
		}
	}
	if marked > 0 {
		b.warnings["earlier_conversation"] = marked
	}
}

// onlyRepeated says whether no record tells of a node where it happened.
func onlyRepeated(n *node) bool {
	if n.call != nil {
		return !n.call.executed && !n.call.node.told
	}
	return !n.told
}
