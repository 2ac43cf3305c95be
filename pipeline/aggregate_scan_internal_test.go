package pipeline

import (
	"context"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// What a scan counts is what rows count, with subjects and without.
func TestScanCountsWhatRowsCount(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		ctx := context.Background()
		st, err := store.Open(ctx, dir, store.Options{})
		if err != nil {
			rt.Fatal(err)
		}
		n := drawNight(rt)
		score := 0.25
		for i := range n.verdicts {
			if rapid.IntRange(0, 9).Draw(rt, "scored") == 0 {
				n.verdicts[i].Verdict, n.verdicts[i].Score = "scored", &score
			}
		}
		if rapid.Bool().Draw(rt, "one criterion") { // another subject begins unseen
			var kept []schema.Verdict
			for _, v := range n.verdicts {
				if v.Criterion == "goal_met" {
					kept = append(kept, v)
				}
			}
			n.verdicts = kept
		}
		other := schema.Verdict{RunID: n.run.RunID, Evaluator: "other", Subject: "x", Criterion: "zz", Verdict: "met", Vote: "final"}
		rows := append([]schema.Verdict{other}, n.verdicts...)
		for _, v := range n.verdicts {
			v.Vote = "one"
			rows = append(rows, v)
		}
		table.Sort(rows)
		table.Sort(n.grades)
		if err := putRows(ctx, st, schema.Verdicts, schema.Verdicts.RunKey(n.run.RunID), rows); err != nil {
			rt.Fatal(err)
		}
		if err := putRows(ctx, st, schema.Grades, schema.Grades.RunKey(n.run.RunID), n.grades); err != nil {
			rt.Fatal(err)
		}
		want := newFacts(n.run, n.grades, n.verdicts, nil)
		got, err := scanFacts(ctx, &Root{Store: st, Layout: schema.Layout{SchemaVersion: 1, Buckets: 16}}, n.run)
		if err != nil {
			rt.Fatal(err)
		}
		for _, pair := range [][2]any{{got.names, want.names}, {got.criteria, want.criteria}} {
			if !reflect.DeepEqual(pair[0], pair[1]) {
				rt.Fatalf("got %v, want %v", pair[0], pair[1])
			}
		}
		for _, g := range defaultGroupings() {
			a, b := got.tallies(g, got.turns()), want.tallies(g, want.turns())
			if !reflect.DeepEqual(a, b) {
				rt.Fatalf("%v: groups differ", g)
			}
		}
		if len(got.scores) != len(want.scores) {
			rt.Fatalf("%d scores, want %d", len(got.scores), len(want.scores))
		}
	})
}
