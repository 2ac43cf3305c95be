package table_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// counted is a store that counts what is read of it.
type counted struct {
	store.Store
	mu     sync.Mutex
	bytes  int64
	ranges int
}

func (c *counted) GetRange(ctx context.Context, key string, offset, length int64, etag string) ([]byte, error) {
	data, err := c.Store.GetRange(ctx, key, offset, length, etag)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes, c.ranges = c.bytes+int64(len(data)), c.ranges+1
	return data, err
}

func openTemp(t testing.TB) store.Store {
	t.Helper()
	st, err := store.Open(context.Background(), t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func manyVerdicts(n int) []schema.Verdict {
	rows := make([]schema.Verdict, n)
	for i := range rows {
		rows[i] = schema.Verdict{RunID: "r", Evaluator: "session", Subject: fmt.Sprintf("%08x%08x", i, uint32(i*2654435761)), Criterion: fmt.Sprintf("c%d", i%5), Verdict: "met", Vote: "final", Safety: i%3 == 0,
			RenderingSHA256: fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, i)))}
		if i%4 > 0 {
			rows[i].Service = strings.Repeat("alike ", 40) + fmt.Sprintf("%d", i%7) // statistics may be cut: it is no constant
		}
		if i%5 > 0 {
			rows[i].Pass, rows[i].Score = new(i%2 == 0), new(float64(i))
		}
		if i%6 == 0 {
			rows[i].Evaluator = "other"
		}
	}
	table.Sort(rows)
	return rows
}

// seen is what a scan shows of a verdict.
type seen struct {
	service, subject, criterion string
	safety, pass                int8
	score                       float64
	absent                      string
}

func wantSeen(v *schema.Verdict) seen {
	s := seen{service: v.Service, subject: v.Subject, criterion: v.Criterion, pass: -1, score: -1}
	if v.Safety {
		s.safety = 1
	}
	if v.Pass != nil {
		s.pass = 0
		if *v.Pass {
			s.pass = 1
		}
	}
	if v.Score != nil {
		s.score = *v.Score
	}
	return s
}

func seenBy(g *table.Group) ([]seen, error) {
	service, err := g.Text(0)
	if err != nil {
		return nil, err
	}
	absent, err := g.Text(1)
	if err != nil {
		return nil, err
	}
	subject, err := g.Strings(2)
	if err != nil {
		return nil, err
	}
	safety, err := g.Flags(3)
	if err != nil {
		return nil, err
	}
	pass, err := g.Flags(4)
	if err != nil {
		return nil, err
	}
	score, err := g.Floats(5)
	if err != nil {
		return nil, err
	}
	criterion, err := g.Strings(6) // a dictionary, read as text
	if err != nil {
		return nil, err
	}
	numbered, err := g.Text(7) // text, read as numbers
	if err != nil {
		return nil, err
	}
	constant, err := g.Text(8)
	if err != nil {
		return nil, err
	}
	null, err := g.Text(9)
	if err != nil {
		return nil, err
	}
	own := subject.Own()
	out := make([]seen, g.Rows())
	for i := range out {
		out[i] = seen{service.Value(i), string(subject.Value(i)), string(criterion.Value(i)), safety[i], pass[i], score[i], absent.Value(i)}
		if math.IsNaN(score[i]) {
			out[i].score = -1
		}
		if constant.Value(i) != "final" || null.Value(i) != "" {
			return nil, fmt.Errorf("row %d: constants are %q and %q", i, constant.Value(i), null.Value(i))
		}
		if own[i] != out[i].subject || numbered.Value(i) != out[i].subject {
			return nil, fmt.Errorf("row %d: subject is %q, %q and %q", i, out[i].subject, own[i], numbered.Value(i))
		}
	}
	return out, nil
}

var scanned = []string{"service", "no_such_column", "subject", "safety", "pass", "score", "criterion", "subject", "vote", "label"}

// What a scan sees is what was written, for small objects that are fetched whole and for large ones read by ranges, by one worker and
// by many.
func TestScanSeesWhatWasWritten(t *testing.T) {
	ctx, st := context.Background(), openTemp(t)
	for _, n := range []int{0, 1, 1000, 120_000} {
		rows := manyVerdicts(n)
		key := schema.Verdicts.RunKey(fmt.Sprint(n))
		if _, err := table.Write(ctx, st, schema.Verdicts, key, rows, ""); err != nil {
			t.Fatal(err)
		}
		for _, workers := range []int{0, 1, 3} {
			var mu sync.Mutex
			groups := map[int][]seen{}
			err := table.Scan(ctx, st, key, table.Query{Columns: scanned, Workers: workers}, func(g *table.Group) error {
				got, err := seenBy(g)
				mu.Lock()
				defer mu.Unlock()
				groups[g.Index()] = got
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			at := 0
			for i := range len(groups) {
				for _, s := range groups[i] {
					if want := wantSeen(&rows[at]); s != want {
						t.Fatalf("row %d of %d: %+v, want %+v", at, n, s, want)
					}
					at++
				}
			}
			if at != n {
				t.Errorf("%d rows: saw %d", n, at)
			}
		}
	}
	if err := table.Scan(ctx, st, "none", table.Query{Columns: scanned}, nil); err != nil {
		t.Errorf("a missing object: %v", err)
	}
	if err := table.Scan(ctx, st, schema.Verdicts.RunKey("1000"), table.Query{Columns: []string{"evidence_steps"}}, nil); err == nil {
		t.Error("a list was read as a flat column")
	}
	for i, read := range []func(g *table.Group) error{
		func(g *table.Group) error { _, err := g.Text(3); return err },
		func(g *table.Group) error { _, err := g.Strings(3); return err },
		func(g *table.Group) error { _, err := g.Flags(0); return err },
		func(g *table.Group) error { _, err := g.Floats(2); return err },
	} {
		if err := table.Scan(ctx, st, schema.Verdicts.RunKey("1000"), table.Query{Columns: scanned}, read); err == nil {
			t.Errorf("%d: a column was read as what it is not", i)
		}
	}
}

// Only the row groups that can hold a value are read, and of a large object only the columns.
func TestScanReadsNoMoreThanItNeeds(t *testing.T) {
	ctx := context.Background()
	st := &counted{Store: openTemp(t)}
	rows := manyVerdicts(120_000)
	key := schema.Verdicts.RunKey("r")
	if _, err := table.Write(ctx, st, schema.Verdicts, key, rows, ""); err != nil {
		t.Fatal(err)
	}
	size, err := st.Stat(ctx, key)
	if err != nil {
		t.Fatal(err)
	}
	if size.Size < 5<<20 {
		t.Fatalf("the object is too small for the test: %d bytes", size.Size)
	}
	groups, others := map[string]int{}, 0
	for _, evaluator := range []string{"other", "session", "none", "zzz"} {
		err := table.Scan(ctx, st, key, table.Query{Columns: []string{"evaluator", "criterion"}, Where: [2]string{"evaluator", evaluator}, Workers: 1}, func(g *table.Group) error {
			groups[evaluator]++
			text, err := g.Text(0)
			for i := range g.Rows() {
				if evaluator == "other" && text.Value(i) == "other" {
					others++
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if others != 20_000 || groups["other"] > 1 || groups["session"] < 3 || groups["zzz"] != 0 || groups["none"] != 0 {
		t.Errorf("%d rows of one evaluator; row groups read %v", others, groups)
	}
	// counted is no directory, so that gaps are read where that saves a request.
	if st.bytes > size.Size/4 || st.ranges > 3*(groups["other"]+groups["session"])+16 {
		t.Errorf("%d bytes of %d were read in %d requests for two small columns", st.bytes, size.Size, st.ranges)
	}
}

// Damage is an error or goes unseen in what is not read; it never panics, loops or takes memory without bound.
func TestScanOfDamage(t *testing.T) {
	ctx, st := context.Background(), openTemp(t)
	key := schema.Verdicts.RunKey("r")
	if _, err := table.Write(ctx, st, schema.Verdicts, key, manyVerdicts(300), ""); err != nil {
		t.Fatal(err)
	}
	data, _, err := st.Get(ctx, key, "")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		damaged := slices.Clone(data)
		for range rapid.IntRange(1, 4).Draw(rt, "times") {
			damaged[rapid.IntRange(4, len(damaged)-1).Draw(rt, "at")] = rapid.Byte().Draw(rt, "byte")
		}
		damaged = damaged[:rapid.OneOf(rapid.Just(len(damaged)), rapid.IntRange(0, len(damaged))).Draw(rt, "length")]
		if _, err := st.Put(ctx, "damaged", bytes.NewReader(damaged), store.PutOptions{}); err != nil {
			rt.Fatal(err)
		}
		_ = table.Scan(ctx, st, "damaged", table.Query{Columns: scanned, Where: [2]string{"evaluator", "session"}}, func(g *table.Group) error {
			_, err := seenBy(g)
			return err
		})
	})
}
