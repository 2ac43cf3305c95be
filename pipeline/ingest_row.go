package pipeline

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"
	"unsafe"

	"github.com/tracejury/tracejury/pipeline/convention"
	"github.com/tracejury/tracejury/pipeline/mask"
	"github.com/tracejury/tracejury/pipeline/otlp"
	"github.com/tracejury/tracejury/schema"
)

// rowMaker turns decoded records into stored rows: masked, in canonical form, hashed. It is not safe for concurrent use.
type rowMaker struct {
	mask    *mask.Cached
	counts  mask.Counts
	tenant  string
	object  string
	horizon *horizon
	buf     []byte
	hash    []byte

	resource     *otlp.Resource // the last one seen, and its stored form
	resourceAttr []otlp.KeyValue
	resourceJSON string
	service      string
}

// row makes the stored row of rec and the view of it that conventions read. Both alias rec and the maker's buffers: they are
// valid until the next call.
func (m *rowMaker) row(rec *otlp.Record, index int64) (schema.Span, convention.Record) {
	if rec.Resource != m.resource || rec.Resource == nil {
		m.setResource(rec.Resource)
	}
	attrs := m.maskAttributes(m.joinAttributes(rec.Attributes))
	events := m.maskEvents(m.joinEvents(rec.Events))
	body := m.maskValue("body", m.joinValues(rec.Body))
	row := schema.Span{
		Tenant: m.tenant, Signal: "span",
		TraceID: rec.TraceID, SpanID: rec.SpanID, ParentSpanID: rec.ParentSpanID,
		Name: m.text(rec.Name), Kind: rec.Kind, ScopeName: m.text(rec.ScopeName), ScopeVersion: m.text(rec.ScopeVersion),
		Service: m.service, Status: rec.Status, StatusMessage: m.text(rec.StatusMessage), Severity: m.text(rec.Severity),
		StartedUnixNano: rec.StartUnixNano, EndedUnixNano: rec.EndUnixNano, TimeQuality: rec.TimeQuality.String(),
		Resource: m.resourceJSON, SourceObject: m.object, SourceIndex: index,
	}
	row.StartedAt, row.EndedAt = row.StartedUnixNano/1000, row.EndedUnixNano/1000
	m.horizon.qualify(&row)
	m.buf = m.buf[:0]
	if len(attrs) > 0 {
		m.buf = otlp.AppendAttributes(m.buf, attrs)
	}
	a := len(m.buf)
	if len(events) > 0 {
		m.buf = otlp.AppendEvents(m.buf, events)
	}
	e := len(m.buf)
	if body.Kind() != otlp.KindNull {
		m.buf = otlp.AppendValue(m.buf, body)
	}
	row.Attributes, row.Events, row.Body = alias(m.buf[:a]), alias(m.buf[a:e]), alias(m.buf[e:])
	if rec.Signal == otlp.SignalLog {
		row.Signal = "log"
	}
	row.RecordSHA256 = m.hashRow(&row)
	if row.Signal == "span" && row.SpanID == "" {
		row.SpanID = row.RecordSHA256[:16] // a span without an id is still a span, and the same one each time
	}
	return row, convention.Record{Row: &row, Attributes: attrs, Resource: m.resourceAttr, Events: events, Body: body}
}

// alias is b as a string without a copy.
func alias(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	return unsafe.String(&b[0], len(b))
}

// setResource keeps the stored form of a resource for the records that follow; it owns what it keeps.
func (m *rowMaker) setResource(r *otlp.Resource) {
	m.resource, m.resourceAttr, m.resourceJSON, m.service = r, nil, "", ""
	if r == nil || len(r.Attributes) == 0 {
		return
	}
	masked := m.maskAttributes(r.Attributes)
	m.resourceJSON = string(otlp.AppendAttributes(nil, masked))
	if kvs, err := otlp.ParseAttributes(m.resourceJSON); err == nil {
		masked = kvs // aliases our own text
	}
	m.resourceAttr = masked
	m.service = strings.Clone(convention.Attributes(masked).Str("service.name"))
}

func (m *rowMaker) text(s string) string {
	if s == "" {
		return ""
	}
	return m.mask.String(s, m.counts)
}

func (m *rowMaker) maskEvents(in []otlp.SpanEvent) []otlp.SpanEvent {
	if len(in) == 0 {
		return nil
	}
	out := make([]otlp.SpanEvent, len(in))
	for i, e := range in {
		out[i] = otlp.SpanEvent{Name: m.text(e.Name), TimeUnixNano: e.TimeUnixNano, Attributes: m.maskAttributes(e.Attributes)}
	}
	return out
}

// maskAttributes masks a sorted list. A list in which nothing changes, the usual case, is returned as it is.
func (m *rowMaker) maskAttributes(kvs []otlp.KeyValue) []otlp.KeyValue {
	out, keys := kvs, false
	for i := range kvs {
		kv := &kvs[i]
		key, val, same := m.text(kv.Key), kv.Value, true
		if kind := val.Kind(); kind >= otlp.KindBytes || kind == otlp.KindString {
			val, same = m.masked(m.pairedKey(kvs, i), val)
		}
		if same && key == kv.Key {
			continue
		}
		if &out[0] == &kvs[0] {
			out = slices.Clone(kvs)
		}
		keys = keys || key != kv.Key
		out[i] = otlp.KeyValue{Key: key, Value: val}
	}
	if keys {
		slices.SortStableFunc(out, func(a, b otlp.KeyValue) int { return strings.Compare(a.Key, b.Key) })
	}
	return out
}

func (m *rowMaker) maskValue(key string, v otlp.Value) otlp.Value {
	v, _ = m.masked(key, v)
	return v
}

// masked is v masked, and whether it is the same.
func (m *rowMaker) masked(key string, v otlp.Value) (out otlp.Value, same bool) {
	switch v.Kind() {
	case otlp.KindString:
		s := m.mask.Leaf(key, v.Str(), m.counts)
		return otlp.StringValue(s), s == v.Str()
	case otlp.KindBytes:
		// Bytes may hold text: what a masker would change in it is not kept.
		if s := m.mask.Leaf(key, v.Bytes(), m.counts); s != v.Bytes() {
			return otlp.StringValue(s), false
		}
	case otlp.KindArray:
		list := v.Array()
		for i := range list {
			e, same := m.masked(key, list[i])
			if same {
				continue
			}
			if &list[0] == &v.Array()[0] {
				list = slices.Clone(list)
			}
			list[i] = e
		}
		if len(list) > 0 && &list[0] != &v.Array()[0] {
			return otlp.ArrayValue(list), false
		}
	case otlp.KindMap:
		kvs := v.Map()
		if got := m.maskAttributes(kvs); len(kvs) > 0 && &got[0] != &kvs[0] {
			return otlp.MapValue(got), false
		}
	}
	return v, true
}

// hashRow is the record hash, over the stored form. A log's excludes what an exporter may set differently when it sends the
// same record again: resource, severity and observed time.
func (m *rowMaker) hashRow(r *schema.Span) string {
	b := binary.BigEndian.AppendUint64(m.hash[:0], uint64(r.StartedUnixNano))
	b = binary.BigEndian.AppendUint64(b, uint64(r.EndedUnixNano))
	for _, p := range [...]string{r.Signal, r.TraceID, r.SpanID, r.ScopeName, r.Name, r.Body, r.Attributes} {
		b = append(binary.BigEndian.AppendUint64(b, uint64(len(p))), p...)
	}
	more := []string{r.Service}
	if r.Signal == "span" {
		more = []string{r.ParentSpanID, r.Kind, r.ScopeVersion, r.Status, r.StatusMessage, r.Events, r.Resource}
	}
	for _, p := range more {
		b = append(binary.BigEndian.AppendUint64(b, uint64(len(p))), p...)
	}
	m.hash = b
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
