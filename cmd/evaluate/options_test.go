package main

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/tracejury/tracejury/judge/judgetest"
	"github.com/tracejury/tracejury/pipeline"
	"github.com/tracejury/tracejury/pipeline/cli"
	"github.com/tracejury/tracejury/schema"
)

const asOf = "2026-11-30T06:00:00Z"

// lake ingests the demo archive.
func lake(t *testing.T) string {
	t.Helper()
	data := filepath.Join(t.TempDir(), "lake")
	cfg := &pipeline.Config{Data: data, AsOf: asOf, Sources: []pipeline.Source{{URI: "../../testdata/archive"}}}
	if err := cfg.Complete(time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := pipeline.Ingest(t.Context(), cfg, pipeline.IngestOptions{}, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	return data
}

// server is a local Bedrock that keeps every call.
func server(t *testing.T) func() []judgetest.Call {
	t.Helper()
	var mu sync.Mutex
	var calls []judgetest.Call
	s := judgetest.New(judgetest.Options{Script: func(c judgetest.Call) judgetest.Answer {
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, c)
		text, err := judgetest.ValidReply(c.Schema, c.User)
		if err != nil {
			return judgetest.Answer{Status: 400, Code: "ValidationException"}
		}
		return judgetest.Answer{Text: text}
	}})
	t.Cleanup(s.Close)
	for k, v := range map[string]string{"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": s.URL, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "eu-central-1", "AWS_EC2_METADATA_DISABLED": "true"} {
		t.Setenv(k, v)
	}
	return func() []judgetest.Call {
		mu.Lock()
		defer mu.Unlock()
		out := calls
		calls = nil
		return out
	}
}

func evaluate(t *testing.T, data string, args ...string) (out, bad string, code int) {
	t.Helper()
	var o, b bytes.Buffer
	args = append(args, "--data", data, "--as-of", asOf, "--state-dir", filepath.Join(filepath.Dir(data), "state"), "--quiet")
	code = cli.Main("evaluate", help, new(job), args, &o, &b)
	return o.String(), b.String(), code
}

// verdicts are the final rows of the run that the output names.
func verdicts(t *testing.T, data, out string) []schema.Verdict {
	t.Helper()
	run := strings.Fields(out)[1]
	rows, err := parquet.ReadFile[schema.Verdict](filepath.Join(data, "verdicts", "run="+run, "part-00.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

const testModel = "eu.anthropic.claude-haiku-4-5-20251001-v1:0"

// Each option of the seeds' evaluators reaches the request or the row that it is about.
func TestOptionsReachTheRequestAndTheRows(t *testing.T) {
	data, calls := lake(t), server(t)
	system := filepath.Join(t.TempDir(), "system.tmpl")
	if err := os.WriteFile(system, []byte("You are the judge of Lindenhof.\n{{range .Labels}}- {{.}}: {{index $.Anchors .}}\n{{end}}{{.Schema}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, bad, code := evaluate(t, data, "sessions", "--evaluators", "skill-selection", "--sample", "50", "--model", testModel, "--name", "picks", "--prompt-version", "v0",
		"--system-prompt", system, "--rows", "invocation", "--compat", "strands")
	if code != 0 {
		t.Fatalf("exit %d\n%s%s", code, out, bad)
	}
	asked := calls()
	for _, c := range asked {
		if c.Model != testModel || !strings.HasPrefix(c.System, "You are the judge of Lindenhof.") || strings.Contains(c.Schema, "Unclear") || !strings.Contains(c.User, "# The whole session") {
			t.Errorf("model %s, schema %s, system %.60s", c.Model, c.Schema, c.System)
		}
	}
	scored := 0
	for _, v := range verdicts(t, data, out) {
		if v.Evaluator != "picks" || v.JudgeModel != testModel || v.PromptVersion != "v0+system" {
			t.Errorf("evaluator %q, judge %q, prompt %q", v.Evaluator, v.JudgeModel, v.PromptVersion)
		}
		if v.Verdict == "scored" {
			if scored++; !strings.Contains(v.Subject, "#") || v.SpanID == "" || v.Pass == nil || v.Label != "Yes" && v.Label != "No" {
				t.Errorf("a row for an invocation: %+v", v)
			}
		}
	}
	if scored == 0 || len(asked) != scored {
		t.Errorf("%d rows of %d questions", scored, len(asked))
	}

	// Without any of them: a row for each skill, the built-in words, a way to say unclear, only what came before the load.
	out, bad, code = evaluate(t, data, "skills", "--sample", "50", "--model", testModel)
	if code != 0 {
		t.Fatalf("exit %d\n%s%s", code, out, bad)
	}
	for _, c := range calls() {
		if !strings.Contains(c.Schema, "Unclear") || strings.Contains(c.User, "# The whole session\nThe final response") || strings.Contains(c.System, "Lindenhof.") {
			t.Errorf("schema %s", c.Schema)
		}
	}
	tags := map[string]bool{}
	for _, v := range verdicts(t, data, out) {
		tags[v.Evaluator] = true
		if v.Skill != "" && strings.Contains(v.Subject, "#") {
			t.Errorf("a row for an invocation, unasked: %s", v.Subject)
		}
	}
	if len(tags) != 2 || !tags["skill_selection"] || !tags["skill_following"] {
		t.Errorf("evaluators %v", tags)
	}
}

// An option that cannot be is refused with what there is, before anything is asked.
func TestOptionsThatCannotBe(t *testing.T) {
	data, calls := lake(t), server(t)
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"a name for two evaluators": {[]string{"skills", "--name", "x"}, "name"},
		"an unknown version":        {[]string{"sessions", "--evaluators", "skill-selection", "--prompt-version", "v9"}, "v0"},
		"a prompt that is no file":  {[]string{"sessions", "--evaluators", "skill-selection", "--system-prompt", "no.tmpl"}, "no.tmpl"},
		"an unknown evaluator":      {[]string{"sessions", "--evaluators", "skill-selektion"}, "skill-selection"},
		"rows of something else":    {[]string{"sessions", "--rows", "session"}, "skill"},
	} {
		out, bad, code := evaluate(t, data, append(tt.args, "--judge", "bedrock:"+testModel)...)
		if code != 2 || !strings.Contains(bad, tt.want) {
			t.Errorf("%s: exit %d, want 2 and %q in\n%s%s", name, code, tt.want, out, bad)
		}
	}
	if n := len(calls()); n != 0 {
		t.Errorf("%d calls were made", n)
	}
}

// Skill packages through the command: three criteria ranked for one task, both languages, sets in and out.
func TestPackagesThroughTheCommand(t *testing.T) {
	data, calls := filepath.Join(t.TempDir(), "lake"), server(t)
	dir := t.TempDir()
	for name, text := range map[string]string{"pdf": "---\nname: pdf\ndescription: Fill in PDF forms.\n---\n\n1. Open the form.\n2. Fill it in.\n", "ocr": "---\nname: ocr\ndescription: Read scans.\n---\n\n1. Read the scan.\n"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "SKILL.md"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set := filepath.Join(dir, "set.jsonl")
	out, bad, code := evaluate(t, data, "package", "--model", testModel, "--task", "Fill in a tax form", "--out", set, filepath.Join(dir, "pdf"), filepath.Join(dir, "ocr"))
	if code != 0 || len(calls()) != 6 {
		t.Fatalf("exit %d\n%s%s", code, out, bad)
	}
	for _, want := range []string{"skill_relevance for the task: Fill in a tax form", "skill_completeness", "skill_threat", "pdf", "ocr", "2 eligible"} {
		if !strings.Contains(out, want) {
			t.Errorf("lacks %q in\n%s", want, out)
		}
	}
	found, err := filepath.Glob(filepath.Join(dir, "set*.jsonl"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no set was written: %v", err)
	}
	out, bad, code = evaluate(t, data, "package", "--model", testModel, "--language", "zh", "--compat", "agentarts", "--out", filepath.Join(dir, "zh.csv"), found[0])
	asked := calls()
	if code != 0 || len(asked) == 0 {
		t.Fatalf("a written set: exit %d, %d calls\n%s%s", code, len(asked), out, bad)
	}
	for _, c := range asked {
		if !strings.ContainsRune(c.System, '的') || strings.Contains(c.Schema, "Unclear") {
			t.Errorf("not asked in Chinese, as AgentArts does: %.80s", c.System)
		}
	}
}

// Whatever is wrong with an evaluation of packages is told in one line, as elsewhere; nothing panics.
func TestPackageErrorsAreTold(t *testing.T) {
	data, calls := filepath.Join(t.TempDir(), "lake"), server(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte("---\nname: pdf\n---\n\n1. Open.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--rubric", "session"}, {"--rubric", "nosuch"}, {"--judge", "foo"}, {"--judge", "openai:ftp://x#y"}, {"--repeat", "99"}, {"--days", "40"}, {"--name", "foo"},
		{"--system-prompt", "nope"}, {"--prompt-version", "v9"}, {"--compat", "agentarts", "--judge", "rules"}} {
		for _, dry := range []string{"", "--dry-run"} {
			out, bad, code := evaluate(t, data, append(append([]string{"package", "--task", "x", dir}, args...), strings.Fields(dry)...)...)
			if code != 2 || !strings.HasPrefix(bad, "error: ") {
				t.Errorf("%v %s: exit %d\n%s%s", args, dry, code, out, bad)
			}
		}
	}
	if n := len(calls()); n != 0 {
		t.Errorf("%d calls were made", n)
	}
}

// Options that nothing would look at are refused, and a template that cannot be filled is named.
func TestOptionsWithoutEffect(t *testing.T) {
	data, _ := lake(t), server(t)
	expect, prompt := filepath.Join(t.TempDir(), "expect.yaml"), filepath.Join(t.TempDir(), "user.tmpl")
	for path, text := range map[string]string{expect: "# cases\n- session: a\n  expected_skill: x\n", prompt: "{{.Nope.Deeper}}\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"expectations":     {[]string{"--expect", expect}, "companions"},
		"rows":             {[]string{"--rows", "skill"}, "skill-selection"},
		"compat":           {[]string{"--compat", "strands"}, "skill-following"},
		"compat and rules": {[]string{"--evaluators", "skill-selection", "--compat", "strands", "--judge", "rules"}, "unclear"},
		"a bad template":   {[]string{"--evaluators", "session", "--user-prompt", prompt, "--dry-run"}, prompt},
	} {
		args := append([]string{"sessions"}, tt.args...)
		if !slices.Contains(args, "--judge") {
			args = append(args, "--judge", "bedrock:"+testModel)
		}
		if out, bad, code := evaluate(t, data, args...); code != 2 || !strings.Contains(bad, tt.want) {
			t.Errorf("%s: exit %d, want 2 and %q in\n%s%s", name, code, tt.want, out, bad)
		}
	}
	if out, bad, code := evaluate(t, data, "sessions", "--evaluators", "companions", "--expect", expect, "--judge", "rules"); code != 0 {
		t.Errorf("a list after a comment: exit %d\n%s%s", code, out, bad)
	}
}
