package mcptools_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tracejury/tracejury/pipeline/mcptools"
)

// server builds the server of testdata, once a test binary.
func server(tb testing.TB) string {
	tb.Helper()
	bin := filepath.Join(tb.TempDir(), "server")
	if out, err := exec.Command("go", "build", "-o", bin, "./testdata/server").CombinedOutput(); err != nil {
		tb.Fatalf("build the server: %v\n%s", err, out)
	}
	return bin
}

func names(tb testing.TB, l mcptools.Listing) []string {
	tb.Helper()
	var tools []struct {
		Name        string         `json:"name"`
		InputSchema map[string]any `json:"inputSchema"`
	}
	if err := json.Unmarshal(l.Tools, &tools); err != nil {
		tb.Fatal(err)
	}
	var out []string
	for _, t := range tools {
		if t.InputSchema == nil {
			tb.Errorf("%s has no schema", t.Name)
		}
		out = append(out, t.Name)
	}
	slices.Sort(out)
	return out
}

func TestLiveServer(t *testing.T) {
	defer goleak.VerifyNone(t)
	bin := server(t)
	want := []string{"close_ticket", "delete_ticket", "get_ticket", "ping", "search_tickets"}
	check := func(t *testing.T, l mcptools.Listing, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if got := names(t, l); l.Server != "helpdesk" || l.Version != "1.2.0" || l.N != 5 || !slices.Equal(got, want) {
			t.Errorf("%s %s: %v", l.Server, l.Version, got)
		}
	}
	t.Run("stdio", func(t *testing.T) {
		l, err := mcptools.Stdio(t.Context(), []string{bin}, mcptools.Options{})
		check(t, l, err)
	})
	t.Run("http", func(t *testing.T) {
		cmd := exec.Command(bin, "127.0.0.1:0")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _, _ = cmd.Process.Kill(), cmd.Wait() }()
		url, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		l, err := mcptools.HTTP(t.Context(), strings.TrimSpace(url), mcptools.Options{})
		check(t, l, err)
	})
}

// Whatever a server does, the listing ends, in bounds, and leaves nothing running.
func TestStdio_BadCommands(t *testing.T) {
	defer goleak.VerifyNone(t)
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no sh")
	}
	t.Setenv("TRACEJURY_TEST_SECRET", "hush-hush")
	for name, tc := range map[string]struct {
		script string
		opts   mcptools.Options
		want   []string
	}{
		"ends at once":       {"echo no such module >&2; exit 3", mcptools.Options{}, []string{"no such module", "exit status 3"}},
		"says nothing":       {"exec sleep 60", mcptools.Options{Timeout: 300 * time.Millisecond}, []string{"did not answer in time"}},
		"floods":             {"exec yes '{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}'", mcptools.Options{MaxBytes: 1 << 16, Timeout: 10 * time.Second}, []string{"more than is read"}},
		"one endless line":   {"exec tr '\\0' a </dev/zero", mcptools.Options{MaxBytes: 1 << 20, Timeout: 10 * time.Second}, []string{""}},
		"talks no JSON":      {"echo Server is ready; exec sleep 60", mcptools.Options{Timeout: 5 * time.Second}, []string{""}},
		"is given no secret": {"echo secret=$TRACEJURY_TEST_SECRET. >&2; exit 1", mcptools.Options{}, []string{"secret=."}},
		"is given what it may have": {"echo secret=$TRACEJURY_TEST_SECRET. >&2; exit 1", mcptools.Options{Env: []string{"TRACEJURY_TEST_SECRET"}},
			[]string{"secret=hush-hush."}},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			_, err := mcptools.Stdio(t.Context(), []string{"sh", "-c", tc.script}, tc.opts)
			if err == nil {
				t.Fatal("no error")
			}
			for _, w := range tc.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error %v, want %q", err, w)
				}
			}
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
	if _, err := mcptools.Stdio(t.Context(), []string{filepath.Join(t.TempDir(), "nothing")}, mcptools.Options{}); err == nil {
		t.Error("a command that there is not was started")
	}
}

func TestHTTP_BadServers(t *testing.T) {
	defer goleak.VerifyNone(t)
	answer := func(w http.ResponseWriter, r *http.Request, result func(method string, params map[string]any) any) {
		var req struct {
			ID     any            `json:"id"`
			Method string         `json:"method"`
			Params map[string]any `json:"params"`
		}
		if json.NewDecoder(r.Body).Decode(&req) != nil || req.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		var res any = map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{"tools": map[string]any{}}, "serverInfo": map[string]any{"name": "bad", "version": "1"}}
		if req.Method != "initialize" {
			if res = result(req.Method, req.Params); res == nil {
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%v,"error":{"code":-32601,"message":"no such method"}}`, req.ID)
				return
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": req.ID, "result": res})
	}
	tools := func(extra map[string]any) map[string]any {
		m := map[string]any{"tools": []any{map[string]any{"name": "a", "inputSchema": map[string]any{"type": "object"}}}}
		for k, v := range extra {
			m[k] = v
		}
		return m
	}
	page := 0
	for name, tc := range map[string]struct {
		handler func(w http.ResponseWriter, r *http.Request)
		opts    mcptools.Options
		want    string // "" is well
	}{
		"well": {func(w http.ResponseWriter, r *http.Request) {
			answer(w, r, func(m string, _ map[string]any) any {
				if m != "tools/list" {
					return nil
				}
				return tools(nil)
			})
		}, mcptools.Options{}, ""},
		"the same page again": {func(w http.ResponseWriter, r *http.Request) {
			answer(w, r, func(m string, _ map[string]any) any {
				if m != "tools/list" {
					return nil
				}
				return tools(map[string]any{"nextCursor": "x"})
			})
		}, mcptools.Options{}, "gave already"},
		"pages without end": {func(w http.ResponseWriter, r *http.Request) {
			answer(w, r, func(m string, _ map[string]any) any {
				if m != "tools/list" {
					return nil
				}
				page++
				return tools(map[string]any{"nextCursor": fmt.Sprint(page)})
			})
		}, mcptools.Options{}, "pages"},
		"a huge answer": {func(w http.ResponseWriter, r *http.Request) {
			answer(w, r, func(m string, _ map[string]any) any {
				if m != "tools/list" {
					return nil
				}
				return tools(map[string]any{"pad": strings.Repeat("x", 1<<20)})
			})
		}, mcptools.Options{MaxBytes: 1 << 16}, "more than is read"},
		"no answer": {func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // only then does the server see that its caller has gone
			<-r.Context().Done()
		}, mcptools.Options{Timeout: 300 * time.Millisecond}, "in time"},
		"another host": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://192.0.2.1/mcp", http.StatusTemporaryRedirect)
		}, mcptools.Options{Timeout: 5 * time.Second}, "192.0.2.1"},
		"wants a password":    {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, mcptools.Options{}, "Unauthorized"},
		"not a server at all": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>hello</html>") }, mcptools.Options{Timeout: 5 * time.Second}, "connect"},
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(tc.handler))
			defer srv.Close()
			l, err := mcptools.HTTP(t.Context(), srv.URL+"/mcp", tc.opts)
			switch {
			case tc.want == "" && (err != nil || l.N != 1 || l.Server != "bad"):
				t.Errorf("%+v %v", l, err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
	for _, bad := range []string{"", "ftp://x/", "localhost:3000", "http://"} {
		if _, err := mcptools.HTTP(t.Context(), bad, mcptools.Options{}); err == nil {
			t.Errorf("%q was asked", bad)
		}
	}
}

// A token goes to the host that was named and to no other.
func TestHTTP_Bearer(t *testing.T) {
	var got []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusForbidden)
	}))
	defer srv.Close()
	_, err := mcptools.HTTP(t.Context(), srv.URL, mcptools.Options{Bearer: "tok"})
	if err == nil || len(got) == 0 || got[0] != "Bearer tok" || strings.Contains(err.Error(), "tok ") {
		t.Errorf("%v %v", got, err)
	}
}

func TestWords(t *testing.T) {
	for in, want := range map[string][]string{
		"npx -y server": {"npx", "-y", "server"}, "": nil, "  a  ": {"a"}, `a 'b c' "d e"`: {"a", "b c", "d e"}, `a\ b ''`: {"a b", ""},
		`x "q\"r" $HOME | y`: {"x", `q"r`, "$HOME", "|", "y"},
	} {
		if got, err := mcptools.Words(in); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q %v", in, got, err)
		}
	}
	for _, bad := range []string{`a "b`, `a 'b`, `a\`} {
		if got, err := mcptools.Words(bad); err == nil {
			t.Errorf("%q: %q", bad, got)
		}
	}
}
