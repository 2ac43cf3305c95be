package otlp

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

const (
	traceHex = "0af7651916cd43dd8448eb211c80319c"
	spanHex  = "b7ad6b7169203331"
)

// spanDoc is an OTLP document of one span with the given members.
func spanDoc(members string) string {
	return `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"svc"}}]},"scopeSpans":[{"scope":{"name":"sc"},"spans":[{` + members + `}]}]}]}`
}

func attrDoc(value string) string {
	return spanDoc(`"name":"n","attributes":[{"key":"k","value":` + value + `}]`)
}

// brief writes the parts of a record that a case is about: those that are not empty.
func brief(r *Record) string {
	var b strings.Builder
	add := func(name, v string) {
		if v != "" && v != "{}" && v != "[]" && v != "null" && v != "0" {
			fmt.Fprintf(&b, " %s=%s", name, v)
		}
	}
	add("name", r.Name)
	add("trace", r.TraceID)
	add("span", r.SpanID)
	add("parent", r.ParentSpanID)
	add("kind", r.Kind)
	if r.Status != "unset" {
		add("status", r.Status)
	}
	add("message", r.StatusMessage)
	add("severity", r.Severity)
	add("start", fmt.Sprint(r.StartUnixNano))
	add("end", fmt.Sprint(r.EndUnixNano))
	if r.TimeQuality != QualityMissing {
		add("quality", r.TimeQuality.String())
	}
	add("attrs", string(AppendAttributes(nil, r.Attributes)))
	add("events", string(AppendEvents(nil, r.Events)))
	add("body", string(AppendValue(nil, r.Body)))
	return strings.TrimPrefix(b.String(), " ")
}

type quirk struct {
	name, doc string
	want      string // briefs, joined by " | "
	count     string // which counters are not 0, as name=n
	shape     string // otlp_json by default
	faults    int
}

func counters(s Stats) string {
	var parts []string
	for _, c := range []struct {
		name string
		n    int64
	}{
		{"metrics", s.MetricPoints}, {"skipped", s.Skipped}, {"duplicates", s.DuplicateKeys}, {"multiple", s.MultipleValues},
		{"utf8", s.InvalidUTF8}, {"nul", s.NULs}, {"imprecise", s.ImpreciseTimes}, {"clamped", s.ClampedTimes},
		{"ids", s.OddIDs}, {"deep", s.TooDeep}, {"truncated", s.TruncatedValues},
	} {
		if c.n != 0 {
			parts = append(parts, fmt.Sprintf("%s=%d", c.name, c.n))
		}
	}
	return strings.Join(parts, " ")
}

// quirks are the rows of the table of what really arrives.
var quirks = []quirk{
	{name: "no bytes", doc: "", shape: "unknown"},
	{name: "white space", doc: " \n\t ", shape: "unknown"},
	{name: "empty object", doc: "{}", shape: "unknown"},
	{name: "null", doc: "null", shape: "unknown"},
	{name: "empty list", doc: `{"resourceSpans":[]}`},
	{name: "null list", doc: `{"resourceSpans":null}`},
	{name: "byte order mark", doc: "\xef\xbb\xbf" + spanDoc(`"name":"a"`), want: "name=a"},
	{name: "two documents", doc: spanDoc(`"name":"a"`) + "\n" + spanDoc(`"name":"b"`), want: "name=a | name=b"},
	{name: "a document and garbage", doc: spanDoc(`"name":"a"`) + " xyz", want: "name=a", faults: 1},
	{name: "an array of documents", doc: "[" + spanDoc(`"name":"a"`) + "," + spanDoc(`"name":"b"`) + "]", want: "name=a | name=b"},
	{name: "snake case", doc: `{"resource_spans":[{"scope_spans":[{"spans":[{"trace_id":"` + traceHex + `","span_id":"` + spanHex + `","parent_span_id":"` + spanHex + `","start_time_unix_nano":"5","end_time_unix_nano":6,"attributes":[{"key":"k","value":{"string_value":"v"}}]}]}]}]}`,
		want: "trace=" + traceHex + " span=" + spanHex + " parent=" + spanHex + ` start=5 end=6 quality=ok attrs={"k":"v"}`},
	{name: "upper-case hex", doc: spanDoc(`"traceId":"` + strings.ToUpper(traceHex) + `"`), want: "trace=" + traceHex},
	{name: "zero ids", doc: spanDoc(`"traceId":"00000000000000000000000000000000","spanId":"0000000000000000","parentSpanId":""`), want: ""},
	{name: "missing ids", doc: spanDoc(`"name":"a"`), want: "name=a"},
	{name: "base64 ids", doc: spanDoc(`"traceId":"CvdlGRbNQ92ESOshHIAxnA==","spanId":"t61rcWkgMzE="`), want: "trace=" + traceHex + " span=" + spanHex},
	{name: "base64 ids without padding", doc: spanDoc(`"traceId":"CvdlGRbNQ92ESOshHIAxnA","spanId":"t61rcWkgMzE"`), want: "trace=" + traceHex + " span=" + spanHex},
	{name: "ids as byte arrays", doc: spanDoc(`"spanId":[183,173,107,113,105,32,51,49]`), want: "span=" + spanHex},
	{name: "ids as Node buffers", doc: spanDoc(`"spanId":{"type":"Buffer","data":[183,173,107,113,105,32,51,49]}`), want: "span=" + spanHex},
	{name: "decimal ids", doc: spanDoc(`"traceId":"14572988297178266158434063204417319324","spanId":"13235353014750950193"`),
		want: "trace=0af6a7cbd694059bc26501d40154b19c span=b7ad6b7169203331", shape: "otlp_json"},
	{name: "ids that are names", doc: spanDoc(`"traceId":"live-trace-1"`), want: "trace=c6bf79f836f4c51e1de3dc334f3f6fe6", count: "ids=1"},
	{name: "short hex ids", doc: spanDoc(`"spanId":"ABC"`), want: "span=0000000000000abc", count: "ids=1"},
	{name: "ids with 0x", doc: spanDoc(`"spanId":"0x` + spanHex + `"`), want: "span=" + spanHex},
	{name: "null members", doc: spanDoc(`"name":"a","parentSpanId":null,"startTimeUnixNano":null,"endTimeUnixNano":null,"attributes":null,"events":null,"links":null,"status":null,"kind":null`), want: "name=a"},
	{name: "null groups", doc: `{"resourceSpans":[null,{"resource":null,"scopeSpans":null},{"scopeSpans":[null,{"scope":null,"spans":[null,{"name":"a"}]}]}]}`, want: "name=a"},
	{name: "times as numbers", doc: spanDoc(`"startTimeUnixNano":1763423912171758991,"endTimeUnixNano":1763423917517663228`), want: "start=1763423912171758991 end=1763423917517663228 quality=ok"},
	{name: "times as strings", doc: spanDoc(`"startTimeUnixNano":"1763423912171758991"`), want: "start=1763423912171758991 quality=ok"},
	{name: "times as floats", doc: spanDoc(`"startTimeUnixNano":1.79e18,"endTimeUnixNano":"1.8e18"`), want: "start=1790000000000000000 end=1800000000000000000 quality=imprecise", count: "imprecise=1"},
	{name: "times in seconds", doc: spanDoc(`"startTimeUnixNano":1796062752,"endTimeUnixNano":"1796062753"`), want: "start=1796062752000000000 end=1796062753000000000 quality=imprecise", count: "imprecise=1"},
	{name: "times in seconds with a fraction", doc: spanDoc(`"startTimeUnixNano":1796062752.5,"endTimeUnixNano":"1796062753.25"`), want: "start=1796062752500000000 end=1796062753250000000 quality=imprecise", count: "imprecise=1"},
	{name: "times in milliseconds", doc: spanDoc(`"startTimeUnixNano":1796062752155,"endTimeUnixNano":1796062753155.0`), want: "start=1796062752155000000 end=1796062753155000000 quality=imprecise", count: "imprecise=1"},
	{name: "times in microseconds", doc: spanDoc(`"startTimeUnixNano":"1796062752155000","endTimeUnixNano":1.796062753155e15,"events":[{"timeUnixNano":1796062752155001}]`),
		want: `start=1796062752155000000 end=1796062753155000000 quality=imprecise events=[{"at_unix_nano":1796062752155001000,"attributes":{},"name":""}]`, count: "imprecise=1"},
	{name: "a start in milliseconds and an end in nanoseconds", doc: spanDoc(`"startTimeUnixNano":1796062752155,"endTimeUnixNano":"1796062753155000001"`), want: "start=1796062752155000000 end=1796062753155000001 quality=imprecise", count: "imprecise=1"},
	{name: "seconds beyond int64 nanoseconds", doc: spanDoc(`"startTimeUnixNano":99999999999`), want: "start=9223372036854775807 quality=clamped", count: "clamped=1"},
	{name: "a log's negative time", doc: `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"timeUnixNano":-1,"observedTimeUnixNano":"1796062752155000000"}]}]}]}`, want: "start=1796062752155000000 quality=clamped", count: "clamped=1"},
	{name: "times as ISO text", doc: spanDoc(`"startTimeUnixNano":"2026-11-30T18:19:12.155Z"`), want: "start=1796062752155000000 quality=imprecise", count: "imprecise=1"},
	{name: "times beyond int64", doc: spanDoc(`"startTimeUnixNano":"18446744073709551000"`), want: "start=9223372036854775807 quality=clamped", count: "clamped=1"},
	{name: "times beyond uint64", doc: spanDoc(`"startTimeUnixNano":"98446744073709551000"`), want: "start=9223372036854775807 quality=clamped", count: "clamped=1"},
	{name: "negative times", doc: spanDoc(`"startTimeUnixNano":-5,"endTimeUnixNano":7`), want: "end=7 quality=clamped", count: "clamped=1"},
	{name: "an end before the start", doc: spanDoc(`"startTimeUnixNano":"10","endTimeUnixNano":"5"`), want: "start=10 end=10 quality=clamped", count: "clamped=1"},
	{name: "times as Long objects", doc: spanDoc(`"startTimeUnixNano":{"low":466848096,"high":406528574,"unsigned":true}`), want: "start=1746026930686364000 quality=ok"},
	{name: "enums by full name", doc: spanDoc(`"kind":"SPAN_KIND_SERVER","status":{"code":"STATUS_CODE_ERROR","message":"m"}`), want: "kind=server status=error message=m"},
	{name: "enums by short name", doc: spanDoc(`"kind":"SERVER","status":{"code":"ERROR"}`), want: "kind=server status=error"},
	{name: "enums as strings of digits", doc: spanDoc(`"kind":"2","status":{"code":"2"}`), want: "kind=server status=error"},
	{name: "enums as numbers", doc: spanDoc(`"kind":3,"status":{"code":1}`), want: "kind=client status=ok"},
	{name: "unknown enums", doc: spanDoc(`"kind":"SPAN_KIND_INVALID_TYPE","status":{"code":77}`), want: ""},
	{name: "attributes as a map", doc: spanDoc(`"attributes":{"s":"x","i":5,"d":5.0,"b":true,"n":null,"l":[1,"a"],"m":{"z":1,"a":{"intValue":"7"}}}`),
		want: `attrs={"b":true,"d":5.0,"i":5,"l":[1,"a"],"m":{"a":7,"z":1},"n":null,"s":"x"}`},
	{name: "attributes without value", doc: spanDoc(`"attributes":[{"key":"a"},{"key":"b","value":{}},{"key":"c","value":null},{"key":"d","value":{"stringValue":null}},{"value":{"intValue":1}},null]`),
		want: `attrs={"a":null,"b":null,"c":null,"d":null}`},
	{name: "a null double", doc: attrDoc(`{"doubleValue":null}`), want: `name=n attrs={"k":null}`},
	{name: "duplicate keys", doc: spanDoc(`"attributes":[{"key":"a","value":{"intValue":1}},{"key":"b","value":{"intValue":2}},{"key":"a","value":{"intValue":3}}]`),
		want: `attrs={"a":3,"b":2}`, count: "duplicates=1"},
	{name: "int as string", doc: attrDoc(`{"intValue":"5"}`), want: `name=n attrs={"k":5}`},
	{name: "int as number", doc: attrDoc(`{"intValue":-5}`), want: `name=n attrs={"k":-5}`},
	{name: "int as 5.0", doc: attrDoc(`{"intValue":5.0}`), want: `name=n attrs={"k":5}`},
	{name: "largest int", doc: attrDoc(`{"intValue":"-9223372036854775808"}`), want: `name=n attrs={"k":-9223372036854775808}`},
	{name: "int that is none", doc: attrDoc(`{"intValue":"1e300"}`), want: `name=n attrs={"k":1e+300}`},
	{name: "NaN and infinities", doc: attrDoc(`{"arrayValue":{"values":[{"doubleValue":"NaN"},{"doubleValue":"Infinity"},{"doubleValue":"-Infinity"},{"doubleValue":2}]}}`),
		want: `name=n attrs={"k":[{"$double":"NaN"},{"$double":"Infinity"},{"$double":"-Infinity"},2.0]}`},
	{name: "bare NaN", doc: attrDoc(`{"doubleValue":NaN}`), want: `name=n attrs={"k":{"$double":"NaN"}}`},
	{name: "bool as text", doc: attrDoc(`{"boolValue":"true"}`), want: `name=n attrs={"k":true}`},
	{name: "bytes", doc: attrDoc(`{"bytesValue":"+/8="}`), want: `name=n attrs={"k":{"$bytes":"+/8="}}`},
	{name: "bytes, url-safe", doc: attrDoc(`{"bytesValue":"-_8"}`), want: `name=n attrs={"k":{"$bytes":"+/8="}}`},
	{name: "bytes that are none stay text", doc: attrDoc(`{"bytesValue":"!!"}`), want: `name=n attrs={"k":"!!"}`},
	{name: "two members", doc: attrDoc(`{"stringValue":"a","intValue":"5"}`), want: `name=n attrs={"k":5}`, count: "multiple=1"},
	{name: "plain values", doc: attrDoc(`"plain"`), want: `name=n attrs={"k":"plain"}`},
	{name: "nested lists", doc: attrDoc(`{"kvlistValue":{"values":[{"key":"b","value":{"arrayValue":{"values":[{},{"boolValue":false}]}}},{"key":"a","value":{"bytesValue":""}}]}}`),
		want: `name=n attrs={"k":{"a":{"$bytes":""},"b":[null,false]}}`},
	{name: "instrumentationLibrarySpans", doc: `{"resourceSpans":[{"resource":{},"instrumentationLibrarySpans":[{"instrumentationLibrary":{"name":"x"},"spans":[{"name":"a"}]}]}]}`, want: "name=a"},
	{name: "all signals in one", doc: `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"m","sum":{"dataPoints":[{},{}]}},{"gauge":{"dataPoints":[{}]}}]}]}],"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"l"}}]}]}],"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"s"}]}]}]}`,
		want: `body="l" | name=s`, count: "metrics=3"},
	{name: "the same top key twice", doc: `{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"a"}]}]}],"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"b"}]}]}]}`, want: "name=a | name=b"},
	{name: "raw invalid UTF-8", doc: spanDoc("\"name\":\"a\xff\xfeb\""), want: "name=a\uFFFDb", count: "utf8=1"},
	{name: "lone surrogate", doc: spanDoc(`"name":"a\ud800b\uDC00"`), want: "name=a\uFFFDb\uFFFD"},
	{name: "surrogate pair", doc: spanDoc(`"name":"\ud83d\ude00"`), want: "name=😀"},
	{name: "raw control characters", doc: spanDoc("\"name\":\"a\n\tb\""), want: "name=a\n\tb"},
	{name: "NUL escaped and raw", doc: spanDoc("\"name\":\"a\\u0000b\x00c\""), want: "name=a\uFFFDb\uFFFDc", count: "nul=2"},
	{name: "every escape", doc: spanDoc(`"name":"\"\\\/\b\f\n\r\t\u00e9 and a long tail of plain text behind it"`), want: "name=\"\\/\b\f\n\r\té and a long tail of plain text behind it"},
	{name: "an escape that is none", doc: spanDoc(`"name":"\q\u12"`), want: `name=\q\u12`},
	{name: "escaped member names", doc: spanDoc(`"n\u0061me":"a","attributes":{"k\"":1}`), want: `name=a attrs={"k\"":1}`},
	{name: "unknown members", doc: spanDoc(`"flags":256,"traceState":"a=b","links":[{"traceId":"x"}],"future":{"a":[{}]},"name":"a"`), want: "name=a"},
	{name: "the resource behind its spans", doc: `{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"\"a\""}],"scope":{"name":"x"}}],"resource":{"attributes":{"r":1}}}]}`, want: `name="a"`},
	{name: "many lists before their resource", doc: `{"resourceSpans":[{` + strings.Repeat(`"scopeSpans":[{"spans":[{"name":"a"}]}],`, 6) + `"resource":{}}]}`, want: "name=a | name=a | name=a | name=a | name=a | name=a"},
	{name: "objects in place of lists", doc: `{"resourceSpans":{"scopeSpans":{"spans":{"name":"a"}}}}`, want: "name=a"},
	{name: "wrong types are absent", doc: spanDoc(`"name":{"a":1},"attributes":5,"events":"x","status":[1],"startTimeUnixNano":true`), want: ""},
	{name: "trailing commas", doc: `{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"a",},],},],},],}`, want: "name=a"},
	{name: "events", doc: spanDoc(`"events":[{"name":"e","timeUnixNano":"5","attributes":[{"key":"k","value":{"intValue":1}}]},{}]`),
		want: `events=[{"at_unix_nano":5,"attributes":{"k":1},"name":"e"},{"at_unix_nano":0,"attributes":{},"name":""}]`},
	{name: "a broken span between whole ones", doc: `{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"a"},{"name":"b","x":},{"name":"c"}]}]}]}`, want: "name=a | name=c", faults: 1},
	{name: "a broken group before a whole one", doc: `{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"a"}] x}]},{"scopeSpans":[{"spans":[{"name":"b"}]}]}]}`, want: "name=a | name=b", faults: 1},
	{name: "no telemetry", doc: `{"invalid":"not otlp"}`, shape: "unknown", count: "skipped=1", faults: 1},

	{name: "log with its own event name", doc: logDoc(`"timeUnixNano":"5","severityNumber":9,"eventName":"src/x.rs:1","attributes":[{"key":"event.name","value":{"stringValue":"codex.x"}}]`),
		want: `name=codex.x severity=INFO start=5 quality=ok attrs={"event.name":"codex.x"}`},
	{name: "log with an event name field", doc: logDoc(`"eventName":"e","severityNumber":"SEVERITY_NUMBER_WARN2","severityText":""`), want: "name=e severity=WARN2"},
	{name: "log with observed time only", doc: logDoc(`"timeUnixNano":"0","observedTimeUnixNano":"7","severityText":"info","traceId":"` + traceHex + `"`), want: "trace=" + traceHex + " severity=info start=7 quality=ok"},
	{name: "log with a map as body", doc: logDoc(`"body":{"kvlistValue":{"values":[{"key":"a","value":{"stringValue":"b"}}]}}`), want: `body={"a":"b"}`},
	{name: "log with a plain object as body", doc: logDoc(`"body":{"input":{"messages":[]},"output":5}`), want: `body={"input":{"messages":[]},"output":5}`},
}

func logDoc(members string) string {
	return `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{` + members + `}]}]}]}`
}

func TestQuirks(t *testing.T) {
	for _, q := range quirks {
		t.Run(q.name, func(t *testing.T) { runQuirk(t, q) })
	}
}

func runQuirk(t *testing.T, q quirk) {
	t.Helper()
	var got []string
	doc := []byte(q.doc)
	stats, faults, err := NewDecoder(Limits{}).JSON(doc, func(r *Record) error {
		checkRecord(t, r)
		got = append(got, brief(r))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if g := strings.Join(got, " | "); g != q.want {
		t.Errorf("records\n got %s\nwant %s", g, q.want)
	}
	if g := counters(stats); g != q.count {
		t.Errorf("counters %q, want %q", g, q.count)
	}
	want := q.shape
	if want == "" {
		want = "otlp_json"
	}
	if stats.Shape != want {
		t.Errorf("shape %s, want %s", stats.Shape, want)
	}
	if len(faults) != q.faults {
		t.Errorf("faults %+v, want %d", faults, q.faults)
	}
}

func TestDepth(t *testing.T) {
	for _, n := range []int{1, 199, 200, 201, 4000, 100_000} {
		open, end := strings.Repeat(`{"arrayValue":{"values":[`, n), strings.Repeat(`]}}`, n)
		doc := spanDoc(`"name":"a","attributes":[{"key":"deep","value":` + open + end + `},{"key":"next","value":{"intValue":1}}]`)
		var deep Value
		stats, faults, _ := NewDecoder(Limits{}).JSON([]byte(doc), func(r *Record) error {
			if len(r.Attributes) != 2 || r.Attributes[1].Value.Int() != 1 {
				t.Errorf("depth %d: attributes are lost", n)
			}
			for deep = r.Attributes[0].Value; len(deep.Array()) == 1; {
				deep = deep.Array()[0]
			}
			return nil
		})
		if stats.Spans != 1 || len(faults) != 0 {
			t.Errorf("depth %d: %d spans, faults %v", n, stats.Spans, faults)
		}
		if over := n > defaultDepth; over != (stats.TooDeep == 1) || over != (deep.Kind() == KindString) {
			t.Errorf("depth %d: %d too deep, innermost is %v", n, stats.TooDeep, deep.Kind())
		}
	}
}

func TestAttributeLimit(t *testing.T) {
	stats, _, _ := NewDecoder(Limits{MaxAttributeBytes: 4}).JSON([]byte(attrDoc(`{"stringValue":"abcé"}`)), func(r *Record) error {
		if s := r.Attributes[0].Value.Str(); s != "abc" {
			t.Errorf("cut to %q, want abc", s)
		}
		return nil
	})
	if stats.TruncatedValues != 1 {
		t.Errorf("%d values truncated, want 1", stats.TruncatedValues)
	}
}

func TestErrorOfVisitEndsTheDocument(t *testing.T) {
	boom := errors.New("boom")
	doc := "[" + spanDoc(`"name":"a"},{"name":"b"`) + "," + spanDoc(`"name":"c"`) + "]"
	n := 0
	_, faults, err := NewDecoder(Limits{}).JSON([]byte(doc), func(*Record) error { n++; return boom })
	if !errors.Is(err, boom) || n != 1 || len(faults) != 0 {
		t.Errorf("%d visits, error %v, faults %v", n, err, faults)
	}
}

// TestCutJSON cuts a document after every byte: never a panic, the records are a prefix, and a cut is one fault at its end.
func TestCutJSON(t *testing.T) {
	for _, q := range append(quirks, shapes...) {
		if q.faults > 0 || strings.Contains(q.name, "type last") { // which is known only when it comes
			continue
		}
		whole, _, _ := oursModels(t, []byte(q.doc), false)
		for n := range len(q.doc) {
			cut, _, faults := oursModels(t, []byte(q.doc[:n]), false)
			if len(cut) > len(whole) {
				t.Fatalf("%s cut at %d: %d records of %d", q.name, n, len(cut), len(whole))
			}
			for i := range cut {
				if cut[i] != whole[i] && q.shape == "" && !strings.Contains(q.name, "behind") {
					t.Fatalf("%s cut at %d: record %d is\n%s\nwant\n%s", q.name, n, i, cut[i], whole[i])
				}
			}
			if len(faults) > 1 {
				t.Fatalf("%s cut at %d: faults %+v", q.name, n, faults)
			}
		}
	}
}
