package otlp

import "google.golang.org/protobuf/encoding/protowire"

// protoRecord reads a Span or LogRecord and hands it over.
func (d *Decoder) protoRecord(sig Signal, b []byte) bool {
	d.beginRecord(sig)
	mark, events := len(d.kvs), len(d.events)
	severity, ok := uint64(0), true
	w := wire{b: b}
	for ok && w.next() {
		if sig == SignalSpan {
			ok = d.spanField(&w)
		} else {
			ok = d.logField(&w, &severity)
		}
	}
	if !ok || !w.whole() {
		return false
	}
	r, a := &d.rec, &d.aux
	r.Attributes = d.sorted(mark)
	if n := len(d.events) - events; n > 0 {
		r.Events = d.mem.events.take(n)
		copy(r.Events, d.events[events:])
		d.events = d.events[:events]
	}
	if severity != 0 && r.Severity == "" && severity < uint64(len(severities)) {
		r.Severity = severities[severity]
	}
	if r.Status == "" && sig == SignalSpan {
		r.Status = statuses[0]
	}
	start, end := a.start, a.end
	if sig == SignalLog {
		r.Name = eventName(r.Attributes, a.eventName)
		if start.nano == 0 {
			start = a.observed
			r.ObservedTime = start.nano != 0
		}
	}
	d.setTimes(start, end)
	return d.emit()
}

func (d *Decoder) spanField(f *wire) bool {
	r, a := &d.rec, &d.aux
	switch f.typ {
	case protowire.BytesType:
		switch f.num {
		case 1:
			r.TraceID = d.idOfBytes(f.body, traceDigits)
		case 2:
			r.SpanID = d.idOfBytes(f.body, spanDigits)
		case 4:
			r.ParentSpanID = d.idOfBytes(f.body, spanDigits)
		case 5:
			r.Name = d.protoString(f.body)
		case 9:
			return d.protoKeyValue(f.body, 0)
		case 11:
			return d.protoEvent(f.body)
		case 15:
			return d.protoStatus(f.body)
		}
	case protowire.VarintType:
		if f.num == 6 {
			if r.Kind = ""; f.value < uint64(len(kinds)) {
				r.Kind = kinds[f.value]
			}
		}
	case protowire.Fixed64Type:
		switch f.num {
		case 7:
			a.start = unsigned(f.value)
		case 8:
			a.end = unsigned(f.value)
		}
	}
	return true
}

func (d *Decoder) logField(f *wire, severity *uint64) (ok bool) {
	r, a := &d.rec, &d.aux
	ok = true
	switch f.typ {
	case protowire.BytesType:
		switch f.num {
		case 3:
			r.Severity = d.protoString(f.body)
		case 5:
			r.Body, ok = d.protoValue(f.body, 0)
		case 6:
			ok = d.protoKeyValue(f.body, 0)
		case 9:
			r.TraceID = d.idOfBytes(f.body, traceDigits)
		case 10:
			r.SpanID = d.idOfBytes(f.body, spanDigits)
		case 12:
			a.eventName = d.protoString(f.body)
		}
	case protowire.VarintType:
		if f.num == 2 {
			*severity = f.value
		}
	case protowire.Fixed64Type:
		switch f.num {
		case 1:
			a.start = unsigned(f.value)
		case 11:
			a.observed = unsigned(f.value)
		}
	}
	return ok
}

func (d *Decoder) protoEvent(b []byte) bool {
	var ev SpanEvent
	mark, ok := len(d.kvs), true
	w := wire{b: b}
	for ok && w.next() {
		switch {
		case w.num == 1 && w.typ == protowire.Fixed64Type:
			ev.TimeUnixNano = unsigned(w.value).nano
		case w.is(2):
			ev.Name = d.protoString(w.body)
		case w.is(3):
			ok = d.protoKeyValue(w.body, 0)
		}
	}
	ev.Attributes = d.sorted(mark)
	d.events = append(d.events, ev)
	return ok && w.whole()
}

func (d *Decoder) protoStatus(b []byte) bool {
	w := wire{b: b}
	for w.next() {
		switch {
		case w.is(2):
			d.rec.StatusMessage = d.protoString(w.body)
		case w.num == 3 && w.typ == protowire.VarintType:
			if d.rec.Status = statuses[0]; w.value < uint64(len(statuses)) {
				d.rec.Status = statuses[w.value]
			}
		}
	}
	return w.whole()
}

// sampledItems is how many items of a resource are looked at to tell its signal.
const sampledItems = 4

// signalOf tells the signal of a resource group from its first items. All three have the same layout down to there, so
// each item is scored by field numbers, wire types and id lengths for each signal; the best one wins if anything speaks
// for it. A group without items is nothing, which any signal can be.
func signalOf(b []byte) (Signal, bool) {
	var score [SignalMetric + 1]int
	items, odd := 0, 0
	for f := (wire{b: b}); items < sampledItems && f.next(); {
		switch {
		case f.typ != protowire.BytesType || f.num > 3 && f.num != groupOldScopes:
			odd++
		case f.num == groupScopes || f.num == groupOldScopes:
			for w := (wire{b: f.body}); items < sampledItems && w.next(); {
				if w.is(scopeItems) {
					items++
					scoreItem(w.body, &score)
				}
			}
		}
	}
	best := SignalSpan
	for s := SignalLog; s <= SignalMetric; s++ {
		if score[s] > score[best] {
			best = s
		}
	}
	if items == 0 {
		return best, odd == 0
	}
	return best, score[best] > 0
}

// itemTypes is the wire type of each field of a Span, LogRecord and Metric, by number; -1 where there is no such field.
var itemTypes = [SignalMetric + 1][17]int8{
	SignalSpan:   {-1, 2, 2, 2, 2, 2, 0, 1, 1, 2, 0, 2, 0, 2, 0, 2, 5},
	SignalLog:    {-1, 1, 0, 2, -1, 2, 2, 0, 5, 2, 2, 1, 2, -1, -1, -1, -1},
	SignalMetric: {-1, 2, 2, 2, -1, 2, -1, 2, -1, 2, 2, 2, 2, -1, -1, -1, -1},
}

func scoreItem(b []byte, score *[SignalMetric + 1]int) {
	for f := (wire{b: b}); f.next(); {
		for s := SignalSpan; s <= SignalMetric; s++ {
			switch {
			case f.num >= 17: // a later version's field speaks for nobody
			case itemTypes[s][f.num] == int8(f.typ):
				score[s]++
			default:
				score[s] -= 4
			}
		}
		if f.typ != protowire.BytesType {
			continue
		}
		is := func(s Signal, num protowire.Number, size int) {
			switch {
			case f.num != num || len(f.body) == 0:
			case len(f.body) == size && !printable(f.body):
				score[s] += 4
			default:
				score[s] -= 2
			}
		}
		is(SignalSpan, 1, traceDigits/2)
		is(SignalSpan, 2, spanDigits/2)
		is(SignalSpan, 4, spanDigits/2)
		is(SignalLog, 9, traceDigits/2)
		is(SignalLog, 10, spanDigits/2)
	}
}

// printable is whether b looks like text, such as a metric's name; sixteen random bytes never do.
func printable(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}
