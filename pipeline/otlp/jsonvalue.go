package otlp

import (
	"encoding/base64"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// anyValue reads an AnyValue, or a plain JSON value in its place.
func (d *Decoder) anyValue(level int) (v Value, ok bool) {
	if d.peek() != '{' {
		return d.plainValue(level)
	}
	if level >= d.limits.MaxDepth {
		return d.asText()
	}
	start, depth, known, unknown := d.pos, d.depth, 0, 0
	if d.has(`{"stringValue":"`) {
		d.pos--
		d.depth++
		s, ok := d.str()
		if !ok {
			return v, false
		}
		v, known = d.stringValue(s), 1
		if d.pos < len(d.buf) && d.buf[d.pos] == '}' {
			d.pos++
			d.depth--
			return v, true
		}
	} else {
		d.pos++
		d.depth++
	}
	for {
		name, more, ok := d.member()
		if !ok {
			return v, false
		}
		if !more {
			break
		}
		kind := oneof(name)
		if kind == KindNull {
			unknown++
			if !d.skip() {
				return v, false
			}
			continue
		}
		if d.null() {
			known++
			continue
		}
		if known++; v.kind != KindNull {
			d.stats.MultipleValues++
		}
		if v, ok = d.oneofValue(kind, level); !ok {
			return v, false
		}
	}
	if known == 0 && unknown > 0 { // not an AnyValue: a map
		d.pos, d.depth = start, depth
		kvs, ok := d.plainMap(level)
		return MapValue(kvs), ok
	}
	return v, true
}

// oneof is the kind that a member of AnyValue holds, KindNull for any other name.
func oneof(name string) Kind {
	switch name {
	case "stringValue", "string_value":
		return KindString
	case "intValue", "int_value":
		return KindInt
	case "boolValue", "bool_value":
		return KindBool
	case "doubleValue", "double_value":
		return KindDouble
	case "arrayValue", "array_value":
		return KindArray
	case "kvlistValue", "kvlist_value":
		return KindMap
	case "bytesValue", "bytes_value":
		return KindBytes
	}
	return KindNull
}

func (d *Decoder) oneofValue(kind Kind, level int) (Value, bool) {
	switch kind {
	case KindArray, KindMap:
		return d.listValue(kind, level)
	case KindString:
		s, ok := d.text()
		return d.stringValue(s), ok
	}
	if c := d.peek(); c == '{' || c == '[' {
		return d.plainValue(level + 1)
	}
	s, ok := d.text()
	if !ok {
		return Value{}, false
	}
	return d.scalar(kind, s), true
}

// scalar makes a value of the given kind of text; text of another kind stays a string.
func (d *Decoder) scalar(kind Kind, s string) Value {
	switch kind {
	case KindInt:
		if i, ok := parseInt(s); ok {
			return IntValue(i)
		}
		if f, err := strconv.ParseFloat(s, 64); err == nil {
			if f == math.Trunc(f) && f >= -1<<63 && f < 1<<63 {
				return IntValue(int64(f))
			}
			return DoubleValue(f)
		}
	case KindDouble:
		if f, err := strconv.ParseFloat(s, 64); err == nil || math.IsInf(f, 0) {
			return DoubleValue(f)
		}
	case KindBool:
		switch s {
		case "true", "True", "TRUE", "1":
			return BoolValue(true)
		case "false", "False", "FALSE", "0":
			return BoolValue(false)
		}
	case KindBytes:
		if raw, ok := decodeBase64(&d.mem.bytes, s); ok {
			return BytesValue(d.limited(raw))
		}
	}
	return d.stringValue(s)
}

// listValue reads arrayValue or kvlistValue: {"values": […]}, or the list without that wrapper.
func (d *Decoder) listValue(kind Kind, level int) (v Value, ok bool) {
	v = Value{kind: kind}
	if d.peek() == '[' {
		return d.valueList(kind, level)
	}
	if d.buf[min(d.pos, len(d.buf)-1)] != '{' {
		return v, d.skip()
	}
	start, depth, unknown := d.pos, d.depth, 0
	d.pos++
	d.depth++
	for {
		name, more, ok := d.member()
		if !ok {
			return v, false
		}
		if !more {
			break
		}
		if name != "values" {
			unknown++
			ok = d.skip()
		} else if d.peek() == '[' {
			unknown = math.MinInt32
			v, ok = d.valueList(kind, level)
		} else {
			ok = d.skip()
		}
		if !ok {
			return v, false
		}
	}
	if kind == KindMap && unknown > 0 {
		d.pos, d.depth = start, depth
		kvs, ok := d.plainMap(level + 1)
		return MapValue(kvs), ok
	}
	return v, true
}

func (d *Decoder) valueList(kind Kind, level int) (Value, bool) {
	if kind == KindMap {
		kvs, ok := d.attributes(level + 1)
		return MapValue(kvs), ok
	}
	return d.array(level, (*Decoder).anyValue)
}

// array reads the array at pos with read for each element.
func (d *Decoder) array(level int, read func(*Decoder, int) (Value, bool)) (Value, bool) {
	if !d.open('[') {
		return Value{}, false
	}
	mark := len(d.values)
	for {
		more, ok := d.element()
		if !ok {
			return Value{}, false
		}
		if !more {
			break
		}
		v, ok := read(d, level+1)
		if !ok {
			return Value{}, false
		}
		d.values = append(d.values, v)
	}
	list := d.mem.values.take(len(d.values) - mark)
	copy(list, d.values[mark:])
	d.values = d.values[:mark]
	return ArrayValue(list), true
}

// plainValue reads a JSON value as what it looks like: whole numbers are ints, objects are maps, except that an object
// whose only member is one of AnyValue's is that AnyValue.
func (d *Decoder) plainValue(level int) (Value, bool) {
	switch d.peek() {
	case '"':
		s, ok := d.str()
		return d.stringValue(s), ok
	case '[':
		if level >= d.limits.MaxDepth {
			return d.asText()
		}
		return d.array(level, (*Decoder).plainValue)
	case '{':
		if level >= d.limits.MaxDepth {
			return d.asText()
		}
		kvs, ok := d.plainMap(level)
		if ok && len(kvs) == 1 {
			if v, is := d.unwrap(kvs[0]); is {
				return v, true
			}
		}
		return MapValue(kvs), ok
	}
	tok, ok := d.token()
	if !ok {
		return Value{}, false
	}
	return number(tok), true
}

// number is the value of a bare word.
func number(tok []byte) Value {
	switch string(tok) {
	case "null", "undefined":
		return Value{}
	case "true":
		return BoolValue(true)
	case "false":
		return BoolValue(false)
	}
	if i, ok := parseInt(alias(tok)); ok {
		return IntValue(i)
	}
	if f, err := strconv.ParseFloat(string(tok), 64); err == nil || math.IsInf(f, 0) {
		return DoubleValue(f)
	}
	return StringValue(alias(tok))
}

// unwrap makes {"intValue": "5"} among plain values the int that was meant.
func (d *Decoder) unwrap(kv KeyValue) (Value, bool) {
	kind, v := oneof(kv.Key), kv.Value
	switch {
	case kind == KindNull:
		return Value{}, false
	case kind == v.kind || v.kind == KindNull:
		return v, true
	case kind == KindDouble && v.kind == KindInt:
		return DoubleValue(float64(v.Int())), true
	case v.kind == KindString && kind != KindString:
		return d.scalar(kind, v.str), true
	}
	return Value{}, false
}

// asText keeps a value that is nested too deep as its own JSON text.
func (d *Decoder) asText() (Value, bool) {
	start := d.pos
	if !d.skip() {
		return Value{}, false
	}
	d.stats.TooDeep++
	return d.stringValue(d.valid(d.buf[start:d.pos], true)), true
}

// text reads a scalar as text; null, objects and arrays are "".
func (d *Decoder) text() (string, bool) {
	switch d.peek() {
	case '"':
		return d.str()
	case '{', '[':
		return "", d.skip()
	}
	tok, ok := d.token()
	if !ok || string(tok) == "null" {
		return "", ok
	}
	return alias(tok), true
}

func (d *Decoder) stringValue(s string) Value { return Value{kind: KindString, str: d.limited(s)} }

// limited cuts s at the size limit, before a character.
func (d *Decoder) limited(s string) string {
	n := d.limits.MaxAttributeBytes
	if n <= 0 || len(s) <= n {
		return s
	}
	d.stats.TruncatedValues++
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// parseInt reads a decimal int64.
func parseInt(s string) (int64, bool) {
	if s == "" || len(s) > 20 {
		return 0, false
	}
	digits, negative := s, s[0] == '-'
	if negative || s[0] == '+' {
		digits = s[1:]
	}
	var n uint64
	for i := range len(digits) {
		c := digits[i] - '0'
		if c > 9 || n > (math.MaxUint64-9)/10 {
			return 0, false
		}
		n = n*10 + uint64(c)
	}
	switch {
	case digits == "":
		return 0, false
	case negative && n <= 1<<63:
		return -int64(n), true
	case negative || n > math.MaxInt64:
		return 0, false
	}
	return int64(n), true
}

// decodeBase64 reads standard and URL-safe base64, padded or not.
func decodeBase64(dst *slab[byte], s string) (string, bool) {
	s = strings.TrimRight(s, "=")
	enc := base64.RawStdEncoding
	if strings.ContainsAny(s, "-_") {
		enc = base64.RawURLEncoding
	}
	out := dst.take(enc.DecodedLen(len(s)))
	n, err := enc.Decode(out, []byte(s))
	return alias(out[:n]), err == nil
}
