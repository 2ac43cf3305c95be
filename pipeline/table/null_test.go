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
		var rows []schema.Step
		nulls := int64(0)
		for len(rows) < 200 {
			n, known := rapid.IntRange(1, 40).Draw(t, "run"), rapid.Bool().Draw(t, "known")
			for range n {
				s := schema.Step{Tenant: "default", SessionKey: "00", Step: int32(len(rows) + 1), Role: "tool", Kind: "tool_result"}
				if known {
					s.Tool, s.At, s.AtUnixNano = "Bash", 1, 1000
				} else {
					nulls++
				}
				rows = append(rows, s)
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
		for _, name := range []string{"tool", "at", "at_unix_nano"} {
			column, _ := f.Schema().Lookup(name)
			got := int64(0)
			for _, g := range f.Metadata().RowGroups {
				got += g.Columns[column.ColumnIndex].MetaData.Statistics.NullCount
			}
			if got != nulls {
				t.Fatalf("%s: %d nulls, want %d", name, got, nulls)
			}
		}
	})
}
