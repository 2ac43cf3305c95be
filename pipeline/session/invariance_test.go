package session

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"pgregory.net/rapid"

	"github.com/tracejury/tracejury/pipeline/convention"
	"github.com/tracejury/tracejury/pipeline/otlp"
	"github.com/tracejury/tracejury/schema"
)

// TestBuildIsInvariant breaks the promise of purity on purpose: the records of real captures, one by one, shuffled, repeated,
// put into batches of any size and encoded as JSON or protobuf, must build the same sessions.
func TestBuildIsInvariant(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine: nothing for the race detector")
	}
	for _, c := range []struct{ client, scenario string }{
		{"strands-ts", "unknown_skill"}, {"vercel-ai-sdk", "full_pdf"}, {"openai-agents-js", "wrong_skill"}, {"openai-agents-js", "full_pdf__sandbox"},
		{"anthropic-sdk", "tool_denied"}, {"anthropic-sdk", "full_pdf__traceloop"}, {"langchain-js", "full_pdf__deep"}, {"claude-code", "tool_denied"},
		{"claude-code", "full_pdf__beta"}, {"claude-code", "partial_incident__raw"}, {"gemini-cli", "full_pdf"}, {"qwen-code", "unknown_skill"},
		{"google-adk-js", "unknown_skill"}, {"mastra", "full_pdf"}, {"opencode", "full_pdf__fast"}, {"mcp-sdk", "mcp_two_prompts__traceloop"}, {"codex", "wrong_skill"},
	} {
		t.Run(c.client+"/"+c.scenario, func(t *testing.T) {
			want := sessionsOf(capturedRows(t, c.client, c.scenario), Options{})
			singles := capturedSingles(t, c.client, c.scenario)
			if got := sessionsOf(rowsOf(t, singles), Options{}); !reflect.DeepEqual(got, want) {
				t.Fatalf("one record a document reached the result:\n%s\nwant\n%s", dump(got[0]), dump(want[0]))
			}
			checks, failed := 0, false
			rapid.Check(t, func(rt *rapid.T) {
				if checks++; checks > 6 && !failed {
					return // each builds everything again
				}
				order := rapid.Permutation(indexes(len(singles))).Draw(rt, "order")
				order = append(order, rapid.SliceOfN(rapid.IntRange(0, len(singles)-1), 0, len(singles)/2).Draw(rt, "again")...)
				var batches []single
				for len(order) > 0 {
					n := min(len(order), rapid.IntRange(1, 40).Draw(rt, "batch"))
					batches = append(batches, merged(singles, order[:n], rapid.Bool().Draw(rt, "proto"))...)
					order = order[n:]
				}
				if got := sessionsOf(rowsOf(t, batches), Options{}); !reflect.DeepEqual(got, want) {
					failed = true
					rt.Fatalf("order, batching, duplicates or encoding reached the result:\n%s\nwant\n%s", dump(got[0]), dump(want[0]))
				}
			})
		})
	}
}

func indexes(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// single is a document: traces or logs, of one record or of many.
type single struct {
	traces *ptrace.Traces
	logs   *plog.Logs
	proto  bool
}

// capturedSingles takes a capture apart, one record a document.
func capturedSingles(t *testing.T, client, scenario string) (out []single) {
	t.Helper()
	for name, raw := range capturedFiles(t, client, scenario) {
		if strings.Contains(name, "_traces") {
			var u ptrace.Unmarshaler = &ptrace.JSONUnmarshaler{}
			if strings.HasSuffix(name, ".pb") {
				u = &ptrace.ProtoUnmarshaler{}
			}
			td, err := u.UnmarshalTraces(raw)
			if err != nil {
				t.Fatalf("reference decoder, %s: %v", name, err)
			}
			for _, rs := range td.ResourceSpans().All() {
				for _, ss := range rs.ScopeSpans().All() {
					for _, s := range ss.Spans().All() {
						one := ptrace.NewTraces()
						r := one.ResourceSpans().AppendEmpty()
						rs.Resource().CopyTo(r.Resource())
						sc := r.ScopeSpans().AppendEmpty()
						ss.Scope().CopyTo(sc.Scope())
						s.CopyTo(sc.Spans().AppendEmpty())
						out = append(out, single{traces: &one})
					}
				}
			}
			continue
		}
		var u plog.Unmarshaler = &plog.JSONUnmarshaler{}
		if strings.HasSuffix(name, ".pb") {
			u = &plog.ProtoUnmarshaler{}
		}
		ld, err := u.UnmarshalLogs(raw)
		if err != nil {
			t.Fatalf("reference decoder, %s: %v", name, err)
		}
		for _, rl := range ld.ResourceLogs().All() {
			for _, sl := range rl.ScopeLogs().All() {
				for _, l := range sl.LogRecords().All() {
					one := plog.NewLogs()
					r := one.ResourceLogs().AppendEmpty()
					rl.Resource().CopyTo(r.Resource())
					sc := r.ScopeLogs().AppendEmpty()
					sl.Scope().CopyTo(sc.Scope())
					l.CopyTo(sc.LogRecords().AppendEmpty())
					out = append(out, single{logs: &one})
				}
			}
		}
	}
	return out
}

// capturedFiles are the bodies of a capture, inflated.
func capturedFiles(t *testing.T, client, scenario string) map[string][]byte {
	t.Helper()
	dir := filepath.Join(os.Getenv("TRACEJURY_SHARED"), "captures", client, scenario)
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatalf("list captures: %v", err)
	}
	out := map[string][]byte{}
	for _, f := range files {
		name := f.Name()
		if !strings.Contains(name, "_traces") && !strings.Contains(name, "_logs") || strings.HasPrefix(name, "as_received") {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatalf("read capture: %v", err)
		}
		if inflated, ok := strings.CutSuffix(name, ".gz"); ok {
			name = inflated
			z, err := gzip.NewReader(bytes.NewReader(raw))
			if err != nil {
				t.Fatalf("open %s: %v", name, err)
			}
			if raw, err = io.ReadAll(z); err != nil {
				t.Fatalf("inflate %s: %v", name, err)
			}
		}
		out[name] = raw
	}
	return out
}

// merged puts records into one document of traces and one of logs.
func merged(singles []single, order []int, proto bool) []single {
	traces, logs := ptrace.NewTraces(), plog.NewLogs()
	for _, i := range order {
		if s := singles[i]; s.traces != nil {
			s.traces.ResourceSpans().At(0).CopyTo(traces.ResourceSpans().AppendEmpty())
		} else {
			s.logs.ResourceLogs().At(0).CopyTo(logs.ResourceLogs().AppendEmpty())
		}
	}
	return []single{{traces: &traces, proto: proto}, {logs: &logs, proto: proto}}
}

// rowsOf encodes documents and decodes them as ingest does.
func rowsOf(t *testing.T, docs []single) (rows []schema.Span) {
	t.Helper()
	d := otlp.NewDecoder(otlp.Limits{})
	for _, doc := range docs {
		var raw []byte
		var err error
		switch {
		case doc.traces != nil && doc.proto:
			raw, err = (&ptrace.ProtoMarshaler{}).MarshalTraces(*doc.traces)
		case doc.traces != nil:
			raw, err = (&ptrace.JSONMarshaler{}).MarshalTraces(*doc.traces)
		case doc.proto:
			raw, err = (&plog.ProtoMarshaler{}).MarshalLogs(*doc.logs)
		default:
			raw, err = (&plog.JSONMarshaler{}).MarshalLogs(*doc.logs)
		}
		if err != nil {
			t.Fatalf("encode: %v", err)
		}
		if len(raw) == 0 {
			continue
		}
		decode := d.JSON
		if doc.proto {
			decode = d.Proto
		}
		if _, _, err := decode(raw, func(r *otlp.Record) error {
			row := storedRow(r)
			rec, err := convention.Parse(&row)
			if err != nil {
				t.Errorf("parse what was stored: %v", err)
			}
			if c, ok := convention.Find(rec); !ok || !c.Internal(rec) {
				rows = append(rows, row)
			}
			return nil
		}); err != nil {
			t.Fatalf("decode: %v", err)
		}
	}
	return rows
}
