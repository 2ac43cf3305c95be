package otlpgen

import "math"

// KeyValue is one attribute.
type KeyValue struct {
	Key   string
	Value Value
}

// Value is an attribute value of one of the types that agent telemetry uses. It is deliberately not the decoder's own
// type: what is written must not depend on what can be read.
type Value struct {
	kind kind
	str  string
	num  uint64
	list []Value
}

type kind uint8

const (
	kindNull kind = iota
	kindString
	kindBool
	kindInt
	kindDouble
	kindArray
)

// StringValue makes a string value.
func StringValue(s string) Value { return Value{kind: kindString, str: s} }

func (v Value) int() int64      { return int64(v.num) }
func (v Value) double() float64 { return math.Float64frombits(v.num) }
func (v Value) bool() bool      { return v.num == 1 }

func str(key, value string) KeyValue { return KeyValue{key, StringValue(value)} }

func num(key string, value int64) KeyValue {
	return KeyValue{key, Value{kind: kindInt, num: uint64(value)}}
}

func dbl(key string, value float64) KeyValue {
	return KeyValue{key, Value{kind: kindDouble, num: math.Float64bits(value)}}
}

func yes(key string, value bool) KeyValue {
	v := Value{kind: kindBool}
	if value {
		v.num = 1
	}
	return KeyValue{key, v}
}

func list(key string, values ...string) KeyValue {
	l := make([]Value, len(values))
	for i, v := range values {
		l[i] = StringValue(v)
	}
	return KeyValue{key, Value{kind: kindArray, list: l}}
}
