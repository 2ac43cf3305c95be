package otlpgen

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// names is what a harness writes: span and event names with their attribute keys, numbers in them replaced.
type names map[string]bool

var digits = regexp.MustCompile(`\.\d+\.`)

func (n names) add(record string, keys []string) {
	n[record] = true
	for _, k := range keys {
		n[record+" / "+digits.ReplaceAllString(digits.ReplaceAllString(k, ".N."), ".N.")] = true
	}
}

// record folds what differs between agents: their names, tools and step numbers.
func record(h Harness, name string) string {
	switch h {
	case Strands, GenAI:
		name, _, _ = strings.Cut(name, " ")
	case OpenInference:
		if name != "ChatOpenAI" && name != "model_request" && name != "tools" {
			return "other"
		}
	}
	return name
}

func keysOf(kvs []KeyValue) []string {
	keys := make([]string, len(kvs))
	for i, kv := range kvs {
		keys[i] = kv.Key
	}
	return keys
}

func ours(h Harness) names {
	n := names{}
	for _, s := range slices.Concat(helpdeskSessions(), opsSessions()) {
		if s.Harness != h {
			continue
		}
		for _, c := range render(s) {
			for _, g := range c.groups {
				n.add("resource", keysOf(g.Resource.Attributes))
				for _, sp := range g.Spans {
					r := record(h, sp.Name)
					n.add(r, keysOf(sp.Attributes))
					for _, e := range sp.Events {
						n.add(r+" > "+e.Name, keysOf(e.Attributes))
					}
				}
				for _, l := range g.Logs {
					n.add(l.Body.str, keysOf(l.Attributes))
				}
				for _, m := range g.Metrics {
					n.add(m.Name, nil)
				}
			}
		}
	}
	return n
}

type capturedAttributes []struct{ Key string }

func (a capturedAttributes) keys() []string {
	keys := make([]string, len(a))
	for i, kv := range a {
		keys[i] = kv.Key
	}
	return keys
}

type capturedDoc struct {
	ResourceSpans, ResourceLogs, ResourceMetrics []struct {
		Resource   struct{ Attributes capturedAttributes }
		ScopeSpans []struct {
			Spans []struct {
				Name       string
				Attributes capturedAttributes
				Events     []struct {
					Name       string
					Attributes capturedAttributes
				}
			}
		}
		ScopeLogs []struct {
			LogRecords []struct {
				Body       struct{ StringValue string }
				Attributes capturedAttributes
			}
		}
		ScopeMetrics []struct {
			Metrics []struct{ Name string }
		}
	}
}

func captured(t *testing.T, root string, h Harness, clients ...string) names {
	t.Helper()
	n := names{}
	for _, client := range clients {
		err := filepath.WalkDir(filepath.Join(root, "captures", client), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.Contains(path, ".json") {
				return err
			}
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if strings.HasSuffix(path, ".gz") {
				z, err := gzip.NewReader(bytes.NewReader(b))
				if err != nil {
					return err
				}
				if b, err = io.ReadAll(z); err != nil {
					return err
				}
			}
			var doc capturedDoc
			if err := json.Unmarshal(b, &doc); err != nil {
				return err
			}
			for _, r := range slices.Concat(doc.ResourceSpans, doc.ResourceLogs, doc.ResourceMetrics) {
				n.add("resource", r.Resource.Attributes.keys())
				for _, ss := range r.ScopeSpans {
					for _, s := range ss.Spans {
						r := record(h, s.Name)
						n.add(r, s.Attributes.keys())
						for _, e := range s.Events {
							n.add(r+" > "+e.Name, e.Attributes.keys())
						}
					}
				}
				for _, sl := range r.ScopeLogs {
					for _, l := range sl.LogRecords {
						n.add(l.Body.StringValue, l.Attributes.keys())
					}
				}
				for _, sm := range r.ScopeMetrics {
					for _, m := range sm.Metrics {
						n.add(m.Name, nil)
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// TestNamesAreThoseOfRealExports compares names with recorded exports of the real clients, which are not part of this
// repository. What no recording holds is listed with the reason.
func TestNamesAreThoseOfRealExports(t *testing.T) {
	root := os.Getenv("TRACEJURY_SHARED")
	if root == "" {
		t.Skip("TRACEJURY_SHARED is not set: no recorded exports to compare with")
	}
	for _, c := range []struct {
		harness  Harness
		clients  []string
		uncaught string // names that are right but were not recorded
	}{
		{ClaudeCode, []string{"claude-code"},
			// sub-agents, MCP tools and failing tools are documented, and in no recording that is kept
			`agent_id|agent_type|claude_code\.subagent_completed|tool\.execution / error$|tool_result / error(_type)?$`},
		{Strands, []string{"strands-ts"}, ""},
		{GenAI, []string{"vercel-ai-sdk"}, ""},
		{OpenInference, []string{"langchain-js", "anthropic-sdk"},
			// the answer on an application's own AGENT span is up to the application
			`other / output\.value$`},
	} {
		real := captured(t, root, c.harness, c.clients...)
		allowed := regexp.MustCompile("^$")
		if c.uncaught != "" {
			allowed = regexp.MustCompile(c.uncaught)
		}
		for _, name := range slices.Sorted(maps.Keys(ours(c.harness))) {
			if !real[name] && !allowed.MatchString(name) {
				t.Errorf("%s: no recording has %q", c.harness, name)
			}
		}
	}
}
