package exporttest

import (
	"bytes"
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tracejury/tracejury/exports"
)

// testOrder shuffles the verdicts of every session and tool: what a table yields in another order is exported in the same bytes.
func testOrder(t *testing.T, target exports.Target) {
	want := Write(t, Full(), target)
	seeds := uint64(40)
	if testing.Short() {
		seeds = 6
	}
	for seed := range seeds {
		mix := rand.New(rand.NewPCG(seed, 1))
		shuffle := func(list []exports.Criterion) []exports.Criterion {
			list = slices.Clone(list)
			mix.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
			return list
		}
		in := Full()
		sessions := slices.Collect(first(in.Sessions(context.Background())))
		for i := range sessions {
			sessions[i].Criteria = shuffle(sessions[i].Criteria)
		}
		in.Sessions = Sessions(sessions...)
		tools := ToolList()
		for i := range tools {
			tools[i].Criteria = shuffle(tools[i].Criteria)
		}
		in.Tools = Tools(tools...)
		if got := Write(t, in, target); !maps.EqualFunc(got, want, bytes.Equal) {
			t.Fatalf("the order of verdicts reaches the files: seed %d", seed)
		}
	}
}
