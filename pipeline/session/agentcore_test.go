package session

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tracejury/tracejury/pipeline/otlp"
	"github.com/tracejury/tracejury/schema"
)

// TestAgentCore builds sessions from real AgentCore records: content in logs, structure in spans, every model call told
// twice, once without a session id.
func TestAgentCore(t *testing.T) {
	shared := os.Getenv("TRACEJURY_SHARED")
	if shared == "" {
		t.Skip("TRACEJURY_SHARED is not set: no samples of real records")
	}
	var rows []schema.Span
	for _, name := range []string{"raw_otel_strands_bedrock_spans.json", "raw_otel_strands_bedrock_runtime_logs.json"} {
		raw, err := os.ReadFile(filepath.Join(shared, "samples", "aws-bedrock-agentcore-starter-toolkit", name))
		if err != nil {
			t.Fatalf("read sample: %v", err)
		}
		var list []struct {
			Raw json.RawMessage `json:"raw_otel_json"`
		}
		if err := json.Unmarshal(raw, &list); err != nil {
			t.Fatalf("parse sample: %v", err)
		}
		for _, e := range list {
			doc := bytes.TrimSpace(e.Raw)
			if len(doc) == 0 || doc[0] != '{' {
				continue
			}
			if _, _, err := otlp.NewDecoder(otlp.Limits{}).JSON(doc, func(r *otlp.Record) error {
				rows = append(rows, storedRow(r))
				return nil
			}); err != nil {
				t.Fatalf("decode: %v", err)
			}
		}
	}
	found := 0
	for _, b := range sessionsOf(rows, Options{}) {
		if b.Session.SessionIDSource != "session.id" || b.Session.Harness != "strands" {
			continue
		}
		found++
		if b.Session.NModelCalls != 3 {
			t.Errorf("%d model calls, want 3 told twice", b.Session.NModelCalls)
		}
		if hello := "10 user message Hello"; !slices.Contains(outline(b), hello) || b.Session.NTurns != 10 {
			t.Log(dump(b))
			t.Errorf("%d turns, want 10; the last should be %q", b.Session.NTurns, hello)
		}
	}
	if found != 1 {
		t.Errorf("%d sessions, want 1", found)
	}
}
