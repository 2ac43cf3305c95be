package pipeline_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/pipeline"
	"github.com/tracejury/tracejury/schema"
)

// turnTraces are two turns of a client that tells no session id and makes a trace of every model call.
func turnTraces(t *testing.T) (docs []string) {
	t.Helper()
	type m = map[string]any
	text := func(role, s string) m {
		return m{"role": role, "parts": []m{{"type": "text", "content": s}}}
	}
	asks := func(id string) m {
		return m{"role": "assistant", "parts": []m{{"type": "tool_call", "id": id, "name": "bash", "arguments": m{"command": "ls"}}}}
	}
	answers := func(id string) m {
		return m{"role": "tool", "parts": []m{{"type": "tool_call_response", "id": id, "response": "f"}}}
	}
	x, y := "call_X3e5yoVpVAFU1RpMUxH1cMOD", "call_cAwEUQGkjqiUPzD30ycksU0W"
	said := []m{text("user", "List it.")}
	for i, next := range [][]m{{asks(x), answers(x)}, {text("assistant", "One file."), text("user", "Again.")}, {asks(y), answers(y)}, {text("assistant", "The same.")}} {
		in, err := json.Marshal(said)
		if err != nil {
			t.Fatal(err)
		}
		out, err := json.Marshal(next[:1])
		if err != nil {
			t.Fatal(err)
		}
		span := m{"traceId": fmt.Sprintf("%032x", i+1), "spanId": fmt.Sprintf("%016x", i+1), "name": "chat", "startTimeUnixNano": fmt.Sprint(1795996800000000000 + int64(i)*1e9),
			"endTimeUnixNano": fmt.Sprint(1795996800500000000 + int64(i)*1e9), "attributes": []m{{"key": "gen_ai.operation.name", "value": m{"stringValue": "chat"}},
				{"key": "gen_ai.input.messages", "value": m{"stringValue": string(in)}}, {"key": "gen_ai.output.messages", "value": m{"stringValue": string(out)}}}}
		doc, err := json.Marshal(m{"resourceSpans": []m{{"resource": m{"attributes": []m{{"key": "service.name", "value": m{"stringValue": "svc"}}}}, "scopeSpans": []m{{"spans": []m{span}}}}}})
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, string(doc))
		said = append(said, next...)
	}
	return docs
}

// TestIngestJoinsTurns puts the model calls of a turn into one session, in whatever order and in however many runs they come.
func TestIngestJoinsTurns(t *testing.T) {
	docs := turnTraces(t)
	var want map[string]string
	for _, order := range [][]int{{0, 1, 2, 3}, {3, 0, 2, 1}} {
		from, data := filepath.Join(t.TempDir(), "in"), filepath.Join(t.TempDir(), "lake")
		for _, i := range order {
			putFile(t, from, fmt.Sprintf("%d.json", i), docs[i])
			mustIngest(t, config(t, from, data), pipeline.IngestOptions{})
		}
		got := tree(t, data, sessionTables...)
		if want == nil {
			want = got
		}
		diffTrees(t, got, want)
		sessions := rows[schema.Session](t, data, "sessions/")
		if len(sessions) != 2 {
			t.Fatalf("%d sessions, want one a turn", len(sessions))
		}
		for _, s := range sessions {
			if s.SessionIDSource != "tool_call" || len(s.TraceIDs) != 2 || s.NToolCalls != 1 || s.NTurns != 1 {
				t.Errorf("%+v", s)
			}
		}
	}
}

// TestIngestNamesTraces keeps a trace's id as the session's where all of its records are model calls below a parent that never came.
func TestIngestNamesTraces(t *testing.T) {
	from, data := filepath.Join(t.TempDir(), "in"), filepath.Join(t.TempDir(), "lake")
	for i, doc := range turnTraces(t) {
		putFile(t, from, fmt.Sprintf("%d.json", i), strings.Replace(doc, `"spanId"`, `"parentSpanId":"00000000000000ff","spanId"`, 1))
	}
	mustIngest(t, config(t, from, data), pipeline.IngestOptions{})
	sessions := rows[schema.Session](t, data, "sessions/")
	for _, s := range sessions {
		if s.SessionIDSource != "trace" || len(s.TraceIDs) != 1 || s.SessionID != s.TraceIDs[0] {
			t.Errorf("%+v", s)
		}
	}
	if len(sessions) != 4 {
		t.Errorf("%d sessions", len(sessions))
	}
}
