package judgetest_test

import (
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/tracejury/tracejury/judge/judgetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const schema = `{"type":"object","additionalProperties":false,"required":["ok"],"properties":{"ok":{"type":"boolean"}}}`

// body is a valid Converse body with a text and, instead of from, to.
func body(text, from, to string) string {
	b := `{"messages":[{"role":"user","content":[{"text":"` + text + `"}]}],"system":[{"text":"s"}],"inferenceConfig":{"maxTokens":10},` +
		`"outputConfig":{"textFormat":{"type":"json_schema","structure":{"jsonSchema":{"name":"n","schema":` + fmt.Sprintf("%q", schema) + `}}}}}`
	if from == "" {
		return b
	}
	return strings.Replace(b, from, to, 1)
}

func post(t *testing.T, s *judgetest.Server, body, auth string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/model/m.v1%3A0/converse", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", auth)
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(b)
}

func TestServer_IsStrict(t *testing.T) {
	s := judgetest.New(judgetest.Options{MaxBody: 4096})
	defer s.Close()
	const auth = "Bearer x"
	if code, text := post(t, s, body("hello", "", ""), auth); code != 200 || !strings.Contains(text, `"stopReason":"end_turn"`) {
		t.Fatalf("a valid call: %d %s", code, text)
	}
	for name, tc := range map[string]struct {
		body, auth string
		code       int
	}{
		"no credentials":    {body("a", "", ""), "", 403},
		"unknown field":     {body("a", `"system"`, `"systems"`), auth, 400},
		"no schema":         {body("a", `"outputConfig":`, `"additionalModelRequestFields":`), auth, 400},
		"schema name":       {body("a", `"name":"n"`, `"name":"n n"`), auth, 400},
		"open schema":       {body("a", `\"additionalProperties\":false,`, ``), auth, 400},
		"unknown keyword":   {body("a", `\"type\":\"boolean\"`, `\"type\":\"boolean\",\"maxLength\":3`), auth, 400},
		"optional property": {body("a", `\"required\":[\"ok\"]`, `\"required\":[]`), auth, 400},
		"assistant first":   {body("a", `"role":"user"`, `"role":"assistant"`), auth, 400},
		"empty text":        {body(" ", "", ""), auth, 400},
		"no max tokens":     {body("a", `{"maxTokens":10}`, `{}`), auth, 400},
		"too long":          {body(strings.Repeat("x", 5000), "", ""), auth, 413},
		"not JSON":          {"{", auth, 400},
	} {
		if code, text := post(t, s, tc.body, tc.auth); code != tc.code {
			t.Errorf("%s: %d %s", name, code, text)
		}
	}
	if s.Calls() != 13 || s.Answered() != 1 || len(s.Refused()) != 12 {
		t.Errorf("%d calls, %d answered, %d refused", s.Calls(), s.Answered(), len(s.Refused()))
	}
	if !s.Saw("hello") || s.Saw("nobody said this") {
		t.Error("the server does not know what it saw")
	}
}

// Which calls fail hangs on the seed and the body, not on the order in which they come.
func TestServer_FaultsFollowTheSeed(t *testing.T) {
	outcomes := func(seed string, backwards bool) map[int]int {
		s := judgetest.New(judgetest.Options{Seed: seed, Faults: judgetest.Faults{Throttle: 0.3, Unavailable: 0.2, Malformed: 0.1}})
		defer s.Close()
		out := map[int]int{}
		for i := range 60 {
			if backwards {
				i = 59 - i
			}
			out[i], _ = post(t, s, body(fmt.Sprint("call ", i), "", ""), "Bearer x")
		}
		return out
	}
	a := outcomes("1", false)
	if !reflect.DeepEqual(a, outcomes("1", true)) {
		t.Error("the order decides which calls fail")
	}
	if reflect.DeepEqual(a, outcomes("2", false)) {
		t.Error("the seed decides nothing")
	}
	count := map[int]int{}
	for _, code := range a {
		count[code]++
	}
	if count[429] < 8 || count[503] < 4 || count[200] < 20 {
		t.Errorf("codes %v", count)
	}
}
