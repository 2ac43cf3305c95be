package pipeline_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/exports/platformtest"
	"github.com/tracejury/tracejury/pipeline"
)

// demoRun is a lake with one run of the offline judge.
func demoRun(t *testing.T) string {
	t.Helper()
	data := demoLake(t)
	cfg := config(t, "", data)
	cfg.Evaluate.Sample = 12
	if _, err := pipeline.Evaluate(t.Context(), cfg, pipeline.EvaluateOptions{}, quiet()); err != nil {
		t.Fatal(err)
	}
	return data
}

// awsEnv is a machine with credentials of the test account.
func awsEnv(t *testing.T, s *platformtest.AWS) {
	t.Helper()
	cfg := s.Config()
	creds, err := cfg.Credentials.Retrieve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range map[string]string{"AWS_ENDPOINT_URL": s.URL, "AWS_ACCESS_KEY_ID": creds.AccessKeyID, "AWS_SECRET_ACCESS_KEY": creds.SecretAccessKey, "AWS_SESSION_TOKEN": "",
		"AWS_REGION": platformtest.Region, "AWS_EC2_METADATA_DISABLED": "true", "ANTHROPIC_API_KEY": platformtest.ClaudeKey} {
		t.Setenv(k, v)
	}
}

// export --push sends what it wrote, once, however often it is run, and a dry run sends nothing.
func TestExportPush(t *testing.T) {
	data := demoRun(t)
	now := time.Date(2026, 11, 30, 6, 0, 0, 0, time.UTC)
	aws, claude := platformtest.NewAWS(t, now), platformtest.NewClaude(t)
	awsEnv(t, aws)
	aws.PollsToActive = 0
	out := filepath.Join(t.TempDir(), "exports")
	state := filepath.Join(t.TempDir(), "state")
	export := func(dry bool) (*pipeline.ExportSummary, string, error) {
		cfg := config(t, "", data)
		cfg.StateDir, cfg.Export.Out, cfg.Export.AllowPartial = state, out, true
		cfg.Export.Push.To, cfg.Export.Push.Outcomes.Endpoint = []string{"agentcore", "outcomes", "agentcore"}, claude.URL
		var shown bytes.Buffer
		sum, err := pipeline.Export(t.Context(), cfg, pipeline.ExportOptions{DryRun: dry, Push: pipeline.PushOptions{Now: now, Out: &shown}}, quiet())
		return sum, shown.String(), err
	}
	sum, shown, err := export(true)
	if err != nil || len(aws.Calls())+len(claude.Calls()) != 0 || sum.Dir != "" {
		t.Fatalf("dry run: %v, %d calls", err, len(aws.Calls())+len(claude.Calls()))
	}
	for _, want := range []string{"Logs_20140328.PutLogEvents", "/evaluators/create", "tracejury_session", "/v1/files"} {
		if !strings.Contains(shown, want) {
			t.Errorf("a dry run does not show %s", want)
		}
	}
	if _, err := os.Stat(filepath.Join(state, "push.jsonl")); err == nil {
		t.Error("a dry run wrote a ledger")
	}
	for n := range 3 {
		sum, shown, err = export(false)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(shown, "AKIA") || len(sum.Pushed) < 3 {
			t.Errorf("push %d: %+v, shown %s", n, sum.Pushed, shown)
		}
		for _, r := range sum.Pushed {
			if r.State == exports.Failed || n > 0 && r.State != exports.Unchanged {
				t.Errorf("push %d: %+v", n, r)
			}
		}
	}
	file, err := os.ReadFile(filepath.Join(sum.Dir, "agentcore", "graded_sessions.cloudwatch.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(aws.Messages()), bytes.Count(file, []byte("\n")); got != want || len(aws.Evaluators) != 1 || len(claude.Files) != 1 {
		t.Errorf("%d records of %d, %d evaluators, %d files", got, want, len(aws.Evaluators), len(claude.Files))
	}
	if p := append(aws.Problems(), claude.Problems()...); len(p) > 0 {
		t.Error(p)
	}
}

func TestExportPush_Usage(t *testing.T) {
	data := demoRun(t)
	for name, edit := range map[string]func(*pipeline.ExportConfig){
		"an unknown platform":          func(e *pipeline.ExportConfig) { e.Push.To = []string{"jsonl"} },
		"a task without a session":     func(e *pipeline.ExportConfig) { e.Push.To, e.Push.Outcomes.Task = []string{"outcomes"}, "x" },
		"a task without a push":        func(e *pipeline.ExportConfig) { e.Push.Outcomes.Task, e.Push.Outcomes.Session = "x", "sesn_1" },
		"an agent without a push":      func(e *pipeline.ExportConfig) { e.Push.Outcomes.Agent, e.Push.Outcomes.Environment = "a", "e" },
		"an agent without environment": func(e *pipeline.ExportConfig) { e.Push.To, e.Push.Outcomes.Agent = []string{"outcomes"}, "a" },
		"a suite that is not there":    func(e *pipeline.ExportConfig) { e.Suite = "nowhere.yaml" },
		"a server without tools":       func(e *pipeline.ExportConfig) { e.Server = "disks" },
		"a server of which nothing is": func(e *pipeline.ExportConfig) { e.Tools, e.Server = "ungraded", "nowhere" },
		"a run that graded no tools":   func(e *pipeline.ExportConfig) { e.Tools = "2026-11-30-000000000000" },
		"an unknown run":               func(e *pipeline.ExportConfig) { e.Run = "2026-11-30-000000000000" },
		"a bucket that none can be":    func(e *pipeline.ExportConfig) { e.To, e.Push.AgentCore.DatasetS3 = []string{"agentcore"}, "/tmp" },
	} {
		cfg := config(t, "", data)
		cfg.Export.Out, cfg.Export.AllowPartial = t.TempDir(), true
		edit(&cfg.Export)
		_, err := pipeline.Export(t.Context(), cfg, pipeline.ExportOptions{}, quiet())
		if err == nil {
			t.Errorf("%s: not refused", name)
			continue
		}
		wantExit(t, err, pipeline.ExitUsage)
	}
}

// Every target but the one for skill packages writes the demo run; that one says why it does not.
func TestExport_AllTargets(t *testing.T) {
	data := demoRun(t)
	cfg := config(t, "", data)
	cfg.Export.To, cfg.Export.Out, cfg.Export.AllowPartial = []string{"agentcore", "csv", "foundry", "jsonl", "labels", "otlp", "outcomes", "parquet"}, t.TempDir(), true
	sum, err := pipeline.Export(t.Context(), cfg, pipeline.ExportOptions{}, quiet())
	if err != nil {
		t.Fatal(err)
	}
	if len(sum.Files) < 17 {
		t.Errorf("%d files", len(sum.Files))
	}
	cfg.Export.To = []string{"agentarts"}
	if _, err := pipeline.Export(t.Context(), cfg, pipeline.ExportOptions{}, quiet()); err == nil || !strings.Contains(err.Error(), "graded no skill package") {
		t.Errorf("agentarts: %v", err)
	}
}

// What a push lacks, of what can be known beforehand, is one error that names it, and nothing is written; a dry run lacks nothing.
func TestExportPush_NotReady(t *testing.T) {
	data := demoRun(t)
	for _, k := range []string{"AWS_REGION", "AWS_DEFAULT_REGION", "ANTHROPIC_API_KEY", "AWS_PROFILE"} {
		t.Setenv(k, "")
	}
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	for _, c := range []struct {
		to   string
		want string
		edit func(*pipeline.PushConfig)
	}{
		{"agentcore", "AWS_REGION", nil},
		{"foundry", "--foundry-endpoint", nil},
		{"foundry", "want https", func(p *pipeline.PushConfig) { p.Foundry.Endpoint = "http://example.com/api/projects/p" }},
		{"foundry", "projects/PROJECT", func(p *pipeline.PushConfig) { p.Foundry.Endpoint = "https://example.com/" }},
		{"outcomes", "ANTHROPIC_API_KEY", nil},
		{"outcomes", "want https", func(p *pipeline.PushConfig) { p.Outcomes.Endpoint = "ftp://example.com" }},
		{"outcomes", "--outcome-session", func(p *pipeline.PushConfig) { p.Outcomes.Session, p.Outcomes.Task = "../files", "Do it." }},
		{"outcomes", "--outcome-agent", func(p *pipeline.PushConfig) { p.Outcomes.Agent, p.Outcomes.Environment = "a b", "env_1" }},
	} {
		cfg := config(t, "", data)
		cfg.Export.Out, cfg.Export.AllowPartial = filepath.Join(t.TempDir(), "out"), true
		cfg.Export.Push.To = []string{c.to}
		if c.edit != nil {
			c.edit(&cfg.Export.Push)
			t.Setenv("ANTHROPIC_API_KEY", platformtest.ClaudeKey)
		}
		_, err := pipeline.Export(t.Context(), cfg, pipeline.ExportOptions{Push: pipeline.PushOptions{Yes: true}}, quiet())
		var exit *pipeline.ExitError
		if !errors.As(err, &exit) || exit.Code != pipeline.ExitUsage || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", c.to, err, c.want)
		}
		if _, err := os.Stat(cfg.Export.Out); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: something was written: %v", c.to, err)
		}
		t.Setenv("ANTHROPIC_API_KEY", "")
		if c.edit != nil {
			continue
		}
		var shown bytes.Buffer
		if _, err := pipeline.Export(t.Context(), cfg, pipeline.ExportOptions{DryRun: true, Push: pipeline.PushOptions{Now: time.Date(2026, 11, 30, 6, 0, 0, 0, time.UTC), Out: &shown}}, quiet()); err != nil || !strings.Contains(shown.String(), "POST https://") {
			t.Errorf("%s: dry run: %v: %s", c.to, err, shown.String())
		}
	}
}
