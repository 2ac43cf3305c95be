package schema_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"github.com/tracejury/tracejury/schema"
)

var update = flag.Bool("update", false, "write the golden files again")

func rowTypes() map[string]any {
	return map[string]any{
		"objects": schema.Object{}, "quarantine": schema.QuarantineRow{}, "traces": schema.Trace{}, "sessions_moved": schema.SessionMoved{},
		"spans": schema.Span{}, "sessions": schema.Session{}, "steps": schema.Step{}, "skills": schema.Skill{}, "tools": schema.Tool{},
		"materials": schema.Material{}, "runs": schema.Run{}, "verdicts": schema.Verdict{}, "grades": schema.Grade{},
		"explanations": schema.Explanation{}, "answers": schema.Answer{}, "calls": schema.Call{}, "aggregates": schema.Aggregate{},
	}
}

// The Parquet schema of every table is pinned. A change of these files is a change for every reader: columns are only added,
// optional and last; anything else is a new schema.Version.
func TestParquetSchemaIsPinned(t *testing.T) {
	types := rowTypes()
	for _, table := range schema.All() {
		row, ok := types[table.Name]
		if !ok {
			t.Errorf("%s has no row type", table.Name)
			continue
		}
		sch := parquet.SchemaOf(row)
		got := sch.String() + "\n"
		name := filepath.Join("testdata", fmt.Sprintf("v%d", schema.Version), table.Name+".txt")
		if *update {
			if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatalf("%v: run go test ./schema -update and read the diff", err)
		}
		if got != string(want) {
			t.Errorf("%s: got\n%s\nwant\n%s", table.Name, got, want)
		}
		for _, list := range [][]string{table.Key, table.Bloom, table.Content} {
			for _, column := range list {
				if _, ok := sch.Lookup(column); !ok {
					t.Errorf("%s names column %q, which its rows lack", table.Name, column)
				}
			}
		}
	}
	if len(types) != len(schema.All()) {
		t.Errorf("%d row types for %d tables", len(types), len(schema.All()))
	}
}

func TestLayout(t *testing.T) {
	for text, ok := range map[string]bool{
		`{"schema_version":1,"buckets":16}`:  true,
		`{"schema_version":1,"buckets":256}`: true,
		`{"schema_version":1,"buckets":12}`:  false,
		`{"schema_version":1,"buckets":0}`:   false,
		`{"schema_version":1,"buckets":512}`: false,
		`{"schema_version":2,"buckets":16}`:  false,
		`{"buckets":16}`:                     false,
		`buckets`:                            false,
	} {
		l, err := schema.ParseLayout([]byte(text))
		if (err == nil) != ok {
			t.Errorf("%s: %v, want valid: %v", text, err, ok)
		}
		if ok && strings.TrimSpace(string(l.Marshal())) != text {
			t.Errorf("%s came back as %s", text, l.Marshal())
		}
	}
}

// Buckets are in the order of keys, and a power of two splits each bucket of the next smaller one in two.
func TestBucketIsTheLeadingBits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.StringMatching(`[0-9a-f]{32}`).Draw(t, "key")
		fewer, err1 := schema.Layout{SchemaVersion: 1, Buckets: 16}.Bucket(key)
		more, err2 := schema.Layout{SchemaVersion: 1, Buckets: 32}.Bucket(key)
		if err1 != nil || err2 != nil || more/2 != fewer {
			t.Fatalf("%s: bucket %d of 16, %d of 32 (%v, %v)", key, fewer, more, err1, err2)
		}
	})
	for _, bad := range []string{"", "0", "zz", "trace"} {
		if _, err := (schema.Layout{SchemaVersion: 1, Buckets: 16}).Bucket(bad); err == nil {
			t.Errorf("%q has a bucket", bad)
		}
	}
}
