package otlpgen

import (
	"strconv"
	"time"
)

// order yields the spans of all sessions in an order like that of a live system: a cohort of sessions runs at a time,
// each giving one span in turn.
type order struct {
	spans, sessions int
	from, to        int // the cohort
	round, at       int
}

// cohort is how many sessions run at the same time.
const cohort = 48

func newOrder(spans, sessions int) order {
	return order{spans: spans, sessions: sessions, to: min(cohort, sessions)}
}

// next is called once a span.
func (o *order) next() place {
	for {
		if o.at == o.to {
			o.at = o.from
			o.round++
		}
		if o.round >= o.length(o.from) { // the first of a cohort is never shorter than the others
			o.from, o.to = o.to, min(o.to+cohort, o.sessions)
			o.at, o.round = o.from, 0
		}
		p := place{o.at, o.round}
		o.at++
		if p.index < o.length(p.session) {
			return p
		}
	}
}

// length is how many spans a session has.
func (o *order) length(session int) int {
	first, end := share(o.spans, o.sessions, session)
	return end - first
}

// start is when a session begins: the sessions are spread over seven days.
func (o *order) start(session, sessions int) time.Time {
	week := int64(7 * 24 * time.Hour)
	return time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC).Add(time.Duration(week / int64(sessions) * int64(session)))
}

// span makes one span: the agent's span first, then model and tool calls by turns below it.
func (b *bulk) span(p place) Span {
	id := random{state: b.Seed*0x9e3779b97f4a7c15 + uint64(p.session)}
	trace, root, session := id.traceID(), id.spanID(), "sess-"+id.hex(16)
	r := random{state: b.Seed ^ uint64(p.session)<<24 ^ uint64(p.index)<<1 ^ 1}
	start := b.order.start(p.session, b.Sessions).UnixNano() + int64(p.index)*int64(2*time.Second)
	s := Span{TraceID: trace, SpanID: r.spanID(), ParentID: root, Kind: 1, Start: start, End: start + int64(r.between(time.Millisecond, 2*time.Second))}
	call := "call_" + decimal(p.session) + "_" + decimal(p.index/2)
	switch {
	case p.index == 0:
		s.SpanID, s.ParentID, s.Name = root, SpanID{}, "invoke_agent bench"
		s.End = start + int64(b.order.length(p.session))*int64(2*time.Second)
		s.Attributes = []KeyValue{str("gen_ai.operation.name", "invoke_agent"), str("gen_ai.agent.name", "bench"), str("gen_ai.request.model", "demo-model"),
			str("gen_ai.conversation.id", session)}
	case p.index%2 == 1:
		s.Name, s.Kind = "chat demo-model", 3
		s.Attributes = []KeyValue{str("gen_ai.operation.name", "chat"), str("gen_ai.provider.name", "demo.chat"), str("gen_ai.request.model", "demo-model"),
			str("gen_ai.conversation.id", session), num("gen_ai.usage.input_tokens", int64(600+r.below(9000))), num("gen_ai.usage.output_tokens", int64(r.below(400))),
			list("gen_ai.response.finish_reasons", "tool-calls")}
	default:
		s.Name = "execute_tool run_shell"
		s.Attributes = []KeyValue{str("gen_ai.operation.name", "execute_tool"), str("gen_ai.tool.name", "run_shell"), str("gen_ai.tool.call.id", call),
			str("gen_ai.conversation.id", session)}
		if !b.NoContent {
			s.Attributes = append(s.Attributes, str("gen_ai.tool.call.arguments", `{"command":"job `+decimal(r.below(1000))+`"}`))
		}
		if r.below(20) == 0 {
			s.Status, s.StatusMessage = 2, "exit status 1"
		}
	}
	rest := b.BytesPerSpan - 820 // of such a span
	switch {
	case b.NoContent:
		s.Attributes = append(s.Attributes, platform(&r, rest+200)...) // there are no messages around a text
		return s
	case b.Instrumented:
		size := min(2000, rest/3)
		s.Attributes = append(s.Attributes, platform(&r, size)...)
		s.Events = []SpanEvent{{Name: "gen_ai.client.stream", At: s.End, Attributes: []KeyValue{num("chunks", int64(r.below(300))), str("finish", "complete")}}}
		rest -= size + 250
	}
	text := r.text(rest)
	if b.Instrumented {
		text = lines(text)
	}
	switch {
	case p.index == 0:
		s.Attributes = append(s.Attributes, str("gen_ai.input.messages", string(jarr(jobj("role", "user", "parts", jarr(jobj("type", "text", "content", text)))))))
	case p.index%2 == 1:
		s.Attributes = append(s.Attributes, str("gen_ai.output.messages", string(jarr(jobj("role", "assistant", "parts", jarr(
			jobj("type", "text", "content", text), jobj("type", "tool_call", "id", call, "name", "run_shell", "arguments", jobj("command", "job"))),
			"finish_reason", "tool_call")))))
	default:
		s.Attributes = append(s.Attributes, str("gen_ai.tool.call.result", string(jstr(text))))
	}
	return s
}

// platform makes attributes as instrumentation adds them to every span, about n bytes of OTLP JSON: few values of most, a value of its own in some.
func platform(r *random, n int) []KeyValue {
	all := []KeyValue{
		str("server.address", "model-gateway-"+decimal(r.below(8))+".internal.example"), num("server.port", 443), str("network.protocol.name", "http"),
		str("network.protocol.version", "1.1"), str("http.request.method", "POST"), num("http.response.status_code", 200), str("url.scheme", "https"),
		str("url.path", "/v1/agents/"+decimal(r.below(40))+"/invoke"), num("gen_ai.request.max_tokens", 4096), str("gen_ai.response.id", "resp_"+r.hex(24)),
		str("gen_ai.response.model", "demo-model-2026-09"), str("user_agent.original", "agent-sdk/3.4."+decimal(r.below(5))+" (linux; x64)"), num("thread.id", int64(r.below(64))),
		str("thread.name", "worker-"+decimal(r.below(64))), str("code.function.name", "agent.loop.Runner.step"), num("code.line.number", int64(r.below(900))),
		str("k8s.pod.name", "agent-"+r.hex(10)), str("k8s.namespace.name", "agents"), str("cloud.region", "eu-central-1"), str("cloud.availability_zone", "eu-central-1a"),
		str("feature_flag.key", "planner-v2"), num("http.request.body.size", int64(r.below(90_000))), num("http.response.body.size", int64(r.below(20_000))),
		str("aws.request_id", r.hex(32)), num("gen_ai.server.time_to_first_token", int64(r.below(3000))), str("deployment.id", "d-"+decimal(r.below(30))),
	}
	kept, size := all[:0], 0
	for _, kv := range all {
		if size >= n {
			break
		}
		kept = append(kept, kv)
		size += len(kv.Key) + 42 + max(len(kv.Value.str), 4) // with the syntax around it
	}
	for i := 0; size < n; i++ { // larger spans have more of the same kind
		kv := str("app.attribute."+decimal(i), r.hex(16))
		kept = append(kept, kv)
		size += len(kv.Key) + 58
	}
	return kept
}

// lines gives a text the line breaks and quotes of code and logs, which JSON has to escape; it stays as long.
func lines(text string) string {
	b, words := []byte(text), 0
	for i, c := range b {
		if c != ' ' {
			continue
		}
		switch words++; {
		case words%9 == 0:
			b[i] = '\n'
		case words%13 < 2:
			b[i] = '"'
		}
	}
	return string(b)
}

// text makes about n bytes of words and numbers, which compress like prose.
func (r *random) text(n int) string {
	const width = 8 // of an entry; there are 64
	const words = "order   host    queue   error   found   after   before  while   reading the     log     line    of      this    service today   " +
		"because nothing changed since   morning check   value   result  large   small   table   index   copy    send    wait    answer  " +
		"file    folder  state   ready   closed  open    first   last    second  minute  and     a       in      to      with    for     " +
		"not     from    list    name    size    time    user    call    step    done    job     run     disk    node    page    link    "
	b := make([]byte, 0, max(n, 0)+80)
	for len(b) < n {
		x := r.next()
		for range 10 {
			word := words[x&63*width:][:width]
			x >>= 6
			for i := 0; i < width && word[i] != ' '; i++ {
				b = append(b, word[i])
			}
			b = append(b, ' ')
		}
		if x&3 == 0 { // the four bits left
			b = append(strconv.AppendInt(b, int64(r.below(100000)), 10), ' ')
		}
	}
	return string(b[:max(n, 0)])
}
