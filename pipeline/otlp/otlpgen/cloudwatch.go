package otlpgen

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"
)

// cloudWatch writes spans as a log group's subscription delivers them: gzip members one after the other without a
// separator, each an envelope whose messages are JSON strings of flat spans; the first is a control message.
func (a *archiver) cloudWatch(at time.Time, groups []Group) error {
	r := newRandom("cloudwatch" + at.String())
	var buf bytes.Buffer
	n := 0
	member := func(kind string, events []raw) error {
		w, err := Gzip.writer(&buf, true)
		if err != nil {
			return err
		}
		envelope := jobj("messageType", kind, "owner", "123456789012", "logGroup", "aws/spans", "logStream", "default",
			"subscriptionFilters", jarr(`"tracejury"`), "logEvents", jarr(events...))
		if _, err := w.Write([]byte(envelope)); err != nil {
			return fmt.Errorf("otlpgen: write envelope: %w", err)
		}
		if err := w.Close(); err != nil {
			return fmt.Errorf("otlpgen: compress envelope: %w", err)
		}
		return nil
	}
	ms := raw(strconv.FormatInt(at.UnixMilli(), 10))
	if err := member("CONTROL_MESSAGE", []raw{jobj("id", "", "timestamp", ms, "message", "CWL CONTROL MESSAGE: Checking health of destination")}); err != nil {
		return err
	}
	var events []raw
	for _, g := range groups {
		for i := range g.Spans {
			events = append(events, jobj("id", "3"+decimal(1_000_000_000+r.below(1e9)), "timestamp", ms, "message", string(flatSpan(g, &g.Spans[i]))))
			n++
			if len(events) == 3 {
				if err := member("DATA_MESSAGE", events); err != nil {
					return err
				}
				events = nil
			}
		}
	}
	if len(events) > 0 {
		if err := member("DATA_MESSAGE", events); err != nil {
			return err
		}
	}
	key := at.Format("cloudwatch/2006/01/02/15/") + "agent-spans-1-" + at.Format("2006-01-02-15-04-05-") + r.uuid() // as Firehose names it
	a.objects = append(a.objects, Object{Key: key, Body: buf.Bytes(), info: ObjectTruth{Format: "cloudwatch subscription, gzip members",
		Records: n, Note: "envelopes with flat spans as JSON strings; the first envelope is a control message"}})
	return nil
}

// flatSpan is a span as the log group aws/spans holds it: attribute maps, names for numbers, times as JSON numbers.
func flatSpan(g Group, s *Span) raw {
	hexID := func(id []byte) string { return hex.EncodeToString(id) }
	parent := raw("")
	if s.ParentID != (SpanID{}) {
		parent = jstr(hexID(s.ParentID[:]))
	}
	number := func(n int64) raw { return raw(strconv.FormatInt(n, 10)) }
	var events []raw
	for _, e := range s.Events {
		events = append(events, jobj("timeUnixNano", number(e.At), "name", e.Name, "attributes", flatAttributes(e.Attributes)))
	}
	list := raw("")
	if events != nil {
		list = jarr(events...)
	}
	message := raw("")
	if s.StatusMessage != "" {
		message = jstr(s.StatusMessage)
	}
	return jobj("resource", jobj("attributes", flatAttributes(g.Resource.Attributes)), "scope", jobj("name", g.Scope.Name, "version", g.Scope.Version),
		"traceId", hexID(s.TraceID[:]), "spanId", hexID(s.SpanID[:]), "parentSpanId", parent, "flags", raw("257"), "name", s.Name,
		"kind", [...]string{"UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT"}[s.Kind&3], "startTimeUnixNano", number(s.Start), "endTimeUnixNano", number(s.End),
		"durationNano", number(s.End-s.Start), "attributes", flatAttributes(s.Attributes), "events", list,
		"status", jobj("code", [...]string{"UNSET", "OK", "ERROR", "UNSET"}[s.Status&3], "message", message))
}

func flatAttributes(kvs []KeyValue) raw {
	pairs := make([]any, 0, 2*len(kvs))
	for _, kv := range kvs {
		pairs = append(pairs, kv.Key, flatValue(kv.Value))
	}
	return jobj(pairs...)
}

func flatValue(v Value) raw {
	switch v.kind {
	case kindString:
		return jstr(v.str)
	case kindBool:
		return raw(strconv.FormatBool(v.bool()))
	case kindInt:
		return raw(strconv.FormatInt(v.int(), 10))
	case kindDouble:
		return raw(appendJSONDouble(nil, v.double()))
	case kindArray:
		list := make([]raw, len(v.list))
		for i, e := range v.list {
			list[i] = flatValue(e)
		}
		return jarr(list...)
	}
	return "null"
}
