package otlp

// jaegerTrace reads a trace as the Jaeger UI exports it: microseconds, tags, and processes by name.
func (d *Decoder) jaegerTrace() bool {
	depth, ok := d.depth, true
	processes := map[string]*Resource{}
	d.shared.reset()
	d.use(&d.shared)
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
		switch {
		case name == "processes" && d.peek() == '{':
			ok = d.eachIn(func(id string) bool {
				r, ok := d.jaegerProcess()
				processes[id] = r
				return ok
			})
		case name == "spans":
			ok = wait.put(d, name)
		default:
			ok = d.skip()
		}
	}
	return wait.run(d, depth, ok, func(string) bool {
		return d.each(true, func() bool { return d.jaegerSpan(processes) })
	})
}

func (d *Decoder) jaegerProcess() (*Resource, bool) {
	r := &Resource{}
	if d.peek() != '{' {
		return r, d.skip()
	}
	mark := len(d.kvs)
	ok := d.eachIn(func(name string) (ok bool) {
		switch name {
		case "serviceName":
			var s string
			s, ok = d.text()
			d.kvs = append(d.kvs, KeyValue{Key: "service.name", Value: StringValue(s)})
		case "tags":
			ok = d.jaegerTags()
		default:
			ok = d.skip()
		}
		return ok
	})
	if ok {
		r.Attributes = d.sorted(mark)
	}
	return r, ok
}

// jaegerTags pushes the tags at pos.
func (d *Decoder) jaegerTags() bool {
	if d.peek() != '[' {
		return d.skip()
	}
	d.pos++
	d.depth++
	for {
		more, ok := d.element()
		if !ok || !more {
			return ok
		}
		if d.buf[d.pos] != '{' {
			ok = d.skip()
		} else {
			ok = d.jaegerTag()
		}
		if !ok {
			return false
		}
	}
}

func (d *Decoder) jaegerTag() bool {
	var kv KeyValue
	var kind string
	ok := d.eachIn(func(name string) (ok bool) {
		switch name {
		case "key":
			kv.Key, ok = d.text()
		case "type":
			kind, ok = d.text()
		case "value":
			kv.Value, ok = d.plainValue(0)
		default:
			ok = d.skip()
		}
		return ok
	})
	if !ok {
		return false
	}
	switch v := kv.Value; {
	case kind == "float64" && v.kind == KindInt:
		kv.Value = DoubleValue(float64(v.Int()))
	case v.kind != KindString:
	case kind == "int64":
		kv.Value = d.scalar(KindInt, v.str)
	case kind == "float64":
		kv.Value = d.scalar(KindDouble, v.str)
	case kind == "bool":
		kv.Value = d.scalar(KindBool, v.str)
	case kind == "binary":
		kv.Value = d.scalar(KindBytes, v.str)
	}
	d.kvs = append(d.kvs, kv)
	return true
}

func (d *Decoder) jaegerSpan(processes map[string]*Resource) bool {
	d.resource, d.scopeName, d.scopeVersion = nil, "", ""
	d.beginRecord(SignalSpan)
	defer d.use(&d.shared)
	r, a := &d.rec, &d.aux
	mark, micros := len(d.kvs), int64(0)
	ok := d.eachIn(func(name string) (ok bool) {
		switch name {
		case "traceID":
			r.TraceID, ok = d.id(traceDigits)
		case "spanID":
			r.SpanID, ok = d.id(spanDigits)
		case "parentSpanID":
			r.ParentSpanID, ok = d.id(spanDigits)
		case "operationName":
			r.Name, ok = d.text()
		case "references":
			ok = d.each(true, d.jaegerReference)
		case "startTime":
			a.start, ok = d.time(unitMicro)
		case "duration":
			var s string
			s, ok = d.text()
			micros, _ = parseInt(s)
		case "tags":
			ok = d.jaegerTags()
		case "logs":
			r.Events, ok = d.jaegerLogs()
		case "processID":
			var id string
			id, ok = d.text()
			r.Resource = processes[id]
		default:
			ok = d.skip()
		}
		return ok
	})
	if !ok {
		return false
	}
	if end := a.start.nano + micros*1000; a.start.nano > 0 && micros >= 0 && micros < 1<<52 && end >= a.start.nano {
		a.end = instant{nano: end, quality: a.start.quality}
	}
	d.jaegerFields(mark)
	r.Attributes = d.sorted(mark)
	d.finishRecord()
	return d.emit()
}

// jaegerFields moves the tags that stand for fields of a span out of the tags above mark.
func (d *Decoder) jaegerFields(mark int) {
	r, a := &d.rec, &d.aux
	kept, failed := d.kvs[:mark], false
	for _, kv := range d.kvs[mark:] {
		s := kv.Value.str
		switch kv.Key {
		case "span.kind":
			a.kind = s
		case "otel.status_code":
			a.status = s
		case "otel.status_description":
			r.StatusMessage = s
		case "otel.scope.name", "otel.library.name":
			r.ScopeName = s
		case "otel.scope.version", "otel.library.version":
			r.ScopeVersion = s
		case "error":
			failed = failed || kv.Value.Bool() || s == "true"
			kept = append(kept, kv)
		default:
			kept = append(kept, kv)
		}
	}
	d.kvs = kept
	if a.status == "" && failed {
		a.status = "error"
	}
}

// jaegerReference takes the parent from a CHILD_OF reference, or from the first one.
func (d *Decoder) jaegerReference() bool {
	var kind, span string
	ok := d.eachIn(func(name string) (ok bool) {
		switch name {
		case "refType":
			kind, ok = d.text()
		case "spanID":
			span, ok = d.id(spanDigits)
		default:
			ok = d.skip()
		}
		return ok
	})
	if ok && (kind == "CHILD_OF" || d.rec.ParentSpanID == "") {
		d.rec.ParentSpanID = span
	}
	return ok
}

func (d *Decoder) jaegerLogs() ([]SpanEvent, bool) {
	if d.peek() != '[' {
		return nil, d.skip()
	}
	mark := len(d.events)
	ok := d.each(true, func() bool {
		var ev SpanEvent
		kvs := len(d.kvs)
		ok := d.eachIn(func(name string) (ok bool) {
			switch name {
			case "timestamp":
				var t instant
				t, ok = d.time(unitMicro)
				ev.TimeUnixNano = t.nano
			case "fields":
				ok = d.jaegerTags()
			default:
				ok = d.skip()
			}
			return ok
		})
		if !ok {
			return false
		}
		kept := d.kvs[:kvs]
		for _, kv := range d.kvs[kvs:] {
			if kv.Key == "event" && ev.Name == "" {
				ev.Name = kv.Value.str
				continue
			}
			kept = append(kept, kv)
		}
		d.kvs = kept
		ev.Attributes = d.sorted(kvs)
		d.events = append(d.events, ev)
		return true
	})
	if !ok {
		return nil, false
	}
	list := d.mem.events.take(len(d.events) - mark)
	copy(list, d.events[mark:])
	d.events = d.events[:mark]
	return list, true
}
