package session

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/tracejury/tracejury/schema"
)

// TestBuildIsInvariant breaks the promise of purity on purpose: rows shuffled and repeated must build the same session.
func TestBuildIsInvariant(t *testing.T) {
	for _, c := range []struct{ client, scenario string }{
		{"strands-ts", "unknown_skill"}, {"vercel-ai-sdk", "full_pdf"}, {"openai-agents-js", "wrong_skill"},
		{"anthropic-sdk", "tool_denied"}, {"langchain-js", "full_pdf__deep"},
	} {
		t.Run(c.client+"/"+c.scenario, func(t *testing.T) {
			rows := capturedRows(t, c.client, c.scenario)
			want := sessionsOf(rows, Options{})
			for seed := range uint64(12) {
				rng := rand.New(rand.NewPCG(seed, 1))
				mixed := append([]schema.Span(nil), rows...)
				for range rng.IntN(len(rows) + 1) {
					mixed = append(mixed, rows[rng.IntN(len(rows))])
				}
				rng.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
				if got := sessionsOf(mixed, Options{}); !reflect.DeepEqual(got, want) {
					t.Fatalf("seed %d: order or duplicates reached the result:\n%s\nwant\n%s", seed, dump(got[0]), dump(want[0]))
				}
			}
		})
	}
}
