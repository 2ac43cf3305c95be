package exports_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tracejury/tracejury/exports"
)

func box() *exports.Outbox {
	return &exports.Outbox{Attempts: 3, Pause: time.Millisecond, Unpaced: true, Now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
}

func TestOutbox_Retry(t *testing.T) {
	plain := errors.New("refused")
	for name, test := range map[string]struct {
		errs  []error
		calls int
		want  error
	}{
		"at once":           {[]error{nil}, 1, nil},
		"for good":          {[]error{plain}, 1, plain},
		"passes":            {[]error{&exports.Retryable{Err: plain}, nil}, 2, nil},
		"too often":         {[]error{&exports.Retryable{Err: plain}, &exports.Retryable{Err: plain}, &exports.Retryable{Err: plain}, nil}, 3, plain},
		"come back too far": {[]error{&exports.Retryable{Err: plain, After: time.Hour}, nil}, 1, plain},
	} {
		calls := 0
		err := box().Retry(t.Context(), func() error { calls++; return test.errs[calls-1] })
		if calls != test.calls || !errors.Is(err, test.want) {
			t.Errorf("%s: %d calls, %v", name, calls, err)
		}
		if _, again := errors.AsType[*exports.Retryable](err); again {
			t.Errorf("%s: whoever called would try again", name)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := box().Retry(ctx, func() error { return &exports.Retryable{Err: plain} }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestAPI_Do(t *testing.T) {
	const secret = "secret-token-value"
	for name, test := range map[string]struct {
		statuses  []int
		body      string
		once      bool
		calls     int
		uncertain bool
		err       string
	}{
		"well":                    {[]int{200}, `{"id":"x"}`, false, 1, false, ""},
		"slow down, then well":    {[]int{429, 200}, `{"id":"x"}`, true, 2, false, ""},
		"broken, then well":       {[]int{500, 503, 200}, `{"id":"x"}`, false, 3, false, ""},
		"broken, not repeatable":  {[]int{500, 200}, `{"id":"x"}`, true, 1, true, "500"},
		"refused":                 {[]int{400, 200}, `{"error":{"message":"no: secret-token-value"}}`, false, 1, false, "no: [MASKED:credential]"},
		"not JSON":                {[]int{200, 200, 200}, `<html>`, false, 3, false, "read answer"},
		"not JSON, once":          {[]int{200}, `<html>`, true, 1, true, "read answer"},
		"elsewhere":               {[]int{302}, ``, false, 1, false, "302"},
		"not there":               {[]int{404}, `{"message":"gone"}`, true, 1, false, "gone"},
		"broken to the very last": {[]int{500, 500, 500}, ``, false, 3, false, "500"},
	} {
		calls := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			calls++
			if got, _ := io.ReadAll(r.Body); string(got) != `{"a":"<b>"}` || r.Header.Get("Authorization") != secret {
				t.Errorf("%s: call %d: %s", name, calls, got)
			}
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(test.statuses[calls-1])
			_, _ = io.WriteString(w, test.body)
		}))
		b := box()
		api := &exports.API{Base: server.URL, Client: b.Client(1, nil), Box: b, Auth: func(_ context.Context, h http.Header) ([]string, error) {
			h.Set("Authorization", secret)
			return []string{secret}, nil
		}}
		var out struct{ ID string }
		err := api.Do(t.Context(), &exports.Request{Method: http.MethodPost, Path: "/x", Body: map[string]string{"a": "<b>"}, Once: test.once}, &out)
		server.Close()
		switch {
		case calls != test.calls:
			t.Errorf("%s: %d calls, %v", name, calls, err)
		case test.err == "" && (err != nil || out.ID != "x"), test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)):
			t.Errorf("%s: %v", name, err)
		case errors.Is(err, exports.ErrUncertain) != test.uncertain:
			t.Errorf("%s: uncertain: %v", name, err)
		case err != nil && strings.Contains(err.Error(), secret):
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCheckBase(t *testing.T) {
	for base, ok := range map[string]bool{"https://x.example/a": true, "http://localhost:1": true, "http://127.0.0.1:1/a": true, "http://[::1]:1": true, "http://x.example": false,
		"http://127.0.0.1.example": false, "https://u:p@x": false, "https://x?y": false, "": false, "x": false, "file:///etc": false} {
		if err := exports.CheckBase(base); (err == nil) != ok {
			t.Errorf("%q: %v", base, err)
		}
	}
}
