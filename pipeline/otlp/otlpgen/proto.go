package otlpgen

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// AppendProto appends one OTLP protobuf request with the groups' records of signal. Requests appended one after the
// other are one valid request with all of them.
func AppendProto(dst []byte, signal Signal, groups []Group) []byte {
	for i := 0; i < len(groups); {
		if !signal.holds(groups[i]) {
			i++
			continue
		}
		r := groups[i].Resource
		dst = appendMessage(dst, 1, func(dst []byte) []byte {
			dst = appendMessage(dst, 1, func(dst []byte) []byte { return appendProtoAttributes(dst, 1, r.Attributes) })
			for ; i < len(groups) && groups[i].Resource == r; i++ {
				if signal.holds(groups[i]) {
					dst = appendProtoScope(dst, signal, &groups[i])
				}
			}
			return dst
		})
	}
	return dst
}

func appendProtoScope(dst []byte, signal Signal, g *Group) []byte {
	return appendMessage(dst, 2, func(dst []byte) []byte {
		dst = appendMessage(dst, 1, func(dst []byte) []byte {
			dst = appendString(dst, 1, g.Scope.Name)
			return appendString(dst, 2, g.Scope.Version)
		})
		switch signal {
		case Traces:
			for i := range g.Spans {
				dst = appendProtoSpan(dst, &g.Spans[i])
			}
		case Logs:
			for i := range g.Logs {
				dst = appendProtoLog(dst, &g.Logs[i])
			}
		case Metrics:
			for i := range g.Metrics {
				dst = appendProtoMetric(dst, &g.Metrics[i])
			}
		}
		return dst
	})
}

func appendProtoSpan(dst []byte, s *Span) []byte {
	return appendMessage(dst, 2, func(dst []byte) []byte {
		dst = appendBytes(dst, 1, s.TraceID[:])
		dst = appendBytes(dst, 2, s.SpanID[:])
		if s.ParentID != (SpanID{}) {
			dst = appendBytes(dst, 4, s.ParentID[:])
		}
		dst = appendString(dst, 5, s.Name)
		dst = appendVarint(dst, 6, uint64(s.Kind))
		dst = appendFixed64(dst, 7, uint64(s.Start))
		dst = appendFixed64(dst, 8, uint64(s.End))
		dst = appendProtoAttributes(dst, 9, s.Attributes)
		for _, e := range s.Events {
			dst = appendMessage(dst, 11, func(dst []byte) []byte {
				dst = appendFixed64(dst, 1, uint64(e.At))
				dst = appendString(dst, 2, e.Name)
				return appendProtoAttributes(dst, 3, e.Attributes)
			})
		}
		dst = appendMessage(dst, 15, func(dst []byte) []byte {
			dst = appendString(dst, 2, s.StatusMessage)
			return appendVarint(dst, 3, uint64(s.Status))
		})
		dst = protowire.AppendTag(dst, 16, protowire.Fixed32Type)
		return protowire.AppendFixed32(dst, 257)
	})
}

func appendProtoLog(dst []byte, l *Log) []byte {
	return appendMessage(dst, 2, func(dst []byte) []byte {
		dst = appendFixed64(dst, 1, uint64(l.At))
		if l.Body.kind != kindNull {
			dst = appendMessage(dst, 5, func(dst []byte) []byte { return appendProtoValue(dst, l.Body) })
		}
		dst = appendProtoAttributes(dst, 6, l.Attributes)
		if l.TraceID != (TraceID{}) {
			dst = protowire.AppendTag(dst, 8, protowire.Fixed32Type)
			dst = protowire.AppendFixed32(dst, 1)
			dst = appendBytes(dst, 9, l.TraceID[:])
			dst = appendBytes(dst, 10, l.SpanID[:])
		}
		return appendFixed64(dst, 11, uint64(l.At))
	})
}

func appendProtoMetric(dst []byte, m *Metric) []byte {
	return appendMessage(dst, 2, func(dst []byte) []byte {
		dst = appendString(dst, 1, m.Name)
		dst = appendString(dst, 2, m.Description)
		dst = appendString(dst, 3, m.Unit)
		return appendMessage(dst, 7, func(dst []byte) []byte {
			for _, p := range m.Points {
				dst = appendMessage(dst, 1, func(dst []byte) []byte {
					dst = appendFixed64(dst, 2, uint64(p.Start))
					dst = appendFixed64(dst, 3, uint64(p.At))
					dst = appendFixed64(dst, 4, math.Float64bits(p.Value))
					return appendProtoAttributes(dst, 7, p.Attributes)
				})
			}
			dst = appendVarint(dst, 2, 1) // delta
			return appendVarint(dst, 3, 1)
		})
	})
}

func appendProtoAttributes(dst []byte, field protowire.Number, kvs []KeyValue) []byte {
	for _, kv := range kvs {
		dst = appendMessage(dst, field, func(dst []byte) []byte {
			dst = appendString(dst, 1, kv.Key)
			return appendMessage(dst, 2, func(dst []byte) []byte { return appendProtoValue(dst, kv.Value) })
		})
	}
	return dst
}

// appendProtoValue writes the members of a oneof, which are present even when zero.
func appendProtoValue(dst []byte, v Value) []byte {
	switch v.kind {
	case kindString:
		dst = protowire.AppendTag(dst, 1, protowire.BytesType)
		return protowire.AppendString(dst, v.str)
	case kindBool:
		dst = protowire.AppendTag(dst, 2, protowire.VarintType)
		return protowire.AppendVarint(dst, v.num)
	case kindInt:
		dst = protowire.AppendTag(dst, 3, protowire.VarintType)
		return protowire.AppendVarint(dst, v.num)
	case kindDouble:
		dst = protowire.AppendTag(dst, 4, protowire.Fixed64Type)
		return protowire.AppendFixed64(dst, v.num)
	case kindArray:
		return appendMessage(dst, 5, func(dst []byte) []byte {
			for _, e := range v.list {
				dst = appendMessage(dst, 1, func(dst []byte) []byte { return appendProtoValue(dst, e) })
			}
			return dst
		})
	}
	return dst
}

// appendMessage appends a field whose content fill appends; the length is put before it afterwards.
func appendMessage(dst []byte, field protowire.Number, fill func([]byte) []byte) []byte {
	dst = protowire.AppendTag(dst, field, protowire.BytesType)
	at := len(dst)
	dst = fill(append(dst, 0)) // most messages are shorter than 128 bytes
	size := uint64(len(dst) - at - 1)
	if extra := protowire.SizeVarint(size) - 1; extra > 0 {
		dst = append(dst, make([]byte, extra)...)
		copy(dst[at+1+extra:], dst[at+1:])
	}
	protowire.AppendVarint(dst[:at], size)
	return dst
}

func appendString(dst []byte, field protowire.Number, s string) []byte {
	if s == "" {
		return dst
	}
	dst = protowire.AppendTag(dst, field, protowire.BytesType)
	return protowire.AppendString(dst, s)
}

func appendBytes(dst []byte, field protowire.Number, b []byte) []byte {
	dst = protowire.AppendTag(dst, field, protowire.BytesType)
	return protowire.AppendBytes(dst, b)
}

func appendVarint(dst []byte, field protowire.Number, v uint64) []byte {
	if v == 0 {
		return dst
	}
	dst = protowire.AppendTag(dst, field, protowire.VarintType)
	return protowire.AppendVarint(dst, v)
}

func appendFixed64(dst []byte, field protowire.Number, v uint64) []byte {
	if v == 0 {
		return dst
	}
	dst = protowire.AppendTag(dst, field, protowire.Fixed64Type)
	return protowire.AppendFixed64(dst, v)
}
