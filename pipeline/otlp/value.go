package otlp

import "math"

// Kind is the type of a Value.
type Kind uint8

// The kinds of OTLP's AnyValue.
const (
	KindNull Kind = iota
	KindString
	KindBool
	KindInt
	KindDouble
	KindBytes
	KindArray
	KindMap
)

// KeyValue is one attribute.
type KeyValue struct {
	Key   string
	Value Value
}

// Value is one attribute value. The zero Value is null.
type Value struct {
	kind Kind
	num  uint64 // bool, int64 or float64 bits
	str  string // string, or raw bytes
	list []Value
	kvs  []KeyValue
}

// StringValue makes a string.
func StringValue(s string) Value { return Value{kind: KindString, str: s} }

// BoolValue makes a bool.
func BoolValue(b bool) Value {
	v := Value{kind: KindBool}
	if b {
		v.num = 1
	}
	return v
}

// IntValue makes an int.
func IntValue(i int64) Value { return Value{kind: KindInt, num: uint64(i)} }

// DoubleValue makes a double; NaN and infinities are values like any other.
func DoubleValue(f float64) Value { return Value{kind: KindDouble, num: math.Float64bits(f)} }

// BytesValue makes bytes; b is held as a string and not copied again.
func BytesValue(b string) Value { return Value{kind: KindBytes, str: b} }

// ArrayValue makes an array that owns list.
func ArrayValue(list []Value) Value { return Value{kind: KindArray, list: list} }

// MapValue makes a map that owns kvs, which must be sorted by key without duplicates.
func MapValue(kvs []KeyValue) Value { return Value{kind: KindMap, kvs: kvs} }

// Kind is the value's type.
func (v Value) Kind() Kind { return v.kind }

// Str is the string of a KindString, "" of anything else.
func (v Value) Str() string {
	if v.kind == KindString {
		return v.str
	}
	return ""
}

// Bytes is the raw content of a KindBytes as a string, "" of anything else.
func (v Value) Bytes() string {
	if v.kind == KindBytes {
		return v.str
	}
	return ""
}

// Bool is the value of a KindBool, false of anything else.
func (v Value) Bool() bool { return v.kind == KindBool && v.num == 1 }

// Int is the value of a KindInt, 0 of anything else.
func (v Value) Int() int64 {
	if v.kind == KindInt {
		return int64(v.num)
	}
	return 0
}

// Double is the value of a KindDouble, 0 of anything else.
func (v Value) Double() float64 {
	if v.kind == KindDouble {
		return math.Float64frombits(v.num)
	}
	return 0
}

// Array is the elements of a KindArray, which must not be changed.
func (v Value) Array() []Value { return v.list }

// Map is the entries of a KindMap, sorted by key, which must not be changed.
func (v Value) Map() []KeyValue { return v.kvs }
