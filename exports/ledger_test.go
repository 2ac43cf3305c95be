package exports_test

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tracejury/tracejury/exports"
)

func open(t interface{ Fatal(...any) }, path string) *exports.Ledger {
	l, err := exports.OpenLedger(path)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestLedger_OneAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "ledger")
	l := open(t, path)
	if _, err := exports.OpenLedger(path); !errors.Is(err, exports.ErrLedgerHeld) {
		t.Errorf("a second holder: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := open(t, path).Close(); err != nil {
		t.Fatal(err)
	}
}

// Whatever was written is there when the ledger is opened again, and wherever a crash cuts the file, what stands before the cut
// is: a call whose line is whole is never forgotten.
func TestLedger_Laws(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		path := filepath.Join(dir, string(rune('a'+n%26))+"ledger")
		_ = os.Remove(path)
		l := open(t, path)
		done, pending, sent := map[string]string{}, map[string][]string{}, map[string]bool{}
		type state struct {
			size int64
			done map[string]string
			pend []string
			sent map[string]bool
		}
		var states []state
		note := func() {
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			states = append(states, state{info.Size(), maps.Clone(done), slices.Sorted(maps.Keys(pending)), maps.Clone(sent)})
		}
		note()
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			id := rapid.SampledFrom([]string{"a/1", "a/2", "b/1"}).Draw(t, "id")
			var err error
			switch rapid.IntRange(0, 2).Draw(t, "op") {
			case 0:
				keys := rapid.SliceOfN(rapid.StringMatching(`[a-f]{3}`), 0, 3).Draw(t, "keys")
				err = l.Begin(id, "v", keys)
				pending[id] = keys
			case 1:
				err = l.Finish(id, "w", nil)
				for _, k := range pending[id] {
					sent[k] = true
				}
				delete(pending, id)
				done[id] = "w"
			case 2:
				err = l.Drop(id)
				delete(pending, id)
				delete(done, id)
			}
			if err != nil {
				t.Fatal(err)
			}
			note()
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		cut := rapid.IntRange(0, len(data)).Draw(t, "cut")
		if err := os.WriteFile(path, data[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		want := states[0]
		for _, s := range states {
			if s.size <= int64(cut) {
				want = s
			}
		}
		l = open(t, path)
		defer l.Close()
		ids, _ := l.Pending("")
		if !slices.Equal(ids, want.pend) {
			t.Fatalf("pending %v, want %v", ids, want.pend)
		}
		for _, id := range []string{"a/1", "a/2", "b/1"} {
			if v, ok := l.Done(id); v != want.done[id] || ok != (want.done[id] != "") {
				t.Fatalf("done %s: %q", id, v)
			}
		}
		for k := range sent {
			if l.Sent(k) != want.sent[k] {
				t.Fatalf("sent %s: %v", k, l.Sent(k))
			}
		}
		if err := l.Begin("after", "", nil); err != nil { // a torn end is gone: the next line is whole
			t.Fatal(err)
		}
		copied, err := exports.ReadLedger(path)
		if err != nil {
			t.Fatal(err)
		}
		if ids, _ := copied.Pending("after"); len(ids) != 1 {
			t.Fatal("what was written after a torn end is lost")
		}
	})
}

func FuzzLedger(f *testing.F) {
	f.Add([]byte(`{"id":"a","state":"begun","value":"v","keys":["k"]}` + "\n" + `{"id":"a","state":"done"}` + "\n"))
	f.Add([]byte(`{"id":"a","state":"begun"`))
	f.Add([]byte("\n\x00{}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "ledger")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := exports.OpenLedger(path)
		if err != nil {
			if left, _ := os.ReadFile(path); !bytes.Equal(left, data) {
				t.Fatal("a ledger that cannot be read was changed")
			}
			return
		}
		defer l.Close()
		if err := l.Begin("x", "", nil); err != nil {
			t.Fatal(err)
		}
		if _, err := exports.ReadLedger(path); err != nil {
			t.Fatalf("one line more, and it cannot be read: %v", err)
		}
	})
}
