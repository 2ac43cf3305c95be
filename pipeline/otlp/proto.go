package otlp

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// Reasons of faults in protobuf.
const (
	reasonWire     = "not protobuf here: a field is malformed; this piece is left out"
	reasonNotOTLP  = "protobuf, but no OTLP request: its fields are not those of spans, logs or metrics"
	reasonProtoCut = "the message ends early: it was cut; what came before is kept"
)

// wire reads the fields of one message. Groups and the values of unknown fields are passed over.
type wire struct {
	b     []byte
	at    int // the next field
	num   protowire.Number
	typ   protowire.Type
	body  []byte // of a length-delimited field
	value uint64 // of any other
	short bool   // the length points past the end; body is what there is
	bad   bool   // a field is malformed or cut; at is where it begins
}

// next takes one field; it is false at the end and at a malformed field.
func (w *wire) next() bool {
	if w.at >= len(w.b) {
		return false
	}
	b := w.b[w.at:]
	tag, n := uint64(b[0]), 1
	if tag >= 0x80 {
		if tag, n = binary.Uvarint(b); n <= 0 {
			return w.fail()
		}
	}
	if tag>>3 == 0 || tag>>3 > uint64(protowire.MaxValidNumber) {
		return w.fail()
	}
	w.num, w.typ = protowire.Number(tag>>3), protowire.Type(tag&7)
	b = b[n:]
	switch w.typ {
	case protowire.BytesType:
		size, m := uint64(0), 1
		if len(b) > 0 && b[0] < 0x80 {
			size = uint64(b[0])
		} else if size, m = binary.Uvarint(b); m <= 0 {
			return w.fail()
		}
		b = b[m:]
		if w.short = size > uint64(len(b)); w.short {
			size = uint64(len(b))
		}
		w.body = b[:size:size]
		n += m + int(size)
	case protowire.VarintType:
		v, m := binary.Uvarint(b)
		if m <= 0 {
			return w.fail()
		}
		w.value = v
		n += m
	case protowire.Fixed64Type:
		if len(b) < 8 {
			return w.fail()
		}
		w.value = binary.LittleEndian.Uint64(b)
		n += 8
	case protowire.Fixed32Type:
		if len(b) < 4 {
			return w.fail()
		}
		w.value = uint64(binary.LittleEndian.Uint32(b))
		n += 4
	default:
		m := protowire.ConsumeFieldValue(w.num, w.typ, b)
		if m < 0 {
			return w.fail()
		}
		n += m
	}
	w.at += n
	return true
}

func (w *wire) fail() bool {
	w.bad = true
	return false
}

// is whether the field is a length-delimited one of that number.
func (w *wire) is(num protowire.Number) bool { return w.num == num && w.typ == protowire.BytesType }

// bodyAt is the offset of body in the message.
func (w *wire) bodyAt() int { return w.at - len(w.body) }

// whole is whether the message was read to its end and no field of it was cut.
func (w *wire) whole() bool { return !w.bad && !w.short }

// Proto reads one protobuf document: an export request or a TracesData, LogsData or MetricsData; several glued together
// are one. Which signal it is, is told from the fields of its items, each resource by itself. The error is visit's and
// ends the document; defects of the document are faults, around which everything whole is still read.
//
// Records alias doc, which is not changed.
func (d *Decoder) Proto(doc []byte, visit func(*Record) error) (Stats, []Fault, error) {
	d.begin(doc, visit)
	w := wire{b: doc}
	for d.visitErr == nil && w.next() {
		switch {
		case w.is(1):
			d.protoGroup(w.body, w.bodyAt(), w.short)
		case w.typ == protowire.BytesType && w.short:
			d.fault(w.bodyAt(), len(w.body), reasonProtoCut)
		default:
			d.stats.Skipped++
		}
	}
	if w.bad {
		d.fault(w.at, len(doc)-w.at, wireReason(doc[w.at:]))
	}
	if d.stats.Shape == "" && len(d.faults) == 0 && d.stats.Skipped > 0 {
		d.fault(0, len(doc), reasonNotOTLP)
	}
	return d.end()
}

// wireReason tells a cut message from a malformed one.
func wireReason(b []byte) string {
	if _, _, n := protowire.ConsumeTag(b); len(b) < 10 || n > 0 && len(b) < n+10 {
		return reasonProtoCut
	}
	return reasonWire
}

// Field numbers of the groups, the same for the three signals.
const (
	groupResource  = 1
	groupScopes    = 2
	groupOldScopes = 1000 // instrumentation_library_*
	scopeSelf      = 1
	scopeItems     = 2
)

// protoGroup reads a ResourceSpans, ResourceLogs or ResourceMetrics that lies at offset.
func (d *Decoder) protoGroup(b []byte, offset int, short bool) {
	sig, ok := signalOf(b)
	if !ok {
		d.fault(offset, len(b), reasonNotOTLP)
		return
	}
	d.shape("otlp_proto")
	d.shared.reset()
	d.use(&d.shared)
	d.resource = &Resource{}
	for w := (wire{b: b}); w.next(); { // first, since its place in the message is free
		if w.is(groupResource) && !w.short && !d.protoResource(w.body) {
			d.fault(offset+w.bodyAt(), len(w.body), "a resource is malformed; its records are kept, without some of its attributes")
		}
	}
	w := wire{b: b}
	for d.visitErr == nil && w.next() {
		if w.is(groupScopes) || w.is(groupOldScopes) {
			d.protoScope(sig, w.body, offset+w.bodyAt(), w.short || short)
		}
	}
	switch {
	case d.visitErr != nil:
	case w.bad:
		d.fault(offset+w.at, len(b)-w.at, cutOr(short))
	case short && !d.cutNoted(offset+len(b)):
		d.fault(offset+len(b), 0, reasonProtoCut)
	}
}

func cutOr(short bool) string {
	if short {
		return reasonProtoCut
	}
	return reasonWire
}

// cutNoted is whether the last fault already covers the end of the document.
func (d *Decoder) cutNoted(end int) bool {
	n := len(d.faults)
	return n > 0 && d.faults[n-1].Offset+d.faults[n-1].Length == int64(end)
}

func (d *Decoder) protoResource(b []byte) bool {
	mark, ok := len(d.kvs), true
	d.kvs = append(d.kvs, d.resource.Attributes...)
	w := wire{b: b}
	for ok && w.next() {
		ok = !w.is(1) || d.protoKeyValue(w.body, 0)
	}
	d.resource.Attributes = d.sorted(mark)
	return ok && w.whole()
}

// protoScope reads a ScopeSpans, ScopeLogs or ScopeMetrics that lies at offset.
func (d *Decoder) protoScope(sig Signal, b []byte, offset int, short bool) {
	d.scopeName, d.scopeVersion = "", ""
	for w := (wire{b: b}); w.next(); {
		if w.is(scopeSelf) && !w.short {
			d.protoScopeSelf(w.body)
		}
	}
	w := wire{b: b}
	for d.visitErr == nil && w.next() {
		switch {
		case !w.is(scopeItems):
		case w.short:
			d.fault(offset+w.bodyAt(), len(w.body), reasonProtoCut)
		case sig == SignalMetric:
			d.protoMetric(w.body)
		default:
			kvs, values, events := len(d.kvs), len(d.values), len(d.events)
			if !d.protoRecord(sig, w.body) && d.visitErr == nil {
				d.fault(offset+w.bodyAt(), len(w.body), reasonWire)
			}
			d.kvs, d.values, d.events = d.kvs[:kvs], d.values[:values], d.events[:events]
			d.use(&d.shared)
		}
	}
	if w.bad && d.visitErr == nil {
		d.fault(offset+w.at, len(b)-w.at, cutOr(short))
	}
}

func (d *Decoder) protoScopeSelf(b []byte) {
	for w := (wire{b: b}); w.next() && !w.short; {
		switch {
		case w.is(1):
			d.scopeName = d.protoString(w.body)
		case w.is(2):
			d.scopeVersion = d.protoString(w.body)
		}
	}
}

// protoMetric counts the data points of a metric: field 1 of each of its kinds.
func (d *Decoder) protoMetric(b []byte) {
	for w := (wire{b: b}); w.next(); {
		switch w.num {
		case 5, 7, 9, 10, 11:
			for p := (wire{b: w.body}); w.typ == protowire.BytesType && p.next(); {
				if p.is(1) {
					d.stats.MetricPoints++
				}
			}
		}
	}
}

// protoString is b as a valid string; most are ASCII, which is seen eight bytes at a time.
func (d *Decoder) protoString(b []byte) string {
	i := 0
	for ; i+8 <= len(b); i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		if (x|(x-lowBits)&^x)&highBits != 0 {
			return d.protoText(b, i)
		}
	}
	for ; i < len(b); i++ {
		if b[i] >= utf8.RuneSelf || b[i] == 0 {
			return d.protoText(b, i)
		}
	}
	return alias(b)
}

// protoText is b, of which the first i bytes are known to be plain.
func (d *Decoder) protoText(b []byte, i int) string {
	if validUTF8(b[i:]) && bytes.IndexByte(b[i:], 0) < 0 {
		return alias(b)
	}
	return d.valid(b, true)
}

// protoKeyValue pushes one KeyValue. Nearly all are a key and a value of one string or number: those are built in place.
func (d *Decoder) protoKeyValue(b []byte, level int) bool {
	n := len(d.kvs)
	if n == cap(d.kvs) {
		d.kvs = slices.Grow(d.kvs, n+16)
	}
	d.kvs = d.kvs[:n+1]
	d.kvs[n] = KeyValue{}
	ok := true
	w := wire{b: b}
	for ok && w.next() {
		switch {
		case w.is(1):
			d.kvs[n].Key = d.protoString(w.body)
		case w.is(2):
			if v := &d.kvs[n].Value; !d.protoScalar(w.body, v) {
				*v, ok = d.protoValue(w.body, level)
			}
		}
	}
	return ok && w.whole()
}

// protoScalar reads an AnyValue that is one short string, bool or int, and is false for any other.
func (d *Decoder) protoScalar(b []byte, v *Value) bool {
	if len(b) < 2 {
		return false
	}
	switch b[0] {
	case 1<<3 | byte(protowire.BytesType):
		size, n := uint64(b[1]), 1
		if size >= 0x80 {
			size, n = binary.Uvarint(b[1:])
		}
		if n <= 0 || size != uint64(len(b)-1-n) {
			return false
		}
		*v = Value{kind: KindString, str: d.limited(d.protoString(b[1+n:]))}
		return true
	case 2<<3 | byte(protowire.VarintType), 3<<3 | byte(protowire.VarintType):
		x, n := binary.Uvarint(b[1:])
		if n != len(b)-1 {
			return false
		}
		if *v = IntValue(int64(x)); b[0] == 2<<3 {
			*v = BoolValue(x != 0)
		}
		return true
	}
	return false
}

// protoValue reads an AnyValue. One that is nested too deep is kept as its bytes.
func (d *Decoder) protoValue(b []byte, level int) (v Value, ok bool) {
	if level >= d.limits.MaxDepth {
		d.stats.TooDeep++
		return BytesValue(d.limited(alias(b))), true
	}
	members := 0
	ok = true
	w := wire{b: b}
	for ok && w.next() {
		members++
		switch {
		case w.is(1):
			v = d.stringValue(d.protoString(w.body))
		case w.num == 2 && w.typ == protowire.VarintType:
			v = BoolValue(w.value != 0)
		case w.num == 3 && w.typ == protowire.VarintType:
			v = IntValue(int64(w.value))
		case w.num == 4 && w.typ == protowire.Fixed64Type:
			v = DoubleValue(math.Float64frombits(w.value))
		case w.is(5):
			v, ok = d.protoArray(w.body, level)
		case w.is(6):
			v, ok = d.protoMap(w.body, level)
		case w.is(7):
			v = BytesValue(d.limited(alias(w.body)))
		default:
			members--
		}
	}
	if members > 1 {
		d.stats.MultipleValues++
	}
	return v, ok && w.whole()
}

func (d *Decoder) protoMap(b []byte, level int) (Value, bool) {
	mark, ok := len(d.kvs), true
	w := wire{b: b}
	for ok && w.next() {
		ok = !w.is(1) || d.protoKeyValue(w.body, level+1)
	}
	return MapValue(d.sorted(mark)), ok && w.whole()
}

func (d *Decoder) protoArray(b []byte, level int) (Value, bool) {
	mark, ok := len(d.values), true
	w := wire{b: b}
	for ok && w.next() {
		if w.is(1) {
			var v Value
			v, ok = d.protoValue(w.body, level+1)
			d.values = append(d.values, v)
		}
	}
	list := d.mem.values.take(len(d.values) - mark)
	copy(list, d.values[mark:])
	d.values = d.values[:mark]
	return ArrayValue(list), ok && w.whole()
}
