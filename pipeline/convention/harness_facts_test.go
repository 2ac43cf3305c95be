package convention

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/pipeline/otlp"
	"github.com/tracejury/tracejury/schema"
)

// logOf and spanOf make records by hand; attributes are given as key, value.
func logOf(scope, name string, attributes ...any) *Record {
	return &Record{
		Row:        &schema.Span{Signal: "log", Name: name, ScopeName: scope, SpanID: "00f067aa0ba902b7", StartedUnixNano: 1_000},
		Attributes: attributesOf(append([]any{"event.name", name}, attributes...)...),
	}
}

func spanOf(scope, name string, attributes ...any) *Record {
	return &Record{
		Row: &schema.Span{
			Signal: "span", Name: name, ScopeName: scope, SpanID: "00f067aa0ba902b7", ParentSpanID: "a3ce929d0e0e4736",
			StartedUnixNano: 1_000, EndedUnixNano: 5_000, Status: "unset",
		},
		Attributes: attributesOf(attributes...),
	}
}

func attributesOf(pairs ...any) Attributes {
	var out Attributes
	for i := 0; i+1 < len(pairs); i += 2 {
		var v otlp.Value
		switch x := pairs[i+1].(type) {
		case string:
			v = otlp.StringValue(x)
		case int:
			v = otlp.IntValue(int64(x))
		case bool:
			v = otlp.BoolValue(x)
		case float64:
			v = otlp.DoubleValue(x)
		case otlp.Value:
			v = x
		}
		out = append(out, otlp.KeyValue{Key: pairs[i].(string), Value: v})
	}
	slices.SortFunc(out, func(a, b otlp.KeyValue) int { return strings.Compare(a.Key, b.Key) })
	return out
}

func eventsOf(t *testing.T, c Convention, r *Record) []Event {
	t.Helper()
	if !c.Match(r) {
		t.Fatalf("%s does not match %s", c.Name(), r.Row.Name)
	}
	var out []Event
	c.Events(r, func(e Event) { out = append(out, e) })
	for i, e := range out {
		if m := e.Info(); m.Index != i || m.Convention != c.Name() || m.SpanID != r.Row.SpanID {
			t.Errorf("event %d has place %+v", i, *m)
		}
	}
	return out
}

// only is the events of one type.
func only[T Event](events []Event) []T {
	var out []T
	for _, e := range events {
		if x, ok := e.(T); ok {
			out = append(out, x)
		}
	}
	return out
}

func single[T Event](t *testing.T, events []Event) T {
	t.Helper()
	found := only[T](events)
	if len(found) != 1 {
		var zero T
		t.Fatalf("%d events of type %T among %d, want 1", len(found), zero, len(events))
	}
	return found[0]
}

// script is the ground truth of the captures.
type script struct {
	Prompts []string `json:"prompts"`
	Turns   []struct {
		Text  string `json:"text"`
		Calls []struct {
			Skill string `json:"skill"`
			Sh    string `json:"sh"`
		} `json:"calls"`
	} `json:"turns"`
}

func truth(t *testing.T) map[string]script {
	t.Helper()
	shared := os.Getenv("TRACEJURY_SHARED")
	if shared == "" {
		t.Skip("TRACEJURY_SHARED is not set: no captures of real harnesses")
	}
	raw, err := os.ReadFile(filepath.Join(shared, "captures", "truth.json"))
	if err != nil {
		t.Fatalf("read truth: %v", err)
	}
	var doc struct {
		Scenarios map[string]script `json:"scenarios"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatalf("parse truth: %v", err)
	}
	return doc.Scenarios
}

// scenarios lists the capture directories of a client that hold OTLP.
func scenarios(t *testing.T, client string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(os.Getenv("TRACEJURY_SHARED"), "captures", client))
	if err != nil {
		t.Fatalf("list scenarios: %v", err)
	}
	var out []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasSuffix(e.Name(), "__outfile") {
			out = append(out, e.Name())
		}
	}
	return out
}

// facts is what can be counted on in any telling of a scenario.
type facts struct {
	prompts, texts, commands, offered, denied map[string]bool
	refused                                   map[string]bool // skills
	bodies                                    int
	content                                   Content
}

func gather(t *testing.T, client, scenario string) facts {
	t.Helper()
	events, content := told(t, captured(t, client, scenario))
	f := facts{
		prompts: map[string]bool{}, texts: map[string]bool{}, commands: map[string]bool{}, offered: map[string]bool{},
		denied: map[string]bool{}, refused: map[string]bool{}, content: content,
	}
	calls := map[string]*ToolCall{}
	for _, c := range only[*ToolCall](events) {
		if old := calls[c.CallID]; c.CallID != "" && (old == nil || len(c.Arguments) > len(old.Arguments)) {
			calls[c.CallID] = c
		}
		for _, key := range [...]string{"command", "cmd"} {
			if s := jsonText(jsonObject(c.Arguments)[key]); s != "" {
				f.commands[s] = true
			}
		}
	}
	for _, e := range events {
		switch e := e.(type) {
		case *Prompt:
			f.prompts[e.Text] = true
		case *Message:
			f.texts[e.Text] = true
		case *Catalogue:
			for _, s := range e.Skills {
				f.offered[s.Name] = f.offered[s.Name] || s.Description != ""
			}
		case *Denial:
			f.denied[e.Arguments] = true
		case *ToolResult:
			c := calls[e.CallID]
			if c == nil || e.CallID == "" {
				continue
			}
			object := jsonObject(c.Arguments)
			skill := jsonText(object["skill"])
			if skill == "" && c.Tool == "activate_skill" {
				skill = jsonText(object["name"])
			}
			if skill != "" && e.Outcome == OutcomeRefused {
				f.refused[skill] = true
			}
			if strings.Contains(e.Text, "# PDF processing") || strings.Contains(e.Text, "# Incident triage") {
				f.bodies++
			}
		case *SkillLoad:
			if e.Body != "" {
				f.bodies++
			}
		}
	}
	return f
}

// TestCapturedFacts holds every capture of the harnesses against its script.
func TestCapturedFacts(t *testing.T) {
	scripts := truth(t)
	for _, client := range [...]string{"claude-code", "codex", "gemini-cli", "qwen-code"} {
		for _, scenario := range scenarios(t, client) {
			t.Run(client+"/"+scenario, func(t *testing.T) {
				name, variant, _ := strings.Cut(scenario, "__")
				want := scripts[name]
				closed := strings.Contains(variant, "default")
				f := gather(t, client, scenario)
				for _, p := range want.Prompts {
					if !closed && !f.prompts[p] {
						t.Errorf("prompt %q is not told, but %v", p, f.prompts)
					}
					if closed && f.prompts[p] {
						t.Errorf("a withheld prompt is told")
					}
				}
				if closed && f.content&ContentUserPrompt != 0 {
					t.Errorf("content %b says that prompts are exported", f.content)
				}
				for _, turn := range want.Turns {
					speaks := client != "codex" && !closed
					if speaks && turn.Text != "" && !f.texts[turn.Text] {
						t.Errorf("text %q is not told", turn.Text)
					}
					for _, c := range turn.Calls {
						// Codex exports arguments whatever the setting.
						if c.Sh != "" && (!closed || client == "codex") && !f.commands[c.Sh] {
							t.Errorf("command %q is not told", c.Sh)
						}
					}
				}
				if client == "codex" && f.content&(ContentAssistantText|ContentSkillCatalogue) != 0 {
					t.Errorf("content %b has what Codex never exports", f.content)
				}
				// In plain mode Gemini CLI offers no shell at all: the call is refused, not denied.
				if len(f.denied) > 0 != (name == "tool_denied" && !strings.HasPrefix(variant, "plainmode")) {
					t.Errorf("denied %v", f.denied)
				}
				full := client == "gemini-cli" || client == "qwen-code" && !closed || variant == "beta" || variant == "raw"
				if full && !f.offered["pdf-processing"] {
					t.Errorf("pdf-processing is not in the catalogue: %v", f.offered)
				}
				if name == "full_pdf" && full && !closed && f.bodies == 0 {
					t.Error("no body of the skill is told")
				}
				if name == "unknown_skill" && full && (client == "qwen-code" || client == "claude-code") && len(f.refused) != 2 {
					t.Errorf("refused skills %v, want two", f.refused)
				}
			})
		}
	}
}

// TestCapturedFrameworks holds the captures of frameworks against their scripts, as far as each exports its content.
func TestCapturedFrameworks(t *testing.T) {
	scripts := truth(t)
	for _, client := range [...]string{"google-adk-js", "vercel-ai-sdk", "opencode", "mastra", "langsmith-otel"} {
		for _, scenario := range scenarios(t, client) {
			t.Run(client+"/"+scenario, func(t *testing.T) {
				name, variant, _ := strings.Cut(scenario, "__")
				want := scripts[name]
				closed := variant == "nocontent" || variant == "noinputs"
				if client == "opencode" && scenario == "tool_denied" {
					t.Skip("all that arrived of it is the call that names the session")
				}
				f := gather(t, client, scenario)
				for _, p := range want.Prompts {
					// opencode passes a prompt of several words on in quotation marks.
					if told := f.prompts[p] || f.prompts[`"`+p+`"`]; told == closed {
						t.Errorf("prompt %q is told: %t", p, told)
					}
				}
				for i, turn := range want.Turns {
					lost := client == "opencode" && i >= len(want.Turns)-2 // the last batch never arrives
					if !closed && !lost && turn.Text != "" && !f.texts[turn.Text] {
						t.Errorf("text %q is not told", turn.Text)
					}
					for _, c := range turn.Calls {
						if c.Sh != "" && !closed && !lost && !f.commands[c.Sh] {
							t.Errorf("command %q is not told", c.Sh)
						}
					}
				}
				if name == "full_pdf" && !closed && f.bodies == 0 {
					t.Error("no body of the skill is told")
				}
				if closed && f.content&(ContentUserPrompt|ContentAssistantText) != 0 {
					t.Errorf("content %b of a closed capture", f.content)
				}
			})
		}
	}
}

// TestCapturedUsage holds that the log and the span of one model call tell the same tokens.
func TestCapturedUsage(t *testing.T) {
	truth(t)
	events, _ := told(t, captured(t, "claude-code", "full_pdf"))
	byID := map[string]int64{}
	n := 0
	for _, u := range only[*Usage](events) {
		n++
		if u.ResponseID == "" || u.InputTokens == nil {
			t.Fatalf("usage without id or tokens: %+v", u)
		}
		if was, ok := byID[u.ResponseID]; ok && was != *u.InputTokens {
			t.Errorf("response %s has %d and %d input tokens", u.ResponseID, was, *u.InputTokens)
		}
		byID[u.ResponseID] = *u.InputTokens
	}
	if n != 10 || len(byID) != 5 {
		t.Errorf("%d tellings of %d model calls, want 10 of 5", n, len(byID))
	}
}
