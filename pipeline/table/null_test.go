package table_test

import (
	"bytes"
	"testing"

	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// TestUnknownIsNull: whatever rows lack a value, and in whatever runs they stand, they are null in the file. The library by
// itself writes "" and 0 for some.
func TestUnknownIsNull(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := make([]schema.Step, 200)
		for i := range rows {
			rows[i] = schema.Step{Tenant: "default", SessionKey: "00", Step: int32(i + 1), Role: "tool", Kind: "tool_result"}
		}
		nulls := map[string]int64{}
		for _, column := range []struct {
			name string
			fill func(*schema.Step)
		}{
			{"tool", func(s *schema.Step) { s.Tool = "Bash" }},
			{"agent", func(s *schema.Step) { s.Agent = "main" }},
			{"at", func(s *schema.Step) { s.At = 1 }},
			{"at_unix_nano", func(s *schema.Step) { s.AtUnixNano = 1000 }},
		} {
			for i := 0; i < len(rows); {
				n, known := rapid.IntRange(1, 40).Draw(t, "run"), rapid.Bool().Draw(t, "known")
				for end := min(i+n, len(rows)); i < end; i++ {
					if known {
						column.fill(&rows[i])
					} else {
						nulls[column.name]++
					}
				}
			}
		}
		var buf bytes.Buffer
		if err := table.Encode(&buf, schema.Steps, rows); err != nil {
			t.Fatal(err)
		}
		f, err := parquet.OpenFile(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range nulls {
			column, _ := f.Schema().Lookup(name)
			got := int64(0)
			for _, g := range f.Metadata().RowGroups {
				got += g.Columns[column.ColumnIndex].MetaData.Statistics.NullCount
			}
			if got != want {
				t.Fatalf("%s: %d nulls, want %d", name, got, want)
			}
		}
	})
}
