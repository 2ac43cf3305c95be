package pipeline

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"github.com/tracejury/tracejury/pipeline/convention"
	"github.com/tracejury/tracejury/pipeline/mask"
	"github.com/tracejury/tracejury/pipeline/otlp"
	"github.com/tracejury/tracejury/schema"
)

// futureMargin is how far beyond as-of a record's time may lie before it is not believed: clocks differ, days do not.
const futureMargin = 24 * time.Hour

// rowMaker turns decoded records into stored rows: masked, in canonical form, hashed. It is not safe for concurrent use.
type rowMaker struct {
	mask   *mask.Masker
	counts mask.Counts
	tenant string
	object string
	future int64 // times after this are not believed
	buf    []byte

	resource     *otlp.Resource // the last one seen, and its stored form
	resourceAttr []otlp.KeyValue
	resourceJSON string
	service      string
}

// row makes the stored row of rec and the view of it that conventions read. The row owns its strings.
func (m *rowMaker) row(rec *otlp.Record, index int64) (schema.Span, convention.Record) {
	if rec.Resource != m.resource || rec.Resource == nil {
		m.setResource(rec.Resource)
	}
	attrs := m.maskAttributes(rec.Attributes)
	events := make([]otlp.SpanEvent, len(rec.Events))
	for i, e := range rec.Events {
		events[i] = otlp.SpanEvent{Name: m.text(e.Name), TimeUnixNano: e.TimeUnixNano, Attributes: m.maskAttributes(e.Attributes)}
	}
	body := m.maskValue("body", rec.Body)
	row := schema.Span{
		Tenant: m.tenant, Signal: "span",
		TraceID: strings.Clone(rec.TraceID), SpanID: strings.Clone(rec.SpanID), ParentSpanID: strings.Clone(rec.ParentSpanID),
		Name: m.text(rec.Name), Kind: rec.Kind, ScopeName: m.text(rec.ScopeName), ScopeVersion: m.text(rec.ScopeVersion),
		Service: m.service, Status: rec.Status, StatusMessage: m.text(rec.StatusMessage), Severity: m.text(rec.Severity),
		StartedUnixNano: rec.StartUnixNano, EndedUnixNano: rec.EndUnixNano, TimeQuality: m.quality(rec),
		Resource: m.resourceJSON, SourceObject: m.object, SourceIndex: index,
	}
	row.StartedAt, row.EndedAt = row.StartedUnixNano/1000, row.EndedUnixNano/1000
	if len(attrs) > 0 {
		row.Attributes = string(otlp.AppendAttributes(m.buf[:0], attrs))
	}
	if len(events) > 0 {
		row.Events = string(otlp.AppendEvents(m.buf[:0], events))
	}
	if body.Kind() != otlp.KindNull {
		row.Body = string(otlp.AppendValue(m.buf[:0], body))
	}
	if rec.Signal == otlp.SignalLog {
		row.Signal = "log"
	}
	row.RecordSHA256 = hashRow(&row)
	if row.Signal == "span" && row.SpanID == "" {
		row.SpanID = row.RecordSHA256[:16] // a span without an id is still a span, and the same one each time
	}
	return row, convention.Record{Row: &row, Attributes: attrs, Resource: m.resourceAttr, Events: events, Body: body}
}

func (m *rowMaker) setResource(r *otlp.Resource) {
	m.resource, m.resourceAttr, m.resourceJSON, m.service = r, nil, "", ""
	if r == nil || len(r.Attributes) == 0 {
		return
	}
	m.resourceAttr = m.maskAttributes(r.Attributes)
	m.resourceJSON = string(otlp.AppendAttributes(nil, m.resourceAttr))
	m.service = convention.Attributes(m.resourceAttr).Str("service.name")
}

func (m *rowMaker) quality(rec *otlp.Record) string {
	if rec.StartUnixNano == 0 {
		return otlp.QualityMissing.String()
	}
	if rec.StartUnixNano > m.future {
		return otlp.QualityFuture.String()
	}
	return rec.TimeQuality.String()
}

// text masks a string and copies it out of the decoder's buffers.
func (m *rowMaker) text(s string) string {
	if s == "" {
		return ""
	}
	return strings.Clone(m.mask.String(s, m.counts))
}

func (m *rowMaker) maskAttributes(kvs []otlp.KeyValue) []otlp.KeyValue {
	out := make([]otlp.KeyValue, len(kvs))
	for i, kv := range kvs {
		out[i] = otlp.KeyValue{Key: m.text(kv.Key), Value: m.maskValue(kv.Key, kv.Value)}
	}
	return out
}

func (m *rowMaker) maskValue(key string, v otlp.Value) otlp.Value {
	switch v.Kind() {
	case otlp.KindString:
		return otlp.StringValue(strings.Clone(m.mask.Leaf(key, v.Str(), m.counts)))
	case otlp.KindBytes:
		// Bytes may hold text: what a masker would change in it is not kept.
		if s := m.mask.Leaf(key, v.Bytes(), m.counts); s != v.Bytes() {
			return otlp.StringValue(strings.Clone(s))
		}
		return otlp.BytesValue(strings.Clone(v.Bytes()))
	case otlp.KindArray:
		list := make([]otlp.Value, len(v.Array()))
		for i, e := range v.Array() {
			list[i] = m.maskValue(key, e)
		}
		return otlp.ArrayValue(list)
	case otlp.KindMap:
		return otlp.MapValue(m.maskAttributes(v.Map()))
	default:
		return v
	}
}

// hashRow is the record hash, over the stored form. A log's excludes what an exporter may set differently when it sends the
// same record again: resource, severity and observed time.
func hashRow(r *schema.Span) string {
	h := sha256.New()
	var num [16]byte
	binary.BigEndian.PutUint64(num[:8], uint64(r.StartedUnixNano))
	binary.BigEndian.PutUint64(num[8:], uint64(r.EndedUnixNano))
	h.Write(num[:])
	parts := []string{r.Signal, r.TraceID, r.SpanID, r.ScopeName, r.Name, r.Body, r.Attributes}
	if r.Signal == "span" {
		parts = append(parts, r.ParentSpanID, r.Kind, r.ScopeVersion, r.Status, r.StatusMessage, r.Events, r.Resource)
	} else {
		parts = append(parts, r.Service)
	}
	for _, p := range parts {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		h.Write([]byte(p))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// spanStrings lists the text fields of a row in the order in which they are spilled. The session comes first, so that spilled
// rows sort by session.
func spanStrings(r *schema.Span) []*string {
	return []*string{&r.SessionKey, &r.Tenant, &r.Signal, &r.TraceID, &r.SpanID, &r.RecordSHA256, &r.ParentSpanID, &r.Name, &r.Kind,
		&r.ScopeName, &r.ScopeVersion, &r.Service, &r.TimeQuality, &r.Status, &r.StatusMessage, &r.Severity, &r.Attributes, &r.Events,
		&r.Body, &r.Resource, &r.SourceObject}
}

// appendSpan encodes a row for spilling. stored says that it came from the lake.
func appendSpan(dst []byte, r *schema.Span, stored bool) []byte {
	for _, s := range spanStrings(r) {
		dst = binary.AppendUvarint(dst, uint64(len(*s)))
		dst = append(dst, *s...)
	}
	for _, n := range []int64{r.StartedUnixNano, r.EndedUnixNano, r.SourceIndex} {
		dst = binary.AppendVarint(dst, n)
	}
	if stored {
		return append(dst, 1)
	}
	return append(dst, 0)
}

var errSpill = errors.New("damaged spilled row")

func decodeSpan(b []byte) (r schema.Span, stored bool, err error) {
	for _, s := range spanStrings(&r) {
		n, w := binary.Uvarint(b)
		if w <= 0 || n > uint64(len(b)-w) {
			return r, false, errSpill
		}
		*s, b = string(b[w:w+int(n)]), b[w+int(n):]
	}
	for _, p := range []*int64{&r.StartedUnixNano, &r.EndedUnixNano, &r.SourceIndex} {
		n, w := binary.Varint(b)
		if w <= 0 {
			return r, false, errSpill
		}
		*p, b = n, b[w:]
	}
	if len(b) != 1 {
		return r, false, errSpill
	}
	r.StartedAt, r.EndedAt = r.StartedUnixNano/1000, r.EndedUnixNano/1000
	return r, b[0] == 1, nil
}
