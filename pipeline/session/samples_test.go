package session

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

// sampleRows reads a sample file of any shape that the decoder knows, or the spans in its member.
func sampleRows(t *testing.T, path, member string) []schema.Span {
	t.Helper()
	shared := os.Getenv("TRACEJURY_SHARED")
	if shared == "" {
		t.Skip("TRACEJURY_SHARED is not set: no samples")
	}
	raw, err := os.ReadFile(filepath.Join(shared, "samples", path))
	if err != nil {
		t.Fatalf("read sample: %v", err)
	}
	if member != "" {
		var m map[string]json.RawMessage
		if err := json.Unmarshal(raw, &m); err != nil {
			t.Fatalf("parse sample: %v", err)
		}
		raw = m[member]
	}
	var rows []schema.Span
	if _, faults, err := otlp.NewDecoder(otlp.Limits{}).JSON(raw, func(r *otlp.Record) error {
		rows = append(rows, storedRow(r))
		return nil
	}); err != nil || len(faults) > 0 {
		t.Fatalf("decode: %v, faults %v", err, faults)
	}
	return rows
}

// TestSamples builds sessions from the spans of real agents that other projects keep as their fixtures.
func TestSamples(t *testing.T) {
	for _, c := range []struct {
		file, member string
		harness      string
		prompt       string
		answer       string   // contained in the last text
		calls        []string // tool and outcome, in order
		models       int32
		agents       []string // that made calls
	}{
		{file: "strands-agents-evals/mappers__adk_live_spans.json", harness: "google_adk", prompt: "What is 15 multiplied by 37?", answer: "555",
			calls: []string{"calculator ok"}, models: 2, agents: []string{"math_agent"}},
		{file: "strands-agents-evals/mappers__claude_live_spans.json", harness: "claude_agent_sdk",
			prompt: "Look up the weather in New York and Seattle, then calculate the temperature difference.", answer: "17°F",
			calls: []string{"Agent ok", "Agent ok", "Bash ok", "Bash ok", "Agent ok", "Bash ok"}, agents: []string{"ClaudeAgentSDK", "Agent"}},
		{file: "strands-agents-evals/mappers__openai_agents_genai_adot_spans.json", member: "spans", harness: "otel_genai", prompt: "What is 42 * 7, and what's the weather in Seattle?",
			answer: "294", calls: []string{"transfer_to_math_specialist not_executed", "transfer_to_research_specialist not_executed", "multiply_numbers ok"}, models: 3},
		{file: "strands-agents-evals/mappers__otel_genai_convention_spans.json", harness: "otel_genai", prompt: "What's the weather in Paris and London?",
			answer: "rainy", calls: []string{"get_weather ok", "get_weather error"}, models: 2, agents: []string{"WeatherAssistant"}},
		{file: "strands-agents-evals/mappers__openinference_live_spans.json", harness: "openinference_langchain",
			prompt: "What is the weather difference between Taipei and Seattle?", answer: "Taipei", models: 2,
			calls: []string{"get_weather not_executed", "finish ok"}},
		{file: "agentevals/helm.json", harness: "google_adk", prompt: "list all Helm releases", answer: "two Helm releases", calls: []string{"helm_list_releases ok"}, models: 2},
		{file: "agentevals/helm_2.json", harness: "google_adk", prompt: "get me all the Helm releases", answer: "namespace", models: 1},
		{file: "agentevals/helm_3.json", harness: "google_adk"},
	} {
		t.Run(c.file, func(t *testing.T) {
			all := sessionsOf(sampleRows(t, c.file, c.member), Options{})
			if len(all) == 0 {
				t.Fatal("no session")
			}
			b := all[0]
			checkAny(t, all)
			var prompts, texts, calls []string
			agents := map[string]bool{}
			for _, st := range b.Steps {
				switch {
				case st.Role == "user":
					prompts = append(prompts, st.Text)
				case st.Kind == "message" && st.Role == "assistant":
					texts = append(texts, st.Text)
				case st.Kind == "tool_call":
					calls = append(calls, st.Tool+" "+st.Outcome)
					agents[st.Agent] = true
				}
			}
			if b.Session.Harness != c.harness {
				t.Errorf("harness %q, want %q", b.Session.Harness, c.harness)
			}
			if c.prompt == "" {
				return
			}
			if !slices.Contains(prompts, c.prompt) {
				t.Errorf("prompts %q lack %q", prompts, c.prompt)
			}
			if !strings.Contains(last(texts), c.answer) {
				t.Errorf("answer %q lacks %q", last(texts), c.answer)
			}
			if !slices.Equal(calls, c.calls) {
				t.Errorf("calls %q, want %q", calls, c.calls)
			}
			if b.Session.NModelCalls != c.models {
				t.Errorf("%d model calls, want %d", b.Session.NModelCalls, c.models)
			}
			for _, a := range c.agents {
				if !agents[a] {
					t.Errorf("agent %q made no call: %v", a, agents)
				}
			}
		})
	}
}
