package convention

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/pipeline/otlp"
	"github.com/tracejury/tracejury/schema"
)

// captured reads the records of one capture directory in order of arrival, as a stored row holds them.
func captured(t *testing.T, client, scenario string) []*Record {
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
	var out []*Record
	for _, f := range files {
		name := f.Name()
		if !strings.Contains(name, "_traces") && !strings.Contains(name, "_logs") || strings.HasPrefix(name, "as_received") {
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
		if _, _, err := decode(raw, func(r *otlp.Record) error {
			out = append(out, stored(t, r))
			return nil
		}); err != nil {
			t.Fatalf("decode %s: %v", name, err)
		}
	}
	return out
}

// stored is a decoded record as it comes back from its row.
func stored(t *testing.T, r *otlp.Record) *Record {
	t.Helper()
	row := &schema.Span{
		Signal: "span", TraceID: strings.Clone(r.TraceID), SpanID: strings.Clone(r.SpanID), ParentSpanID: strings.Clone(r.ParentSpanID),
		Name: strings.Clone(r.Name), Kind: r.Kind, ScopeName: strings.Clone(r.ScopeName), StartedUnixNano: r.StartUnixNano,
		EndedUnixNano: r.EndUnixNano, Status: r.Status, StatusMessage: strings.Clone(r.StatusMessage),
	}
	if r.Signal == otlp.SignalLog {
		row.Signal = "log"
	}
	attributes := func(kvs []otlp.KeyValue) Attributes {
		parsed, err := otlp.ParseAttributes(string(otlp.AppendAttributes(nil, kvs)))
		if err != nil {
			t.Fatalf("attributes of %s: %v", r.Name, err)
		}
		return parsed
	}
	out := &Record{Row: row, Attributes: attributes(r.Attributes)}
	if r.Resource != nil {
		out.Resource = attributes(r.Resource.Attributes)
		row.Service = out.Resource.Str("service.name")
	}
	events, err := otlp.ParseEvents(string(otlp.AppendEvents(nil, r.Events)))
	if err != nil {
		t.Fatalf("events of %s: %v", r.Name, err)
	}
	out.Events = events
	if r.Body.Kind() != otlp.KindNull {
		if out.Body, err = otlp.ParseValue(string(otlp.AppendValue(nil, r.Body))); err != nil {
			t.Fatalf("body of %s: %v", r.Name, err)
		}
	}
	return out
}

// told reads records as ingest does: internal ones are dropped.
func told(t *testing.T, records []*Record) (events []Event, content Content) {
	t.Helper()
	for _, r := range records {
		c, ok := Find(r)
		if !ok || c.Internal(r) {
			continue
		}
		content |= c.Exports(r)
		c.Events(r, func(e Event) { events = append(events, e) })
	}
	return events, content
}
