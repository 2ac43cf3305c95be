package cli_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/pipeline"
	"github.com/tracejury/tracejury/pipeline/cli"
)

type job struct {
	cli.Common
	Days  int     `help:"Days (${evaluate_days})."`
	Level float64 `help:"Level (${aggregate_level})."`
	ran   bool
}

func (j *job) Run(context.Context, *slog.Logger, io.Writer) (any, error) {
	j.ran = true
	return nil, nil
}

func TestMain_NumbersAreAboveZero(t *testing.T) {
	for _, tt := range []struct {
		args string
		says string // "" means that the job runs
	}{
		{"", ""}, {"--days 1 --level 0.5", ""},
		{"--days 0", "--days 0: want a number above zero"},
		{"--days=-3", "--days -3: want a number above zero"},
		{"--level 0", "--level 0: want a number above zero"},
		{"--level NaN", "--level NaN: want a number above zero"},
		{"--level Inf", "--level +Inf: want a number above zero"},
		{"--days x", "--days"},
	} {
		var j job
		var stderr bytes.Buffer
		code := cli.Main("job", "Help.", &j, strings.Fields(tt.args), io.Discard, &stderr)
		if ok := tt.says == ""; j.ran != ok || ok != (code == pipeline.ExitOK) {
			t.Errorf("%q: ran %v, exit %d", tt.args, j.ran, code)
		}
		if !strings.Contains(stderr.String(), tt.says) {
			t.Errorf("%q says %q, want %q", tt.args, stderr.String(), tt.says)
		}
	}
}

func TestMain_HelpNamesDefaults(t *testing.T) {
	var stdout bytes.Buffer
	if code := cli.Main("job", "Help.", new(job), []string{"--help"}, &stdout, io.Discard); code != pipeline.ExitOK {
		t.Errorf("exit %d", code)
	}
	for _, want := range []string{"Days (7).", "Level (0.95).", "(.tracejury)"} {
		if !strings.Contains(strings.Join(strings.Fields(stdout.String()), " "), want) {
			t.Errorf("help lacks %q:\n%s", want, &stdout)
		}
	}
}
