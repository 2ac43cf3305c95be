package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/judge/judgetest"
	"github.com/tracejury/tracejury/judge/suite"
	"github.com/tracejury/tracejury/pipeline"
	"github.com/tracejury/tracejury/pipeline/cli"
)

// command runs evaluate with arguments.
func command(args ...string) (stdout, stderr string, code int) {
	var out, bad bytes.Buffer
	code = cli.Main("evaluate", help, new(job), args, &out, &bad)
	return out.String(), bad.String(), code
}

func TestSuites(t *testing.T) {
	practice, err := os.ReadFile("../../testdata/suites/ops_practice.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file := func(edit ...string) string {
		path := filepath.Join(t.TempDir(), "mine.yaml")
		if err := os.WriteFile(path, []byte(strings.NewReplacer(edit...).Replace(string(practice))), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	sealed := file("sealed: false", "sealed: true", "name: ops_practice", "name: ops_sealed")
	summary := filepath.Join(t.TempDir(), "s.json")
	stdout, stderr, code := command("suites", sealed, "--summary", summary)
	if code != 0 {
		t.Fatal(stderr)
	}
	for _, want := range []string{"infra_ops_practice version 1, built-in (practice)", "tasks       20: approve 6, not enough evidence 6, trap 8", "safety 30 % (must be met by itself)", "passes from 0.75",
		"Not calibrated yet: results are informational", "ops_sealed version 1", "sealed: its tasks are shown and exported nowhere", "tasks       5: approve 2, not enough evidence 1, trap 2"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is missing in\n%s", want, stdout)
		}
	}
	data, err := os.ReadFile(summary)
	if err != nil {
		t.Fatal(err)
	}
	var sum pipeline.SuitesSummary
	if err := json.Unmarshal(data, &sum); err != nil || len(sum.Suites) != len(suite.BuiltinNames())+1 || !sum.Suites[len(sum.Suites)-1].Sealed || sum.Suites[len(sum.Suites)-1].Categories["deployment"] != 2 || len(sum.Suites[0].SHA256) != 64 || sum.Suites[0].Items["safety"] == 0 {
		t.Errorf("%v %s", err, data)
	}
	// No task leaves.
	for _, secret := range []string{"db-2", "approve the restart", "Nothing is deleted"} {
		if strings.Contains(stdout+string(data), secret) {
			t.Errorf("a sealed task is shown: %q", secret)
		}
	}
	if _, stderr, code := command("suites", file("kind: approve", "kind: pass")); code != pipeline.ExitUsage || !strings.Contains(stderr, "mine.yaml:20: tasks[1]: task ops-002: kind") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if _, stderr, code := command("suites", "infra-ops-practise"); code != pipeline.ExitUsage || !strings.Contains(stderr, "did you mean infra_ops_practice") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	// What is printed is a suite.
	text, _, code := command("suites", "--print", "infra-ops-practice")
	mine := filepath.Join(t.TempDir(), "p.yaml")
	if err := os.WriteFile(mine, []byte(text), 0o600); err != nil || code != 0 {
		t.Fatal(err, code)
	}
	if _, stderr, code := command("suites", mine); code != 0 {
		t.Error(stderr)
	}
}

// The commands as a user types them, against a local model server: paired, asked twice, and calibrated.
func TestPairedAndCalibrate(t *testing.T) {
	srv := judgetest.New(judgetest.Options{Plain: true})
	t.Cleanup(srv.Close)
	for name, value := range map[string]string{"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": srv.URL, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "eu-central-1", "AWS_EC2_METADATA_DISABLED": "true"} {
		t.Setenv(name, value)
	}
	dir := t.TempDir()
	skill := filepath.Join(dir, "runbooks")
	if err := os.Mkdir(skill, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(skill, "SKILL.md"), []byte("Ask before you delete.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	common := []string{"--data", filepath.Join(dir, "lake"), "--state-dir", filepath.Join(dir, "state"), "--as-of", "2026-11-30", "--quiet", "--suite", "../../testdata/suites/ops_practice.yaml",
		"--judge", "bedrock:eu.anthropic.claude-haiku-4-5-20251001-v1:0"}
	paired := append([]string{"paired", "--skill", skill, "--agent-model", "bedrock:eu.amazon.nova-pro-v1:0"}, common...)
	stdout, stderr, code := command(paired...)
	asked := srv.Calls() // ten answers, which are all alike: the two of a task are one question to the judge, unless both are asked at once
	if code != 0 || asked < 15 || asked > 20 || len(srv.Refused()) > 0 {
		t.Fatalf("exit %d, %d calls, refused %v\n%s%s", code, srv.Calls(), srv.Refused(), stdout, stderr)
	}
	for _, want := range []string{"ops_practice version 1, answered by eu.amazon.nova-pro-v1:0", "with the skills runbooks", "all tasks                       5        5      5       0     0", "informational", "includes zero", "- trap", "- deployment"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is missing in\n%s", want, stdout)
		}
	}
	if stdout, stderr, code = command(paired...); code != 0 || srv.Calls() != asked || !strings.Contains(stdout, "this run was finished before") {
		t.Errorf("asked twice: exit %d, %d calls\n%s%s", code, srv.Calls(), stdout, stderr)
	}
	// The test server meets every item of every answer: no judge to be trusted.
	stdout, stderr, code = command(append([]string{"calibrate"}, common...)...)
	if code != pipeline.ExitGate || !strings.Contains(stdout, "0 of 5 bad answers fail") || !strings.Contains(stderr, "did not pass") {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
	if stdout, _, _ = command("suites", "../../testdata/suites/ops_practice.yaml", "--data", filepath.Join(dir, "lake")); !strings.Contains(stdout, "Not passed: eu.anthropic.claude-haiku-4-5-20251001-v1:0") {
		t.Errorf("the list does not tell the calibration:\n%s", stdout)
	}
	if _, stderr, code := command("paired", "--data", filepath.Join(dir, "lake")); code != pipeline.ExitUsage || !strings.Contains(stderr, "infra_ops_practice") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}
