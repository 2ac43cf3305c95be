package convention

import (
	"encoding/json"
	"strings"
)

// geminiSpan reads a span.
func geminiSpan(r *Record, t *teller) {
	a := r.Attributes
	switch geminiKind(r) {
	case "llm_call":
		geminiModelSpan(r, t)
	case "tool_call":
		entry := geminiEntry{Request: geminiRequest{CallID: a.Str("gen_ai.tool.call_id", "gen_ai.tool.call.id"), Name: a.Str("gen_ai.tool.name")}}
		text := a.Str("gen_ai.output.messages")
		if json.Unmarshal([]byte(text), &entry) != nil {
			_ = json.Unmarshal([]byte(a.Str("gen_ai.input.messages")), &entry.Request) // what is cut stays unknown
			geminiCutEntry(&entry, text)
		}
		if entry.Status == "" {
			entry.Status = geminiStatus(r)
		}
		geminiToolEntry(r, t, &entry)
	case "schedule_tool_calls":
		geminiScheduled(r, t)
	case "agent_call":
		t.tell(&AgentStart{})
		t.tellAt(r.Row.EndedUnixNano, &AgentEnd{Status: r.Row.Status})
	}
}

// geminiStatus is a call's status by its span, where the content is not exported.
func geminiStatus(r *Record) string {
	switch r.Row.Status {
	case "ok":
		return "success"
	case "error":
		return "error"
	}
	return ""
}

func geminiModelSpan(r *Record, t *teller) {
	a := r.Attributes
	side := geminiSideCall(a)
	if !side {
		geminiSystem(t, a.Str("gen_ai.system_instructions"))
		geminiInput(t, r, a.Str("gen_ai.input.messages"))
		geminiDefinitions(t, a.Str("gen_ai.tool.definitions"))
		if text := a.Str("gen_ai.output.messages"); text != "" {
			contents, whole := geminiContents(text)
			m := joinStreamed(contents)
			if !whole {
				// The last text may go on in the part that is cut off; the log of the response has it whole.
				t.meta.Summary = true
				if rest, ok := cutString(lastPiece(text), `"text":"`); ok && rest != "" {
					m.parts = append(m.parts, part{kind: partText, text: rest + cutMark})
				}
			}
			t.message(0, History{}, "", m)
			t.meta.Summary = false
		}
	}
	if r.failed() {
		t.tellAt(r.Row.EndedUnixNano, &Failure{Type: a.Str("error.type"), Text: r.Row.StatusMessage})
	}
	if u := geminiUsage(a); u != nil {
		if u.DurationNano == 0 {
			u.DurationNano = max(0, r.Row.EndedUnixNano-r.Row.StartedUnixNano)
		}
		t.tellAt(r.Row.EndedUnixNano, u)
	}
}

// cutMark ends a text that was read up to a cut.
const cutMark = "…[TRUNCATED]"

// lastPiece is text from its last message on.
func lastPiece(text string) string {
	if i := strings.LastIndex(text, `{"role":`); i >= 0 {
		return text[i:]
	}
	return text
}

func geminiDefinitions(t *teller, text string) {
	if text == "" {
		return
	}
	var groups []struct {
		Declarations []struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Schema      json.RawMessage `json:"parametersJsonSchema"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"functionDeclarations"`
	}
	if json.Unmarshal([]byte(text), &groups) != nil {
		return
	}
	for _, g := range groups {
		for _, d := range g.Declarations {
			schema := d.Schema
			if schema == nil {
				schema = d.Parameters
			}
			t.tell(&ToolDefinition{Tool: d.Name, Description: d.Description, InputSchema: string(schema)})
		}
	}
}

type geminiRequest struct {
	CallID   string          `json:"callId"`
	Name     string          `json:"name"`
	Args     json.RawMessage `json:"args"`
	Response string          `json:"traceId"` // the id of the response that asked
}

// geminiEntry is a finished tool call as the spans hold it.
type geminiEntry struct {
	Status   string        `json:"status"`
	Request  geminiRequest `json:"request"`
	Response struct {
		Parts     []geminiPart `json:"responseParts"`
		ErrorType string       `json:"errorType"`
	} `json:"response"`
	text string // of a result that was cut
}

// geminiCutEntry reads what a cut entry still holds.
func geminiCutEntry(e *geminiEntry, text string) {
	if status, ok := cutString(text, `"status":"`); ok {
		e.Status = status
	}
	for _, marker := range [...]string{`"response":{"output":"`, `"response":{"error":"`} {
		if s, ok := cutString(text, marker); ok {
			e.text = s + cutMark
			return
		}
	}
}

func geminiScheduled(r *Record, t *teller) {
	text := r.Attributes.Str("gen_ai.output.messages")
	if text == "" {
		return
	}
	d := json.NewDecoder(strings.NewReader(text))
	read := 0
	_ = walkArray(d, func(int) error { // a cut leaves the entries before it
		var e geminiEntry
		if err := d.Decode(&e); err != nil {
			return err
		}
		read++
		geminiToolEntry(r, t, &e)
		return nil
	})
	if requests := r.Attributes.Str("gen_ai.input.messages"); requests != "" {
		rd := json.NewDecoder(strings.NewReader(requests))
		_ = walkArray(rd, func(i int) error {
			var q geminiRequest
			if err := rd.Decode(&q); err != nil {
				return err
			}
			if i >= read {
				geminiToolEntry(r, t, &geminiEntry{Request: q})
			}
			return nil
		})
	}
}

func geminiToolEntry(r *Record, t *teller, e *geminiEntry) {
	name := e.Request.Name
	if name == "" {
		return
	}
	id := geminiCallID(e.Request.CallID, name)
	args := compactText(string(e.Request.Args))
	t.tell(&ToolCall{
		Source: SourceExecution, CallID: id, Tool: name, Arguments: args, Redacted: args == "", Truncated: isCut(args), ResponseID: e.Request.Response,
	})
	result := &ToolResult{Source: SourceExecution, CallID: id, Tool: name, Outcome: StatusOutcome(e.Status), Text: e.text, Truncated: e.text != ""}
	for i := range e.Response.Parts {
		if f := e.Response.Parts[i].FunctionResponse; f != nil {
			text, outcome := geminiResult(f.Response)
			result.Text = text
			if result.Outcome != OutcomeOK && outcome != OutcomeUnknown {
				result.Outcome = outcome
			}
		}
	}
	result.Outcome = geminiOutcome(result.Outcome, e.Response.ErrorType)
	result.Truncated = result.Truncated || isCut(result.Text)
	shellResult(result)
	if result.Outcome == OutcomeUnknown && result.Text == "" {
		return
	}
	if result.Outcome == OutcomeDenied {
		t.tellAt(r.Row.EndedUnixNano, &Denial{CallID: id, Tool: name, Arguments: args, By: "policy", Text: result.Text})
	}
	t.tellAt(r.Row.EndedUnixNano, result)
}

// shellResult reads the exit code in the report of a shell command, which counts as a success whatever the code: 141 is a
// reader that closed its pipe early.
func shellResult(result *ToolResult) {
	if result.Tool != "run_shell_command" {
		return
	}
	if result.ExitCode = exitCodeAfter(result.Text, "\nExit Code:"); result.ExitCode == nil {
		return
	}
	if *result.ExitCode != 0 && *result.ExitCode != 141 && result.Outcome == OutcomeOK {
		result.Outcome = OutcomeError
	}
}
