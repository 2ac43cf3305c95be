package otlp

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"google.golang.org/protobuf/encoding/protowire"
)

func protoTraces(t testing.TB, names ...string) []byte {
	traces := ptrace.NewTraces()
	rs := traces.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "svc")
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName("scope")
	for i, n := range names {
		s := ss.Spans().AppendEmpty()
		s.SetName(n)
		s.SetTraceID(pcommon.TraceID{1, byte(i + 1)})
		s.SetSpanID(pcommon.SpanID{2, byte(i + 1)})
		s.SetStartTimestamp(5)
		s.SetEndTimestamp(6)
		s.Attributes().PutStr("z", "é")
		s.Attributes().PutEmptyMap("a").PutEmptySlice("l").AppendEmpty().SetDouble(math.NaN())
		s.Attributes().PutEmptyBytes("b").FromRaw([]byte{0xff})
		e := s.Events().AppendEmpty()
		e.SetName("ev")
		e.Attributes().PutBool("t", true)
		s.Status().SetCode(ptrace.StatusCodeError)
	}
	doc, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(traces)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func protoLogs(t testing.TB) []byte {
	logs := plog.NewLogs()
	l := logs.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
	l.SetObservedTimestamp(7)
	l.SetSeverityNumber(plog.SeverityNumberWarn)
	l.Body().SetStr("body")
	l.SetEventName("field")
	l.Attributes().PutStr("event.name", "attribute")
	doc, err := (&plog.ProtoMarshaler{}).MarshalLogs(logs)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func protoMetrics(t testing.TB) []byte {
	metrics := pmetric.NewMetrics()
	list := metrics.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics()
	m := list.AppendEmpty()
	m.SetName("sixteen.letters_") // as long as a trace id
	m.SetEmptyGauge().DataPoints().AppendEmpty().SetIntValue(5)
	m = list.AppendEmpty()
	m.SetName("h")
	m.SetEmptyHistogram().DataPoints().AppendEmpty()
	doc, err := (&pmetric.ProtoMarshaler{}).MarshalMetrics(metrics)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func join(parts ...[]byte) []byte {
	var b []byte
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}

// group wraps one item as a request of one resource and scope.
func group(item []byte) []byte {
	for _, num := range []protowire.Number{2, 2, 1} {
		item = protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), item)
	}
	return item
}

func TestProto(t *testing.T) {
	fixed := binary.LittleEndian.AppendUint64(protowire.AppendTag(nil, 7, protowire.Fixed64Type), 5)
	field := func(num protowire.Number, body string) []byte {
		return protowire.AppendString(protowire.AppendTag(nil, num, protowire.BytesType), body)
	}
	long, _ := decodeBase64(new(slab[byte]), traceHex) // what comes of reading hex as base64
	unknown := join(
		protowire.AppendGroup(protowire.AppendTag(nil, 77, protowire.StartGroupType), 77, field(1, "x")),
		protowire.AppendVarint(protowire.AppendTag(nil, 900, protowire.VarintType), 5),
		protowire.AppendFixed32(protowire.AppendTag(nil, 901, protowire.Fixed32Type), 5))
	const whole = "trace=01010000000000000000000000000000 span=0201000000000000 status=error start=5 end=6 quality=ok" +
		` attrs={"a":{"l":[{"$double":"NaN"}]},"b":{"$bytes":"/w=="},"z":"é"} events=[{"at_unix_nano":0,"attributes":{"t":true},"name":"ev"}]`
	const log = `name=attribute severity=WARN start=7 quality=ok attrs={"event.name":"attribute"} body="body"`
	for _, c := range []struct {
		name   string
		doc    []byte
		want   string
		count  string
		shape  string
		faults int
	}{
		{"no bytes", nil, "", "", "unknown", 0},
		{"spans", protoTraces(t, "a"), "name=a " + whole, "", "otlp_proto", 0},
		{"logs", protoLogs(t), log, "", "otlp_proto", 0},
		{"metrics", protoMetrics(t), "", "metrics=2", "otlp_proto", 0},
		{"glued, all signals", join(protoTraces(t, "a"), protoMetrics(t), protoLogs(t), protoTraces(t, "b")), "name=a " + whole + " | " + log + " | name=b " + whole, "metrics=2", "otlp_proto", 0},
		{"empty groups", []byte("\x0a\x00\x0a\x02\x12\x00"), "", "", "otlp_proto", 0},
		{"unknown fields and groups", group(join(unknown, field(1, "0123456789abcde\x00"), fixed, field(5, "n"))), "name=n trace=30313233343536373839616263646500 start=5 quality=ok", "", "otlp_proto", 0},
		{"ids that went through base64", group(join(field(1, long), fixed, field(5, "n"))), "name=n trace=" + traceHex + " start=5 quality=ok", "", "otlp_proto", 0},
		{"invalid UTF-8 and NUL", group(join(fixed, field(5, "a\xffb\x00"))), "name=a\uFFFDb\uFFFD start=5 quality=ok", "utf8=1 nul=1", "otlp_proto", 0},
		{"duplicate keys", group(join(fixed, field(9, string(join(field(1, "k"), field(2, "\x18\x01")))), field(9, string(join(field(1, "k"), field(2, "\x18\x02")))))), `start=5 quality=ok attrs={"k":2}`, "duplicates=1", "otlp_proto", 0},
		{"old scope field", protowire.AppendBytes([]byte("\x0a"), protowire.AppendBytes(protowire.AppendTag(nil, 1000, protowire.BytesType), join([]byte("\x12"), protowire.AppendBytes(nil, join(fixed, field(5, "n")))))), "name=n start=5 quality=ok", "", "otlp_proto", 0},
		{"not OTLP", field(3, "text"), "", "skipped=1", "unknown", 1},
		{"not OTLP within", group([]byte("\x0d\x01\x02\x03\x04")), "", "", "unknown", 1},
		{"malformed", []byte{0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, "", "", "unknown", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			stats, faults, err := NewDecoder(Limits{}).Proto(c.doc, func(r *Record) error {
				checkRecord(t, r)
				got = append(got, strings.Replace(brief(r), "0102000000000000", "0101000000000000", 1))
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if g := strings.Join(got, " | "); g != c.want {
				t.Errorf("records\n got %s\nwant %s", g, c.want)
			}
			if g := counters(stats); g != c.count || stats.Shape != c.shape || len(faults) != c.faults {
				t.Errorf("counters %q, shape %s, faults %+v; want %q, %s, %d", g, stats.Shape, faults, c.count, c.shape, c.faults)
			}
		})
	}
}

// TestCutProto cuts a document after every byte: records are a prefix, and a cut is one fault that ends the document.
func TestCutProto(t *testing.T) {
	for _, doc := range [][]byte{protoTraces(t, "a", "b", "c"), join(protoLogs(t), protoTraces(t, "d"))} {
		whole, _, _ := oursModels(t, doc, true)
		last := 0
		for n := range len(doc) {
			cut, _, faults := oursModels(t, doc[:n], true)
			if len(cut) < last || len(cut) > len(whole) {
				t.Fatalf("cut at %d: %d records, %d before", n, len(cut), last)
			}
			last = len(cut)
			for i := range cut {
				_, got, _ := strings.Cut(cut[i], "ids=") // pdata writes resource and scope last: they are what is lost
				if _, want, _ := strings.Cut(whole[i], "ids="); got != want {
					t.Fatalf("cut at %d: record %d is\n%s\nwant\n%s", n, i, got, want)
				}
			}
			if len(faults) > 1 {
				t.Fatalf("cut at %d: faults %+v", n, faults)
			}
		}
	}
}

func TestProtoKeepsSpansAroundABrokenOne(t *testing.T) {
	good := join(binary.LittleEndian.AppendUint64([]byte{0x39}, 5), []byte("\x2a\x01a"))
	bad := []byte("\x2a\x7fa")
	var items []byte
	for _, it := range [][]byte{good, bad, good} {
		items = protowire.AppendBytes(append(items, 0x12), it)
	}
	doc := protowire.AppendBytes([]byte{0x0a}, protowire.AppendBytes([]byte{0x12}, items))
	got, _, faults := oursModels(t, doc, true)
	if len(got) != 2 || len(faults) != 1 || faults[0].Length != int64(len(bad)) {
		t.Errorf("%d records, faults %+v", len(got), faults)
	}
}

func TestProtoDepth(t *testing.T) {
	value := []byte("\x18\x05")
	for range 5000 {
		value = protowire.AppendBytes([]byte{0x2a}, protowire.AppendBytes([]byte{0x0a}, value))
	}
	attr := protowire.AppendBytes([]byte("\x0a\x01k\x12"), value)
	span := join(binary.LittleEndian.AppendUint64([]byte{0x39}, 5), protowire.AppendBytes([]byte{0x4a}, attr))
	stats, faults, _ := NewDecoder(Limits{}).Proto(group(span), func(*Record) error { return nil })
	if stats.Spans != 1 || stats.TooDeep != 1 || len(faults) != 0 {
		t.Errorf("stats %+v, faults %v", stats, faults)
	}
}

// A protobuf's fixed64 holds what its writer took for nanoseconds.
func TestProtoTimesOfOtherUnits(t *testing.T) {
	for n, want := range map[uint64]instant{
		0: {}, 1: {nano: 1}, 1796062752: {nano: 1796062752e9, quality: QualityImprecise}, 1796062752155: {nano: 1796062752155e6, quality: QualityImprecise},
		1796062752155001: {nano: 1796062752155001e3, quality: QualityImprecise}, 1796062752155001002: {nano: 1796062752155001002},
		1 << 63: {nano: 1<<63 - 1, quality: QualityClamped}, 99_999_999_999: {nano: 1<<63 - 1, quality: QualityClamped},
	} {
		if got := unsigned(n); got != want {
			t.Errorf("%d: got %+v, want %+v", n, got, want)
		}
	}
}
