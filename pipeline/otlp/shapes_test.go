package otlp

import (
	"strings"
	"testing"
)

// quoted is s as a JSON string.
func quoted(s string) string { return string(AppendValue(nil, StringValue(s))) }

const (
	flatIDs  = `"traceId":"` + traceHex + `","spanId":"` + spanHex + `"`
	briefIDs = "trace=" + traceHex + " span=" + spanHex
	awsSpan  = `{"resource":{"attributes":{"service.name":"svc"}},"scope":{"name":"strands"},` + flatIDs + `,"parentSpanId":"` + spanHex + `","flags":768,"name":"POST /invocations","kind":"SERVER","startTimeUnixNano":1763423912171758991,"endTimeUnixNano":1763423917517663228,"durationNano":5345904237,"attributes":{"http.status_code":200},"status":{"code":"UNSET"}}`
	awsBrief = "name=POST /invocations " + briefIDs + " parent=" + spanHex + ` kind=server start=1763423912171758991 end=1763423917517663228 quality=ok attrs={"http.status_code":200}`
	awsLog   = `{"resource":{"attributes":{}},"scope":{"name":"s"},"timeUnixNano":1763423917517030656,"observedTimeUnixNano":1763423917517199809,"severityNumber":9,"severityText":"","body":{"input":{"messages":[{"role":"user","content":"hi"}]}},"attributes":{"event.name":"s","session.id":"x"},` + flatIDs + `}`
)

// shapes are the forms beyond plain OTLP.
var shapes = []quirk{
	{name: "bare ResourceSpans", doc: `{"resource":{"attributes":[]},"scopeSpans":[{"scope":{},"spans":[{"name":"a"}]}],"schemaUrl":"x"}`, want: "name=a", shape: "resource_spans"},
	{name: "bare ResourceLogs", doc: `{"resource":{},"scopeLogs":[{"logRecords":[{"body":{"stringValue":"b"}}]}]}`, want: `body="b"`, shape: "resource_spans"},
	{name: "CloudWatch span", doc: awsSpan, want: awsBrief, shape: "aws_spans"},
	{name: "CloudWatch span in a wrapper", doc: `{"timestamp":"2025-11-17 23:58:37.517","raw_otel_json":` + awsSpan + `}`, want: awsBrief, shape: "aws_spans"},
	{name: "a message that wrong UTF-8 makes longer", doc: "{\"logEvents\":[{\"message\":\"\xfa\"}]}", shape: "cloudwatch_subscription", count: "skipped=1 utf8=1"},
	{name: "a message that wrong UTF-8 makes longer, at the end", doc: "{\"logEvents\":{\"\":\"\"\"message\":\"\xfa\"", shape: "cloudwatch_subscription", count: "skipped=1 utf8=1", faults: 1},
	{name: "CloudWatch span without scope", doc: `{` + flatIDs + `,"name":"a","startTimeUnixNano":5}`, want: "name=a " + briefIDs + " start=5 quality=ok", shape: "aws_spans"},
	{name: "CloudWatch log", doc: awsLog, want: `name=s ` + briefIDs + ` severity=INFO start=1763423917517030656 quality=ok attrs={"event.name":"s","session.id":"x"} body={"input":{"messages":[{"content":"hi","role":"user"}]}}`, shape: "aws_spans"},
	{name: "CloudWatch subscription", doc: `{"messageType":"DATA_MESSAGE","logGroup":"aws/spans","logEvents":[{"id":"1","timestamp":1,"message":` + quoted(awsSpan) + `},{"id":"2","message":"START plain text"},{"id":"3","message":` + quoted(awsLog) + `}]}`,
		want: awsBrief + ` | name=s ` + briefIDs + ` severity=INFO start=1763423917517030656 quality=ok attrs={"event.name":"s","session.id":"x"} body={"input":{"messages":[{"content":"hi","role":"user"}]}}`, count: "skipped=1", shape: "cloudwatch_subscription"},
	{name: "CloudWatch subscription, type last", doc: `{"logEvents":[{"message":` + quoted(awsSpan) + `}],"messageType":"CONTROL_MESSAGE"}`, count: "skipped=1", shape: "cloudwatch_subscription"},
	{name: "CloudWatch control message", doc: `{"messageType":"CONTROL_MESSAGE","logEvents":[{"id":"","timestamp":1,"message":"CWL CONTROL MESSAGE: Checking health"}]}`, count: "skipped=1", shape: "cloudwatch_subscription"},
	{name: "CloudWatch subscription with a broken message", doc: `{"messageType":"DATA_MESSAGE","logEvents":[{"message":"{\"traceId\":\"x"},{"message":` + quoted(awsSpan) + `}]}`, want: awsBrief, shape: "cloudwatch_subscription", faults: 1},
	{name: "Logs Insights", doc: `[{"@timestamp":"2026-01-01 00:00:00.000","@message":` + quoted(awsSpan) + `}]`, want: awsBrief, shape: "aws_spans"},
	{name: "Tempo", doc: `{"batches":[{"resource":{"attributes":[]},"instrumentationLibrarySpans":[{"spans":[{"name":"a","kind":"SPAN_KIND_CLIENT","startTimeUnixNano":1763423912171759000,"endTimeUnixNano":"1763423912171759001"}]}]}]}`,
		want: "name=a kind=client start=1763423912171759000 end=1763423912171759001 quality=imprecise", count: "imprecise=1", shape: "tempo"},
	{name: "Tempo, second API", doc: `{"trace":{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"a"}]}]}]},"metrics":{}}`, want: "name=a", shape: "otlp_json"},
	{name: "Jaeger", doc: `{"data":[{"traceID":"` + traceHex + `","spans":[{"traceID":"` + traceHex + `","spanID":"` + spanHex + `","operationName":"op","references":[{"refType":"CHILD_OF","traceID":"` + traceHex + `","spanID":"00000000000000aa"}],"startTime":1771237534577907,"duration":5510,"tags":[{"key":"n","type":"int64","value":201},{"key":"f","type":"float64","value":2},{"key":"span.kind","type":"string","value":"client"},{"key":"otel.status_code","type":"string","value":"ERROR"}],"logs":[{"timestamp":1771237534577908,"fields":[{"key":"event","type":"string","value":"e"},{"key":"k","value":"v"}]}],"processID":"p1","warnings":null}],"processes":{"p1":{"serviceName":"svc","tags":[]}}}],"total":0}`,
		want: "name=op " + briefIDs + ` parent=00000000000000aa kind=client status=error start=1771237534577907000 end=1771237534583417000 quality=imprecise attrs={"f":2.0,"n":201} events=[{"at_unix_nano":1771237534577908000,"attributes":{"k":"v"},"name":"e"}]`, count: "imprecise=1", shape: "jaeger"},
	{name: "flat span", doc: `{"trace_id":"` + traceHex + `","span_id":"` + spanHex + `","parent_span_id":null,"name":"a","start_time":1784995767655639000,"end_time":1784995767656160000,"attributes":{"k":1},"scope":{"name":"x"},"status":{"code":"OK"},"span_events":[{"name":"e","timestamp":1784995767655639001,"attributes":{}}]}`,
		want: "name=a " + briefIDs + ` status=ok start=1784995767655639000 end=1784995767656160000 quality=ok attrs={"k":1} events=[{"at_unix_nano":1784995767655639001,"attributes":{},"name":"e"}]`, shape: "flat_span"},
	{name: "flat spans in a wrapper", doc: `{"session_id":"x","span_count":1,"spans":[{"trace_id":"` + traceHex + `","span_id":"` + spanHex + `","name":"a","start_time":"2026-01-01T00:00:00Z"}]}`,
		want: "name=a " + briefIDs + " start=1767225600000000000 quality=imprecise", count: "imprecise=1", shape: "flat_span"},
	{name: "flat span with seconds", doc: `{"trace_id":"` + traceHex + `","span_id":"` + spanHex + `","name":"a","start_time":1767225600.5}`,
		want: "name=a " + briefIDs + " start=1767225600500000000 quality=imprecise", count: "imprecise=1", shape: "flat_span"},
	{name: "Python SDK span", doc: `{"name":"a","context":{"trace_id":"0x` + traceHex + `","span_id":"0x` + spanHex + `","trace_state":"[]"},"kind":"SpanKind.INTERNAL","parent_id":"0x00000000000000aa","start_time":"2026-01-01T00:00:00.000000Z","end_time":"2026-01-01T00:00:01.000000Z","status":{"status_code":"ERROR","description":"d"},"attributes":{"k":"v"},"events":[],"links":[],"resource":{"attributes":{"service.name":"s"},"schema_url":""}}`,
		want: "name=a " + briefIDs + ` parent=00000000000000aa kind=internal status=error message=d start=1767225600000000000 end=1767225601000000000 quality=imprecise attrs={"k":"v"}`, count: "imprecise=1", shape: "flat_span"},
	{name: "JavaScript span", doc: `{"_spanContext":{"traceId":"` + traceHex + `","spanId":"` + spanHex + `","traceFlags":1},"kind":0,"parentSpanContext":{"spanId":"00000000000000aa"},"attributes":{"k":1},"links":[],"events":[{"name":"e","time":[5,6],"attributes":{}}],"startTime":[1796062752,256000001],"resource":{"_rawAttributes":[["host.id",null],["service.name","gemini-cli"]]},"instrumentationScope":{"name":"gemini-cli","version":"v1"},"name":"llm_call","status":{"code":1},"endTime":[1796062752,407098919],"_ended":true,"_spanProcessor":{"x":[]}}`,
		want: "name=llm_call " + briefIDs + ` parent=00000000000000aa kind=internal status=ok start=1796062752256000001 end=1796062752407098919 quality=ok attrs={"k":1} events=[{"at_unix_nano":5000000006,"attributes":{},"name":"e"}]`, shape: "js_readable_span"},
	{name: "JavaScript log", doc: `{"hrTime":[1796062752,156000000],"hrTimeObserved":[1796062752,156000001],"spanContext":{"traceId":"` + traceHex + `","spanId":"` + spanHex + `"},"resource":{"_rawAttributes":[]},"instrumentationScope":{"name":"x"},"attributes":{"event.name":"e"},"_body":"b","_isReadonly":true}`,
		want: "name=e " + briefIDs + ` start=1796062752156000000 quality=ok attrs={"event.name":"e"} body="b"`, shape: "js_readable_span"},
	{name: "JavaScript metrics", doc: `{"resource":{"_rawAttributes":[]},"scopeMetrics":[{"scope":{},"metrics":[{"descriptor":{"name":"m"},"dataPoints":[{},{},{}]}]}]}`, count: "metrics=3", shape: "resource_spans"},
}

func TestShapes(t *testing.T) {
	for _, q := range shapes {
		t.Run(q.name, func(t *testing.T) { runQuirk(t, q) })
	}
}

func TestResourceOfShapes(t *testing.T) {
	for _, q := range shapes {
		if !strings.Contains(q.doc, "svc") && !strings.Contains(q.doc, `["service.name"`) {
			continue
		}
		_, _, err := NewDecoder(Limits{}).JSON([]byte(q.doc), func(r *Record) error {
			got := string(AppendAttributes(nil, r.Resource.Attributes))
			if r.Signal == SignalSpan && !strings.Contains(got, `"service.name":"svc"`) && !strings.Contains(got, `"gemini-cli"`) {
				t.Errorf("%s: resource %s", q.name, got)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
