package otlp

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// model is a record written out, so that two decoders can be compared.
func model(r *Record) string {
	var b strings.Builder
	fmt.Fprintf(&b, "sig=%d res=%s scope=%q/%q ids=%s/%s/%s name=%q kind=%s t=%d..%d obs=%v status=%s/%q sev=%s attrs=%s events=%s body=%s",
		r.Signal, AppendAttributes(nil, r.Resource.Attributes), r.ScopeName, r.ScopeVersion, r.TraceID, r.SpanID, r.ParentSpanID,
		r.Name, r.Kind, r.StartUnixNano, r.EndUnixNano, r.ObservedTime, r.Status, r.StatusMessage, r.Severity,
		AppendAttributes(nil, r.Attributes), AppendEvents(nil, r.Events), AppendValue(nil, r.Body))
	return b.String()
}

// pdataModels decodes with the collector's library; ok is false when that rejects the document.
func pdataModels(doc []byte, proto bool) (models []string, points int, ok bool) {
	traces, err1 := unmarshalTraces(doc, proto)
	logs, err2 := unmarshalLogs(doc, proto)
	metrics, err3 := unmarshalMetrics(doc, proto)
	if !proto && (err1 != nil || err2 != nil || err3 != nil) {
		return nil, 0, false
	}
	if err1 == nil && (!proto || plausibleTraces(traces)) {
		for _, rs := range traces.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				for _, s := range ss.Spans().All() {
					models = append(models, model(pdataSpan(rs.Resource(), ss.Scope(), s)))
				}
			}
		}
		if proto {
			return models, 0, true
		}
	}
	if err2 == nil && (!proto || plausibleLogs(logs)) {
		for _, rs := range logs.ResourceLogs().All() {
			for _, ss := range rs.ScopeLogs().All() {
				for _, s := range ss.LogRecords().All() {
					models = append(models, model(pdataLog(rs.Resource(), ss.Scope(), s)))
				}
			}
		}
		if proto {
			return models, 0, true
		}
	}
	return models, metrics.DataPointCount(), err3 == nil
}

func unmarshalTraces(doc []byte, proto bool) (ptrace.Traces, error) {
	if proto {
		return new(ptrace.ProtoUnmarshaler).UnmarshalTraces(doc)
	}
	return new(ptrace.JSONUnmarshaler).UnmarshalTraces(doc)
}

func unmarshalLogs(doc []byte, proto bool) (plog.Logs, error) {
	if proto {
		return new(plog.ProtoUnmarshaler).UnmarshalLogs(doc)
	}
	return new(plog.JSONUnmarshaler).UnmarshalLogs(doc)
}

func unmarshalMetrics(doc []byte, proto bool) (pmetric.Metrics, error) {
	if proto {
		return new(pmetric.ProtoUnmarshaler).UnmarshalMetrics(doc)
	}
	return new(pmetric.JSONUnmarshaler).UnmarshalMetrics(doc)
}

func plausibleTraces(t ptrace.Traces) bool {
	for _, rs := range t.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				return !s.TraceID().IsEmpty() && s.StartTimestamp() != 0
			}
		}
	}
	return false
}

func plausibleLogs(l plog.Logs) bool {
	for _, rs := range l.ResourceLogs().All() {
		for _, ss := range rs.ScopeLogs().All() {
			for _, s := range ss.LogRecords().All() {
				return s.Timestamp() != 0 || s.ObservedTimestamp() != 0
			}
		}
	}
	return false
}

func pdataSpan(res pcommon.Resource, scope pcommon.InstrumentationScope, s ptrace.Span) *Record {
	r := &Record{
		Signal: SignalSpan, Resource: &Resource{Attributes: pdataMap(res.Attributes())},
		ScopeName: clean(scope.Name()), ScopeVersion: clean(scope.Version()),
		TraceID: s.TraceID().String(), SpanID: s.SpanID().String(), ParentSpanID: s.ParentSpanID().String(),
		Name: clean(s.Name()), StartUnixNano: int64(s.StartTimestamp()), EndUnixNano: int64(s.EndTimestamp()),
		Status: strings.ToLower(s.Status().Code().String()), StatusMessage: clean(s.Status().Message()),
		Attributes: pdataMap(s.Attributes()),
	}
	if k := int(s.Kind()); k >= 0 && k < len(kinds) {
		r.Kind = kinds[k]
	}
	if r.Status == "" {
		r.Status = "unset"
	}
	clampTimes(r)
	for _, e := range s.Events().All() {
		r.Events = append(r.Events, SpanEvent{Name: clean(e.Name()), TimeUnixNano: int64(e.Timestamp()), Attributes: pdataMap(e.Attributes())})
	}
	return r
}

func pdataLog(res pcommon.Resource, scope pcommon.InstrumentationScope, l plog.LogRecord) *Record {
	r := &Record{
		Signal: SignalLog, Resource: &Resource{Attributes: pdataMap(res.Attributes())},
		ScopeName: clean(scope.Name()), ScopeVersion: clean(scope.Version()),
		TraceID: l.TraceID().String(), SpanID: l.SpanID().String(),
		StartUnixNano: int64(l.Timestamp()), Severity: clean(l.SeverityText()),
		Attributes: pdataMap(l.Attributes()), Body: pdataValue(l.Body()),
	}
	r.Name = eventName(r.Attributes, clean(l.EventName()))
	if r.StartUnixNano == 0 && l.ObservedTimestamp() != 0 {
		r.StartUnixNano, r.ObservedTime = int64(l.ObservedTimestamp()), true
	}
	clampTimes(r)
	if n := int(l.SeverityNumber()); r.Severity == "" && n > 0 && n < len(severities) {
		r.Severity = severities[n]
	}
	return r
}

// clampTimes is what we promise of times beyond int64, which pdata converts to negative ones, and of times in other units.
func clampTimes(r *Record) {
	for _, t := range []*int64{&r.StartUnixNano, &r.EndUnixNano} {
		*t = unsigned(uint64(*t)).nano
	}
	if r.EndUnixNano != 0 {
		r.EndUnixNano = max(r.EndUnixNano, r.StartUnixNano)
	}
	for i := range r.Events {
		t := &r.Events[i].TimeUnixNano
		*t = unsigned(uint64(*t)).nano
	}
}

func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

func pdataMap(m pcommon.Map) []KeyValue {
	var kvs []KeyValue
	for k, v := range m.All() {
		kvs = append(kvs, KeyValue{clean(k), pdataValue(v)})
	}
	kvs, _ = new(sorter).into(new(slab[KeyValue]), kvs)
	return kvs
}

func pdataValue(v pcommon.Value) Value {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		return StringValue(clean(v.Str()))
	case pcommon.ValueTypeBool:
		return BoolValue(v.Bool())
	case pcommon.ValueTypeInt:
		return IntValue(v.Int())
	case pcommon.ValueTypeDouble:
		return DoubleValue(v.Double())
	case pcommon.ValueTypeBytes:
		return BytesValue(string(v.Bytes().AsRaw()))
	case pcommon.ValueTypeMap:
		return MapValue(pdataMap(v.Map()))
	case pcommon.ValueTypeSlice:
		var list []Value
		for _, e := range v.Slice().All() {
			list = append(list, pdataValue(e))
		}
		return ArrayValue(list)
	}
	return Value{}
}

// oursModels decodes a copy of doc and checks what holds for every record.
func oursModels(t testing.TB, doc []byte, proto bool) ([]string, Stats, []Fault) {
	t.Helper()
	d := NewDecoder(Limits{})
	var models []string
	visit := func(r *Record) error {
		checkRecord(t, r)
		models = append(models, model(r))
		return nil
	}
	decode := d.JSON
	if proto {
		decode = d.Proto
	}
	stats, faults, err := decode(bytes.Clone(doc), visit)
	if err != nil {
		t.Fatalf("decoding: %v", err)
	}
	if n := int(stats.Spans + stats.Logs); n != len(models) {
		t.Fatalf("stats count %d records, %d were visited", n, len(models))
	}
	for _, f := range faults {
		if f.Offset < 0 || f.Length < 0 || f.Offset+f.Length > int64(len(doc)) || f.Reason == "" {
			t.Fatalf("fault %+v of a document of %d bytes", f, len(doc))
		}
	}
	return models, stats, faults
}

// checkRecord is the contract of Record.
func checkRecord(t testing.TB, r *Record) {
	t.Helper()
	id := func(s string, digits int) {
		if s == "" {
			return
		}
		if raw, err := hex.DecodeString(s); err != nil || len(raw)*2 != digits || s != strings.ToLower(s) || strings.Trim(s, "0") == "" {
			t.Fatalf("id %q", s)
		}
	}
	id(r.TraceID, traceDigits)
	id(r.SpanID, spanDigits)
	id(r.ParentSpanID, spanDigits)
	if r.Signal != SignalSpan && r.Signal != SignalLog || r.Resource == nil {
		t.Fatalf("record %+v", r)
	}
	if r.StartUnixNano < 0 || r.EndUnixNano < 0 || r.EndUnixNano != 0 && r.EndUnixNano < r.StartUnixNano {
		t.Fatalf("times %d..%d", r.StartUnixNano, r.EndUnixNano)
	}
	for _, s := range []string{r.Name, r.ScopeName, r.ScopeVersion, r.StatusMessage, r.Severity} {
		if s != clean(s) {
			t.Fatalf("string %q is not clean", s)
		}
	}
	checkKVs(t, r.Attributes)
	checkKVs(t, r.Resource.Attributes)
	for _, e := range r.Events {
		checkKVs(t, e.Attributes)
	}
	checkValue(t, r.Body)
}

func checkKVs(t testing.TB, kvs []KeyValue) {
	t.Helper()
	if !slices.IsSortedFunc(kvs, func(a, b KeyValue) int { return strings.Compare(a.Key, b.Key) }) {
		t.Fatalf("keys not sorted: %s", AppendAttributes(nil, kvs))
	}
	for i, kv := range kvs {
		if kv.Key != clean(kv.Key) || i > 0 && kvs[i-1].Key == kv.Key {
			t.Fatalf("key %q is not clean or comes twice", kv.Key)
		}
		checkValue(t, kv.Value)
	}
}

func checkValue(t testing.TB, v Value) {
	t.Helper()
	if v.Str() != clean(v.Str()) {
		t.Fatalf("string %q is not clean", v.Str())
	}
	for _, e := range v.Array() {
		checkValue(t, e)
	}
	checkKVs(t, v.Map())
}

// sharedFiles calls f with every file below the shared real data, decompressed.
func sharedFiles(t testing.TB, f func(name string, body []byte)) {
	root := os.Getenv("TRACEJURY_SHARED")
	if root == "" {
		t.Skip("TRACEJURY_SHARED is not set: the captures of real clients are not part of the repository")
	}
	for _, dir := range []string{"captures", "samples"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			body, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			rel, _ := filepath.Rel(root, path)
			f(rel, inflate(body))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func inflate(body []byte) []byte {
	var out bytes.Buffer
	if r, err := gzip.NewReader(bytes.NewReader(body)); err == nil {
		if _, err := out.ReadFrom(r); err == nil {
			return out.Bytes()
		}
	}
	if bytes.HasPrefix(body, []byte("\x28\xb5\x2f\xfd")) {
		r, _ := zstd.NewReader(nil)
		defer r.Close()
		if b, err := r.DecodeAll(body, nil); err == nil {
			return b
		}
	}
	return body
}

// TestAgainstPdata decodes every real document that the collector's library accepts, and wants the same records.
func TestAgainstPdata(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine: nothing for the race detector")
	}
	docs, records, rejected := 0, 0, 0
	sharedFiles(t, func(name string, body []byte) {
		proto := len(body) > 0 && body[0] == '\n'
		list := [][]byte{body}
		if strings.HasSuffix(strings.TrimSuffix(name, ".zst"), ".jsonl") {
			list = bytes.Split(body, []byte("\n"))
		} else if !proto && (len(body) == 0 || body[0] != '{') {
			return
		}
		for i, doc := range list {
			want, points, ok := pdataModels(doc, proto)
			if !ok {
				rejected++
				continue
			}
			if len(want) == 0 && points == 0 {
				continue
			}
			got, stats, _ := oursModels(t, doc, proto)
			if stats.Shape == "tempo" || stats.Shape == "unknown" {
				t.Errorf("%s %d: shape %s", name, i, stats.Shape)
			}
			docs++
			records += len(want)
			if int(stats.MetricPoints) != points {
				t.Errorf("%s %d: %d metric points, pdata %d", name, i, stats.MetricPoints, points)
			}
			if len(got) != len(want) {
				t.Errorf("%s %d: %d records, pdata %d", name, i, len(got), len(want))
				continue
			}
			for j := range got {
				if got[j] != want[j] {
					t.Errorf("%s %d record %d:\n got %s\nwant %s", name, i, j, got[j], want[j])
					return
				}
			}
		}
	})
	t.Logf("%d documents, %d records equal; pdata rejects %d", docs, records, rejected)
	if docs < 300 {
		t.Errorf("only %d documents were compared", docs)
	}
}
