package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/ledger"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const run = "2026-11-30-0123456789ab"

func mustOpen(tb testing.TB, dir string) *ledger.Ledger {
	tb.Helper()
	l, err := ledger.Open(dir, run)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = l.Close() })
	return l
}

func record(i int, state ledger.State) ledger.Record {
	n := int64(i)
	return ledger.Record{
		Key: fmt.Sprintf("key%04d", i), RequestSHA256: "r", Evaluator: "session", Subject: fmt.Sprint(i), Attempt: 1, Model: "m", Mode: "code",
		Text: strings.Repeat("x", i%50), Usage: judge.Usage{InputTokens: &n}, State: state,
	}
}

func mustAppend(tb testing.TB, l *ledger.Ledger, r ledger.Record) {
	tb.Helper()
	if err := l.Append(r); err != nil {
		tb.Fatal(err)
	}
}

func mustAll(tb testing.TB, l *ledger.Ledger) []ledger.Record {
	tb.Helper()
	all, err := l.All()
	if err != nil {
		tb.Fatal(err)
	}
	return all
}

func TestLedger_SurvivesReopening(t *testing.T) {
	dir := t.TempDir()
	l := mustOpen(t, dir)
	mustAppend(t, l, record(1, ledger.StateAttempt))
	mustAppend(t, l, record(2, ledger.StateReply))
	mustAppend(t, l, record(3, ledger.StateFailed))
	want := mustAll(t, l)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = mustOpen(t, dir)
	if got := mustAll(t, l); !reflect.DeepEqual(got, want) || len(got) != 3 || got[2].Seq != 3 {
		t.Errorf("records %+v, want %+v", got, want)
	}
	if _, ok := l.Completed("key0001"); ok {
		t.Error("an attempt is taken for an answer")
	}
	for i := 2; i <= 3; i++ {
		if r, ok := l.Completed(fmt.Sprintf("key%04d", i)); !ok || !reflect.DeepEqual(r, want[i-1]) {
			t.Errorf("record %d: %+v", i, r)
		}
	}
	mustAppend(t, l, record(4, ledger.StateReply))
	if got := mustAll(t, l); got[3].Seq != 4 {
		t.Errorf("sequence %d after reopening", got[3].Seq)
	}
}

// Whatever a killed process left of its last write, all records before it are there and the log goes on.
func TestLedger_TornTailIsCut(t *testing.T) {
	dir := t.TempDir()
	l := mustOpen(t, dir)
	for i := range 5 {
		mustAppend(t, l, record(i, ledger.StateReply))
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, run+".ledger")
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range whole {
		if err := os.WriteFile(name, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := ledger.Open(dir, run)
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		n := len(mustAll(t, l))
		if n > 4 || n < cut*5/len(whole)-1 {
			t.Fatalf("cut at %d of %d: %d records", cut, len(whole), n)
		}
		mustAppend(t, l, record(99, ledger.StateReply))
		if r, ok := l.Completed("key0099"); !ok || r.Seq != int64(n+1) {
			t.Fatalf("cut at %d: appended record %+v", cut, r)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	damaged := []byte(string(whole))
	damaged[len(damaged)-3] ^= 1
	if err := os.WriteFile(name, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	if n := len(mustAll(t, mustOpen(t, dir))); n != 4 {
		t.Errorf("%d records before a damaged one, want 4", n)
	}
}

func TestLedger_OneProcess(t *testing.T) {
	dir := t.TempDir()
	mustOpen(t, dir)
	if _, err := ledger.Open(dir, run); !errors.Is(err, ledger.ErrLocked) {
		t.Errorf("error %v", err)
	}
	if _, err := ledger.Open(dir, "../x"); err == nil {
		t.Error("a run id left the directory")
	}
}

// sink keeps what was put.
type sink struct {
	mu       sync.Mutex
	segments map[string][]byte
	fail     int
}

func (s *sink) put(name string, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail > 0 {
		s.fail--
		return errors.New("unreachable")
	}
	if s.segments == nil {
		s.segments = map[string][]byte{}
	}
	s.segments[name] = append([]byte(nil), data...)
	return nil
}

func (s *sink) list() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out [][]byte
	for _, d := range s.segments {
		out = append(out, d)
	}
	return out
}

func TestLedger_SealAndGoOnElsewhere(t *testing.T) {
	dir := t.TempDir()
	l := mustOpen(t, dir)
	s := &sink{fail: 1}
	for i := range 10 {
		mustAppend(t, l, record(i, ledger.StateReply))
	}
	if err := l.Seal(t.Context(), s.put); err == nil {
		t.Fatal("a failed put is no error")
	}
	for range 2 { // the second finds nothing to do
		if err := l.Seal(t.Context(), s.put); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.segments) != 1 {
		t.Fatalf("%d segments", len(s.segments))
	}
	mustAppend(t, l, record(10, ledger.StateReply))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = mustOpen(t, dir) // what was sealed is remembered
	if err := l.Seal(t.Context(), s.put); err != nil {
		t.Fatal(err)
	}
	if len(s.segments) != 2 {
		t.Fatalf("%d segments after reopening, want 2", len(s.segments))
	}
	other := mustOpen(t, t.TempDir())
	mustAppend(t, other, record(77, ledger.StateReply))
	for _, want := range []int{11, 0} {
		if n, err := other.Load(s.list()); err != nil || n != want {
			t.Fatalf("loaded %d, error %v, want %d", n, err, want)
		}
	}
	for i := range 11 {
		if _, ok := other.Completed(fmt.Sprintf("key%04d", i)); !ok {
			t.Errorf("record %d is not known elsewhere", i)
		}
	}
}

func TestLedger_ConcurrentAppendAndSeal(t *testing.T) {
	dir := t.TempDir()
	l := mustOpen(t, dir)
	s := &sink{}
	ctx, cancel := context.WithCancel(t.Context())
	var sealing, writers sync.WaitGroup
	sealing.Go(func() {
		if err := l.KeepSealing(ctx, func(_ context.Context, name string, data []byte) error { return s.put(name, data) }); err != nil {
			t.Error(err)
		}
	})
	const n, each = 16, 40
	for w := range n {
		writers.Go(func() {
			for i := range each {
				r := record(w*each+i, ledger.StateReply)
				if err := l.Append(r); err != nil {
					t.Error(err)
				}
				if got, ok := l.Completed(r.Key); !ok || got.Text != r.Text || got.Subject != r.Subject {
					t.Errorf("not durable on return: %+v", got)
				}
			}
		})
	}
	writers.Wait()
	cancel()
	sealing.Wait()
	if len(s.segments) < n*each/ledger.SealRecords/4 {
		t.Errorf("%d segments of %d records", len(s.segments), n*each)
	}
	other := mustOpen(t, t.TempDir())
	if got, err := other.Load(s.list()); err != nil || got != n*each {
		t.Errorf("segments hold %d records, error %v, want %d", got, err, n*each)
	}
	for i, r := range mustAll(t, l) {
		if r.Seq != int64(i+1) {
			t.Fatalf("record %d has the number %d", i, r.Seq)
		}
	}
}

func TestKey_EveryPartCounts(t *testing.T) {
	base := ledger.KeyParts{Identity: judge.Identity{Model: "m", Mode: "a", Parameters: "{}"}, Evaluator: "session", Subject: "s"}
	keys := map[string]string{ledger.Key(base): "base"}
	v := reflect.ValueOf(&base).Elem()
	var vary func(v reflect.Value, name string)
	vary = func(v reflect.Value, name string) {
		for i := range v.NumField() {
			f, name := v.Field(i), name+"."+v.Type().Field(i).Name
			old := reflect.New(f.Type()).Elem()
			old.Set(f)
			switch f.Kind() {
			case reflect.Struct:
				vary(f, name)
				continue
			case reflect.String:
				f.SetString("other")
			case reflect.Int:
				f.SetInt(7)
			case reflect.Bool:
				f.SetBool(true)
			}
			k := ledger.Key(base)
			if with, twice := keys[k]; twice {
				t.Errorf("%s does not enter the key (same as %s)", name, with)
			}
			keys[k] = name
			f.Set(old)
		}
	}
	vary(v, "")
}

func TestLedger_HoldsNoPrompt(t *testing.T) {
	for i := range reflect.TypeFor[ledger.Record]().NumField() {
		if name := strings.ToLower(reflect.TypeFor[ledger.Record]().Field(i).Name); name == "user" || name == "system" || name == "prompt" {
			t.Errorf("field %s", name)
		}
	}
}

func TestLedger_Model(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		l, err := ledger.Open(dir, run)
		if err != nil {
			rt.Fatal(err)
		}
		s := &sink{}
		want := map[string]string{}
		total := 0
		for range rapid.IntRange(1, 30).Draw(rt, "ops") {
			switch rapid.IntRange(0, 3).Draw(rt, "op") {
			case 0, 1:
				r := record(rapid.IntRange(0, 5).Draw(rt, "key"), rapid.SampledFrom([]ledger.State{ledger.StateAttempt, ledger.StateReply}).Draw(rt, "state"))
				r.Attempt = total
				total++
				r.Text = fmt.Sprint(total)
				if err := l.Append(r); err != nil {
					rt.Fatal(err)
				}
				if r.State == ledger.StateReply {
					want[r.Key] = r.Text
				}
			case 2:
				if err := l.Close(); err != nil {
					rt.Fatal(err)
				}
				if l, err = ledger.Open(dir, run); err != nil {
					rt.Fatal(err)
				}
			case 3:
				if err := l.Seal(context.Background(), s.put); err != nil {
					rt.Fatal(err)
				}
			}
		}
		for k, text := range want {
			if r, ok := l.Completed(k); !ok || r.Text != text {
				rt.Fatalf("key %s: %q, want %q", k, r.Text, text)
			}
		}
		if err := l.Seal(context.Background(), s.put); err != nil {
			rt.Fatal(err)
		}
		if err := l.Close(); err != nil {
			rt.Fatal(err)
		}
		other, err := ledger.Open(filepath.Join(dir, "other"), run)
		if err != nil {
			rt.Fatal(err)
		}
		n, err := other.Load(s.list())
		if err != nil || n != total {
			rt.Fatalf("loaded %d of %d: %v", n, total, err)
		}
		for k, text := range want {
			if r, ok := other.Completed(k); !ok || r.Text != text {
				rt.Fatalf("elsewhere: key %s: %q, want %q", k, r.Text, text)
			}
		}
		if err := other.Close(); err != nil {
			rt.Fatal(err)
		}
	})
}

func FuzzOpen(f *testing.F) {
	f.Add([]byte("\x02\x00\x00\x00aaaaR{}"))
	f.Add([]byte{255, 255, 255, 255, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, run+".ledger"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		if l, err := ledger.Open(dir, run); err == nil {
			if err := l.Append(record(1, ledger.StateReply)); err != nil {
				t.Error(err)
			}
			_ = l.Close()
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	l := mustOpen(b, b.TempDir())
	r := record(1, ledger.StateReply)
	r.Text = strings.Repeat("x", 2000)
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := l.Append(r); err != nil {
				b.Error(err)
			}
		}
	})
}
