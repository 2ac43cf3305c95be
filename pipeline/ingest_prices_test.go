package pipeline_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/tracejury/tracejury/pipeline"
	"github.com/tracejury/tracejury/pipeline/session"
	"github.com/tracejury/tracejury/schema"
)

// chatSpan is a model call of one session a model, which calls a tool that is not known and seems to load a skill.
func chatSpan(n int, model, start string) string {
	return fmt.Sprintf(`{"traceId":"%032x","spanId":"%016x","name":"chat","startTimeUnixNano":"%s","endTimeUnixNano":"%s","attributes":[
{"key":"gen_ai.operation.name","value":{"stringValue":"chat"}},{"key":"session.id","value":{"stringValue":"%s"}},{"key":"gen_ai.request.model","value":{"stringValue":"%s"}},
{"key":"gen_ai.usage.input_tokens","value":{"intValue":"1000"}},{"key":"gen_ai.usage.output_tokens","value":{"intValue":"100"}},
{"key":"gen_ai.input.messages","value":{"stringValue":"[{\"role\":\"system\",\"parts\":[{\"type\":\"text\",\"content\":\"<available_skills><skill><name>office:pdf</name><description>d</description></skill></available_skills>\"}]},{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"content\":\"Go.\"}]}]"}},
{"key":"gen_ai.output.messages","value":{"stringValue":"[{\"role\":\"assistant\",\"parts\":[{\"type\":\"tool_call\",\"id\":\"call_aaaaaaaaaaaaaaaa\",\"name\":\"use_skill\",\"arguments\":{\"which\":\"pdf\"}},{\"type\":\"tool_call\",\"id\":\"call_bbbbbbbbbbbbbbbb\",\"name\":\"load_skill\",\"arguments\":{\"skill_name\":\"pdf\"}}]}]"}}]}`,
		n, n, start, start, model, model)
}

func pricedArchive(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	nov, dec := "1795003200000000000", "1795996800000000000" // 2026-11-18 and 2026-11-30, before as-of
	body := `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}}]},"scopeSpans":[{"scope":{"name":"x"},"spans":[` +
		strings.Join([]string{chatSpan(1, "m-old", nov), chatSpan(2, "m-new", dec), chatSpan(3, "m-unknown", dec)}, ",") + `]}]}]}`
	if err := os.WriteFile(filepath.Join(dir, "batch.json"), []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func costs(t *testing.T, data string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(data, "sessions", "dt=*", "*.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range files {
		rows, err := parquet.ReadFile[schema.Session](f)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range rows {
			out[s.SessionID] = "null"
			if s.CostUSD != nil {
				out[s.SessionID] = fmt.Sprint(*s.CostUSD)
			}
		}
	}
	return out
}

// TestPricesAtIngest holds the price table to its word: the date decides, an unknown model costs null, and a changed table
// reaches sessions that are in the lake only when the archive is read again.
func TestPricesAtIngest(t *testing.T) {
	from, data := pricedArchive(t), filepath.Join(t.TempDir(), "lake")
	table := []session.Price{{Model: "m-old", Since: "2026-01-01", Input: 1, Output: 5}, {Model: "m-old", Since: "2026-11-20", Input: 100}, {Model: "m-new", Since: "2026-11-30", Input: 2, Output: 10}, {Model: "m", Input: 7}}
	cfg := config(t, from, data)
	mustIngest(t, cfg, pipeline.IngestOptions{})
	expect := func(when, want string) {
		t.Helper()
		if got := fmt.Sprint(costs(t, data)); got != want {
			t.Errorf("%s: %s, want %s", when, got, want)
		}
	}
	expect("without a table", "map[m-new:null m-old:null m-unknown:null]")
	cfg.Ingest.Prices = table
	if sum := mustIngest(t, cfg, pipeline.IngestOptions{}); sum.Commit != -1 {
		t.Errorf("a table of prices is no new input, and made commit %d", sum.Commit)
	}
	expect("the table came later", "map[m-new:null m-old:null m-unknown:null]")
	mustIngest(t, cfg, pipeline.IngestOptions{Full: true})
	expect("read again", "map[m-new:3000 m-old:1500 m-unknown:null]")

	fresh := filepath.Join(t.TempDir(), "lake")
	cfg = config(t, from, fresh)
	cfg.Ingest.Prices = table
	sum := mustIngest(t, cfg, pipeline.IngestOptions{})
	diffTrees(t, tree(t, data, sessionTables...), tree(t, fresh, sessionTables...))

	if got := fmt.Sprint(sum.Counts.SkillTools); got != "map[otel_genai use_skill:3]" {
		t.Errorf("tools that seem to load skills: %s", got)
	}
	var text bytes.Buffer
	sum.WriteText(&text)
	if want := "otel_genai use_skill (3 sessions)"; !strings.Contains(text.String(), want) {
		t.Errorf("%q is not in\n%s", want, text.String())
	}
}

func TestExplainSessions(t *testing.T) {
	from := pricedArchive(t)
	cfg := &pipeline.Config{AsOf: demoAsOf, Sources: []pipeline.Source{{URI: from}}}
	var out bytes.Buffer
	got, err := pipeline.Explain(context.Background(), cfg, "batch.json", quiet(), &out)
	if err != nil {
		t.Fatal(err)
	}
	sum, ok := got.(*pipeline.Explanation)
	if !ok || len(sum.Sessions) != 3 || len(sum.Sessions[0].Skills) != 1 || sum.Sessions[0].Skills[0].MatchRule != "last_segment" {
		t.Fatalf("%+v", got)
	}
	for _, want := range []string{`skill "pdf" attempted by tool, in the catalogue by rule last_segment, body missing`, "warning skill_calls_not_recognised:use_skill"} {
		if strings.Count(out.String(), want) != 3 {
			t.Errorf("%q is not printed three times in\n%s", want, out.String())
		}
	}
}

func TestPriceTableIsChecked(t *testing.T) {
	for _, tt := range []struct{ yaml, want string }{
		{"ingest: {prices: [{since: 2026-01-01, input: 1}]}", "ingest.prices[0]: model is missing"},
		{"ingest: {prices: [{model: m, since: soon, input: 1}]}", `ingest.prices[0]: since "soon": want a date`},
		{"ingest: {prices: [{model: m, input: -1}]}", "must not be negative"},
		{"ingest: {prices: [{model: m, input: .inf}]}", "want a finite number"},
		{"evaluate: {budget_usd: .nan}", "evaluate.budget_usd: NaN: want a finite number"},
		{"evaluate: {budget_usd: .inf}", "evaluate.budget_usd: +Inf: want a finite number"},
		{"ingest: {prices: [{model: m, since: 2026-01-01}, {model: m, since: 2026-01-01, input: 2}]}", "ingest.prices[1]: m has two prices since"},
		{"evaluate: {prices: [{model: m, since: 30.11.2026}]}", "evaluate.prices[0]: since"},
		{"ingest: {prices: [{model: m, cache_reed: 1}]}", `did you mean "cache_read"?`},
		{"ingest: {prices: [{model: m, since: 2026-01-01, input: 1.5, cache_read: 0.1, cache_write: 2, output: 3}, {model: m, input: 1}]}", ""},
	} {
		cfg, err := pipeline.ParseConfig([]byte("data: x\n" + tt.yaml))
		if err == nil {
			err = cfg.Complete(time.Now())
		}
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.yaml, err, tt.want)
		}
	}
}
