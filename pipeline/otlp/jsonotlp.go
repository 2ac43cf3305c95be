package otlp

// resourceInto reads a resource. It is allocated: visitors may compare the pointers of records to see the same resource.
func (d *Decoder) resourceInto(dst **Resource) bool {
	if d.peek() != '{' {
		return d.skip()
	}
	r := &Resource{}
	*dst = r
	d.pos++
	d.depth++
	for {
		name, more, ok := d.member()
		if !ok || !more {
			return ok
		}
		switch name {
		case "attributes", "_attributes", "_rawAttributes":
			if c := d.peek(); len(r.Attributes) > 0 && c != '[' && c != '{' {
				ok = d.skip()
			} else {
				r.Attributes, ok = d.attributes(0)
			}
		default:
			ok = d.skip()
		}
		if !ok {
			return false
		}
	}
}

func (d *Decoder) scopeInto(name, version *string) bool {
	*name, *version = "", ""
	if d.peek() != '{' {
		return d.skip()
	}
	d.pos++
	d.depth++
	for {
		key, more, ok := d.member()
		if !ok || !more {
			return ok
		}
		switch key {
		case "name":
			*name, ok = d.text()
		case "version":
			*version, ok = d.text()
		default:
			ok = d.skip()
		}
		if !ok {
			return false
		}
	}
}

// later is the values of an object that must wait until the rest of it is read.
type later []waiting

type waiting struct {
	name string
	at   int
}

// put remembers the value at pos and passes it.
func (l *later) put(d *Decoder, name string) bool {
	d.peek()
	*l = append(*l, waiting{name, d.pos})
	return d.skip()
}

// run reads what was remembered and comes back to where the object ended, or broke if ok is false: what was whole before
// the defect is read all the same.
func (l later) run(d *Decoder, depth int, ok bool, read func(name string) bool) bool {
	pos, after, reason, badAt := d.pos, d.depth, d.reason, d.badAt
	for _, w := range l {
		d.pos, d.depth, d.reason = w.at, depth+1, ""
		if !read(w.name) {
			return false
		}
	}
	d.pos, d.depth, d.reason, d.badAt = pos, after, reason, badAt
	return ok
}

// resourceGroup reads a ResourceSpans, ResourceLogs or ResourceMetrics; its members say which. The resource must be known
// before its records, so scopes that come first wait for it.
func (d *Decoder) resourceGroup() bool {
	depth := d.depth
	d.shared.reset()
	d.use(&d.shared)
	d.resource, d.scopeName, d.scopeVersion = nil, "", ""
	if !d.open('{') {
		return false
	}
	var wait later
	ok := true
	for ok {
		var name string
		var more bool
		if name, more, ok = d.member(); !more {
			break
		}
		switch name {
		case "resource":
			ok = d.resourceInto(&d.resource)
		case "scopeSpans", "scope_spans", "instrumentationLibrarySpans", "instrumentation_library_spans",
			"scopeLogs", "scope_logs", "instrumentationLibraryLogs", "instrumentation_library_logs":
			if d.resource == nil {
				ok = wait.put(d, name)
			} else {
				ok = d.each(false, d.scopeGroup)
			}
		case "scopeMetrics", "scope_metrics", "instrumentationLibraryMetrics", "instrumentation_library_metrics":
			ok = d.each(false, d.scopeMetrics)
		default:
			ok = d.skip()
		}
	}
	if d.resource == nil {
		d.resource = &Resource{}
	}
	return wait.run(d, depth, ok, func(string) bool { return d.each(false, d.scopeGroup) })
}

// scopeGroup reads a ScopeSpans or ScopeLogs.
func (d *Decoder) scopeGroup() bool {
	depth := d.depth
	d.scopeName, d.scopeVersion = "", ""
	if !d.open('{') {
		return false
	}
	var wait later
	ok, hasScope := true, false
	for ok {
		var name string
		var more bool
		if name, more, ok = d.member(); !more {
			break
		}
		switch name {
		case "scope", "instrumentationLibrary", "instrumentation_library":
			hasScope = true
			ok = d.scopeInto(&d.scopeName, &d.scopeVersion)
		case "spans", "logRecords", "log_records", "logs":
			if !hasScope {
				ok = wait.put(d, name)
			} else {
				ok = d.recordList(name)
			}
		default:
			ok = d.skip()
		}
	}
	return wait.run(d, depth, ok, d.recordList)
}

func (d *Decoder) recordList(name string) bool {
	if name == "spans" {
		return d.each(true, d.span)
	}
	return d.each(true, d.log)
}

// scopeMetrics counts the points of a ScopeMetrics.
func (d *Decoder) scopeMetrics() bool {
	return d.eachIn(func(name string) bool {
		if name != "metrics" {
			return d.skip()
		}
		return d.each(false, d.metric)
	})
}

// metric counts the points of one metric, whatever its kind: they lie in dataPoints, of the metric or one level below.
func (d *Decoder) metric() bool {
	return d.eachIn(func(name string) bool {
		if name == "dataPoints" || name == "data_points" {
			return d.points()
		}
		if d.peek() != '{' || name == "descriptor" {
			return d.skip()
		}
		return d.eachIn(func(name string) bool {
			if name == "dataPoints" || name == "data_points" {
				return d.points()
			}
			return d.skip()
		})
	})
}

func (d *Decoder) points() bool {
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
		d.stats.MetricPoints++
		if !d.skip() {
			return false
		}
	}
}

// eachIn reads the members of the object at pos.
func (d *Decoder) eachIn(read func(name string) bool) bool {
	if !d.open('{') {
		return false
	}
	for {
		name, more, ok := d.member()
		if !ok || !more {
			return ok
		}
		if !read(name) {
			return false
		}
	}
}
