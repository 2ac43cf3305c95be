package integration

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/tracejury/tracejury/judge/judgetest"
)

// upload is one object to put into a source bucket, with the headers that the collector sets.
type upload struct {
	bucket, key, file string
	encoding          string // Content-Encoding; the trap is a client that decodes by it
}

// archiveUploads is the demo archive as a bucket whose writer sets Content-Encoding.
func archiveUploads(t testing.TB) []upload {
	t.Helper()
	root := filepath.Join(repository(), "testdata", "archive")
	var out []upload
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		key, err := filepath.Rel(root, path)
		out = append(out, upload{"archive", key, path, map[string]string{".gz": "gzip", ".zst": "zstd"}[filepath.Ext(path)]})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// shared is a folder of captures that are not in the repository.
func shared(t testing.TB, path ...string) string {
	t.Helper()
	root := os.Getenv("TRACEJURY_SHARED")
	if root == "" {
		t.Skip("TRACEJURY_SHARED is not set: the captures are not in the repository")
	}
	return filepath.Join(append([]string{root}, path...)...)
}

// collectorUploads is what a real collector wrote to S3, with the headers that it set.
func collectorUploads(t testing.TB) []upload {
	t.Helper()
	root := shared(t, "captures", "collector")
	f, err := os.Open(filepath.Join(root, "s3-objects.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comma, r.FieldsPerRecord = '\t', 6
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var out []upload
	for _, row := range rows[1:] {
		out = append(out, upload{row[0], row[1], filepath.Join(root, "s3", row[0], row[1]), row[4]})
	}
	return out
}

// onS3 is a world whose archive and tables lie on a real S3 server.
func onS3(t *testing.T, uploads []upload) (*world, *s3.Client) {
	t.Helper()
	endpoint, access, secret := startS3(t)
	s3Env(t, endpoint, access, secret)
	client := s3Client(t, closeIdle(t))
	buckets := []string{"lake"}
	for _, u := range uploads {
		if !slices.Contains(buckets, u.bucket) {
			buckets = append(buckets, u.bucket)
		}
	}
	for _, b := range buckets {
		if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &b}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { noUploadsLeft(t, client, b) })
	}
	for _, u := range uploads {
		data, err := os.ReadFile(u.file)
		if err != nil {
			t.Fatal(err)
		}
		in := &s3.PutObjectInput{Bucket: &u.bucket, Key: &u.key, Body: bytes.NewReader(data), ContentType: aws.String("application/octet-stream")}
		if u.encoding != "" {
			in.ContentEncoding = &u.encoding
		}
		if _, err := client.PutObject(t.Context(), in); err != nil {
			t.Fatalf("upload %s: %v", u.key, err)
		}
	}
	w := newWorld(t)
	w.from, w.data = nil, "s3://lake/tables"
	for _, b := range buckets[1:] {
		w.from = append(w.from, "s3://"+b)
	}
	w.setenv("AWS_ENDPOINT_URL_S3", endpoint)
	return w, client
}

// etags maps the keys of a bucket to their ETags, the lock aside.
func etags(t testing.TB, client *s3.Client, bucket string) map[string]string {
	t.Helper()
	out := map[string]string{}
	pages := s3.NewListObjectsV2Paginator(client, &s3.ListObjectsV2Input{Bucket: &bucket})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range page.Contents {
			out[aws.ToString(o.Key)] = aws.ToString(o.ETag)
		}
	}
	return out
}

// mirror copies the objects of the lake's bucket to a local directory, for reading back.
func mirror(t testing.TB, client *s3.Client, bucket, prefix string) string {
	t.Helper()
	dir := t.TempDir()
	for key := range etags(t, client, bucket) {
		got, err := client.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &bucket, Key: &key})
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(got.Body)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, strings.TrimPrefix(key, prefix+"/"))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// leakyJudge gives valid answers whose reasons repeat a credential, as a judge may that has seen one elsewhere. It says that all
// is well; told that this contradicts a fact, it gives in.
func leakyJudge(c judgetest.Call) judgetest.Answer {
	text, err := judgetest.ValidReply(c.Schema, c.User)
	if err != nil {
		return judgetest.Answer{Status: 400, Code: "ValidationException"}
	}
	text = strings.ReplaceAll(text, "Default answer of the test server.", "The agent used "+fakeKey+".")
	if m := contradicted.FindStringSubmatch(c.Repair); m != nil {
		text = withVerdict(text, m[1], "not_met")
	}
	return judgetest.Answer{Text: text}
}

var contradicted = regexp.MustCompile(`contradicts_fact: criterion (\w+):`)

// withVerdict changes the verdict of one criterion in a judge's reply, with evidence.
func withVerdict(reply, criterion, verdict string) string {
	var root any
	if err := json.Unmarshal([]byte(reply), &root); err != nil {
		return reply
	}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if v["id"] == criterion {
				v["verdict"], v["evidence_steps"] = verdict, []int{1}
			}
			for _, e := range v {
				walk(e)
			}
		case []any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(root)
	out, err := json.Marshal(root)
	if err != nil {
		return reply
	}
	return string(out)
}

// nightly runs the four jobs against S3 and Bedrock and checks what holds whatever the archive: counts, tables, secrets, and that
// a second night with nothing new costs nothing and changes nothing.
func nightly(t *testing.T, w *world, client *s3.Client) (ingestSummary, *lake) {
	t.Helper()
	judge := w.withBedrock(judgetest.Options{Script: leakyJudge})
	in := w.ingest()
	ev := w.evaluate(nil)
	w.run(nil, "aggregate", "--report", "report.html")
	ex := summaryOf[exportSummary](t, w.run(nil, "export", "--to", "jsonl,agentcore,foundry,outcomes", "--with-explanations", "--out", "exports"))
	// One session leaks a credential. That is a fact, which the judge contradicts once: one call to mend it.
	if ev.State != "finished" || ev.Graded != ev.Eligible || ev.Graded == 0 || ev.Offline || ev.Calls != ev.Graded+1 || judge.Calls() != ev.Calls {
		t.Errorf("evaluate: %+v, %d calls at the server", ev, judge.Calls())
	}
	if len(ex.Files) == 0 {
		t.Error("nothing was exported")
	}
	l := openLake(t, mirror(t, client, "lake", "tables"))
	l.check()
	l.checkAggregates()
	if got := l.value("SELECT count(DISTINCT subject) FROM verdicts"); got != fmt.Sprint(ev.Graded) {
		t.Errorf("verdicts about %s sessions, want %d", got, ev.Graded)
	}

	// Nothing of the credential, neither out nor in, nor as the judge's own words.
	if judge.Saw(fakeKey) || judge.Saw(fakeSecret) {
		t.Error("a credential reached the judge")
	}
	if got := l.value("SELECT count(*) FROM explanations WHERE contains(explanation, '[MASKED:')"); got == "0" {
		t.Error("the judge's own words were not masked, or not kept")
	}
	l.holdsNone(fakeKey, fakeSecret)
	holdsNone(t, l.root, fakeKey, fakeSecret)
	holdsNone(t, w.dir, fakeKey, fakeSecret) // report, exports, summaries, write-ahead log

	before, calls := etags(t, client, "lake"), judge.Calls()
	if again := w.ingest(); again.Commit != -1 || again.Counts.New != 0 || again.Counts.Listed != in.Counts.Listed {
		t.Errorf("second ingest: %+v", again)
	}
	if again := w.evaluate(nil); !again.Already || again.Calls != 0 || again.RunID != ev.RunID || again.Graded != ev.Graded {
		t.Errorf("second evaluation: %+v", again)
	}
	w.run(nil, "aggregate", "--report", "report.html")
	same(t, "second night", before, etags(t, client, "lake"))

	// Another machine that has only the lake, where the run was lost after its last call.
	for _, table := range []string{"runs", "verdicts", "grades", "explanations", "aggregates"} {
		key := "tables/" + table + "/run=" + ev.RunID + "/part-00.parquet"
		if _, err := client.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: aws.String("lake"), Key: &key}); err != nil {
			t.Fatal(err)
		}
	}
	elsewhere := *w
	elsewhere.state = filepath.Join(w.dir, "state-of-another-machine")
	if again := elsewhere.evaluate(nil); again.Calls != 0 || again.FromLedger != calls || again.RunID != ev.RunID {
		t.Errorf("evaluation from the ledger in the lake: %+v", again)
	}
	elsewhere.run(nil, "aggregate")
	same(t, "run from the ledger", before, etags(t, client, "lake"))
	if judge.Calls() != calls {
		t.Errorf("%d calls were made again", judge.Calls()-calls)
	}
	return in, l
}

// TestNightlyOnS3 runs the four jobs as processes over the demo archive in a bucket.
func TestNightlyOnS3(t *testing.T) {
	w, client := onS3(t, archiveUploads(t))
	in, l := nightly(t, w, client)
	want := readTruth(t)
	if in.Counts.Sessions != int64(len(want.Sessions)) {
		t.Errorf("%d sessions, want %d", in.Counts.Sessions, len(want.Sessions))
	}
	demoSessions(t, l, want)

	// The same archive on disk gives the same tables but for where it lies.
	local := newWorld(t)
	local.ingest()
	same(t, "archive on disk and in a bucket", hashes(t, local.data), hashes(t, l.root), "traces", "spans", "sessions", "steps", "skills", "tools")
}

// TestNightlyOnCollectorS3 runs the four jobs over what a real collector wrote to S3 for real harnesses, in six encodings of the
// same records.
func TestNightlyOnCollectorS3(t *testing.T) {
	w, client := onS3(t, collectorUploads(t))
	w.asOf = "2026-12-01T06:00:00Z"
	in, l := nightly(t, w, client)
	c := in.Counts
	// Distinct records of sent.tsv, the repeated capture once: 116 spans and 95 log records that say something.
	if c.Listed != 48 || c.Written != 211 || c.Quarantined != 2 || c.Objects["unreadable"] != 2 || c.Objects["ok"] != 46 {
		t.Errorf("ingest: %+v", c)
	}
	l.none("an unreadable object that is not the text of the body marshaler", `FROM objects WHERE status = 'unreadable' AND NOT starts_with(object, 'log-bodies/')`)
	var got []string
	for _, row := range l.rows("SELECT service, n_turns, n_model_calls, n_tool_calls, n_denied FROM sessions") {
		service, _, _ := strings.Cut(row[0], ":")
		got = append(got, service+" "+strings.Join(row[1:], " "))
	}
	want := collectorSessions(t)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("service, turns, model calls, tool calls, denied:\n got %q\nwant %q", got, want)
	}
}

// collectorSessions is what the scripts of the sent captures did, from the lab's truth.json.
func collectorSessions(t testing.TB) []string {
	t.Helper()
	data, err := os.ReadFile(shared(t, "captures", "truth.json"))
	if err != nil {
		t.Fatal(err)
	}
	var script struct {
		Scenarios map[string]struct {
			Prompts []string `json:"prompts"`
			Turns   []struct {
				Calls []json.RawMessage `json:"calls"`
			} `json:"turns"`
		} `json:"scenarios"`
	}
	if err := json.Unmarshal(data, &script); err != nil {
		t.Fatal(err)
	}
	sent := []struct {
		service, scenario string
		denied            int
		extra             int // calls that the harness makes beside the script
	}{
		{"claude-code", "full_pdf", 0, 0}, {"claude-code", "unknown_skill", 0, 0}, {"claude-code", "mcp_two_prompts", 1, 0},
		{"claude-code", "tool_denied", 1, 0}, {"claude-code", "secret_leak", 0, 0}, {"codex_exec", "no_skill", 0, 0},
		{"northwind-strands", "full_pdf", 0, 0}, {"northwind-ai-sdk", "full_pdf", 0, 0}, {"gemini-cli", "no_skill", 0, 0},
		{"northwind-adk", "partial_incident", 0, 1}, // list_skills comes first
		{"northwind-anthropic", "wrong_skill", 0, 0}, {"unknown_service", "tool_denied", 1, 0}, {"qwen-code", "tool_denied", 1, 0},
		// Traceloop's chat spans carry no session id and each its own trace: the first tool call that all of them tell joins them.
		{"northwind-openai-agents", "unknown_skill", 0, 0},
	}
	var out []string
	for _, s := range sent {
		sc := script.Scenarios[s.scenario]
		calls := s.extra
		for _, turn := range sc.Turns {
			calls += len(turn.Calls)
		}
		out = append(out, fmt.Sprintf("%s %d %d %d %d", s.service, len(sc.Prompts), len(sc.Turns)+s.extra, calls, s.denied))
	}
	return out
}
