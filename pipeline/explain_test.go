package pipeline_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/pipeline"
)

// explainedObject holds a model call, a span of no convention, a metric, a record that is internal and a document that is cut.
const explainedObject = `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}}]},"scopeSpans":[{"scope":{"name":"x"},"spans":[
{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"b7ad6b7169203331","name":"chat m","startTimeUnixNano":"1700000000000000000","endTimeUnixNano":"1700000001000000000","attributes":[
{"key":"gen_ai.operation.name","value":{"stringValue":"chat"}},{"key":"session.id","value":{"stringValue":"s1"}},{"key":"server.port","value":{"intValue":"443"}},
{"key":"gen_ai.input.messages","value":{"stringValue":"[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"content\":\"My key is AKIAIOSFODNN7EXAMPLE\"}]}]"}}]},
{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"b7ad6b7169203332","name":"GET /","startTimeUnixNano":"1700000000000000000","attributes":[{"key":"http.route","value":{"stringValue":"/"}}]}]}]}]}
{"resourceLogs":[{"scopeLogs":[{"scope":{"name":"com.anthropic.claude_code.events"},"logRecords":[{"timeUnixNano":"1700000000000000000","body":{"stringValue":"claude_code.plugin_loaded"},"attributes":[{"key":"event.name","value":{"stringValue":"plugin_loaded"}}]}]}]}]}
{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"n","sum":{"dataPoints":[{"asInt":"1"}]}}]}]}]}
{"resourceSpans":[{"scopeSpans":`

func TestExplain(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a"), 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "a", "batch.json")
	if err := os.WriteFile(path, []byte(explainedObject), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, object := range []string{"a/batch.json", path, "file://" + path} {
		cfg := &pipeline.Config{Sources: []pipeline.Source{{URI: dir}}}
		var out bytes.Buffer
		got, err := pipeline.Explain(context.Background(), cfg, object, slog.New(slog.DiscardHandler), &out)
		if err != nil {
			t.Fatalf("%s: %v", object, err)
		}
		sum, ok := got.(*pipeline.Explanation)
		if !ok || sum.Records != 3 || sum.Filtered != 1 || sum.Unrecognised != 1 || sum.MetricPoints != 1 || sum.Quarantined != 1 || sum.Conventions["otel_genai"] != 1 {
			t.Errorf("%s: %+v", object, got)
		}
		for _, want := range []string{`session session.id="s1"`, "otel_genai", `prompt history text="My key is [MASKED:`, "not used: ", "server.port", "no convention", "internal to the harness", "metric points", "quarantined: "} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: %q is not printed", object, want)
			}
		}
		if strings.Contains(out.String(), "AKIAIOSFODNN7EXAMPLE") {
			t.Errorf("%s: a credential is printed", object)
		}
		if t.Failed() {
			t.Log(out.String())
		}
	}
	if _, err := pipeline.Explain(context.Background(), &pipeline.Config{}, "nowhere.json", slog.New(slog.DiscardHandler), &bytes.Buffer{}); err == nil || pipeline.Exit(&bytes.Buffer{}, err) != pipeline.ExitUsage {
		t.Errorf("an object that is not there: %v", err)
	}
}
