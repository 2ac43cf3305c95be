package session

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/tracejury/tracejury/pipeline/otlp"
	"github.com/tracejury/tracejury/schema"
)

func kv(k, v string) otlp.KeyValue { return otlp.KeyValue{Key: k, Value: otlp.StringValue(v)} }

func TestCandidateID(t *testing.T) {
	tests := []struct {
		name            string
		attrs, resource []otlp.KeyValue
		extra           []string
		id, source      string
	}{
		{"session before conversation", []otlp.KeyValue{kv("gen_ai.conversation.id", "c"), kv("session.id", "s")}, nil, nil, "s", "session.id"},
		{"extra first", []otlp.KeyValue{kv("my.id", "m"), kv("session.id", "s")}, nil, []string{"my.id"}, "m", "my.id"},
		{"blank is none", []otlp.KeyValue{kv("gen_ai.conversation.id", "c"), kv("session.id", " ")}, nil, nil, "c", "gen_ai.conversation.id"},
		{"resource last", []otlp.KeyValue{kv("plano.session_id", "p")}, []otlp.KeyValue{kv("session.id", "r")}, nil, "p", "plano.session_id"},
		{"resource", nil, []otlp.KeyValue{kv("session.id", "r")}, nil, "r", "session.id"},
		{"number", []otlp.KeyValue{{Key: "session.id", Value: otlp.IntValue(7)}}, nil, nil, "7", "session.id"},
		{"none", []otlp.KeyValue{kv("user.id", "u")}, nil, nil, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			id, source, ok := CandidateID(tt.attrs, tt.resource, tt.extra)
			if id != tt.id || source != tt.source || ok != (tt.id != "") {
				t.Errorf("got %q from %q, %v", id, source, ok)
			}
		})
	}
}

func row(signal, span, parent, service, attrs string) *schema.Span {
	return &schema.Span{Signal: signal, TraceID: "t", SpanID: span, ParentSpanID: parent, Service: service, Attributes: attrs, StartedUnixNano: epoch}
}

func TestAssign(t *testing.T) {
	const s1, s2 = `{"session.id":"s1"}`, `{"session.id":"s2"}`
	tests := []struct {
		name string
		rows []*schema.Span
		want []string // ids
	}{
		{"own, then nearest ancestor", []*schema.Span{row("span", "a", "", "x", s1), row("span", "b", "a", "x", ""), row("span", "c", "b", "x", s2), row("span", "d", "c", "y", "")},
			[]string{"s1", "s1", "s2", "s2"}},
		{"majority for what has no ancestor", []*schema.Span{row("span", "a", "", "x", s1), row("span", "b", "", "x", s1), row("span", "c", "", "x", s2), row("span", "d", "gone", "x", "")},
			[]string{"s1", "s1", "s2", "s1"}},
		{"the trace itself", []*schema.Span{row("span", "a", "", "x", ""), row("log", "", "", "y", "")}, []string{"t", "t"}},
		{"a log in a span", []*schema.Span{row("span", "a", "", "x", s1), row("span", "b", "", "x", s2), row("log", "b", "", "x", "")}, []string{"s1", "s2", "s2"}},
		{"a span of an id that only its log carries", []*schema.Span{row("span", "a", "", "x", ""), row("log", "a", "", "x", s1)}, []string{"s1", "s1"}},
		{"a circle of parents", []*schema.Span{row("span", "a", "b", "x", ""), row("span", "b", "a", "x", "")}, []string{"t", "t"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for i, id := range Assign("default", tt.rows, nil) {
				if id.ID != tt.want[i] || id.Key != Key("default", id.Service, id.ID) {
					t.Errorf("row %d: %+v, want %s", i, id, tt.want[i])
				}
			}
		})
	}
}

func TestAssignOneIDOfTwoServices(t *testing.T) {
	rows := []*schema.Span{row("span", "a", "", "client", `{"session.id":"s"}`), row("span", "b", "a", "server", `{"gen_ai.conversation.id":"s"}`)}
	ids := Assign("default", rows, nil)
	if ids[0] != ids[1] || ids[0].Service != "client" || ids[0].Source != "session.id" {
		t.Errorf("%+v", ids)
	}
}

func TestAssignWithoutTrace(t *testing.T) {
	r := row("log", "", "", "svc", "")
	r.TraceID = ""
	own := row("log", "", "", "svc", `{"session.id":"s"}`)
	own.TraceID = ""
	ids := Assign("default", []*schema.Span{r, own}, nil)
	if ids[0].ID != "untraced-2026-11-29" && ids[0].ID != "untraced-2026-11-30" || ids[0].Source != SourceNone || ids[0].Service != "svc" {
		t.Errorf("%+v", ids[0])
	}
	if ids[1].ID != "s" {
		t.Errorf("%+v", ids[1])
	}
}

func TestAssignIsPure(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		spans := rapid.SampledFrom([]string{"", "a", "b", "c", "d"})
		attrs := rapid.SampledFrom([]string{"", "", `{"session.id":"s1"}`, `{"session.id":"s2"}`, `{"gen_ai.conversation.id":"s1"}`})
		services := rapid.SampledFrom([]string{"x", "y"})
		signals := rapid.SampledFrom([]string{"span", "log"})
		n := rapid.IntRange(1, 9).Draw(rt, "rows")
		rows := make([]*schema.Span, n)
		for i := range rows {
			rows[i] = row(signals.Draw(rt, "signal"), spans.Draw(rt, "span"), spans.Draw(rt, "parent"), services.Draw(rt, "service"), attrs.Draw(rt, "attrs"))
		}
		want := map[*schema.Span]Ident{}
		for i, id := range Assign("default", rows, nil) {
			want[rows[i]] = id
		}
		mixed := rapid.Permutation(rows).Draw(rt, "order")
		got := map[*schema.Span]Ident{}
		for i, id := range Assign("default", mixed, nil) {
			got[mixed[i]] = id
		}
		if !reflect.DeepEqual(got, want) {
			rt.Fatalf("order reached the identity: %v, want %v", got, want)
		}
	})
}

func TestDedupe(t *testing.T) {
	s := func(span, hash, attrs string, end int64, object string, index int64) schema.Span {
		return schema.Span{Signal: "span", TraceID: "t", SpanID: span, RecordSHA256: hash, Attributes: attrs, StartedUnixNano: 1, EndedUnixNano: end, SourceObject: object, SourceIndex: index}
	}
	tests := []struct {
		name string
		rows []schema.Span
		want string // hash kept
		from string
	}{
		{"an end", []schema.Span{s("a", "1", `{"x":1,"y":2}`, 0, "o", 1), s("a", "2", `{}`, 5, "o", 2)}, "2", "o"},
		{"more attributes", []schema.Span{s("a", "1", `{"x":{"z":1,"u":2},"y":"a,b"}`, 5, "o", 1), s("a", "2", `{"x":1}`, 9, "o", 2)}, "1", "o"},
		{"longer", []schema.Span{s("a", "1", `{"x":1}`, 5, "o", 1), s("a", "2", `{"x":1}`, 9, "o", 2)}, "2", "o"},
		{"greater hash", []schema.Span{s("a", "1", `{"x":1}`, 5, "o", 1), s("a", "2", `{"x":2}`, 5, "o", 2)}, "2", "o"},
		{"smallest source of equals", []schema.Span{s("a", "1", ``, 5, "q", 1), s("a", "1", ``, 5, "p", 9)}, "1", "p"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for range 2 {
				kept, dropped := Dedupe(tt.rows)
				if len(kept) != 1 || dropped != 1 || kept[0].RecordSHA256 != tt.want || kept[0].SourceObject != tt.from {
					t.Errorf("kept %+v, dropped %d", kept, dropped)
				}
				tt.rows[0], tt.rows[1] = tt.rows[1], tt.rows[0]
			}
		})
	}
}

func TestDt(t *testing.T) {
	rows := []schema.Span{{TimeQuality: "future", StartedUnixNano: 9e18}, {TimeQuality: "missing"}}
	if got := Dt(rows); got != schema.UnknownDay {
		t.Errorf("no usable time: %s", got)
	}
	rows = append(rows, schema.Span{TimeQuality: "imprecise", StartedUnixNano: 1_796_083_200_000_000_000})
	if got := Dt(rows); got != "2026-12-01" {
		t.Errorf("got %s", got)
	}
}
