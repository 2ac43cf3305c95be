package convention

import (
	"strings"

	"github.com/tracejury/tracejury/pipeline/otlp"
)

// OTelGenAI reads OpenTelemetry's GenAI semantic conventions, 1.28 to 1.42 and genai 0.1: messages as attributes (a JSON
// string or structured), as span events, as log events and as the operation.details event; MCP spans; skill attributes.
// It is the fallback for whoever follows the convention without a reader of its own.
type OTelGenAI struct{}

// Name implements [Convention].
func (OTelGenAI) Name() string { return "otel_genai" }

// Match implements [Convention].
func (OTelGenAI) Match(r *Record) bool {
	if r.isLog() {
		return strings.HasPrefix(r.Row.Name, "gen_ai.") || hasPrefix(r.Attributes, "gen_ai.")
	}
	return hasPrefix(r.Attributes, "gen_ai.") || r.Attributes.Has("mcp.method.name") || hasGenAIEvent(r)
}

// Internal implements [Convention].
func (OTelGenAI) Internal(*Record) bool { return false }

// Exports implements [Convention].
func (c OTelGenAI) Exports(r *Record) Content { return genAIExports(r) }

// Events implements [Convention].
func (c OTelGenAI) Events(r *Record, emit func(Event)) {
	t := newTeller(r, c.Name(), emit)
	genAITell(r, t, genAIStyle{harness: c.Name()})
}

// genAIStyle is what harnesses that build on the convention do in their own way.
type genAIStyle struct {
	harness string
	delta   bool // a chat's input holds only what is new
}

// Operations of gen_ai.operation.name, folded to what they mean here.
type operation uint8

const (
	opOther operation = iota
	opModel
	opAgent
	opTool
)

func hasPrefix(a Attributes, prefix string) bool {
	lo, hi := 0, len(a)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if a[mid].Key < prefix {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo < len(a) && strings.HasPrefix(a[lo].Key, prefix)
}

func hasGenAIEvent(r *Record) bool {
	for i := range r.Events {
		if strings.HasPrefix(r.Events[i].Name, "gen_ai.") {
			return true
		}
	}
	return false
}

// operationOf is the record's operation, by attribute, else by what only such an operation carries.
func operationOf(r *Record) operation {
	switch r.Attributes.Str("gen_ai.operation.name") {
	case "chat", "generate_content", "text_completion", "completion":
		return opModel
	case "invoke_agent", "create_agent", "invoke_workflow":
		return opAgent
	case "execute_tool":
		return opTool
	case "":
	default:
		return opOther
	}
	switch {
	case r.Attributes.Str("mcp.method.name") == "tools/call":
		return opTool
	case r.isLog():
		return opOther
	case r.Attributes.Has("gen_ai.tool.name") || r.Attributes.Has("gen_ai.tool.call.id"):
		return opTool
	case r.Attributes.Has("gen_ai.usage.input_tokens") || r.Attributes.Has("gen_ai.input.messages") || r.Attributes.Has("gen_ai.output.messages"):
		return opModel
	}
	return opOther
}

// genAITell emits what a record in OpenTelemetry's convention says.
func genAITell(r *Record, t *teller, style genAIStyle) {
	op := operationOf(r)
	t.meta.Agent = r.Attributes.Str("gen_ai.agent.name")
	t.meta.AgentID = r.Attributes.Str("gen_ai.agent.id")
	t.meta.Turn = r.Attributes.Str("gen_ai.turn.id")
	if r.isLog() {
		genAILog(r, t, style)
		return
	}
	t.meta.Witness = r.Row.ScopeName + "/" + r.Attributes.Str("gen_ai.operation.name")
	t.tell(&Identity{Harness: style.harness, Version: r.Row.ScopeVersion})
	genAIDefinitions(r.Attributes, t)
	switch op {
	case opAgent:
		t.tell(&AgentStart{})
		t.meta.Summary = true
		genAIMessages(r, t, style, r.Attributes)
		genAISpanEvents(r, t, style)
		t.tellAt(r.end(), genAIUsage(r, true))
		t.meta.Summary = false
		genAIFailure(r, t)
		t.tellAt(r.end(), &AgentEnd{Status: endStatus(r)})
	case opModel:
		genAIMessages(r, t, style, r.Attributes)
		genAISpanEvents(r, t, style)
		genAIFailure(r, t)
		t.tellAt(r.end(), genAIUsage(r, false))
	case opTool:
		genAITool(r, t)
	default:
		// Wrappers repeat the history of the calls below them; what they add is told there.
		t.meta.Summary = true
		genAIMessages(r, t, style, r.Attributes)
		genAISpanEvents(r, t, style)
	}
}

func endStatus(r *Record) string {
	if r.failed() {
		return "error"
	}
	return "ok"
}

// genAIMessages emits messages held in attributes, of a span, a log or a span event.
func genAIMessages(r *Record, t *teller, style genAIStyle, a Attributes) {
	start := r.Row.StartedUnixNano
	if v, ok := a.Get("gen_ai.system_instructions"); ok {
		tellSystem(t, start, v, r.Row.SpanID)
	} else if s := a.Str("system_prompt"); s != "" {
		tellSystem(t, start, otlp.StringValue(s), r.Row.SpanID)
	}
	if v, ok := a.Get("gen_ai.input.messages"); ok {
		t.history(start, r.Row.SpanID, style.delta, t.parseMessages(v))
	}
	if v, ok := a.Get("gen_ai.output.messages"); ok {
		t.output(r.end(), a.Str("gen_ai.response.id"), parseMessages(v))
	}
}

// tellSystem emits system instructions: parts, messages, or plain text that may be JSON-quoted.
func tellSystem(t *teller, at int64, v otlp.Value, call string) {
	text := ""
	if tr, ok := treeOf(v); ok {
		text = systemText(tr)
	} else {
		text = v.Str()
	}
	if text != "" {
		t.tellAt(at, &System{History: History{Origin: OriginHistory, Call: call}, Text: text, Truncated: isCut(text)})
	}
}

func systemText(tr tree) string {
	if s, ok := tr.(string); ok {
		return s
	}
	var texts []string
	for _, m := range messagesOf(tr) {
		for _, p := range m.parts {
			texts = append(texts, p.text)
		}
	}
	if len(texts) == 0 {
		for _, p := range partsOf(tr) {
			texts = append(texts, p.text)
		}
	}
	return strings.Join(texts, "\n")
}

func firstCost(a Attributes, keys ...string) *int64 {
	for _, k := range keys {
		if c := a.microUSD(k); c != nil {
			return c
		}
	}
	return nil
}

// genAIFailure emits the error of an operation that is no tool call.
func genAIFailure(r *Record, t *teller) {
	if !r.failed() && !r.Attributes.Has("error.type") {
		return
	}
	text := r.Row.StatusMessage
	if text == "" {
		text = exceptionText(r)
	}
	t.tellAt(r.end(), &Failure{Type: r.Attributes.Str("error.type"), Text: text})
}

// exceptionText is the message of the last exception event, without its stack.
func exceptionText(r *Record) string {
	for i := len(r.Events) - 1; i >= 0; i-- {
		if r.Events[i].Name == "exception" || r.Events[i].Name == "gen_ai.client.operation.exception" {
			if s := Attributes(r.Events[i].Attributes).Str("exception.message"); s != "" {
				return s
			}
		}
	}
	return ""
}

// genAIDefinitions emits gen_ai.tool.definitions.
func genAIDefinitions(a Attributes, t *teller) {
	v, ok := a.Get("gen_ai.tool.definitions")
	if !ok {
		return
	}
	tr, ok := treeOf(v)
	if !ok {
		return
	}
	tellDefinitions(t, tr)
}

// tellDefinitions emits tool definitions in OpenTelemetry's, OpenAI's, Anthropic's, Bedrock's or Gemini's shape.
func tellDefinitions(t *teller, tr tree) {
	for _, e := range asList(tr) {
		if s, ok := e.(string); ok { // each definition a JSON string of its own
			e, _ = parseTree(s)
		}
		m, ok := e.(map[string]any)
		if !ok {
			continue
		}
		if list := asList(field(m, "functionDeclarations", "function_declarations")); list != nil {
			tellDefinitions(t, list)
			continue
		}
		if f, ok := field(m, "function", "toolSpec", "custom").(map[string]any); ok {
			m = f
		}
		name := str(m, "name")
		if name == "" {
			continue
		}
		schema := field(m, "parameters", "inputSchema", "input_schema", "parametersJsonSchema", "parameters_json_schema", "json_schema")
		if j := field(schema, "json"); j != nil {
			schema = j
		}
		server, tool := SplitMCP(name)
		t.tell(&ToolDefinition{Server: server, Tool: tool, Description: str(m, "description"), InputSchema: argumentsText(schema)})
	}
}

// SplitMCP separates the server from names of the form mcp__server__tool.
func SplitMCP(name string) (server, tool string) {
	if rest, ok := strings.CutPrefix(name, "mcp__"); ok {
		if s, tl, ok := strings.Cut(rest, "__"); ok && s != "" && tl != "" {
			return s, tl
		}
	}
	return "", name
}
