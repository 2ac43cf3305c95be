package judgetest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/tracejury/tracejury/judge"
)

// RunJudge is the contract of every judge. open makes one; request makes a request that it can answer with a reply.
func RunJudge(t *testing.T, open func(testing.TB) judge.Judge, request func() *judge.Request) {
	t.Run("IdentityIsWholeAndStable", func(t *testing.T) {
		a, b := open(t).Identity(), open(t).Identity()
		if a != b {
			t.Errorf("identities %+v and %+v", a, b)
		}
		if a.Model == "" || a.Mode == "" || a.Parameters == "" {
			t.Errorf("identity %+v: model, mode and parameters make the cache key", a)
		}
	})
	t.Run("Replies", func(t *testing.T) {
		r, err := open(t).Judge(t.Context(), request())
		if err != nil {
			t.Fatal(err)
		}
		if r.Text == "" || r.StopReason == "" {
			t.Errorf("reply %+v", r)
		}
	})
	t.Run("LeavesTheRequestAlone", func(t *testing.T) {
		req := request()
		before := mustJSON(t, req)
		if _, err := open(t).Judge(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		if after := mustJSON(t, req); after != before {
			t.Error("the request was changed")
		}
	})
	t.Run("Concurrent", func(t *testing.T) {
		j := open(t)
		want, err := j.Judge(t.Context(), request())
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				got, err := j.Judge(t.Context(), request())
				if err != nil || got.Text != want.Text {
					t.Errorf("reply %q, error %v", got.Text, err)
				}
			})
		}
		wg.Wait()
	})
	t.Run("CancelledContextIsACallError", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := open(t).Judge(ctx, request())
		if _, ok := errors.AsType[*judge.CallError](err); !ok {
			t.Errorf("error %v is no *CallError", err)
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v does not wrap the context's", err)
		}
	})
	t.Run("RepairIsAnswered", func(t *testing.T) {
		req := request()
		req.RepairOf, req.RepairError = "All met.", "no complete JSON object in the reply"
		if r, err := open(t).Judge(t.Context(), req); err != nil || r.Text == "" {
			t.Errorf("reply %+v, error %v", r, err)
		}
	})
}

func mustJSON(tb testing.TB, v any) string {
	tb.Helper()
	b, err := judge.CanonicalJSON(v)
	if err != nil {
		tb.Fatal(err)
	}
	return string(b)
}
