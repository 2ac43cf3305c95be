package convention

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tracejury/tracejury/pipeline/otlp"
	"github.com/tracejury/tracejury/schema"
)

// langfuseTrace is a trace as Langfuse exports it, with what is needed to make the spans again that it was made from.
type langfuseTrace struct {
	Observations []struct {
		ID        string          `json:"id"`
		TraceID   string          `json:"traceId"`
		Parent    string          `json:"parentObservationId"`
		Type      string          `json:"type"`
		Name      string          `json:"name"`
		StartTime time.Time       `json:"startTime"`
		EndTime   time.Time       `json:"endTime"`
		Input     json.RawMessage `json:"input"`
		Output    json.RawMessage `json:"output"`
		Metadata  json.RawMessage `json:"metadata"`
	} `json:"observations"`
}

// chat is the normalised chat that Langfuse's own tests expect of one observation.
type chat struct {
	Input, Output struct {
		Success bool `json:"success"`
		Data    []struct {
			Role      string          `json:"role"`
			Content   json.RawMessage `json:"content"`
			ToolCalls []struct {
				Name string `json:"name"`
			} `json:"tool_calls"`
		} `json:"data"`
	}
}

// TestFrameworkTraces reads the spans of real frameworks and expects the chats that Langfuse expects of them.
func TestFrameworkTraces(t *testing.T) {
	shared := os.Getenv("TRACEJURY_SHARED")
	if shared == "" {
		t.Skip("TRACEJURY_SHARED is not set: no samples of framework traces")
	}
	files, err := filepath.Glob(filepath.Join(shared, "samples", "langfuse", "framework-traces", "*.trace.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("list samples: %v, %d files", err, len(files))
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".trace.json"), func(t *testing.T) {
			var trace langfuseTrace
			chats := map[string]chat{}
			readJSON(t, f, &trace)
			readJSON(t, strings.Replace(f, ".trace.", ".chatml.", 1), &chats)
			compared := 0
			for i := range trace.Observations {
				o := &trace.Observations[i]
				want, ok := chats[o.ID]
				if o.Type != "GENERATION" || !ok {
					continue
				}
				r := observationRecord(t, &trace, i)
				var events []Event
				if c, ok := Read(r, func(e Event) { events = append(events, e) }); !ok {
					t.Errorf("no convention reads %s of %s", o.Name, r.Row.ScopeName)
				} else {
					t.Logf("%s: %s", o.Name, c.Name())
				}
				for _, side := range []struct {
					name string
					ok   bool
				}{{"input", want.Input.Success}, {"output", want.Output.Success}} {
					data := want.Input.Data
					if side.name == "output" {
						data = want.Output.Data
					}
					if !side.ok {
						continue
					}
					for _, m := range data {
						var text string
						_ = json.Unmarshal(m.Content, &text)
						if text = strings.TrimSpace(text); text != "" && text[0] != '{' && text[0] != '[' {
							compared++
							if !slices.ContainsFunc(events, func(e Event) bool { return saysText(e, m.Role, text) }) {
								t.Errorf("%s of %s: %s %.80q is not told", side.name, o.Name, m.Role, text)
							}
						}
						for _, c := range m.ToolCalls {
							compared++
							if !slices.ContainsFunc(events, func(e Event) bool { k, ok := e.(*ToolCall); return ok && k.Tool == c.Name }) {
								t.Errorf("%s of %s: call of %s is not told", side.name, o.Name, c.Name)
							}
						}
					}
				}
			}
			t.Logf("%d messages and calls compared", compared)
		})
	}
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("read sample: %v", err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatalf("parse %s: %v", path, err)
	}
}

func saysText(e Event, role, text string) bool {
	has := func(s string) bool { return strings.Contains(strings.TrimSpace(s), text) }
	switch e := e.(type) {
	case *Prompt:
		return role == "user" && has(e.Text)
	case *System:
		return role == "system" && has(e.Text)
	case *Message:
		return (role == "assistant" || role == "model") && has(e.Text)
	case *ToolResult:
		return role != "assistant" && role != "model" && role != "system" && has(e.Text)
	}
	return false
}

// observationRecord makes the span of an observation again. Langfuse takes input and output out of the attributes that it
// knows; they go back under the name that the instrumentation uses.
func observationRecord(t *testing.T, trace *langfuseTrace, i int) *Record {
	t.Helper()
	o := &trace.Observations[i]
	var meta struct {
		Attributes map[string]any `json:"attributes"`
		Scope      struct {
			Name string `json:"name"`
		} `json:"scope"`
	}
	_ = json.Unmarshal([]byte(asText(o.Metadata)), &meta)
	attrs := map[string]any{}
	for k, v := range meta.Attributes {
		switch v := v.(type) {
		case map[string]any, []any:
			attrs[k] = encodeTree(v)
		default:
			attrs[k] = v
		}
	}
	in, out := "langfuse.observation.input", "langfuse.observation.output"
	switch meta.Scope.Name {
	case "pydantic-ai":
		in, out = "gen_ai.input.messages", "gen_ai.output.messages"
	case "ai":
		in, out = "ai.prompt.messages", ""
		var answer struct {
			Text      string          `json:"text"`
			ToolCalls json.RawMessage `json:"tool_calls"`
			Calls     json.RawMessage `json:"toolCalls"`
		}
		_ = json.Unmarshal(o.Output, &answer)
		attrs["ai.response.text"] = answer.Text
		if answer.ToolCalls == nil {
			answer.ToolCalls = answer.Calls
		}
		if answer.ToolCalls == nil {
			answer.ToolCalls = json.RawMessage(asText(o.Output))
		}
		attrs["ai.response.toolCalls"] = string(answer.ToolCalls)
		if a, _ := attrs["ai.operationId"].(string); a == "ai.generateText" {
			in = "ai.prompt"
		}
	default:
		if attrs["llm.model_name"] != nil || attrs["gen_ai.prompt.0.role"] != nil || attrs["gcp.vertex.agent.llm_request"] != nil {
			in, out = "", ""
		} else {
			attrs["langfuse.observation.type"] = strings.ToLower(o.Type)
		}
	}
	if in != "" && len(o.Input) > 0 {
		attrs[in] = asText(o.Input)
	}
	if out != "" && len(o.Output) > 0 {
		attrs[out] = asText(o.Output)
	}
	raw, err := json.Marshal(attrs)
	if err != nil {
		t.Fatalf("encode attributes: %v", err)
	}
	list, err := otlp.ParseAttributes(string(raw))
	if err != nil {
		t.Fatalf("attributes: %v", err)
	}
	slices.SortFunc(list, func(x, y otlp.KeyValue) int { return strings.Compare(x.Key, y.Key) })
	return &Record{Row: &schema.Span{Signal: "span", TraceID: o.TraceID, SpanID: o.ID, ParentSpanID: o.Parent, Name: o.Name, ScopeName: meta.Scope.Name,
		StartedUnixNano: o.StartTime.UnixNano(), EndedUnixNano: o.EndTime.UnixNano()}, Attributes: list}
}

func asText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}
