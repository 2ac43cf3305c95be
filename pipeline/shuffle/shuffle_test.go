package shuffle_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tracejury/tracejury/pipeline/shuffle"
)

// Whatever the memory and the order, every record comes out once, in its group, groups in order.
func TestGroupsHoldEveryRecordOnce(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOf(rapid.IntRange(0, 9)).Draw(t, "keys")
		s := shuffle.New(shuffle.Options{Memory: rapid.Int64Range(1, 400).Draw(t, "memory"), Load: rapid.Int64Range(1, 400).Draw(t, "load"), Dir: dir, Partitions: rapid.IntRange(1, 5).Draw(t, "partitions")})
		defer s.Close()
		want := map[string][]string{}
		for i, k := range keys {
			key, val := fmt.Sprint(k), fmt.Sprintf("%03d", (i*7)%len(keys))
			want[key] = append(want[key], val)
			if err := s.Add(key, []byte(val[:1]), []byte(val[1:])); err != nil {
				t.Fatal(err)
			}
		}
		got := map[string][]string{}
		for p := range s.Partitions() {
			last := ""
			for g, err := range s.Groups(context.Background(), p) {
				if err != nil {
					t.Fatal(err)
				}
				if _, twice := got[g.Key]; twice || g.Key < last {
					t.Fatalf("group %s came twice, or after %s", g.Key, last)
				}
				last = g.Key
				for _, r := range g.Records {
					got[g.Key] = append(got[g.Key], string(r))
				}
			}
		}
		for k := range want {
			slices.Sort(want[k])
			slices.Sort(got[k])
			if !slices.Equal(got[k], want[k]) {
				t.Fatalf("group %s: got %v, want %v", k, got[k], want[k])
			}
		}
		if len(got) != len(want) {
			t.Fatalf("got %d groups, want %d", len(got), len(want))
		}
	})
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("spill left behind: %v %v", left, err)
	}
}

func TestGroupsStopsOnCancel(t *testing.T) {
	s := shuffle.New(shuffle.Options{Partitions: 1})
	defer s.Close()
	if err := s.Add("k", []byte("v")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, err := range s.Groups(ctx, 0) {
		if err == nil {
			t.Fatal("a cancelled context yielded a group")
		}
	}
}
