package otlpgen

import (
	"encoding/hex"
	"math"
	"strconv"
)

// AppendJSON appends one OTLP JSON request with the groups' records of signal, in the form of a collector: compact,
// 64-bit integers as strings, ids in lower-case hex, zero fields left out.
func AppendJSON(dst []byte, signal Signal, groups []Group) []byte {
	resources, _, _ := jsonKeys(signal)
	dst = append(dst, `{"`+resources+`":[`...)
	dst = appendJSONResources(dst, signal, groups)
	return append(dst, `]}`...)
}

// jsonKeys are the keys of the three arrays of a request.
func jsonKeys(signal Signal) (resources, scopes, records string) {
	switch signal {
	case Logs:
		return "resourceLogs", "scopeLogs", "logRecords"
	case Metrics:
		return "resourceMetrics", "scopeMetrics", "metrics"
	}
	return "resourceSpans", "scopeSpans", "spans"
}

// appendJSONResources appends the elements of the request's only array.
func appendJSONResources(dst []byte, signal Signal, groups []Group) []byte {
	_, scopes, records := jsonKeys(signal)
	var last *Resource
	for _, g := range groups {
		if !signal.holds(g) {
			continue
		}
		switch {
		case g.Resource == last:
			dst = append(dst, ',')
		case last != nil:
			dst = append(dst, `]},`...)
			fallthrough
		default:
			dst = append(dst, `{"resource":{`...)
			dst = appendJSONAttributes(dst, g.Resource.Attributes)
			dst = append(dst, `},"`+scopes+`":[`...)
			last = g.Resource
		}
		dst = append(dst, `{"scope":{"name":`...)
		dst = appendJSONString(dst, g.Scope.Name)
		if g.Scope.Version != "" {
			dst = append(dst, `,"version":`...)
			dst = appendJSONString(dst, g.Scope.Version)
		}
		dst = append(dst, `},"`+records+`":[`...)
		for i := range g.Spans {
			if signal == Traces {
				dst = appendJSONSpan(comma(dst, i), &g.Spans[i])
			}
		}
		for i := range g.Logs {
			if signal == Logs {
				dst = appendJSONLog(comma(dst, i), &g.Logs[i])
			}
		}
		for i := range g.Metrics {
			if signal == Metrics {
				dst = appendJSONMetric(comma(dst, i), &g.Metrics[i])
			}
		}
		dst = append(dst, `]}`...)
	}
	if last != nil {
		dst = append(dst, `]}`...)
	}
	return dst
}

func comma(dst []byte, i int) []byte {
	if i > 0 {
		return append(dst, ',')
	}
	return dst
}

func appendJSONSpan(dst []byte, s *Span) []byte {
	dst = append(dst, `{"traceId":"`...)
	dst = hex.AppendEncode(dst, s.TraceID[:])
	dst = append(dst, `","spanId":"`...)
	dst = hex.AppendEncode(dst, s.SpanID[:])
	if s.ParentID != (SpanID{}) {
		dst = append(dst, `","parentSpanId":"`...)
		dst = hex.AppendEncode(dst, s.ParentID[:])
	}
	dst = append(dst, `","flags":257,"name":`...)
	dst = appendJSONString(dst, s.Name)
	dst = append(dst, `,"kind":`...)
	dst = strconv.AppendUint(dst, uint64(s.Kind), 10)
	dst = appendJSONTime(dst, `,"startTimeUnixNano":"`, s.Start)
	dst = appendJSONTime(dst, `,"endTimeUnixNano":"`, s.End)
	dst = append(dst, ',')
	dst = appendJSONAttributes(dst, s.Attributes)
	if len(s.Events) > 0 {
		dst = append(dst, `,"events":[`...)
		for i, e := range s.Events {
			dst = comma(dst, i)
			dst = appendJSONTime(dst, `{"timeUnixNano":"`, e.At)
			dst = append(dst, `,"name":`...)
			dst = appendJSONString(dst, e.Name)
			dst = append(dst, ',')
			dst = appendJSONAttributes(dst, e.Attributes)
			dst = append(dst, '}')
		}
		dst = append(dst, ']')
	}
	dst = append(dst, `,"status":{`...)
	if s.StatusMessage != "" {
		dst = append(dst, `"message":`...)
		dst = appendJSONString(dst, s.StatusMessage)
	}
	if s.Status != 0 {
		if s.StatusMessage != "" {
			dst = append(dst, ',')
		}
		dst = append(dst, `"code":`...)
		dst = strconv.AppendUint(dst, uint64(s.Status), 10)
	}
	return append(dst, `}}`...)
}

func appendJSONLog(dst []byte, l *Log) []byte {
	dst = appendJSONTime(dst, `{"timeUnixNano":"`, l.At)
	dst = appendJSONTime(dst, `,"observedTimeUnixNano":"`, l.At)
	dst = append(dst, `,"body":`...)
	dst = appendJSONValue(dst, l.Body)
	dst = append(dst, ',')
	dst = appendJSONAttributes(dst, l.Attributes)
	if l.TraceID != (TraceID{}) {
		dst = append(dst, `,"flags":1,"traceId":"`...)
		dst = hex.AppendEncode(dst, l.TraceID[:])
		dst = append(dst, `","spanId":"`...)
		dst = hex.AppendEncode(dst, l.SpanID[:])
		dst = append(dst, '"')
	}
	return append(dst, '}')
}

func appendJSONMetric(dst []byte, m *Metric) []byte {
	dst = append(dst, `{"name":`...)
	dst = appendJSONString(dst, m.Name)
	dst = append(dst, `,"description":`...)
	dst = appendJSONString(dst, m.Description)
	dst = append(dst, `,"unit":`...)
	dst = appendJSONString(dst, m.Unit)
	dst = append(dst, `,"sum":{"dataPoints":[`...)
	for i, p := range m.Points {
		dst = append(comma(dst, i), '{')
		dst = appendJSONAttributes(dst, p.Attributes)
		dst = appendJSONTime(dst, `,"startTimeUnixNano":"`, p.Start)
		dst = appendJSONTime(dst, `,"timeUnixNano":"`, p.At)
		dst = append(dst, `,"asDouble":`...)
		dst = strconv.AppendFloat(dst, p.Value, 'g', -1, 64)
		dst = append(dst, '}')
	}
	return append(dst, `],"aggregationTemporality":1,"isMonotonic":true}}`...)
}

func appendJSONTime(dst []byte, prefix string, t int64) []byte {
	dst = append(dst, prefix...)
	dst = strconv.AppendInt(dst, t, 10)
	return append(dst, '"')
}

func appendJSONAttributes(dst []byte, kvs []KeyValue) []byte {
	dst = append(dst, `"attributes":[`...)
	for i, kv := range kvs {
		dst = append(comma(dst, i), `{"key":`...)
		dst = appendJSONString(dst, kv.Key)
		dst = append(dst, `,"value":`...)
		dst = appendJSONValue(dst, kv.Value)
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

func appendJSONValue(dst []byte, v Value) []byte {
	switch v.kind {
	case kindString:
		dst = append(dst, `{"stringValue":`...)
		dst = appendJSONString(dst, v.str)
	case kindBool:
		dst = append(dst, `{"boolValue":`...)
		dst = strconv.AppendBool(dst, v.bool())
	case kindInt:
		dst = append(dst, `{"intValue":"`...)
		dst = strconv.AppendInt(dst, v.int(), 10)
		dst = append(dst, '"')
	case kindDouble:
		dst = append(dst, `{"doubleValue":`...)
		dst = appendJSONDouble(dst, v.double())
	case kindArray:
		dst = append(dst, `{"arrayValue":{"values":[`...)
		for i, e := range v.list {
			dst = appendJSONValue(comma(dst, i), e)
		}
		dst = append(dst, `]}`...)
	default:
		dst = append(dst, '{')
	}
	return append(dst, '}')
}

// appendJSONDouble writes the three values that JSON has no number for as the strings of the protobuf mapping.
func appendJSONDouble(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(dst, `"-Infinity"`...)
	}
	return strconv.AppendFloat(dst, f, 'g', -1, 64)
}

// appendJSONString appends s, which is valid UTF-8, quoted as the JavaScript and Go exporters do: HTML stays as it is.
func appendJSONString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := range len(s) {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		default:
			const digits = "0123456789abcdef"
			dst = append(dst, `\u00`...)
			dst = append(dst, digits[c>>4], digits[c&15])
		}
	}
	dst = append(dst, s[from:]...)
	return append(dst, '"')
}
