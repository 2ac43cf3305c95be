package model_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/judgetest"
	"github.com/tracejury/tracejury/judge/model"
)

// bodies stands in front of a server and keeps what it is sent.
func bodies(t *testing.T, to string) (at string, sent func() []string) {
	t.Helper()
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var all []string
	proxy := httputil.NewSingleHostReverseProxy(u)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		all = append(all, string(body))
		mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}

// Whatever the way in which an answer is asked for, its schema goes with the question, and once: no prompt holds it.
func TestSchemaGoesWithEveryQuestionOnce(t *testing.T) {
	const field = `transcript_gaps_matter":{` // as a schema defines it
	t.Setenv("ANTHROPIC_API_KEY", "test")
	ways := map[string]func(url string) judge.Judge{}
	for _, id := range []string{haiku, nova, other} {
		ways["bedrock "+id] = func(url string) judge.Judge { return bedrockAt(t, url, id, model.Options{}) }
	}
	open := func(spec string, opts model.Options) judge.Judge {
		j, err := model.Open(t.Context(), spec, opts)
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	for _, mode := range model.Modes {
		ways["openai "+mode] = func(url string) judge.Judge { return open("openai:"+url+"/v1#m", model.Options{Mode: mode}) }
	}
	ways["anthropic"] = func(url string) judge.Judge {
		t.Setenv("ANTHROPIC_BASE_URL", url)
		return open("anthropic:claude-haiku-4-5-20251001", model.Options{})
	}
	for name, way := range ways {
		s := server(t, judgetest.Options{})
		at, sent := bodies(t, s.URL)
		reply, err := way(at).Judge(t.Context(), mustRequest(t, demo()))
		if err != nil || reply.Text == "" {
			t.Errorf("%s: %v, refused %v", name, err, s.Refused())
			continue
		}
		list := sent()
		if len(list) == 0 {
			t.Errorf("%s: nothing was sent", name)
		}
		for _, body := range list {
			if n := strings.Count(strings.NewReplacer(`\`, "", " ", "").Replace(body), field); n != 1 {
				t.Errorf("%s: the schema stands %d times in a request", name, n)
			}
		}
	}
}
