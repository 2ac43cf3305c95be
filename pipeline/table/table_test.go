package table_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

func steps() *rapid.Generator[[]schema.Step] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) schema.Step {
		s := schema.Step{
			Tenant: "default", SessionKey: rapid.StringMatching(`[0-9a-f]{4}`).Draw(t, "session"), Step: rapid.Int32Range(1, 99).Draw(t, "step"),
			Role: rapid.SampledFrom([]string{"user", "assistant", "tool"}).Draw(t, "role"), Kind: "message",
			Text: rapid.String().Draw(t, "text"), AtUnixNano: rapid.Int64().Draw(t, "at"),
		}
		if rapid.Bool().Draw(t, "has exit code") {
			s.ExitCode = new(rapid.Int32().Draw(t, "exit code"))
		}
		return s
	}), 0, 40)
}

func encode(t interface{ Fatal(...any) }, rows []schema.Step) []byte {
	var buf bytes.Buffer
	if err := table.Encode(&buf, schema.Steps, rows); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// What is written is read, zero exit codes apart from missing ones, and the same rows give the same bytes.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := steps().Draw(t, "rows")
		table.Sort(rows)
		data := encode(t, rows)
		if !bytes.Equal(data, encode(t, rows)) {
			t.Fatal("the same rows gave other bytes")
		}
		got, err := table.Decode[schema.Step](data)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(rows) {
			t.Fatalf("got %d rows, want %d", len(got), len(rows))
		}
		for i := range rows {
			g, w := got[i], rows[i]
			if (g.ExitCode == nil) != (w.ExitCode == nil) || g.ExitCode != nil && *g.ExitCode != *w.ExitCode {
				t.Fatalf("row %d: exit code differs", i)
			}
			g.ExitCode, w.ExitCode = nil, nil
			if g != w {
				t.Fatalf("row %d: got %+v, want %+v", i, g, w)
			}
		}
	})
}

func TestEncodeRefusesRowsOutOfOrder(t *testing.T) {
	rows := []schema.Step{{SessionKey: "b"}, {SessionKey: "a"}}
	if err := table.Encode(new(bytes.Buffer), schema.Steps, rows); err == nil {
		t.Error("rows out of order were written")
	}
}

func TestDamagedFileIsAnErrorNotAPanic(t *testing.T) {
	data := encode(t, []schema.Step{{SessionKey: "a", Step: 1, Text: "x"}})
	for i := range data {
		bad := bytes.Clone(data)
		bad[i] ^= 0xff
		_, _ = table.Decode[schema.Step](bad) // must not panic
		_, _ = table.Decode[schema.Step](data[:i])
	}
	if _, err := table.Decode[schema.Step](data[:len(data)/2]); err == nil {
		t.Error("half a file was read")
	}
}

func TestWriteIsGuardedByTheETag(t *testing.T) {
	ctx := context.Background()
	st, err := store.Open(ctx, t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rows := []schema.Step{{SessionKey: "a", Step: 1}}
	first, err := table.Write(ctx, st, schema.Steps, "steps/x.parquet", rows, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := table.Write(ctx, st, schema.Steps, "steps/x.parquet", rows, ""); !errors.Is(err, store.ErrExist) {
		t.Errorf("second first write: %v, want ErrExist", err)
	}
	rows = append(rows, schema.Step{SessionKey: "a", Step: 2})
	if _, err := table.Write(ctx, st, schema.Steps, "steps/x.parquet", rows, first.ETag); err != nil {
		t.Fatal(err)
	}
	if _, err := table.Write(ctx, st, schema.Steps, "steps/x.parquet", rows[:1], first.ETag); !errors.Is(err, store.ErrChanged) {
		t.Errorf("write over another's: %v, want ErrChanged", err)
	}
	got, _, err := table.Read[schema.Step](ctx, st, "steps/x.parquet")
	if err != nil || len(got) != 2 {
		t.Errorf("got %d rows, %v", len(got), err)
	}
}

// Rows that were read stay what they are while the next ones are read.
func TestReaderGivesRowsAway(t *testing.T) {
	var rows []schema.Span
	for i := range 3000 {
		rows = append(rows, schema.Span{Tenant: "t", SessionKey: fmt.Sprintf("%032d", i/10), Signal: "span", TraceID: fmt.Sprintf("%032d", i), SpanID: fmt.Sprintf("%016d", i),
			Name: fmt.Sprintf("name %d", i), Attributes: fmt.Sprintf("{%q:%d}", strings.Repeat("a", 20_000), i)})
	}
	var first bytes.Buffer
	if err := table.Encode(&first, schema.Spans, rows); err != nil {
		t.Fatal(err)
	}
	got, err := table.Decode[schema.Span](first.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, rows) {
		t.Error("rows changed")
	}
}
