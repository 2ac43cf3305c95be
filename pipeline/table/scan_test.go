package table_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// What a scan sees is what reading all rows sees, for small objects that are fetched whole and for large ones read by ranges.
func TestScanSeesWhatReadSees(t *testing.T) {
	ctx := context.Background()
	st, err := store.Open(ctx, t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 1, 1000, 200_000} {
		rows := make([]schema.Verdict, n)
		for i := range rows {
			rows[i] = schema.Verdict{RunID: "r", Evaluator: "session", Subject: fmt.Sprintf("%08x%08x", i, uint32(i*2654435761)), Criterion: fmt.Sprintf("c%d", i%5), Verdict: "met", Vote: "final", Safety: i%3 == 0,
				RenderingSHA256: fmt.Sprintf("%064x", i*7919)}
			if i%4 > 0 {
				rows[i].Service = fmt.Sprintf("s%d", i%7)
			}
		}
		table.Sort(rows)
		key := schema.Verdicts.RunKey(fmt.Sprint(n))
		if _, err := table.Write(ctx, st, schema.Verdicts, key, rows, ""); err != nil {
			t.Fatal(err)
		}
		seen, numbers := 0, map[string]int32{}
		number := func(s string) int32 {
			if _, ok := numbers[s]; !ok {
				numbers[s] = int32(len(numbers))
			}
			return numbers[s]
		}
		err := table.Scan(ctx, st, key, []string{"service", "no_such_column", "subject", "safety"}, func(n int, batch []arrow.Array) error {
			service, err := table.TextOf(batch[0])
			if err != nil {
				return err
			}
			subject, err := table.TextOf(batch[2])
			if err != nil {
				return err
			}
			if _, err := table.TextOf(batch[3]); err == nil || batch[1] != nil {
				t.Error("a flag is text, or a column is there that is not")
			}
			codes := service.Numbers(n, nil, number)
			for i := range n {
				want := rows[seen+i]
				if service.Value(i) != want.Service || subject.Value(i) != want.Subject || batch[3].(*array.Boolean).Value(i) != want.Safety || codes[i] != number(want.Service) {
					return fmt.Errorf("row %d: %q %q, want %q %q", seen+i, service.Value(i), subject.Value(i), want.Service, want.Subject)
				}
			}
			seen += n
			return nil
		})
		if err != nil || seen != n {
			t.Errorf("%d rows: saw %d, %v", n, seen, err)
		}
	}
	if err := table.Scan(ctx, st, "none", []string{"a"}, nil); err != nil {
		t.Errorf("a missing object: %v", err)
	}
	data, _, err := st.Get(ctx, schema.Verdicts.RunKey("1000"), "")
	if err != nil {
		t.Fatal(err)
	}
	for i := 4; i < len(data); i += 1 + len(data)/40 {
		damaged := slices.Clone(data)
		damaged[i] ^= 0xff
		put(t, st, "damaged", damaged)
		// Damage may go unseen in a column that is not read; it must not panic.
		_ = table.Scan(ctx, st, "damaged", []string{"service", "subject"}, func(int, []arrow.Array) error { return nil })
	}
}

func put(t *testing.T, st store.Store, key string, data []byte) {
	t.Helper()
	if _, err := st.Put(context.Background(), key, bytes.NewReader(data), store.PutOptions{}); err != nil {
		t.Fatal(err)
	}
}
