package otlpgen

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"pgregory.net/rapid"
)

// reference decodes both encodings with the collector's own decoder and gives each back as protobuf, with the number of
// records.
func reference(tb testing.TB, signal Signal, jsonDoc, protoDoc []byte) (fromJSON, fromProto []byte, records int) {
	tb.Helper()
	check := func(err error) {
		if err != nil {
			tb.Helper()
			tb.Fatalf("%s: the reference decoder refuses: %v\n%.300s", signal, err, jsonDoc)
		}
	}
	switch signal {
	case Traces:
		a, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(jsonDoc)
		check(err)
		b, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(protoDoc)
		check(err)
		fromJSON, err = (&ptrace.ProtoMarshaler{}).MarshalTraces(a)
		check(err)
		fromProto, err = (&ptrace.ProtoMarshaler{}).MarshalTraces(b)
		check(err)
		return fromJSON, fromProto, b.SpanCount()
	case Logs:
		a, err := (&plog.JSONUnmarshaler{}).UnmarshalLogs(jsonDoc)
		check(err)
		b, err := (&plog.ProtoUnmarshaler{}).UnmarshalLogs(protoDoc)
		check(err)
		fromJSON, err = (&plog.ProtoMarshaler{}).MarshalLogs(a)
		check(err)
		fromProto, err = (&plog.ProtoMarshaler{}).MarshalLogs(b)
		check(err)
		return fromJSON, fromProto, b.LogRecordCount()
	}
	a, err := (&pmetric.JSONUnmarshaler{}).UnmarshalMetrics(jsonDoc)
	check(err)
	b, err := (&pmetric.ProtoUnmarshaler{}).UnmarshalMetrics(protoDoc)
	check(err)
	fromJSON, err = (&pmetric.ProtoMarshaler{}).MarshalMetrics(a)
	check(err)
	fromProto, err = (&pmetric.ProtoMarshaler{}).MarshalMetrics(b)
	check(err)
	return fromJSON, fromProto, b.DataPointCount()
}

func TestBothEncodingsAreValidAndEqual(t *testing.T) {
	for _, s := range slices.Concat(helpdeskSessions(), opsSessions()) {
		for i, c := range render(s) {
			for _, signal := range []Signal{Traces, Logs, Metrics} {
				jsonDoc, protoDoc := AppendJSON(nil, signal, c.groups), AppendProto(nil, signal, c.groups)
				a, b, n := reference(t, signal, jsonDoc, protoDoc)
				if string(a) != string(b) {
					t.Errorf("%s turn %d: %s as JSON and as protobuf differ", s.Name, i+1, signal)
				}
				if want := signal.records(c.groups); n != want {
					t.Errorf("%s turn %d: %d %s, want %d", s.Name, i+1, n, signal, want)
				}
			}
		}
	}
}

func TestEncodingsOfAnyValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String()
		double := rapid.Float64().Draw(t, "double")
		if rapid.Bool().Draw(t, "infinite") {
			double = math.Inf(1)
		}
		s := Span{TraceID: TraceID{1}, SpanID: SpanID{2}, Name: text.Draw(t, "name"), Kind: 1, Start: rapid.Int64Min(1).Draw(t, "start"), End: 2,
			StatusMessage: text.Draw(t, "message"),
			Attributes: []KeyValue{
				str(text.Draw(t, "key"), text.Draw(t, "value")),
				num("int", rapid.Int64().Draw(t, "int")),
				yes("bool", rapid.Bool().Draw(t, "bool")),
				dbl("double", double),
				list("list", rapid.SliceOfN(text, 0, 4).Draw(t, "list")...),
				{Key: "null"},
			},
			Events: []SpanEvent{{Name: text.Draw(t, "event"), At: 1, Attributes: []KeyValue{str("k", text.Draw(t, "event value"))}}}}
		groups := []Group{{Resource: resource(str("service.name", text.Draw(t, "service"))), Scope: Scope{Name: text.Draw(t, "scope")}, Spans: []Span{s, s}}}
		jsonDoc := AppendJSON(nil, Traces, groups)
		if !json.Valid(jsonDoc) {
			t.Fatalf("not JSON: %s", jsonDoc)
		}
		a, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(jsonDoc)
		if err != nil {
			t.Fatal(err)
		}
		b, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(AppendProto(nil, Traces, groups))
		if err != nil {
			t.Fatal(err)
		}
		x, _ := (&ptrace.ProtoMarshaler{}).MarshalTraces(a)
		y, _ := (&ptrace.ProtoMarshaler{}).MarshalTraces(b)
		if string(x) != string(y) {
			t.Fatalf("JSON and protobuf differ\n%s", jsonDoc)
		}
	})
}

func TestRawJSON(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want raw
	}{
		{"keys keep their order", jobj("b", "1", "a", raw("2")), `{"b":"1","a":2}`},
		{"an empty raw is left out", jobj("a", raw(""), "b", ""), `{"b":""}`},
		{"control characters are escaped", jstr("a\x00\n\"\\é"), `"a\u0000\n\"\\é"`},
		{"an empty array", jarr(), `[]`},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, c.got, c.want)
		}
	}
}
