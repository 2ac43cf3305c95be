package convention

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/pipeline/otlp"
	"github.com/tracejury/tracejury/schema"
)

// sketch is messages as a person reads them.
func sketch(msgs []message) string {
	var lines []string
	for _, m := range msgs {
		line := m.role + ":"
		for _, p := range m.parts {
			switch p.kind {
			case partText:
				line += " " + p.text
			case partReasoning:
				line += " (" + p.text + ")"
			case partCall:
				line += fmt.Sprintf(" %s=%s(%s)", p.id, p.name, p.args)
			case partResult:
				line += fmt.Sprintf(" %s>%s %s", p.id, p.outcome, p.text)
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, " | ")
}

func TestParseMessages(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"otel", `[{"role":"user","parts":[{"type":"text","content":"hi"}]},{"role":"assistant","parts":[{"type":"reasoning","content":"hm"},{"type":"tool_call","id":"1","name":"ls","arguments":{"b":1,"a":2}}]},{"role":"tool","parts":[{"type":"tool_call_response","id":"1","response":"x"}]}]`,
			`user: hi | assistant: (hm) 1=ls({"a":2,"b":1}) | tool: 1>unknown x`},
		{"older result name", `[{"role":"tool","parts":[{"type":"tool_call_response","id":"1","result":[{"text":"a"},{"json":{"exit_code":0}}]}]}]`, "tool: 1>unknown a\n{\"exit_code\":0}"},
		{"bedrock", `[{"role":"assistant","content":[{"text":"t"},{"toolUse":{"toolUseId":"1","name":"ls","input":{}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"1","status":"error","content":[{"text":"no"}]}}]}]`,
			`assistant: t 1=ls({}) | user: 1>error no`},
		{"openai chat", `[{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"ls","arguments":"{\"a\": 1}"}}]},{"role":"tool","tool_call_id":"1","content":"x"}]`,
			`assistant: 1=ls({"a":1}) | tool: 1>unknown x`},
		{"openai responses", `[{"type":"message","role":"user","content":[{"type":"input_text","text":"q"}]},{"type":"function_call","call_id":"1","name":"ls","arguments":"{}"},{"type":"function_call_output","call_id":"1","output":"x"},{"type":"reasoning","summary":[{"type":"summary_text","text":"why"}]}]`,
			`user: q | assistant: 1=ls({}) | tool: 1>unknown x | assistant: (why)`},
		{"anthropic", `[{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"tool_use","id":"1","name":"ls","input":{"a":1}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","is_error":true,"content":"no"},{"type":"text","text":"and"}]}]`,
			`assistant: (hm) 1=ls({"a":1}) | user: 1>error no and`},
		{"gemini", `[{"role":"model","parts":[{"text":"hm","thought":true},{"functionCall":{"id":"1","name":"ls","args":{"a":1}}}]},{"role":"user","parts":[{"functionResponse":{"id":"1","name":"ls","response":{"output":"x"}}}]}]`,
			`assistant: (hm) 1=ls({"a":1}) | user: 1>unknown x`},
		{"ai sdk", `[{"role":"assistant","content":[{"type":"tool-call","toolCallId":"1","toolName":"ls","input":{"a":1}}]},{"role":"tool","content":[{"type":"tool-result","toolCallId":"1","toolName":"ls","output":{"type":"error-text","value":"no"}}]}]`,
			`assistant: 1=ls({"a":1}) | tool: 1>error no`},
		{"langchain", `{"messages":[[{"lc":1,"type":"constructor","id":["a","HumanMessage"],"kwargs":{"content":"q"}},{"lc":1,"type":"constructor","id":["a","AIMessage"],"kwargs":{"content":"","tool_calls":[{"name":"ls","args":{"a":1},"id":"1"}]}},{"lc":1,"type":"constructor","id":["a","ToolMessage"],"kwargs":{"content":"x","tool_call_id":"1","status":"success"}}]]}`,
			`user: q | assistant: 1=ls({"a":1}) | tool: 1>ok x`},
		{"doubly quoted result", `[{"role":"tool","parts":[{"type":"tool_call_response","id":"1","response":"\"a\\nb\""}]}]`, "tool: 1>unknown a\nb"},
		{"cut JSON is none", `[{"role":"user","parts":[{"type":"text","content":"hi`, ""},
		{"text is none", "hello", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := sketch(parseMessagesText(tt.in)); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestParseMessagesStructured(t *testing.T) {
	s := otlp.StringValue
	part := otlp.MapValue([]otlp.KeyValue{{Key: "content", Value: s("hi")}, {Key: "type", Value: s("text")}})
	msg := otlp.MapValue([]otlp.KeyValue{{Key: "parts", Value: otlp.ArrayValue([]otlp.Value{part})}, {Key: "role", Value: s("user")}})
	if got := sketch(parseMessages(otlp.ArrayValue([]otlp.Value{msg}))); got != "user: hi" {
		t.Errorf("got %s", got)
	}
}

func TestCatalogueIn(t *testing.T) {
	tests := []struct {
		name, in, want string
		found          bool
	}{
		{"none", "You are helpful.", "", false},
		{"prose that mentions it", "Ask for available skills if you need them.", "", false},
		{"empty", "<available_skills>\nNo skills.\n</available_skills>", "", true},
		{"xml", "<available_skills>\n<skill><name>a</name><description>b &lt;c&gt;</description><location>/s/SKILL.md</location></skill></available_skills>", "a=b <c>@/s/SKILL.md", true},
		{"markdown", "## Skills\n### Available skills\n- a: does b (file: /s/a/SKILL.md)\n- plug:c: does d\n  and e (file: r0/c)\n- f: (file: /s/f/SKILL.md)\n### How to use\n- no: entry", "a=does b@/s/a/SKILL.md,plug:c=does d and e@r0/c,f=@/s/f/SKILL.md", true},
		{"bold", "**Available Skills:**\n\n- **a**: does b\n  → Read `/s/a/SKILL.md` for full instructions\n\n**How**\n", "a=does b@/s/a/SKILL.md", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			skills, found := CatalogueIn(tt.in)
			var got []string
			for _, s := range skills {
				e := s.Name + "=" + s.Description
				if s.Location != "" {
					e += "@" + s.Location
				}
				got = append(got, e)
			}
			if strings.Join(got, ",") != tt.want || found != tt.found {
				t.Errorf("got %v, %v", got, found)
			}
		})
	}
}

func TestGenAIEventsModes(t *testing.T) {
	ev := func(name string, kvs ...string) otlp.SpanEvent {
		e := otlp.SpanEvent{Name: name}
		for i := 0; i < len(kvs); i += 2 {
			e.Attributes = append(e.Attributes, otlp.KeyValue{Key: kvs[i], Value: otlp.StringValue(kvs[i+1])})
		}
		return e
	}
	attrs := func(kvs ...string) Attributes {
		return Attributes(ev("", kvs...).Attributes)
	}
	tests := []struct {
		name string
		r    *Record
		want string
	}{
		{"span events with text", &Record{Attributes: attrs("gen_ai.operation.name", "chat"), Events: []otlp.SpanEvent{
			ev("gen_ai.system.message", "content", "be kind"), ev("gen_ai.user.message", "content", "hi"), ev("gen_ai.choice", "message", `{"content":"yo","tool_calls":[{"id":"1","function":{"name":"ls","arguments":"{}"}}]}`)}},
			"system be kind|prompt hi|says yo|asks 1 ls {}"},
		{"bedrock blocks", &Record{Attributes: attrs("gen_ai.operation.name", "chat"), Events: []otlp.SpanEvent{
			ev("gen_ai.user.message", "content", `[{"text":"hi"}]`), ev("gen_ai.tool.message", "content", `[{"toolResult":{"toolUseId":"1","status":"success","content":[{"text":"x"}]}}]`), ev("gen_ai.choice", "message", `[{"text":"yo"}]`)}},
			"prompt hi|answer 1 ok x|says yo"},
		{"old content events", &Record{Attributes: attrs("gen_ai.operation.name", "chat"), Events: []otlp.SpanEvent{
			ev("gen_ai.content.prompt", "gen_ai.prompt", `[{"role":"user","content":"hi"}]`), ev("gen_ai.content.completion", "gen_ai.completion", "yo")}},
			"prompt hi|says yo"},
		{"tool span events", &Record{Attributes: attrs("gen_ai.operation.name", "execute_tool", "gen_ai.tool.call.id", "1", "gen_ai.tool.name", "ls", "gen_ai.tool.status", "success"), Events: []otlp.SpanEvent{
			ev("gen_ai.tool.message", "content", `{"a":1}`), ev("gen_ai.choice", "message", `[{"text":"x"}]`)}},
			`ran 1 ls {"a":1}|result 1 ok x`},
		{"mcp", &Record{Attributes: attrs("gen_ai.tool.name", "pay", "mcp.method.name", "tools/call", "error.type", "tool_error"), Row: &schema.Span{Status: "error"}},
			"ran  pay |result  error "},
		{"mcp isError in the result of a span that ended well", &Record{Attributes: attrs("gen_ai.tool.call.result", `{"content":[{"type":"text","text":"gone"}],"isError":true}`, "gen_ai.tool.name", "pay", "mcp.method.name", "tools/call"), Row: &schema.Span{Status: "ok"}},
			"ran  pay |result  error gone"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.r.Row == nil {
				tt.r.Row = &schema.Span{}
			}
			tt.r.Row.Signal, tt.r.Row.StartedUnixNano, tt.r.Row.EndedUnixNano, tt.r.Row.SpanID = "span", 1, 2, "s"
			var got []string
			if _, ok := Read(tt.r, func(e Event) { got = append(got, say(e)...) }); !ok {
				t.Fatal("no convention")
			}
			if s := strings.Join(got, "|"); s != tt.want {
				t.Errorf("got  %s\nwant %s", s, tt.want)
			}
		})
	}
}

// say is a message event as a person reads it.
func say(e Event) []string {
	switch e := e.(type) {
	case *System:
		return []string{"system " + e.Text}
	case *Prompt:
		return []string{"prompt " + e.Text}
	case *Message:
		return []string{"says " + e.Text}
	case *ToolCall:
		if e.Source == SourceExecution {
			return []string{fmt.Sprintf("ran %s %s %s", e.CallID, e.Tool, e.Arguments)}
		}
		return []string{fmt.Sprintf("asks %s %s %s", e.CallID, e.Tool, e.Arguments)}
	case *ToolResult:
		word := "result"
		if e.Source == SourceAnswer {
			word = "answer"
		}
		return []string{fmt.Sprintf("%s %s %s %s", word, e.CallID, e.Outcome, e.Text)}
	}
	return nil
}

func FuzzParseMessages(f *testing.F) {
	for _, s := range []string{`[{"role":"user","parts":[{"type":"text","content":"hi"}]}]`, `{"messages":[[{"lc":1,"kwargs":{"content":[{}]}}]]}`, `[[[[[[]]]]]]`, `[{"role":"tool","content":{"isError":true}}]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		sketch(parseMessagesText(s))
		if tr, ok := parseTree(s); ok {
			sketch(requestOf(tr).messages)
			sketch(responseOf(tr).messages)
		}
		CatalogueIn(s)
		injectedSkill(s)
		r := &Record{Row: &schema.Span{Signal: "span", SpanID: "s"}, Attributes: Attributes{
			{Key: "input.value", Value: otlp.StringValue(s)}, {Key: "openinference.span.kind", Value: otlp.StringValue("LLM")}, {Key: "output.value", Value: otlp.StringValue(s)}}}
		Read(r, func(Event) {})
	})
}
