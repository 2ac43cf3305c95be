//go:build unix

package otlp

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// benchTraces makes spans like those of agents: big ones carry messages of some KB with JSON inside, small ones do not.
func benchTraces(spans int, big bool) ptrace.Traces {
	rnd := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("the agent reads a file then calls the tool with arguments and answers in plain words about results")
	text := func(n int) string {
		var b strings.Builder
		for b.Len() < n {
			b.WriteString(words[rnd.IntN(len(words))])
			if rnd.IntN(100) == 0 { // the captures have one character beyond ASCII in 1,100
				b.WriteString(" é漢")
			}
			b.WriteByte(' ')
		}
		return b.String()
	}
	messages := func(n int) string {
		return fmt.Sprintf(`[{"role":"user","parts":[{"type":"text","content":"%s"}]},{"role":"assistant","parts":[{"type":"text","content":"%s\n%s"}]}]`, text(n/2), text(n/4), text(n/4))
	}
	traces := ptrace.NewTraces()
	rs := traces.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "bench")
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName("bench")
	for i := range spans {
		s := ss.Spans().AppendEmpty()
		s.SetTraceID(pcommon.TraceID{1, byte(i >> 8), byte(i), 4})
		s.SetSpanID(pcommon.SpanID{9, byte(i >> 8), byte(i)})
		s.SetName("chat model-large-2026")
		s.SetKind(ptrace.SpanKindClient)
		s.SetStartTimestamp(pcommon.Timestamp(1796062752256000000 + i))
		s.SetEndTimestamp(pcommon.Timestamp(1796062753256000000 + i))
		a := s.Attributes()
		for j := range 24 {
			switch j % 4 {
			case 0:
				a.PutInt(fmt.Sprintf("gen_ai.usage.kind_%d.tokens", j), rnd.Int64N(100000))
			case 1:
				a.PutStr(fmt.Sprintf("gen_ai.response.part_%d", j), text(20))
			case 2:
				a.PutBool(fmt.Sprintf("session.flag_%d", j), j%3 == 0)
			default:
				a.PutStr(fmt.Sprintf("http.request.header_%d", j), text(30))
			}
		}
		if big {
			a.PutStr("gen_ai.input.messages", messages(4500))
			a.PutStr("gen_ai.output.messages", messages(1500))
			e := s.Events().AppendEmpty()
			e.SetName("gen_ai.choice")
			e.Attributes().PutStr("content", messages(400))
		}
	}
	return traces
}

func benchDecode(b *testing.B, proto bool) {
	for _, size := range []struct {
		name  string
		spans int
		big   bool
	}{{"9KB", 100, true}, {"2KB", 400, false}} {
		traces := benchTraces(size.spans, size.big)
		doc, err := (&ptrace.JSONMarshaler{}).MarshalTraces(traces)
		if proto {
			doc, err = (&ptrace.ProtoMarshaler{}).MarshalTraces(traces)
		}
		if err != nil {
			b.Fatal(err)
		}
		report := func(b *testing.B, decode func() int) {
			b.SetBytes(int64(len(doc)))
			b.ReportAllocs()
			before := cpuTime()
			for b.Loop() {
				if n := decode(); n != size.spans {
					b.Fatalf("%d spans, want %d", n, size.spans)
				}
			}
			// time of the process, with its garbage collector: on a busy machine the clock measures the neighbours
			b.ReportMetric(float64(cpuTime()-before)/float64(b.N*size.spans), "cpu-ns/span")
		}
		b.Run(size.name+"/ours", func(b *testing.B) {
			d, buf := NewDecoder(Limits{}), make([]byte, len(doc))
			visit := func(*Record) error { return nil }
			report(b, func() int {
				if proto {
					stats, _, _ := d.Proto(doc, visit)
					return int(stats.Spans)
				}
				copy(buf, doc) // JSON overwrites the document: the copy is part of the price
				stats, _, _ := d.JSON(buf, visit)
				return int(stats.Spans)
			})
		})
		b.Run(size.name+"/pdata", func(b *testing.B) {
			report(b, func() int {
				t, err := unmarshalTraces(doc, proto)
				if err != nil {
					b.Fatal(err)
				}
				return t.SpanCount()
			})
		})
	}
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkDecodeJSON(b *testing.B)  { benchDecode(b, false) }
func BenchmarkDecodeProto(b *testing.B) { benchDecode(b, true) }
