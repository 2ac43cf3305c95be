package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tracejury/tracejury/exports/platformtest"
	"github.com/tracejury/tracejury/pipeline"
)

const asOf = "2026-11-30T06:00:00Z"

// TestMain lets the tests run the command itself, as a process with its own arguments and environment.
func TestMain(m *testing.M) {
	if os.Getenv("TRACEJURY_TEST_EXPORT") != "" {
		main()
	}
	os.Exit(m.Run())
}

// command runs export and gives what it printed and its exit code.
func command(t *testing.T, env map[string]string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Dir = t.TempDir() // no tracejury.yaml of anyone
	cmd.Env = append(os.Environ(), "TRACEJURY_TEST_EXPORT=1", "TRACEJURY_CONFIG=", "AWS_EC2_METADATA_DISABLED=true", "TRACEJURY_STATE_DIR="+filepath.Join(cmd.Dir, "state"))
	for k, v := range env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	var out, bad bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &bad
	err := cmd.Run()
	if _, isExit := errors.AsType[*exec.ExitError](err); err != nil && !isExit {
		t.Fatal(err)
	}
	return out.String(), bad.String(), cmd.ProcessState.ExitCode()
}

// lake ingests an archive and grades it with the offline judge.
func lake(t *testing.T, archive string, opts pipeline.EvaluateOptions, edit func(*pipeline.Config)) string {
	t.Helper()
	data := filepath.Join(t.TempDir(), "lake")
	cfg := &pipeline.Config{Data: data, AsOf: asOf, StateDir: filepath.Join(data, "..", "state"), Sources: []pipeline.Source{{URI: archive}}}
	cfg.Evaluate.Sample = 50
	if edit != nil {
		edit(cfg)
	}
	if err := cfg.Complete(time.Now()); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	if _, err := pipeline.Ingest(context.Background(), cfg, pipeline.IngestOptions{}, log); err != nil {
		t.Fatal(err)
	}
	if _, err := pipeline.Evaluate(context.Background(), cfg, opts, log); err != nil && edit == nil {
		t.Fatal(err)
	}
	return data
}

// written is every file below dir, the run's folder left out of the names.
func written(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		_, name, _ = strings.Cut(filepath.ToSlash(name), "/")
		out[name] = string(data)
		return err
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return out
}

const everything = "agentcore,csv,foundry,jsonl,labels,otlp,outcomes,parquet"

func TestExport(t *testing.T) {
	data := lake(t, "../../testdata/archive", pipeline.EvaluateOptions{}, nil)
	suite, err := os.ReadFile("../../testdata/suites/ops_practice.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file := func(text string) string {
		name := filepath.Join(t.TempDir(), "suite.yaml")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	base := func(out string, more ...string) []string {
		return append([]string{"--data", data, "--as-of", asOf, "--out", out, "--to", everything}, more...)
	}
	t.Run("a sealed suite is refused", func(t *testing.T) {
		out := t.TempDir()
		stdout, stderr, code := command(t, nil, base(out, "--suite", file(strings.Replace(string(suite), "sealed: false", "sealed: true", 1)))...)
		if code != 2 || !strings.Contains(stderr, "is sealed") || !strings.Contains(stderr, "trap 2") || len(written(t, out)) != 0 {
			t.Errorf("exit %d: %s", code, stderr)
		}
		if strings.Contains(stdout+stderr, "db-2") || strings.Contains(stdout+stderr, "ops-001") {
			t.Errorf("a task left: %s%s", stdout, stderr)
		}
		if _, stderr, code := command(t, nil, base(out)...); code != 0 || written(t, out)["agentcore/dataset.jsonl"] != "" || written(t, out)["agentcore/evaluator.json"] == "" {
			t.Errorf("the rubric alone: exit %d: %s", code, stderr)
		}
	})
	t.Run("explanations leave only when asked for", func(t *testing.T) {
		const told = "No call failed." // the offline judge's words
		for _, with := range []bool{false, true} {
			out, args := t.TempDir(), []string{}
			if with {
				args = append(args, "--with-explanations")
			}
			if _, stderr, code := command(t, nil, base(out, args...)...); code != 0 {
				t.Fatalf("exit %d: %s", code, stderr)
			}
			for _, name := range []string{"agentcore/graded_sessions.cloudwatch.jsonl", "foundry/graded_sessions.jsonl", "claude/graded_sessions.jsonl", "jsonl/graded_sessions.jsonl", "otlp/evaluation_results.jsonl"} {
				if text := written(t, out)[name]; text == "" || strings.Contains(text, told) != with {
					t.Errorf("with explanations %v: %s", with, name)
				}
			}
			if !with {
				for name, text := range written(t, out) {
					if strings.Contains(text, told) {
						t.Errorf("%s holds an explanation", name)
					}
				}
			}
		}
	})
	t.Run("what leaves is masked again", func(t *testing.T) {
		const secret = "ghp_aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789"
		out := t.TempDir()
		edited := strings.Replace(string(suite), "Free space, it is urgent.", "Free space, the token is "+secret+".", 1)
		if _, stderr, code := command(t, nil, base(out, "--suite", file(edited), "--tools", "ungraded")...); code != 0 {
			t.Fatalf("exit %d: %s", code, stderr)
		}
		files := written(t, out)
		for name, text := range files {
			if strings.Contains(text, secret) {
				t.Errorf("%s holds a secret", name)
			}
		}
		for _, name := range []string{"agentcore/dataset.jsonl", "foundry/dataset.jsonl", "claude/outcomes.jsonl", "jsonl/tasks.jsonl"} {
			if !strings.Contains(files[name], "the token is [MASKED:") {
				t.Errorf("%s: no marker: %.300s", name, files[name])
			}
		}
	})
	t.Run("same run, same bytes", func(t *testing.T) {
		a, b := t.TempDir(), t.TempDir()
		for _, out := range []string{a, b} {
			if _, stderr, code := command(t, nil, base(out, "--suite", file(string(suite)), "--tools", "ungraded")...); code != 0 {
				t.Fatalf("exit %d: %s", code, stderr)
			}
		}
		if !maps.Equal(written(t, a), written(t, b)) {
			t.Error("two exports of one run differ")
		}
		for name, text := range written(t, a) {
			if strings.Contains(text, time.Now().Format("2006-01-02T")) && asOf[:11] != time.Now().Format("2006-01-02T") {
				t.Errorf("%s holds today's date", name)
			}
		}
	})
	t.Run("a dry run prints each call, and no secret", func(t *testing.T) {
		out := t.TempDir()
		claude := platformtest.NewClaude(t)
		config := filepath.Join(t.TempDir(), "tracejury.yaml")
		text := "export:\n  push:\n    to: [agentcore, foundry, outcomes]\n    agentcore: {dataset_s3: \"s3://lake-bucket/datasets\"}\n    foundry: {endpoint: \"https://a.services.ai.azure.com/api/projects/p\", deployment: judge}\n" +
			"    outcomes: {endpoint: \"" + claude.URL + "\", agent: agent_1, environment: env_1}\n"
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		env := map[string]string{"ANTHROPIC_API_KEY": "sk-ant-secret-of-the-test", "AWS_ACCESS_KEY_ID": "AKIATESTTESTTESTTEST", "AWS_SECRET_ACCESS_KEY": "secretsecretsecretsecret", "AWS_REGION": "eu-central-1"}
		stdout, stderr, code := command(t, env, base(out, "--config", config, "--suite", file(string(suite)), "--tools", "ungraded", "--dry-run")...)
		if code != 0 || len(claude.Calls()) != 0 || len(written(t, out)) != 0 {
			t.Fatalf("exit %d, %d calls: %s", code, len(claude.Calls()), stderr)
		}
		for _, want := range []string{"/evaluators/create", "PUT https://lake-bucket.s3.eu-central-1.amazonaws.com/datasets/tracejury_ops_practice_v1-", `"s3Uri":"s3://lake-bucket/datasets/`, "/versions",
			"Logs_20140328.PutLogEvents", "https://a.services.ai.azure.com/api/projects/p/evaluators/tracejury-session/versions", `"deployment_name":"judge"`, claude.URL + "/v1/sessions\n", "/v1/files"} {
			if !strings.Contains(stdout, want) {
				t.Errorf("not shown: %s", want)
			}
		}
		for _, secret := range []string{"sk-ant-secret", "secretsecret", "AKIATEST"} {
			if strings.Contains(stdout+stderr, secret) {
				t.Errorf("shown: %s", secret)
			}
		}
	})
	t.Run("paid work wants --yes", func(t *testing.T) {
		claude := platformtest.NewClaude(t)
		env := map[string]string{"ANTHROPIC_API_KEY": platformtest.ClaudeKey}
		args := []string{"--data", data, "--as-of", asOf, "--out", t.TempDir(), "--to", "outcomes", "--push", "outcomes", "--claude-endpoint", claude.URL, "--suite", file(string(suite)),
			"--outcome-agent", platformtest.ClaudeAgent, "--outcome-environment", platformtest.ClaudeEnvironment}
		_, stderr, code := command(t, env, args...)
		if code != 2 || !strings.Contains(stderr, "this starts 5 outcomes") || !strings.Contains(stderr, "--yes") || sessionsBegun(claude) != 0 {
			t.Errorf("exit %d, %d sessions: %s", code, sessionsBegun(claude), stderr)
		}
		if stdout, stderr, code := command(t, env, append(args, "--yes")...); code != 0 || sessionsBegun(claude) != 5 || !strings.Contains(stdout, "ops-001 created") {
			t.Errorf("exit %d, %d sessions: %s%s", code, sessionsBegun(claude), stdout, stderr)
		}
	})
}

// sessionsBegun counts the calls that begin a session; the command is a process of its own, so the server's lock orders them.
func sessionsBegun(claude *platformtest.Claude) int {
	n := 0
	for _, c := range claude.Calls() {
		if c.Method == http.MethodPost && c.Path == "/v1/sessions" {
			n++
		}
	}
	return n
}

// A run that a budget stopped is exported only when asked for, and exit code 4 says why it was not.
func TestExport_Partial(t *testing.T) {
	data := lake(t, "../../testdata/archive", pipeline.EvaluateOptions{}, func(c *pipeline.Config) { c.Evaluate.BudgetCalls = 5 })
	out := t.TempDir()
	args := []string{"--data", data, "--as-of", asOf, "--out", out}
	if _, stderr, code := command(t, nil, args...); code != 4 || !strings.Contains(stderr, "--allow-partial") || len(written(t, out)) != 0 {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if _, stderr, code := command(t, nil, append(args, "--allow-partial")...); code != 0 || !strings.Contains(written(t, out)["manifest.json"], `"state":"partial"`) {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// The name of a service is someone else's text: as the cell of a sheet it is no formula, and it makes no file's name.
func TestExport_HostileService(t *testing.T) {
	const hostile = "=cmd|'/C calc'!A0/../../x"
	archive := t.TempDir()
	from := "../../testdata/archive/agents/year=2026/month=11/day=27/hour=11/minute=29/traces_616133366.json"
	text, err := os.ReadFile(from)
	if err != nil || !bytes.Contains(text, []byte("helpdesk-agent")) {
		t.Fatalf("%v: the document is another one", err)
	}
	if err := os.WriteFile(filepath.Join(archive, "traces.json"), bytes.ReplaceAll(text, []byte("helpdesk-agent"), []byte(hostile)), 0o600); err != nil {
		t.Fatal(err)
	}
	data := lake(t, archive, pipeline.EvaluateOptions{}, nil)
	out := t.TempDir()
	if _, stderr, code := command(t, nil, "--data", data, "--as-of", asOf, "--out", out, "--to", everything); code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	files := written(t, out)
	cells := 0
	for _, name := range []string{"csv/graded_sessions.csv", "csv/verdicts.csv", "labels/sheet.csv"} {
		rows, err := csv.NewReader(strings.NewReader(files[name])).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			for _, cell := range row {
				if strings.ContainsAny(cell[:min(1, len(cell))], "=+-@|") {
					t.Errorf("%s: a spreadsheet would run %q", name, cell)
				}
				if strings.Contains(cell, "calc") {
					cells++
				}
			}
		}
	}
	if cells == 0 {
		t.Error("no cell holds the service: nothing was tried")
	}
	for name := range files {
		if strings.Contains(name, "calc") || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_./") != "" {
			t.Errorf("text of a session is in the name of %s", name)
		}
	}
}

// The page on exports shows flags that there are, and names every file of the examples.
func TestExportPage(t *testing.T) {
	page, err := os.ReadFile("../../exports/README.md")
	if err != nil {
		t.Fatal(err)
	}
	help, _, code := command(t, nil, "--help")
	shown := 0
	for line := range strings.Lines(string(page)) {
		if !strings.HasPrefix(line, "bin/export ") {
			continue
		}
		for _, word := range strings.Fields(line) {
			if strings.HasPrefix(word, "--") {
				shown++
				if !strings.Contains(help, word+"=") && !strings.Contains(help, word+" ") {
					t.Errorf("no such flag: %s", word)
				}
			}
		}
	}
	if shown < 10 || code != 0 {
		t.Errorf("%d flags, exit %d", shown, code)
	}
	for _, dir := range []string{"export", "export_packages", "export_parquet"} {
		for name := range written(t, filepath.Join("../../testdata/golden", dir)) {
			if base := filepath.Base(name); base != "evaluation_set.csv" && !strings.Contains(string(page), base) {
				t.Errorf("not on the page: %s", name)
			}
		}
	}
}
