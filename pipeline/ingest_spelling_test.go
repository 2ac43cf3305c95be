package pipeline_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/pipeline"
	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// What collectors and processors do to attributes on the way: the same content in another spelling.
var spellings = map[string]func(value map[string]any) map[string]any{
	"numbers and booleans as text": func(value map[string]any) map[string]any {
		for _, kind := range []string{"intValue", "doubleValue", "boolValue"} {
			if v, ok := value[kind]; ok {
				return map[string]any{"stringValue": fmt.Sprint(v)}
			}
		}
		return value
	},
	"integers as doubles": func(value map[string]any) map[string]any {
		if v, ok := value["intValue"]; ok {
			return map[string]any{"doubleValue": json.Number(fmt.Sprint(v))}
		}
		return value
	},
	"JSON text as maps and lists": func(value map[string]any) map[string]any {
		text, ok := value["stringValue"].(string)
		if !ok || text == "" || text[0] != '{' && text[0] != '[' {
			return value
		}
		if v, err := decodeNumbers([]byte(text)); err == nil {
			return structured(v)
		}
		return value
	},
}

func decodeNumbers(b []byte) (v any, err error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	err = dec.Decode(&v)
	return v, err
}

// structured is a JSON value as an OTLP AnyValue.
func structured(v any) map[string]any {
	list := func(values []any) map[string]any { return map[string]any{"values": values} }
	switch x := v.(type) {
	case string:
		return map[string]any{"stringValue": x}
	case bool:
		return map[string]any{"boolValue": x}
	case json.Number:
		if _, err := x.Int64(); err == nil {
			return map[string]any{"intValue": x.String()}
		}
		return map[string]any{"doubleValue": x}
	case []any:
		var values []any
		for _, e := range x {
			values = append(values, structured(e))
		}
		return map[string]any{"arrayValue": list(values)}
	case map[string]any:
		var values []any
		for k, e := range x {
			values = append(values, map[string]any{"key": k, "value": structured(e)})
		}
		return map[string]any{"kvlistValue": list(values)}
	}
	return map[string]any{}
}

// respell changes the values of all attributes below v.
func respell(v any, spell func(map[string]any) map[string]any) {
	switch x := v.(type) {
	case map[string]any:
		if value, ok := x["value"].(map[string]any); ok && x["key"] != nil {
			x["value"] = spell(value)
			return
		}
		for _, e := range x {
			respell(e, spell)
		}
	case []any:
		for _, e := range x {
			respell(e, spell)
		}
	}
}

// documents are the JSON documents of traces and logs of one captured session; nil where it was captured in another format.
func documents(t *testing.T, dir string) (out []any) {
	t.Helper()
	for _, entry := range must(os.ReadDir(dir)) {
		if strings.HasSuffix(entry.Name(), ".tsv") || strings.Contains(entry.Name(), "metrics") || entry.IsDir() {
			continue
		}
		body := must(os.ReadFile(filepath.Join(dir, entry.Name())))
		if strings.HasSuffix(entry.Name(), ".gz") {
			body = must(io.ReadAll(must(gzip.NewReader(bytes.NewReader(body)))))
		}
		doc, err := decodeNumbers(body)
		if err != nil {
			return nil
		}
		out = append(out, doc)
	}
	return out
}

// sessionsTold are what the tables say of sessions and their steps, whatever they are called.
func sessionsTold(t *testing.T, docs []any) []string {
	t.Helper()
	from, data := t.TempDir(), filepath.Join(t.TempDir(), "lake")
	for i, doc := range docs {
		if err := os.WriteFile(filepath.Join(from, fmt.Sprintf("%04d.json", i)), must(json.Marshal(doc)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mustIngest(t, config(t, from, data), pipeline.IngestOptions{})
	st := must(store.Open(t.Context(), data, store.Options{}))
	plain := func(s string) string { // JSON without what spacing and order say
		v, err := decodeNumbers([]byte(s))
		if err != nil {
			return s
		}
		return string(must(json.Marshal(v)))
	}
	told := map[string][]string{}
	for key := range tree(t, data, "steps/") {
		rows, _, err := table.Read[schema.Step](t.Context(), st, key)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range rows {
			told[s.SessionKey] = append(told[s.SessionKey], fmt.Sprintf("%d %s %s %s %s %s %s", s.Turn, s.Role, s.Kind, s.Tool, s.Outcome, plain(s.Arguments), plain(s.Text)))
		}
	}
	var out []string
	for key, s := range sessionsOf(t, data) {
		// What stands before the first turn at one time is in the order of the hashes of its records.
		setup := slices.IndexFunc(told[key], func(line string) bool { return !strings.HasPrefix(line, "0 ") })
		slices.Sort(told[key][:max(setup, 0)])
		tokens := func(n *int64) int64 {
			if n == nil {
				return -1
			}
			return *n
		}
		out = append(out, fmt.Sprintf("%s %s: %d turns, %d model calls, %d tool calls, %d errors, %d denied, %d skills, %d refused, %d+%d tokens, %v, %s, missing %v, %s, warnings %v",
			s.Harness, s.HarnessVersion, s.NTurns, s.NModelCalls, s.NToolCalls, s.NToolErrors, s.NDenied, s.NSkillsLoaded, s.NSkillsRefused,
			tokens(s.InputTokens), tokens(s.OutputTokens), s.Models, s.ContentState, s.Missing, s.SessionIDSource, s.Warnings)+"\n"+strings.Join(told[key], "\n"))
	}
	slices.Sort(out)
	return out
}

// difference names the lines that one has and the other has not.
func difference(got, want []string) string {
	lines := func(list []string) []string { return strings.Split(strings.Join(list, "\n"), "\n") }
	var out strings.Builder
	for _, side := range []struct {
		sign     string
		has, not []string
	}{{"+", lines(got), lines(want)}, {"-", lines(want), lines(got)}} {
		for _, line := range side.has {
			if !slices.Contains(side.not, line) {
				fmt.Fprintf(&out, "\n%s %s", side.sign, line)
			}
		}
	}
	return out.String()
}

// A session is what was told, not how its attributes were spelled. With TRACEJURY_SOAK every capture is read, else one or two of a harness.
func TestCapturesInOtherSpellings(t *testing.T) {
	shared := os.Getenv("TRACEJURY_SHARED")
	if shared == "" {
		t.Skip("captures: TRACEJURY_SHARED is not set")
	}
	if testing.Short() {
		t.Skip("reads every capture four times")
	}
	read := 0
	for _, dir := range must(filepath.Glob(filepath.Join(shared, "captures", "*", "*"))) {
		info, err := os.Stat(dir)
		if err != nil || !info.IsDir() || filepath.Base(filepath.Dir(dir)) == "collector" {
			continue
		}
		if name := filepath.Base(dir); os.Getenv("TRACEJURY_SOAK") == "" && name != "full_pdf" && name != "tool_denied" {
			continue
		}
		docs := documents(t, dir)
		if docs == nil || strings.HasSuffix(dir, "gemini-cli/secret_leak") { // two of its records are of one nanosecond, and stand by their hashes
			continue
		}
		read++
		want := sessionsTold(t, docs)
		for name, spell := range spellings {
			docs := documents(t, dir)
			for _, doc := range docs {
				respell(doc, spell)
			}
			if got := sessionsTold(t, docs); !slices.Equal(got, want) {
				t.Errorf("%s/%s, %s: %s", filepath.Base(filepath.Dir(dir)), filepath.Base(dir), name, difference(got, want))
			}
		}
	}
	if read < 5 {
		t.Errorf("%d captures were read", read)
	}
}
