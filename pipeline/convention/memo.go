package convention

import (
	"strings"

	"github.com/tracejury/tracejury/pipeline/otlp"
)

// Memo remembers the message lists that were read last, so that a history that repeats an earlier one is read from where it
// goes on. What is read is the same with it and without. It serves one reader at a time; the zero value is ready, and a nil one
// remembers nothing.
type Memo struct {
	lists  []*memoList           // the latest last
	claude map[string]claudeRead // messages of the Messages API, by their text
}

const (
	memoLists = 8       // conversations that may take turns
	memoBytes = 2 << 10 // shorter texts are read faster than compared
)

// memoList is the text of a list, where each element of it ends, and the messages that each holds.
type memoList struct {
	text  string
	ends  []int
	parts [][]message
	n     int // messages
}

// parseMessages is the package's parseMessages, with a memory.
func (t *teller) parseMessages(v otlp.Value) []message {
	if t.memo != nil && v.Kind() == otlp.KindString {
		if s := strings.TrimSpace(v.Str()); len(s) > memoBytes && len(s) <= maxJSONText && s[0] == '[' {
			if l, end, ok := t.memo.list(s); ok && end == len(s) {
				return l.messages()
			}
		}
	}
	return parseMessages(v)
}

// requestOf is the package's requestOf over the JSON in text, with a memory; ok is false for text that is no JSON.
func (t *teller) requestOf(text string) (x exchange, ok bool) {
	s := strings.TrimSpace(text)
	if t.memo != nil && len(s) > memoBytes && len(s) <= maxJSONText {
		switch s[0] {
		case '[':
			if l, end, ok := t.memo.list(s); ok && end == len(s) {
				return exchange{messages: l.messages()}, true
			}
		case '{':
			if x, ok := t.memo.request(s); ok {
				return x, true
			}
		}
	}
	tr, ok := parseTree(text)
	if !ok {
		return x, false
	}
	return requestOf(tr), true
}

// historyKeys are the members of a request that hold its messages, in the order of requestOf.
var historyKeys = [...]string{"messages", "input", "contents"}

// request reads a request body whose history is a list; ok is false for any other, which is read without memory.
func (m *Memo) request(s string) (x exchange, ok bool) {
	p := jsonParser{s: s, at: 1, depth: 1}
	body := map[string]any{}
	histories := map[string]*memoList{}
	for first := true; ; first = false {
		switch c := p.next(); {
		case c == '}' && !first:
			p.at++
			if p.space(); p.at != len(s) {
				return x, false
			}
			for _, k := range historyKeys {
				if l := histories[k]; l != nil {
					x = requestOf(body)
					x.messages = l.messages()
					return x, true
				}
				if body[k] != nil {
					return x, false
				}
			}
			return x, false
		case !first && c == ',':
			p.at++
		case !first:
			return x, false
		}
		if p.next() != '"' {
			return x, false
		}
		k, ok := p.str()
		if !ok || p.next() != ':' {
			return x, false
		}
		p.at++
		key, _ := k.(string)
		if p.next() == '[' && (key == historyKeys[0] || key == historyKeys[1] || key == historyKeys[2]) && histories[key] == nil && body[key] == nil {
			l, end, ok := m.list(s[p.at:])
			if !ok {
				return x, false
			}
			p.at += end
			histories[key], body[key] = l, []any{}
			continue
		}
		v, ok := p.value()
		if !ok || histories[key] != nil { // a key twice
			return x, false
		}
		body[key] = v
	}
}

// list reads the list at the start of s and tells where it ends.
func (m *Memo) list(s string) (l *memoList, end int, ok bool) {
	known, same, slot := m.nearest(s)
	l = &memoList{}
	p := jsonParser{s: s, at: 1, depth: 2}
	if known != nil {
		k := 0
		for k < len(known.ends) && known.ends[k] <= same && strings.IndexByte(`}]"`, s[known.ends[k]-1]) >= 0 {
			l.n += len(known.parts[k])
			k++
		}
		if k > 0 {
			l.ends, l.parts, p.at = known.ends[:k:k], known.parts[:k:k], known.ends[k-1]
		}
	}
	if p.next() == ']' && len(l.ends) == 0 {
		p.at++
		return l, p.at, true
	}
	for {
		if len(l.ends) > 0 {
			switch p.next() {
			case ',':
				p.at++
			case ']':
				p.at++
				l.text = s[:p.at]
				m.keep(l, slot)
				return l, p.at, true
			default:
				return nil, 0, false
			}
		}
		v, ok := p.value()
		if !ok {
			return nil, 0, false
		}
		msgs := messagesOf([]any{v})
		l.ends, l.parts, l.n = append(l.ends, p.at), append(l.parts, msgs), l.n+len(msgs)
	}
}

// nearest is the list that shares most of its beginning with s, how much that is, and where it is kept if s goes on from it.
func (m *Memo) nearest(s string) (best *memoList, same, slot int) {
	slot = -1
	for i, l := range m.lists {
		if n := commonPrefix(l.text, s); n > same {
			best, same = l, n
			if slot = -1; n >= len(l.text)-1 {
				slot = i
			}
		}
	}
	return best, same, slot
}

// keep remembers l in place of the list that it goes on from, else of the oldest.
func (m *Memo) keep(l *memoList, slot int) {
	if len(l.text) <= memoBytes {
		return
	}
	switch {
	case slot >= 0:
		m.lists = append(m.lists[:slot], m.lists[slot+1:]...)
	case len(m.lists) == memoLists:
		m.lists = append(m.lists[:0], m.lists[1:]...)
	}
	m.lists = append(m.lists, l)
}

// commonPrefix is how many bytes a and b share at their beginning.
func commonPrefix(a, b string) int {
	n := min(len(a), len(b))
	i := 0
	for step := 4096; step > 0; {
		if i+step <= n && a[i:i+step] == b[i:i+step] {
			i += step
			continue
		}
		step /= 8
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

// messages is the list's messages; the slice is the caller's, what it holds is not.
func (l *memoList) messages() []message {
	out := make([]message, 0, l.n)
	for _, p := range l.parts {
		out = append(out, p...)
	}
	return out
}
