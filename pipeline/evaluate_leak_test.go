package pipeline_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/tracejury/tracejury/judge/judgetest"
	"github.com/tracejury/tracejury/pipeline"
)

// credential is an invented credential and the part of it that must be seen nowhere.
type credential struct{ id, text, secret string }

func fixtureCredentials(t *testing.T) []credential {
	t.Helper()
	root := os.Getenv("TRACEJURY_SHARED")
	if root == "" {
		t.Skip("TRACEJURY_SHARED is not set: it names the directory with fixtures/masking.json")
	}
	data, err := os.ReadFile(filepath.Join(root, "fixtures", "masking.json"))
	if err != nil {
		t.Skip(err)
	}
	var f struct {
		Samples []struct {
			ID    string   `json:"id"`
			Parts []string `json:"parts"`
			Regex string   `json:"regex"`
		} `json:"samples"`
	}
	if err := json.Unmarshal(data, &f); err != nil {
		t.Fatal(err)
	}
	var out []credential
	for _, s := range f.Samples {
		text := strings.Join(s.Parts, "")
		sub := regexp.MustCompile(s.Regex).FindStringSubmatch(text)
		if sub == nil {
			t.Fatalf("%s does not match its own expression", s.ID)
		}
		secret := sub[len(sub)-1]
		if s.ID == "slack-webhook" { // the host is kept
			secret = strings.TrimPrefix(secret, "https://hooks.slack.com/services/")
		}
		out = append(out, credential{s.ID, text, secret})
	}
	return out
}

// leakyArchive has a session for each credential: in what the user says, what is called, what comes back and what is answered.
func leakyArchive(t *testing.T, list []credential) string {
	t.Helper()
	attr := func(k, v string) map[string]any {
		return map[string]any{"key": k, "value": map[string]any{"stringValue": v}}
	}
	marshal := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	message := func(role, text string) string {
		return marshal([]any{map[string]any{"role": role, "parts": []any{map[string]any{"type": "text", "content": text}}}})
	}
	// A secret that is cut in two is in two parts of a message, of a structured value, in two attributes, in two events.
	value := func(s string) map[string]any { return map[string]any{"stringValue": s} }
	part := func(s string) any { return map[string]any{"type": "text", "content": s} }
	twoParts := func(role, before, text, after string) string {
		half := len(text) / 2
		return marshal([]any{map[string]any{"role": role, "parts": []any{part(before + text[:half]), part(text[half:] + after)}}})
	}
	structured := func(text string) map[string]any {
		one := func(s string) any {
			return map[string]any{"kvlistValue": map[string]any{"values": []any{map[string]any{"key": "text", "value": value(s)}}}}
		}
		return map[string]any{"key": "app.content", "value": map[string]any{"arrayValue": map[string]any{"values": []any{one("x " + text[:len(text)/2]), one(text[len(text)/2:] + " y")}}}}
	}
	deltas := func(text string) []any {
		var out []any
		for i, s := range []string{"so: " + text[:len(text)/2], text[len(text)/2:] + " ."} {
			out = append(out, map[string]any{"name": "delta", "timeUnixNano": strconv.Itoa(1_795_000_000_000_000_000 + i), "attributes": []any{attr("content", s)}})
		}
		return out
	}
	// What holds it in a tool's result goes through many forms.
	forms := []func(string) string{
		func(s string) string { return "saved:\n" + s + "\n" },
		func(s string) string { return base64.StdEncoding.EncodeToString([]byte("x: " + s + "\n")) },
		func(s string) string { return "| name | value |\n|---|---|\n| x | " + s + " |\n" },
		func(s string) string { return "data:\n  value: |\n    " + strings.ReplaceAll(s, "\n", "\n    ") + "\n" },
		func(s string) string { return "<config><item>" + html.EscapeString(s) + "</item></config>" },
		func(s string) string {
			return marshal(map[string]string{"a": marshal(map[string]string{"b": marshal(map[string]string{"c": s})})})
		},
		func(s string) string { return "https://h.invalid/?q=" + url.QueryEscape(s) },
	}
	var spans []any
	for i, c := range list {
		span := func(n int, parent, name string, attributes ...any) {
			begin := 1_795_000_000_000_000_000 + int64(i)*60_000_000_000 + int64(n)*1_000_000_000
			spans = append(spans, map[string]any{
				"traceId": fmt.Sprintf("%032x", 1000+i), "spanId": fmt.Sprintf("%012x%04x", 1000+i, n), "parentSpanId": parent, "name": name, "kind": 1,
				"startTimeUnixNano": strconv.FormatInt(begin, 10), "endTimeUnixNano": strconv.FormatInt(begin+500_000_000, 10), "attributes": attributes,
			})
		}
		root := fmt.Sprintf("%012x%04x", 1000+i, 0)
		span(0, "", "invoke_agent ops", attr("gen_ai.operation.name", "invoke_agent"), attr("gen_ai.agent.name", "ops"), attr("gen_ai.conversation.id", fmt.Sprint("leak-", i)),
			attr("gen_ai.input.messages", message("user", fmt.Sprintf("case-%03d: please use %s now", i, c.text))), attr("gen_ai.output.messages", twoParts("assistant", "I used ", c.text, " as asked.")),
			attr("gen_ai.prompt.0.content", "take "+c.text[:len(c.text)/2]), attr("gen_ai.prompt.1.content", c.text[len(c.text)/2:]+" now"), structured(c.text),
			attr("param.name", "api_key"), attr("param.value", c.secret))
		spans[len(spans)-1].(map[string]any)["events"] = deltas(c.text)
		span(1, root, "execute_tool shell", attr("gen_ai.operation.name", "execute_tool"), attr("gen_ai.tool.name", "shell"), attr("gen_ai.tool.call.id", fmt.Sprint("call-", i)),
			attr("gen_ai.tool.call.arguments", marshal(map[string]string{"command": "deploy '" + c.text + "'"})), attr("gen_ai.tool.call.result", "saved:\n"+c.text+"\n"))
		for n, form := range forms {
			span(2+n, root, "execute_tool shell", attr("gen_ai.operation.name", "execute_tool"), attr("gen_ai.tool.name", "shell"), attr("gen_ai.tool.call.id", fmt.Sprint("call-", i, "-", n)),
				attr("gen_ai.tool.call.arguments", `{"command":"show"}`), attr("gen_ai.tool.call.result", form(c.text)))
		}
	}
	doc := map[string]any{"resourceSpans": []any{map[string]any{
		"resource":   map[string]any{"attributes": []any{attr("service.name", "leaky")}},
		"scopeSpans": []any{map[string]any{"scope": map[string]any{"name": "test"}, "spans": spans}},
	}}}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "traces.json"), []byte(marshal(doc)), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// plainOf is the text of a file: the strings of a Parquet file, else its bytes.
func plainOf(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(path, ".parquet") {
		return string(raw)
	}
	f, err := parquet.OpenFile(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, g := range f.RowGroups() {
		rows := g.Rows()
		buf := make([]parquet.Row, 64)
		for {
			n, err := rows.ReadRows(buf)
			for _, row := range buf[:n] {
				for _, v := range row {
					if v.Kind() == parquet.ByteArray {
						out.Write(v.ByteArray())
						out.WriteByte('\n')
					}
				}
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

// A credential of every kind, in what users say, in calls and results, in answers and in what the judge says: it reaches neither the
// judge nor a table, the ledger, a log, the report or an export.
func TestCredentialsReachNothing(t *testing.T) {
	list := fixtureCredentials(t)
	data := filepath.Join(t.TempDir(), "lake")
	const asOf = "2026-11-19T06:00:00Z"
	var logged bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	ctx := context.Background()
	configure := func(from string) *pipeline.Config {
		cfg := config(t, from, data)
		cfg.AsOf = asOf
		return cfg
	}
	caseOf := regexp.MustCompile(`case-(\d{3})`)
	srv := bedrock(t, judgetest.Options{Script: func(c judgetest.Call) judgetest.Answer {
		a := validAnswer(t, c)
		m := caseOf.FindStringSubmatch(c.User)
		if m == nil {
			t.Errorf("no case in the prompt")
			return a
		}
		n, err := strconv.Atoi(m[1])
		if err != nil {
			t.Error(err)
		}
		said, err := json.Marshal("It used " + list[n].text)
		if err != nil {
			t.Error(err)
		}
		if strings.Contains(c.User, "\nsecret_exposed: yes") { // a secret in an answer: code knows that this is not met
			const met = `"evidence_steps":[],"id":"untrusted_content_not_obeyed","reason":"Default answer of the test server.","verdict":"met"`
			a.Text = strings.Replace(a.Text, met, strings.NewReplacer("[]", "[1]", `"met"`, `"not_met"`).Replace(met), 1)
		}
		a.Text = strings.ReplaceAll(a.Text, `"Default answer of the test server."`, string(said))
		return a
	}})
	cfg := configure(leakyArchive(t, list))
	if err := cfg.Complete(time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := pipeline.Ingest(ctx, cfg, pipeline.IngestOptions{}, log); err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	cfg = configure("")
	cfg.Evaluate.Judge, cfg.Evaluate.Sample, cfg.Evaluate.Days = "bedrock:"+testModel, 50, 28
	cfg.Aggregate.Report = filepath.Join(out, "report.html")
	cfg.Export.Out, cfg.Export.To, cfg.Export.WithExplanations = filepath.Join(out, "exports"), []string{"jsonl", "agentcore", "foundry", "outcomes"}, true
	if err := cfg.Complete(time.Now()); err != nil {
		t.Fatal(err)
	}
	sum, err := pipeline.Evaluate(ctx, cfg, pipeline.EvaluateOptions{}, log)
	if sum == nil || sum.Graded != len(list) {
		t.Fatalf("%+v: %v", sum, err)
	}
	if _, err := pipeline.Aggregate(ctx, cfg, log); err != nil {
		t.Fatal(err)
	}
	if _, err := pipeline.Export(ctx, cfg, pipeline.ExportOptions{}, log); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"the log": logged.String()}
	for _, dir := range []string{data, cfg.StateDir, out} {
		for _, f := range archiveFiles(t, dir) {
			files[f] = plainOf(t, filepath.Join(dir, f))
		}
	}
	// The search has teeth: the markers that stand in place of the credentials are found where they should be.
	for _, table := range []string{"steps/", "explanations/"} {
		n := 0
		for name, text := range files {
			if strings.HasPrefix(name, table) {
				n += strings.Count(text, "[MASKED:")
			}
		}
		if n < len(list) {
			t.Errorf("%d markers in %s for %d credentials", n, table, len(list))
		}
	}
	for _, c := range list {
		if srv.Saw(c.secret) {
			t.Errorf("%s: the judge was sent it", c.id)
		}
		quoted, err := json.Marshal(c.secret)
		if err != nil {
			t.Fatal(err)
		}
		if rest := c.secret[len(c.secret)/2:]; len(rest) >= 10 {
			if srv.Saw(rest) {
				t.Errorf("%s: the judge was sent half of it", c.id)
			}
			for name, text := range files {
				if strings.Contains(text, rest) {
					t.Errorf("%s: half of it is in %s", c.id, name)
				}
			}
		}
		for name, text := range files {
			if strings.Contains(text, c.secret) || strings.Contains(text, strings.Trim(string(quoted), `"`)) {
				t.Errorf("%s: it is in %s", c.id, name)
			}
		}
	}
	t.Logf("%d credentials, %d sessions graded, %d ungraded, %d files searched", len(list), sum.Graded, sum.Ungraded, len(files))
}
