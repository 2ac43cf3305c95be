package session

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/pipeline/convention"
	"github.com/tracejury/tracejury/pipeline/otlp"
	"github.com/tracejury/tracejury/schema"
)

// capturedRows reads one capture directory as stored rows, internal records dropped as ingest drops them.
func capturedRows(t *testing.T, client, scenario string) []schema.Span {
	t.Helper()
	shared := os.Getenv("TRACEJURY_SHARED")
	if shared == "" {
		t.Skip("TRACEJURY_SHARED is not set: no captures of real harnesses")
	}
	dir := filepath.Join(shared, "captures", client, scenario)
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatalf("list captures: %v", err)
	}
	var out []schema.Span
	for _, f := range files {
		name := f.Name()
		if !strings.Contains(name, "_traces") && !strings.Contains(name, "_logs") && !strings.HasPrefix(name, "outfile") || strings.HasPrefix(name, "as_received") {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatalf("read capture: %v", err)
		}
		if strings.HasSuffix(name, ".gz") {
			z, err := gzip.NewReader(bytes.NewReader(raw))
			if err != nil {
				t.Fatalf("open %s: %v", name, err)
			}
			if raw, err = io.ReadAll(z); err != nil {
				t.Fatalf("inflate %s: %v", name, err)
			}
			name = strings.TrimSuffix(name, ".gz")
		}
		d := otlp.NewDecoder(otlp.Limits{})
		decode := d.JSON
		if strings.HasSuffix(name, ".pb") {
			decode = d.Proto
		}
		index := int64(0)
		if _, _, err := decode(raw, func(r *otlp.Record) error {
			if r.Signal == otlp.SignalMetric {
				return nil
			}
			row := storedRow(r)
			row.SourceObject, row.SourceIndex = f.Name(), index
			index++
			rec, err := convention.Parse(&row)
			if err != nil {
				t.Errorf("parse what was stored: %v", err)
			}
			if c, ok := convention.Find(rec); ok && c.Internal(rec) {
				return nil
			}
			out = append(out, row)
			return nil
		}); err != nil {
			t.Fatalf("decode %s: %v", name, err)
		}
	}
	return out
}

// storedRow is a decoded record in stored form, unmasked.
func storedRow(r *otlp.Record) schema.Span {
	row := schema.Span{
		Tenant: "default", Signal: "span", TraceID: strings.Clone(r.TraceID), SpanID: strings.Clone(r.SpanID), ParentSpanID: strings.Clone(r.ParentSpanID),
		Name: strings.Clone(r.Name), Kind: r.Kind, ScopeName: strings.Clone(r.ScopeName), ScopeVersion: strings.Clone(r.ScopeVersion),
		StartedUnixNano: r.StartUnixNano, EndedUnixNano: r.EndUnixNano, TimeQuality: r.TimeQuality.String(), Status: r.Status,
		StatusMessage: strings.Clone(r.StatusMessage), Severity: r.Severity,
	}
	if r.Signal == otlp.SignalLog {
		row.Signal = "log"
	}
	if len(r.Attributes) > 0 {
		row.Attributes = string(otlp.AppendAttributes(nil, r.Attributes))
	}
	if len(r.Events) > 0 {
		row.Events = string(otlp.AppendEvents(nil, r.Events))
	}
	if r.Body.Kind() != otlp.KindNull {
		row.Body = string(otlp.AppendValue(nil, r.Body))
	}
	if r.Resource != nil {
		row.Resource = string(otlp.AppendAttributes(nil, r.Resource.Attributes))
		row.Service = strings.Clone(convention.Attributes(r.Resource.Attributes).Str("service.name"))
	}
	sum := sha256.Sum256([]byte(fmt.Sprint(row.StartedUnixNano, row.EndedUnixNano, row.Status, row.ParentSpanID) + row.Signal + row.TraceID + row.SpanID + row.Name + row.Attributes + row.Events + row.Body + row.Resource))
	row.RecordSHA256 = hex.EncodeToString(sum[:])
	return row
}

// sessionsOf assigns rows trace by trace and builds every session, the one with most steps first.
func sessionsOf(rows []schema.Span, opts Options) []Built {
	byTrace := map[string][]*schema.Span{}
	var traces []string
	for i := range rows {
		k := rows[i].TraceID
		if k == "" {
			k = "\x00" + rows[i].RecordSHA256
		}
		if byTrace[k] == nil {
			traces = append(traces, k)
		}
		byTrace[k] = append(byTrace[k], &rows[i])
	}
	sort.Strings(traces)
	idents := map[string]Ident{}
	grouped := map[string][]schema.Span{}
	for _, tr := range traces {
		ids := Assign("default", byTrace[tr], nil)
		for i, r := range byTrace[tr] {
			r.SessionKey = ids[i].Key
			if known, ok := idents[ids[i].Key]; !ok || ids[i].Source < known.Source {
				idents[ids[i].Key] = ids[i]
			}
			grouped[ids[i].Key] = append(grouped[ids[i].Key], *r)
		}
	}
	keys := make([]string, 0, len(grouped))
	for k := range grouped {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	var out []Built
	for _, k := range keys {
		out = append(out, Build(idents[k], "default", grouped[k], opts))
	}
	sort.SliceStable(out, func(i, j int) bool { return len(out[i].Steps) > len(out[j].Steps) })
	return out
}
