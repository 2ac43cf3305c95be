package integration

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// TestObjectVanishes deletes objects between the listing and the reading. The run goes on, says so, and takes what comes back.
func TestObjectVanishes(t *testing.T) {
	uploads := archiveUploads(t)
	w, client := onS3(t, uploads)
	const gone = "agents/year=2026/month=11/day=24/hour=09/minute=05/traces_483710458.json"
	var deleted atomic.Bool
	proxy := startFaultProxy(t, os.Getenv("AWS_ENDPOINT_URL_S3"), func(r *http.Request) fault {
		if r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/archive/") && len(r.URL.Path) > len("/archive/") && deleted.CompareAndSwap(false, true) {
			if _, err := client.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: aws.String("archive"), Key: aws.String(gone)}); err != nil {
				t.Error(err)
			}
		}
		return faultNone
	})
	w.setenv("AWS_ENDPOINT_URL_S3", proxy.URL)
	in := w.ingest("--concurrency", "1")
	if in.Counts.Objects["vanished"] != 1 || in.Counts.Listed != int64(len(uploads)) {
		t.Errorf("%+v", in.Counts)
	}
	l := openLake(t, mirror(t, client, "lake", "tables"))
	l.check()
	if got := l.rows("SELECT object, records FROM objects WHERE status = 'vanished'"); fmt.Sprint(got) != fmt.Sprint([][]string{{gone, "0"}}) {
		t.Errorf("vanished: %v", got)
	}
	// It comes back, and the lake is as if it had always been there.
	for _, u := range uploads {
		if u.key == gone {
			data, err := os.ReadFile(u.file)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &u.bucket, Key: &u.key, Body: strings.NewReader(string(data))}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if again := w.ingest(); again.Counts.New != 1 || again.Counts.Objects["ok"] != 1 {
		t.Errorf("%+v", again.Counts)
	}
	local := newWorld(t)
	local.ingest()
	same(t, "after the object came back", hashes(t, local.data), below(hashes(t, mirror(t, client, "lake", "tables")), ""), "traces", "spans", "sessions", "steps", "skills", "tools")
}

// TestSpansWithoutIDs: records that lack what identifies them are kept, counted, and are the same ones each time.
func TestSpansWithoutIDs(t *testing.T) {
	w := newWorld(t)
	archive := filepath.Join(w.dir, "archive")
	put := func(name, body string) {
		t.Helper()
		if err := os.MkdirAll(archive, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(archive, name), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const spans = `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"odd-agent"}}]},"scopeSpans":[{"scope":{"name":"odd"},"spans":[
		{"name":"no ids at all","startTimeUnixNano":"1795606200000000000","endTimeUnixNano":"1795606201000000000"},
		{"traceId":"0af7651916cd43dd8448eb211c80319c","name":"no span id","startTimeUnixNano":"1795606200000000000","endTimeUnixNano":"1795606201000000000"},
		{"traceId":"","spanId":"","name":"empty ids","startTimeUnixNano":"1795606200000000000"},
		{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"00f067aa0ba902b7","name":"no times"},
		{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"00f067aa0ba902b8","name":"from tomorrow's tomorrow","startTimeUnixNano":"1796218400000000000","endTimeUnixNano":"1796218400000000001"}
	]}]}]}`
	put("odd.json", spans)
	w.from = []string{archive}
	in := w.ingest()
	if c := in.Counts; c.Written != 5 || c.NoIDs != 3 || c.Quarantined != 0 {
		t.Errorf("%+v", c)
	}
	l := openLake(t, w.data)
	l.check()
	for name, want := range map[string]string{"no times": "missing", "from tomorrow's tomorrow": "future", "no span id": "ok"} {
		if got := l.value("SELECT time_quality FROM spans WHERE name = ?", name); got != want {
			t.Errorf("%s: time_quality %s, want %s", name, got, want)
		}
	}
	put("odd-again.json", spans)
	if c := w.ingest().Counts; c.Written != 0 || c.Duplicates != 5 {
		t.Errorf("sent again: %+v", c)
	}
	put("broken.json", spans[:len(spans)/2])
	if c := w.ingest().Counts; c.Objects["partial"] != 1 || c.Quarantined == 0 || c.Written != 0 {
		t.Errorf("cut off: %+v", c)
	}
	// Nothing that could be graded is no result, not an empty success.
	if ev := w.evaluate([]int{exitNoResult}); ev.Eligible != 0 {
		t.Errorf("%+v", ev)
	}
}

// TestWrongUsage: what is misspelled ends a command with exit 2, one line that says what was meant, and nothing written.
func TestWrongUsage(t *testing.T) {
	w := newWorld(t)
	w.ingest()
	before := hashes(t, w.data)
	for _, c := range []struct {
		name, config, command string
		args                  []string
		want                  []string // in the line
	}{
		{name: "flag", command: "ingest", args: []string{"--ful"}, want: []string{"--ful", "--full"}},
		{name: "flag of evaluate", command: "evaluate", args: []string{"--budget-call", "3"}, want: []string{"--budget-call", "--budget-calls"}},
		{name: "value", command: "evaluate", args: []string{"--days", "many"}, want: []string{"--days", "many"}},
		{name: "too many", command: "evaluate", args: []string{"--sample", "51"}, want: []string{"--sample", "51", "50"}},
		{name: "key", config: "evaluate: {smaple: 5}", command: "evaluate", want: []string{"tracejury.yaml", "smaple", "sample"}},
		{name: "section", config: "retension: {content: 5}", command: "ingest", want: []string{"retension", "retention"}},
		{name: "not YAML", config: "evaluate: {", command: "evaluate", want: []string{"tracejury.yaml"}},
		{name: "judge", command: "evaluate", args: []string{"--judge", "bedrok:x"}, want: []string{"bedrok", "bedrock"}},
		{name: "rubric", command: "evaluate", args: []string{"--rubric", "sesion"}, want: []string{"sesion", "session"}},
		{name: "run", command: "aggregate", args: []string{"--run", "2026-11-30-000000000000"}, want: []string{"2026-11-30-000000000000"}},
		{name: "target", command: "export", args: []string{"--to", "jsonl,agentcor"}, want: []string{"agentcor", "agentcore"}},
		{name: "as-of", command: "ingest", args: []string{"--as-of", "yesterday"}, want: []string{"as-of", "yesterday"}},
		{name: "since", command: "ingest", args: []string{"--since", "2 days"}, want: []string{"--since", "2 days"}},
		{name: "buckets", config: "layout: {buckets: 7}", command: "ingest", want: []string{"7", "power of two"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := *w
			v.dir = t.TempDir()
			if c.config != "" {
				v.configure(c.config)
			}
			o := v.start(c.command, c.args...).wait()
			if o.code != exitUsage {
				t.Errorf("exit %d, want %d: %s", o.code, exitUsage, o.stderr)
			}
			if n := strings.Count(o.stderr, "\nerror: ") + strings.Count(o.stderr[:min(7, len(o.stderr))], "error: "); n != 1 {
				t.Errorf("%d error lines: %s", n, o.stderr)
			}
			for _, text := range c.want {
				if !strings.Contains(o.errorLine(), text) {
					t.Errorf("the line does not say %q: %s", text, o.errorLine())
				}
			}
			if strings.Contains(o.stderr, "goroutine ") {
				t.Errorf("a panic: %s", o.stderr)
			}
		})
	}
	same(t, "wrong usage", before, hashes(t, w.data))
	empty := w.with("empty")
	for _, command := range []string{"evaluate", "aggregate", "export"} {
		if o := empty.start(command).wait(); o.code != exitNoResult || !strings.Contains(o.stderr, "hint: run ingest") {
			t.Errorf("%s without tables: exit %d, %s", command, o.code, o.stderr)
		}
	}
}
