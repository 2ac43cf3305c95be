package otlp

// JSON reads a JSON document: a value of any known shape, an array of such, or several side by side. Every record is handed to visit in the
// order of its bytes. The error is visit's and ends the document; defects of the document are faults, around which
// everything whole is still read.
//
// JSON unescapes strings where they stand: doc is overwritten and must stay untouched until JSON returns. Records alias it.
func (d *Decoder) JSON(doc []byte, visit func(*Record) error) (Stats, []Fault, error) {
	d.begin(doc, visit)
	if len(doc) >= 3 && string(doc[:3]) == "\xef\xbb\xbf" {
		d.pos = 3
	}
	for d.peek() != 0 && d.visitErr == nil {
		start := d.pos
		if d.document(0) {
			continue
		}
		if d.pos == start && d.reason != "" { // no value at all
			d.fault(start, len(d.buf)-start, reasonTrailing)
			break
		}
		if !d.salvage(start, 0, false) {
			break
		}
	}
	if d.stats.Shape == "" && d.stats.Skipped > 0 && len(d.faults) == 0 && d.visitErr == nil {
		d.fault(0, len(d.buf), reasonUnknown)
	}
	return d.end()
}

const reasonUnknown = "JSON of no known telemetry shape"

// member names of a document's outermost object, as bits
const (
	hasOTLP = 1 << iota
	hasGroup
	hasTrace
	hasTime
	hasBody
	hasContext
	hasSDKContext
	hasName
	hasProcesses // of a Jaeger trace, or the id as Jaeger spells it, since the processes come last and may be cut off
	hasSpans
	hasLogEvents
	hasWrapped
	hasUnixNano
	hasAny
)

// nameBits says what a member name tells about the shape.
func nameBits(name string) int {
	switch name {
	case "resource", "scope", "schemaUrl", "attributes", "status", "kind":
		return 0
	case "scopeSpans", "scope_spans", "instrumentationLibrarySpans", "instrumentation_library_spans",
		"scopeLogs", "scope_logs", "instrumentationLibraryLogs", "instrumentation_library_logs",
		"scopeMetrics", "scope_metrics", "instrumentationLibraryMetrics", "instrumentation_library_metrics":
		return hasGroup
	case "traceID":
		return hasTrace | hasProcesses
	case "traceId", "trace_id", "spanId", "span_id", "spanID":
		return hasTrace
	case "startTimeUnixNano", "timeUnixNano", "observedTimeUnixNano", "endTimeUnixNano":
		return hasTime | hasUnixNano
	case "startTime", "start_time", "endTime", "end_time", "start_time_unix_nano", "time_unix_nano", "observed_timestamp", "timestamp":
		return hasTime
	case "hrTime", "hrTimeObserved":
		return hasTime | hasSDKContext
	case "body", "_body", "severityNumber", "severity_number", "severityText", "severity_text":
		return hasBody
	case "context":
		return hasContext
	case "_spanContext", "spanContext":
		return hasSDKContext
	case "name":
		return hasName
	case "processes":
		return hasProcesses
	case "spans":
		return hasSpans
	case "logEvents":
		return hasLogEvents
	case "data", "trace", "traces", "raw_otel_json", "@message":
		return hasWrapped
	}
	return 0
}

// document reads the value at pos, which is a document or one inside another.
func (d *Decoder) document(level int) bool {
	switch c := d.peek(); {
	case level > maxNesting || c != '{' && c != '[':
		start := d.pos
		if !d.skip() {
			return false
		}
		if c != 'n' {
			d.stats.Skipped++
			if level == 0 {
				d.fault(start, d.pos-start, "a JSON value that is no object; telemetry is made of objects")
			}
		}
		return true
	case c == '[':
		return d.each(false, func() bool { return d.document(level + 1) })
	}
	start, depth, seen := d.pos, d.depth, 0
	if !d.open('{') {
		return false
	}
	var wrapped later
	ok := true
	for ok {
		var name string
		var more bool
		if name, more, ok = d.member(); !more {
			break
		}
		seen |= hasAny
		switch name {
		case "resourceSpans", "resource_spans", "resourceLogs", "resource_logs", "resourceMetrics", "resource_metrics":
			seen |= hasOTLP
			d.shape("otlp_json")
			ok = d.each(false, d.resourceGroup)
		case "batches":
			seen |= hasOTLP
			d.shape("tempo")
			d.bareTimes = true
			ok = d.each(false, d.resourceGroup)
			d.bareTimes = false
		default:
			b := nameBits(name)
			seen |= b
			if b&(hasWrapped|hasSpans) != 0 {
				ok = wrapped.put(d, name)
			} else {
				ok = d.skip()
			}
		}
	}
	if seen&hasOTLP != 0 || d.visitErr != nil || d.dead {
		return ok
	}
	return d.shaped(level, start, depth, seen, wrapped, ok)
}

// shaped reads the object at start, whose member names are known.
func (d *Decoder) shaped(level, start, depth, seen int, wrapped later, ok bool) bool {
	again := func(shape string, whole bool, read func() bool) bool {
		d.shape(shape)
		d.pos, d.depth, d.reason = start, depth, ""
		return d.one(whole, read)
	}
	switch {
	case seen&hasGroup != 0:
		return again("resource_spans", false, d.resourceGroup)
	case seen&hasLogEvents != 0:
		return again("cloudwatch_subscription", false, func() bool { return d.envelope(level) })
	case seen&hasProcesses != 0 && seen&hasSpans != 0:
		return again("jaeger", false, d.jaegerTrace)
	case seen&hasSDKContext != 0 && seen&(hasTime|hasBody|hasName) != 0:
		return again("js_readable_span", true, d.loneRecord)
	case seen&hasTrace != 0 && seen&(hasTime|hasBody|hasName) != 0, seen&hasBody != 0 && seen&hasUnixNano != 0:
		if seen&hasUnixNano != 0 {
			return again("aws_spans", true, d.loneRecord)
		}
		return again("flat_span", true, d.loneRecord)
	case seen&hasContext != 0 && seen&(hasTime|hasBody) != 0:
		return again("flat_span", true, d.loneRecord)
	case seen&(hasWrapped|hasSpans) != 0:
		return wrapped.run(d, depth, ok, func(string) bool { return d.nested(level) })
	}
	if !ok {
		return false
	}
	if seen&hasAny != 0 {
		d.stats.Skipped++
		if level == 0 {
			d.fault(start, d.pos-start, reasonUnknown)
		}
	}
	return true
}

// loneRecord reads a record that stands by itself.
func (d *Decoder) loneRecord() bool {
	d.shared.reset()
	d.resource, d.scopeName, d.scopeVersion = nil, "", ""
	return d.record(0)
}

// nested reads a document that is the value of a member: as JSON, or as JSON in a string. Strings that hold none are
// ordinary text and are counted as skipped.
func (d *Decoder) nested(level int) bool {
	switch d.peek() {
	case '{', '[':
		return d.document(level + 1)
	case '"':
	default:
		return d.skip()
	}
	at := d.pos
	s, ok := d.str()
	if !ok {
		return false
	}
	inner := d.scanner
	inner.pos, inner.depth = 0, 0
	if end := at + 1 + len(s); end < d.pos && alias(d.buf[at+1:end]) == s {
		inner.buf = d.buf[at+1 : end]
	} else { // wrong UTF-8 was replaced, elsewhere, and may be longer
		inner.buf = []byte(s)
	}
	if c := inner.peek(); c != '{' && c != '[' {
		d.stats.Skipped++
		return true
	}
	outer, base := d.scanner, d.base
	if d.base < 0 {
		d.base = at
	}
	d.scanner = inner
	whole := d.document(level + 1)
	if !whole {
		d.salvage(0, 0, false)
	}
	outer.keys = d.keys
	outer.owned = d.owned
	d.scanner, d.base, d.dead = outer, base, false
	return d.visitErr == nil
}

// envelope reads what a CloudWatch Logs subscription delivers.
func (d *Decoder) envelope(level int) bool {
	depth, control, ok := d.depth, false, true
	if !d.open('{') {
		return false
	}
	var wait later
	for ok {
		var name string
		var more bool
		if name, more, ok = d.member(); !more {
			break
		}
		switch name {
		case "messageType":
			var s string
			s, ok = d.text()
			control = s == "CONTROL_MESSAGE"
		case "logEvents":
			ok = wait.put(d, name)
		default:
			ok = d.skip()
		}
	}
	return wait.run(d, depth, ok, func(string) bool {
		return d.each(false, func() bool {
			return d.eachIn(func(name string) bool {
				switch {
				case name != "message":
					return d.skip()
				case control:
					d.stats.Skipped++
					return d.skip()
				}
				return d.nested(level)
			})
		})
	})
}
