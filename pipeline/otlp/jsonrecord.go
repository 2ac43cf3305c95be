package otlp

// recordParts is what has to be seen whole before the record can be filled in.
type recordParts struct {
	start, end, observed, other instant
	kind, status                string
	severity                    string // the number, as written
	eventName                   string
	sdk                         bool // a dump of an SDK's object: kinds count from 0
	span, log                   bool // what its members say it is
}

// beginRecord empties the record at hand. Its resource and scope are those of the enclosing group.
func (d *Decoder) beginRecord(sig Signal) {
	d.own.reset()
	d.use(&d.own)
	d.rec = Record{Signal: sig, Resource: d.resource, ScopeName: d.scopeName, ScopeVersion: d.scopeVersion}
	d.aux = recordParts{}
}

// finishRecord settles what depends on several members.
func (d *Decoder) finishRecord() {
	r, a := &d.rec, &d.aux
	if r.Resource == nil {
		r.Resource = &Resource{}
	}
	if r.Signal == 0 {
		r.Signal = SignalSpan
		if a.log && !a.span {
			r.Signal = SignalLog
		}
	}
	start, end := a.start, a.end
	if r.Signal == SignalLog {
		if start.nano == 0 {
			start = d.logTime(start)
		}
		end = instant{}
		r.Severity = severityName(r.Severity, a.severity)
		r.Name = eventName(r.Attributes, a.eventName)
		r.Kind, r.Status, r.StatusMessage = "", "", ""
	} else {
		offset := int64(0)
		if a.sdk {
			offset = 1
		}
		r.Kind, r.Status = kindOf(a.kind, offset), statusOf(a.status)
		r.Severity = ""
	}
	d.setTimes(start, end)
}

// logTime is the time of a log whose own is not there, or was negative: the observed one, or that of a field of another name.
// What was wrong with its own stays said.
func (d *Decoder) logTime(own instant) instant {
	t := d.aux.observed
	if d.rec.ObservedTime = t.nano != 0 || t.quality != QualityOK; !d.rec.ObservedTime {
		t = d.aux.other
	}
	t.quality = max(t.quality, own.quality)
	return t
}

// setTimes fills in the times and their common quality, which is that of the worse one.
func (d *Decoder) setTimes(start, end instant) {
	r := &d.rec
	r.StartUnixNano, r.EndUnixNano = start.nano, end.nano
	r.TimeQuality = max(start.quality, end.quality)
	if end.nano != 0 && end.nano < start.nano {
		r.EndUnixNano, r.TimeQuality = start.nano, QualityClamped
	}
	switch {
	case r.TimeQuality == QualityClamped:
		d.stats.ClampedTimes++
	case r.StartUnixNano == 0:
		r.TimeQuality = QualityMissing
	case r.TimeQuality == QualityImprecise:
		d.stats.ImpreciseTimes++
	}
}

func severityName(text, number string) string {
	if text != "" {
		return text
	}
	return severityOf(number)
}

// eventName is a log's name: the attribute, because some writers put a source line into the field.
func eventName(attributes []KeyValue, field string) string {
	for i := range attributes {
		if attributes[i].Key == "event.name" && attributes[i].Value.kind == KindString {
			return attributes[i].Value.str
		}
	}
	return field
}

// span and log read one record of an OTLP list.
func (d *Decoder) span() bool { return d.record(SignalSpan) }
func (d *Decoder) log() bool  { return d.record(SignalLog) }

// record reads one span or log record: OTLP's, or one that stands alone with its resource and scope, in the spellings of
// the SDKs and of CloudWatch. With signal 0 the members decide which it is.
func (d *Decoder) record(sig Signal) bool {
	d.beginRecord(sig)
	defer d.use(&d.shared)
	if !d.open('{') {
		return false
	}
	for {
		name, more, ok := d.member()
		if !ok {
			return false
		}
		if !more {
			d.finishRecord()
			return d.emit()
		}
		if !d.recordMember(name) {
			return false
		}
	}
}

func (d *Decoder) recordMember(name string) (ok bool) {
	r, a := &d.rec, &d.aux
	switch name {
	case "traceId", "trace_id", "traceID":
		r.TraceID, ok = d.id(traceDigits)
	case "spanId", "span_id", "spanID":
		r.SpanID, ok = d.id(spanDigits)
	case "parentSpanId", "parent_span_id", "parentSpanID", "parentId", "parent_id":
		a.span = true
		r.ParentSpanID, ok = d.id(spanDigits)
	case "name":
		r.Name, ok = d.text()
	case "kind":
		a.span = true
		a.kind, ok = d.text()
	case "startTimeUnixNano", "start_time_unix_nano":
		a.span = true
		a.start, ok = d.time(unitNano)
	case "endTimeUnixNano", "end_time_unix_nano":
		a.span = true
		a.end, ok = d.time(unitNano)
	case "attributes":
		r.Attributes, ok = d.attributes(0)
	case "events", "span_events", "spanEvents":
		a.span = true
		r.Events, ok = d.spanEvents()
	case "status":
		ok = d.status()
	case "timeUnixNano", "time_unix_nano":
		a.log = true
		a.start, ok = d.time(unitNano)
	case "observedTimeUnixNano", "observed_time_unix_nano":
		a.log = true
		a.observed, ok = d.time(unitNano)
	case "severityText", "severity_text", "_severityText":
		a.log = true
		r.Severity, ok = d.text()
	case "severityNumber", "severity_number", "_severityNumber":
		a.log = true
		a.severity, ok = d.text()
	case "body", "_body":
		a.log = true
		r.Body, ok = d.anyValue(0)
	case "eventName", "event_name", "_eventName":
		a.log = true
		a.eventName, ok = d.text()
	default:
		if r.Signal != 0 {
			return d.skip()
		}
		return d.loneMember(name)
	}
	return ok
}

// loneMember reads the members that only records outside an OTLP list have.
func (d *Decoder) loneMember(name string) (ok bool) {
	r, a := &d.rec, &d.aux
	switch name {
	case "startTime", "start_time":
		a.span = true
		a.sdk = a.sdk || d.peek() == '['
		a.start, ok = d.time(unitGuess)
	case "endTime", "end_time":
		a.span = true
		a.end, ok = d.time(unitGuess)
	case "hrTime":
		a.log = true
		a.start, ok = d.time(unitGuess)
	case "hrTimeObserved", "observed_timestamp":
		a.log = true
		a.observed, ok = d.time(unitGuess)
	case "timestamp":
		a.other, ok = d.time(unitGuess)
	case "_spanContext", "spanContext":
		a.sdk = true
		ok = d.spanContext(&r.TraceID, &r.SpanID)
	case "context", "span_context":
		ok = d.spanContext(&r.TraceID, &r.SpanID)
	case "parentSpanContext", "parent":
		a.span = true
		if d.peek() != '{' {
			r.ParentSpanID, ok = d.id(spanDigits)
			break
		}
		var trace string
		ok = d.spanContext(&trace, &r.ParentSpanID)
	case "resource":
		ok = d.resourceInto(&r.Resource)
	case "scope", "instrumentationScope", "instrumentation_scope", "instrumentationLibrary":
		ok = d.scopeInto(&r.ScopeName, &r.ScopeVersion)
	default:
		return d.skip()
	}
	return ok
}

func (d *Decoder) spanContext(trace, span *string) bool {
	if d.peek() != '{' {
		return d.skip()
	}
	d.pos++
	d.depth++
	for {
		name, more, ok := d.member()
		if !ok || !more {
			return ok
		}
		switch name {
		case "traceId", "trace_id":
			*trace, ok = d.id(traceDigits)
		case "spanId", "span_id":
			*span, ok = d.id(spanDigits)
		default:
			ok = d.skip()
		}
		if !ok {
			return false
		}
	}
}

// status reads {code, message}, or a code alone.
func (d *Decoder) status() bool {
	r, a := &d.rec, &d.aux
	if d.peek() != '{' {
		s, ok := d.text()
		a.status = s
		return ok
	}
	d.pos++
	d.depth++
	for {
		name, more, ok := d.member()
		if !ok || !more {
			return ok
		}
		switch name {
		case "code", "status_code", "statusCode":
			a.status, ok = d.text()
		case "message", "description":
			r.StatusMessage, ok = d.text()
		default:
			ok = d.skip()
		}
		if !ok {
			return false
		}
	}
}

// spanEvents reads a span's events.
func (d *Decoder) spanEvents() ([]SpanEvent, bool) {
	if d.peek() != '[' {
		return nil, d.skip()
	}
	d.pos++
	d.depth++
	mark := len(d.events)
	for {
		more, ok := d.element()
		if !ok {
			return nil, false
		}
		if !more {
			break
		}
		if d.buf[d.pos] != '{' {
			if !d.skip() {
				return nil, false
			}
			continue
		}
		ev, ok := d.spanEvent()
		if !ok {
			return nil, false
		}
		d.events = append(d.events, ev)
	}
	list := d.mem.events.take(len(d.events) - mark)
	copy(list, d.events[mark:])
	d.events = d.events[:mark]
	return list, true
}

func (d *Decoder) spanEvent() (ev SpanEvent, ok bool) {
	d.pos++
	d.depth++
	for {
		name, more, ok := d.member()
		if !ok || !more {
			return ev, ok
		}
		var t instant
		switch name {
		case "name", "event_name", "eventName":
			ev.Name, ok = d.text()
		case "timeUnixNano", "time_unix_nano":
			t, ok = d.time(unitNano)
			ev.TimeUnixNano = t.nano
		case "time", "timestamp":
			t, ok = d.time(unitGuess)
			ev.TimeUnixNano = t.nano
		case "attributes":
			ev.Attributes, ok = d.attributes(0)
		default:
			ok = d.skip()
		}
		if !ok {
			return ev, false
		}
	}
}
