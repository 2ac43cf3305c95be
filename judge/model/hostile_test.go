package model

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tracejury/tracejury/judge"
)

func TestRetryAfter(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"": 0, "2": 2 * time.Second, "0.5": 500 * time.Millisecond, "0": 0, "-5": 0, "soon": 0, "NaN": 0, "-Inf": 0,
		"86400": 24 * time.Hour, "999999999": 24 * time.Hour, "Inf": 24 * time.Hour,
		"Mon, 30 Nov 2026 06:00:30 GMT": 30 * time.Second, "Thu, 01 Jan 1970 00:00:00 GMT": 0,
	} {
		if got := retryAfter(http.Header{"Retry-After": {value}, "Date": {"Mon, 30 Nov 2026 06:00:00 GMT"}}); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}

// What a hostile or broken server answers is classed for what it is; no error holds a key, and nothing is sent on elsewhere.
func TestHostileServers(t *testing.T) {
	const key = "sk-hostile-test-0123456789"
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the question was sent on to another host") }))
	defer elsewhere.Close()
	redirect := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, strings.Replace(elsewhere.URL, "127.0.0.1", "localhost", 1), status)
		}
	}
	text := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body) // who does not read to the end hangs up
		}
	}
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		want   judge.Class
	}{
		"307":            {redirect(307), judge.ClassAccess},
		"308":            {redirect(308), judge.ClassAccess},
		"302":            {redirect(302), judge.ClassAccess},
		"529":            {text(529, ""), judge.ClassThrottled},
		"502 page":       {text(502, "<html>bad gateway</html>"), judge.ClassTransient},
		"200 page":       {text(200, "<html>sign in</html>"), judge.ClassTransient},
		"cut off":        {text(200, `{"choices":[{"mess`), judge.ClassTransient},
		"endless answer": {text(200, `{"x":"`+strings.Repeat("a", 100<<20)+`"}`), judge.ClassMalformed},
		"key repeated": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(401)
			fmt.Fprint(w, strings.Repeat("x", 290), r.Header.Get("Authorization"), r.Header.Get("X-Api-Key"))
		}, judge.ClassAccess},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(tt.answer)
			defer s.Close()
			t.Setenv("OPENAI_API_KEY", key)
			t.Setenv("ANTHROPIC_API_KEY", key)
			t.Setenv("ANTHROPIC_BASE_URL", s.URL)
			for _, spec := range []string{"openai:" + s.URL + "/v1#m", "anthropic:m"} {
				j, err := Open(t.Context(), spec, Options{})
				if err != nil {
					t.Fatal(err)
				}
				_, err = j.Judge(t.Context(), &judge.Request{System: "s", User: "u", MaxTokens: 10})
				ce, ok := errors.AsType[*judge.CallError](err)
				if !ok || ce.Class != tt.want {
					t.Errorf("%s: %v, want class %s", spec, err, tt.want)
				}
				if text := fmt.Sprint(err); strings.Contains(text, key[:8]) {
					t.Errorf("%s: the error holds the key: %s", spec, text)
				}
			}
		})
	}
}

// A reply that no ledger record holds is that subject's failure, paid once, and not the end of the run.
func TestCaller_ReplyBeyondMeasure(t *testing.T) {
	calls := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls++
		fmt.Fprintf(w, `{"choices":[{"finish_reason":"stop","message":{"content":"%s"}}],"usage":{"prompt_tokens":7,"completion_tokens":9}}`, strings.Repeat("<", 9<<20))
	}))
	defer s.Close()
	j, err := Open(t.Context(), "openai:"+s.URL+"/v1#m", Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = NewCaller(j, CallerOptions{}).Do(t.Context(), &judge.Request{System: "s", User: "u", MaxTokens: 10}, func(a Attempt) {
		if a.Reply.Text != "" || a.Usage.OutputTokens == nil || *a.Usage.OutputTokens != 9 {
			t.Errorf("%d bytes of text, usage %+v", len(a.Reply.Text), a.Usage)
		}
	})
	if ce, ok := errors.AsType[*judge.CallError](err); !ok || ce.Class != judge.ClassMalformed || calls != 1 {
		t.Errorf("%d calls: %v", calls, err)
	}
}
