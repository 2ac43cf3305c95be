package stats

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestSampleSmallestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfN(rapid.StringMatching(`[a-f]{1,3}`), 0, 400).Draw(t, "ids")
		seed := rapid.String().Draw(t, "seed")
		n := rapid.IntRange(0, 40).Draw(t, "n")
		distinct := slices.Compact(slices.Sorted(slices.Values(ids)))
		got := SampleSmallest(seed, ids, n)
		if want := min(n, len(distinct)); len(got) != want {
			t.Fatalf("drew %d of %d distinct ids, want %d", len(got), len(distinct), want)
		}
		if again := SampleSmallest(seed, distinct, n); !slices.Equal(got, again) {
			t.Fatalf("order or repetition of ids changed the draw: %q, then %q", got, again)
		}
		if larger := SampleSmallest(seed, ids, n+10); !slices.Equal(got, larger[:len(got)]) {
			t.Fatalf("n=%d is no prefix of n=%d: %q, %q", n, n+10, got, larger)
		}
		more := SampleSmallest(seed, append(slices.Clone(ids), "new"), n)
		lost := 0
		for _, id := range got {
			if !slices.Contains(more, id) {
				lost++
			}
		}
		if lost > 1 {
			t.Fatalf("one new id displaced %d", lost)
		}
	})
}

// The draw is a contract: another version must draw the same sessions of an old window.
func TestSampleSmallestIsStable(t *testing.T) {
	ids := make([]string, 1000)
	for i := range ids {
		ids[i] = fmt.Sprintf("session-%04d", i)
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	got := SampleSmallest("2026-11-30", ids, 5)
	// for i in $(seq 0 999); do printf '2026-11-30\0session-%04d' $i | sha256sum; done
	want := []string{"session-0622", "session-0891", "session-0605", "session-0551", "session-0152"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSampleSmallestIsUniform(t *testing.T) {
	const ids, n, nights = 40, 10, 4000
	names := make([]string, ids)
	for i := range names {
		names[i] = fmt.Sprint(i)
	}
	counts := map[string]int{}
	for night := range nights {
		for _, id := range SampleSmallest(fmt.Sprint(night), names, n) {
			counts[id]++
		}
	}
	for _, id := range names { // mean 1000, standard deviation 27
		if c := counts[id]; c < 880 || c > 1120 {
			t.Errorf("id %s was drawn %d times of %d, expected about %d", id, c, nights, nights*n/ids)
		}
	}
}
