package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tracejury/tracejury/pipeline/store"
)

// racers is how many goroutines want the same key.
const racers = 16

func testPutIfAbsent(t *testing.T, s store.Store) {
	o, err := s.PutIfAbsent(t.Context(), "a/lock", strings.NewReader("mine"), store.PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.PutIfAbsent(t.Context(), "a/lock", strings.NewReader("theirs"), store.PutOptions{})
	wantErr(t, "PutIfAbsent", err, store.ErrExist)
	_, err = s.PutIfAbsent(t.Context(), "a/lock", strings.NewReader("mine"), store.PutOptions{})
	wantErr(t, "PutIfAbsent of the same bytes", err, store.ErrExist)
	if b, now, err := s.Get(t.Context(), "a/lock", o.ETag); err != nil || string(b) != "mine" || now.ETag != o.ETag {
		t.Errorf("%q, %+v, %v: a refused put changed something", b, now, err)
	}
	if err := s.Delete(t.Context(), "a/lock"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.PutIfAbsent(t.Context(), "a/lock", strings.NewReader("theirs"), store.PutOptions{}); err != nil {
		t.Errorf("the key is free again, but: %v", err)
	}
}

func testPutIfMatch(t *testing.T, s store.Store) {
	first := put(t, s, "b", "one")
	second, err := s.PutIfMatch(t.Context(), "b", strings.NewReader("two"), first.ETag, store.PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.PutIfMatch(t.Context(), "b", strings.NewReader("three"), first.ETag, store.PutOptions{})
	wantErr(t, "PutIfMatch", err, store.ErrChanged)
	if got := get(t, s, "b"); got != "two" {
		t.Errorf("a refused put left %q", got)
	}
	_, err = s.PutIfMatch(t.Context(), "none", strings.NewReader("x"), first.ETag, store.PutOptions{})
	wantErr(t, "PutIfMatch of nothing", err, store.ErrChanged)
	if _, err := s.PutIfMatch(t.Context(), "b", strings.NewReader("x"), "", store.PutOptions{}); err == nil {
		t.Error("PutIfMatch without an ETag succeeded")
	}
	if err := s.Delete(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	_, err = s.PutIfMatch(t.Context(), "b", strings.NewReader("x"), second.ETag, store.PutOptions{})
	wantErr(t, "PutIfMatch of what is gone", err, store.ErrChanged)
	if got := list(t, s, "", store.ListOptions{}); len(got) != 0 {
		t.Errorf("left %v", keys(got))
	}
}

// race lets every racer call attempt once, at one moment; it returns the numbers of those that won.
func race(t *testing.T, lost error, attempt func(i int) error) (winners []int) {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range racers {
		wg.Go(func() {
			<-start
			err := attempt(i)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				winners = append(winners, i)
			case !errors.Is(err, lost):
				t.Errorf("racer %d: got error %v, want %v", i, err, lost)
			}
		})
	}
	close(start)
	wg.Wait()
	return winners
}

func testRaceIfAbsent(t *testing.T, s store.Store) {
	for round := range 8 {
		key := fmt.Sprintf("race/%d", round)
		winners := race(t, store.ErrExist, func(i int) error {
			_, err := s.PutIfAbsent(t.Context(), key, strings.NewReader(strconv.Itoa(i)), store.PutOptions{})
			return err
		})
		if len(winners) != 1 || get(t, s, key) != strconv.Itoa(winners[0]) {
			t.Errorf("round %d: winners %v, stored %q", round, winners, get(t, s, key))
		}
	}
}

func testRaceIfMatch(t *testing.T, s store.Store) {
	etag := put(t, s, "race", "start").ETag
	for round := range 8 {
		var won atomic.Pointer[store.Object]
		winners := race(t, store.ErrChanged, func(i int) error {
			body := fmt.Sprintf("%d by %d", round, i)
			o, err := s.PutIfMatch(t.Context(), "race", strings.NewReader(body), etag, store.PutOptions{})
			if err == nil {
				won.Store(&o)
			}
			return err
		})
		if len(winners) != 1 || get(t, s, "race") != fmt.Sprintf("%d by %d", round, winners[0]) {
			t.Fatalf("round %d: winners %v, stored %q", round, winners, get(t, s, "race"))
		}
		etag = won.Load().ETag
	}
}

// testRaceCounter lets all racers add one to a counter until each has: no addition may be lost.
func testRaceCounter(t *testing.T, s store.Store) {
	put(t, s, "counter", "0")
	var wg sync.WaitGroup
	for i := range racers {
		wg.Go(func() {
			for {
				b, o, err := s.Get(t.Context(), "counter", "")
				if err != nil {
					t.Errorf("racer %d: %v", i, err)
					return
				}
				n, _ := strconv.Atoi(string(b))
				next := strings.NewReader(strconv.Itoa(n + 1))
				if _, err = s.PutIfMatch(t.Context(), "counter", next, o.ETag, store.PutOptions{}); err == nil {
					return
				}
				if !errors.Is(err, store.ErrChanged) {
					t.Errorf("racer %d: %v", i, err)
					return
				}
			}
		})
	}
	wg.Wait()
	if got := get(t, s, "counter"); got != strconv.Itoa(racers) {
		t.Errorf("%d additions gave %s", racers, got)
	}
}

// testWhole reads while others write: whatever is read was written by one of them, from the first byte to the last.
func testWhole(t *testing.T, s store.Store) {
	const size = 256 << 10
	put(t, s, "whole", strings.Repeat("0", size))
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for w := range 2 {
		writers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				body := bytes.Repeat([]byte{byte('a' + (2*i+w)%26)}, size)
				if _, err := s.Put(t.Context(), "whole", bytes.NewReader(body), store.PutOptions{}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 30 {
		b, o, err := s.Get(t.Context(), "whole", "")
		if err != nil {
			t.Error(err)
			break
		}
		if len(b) != size || o.Size != size || bytes.Count(b, b[:1]) != size {
			t.Errorf("read %d bytes of more than one object", len(b))
			break
		}
	}
	close(stop)
	writers.Wait()
}
