package model_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/judgetest"
	"github.com/tracejury/tracejury/judge/ledger"
	"github.com/tracejury/tracejury/judge/model"
)

func anthropicAt(tb testing.TB, url, name string, opts model.Options) judge.Judge {
	tb.Helper()
	t, ok := tb.(interface{ Setenv(key, value string) })
	if !ok {
		tb.Fatal("cannot set the environment")
	}
	t.Setenv("ANTHROPIC_BASE_URL", url)
	opts.APIKey = "test"
	j, err := model.Open(tb.Context(), "anthropic:"+name, opts)
	if err != nil {
		tb.Fatal(err)
	}
	return j
}

func TestAnthropic_ContractInEveryMode(t *testing.T) {
	for name, mode := range map[string]string{"claude-haiku-4-5": model.ModeNativeSchema, "claude-opus-4-1": model.ModeForcedTool, "claude-sonnet-5": model.ModeAutoTool} {
		s := server(t, judgetest.Options{})
		open := func(tb testing.TB) judge.Judge { return anthropicAt(tb, s.URL, name, model.Options{Mode: mode}) }
		judgetest.RunJudge(t, open, func() *judge.Request { return mustRequest(t, demo()) })
		if r := s.Refused(); len(r) > 0 {
			t.Errorf("%s: the server refused: %v", name, r)
		}
		if got := open(t).Identity().Mode; got != mode {
			t.Errorf("%s: mode %s", name, got)
		}
	}
}

func TestAnthropic_FailuresByClass(t *testing.T) {
	for _, c := range []struct {
		answer judgetest.Answer
		want   judge.Class
	}{
		{judgetest.Answer{Text: "x", StopReason: "max_tokens"}, judge.ClassTruncated},
		{judgetest.Answer{StopReason: "refusal"}, judge.ClassRefused},
		{judgetest.Answer{StopReason: "model_context_window_exceeded"}, judge.ClassOverflow},
		{judgetest.Answer{StopReason: "pause_turn"}, judge.ClassUnknown},
		{judgetest.Answer{Status: 529, Code: "overloaded_error"}, judge.ClassThrottled},
		{judgetest.Answer{Status: 429, Code: "rate_limit_error", RetryAfter: "3"}, judge.ClassThrottled},
		{judgetest.Answer{Status: 401, Code: "authentication_error"}, judge.ClassAccess},
		{judgetest.Answer{Status: 413, Code: "request_too_large"}, judge.ClassOverflow},
		{judgetest.Answer{Status: 500, Code: "api_error"}, judge.ClassTransient},
	} {
		s := server(t, judgetest.Options{Script: func(judgetest.Call) judgetest.Answer { return c.answer }})
		_, err := anthropicAt(t, s.URL, "claude-haiku-4-5", model.Options{}).Judge(t.Context(), mustRequest(t, demo()))
		ce, ok := errors.AsType[*judge.CallError](err)
		if !ok || ce.Class != c.want {
			t.Errorf("%+v: %v, want %s", c.answer, err, c.want)
		} else if c.answer.RetryAfter != "" && ce.RetryAfter != 3*time.Second {
			t.Errorf("retry after %v", ce.RetryAfter)
		}
	}
	t.Setenv("ANTHROPIC_API_KEY", "")
	if _, err := model.Open(t.Context(), "anthropic:claude-haiku-4-5", model.Options{}); err == nil {
		t.Error("opened without a key")
	}
}

// What a model said is said again by the replay of its ledger, whatever the fence's random word, and only to the same question.
func TestReplay(t *testing.T) {
	dir := t.TempDir()
	l, err := ledger.Open(dir, "2026-11-30-0123456789ab")
	if err != nil {
		t.Fatal(err)
	}
	req := mustRequest(t, demo())
	other := *req
	other.Repeat = 1
	for _, r := range []ledger.Record{
		{Key: "a", Question: model.QuestionSHA256(req), State: ledger.StateReply, Text: `{"said":1}`, Model: "m", Mode: "native_schema"},
		{Key: "b", Question: model.QuestionSHA256(&other), State: ledger.StateFailed, ErrorClass: judge.ClassRefused, Model: "m", Mode: "native_schema"},
		{Key: "c", Question: "x", State: ledger.StateAttempt, ErrorClass: judge.ClassThrottled, Model: "m", Mode: "native_schema"},
	} {
		if err := l.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, filepath.Join(dir, "2026-11-30-0123456789ab.ledger")} {
		j, err := model.Open(t.Context(), "replay:"+path, model.Options{})
		if err != nil {
			t.Fatal(err)
		}
		again := *req
		again.User = strings.ReplaceAll(req.User, nonce, "anotherword0")
		if r, err := j.Judge(t.Context(), &again); err != nil || r.Text != `{"said":1}` {
			t.Errorf("reply %+v, error %v", r, err)
		}
		if _, err := j.Judge(t.Context(), &other); !isClass(err, judge.ClassRefused) {
			t.Errorf("error %v", err)
		}
		again.User += " "
		if _, err := j.Judge(t.Context(), &again); !isClass(err, judge.ClassInvalid) {
			t.Errorf("another question: %v", err)
		}
		if id := j.Identity(); id.Model != "m" || id.Mode != "native_schema" || id.Offline {
			t.Errorf("identity %+v", id)
		}
	}
	if _, err := model.Open(t.Context(), "replay:"+t.TempDir(), model.Options{}); err == nil {
		t.Error("an empty directory was opened")
	}
}

func isClass(err error, want judge.Class) bool {
	ce, ok := errors.AsType[*judge.CallError](err)
	return ok && ce.Class == want
}

func requests(t *testing.T, n int) []*judge.Request {
	var out []*judge.Request
	for i := range n {
		r := *mustRequest(t, demo())
		r.Subject, r.User = fmt.Sprint("s", i), strings.Replace(r.User, "Delete the build folder.", fmt.Sprint("Delete folder ", i), 1)
		out = append(out, &r)
	}
	return out
}

func each(list []*judge.Request) iter.Seq2[*judge.Request, error] {
	return func(yield func(*judge.Request, error) bool) {
		for _, r := range list {
			if !yield(r, nil) {
				return
			}
		}
	}
}

const batchRun = "2026-11-30-0123456789ab"

// A batch job answers the questions, out of order; what it did not answer is asked online; another process goes on with the same
// job; and nothing is left in the storage.
func TestBatch(t *testing.T) {
	store := &judgetest.Memory{NoObject: model.ErrNoObject}
	s := server(t, judgetest.Options{Seed: "1", Objects: store, Faults: judgetest.Faults{Unavailable: 0.2, Truncated: 0.05}})
	t.Setenv("AWS_ENDPOINT_URL_BEDROCK", s.URL)
	opts := model.Options{Batch: model.BatchOptions{RoleARN: "arn:aws:iam::123456789012:role/b", MinRecords: 10, Poll: time.Millisecond, Objects: store}}
	bedrockAt(t, s.URL, haiku, opts) // sets the environment
	open := func() model.Batcher {
		j, err := model.Open(t.Context(), "bedrock-batch:"+haiku, opts)
		if err != nil {
			t.Fatal(err)
		}
		b, ok := j.(model.Batcher)
		if !ok {
			t.Fatal("no batcher")
		}
		return b
	}
	list := requests(t, 60)
	// The first process dies while it waits.
	ctx, cancel := context.WithCancel(t.Context())
	first := open()
	cut := model.BatchOptions{RoleARN: opts.Batch.RoleARN, MinRecords: 10, Poll: time.Hour, Objects: store}
	dying, err := model.Open(t.Context(), "bedrock-batch:"+haiku, model.Options{Batch: cut})
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(300*time.Millisecond, cancel)
	d, ok := dying.(model.Batcher)
	if !ok {
		t.Fatal("no batcher")
	}
	if _, err := d.Prepare(ctx, batchRun, each(list)); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	// The next one has another fence word: the questions are the same.
	for _, r := range list {
		r.User = strings.ReplaceAll(r.User, nonce, "zz99zz99zz99")
	}
	got, err := first.Prepare(t.Context(), batchRun, each(list))
	if err != nil {
		t.Fatal(err)
	}
	if s.Batched() != 60 || got.Questions != 60 || got.Ordered != 60 || got.Answered != 60-s.BatchFailed() {
		t.Errorf("%d records in jobs, %+v", s.Batched(), got)
	}
	// A process that has some of the answers already orders nothing for the rest.
	later := open()
	if got, err := later.Prepare(t.Context(), batchRun, each(list[:20])); err != nil || got.Ordered != 60 || got.Questions != 20 || len(s.Jobs()) != 1 {
		t.Errorf("%+v, %v, jobs %v", got, err, s.Jobs())
	}
	c := model.NewCaller(first, model.CallerOptions{BaseDelay: 1, MaxDelay: 1})
	answered, truncated := 0, 0
	for _, r := range list {
		var reply judge.Reply
		a, ok := first.Answered(r)
		if reply, err = a.Reply, a.Err; !ok {
			reply, err = c.Do(t.Context(), r, nil)
		}
		switch {
		case err == nil && reply.Text != "":
			answered++
		case isClass(err, judge.ClassTruncated):
			truncated++
		default:
			t.Errorf("%s: %v", r.Subject, err)
		}
	}
	// Two subjects that are one question were asked once, and are paid for once.
	for _, r := range list {
		if a, ok := first.Answered(r); ok && (a.Usage != judge.Usage{}) {
			t.Errorf("%s is paid for twice: %+v", r.Subject, a.Usage)
		}
	}
	if s.Calls() == 0 || s.Calls() > 30 || answered < 50 || truncated == 0 {
		t.Errorf("%d answered, %d truncated, %d online calls for what failed", answered, truncated, s.Calls())
	}
	if err := first.Clean(t.Context(), batchRun); err != nil {
		t.Fatal(err)
	}
	if left := store.Keys(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if r := s.Refused(); len(r) > 0 {
		t.Errorf("the server refused: %v", r)
	}
	t.Logf("60 records: %d answered, %d truncated, %d online calls", answered, truncated, s.Calls())

	few := open()
	if got, err := few.Prepare(t.Context(), batchRun, each(list[:5])); err != nil || got.Ordered != 0 || s.Batched() != 60 {
		t.Errorf("five questions were made a job: %v", err)
	}
	if _, err := model.Open(t.Context(), "bedrock-batch:"+nova, opts); err == nil {
		t.Error("a model without native schema was opened for batch jobs")
	}
}

// A service that is away for some looks at a job ends nothing, and a job that somebody deleted is asked online.
func TestBatch_LooksThatFail(t *testing.T) {
	for name, c := range map[string]struct {
		look     func(n int64) int
		answered int
		wrong    judge.Class
	}{
		"away for a while": {func(n int64) int { return map[bool]int{true: 503}[n > 1 && n < 40] }, 12, ""},
		"away for good":    {func(int64) int { return 503 }, 0, judge.ClassTransient},
		"deleted":          {func(int64) int { return 404 }, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var looks atomic.Int64
			store := &judgetest.Memory{NoObject: model.ErrNoObject}
			s := server(t, judgetest.Options{Objects: store, Look: func(string) int { return c.look(looks.Add(1)) }})
			t.Setenv("AWS_ENDPOINT_URL_BEDROCK", s.URL)
			t.Setenv("AWS_MAX_ATTEMPTS", "1")
			opts := model.Options{Batch: model.BatchOptions{RoleARN: "arn:aws:iam::123456789012:role/b", MinRecords: 10, Poll: time.Millisecond, Objects: store}}
			bedrockAt(t, s.URL, haiku, opts) // sets the environment
			j, err := model.Open(t.Context(), "bedrock-batch:"+haiku, opts)
			if err != nil {
				t.Fatal(err)
			}
			b, ok := j.(model.Batcher)
			if !ok {
				t.Fatal("no batcher")
			}
			got, err := b.Prepare(t.Context(), batchRun, each(requests(t, 12)))
			if (err == nil) != (c.wrong == "") || c.wrong != "" && !isClass(err, c.wrong) || got.Answered != c.answered {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// An answer of status 200 that is no message of a model is malformed, whatever it is.
func TestAnthropic_AnotherServicesAnswer(t *testing.T) {
	for _, body := range []string{`{}`, `{"status":"ok"}`, `{"type":"message","content":[],"stop_reason":null}`} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }))
		t.Cleanup(s.Close)
		_, err := anthropicAt(t, s.URL, "claude-haiku-4-5", model.Options{}).Judge(t.Context(), mustRequest(t, demo()))
		if ce, ok := errors.AsType[*judge.CallError](err); !ok || ce.Class != judge.ClassMalformed {
			t.Errorf("%s: %v", body, err)
		}
	}
}
