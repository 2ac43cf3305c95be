package otlp

import (
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Reasons of faults in protobuf.
const (
	reasonWire     = "not protobuf here: a field is malformed; this piece is left out"
	reasonNotOTLP  = "protobuf, but no OTLP request: its fields are not those of spans, logs or metrics"
	reasonProtoCut = "the message ends early: it was cut; what came before is kept"
)

// field is one protobuf field. Its body is set for length-delimited fields, num for the others.
type field struct {
	num   protowire.Number
	typ   protowire.Type
	body  []byte
	value uint64
	short bool // the length points past the end; body is what there is
}

// next takes one field off b; n is the bytes it took, 0 if it is malformed or cut. Groups are passed over.
func (f *field) next(b []byte) (n int) {
	num, typ, n := protowire.ConsumeTag(b)
	if n < 0 {
		return 0
	}
	*f = field{num: num, typ: typ}
	b = b[n:]
	switch typ {
	case protowire.VarintType:
		v, m := protowire.ConsumeVarint(b)
		if m < 0 {
			return 0
		}
		f.value = v
		return n + m
	case protowire.Fixed64Type:
		if len(b) < 8 {
			return 0
		}
		f.value = binary.LittleEndian.Uint64(b)
		return n + 8
	case protowire.Fixed32Type:
		if len(b) < 4 {
			return 0
		}
		f.value = uint64(binary.LittleEndian.Uint32(b))
		return n + 4
	case protowire.BytesType:
		size, m := protowire.ConsumeVarint(b)
		if m < 0 {
			return 0
		}
		b = b[m:]
		if f.short = size > uint64(len(b)); f.short {
			size = uint64(len(b))
		}
		f.body = b[:size:size]
		return n + m + int(size)
	default:
		m := protowire.ConsumeFieldValue(num, typ, b)
		if m < 0 {
			return 0
		}
		return n + m
	}
}

// fields calls read for each whole field of the message b and is false when one is malformed.
func fields(b []byte, read func(f *field) bool) bool {
	var f field
	for len(b) > 0 {
		n := f.next(b)
		if n == 0 || f.short || !read(&f) {
			return false
		}
		b = b[n:]
	}
	return true
}

// Proto reads one protobuf document: an export request or a TracesData, LogsData or MetricsData; several glued together
// are one. Which signal it is, is told from the fields of its items, each resource by itself. The error is visit's and
// ends the document; defects of the document are faults, around which everything whole is still read.
//
// Records alias doc, which is not changed.
func (d *Decoder) Proto(doc []byte, visit func(*Record) error) (Stats, []Fault, error) {
	d.begin(doc, visit)
	var f field
	for at := 0; at < len(doc); {
		n := f.next(doc[at:])
		if n == 0 {
			d.fault(at, len(doc)-at, d.wireReason(doc[at:]))
			break
		}
		switch {
		case f.num == 1 && f.typ == protowire.BytesType:
			d.protoGroup(f.body, at+n-len(f.body), f.short)
		case f.short:
			d.fault(at, n, reasonProtoCut)
		default:
			d.stats.Skipped++
		}
		if d.visitErr != nil {
			break
		}
		at += n
	}
	if d.stats.Shape == "" && len(doc) > 0 && len(d.faults) == 0 && d.stats.Skipped > 0 {
		d.fault(0, len(doc), reasonNotOTLP)
	}
	return d.end()
}

// wireReason tells a cut message from a malformed one.
func (d *Decoder) wireReason(b []byte) string {
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
	walk(b, groupResource, func(f *field, _ int) {
		if !f.short && !d.protoResource(f.body) {
			d.fault(offset, 0, "a resource is malformed; its records are kept without some of its attributes")
		}
	})
	end := walkScopes(b, func(f *field, at int) {
		if d.visitErr == nil {
			d.protoScope(sig, f.body, offset+at, f.short)
		}
	})
	if end < len(b) || short && !d.cutNoted(offset+len(b)) {
		reason := reasonWire
		if short {
			reason = reasonProtoCut
		}
		d.fault(offset+end, len(b)-end, reason)
	}
}

// cutNoted is whether the last fault already covers the end of the document.
func (d *Decoder) cutNoted(end int) bool {
	n := len(d.faults)
	return n > 0 && d.faults[n-1].Offset+d.faults[n-1].Length == int64(end)
}

// walk calls read with every length-delimited field of the given number and its body's offset; it is the offset of the
// first malformed field, len(b) if there is none.
func walk(b []byte, num protowire.Number, read func(f *field, at int)) int {
	var f field
	at := 0
	for at < len(b) {
		n := f.next(b[at:])
		if n == 0 {
			return at
		}
		at += n
		if f.num == num && f.typ == protowire.BytesType {
			read(&f, at-len(f.body))
		}
	}
	return at
}

func walkScopes(b []byte, read func(f *field, at int)) int {
	var f field
	at := 0
	for at < len(b) {
		n := f.next(b[at:])
		if n == 0 {
			return at
		}
		at += n
		if (f.num == groupScopes || f.num == groupOldScopes) && f.typ == protowire.BytesType {
			read(&f, at-len(f.body))
		}
	}
	return at
}

func (d *Decoder) protoResource(b []byte) bool {
	mark := len(d.kvs)
	d.kvs = append(d.kvs, d.resource.Attributes...)
	ok := fields(b, func(f *field) bool {
		return f.num != 1 || f.typ != protowire.BytesType || d.protoKeyValue(f.body, 0)
	})
	d.resource.Attributes = d.sorted(mark)
	return ok
}

// protoScope reads a ScopeSpans, ScopeLogs or ScopeMetrics that lies at offset.
func (d *Decoder) protoScope(sig Signal, b []byte, offset int, short bool) {
	d.scopeName, d.scopeVersion = "", ""
	walk(b, scopeSelf, func(f *field, _ int) {
		if f.short {
			return
		}
		fields(f.body, func(f *field) bool {
			switch {
			case f.typ != protowire.BytesType:
			case f.num == 1:
				d.scopeName = d.protoString(f.body)
			case f.num == 2:
				d.scopeVersion = d.protoString(f.body)
			}
			return true
		})
	})
	end := walk(b, scopeItems, func(f *field, at int) {
		switch {
		case d.visitErr != nil:
		case f.short:
			d.fault(offset+at, len(f.body), reasonProtoCut)
		case sig == SignalMetric:
			d.protoMetric(f.body)
		default:
			kvs, values, events := len(d.kvs), len(d.values), len(d.events)
			if !d.protoRecord(sig, f.body) && d.visitErr == nil {
				d.fault(offset+at, len(f.body), reasonWire)
			}
			d.kvs, d.values, d.events = d.kvs[:kvs], d.values[:values], d.events[:events]
			d.use(&d.shared)
		}
	})
	if end < len(b) {
		reason := reasonWire
		if short {
			reason = reasonProtoCut
		}
		d.fault(offset+end, len(b)-end, reason)
	}
}

// protoMetric counts the data points of a metric: field 1 of each of its kinds.
func (d *Decoder) protoMetric(b []byte) {
	fields(b, func(f *field) bool {
		switch f.num {
		case 5, 7, 9, 10, 11:
			if f.typ == protowire.BytesType {
				walk(f.body, 1, func(*field, int) { d.stats.MetricPoints++ })
			}
		}
		return true
	})
}

func (d *Decoder) protoString(b []byte) string {
	for i := range b {
		if b[i] >= 0x80 || b[i] == 0 {
			return d.valid(b, true)
		}
	}
	return alias(b)
}

func (d *Decoder) protoKeyValue(b []byte, level int) bool {
	var kv KeyValue
	ok := fields(b, func(f *field) (ok bool) {
		ok = true
		switch {
		case f.typ != protowire.BytesType:
		case f.num == 1:
			kv.Key = d.protoString(f.body)
		case f.num == 2:
			kv.Value, ok = d.protoValue(f.body, level)
		}
		return ok
	})
	d.kvs = append(d.kvs, kv)
	return ok
}

// protoValue reads an AnyValue. One that is nested too deep is kept as its bytes.
func (d *Decoder) protoValue(b []byte, level int) (v Value, ok bool) {
	if level >= d.limits.MaxDepth {
		d.stats.TooDeep++
		return BytesValue(d.limited(alias(b))), true
	}
	members := 0
	ok = fields(b, func(f *field) (ok bool) {
		ok = true
		members++
		switch {
		case f.num == 1 && f.typ == protowire.BytesType:
			v = d.stringValue(d.protoString(f.body))
		case f.num == 2 && f.typ == protowire.VarintType:
			v = BoolValue(f.value != 0)
		case f.num == 3 && f.typ == protowire.VarintType:
			v = IntValue(int64(f.value))
		case f.num == 4 && f.typ == protowire.Fixed64Type:
			v = DoubleValue(math.Float64frombits(f.value))
		case f.num == 5 && f.typ == protowire.BytesType:
			v, ok = d.protoArray(f.body, level)
		case f.num == 6 && f.typ == protowire.BytesType:
			mark := len(d.kvs)
			ok = fields(f.body, func(f *field) bool {
				return f.num != 1 || f.typ != protowire.BytesType || d.protoKeyValue(f.body, level+1)
			})
			v = MapValue(d.sorted(mark))
		case f.num == 7 && f.typ == protowire.BytesType:
			v = BytesValue(d.limited(alias(f.body)))
		default:
			members--
		}
		return ok
	})
	if members > 1 {
		d.stats.MultipleValues++
	}
	return v, ok
}

func (d *Decoder) protoArray(b []byte, level int) (Value, bool) {
	mark := len(d.values)
	ok := fields(b, func(f *field) bool {
		if f.num != 1 || f.typ != protowire.BytesType {
			return true
		}
		v, ok := d.protoValue(f.body, level+1)
		d.values = append(d.values, v)
		return ok
	})
	list := d.mem.values.take(len(d.values) - mark)
	copy(list, d.values[mark:])
	d.values = d.values[:mark]
	return ArrayValue(list), ok
}
