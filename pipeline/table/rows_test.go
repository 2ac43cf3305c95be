package table_test

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"testing"

	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// few are some columns of verdicts, in another order, and one that no object has.
type few struct {
	Verdict  string   `parquet:"verdict,dict"`
	Subject  string   `parquet:"subject,dict"`
	Score    *float64 `parquet:"score,optional"`
	Findings []string `parquet:"findings,list"`
	Missing  string   `parquet:"missing_column,optional"`
}

func all[T any](t *testing.T, rows *table.Rows[T]) (out []T) {
	t.Helper()
	defer func() {
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	}()
	for {
		row, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, *row)
	}
}

// Rows are those of Read, in their order, as often as asked for, all columns or some, and of one evaluator those of its row groups; a
// replacement does not show.
func TestObject_Rows(t *testing.T) {
	st, ctx := openTemp(t), t.Context()
	want := manyVerdicts(45_000) // of several row groups
	for i := range want {
		if i%7 == 0 {
			want[i].Findings = []string{"a", want[i].Subject}
		}
	}
	if _, err := table.Write(ctx, st, schema.Verdicts, "v.parquet", want, ""); err != nil {
		t.Fatal(err)
	}
	whole, err := table.OpenObject[schema.Verdict](ctx, st, "v.parquet")
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Close()
	part, err := table.OpenObject[few](ctx, st, "v.parquet")
	if err != nil {
		t.Fatal(err)
	}
	defer part.Close()
	if _, err := st.Put(ctx, "v.parquet", bytes.NewReader([]byte("replaced")), store.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		got := all(t, whole.Rows([2]string{}))
		if len(got) != len(want) {
			t.Fatalf("%d rows, want %d", len(got), len(want))
		}
		for i := range want {
			if len(got[i].EvidenceSteps) == 0 {
				got[i].EvidenceSteps = want[i].EvidenceSteps
			}
			if len(got[i].Findings) == 0 {
				got[i].Findings = want[i].Findings
			}
			if !reflect.DeepEqual(got[i], want[i]) {
				t.Fatalf("row %d: %+v, want %+v", i, got[i], want[i])
			}
		}
		some := all(t, part.Rows([2]string{}))
		if len(some) != len(want) {
			t.Fatalf("%d rows of some columns, want %d", len(some), len(want))
		}
		for i, s := range some {
			w := &want[i]
			if s.Subject != w.Subject || s.Verdict != w.Verdict || !reflect.DeepEqual(s.Score, w.Score) || len(s.Findings) != len(w.Findings) || s.Missing != "" {
				t.Fatalf("row %d: %+v, want %+v", i, s, w)
			}
		}
	}
	others := all(t, whole.Rows([2]string{"evaluator", "other"}))
	n := 0
	for i := range others {
		if others[i].Evaluator == "other" {
			n++
		}
	}
	if n != 7_500 || len(others) == len(want) {
		t.Errorf("%d of 7,500 rows of the other evaluator among %d", n, len(others))
	}
	if rows := all(t, whole.Rows([2]string{"evaluator", "nobody"})); len(rows) != 0 {
		t.Errorf("%d rows of nobody", len(rows))
	}
}

// A missing object has no rows, and a damaged one is an error, never a panic and never rows that are not there.
func TestObject_Damaged(t *testing.T) {
	st, ctx := openTemp(t), t.Context()
	none, err := table.OpenObject[schema.Verdict](ctx, st, "none.parquet")
	if err != nil || len(all(t, none.Rows([2]string{}))) != 0 || none.Close() != nil {
		t.Errorf("a missing object: %v", err)
	}
	var buf bytes.Buffer
	want := manyVerdicts(2000)
	if err := table.Encode(&buf, schema.Verdicts, want); err != nil {
		t.Fatal(err)
	}
	for at := 0; at < buf.Len(); at += buf.Len()/40 + 1 {
		data := bytes.Clone(buf.Bytes())
		data[at] ^= 0xff
		if _, err := st.Put(ctx, "v.parquet", bytes.NewReader(data), store.PutOptions{}); err != nil {
			t.Fatal(err)
		}
		object, err := table.OpenObject[schema.Verdict](ctx, st, "v.parquet")
		if err != nil {
			continue
		}
		rows, n := object.Rows([2]string{}), 0
		for err == nil {
			if _, err = rows.Next(); err == nil {
				n++
			}
		}
		if n > len(want) || errors.Is(err, io.EOF) && n != len(want) {
			t.Errorf("byte %d is wrong: %d rows, then %v", at, n, err)
		}
		_, _ = rows.Close(), object.Close()
	}
}
