package otlp

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// maxCanonicalDepth bounds the recursion of the parsers. Decoders store nothing deeper than their own limit.
const maxCanonicalDepth = 1000

var errCanonical = errors.New("not the canonical JSON form")

// ParseAttributes is the inverse of AppendAttributes. The result does not alias s.
func ParseAttributes(s string) ([]KeyValue, error) { return new(Parser).Attributes(s) }

// ParseValue is the inverse of AppendValue. The result does not alias s.
func ParseValue(s string) (Value, error) { return new(Parser).Value(s) }

// ParseEvents is the inverse of AppendEvents. The result does not alias s.
func ParseEvents(s string) ([]SpanEvent, error) { return new(Parser).Events(s) }

// Parser reads the canonical form of one record after the other with the same buffers, which no result aliases. The zero value
// is ready. It is not safe for concurrent use.
type Parser struct{ canonicalParser }

// Attributes is ParseAttributes.
func (p *Parser) Attributes(s string) ([]KeyValue, error) {
	p.start(s)
	if p.peek() != '{' {
		return nil, fmt.Errorf("parsing attributes at byte %d: %w", p.pos, errCanonical)
	}
	kvs, ok := p.members(0)
	return kvs, p.err("attributes", ok)
}

// Value is ParseValue.
func (p *Parser) Value(s string) (Value, error) {
	p.start(s)
	v, ok := p.value(0)
	return v, p.err("a value", ok)
}

// Events is ParseEvents.
func (p *Parser) Events(s string) ([]SpanEvent, error) {
	p.start(s)
	var list []SpanEvent
	if !p.open('[') {
		return nil, p.err("events", false)
	}
	for {
		more, ok := p.element()
		if !ok {
			return nil, p.err("events", false)
		}
		if !more {
			return list, p.err("events", true)
		}
		ev, ok := p.event()
		if !ok {
			return nil, p.err("events", false)
		}
		list = append(list, ev)
	}
}

// canonicalParser reads the canonical form from its own copy of the text, which the values alias.
type canonicalParser struct {
	scanner
	stats Stats
	bytes slab[byte]
	kvs   []KeyValue // of the objects that are open
	list  []Value    // of the arrays that are open
}

// start makes the parser read s, whatever became of the text before.
func (p *canonicalParser) start(s string) {
	p.scanner = scanner{buf: []byte(s), counts: &p.stats, owned: &p.bytes}
	p.kvs, p.list, p.bytes = p.kvs[:0], p.list[:0], slab[byte]{}
}

func (p *canonicalParser) err(what string, ok bool) error {
	if ok && p.peek() == 0 {
		return nil
	}
	at := p.pos
	if p.reason != "" {
		at = p.badAt
	}
	return fmt.Errorf("parsing %s at byte %d: %w", what, at, errCanonical)
}

func (p *canonicalParser) event() (ev SpanEvent, ok bool) {
	if !p.open('{') {
		return ev, false
	}
	for {
		name, more, ok := p.member()
		if !ok || !more {
			return ev, ok
		}
		switch name {
		case "at_unix_nano":
			var tok []byte
			if tok, ok = p.token(); ok {
				ev.TimeUnixNano, ok = parseInt(alias(tok))
			}
		case "attributes":
			ev.Attributes, ok = p.members(0)
		case "name":
			ev.Name, ok = p.quoted()
		default:
			ok = p.skip()
		}
		if !ok {
			return ev, false
		}
	}
}

func (p *canonicalParser) quoted() (string, bool) {
	if p.peek() != '"' {
		return "", p.fail(reasonSyntax)
	}
	return p.str()
}

// members reads an object as attributes; nil if it is empty.
func (p *canonicalParser) members(level int) ([]KeyValue, bool) {
	if level > maxCanonicalDepth || !p.open('{') {
		return nil, false
	}
	mark, sorted := len(p.kvs), true
	for {
		name, more, ok := p.member()
		if !ok {
			return nil, false
		}
		if !more {
			break
		}
		name = strings.TrimPrefix(name, "$")
		v, ok := p.value(level + 1)
		if !ok {
			return nil, false
		}
		if n := len(p.kvs); n > mark && p.kvs[n-1].Key >= name {
			sorted = false
		}
		p.kvs = append(p.kvs, KeyValue{Key: name, Value: v})
	}
	var kvs []KeyValue
	if sorted {
		kvs = append(kvs, p.kvs[mark:]...)
	} else {
		kvs, _ = new(sorter).into(new(slab[KeyValue]), p.kvs[mark:])
	}
	p.kvs = p.kvs[:mark]
	return kvs, true
}

func (p *canonicalParser) value(level int) (Value, bool) {
	switch p.peek() {
	case '"':
		s, ok := p.str()
		return StringValue(s), ok
	case '[':
		return p.array(level)
	case '{':
		if v, is, ok := p.special(); is {
			return v, ok
		}
		kvs, ok := p.members(level)
		return MapValue(kvs), ok
	}
	tok, ok := p.token()
	if !ok {
		return Value{}, false
	}
	v := number(tok)
	if v.kind == KindString { // neither word nor number
		return v, p.fail(reasonSyntax)
	}
	return v, true
}

func (p *canonicalParser) array(level int) (Value, bool) {
	if level > maxCanonicalDepth || !p.open('[') {
		return Value{}, false
	}
	mark := len(p.list)
	for {
		more, ok := p.element()
		if !ok {
			return Value{}, false
		}
		if !more {
			break
		}
		v, ok := p.value(level + 1)
		if !ok {
			return Value{}, false
		}
		p.list = append(p.list, v)
	}
	list := append([]Value(nil), p.list[mark:]...)
	p.list = p.list[:mark]
	return ArrayValue(list), true
}

// special reads {"$bytes":…} and {"$double":…}; is says whether there is one.
func (p *canonicalParser) special() (v Value, is, ok bool) {
	var kind Kind
	switch {
	case p.has(`{"$bytes":"`):
		kind = KindBytes
	case p.has(`{"$double":"`):
		kind = KindDouble
	default:
		return v, false, false
	}
	p.pos--
	p.depth++
	s, ok := p.str()
	if !ok || !p.has(`}`) {
		return v, true, p.fail(reasonSyntax)
	}
	p.depth--
	if kind == KindBytes {
		raw, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			return v, true, p.fail(reasonSyntax)
		}
		return BytesValue(string(raw)), true, true
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !math.IsNaN(f) && !math.IsInf(f, 0) {
		return v, true, p.fail(reasonSyntax)
	}
	return DoubleValue(f), true, true
}
