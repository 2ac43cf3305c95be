package platformtest

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tracejury/tracejury/exports"
)

// now is the time of an outbox of these tests.
var now = time.Date(2026, 11, 30, 12, 30, 0, 0, time.UTC)

// Now is the clock of Outbox: half an hour after the exports of package exporttest.
func Now() time.Time { return now }

// Outbox is an outbox that hurries, and the results that it gets.
func Outbox(ledger *exports.Ledger) (*exports.Outbox, *[]exports.Result) {
	results := &[]exports.Result{}
	return &exports.Outbox{Ledger: ledger, Now: now, Attempts: 4, Pause: time.Millisecond, Settle: 40 * time.Millisecond, Yes: true, Unpaced: true,
		Report: func(r exports.Result) { *results = append(*results, r) }}, results
}

// Trial is one platform with nothing on it, and one push to it.
type Trial struct {
	Server *Server
	Push   func(context.Context, *exports.Outbox) error
	Check  func(t testing.TB) // the platform holds all, and nothing twice
	// SetLag sets how late the platform shows what is new. Only a ledger knows of what nobody can see yet.
	SetLag func(n int)
}

// Repeat holds a push against its promise that it can be repeated: after success, with the ledger and without it.
func Repeat(t *testing.T, fresh func(testing.TB) Trial) {
	t.Helper()
	trial := fresh(t)
	path := filepath.Join(t.TempDir(), "ledger")
	for n, keep := range []bool{true, true, true, false} { // the fourth comes from another machine
		if !keep {
			trial.SetLag(0)
			path = filepath.Join(t.TempDir(), "ledger")
		}
		pushOnce(t, trial, path)
		trial.Check(t)
		if t.Failed() {
			t.Fatalf("push %d", n+1)
		}
	}
	if p := trial.Server.Problems(); len(p) > 0 {
		t.Errorf("refused: %v", p)
	}
}

func pushOnce(t testing.TB, trial Trial, path string) {
	t.Helper()
	ledger, err := exports.OpenLedger(path)
	if err != nil {
		t.Fatal(err)
	}
	defer ledger.Close()
	box, _ := Outbox(ledger)
	if err := trial.Push(t.Context(), box); err != nil {
		t.Fatalf("push: %v", err)
	}
}

// Faults lets every call in turn fail in every way. Each push must come through in spite of it.
func Faults(t *testing.T, fresh func(testing.TB) Trial) {
	t.Helper()
	for fault, name := range map[Fault]string{Throttle: "throttled", FailBefore: "500, not done", FailAfter: "500, done", DropBefore: "dropped, not done", DropAfter: "dropped, done"} {
		for n := 1; ; n++ {
			trial := fresh(t)
			fired := false
			trial.Server.Fail(func(k int, _ Recorded) Fault {
				if k == n {
					fired = true
					return fault
				}
				return None
			})
			pushOnce(t, trial, filepath.Join(t.TempDir(), "ledger"))
			if !fired {
				break
			}
			trial.Check(t)
			if t.Failed() {
				t.Fatalf("%s at call %d", name, n)
			}
		}
	}
}

// Crash kills a push at every call in turn, before it is carried out and after, and pushes again: with what stood in the ledger at
// that moment, and with no ledger at all.
func Crash(t *testing.T, fresh func(testing.TB) Trial) {
	t.Helper()
	for fault, name := range map[Fault]string{DropBefore: "before", DropAfter: "after"} {
		for _, keep := range []bool{true, false} {
			for n := 1; ; n++ {
				if !crashAt(t, fresh(t), n, fault, keep) {
					if n < 4 {
						t.Errorf("a push has %d calls", n-1)
					}
					break
				}
				if t.Failed() {
					t.Fatalf("killed %s call %d, ledger kept: %v", name, n, keep)
				}
			}
		}
	}
}

func crashAt(t *testing.T, trial Trial, n int, fault Fault, keep bool) (fired bool) {
	t.Helper()
	if keep {
		trial.SetLag(1)
	}
	dir := t.TempDir()
	path, left := filepath.Join(dir, "ledger"), filepath.Join(dir, "left")
	ledger, err := exports.OpenLedger(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	trial.Server.Fail(func(k int, _ Recorded) Fault {
		if k != n {
			return None
		}
		fired = true
		data, err := os.ReadFile(path) // what a dead process leaves
		if err != nil || !keep {
			data = nil
		}
		if err := os.WriteFile(left, data, 0o600); err != nil {
			t.Error(err)
		}
		cancel()
		return fault
	})
	box, _ := Outbox(ledger)
	err = trial.Push(ctx, box)
	if cerr := ledger.Close(); cerr != nil {
		t.Error(cerr)
	}
	if !fired {
		if err != nil {
			t.Errorf("without a fault: %v", err)
		}
		return false
	}
	if err == nil {
		t.Errorf("killed at call %d, and no error", n)
	}
	trial.Server.Fail(nil)
	pushOnce(t, trial, left)
	trial.Check(t)
	pushOnce(t, trial, left)
	trial.Check(t)
	return true
}
