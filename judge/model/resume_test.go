package model_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator/session"
	"github.com/tracejury/tracejury/judge/judgetest"
	"github.com/tracejury/tracejury/judge/ledger"
	"github.com/tracejury/tracejury/judge/model"
)

// grade judges n subjects as the evaluate job does: what the ledger holds is not asked again. It stops after limit calls.
func grade(t *testing.T, c *model.Caller, l *ledger.Ledger, n, limit int) map[string][]judge.Answer {
	t.Helper()
	ev := mustEvaluator(t, session.Options{})
	var mu sync.Mutex
	out := map[string][]judge.Answer{}
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			s := demo()
			s.ID = fmt.Sprint("subject ", i)
			item, _, err := ev.Item(s, nonce)
			if err != nil {
				t.Error(err)
				return
			}
			v := ev.Version()
			parts := ledger.KeyParts{
				Identity: c.Identity(), Evaluator: v.Evaluator, Subject: s.ID, PromptSHA256: v.PromptSHA256, RubricSHA256: v.RubricSHA256,
				SchemaSHA256: v.SchemaSHA256, RenderingSHA256: item.RenderingSHA256, MaxTokens: item.Request.MaxTokens,
			}
			for repair := range 2 {
				parts.Repair = repair
				key := ledger.Key(parts)
				done, ok := l.Completed(key)
				if !ok {
					if i >= limit {
						return
					}
					reply, err := c.Do(t.Context(), &item.Request, func(a model.Attempt) {
						r := ledger.Record{Key: key, Subject: s.ID, Repair: repair, Attempt: a.Number, Text: a.Reply.Text, ErrorClass: a.Class, Usage: a.Usage}
						switch {
						case a.Err == nil:
							r.State = ledger.StateReply
						case !a.Class.Retryable():
							r.State = ledger.StateFailed
						}
						if err := l.Append(r); err != nil {
							t.Error(err)
						}
					})
					if ce, ok := errors.AsType[*judge.CallError](err); ok {
						done = ledger.Record{ErrorClass: ce.Class, State: ledger.StateFailed}
					} else {
						done = ledger.Record{Text: reply.Text, State: ledger.StateReply}
					}
				}
				answers, err := ev.Read(&item.Request, done.Text)
				if done.State == ledger.StateFailed {
					answers, err = []judge.Answer{{Verdict: judge.Ungraded, Reason: string(done.ErrorClass)}}, nil
				}
				if err != nil && repair == 0 {
					sum := sha256.Sum256([]byte(done.Text))
					item.Request.RepairOf, item.Request.RepairError = done.Text, err.Error()
					parts.RepairSHA256 = hex.EncodeToString(sum[:])
					continue
				}
				if err != nil {
					answers = []judge.Answer{{Verdict: judge.Ungraded, Reason: string(judge.ClassSchema)}}
				}
				mu.Lock()
				out[s.ID] = answers
				mu.Unlock()
				return
			}
		})
	}
	wg.Wait()
	return out
}

// A run that is stopped half-way and asked again makes no completed call twice, and its verdicts are those of a run that
// was not stopped, with throttles, resets, prose and refusals on the way.
func TestResume_CompletedCallsAreNotRepeated(t *testing.T) {
	faults := judgetest.Faults{Throttle: 0.1, Unavailable: 0.05, Reset: 0.05, Malformed: 0.1, Truncated: 0.05, Refused: 0.05, WrongSchema: 0.05}
	open := func(dir string) *ledger.Ledger {
		l, err := ledger.Open(dir, "2026-11-30-0123456789ab")
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	caller := func(s *judgetest.Server) *model.Caller {
		return model.NewCaller(bedrockAt(t, s.URL, haiku, model.Options{}), model.CallerOptions{Concurrency: 8, BaseDelay: 1, MaxDelay: 1})
	}
	const n = 40
	whole := server(t, judgetest.Options{Seed: "7", Faults: faults})
	l := open(t.TempDir())
	want := grade(t, caller(whole), l, n, n)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if len(want) != n {
		t.Fatalf("%d of %d subjects", len(want), n)
	}

	halved := server(t, judgetest.Options{Seed: "7", Faults: faults})
	dir := t.TempDir()
	l = open(dir)
	if got := grade(t, caller(halved), l, n, n/2); len(got) != n/2 {
		t.Fatalf("%d of %d subjects before the stop", len(got), n/2)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = open(dir)
	got := grade(t, caller(halved), l, n, n)
	if !reflect.DeepEqual(got, want) {
		t.Error("a resumed run has other verdicts")
	}
	if halved.Calls() != whole.Calls() {
		t.Errorf("%d calls with a stop in between, %d without", halved.Calls(), whole.Calls())
	}
	before := halved.Calls()
	if again := grade(t, caller(halved), l, n, n); !reflect.DeepEqual(again, want) || halved.Calls() != before {
		t.Errorf("%d calls for a run that was complete", halved.Calls()-before)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d subjects, %d calls", n, whole.Calls())
}
