// Package cli is what the four commands share: common flags, the configuration file, logging, signals and exit codes.
//
// It does not know what a job does.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/tracejury/tracejury/pipeline"
)

// exitCodes closes every command's help.
const exitCodes = `
Exit codes: 0 ok, 1 a gate failed, 2 bad usage or configuration, 3 no result, 4 partial (run again to go on),
5 a service failed, 6 someone else holds the lock.

Flags win over environment, environment over the configuration file. A value in brackets is the default.`

// Common is the flags that every command has. Embed it.
type Common struct {
	Config    string `help:"Configuration file; ./tracejury.yaml is read if it exists." placeholder:"FILE" env:"TRACEJURY_CONFIG"`
	Data      string `help:"Root of the tables: a directory or s3://bucket/prefix." placeholder:"URL" env:"TRACEJURY_DATA"`
	AsOf      string `help:"The time that counts as now, e.g. 2026-11-30T06:00:00Z." placeholder:"TIME" env:"TRACEJURY_AS_OF"`
	StateDir  string `help:"Directory for write-ahead logs (${state_dir})." placeholder:"DIR" env:"TRACEJURY_STATE_DIR"`
	LogFormat string `help:"text or json." enum:"text,json" default:"text" env:"TRACEJURY_LOG_FORMAT"`
	Quiet     bool   `help:"Log errors only."`
	Verbose   bool   `help:"Log details."`
	Summary   string `help:"Write the summary as JSON to this file." placeholder:"FILE"`
}

// defaultConfig is read when no file is named and it exists.
const defaultConfig = "tracejury.yaml"

// Load reads the configuration file and lays the common flags over it. The caller lays its own over it, then completes it.
func (c *Common) Load() (*pipeline.Config, error) {
	cfg := new(pipeline.Config)
	path := c.Config
	if path == "" {
		if _, err := os.Stat(defaultConfig); err == nil {
			path = defaultConfig
		}
	}
	if path != "" {
		var err error
		if cfg, err = pipeline.LoadConfig(path); err != nil {
			return nil, err
		}
	}
	Over(&cfg.Data, c.Data)
	Over(&cfg.AsOf, c.AsOf)
	Over(&cfg.StateDir, c.StateDir)
	return cfg, nil
}

// Over sets *p to v unless v is zero: a flag that was not given leaves the file's value.
func Over[T comparable](p *T, v T) {
	var zero T
	if v != zero {
		*p = v
	}
}

// Job is one command: its flags are its exported fields.
type Job interface {
	// Run does the work. The summary is written to --summary, also beside an error; text goes to stdout.
	Run(ctx context.Context, log *slog.Logger, stdout io.Writer) (summary any, err error)
	common() *Common
}

// Selector is implemented by jobs with subcommands: they are told which was chosen, as "tools" or "package <files>".
type Selector interface{ Selected(command string) }

// common is called through [Job], which only who embeds Common can implement.
//
//lint:ignore U1000 see above
func (c *Common) common() *Common { return c }

// Main parses args into job, runs it and returns the exit code. Results go to stdout, all else to stderr.
func Main(name, help string, job Job, args []string, stdout, stderr io.Writer) int {
	exit := -1
	parser, err := kong.New(job, kong.Name(name), kong.Description(help+"\n"+exitCodes), kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { exit = code }), kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 110}), kong.Vars(pipeline.Defaults()))
	if err != nil {
		fmt.Fprintln(stderr, "BUG:", err)
		return pipeline.ExitUsage
	}
	parsed, err := parser.Parse(args)
	if exit >= 0 {
		return exit // help was asked for
	}
	if err == nil {
		err = positive(parsed)
	}
	if err != nil {
		return pipeline.Exit(stderr, &pipeline.ExitError{Code: pipeline.ExitUsage, Err: err, Hint: fmt.Sprintf("%s --help lists the flags", name)})
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second ^C kills
	if s, ok := job.(Selector); ok {
		s.Selected(parsed.Command())
	}
	c := job.common()
	sum, err := job.Run(ctx, logger(c, stderr), stdout)
	if sum != nil && c.Summary != "" {
		err = errors.Join(err, writeSummary(c.Summary, sum))
	}
	return pipeline.Exit(stderr, err)
}

// positive refuses a number that is not above zero, or is not finite, that somebody typed: laid over the configuration zero
// would say nothing, and a bound of NaN or infinity bounds nothing.
func positive(parsed *kong.Context) error {
	for _, f := range parsed.Flags() {
		v := f.Target
		if f.Set && (v.CanInt() && v.Int() <= 0 || v.CanFloat() && !(v.Float() > 0 && v.Float() <= math.MaxFloat64)) {
			return fmt.Errorf("--%s %v: want a number above zero; leave the flag out for the default", f.Name, v.Interface())
		}
	}
	return nil
}

func writeSummary(path string, sum any) error {
	data, err := json.MarshalIndent(sum, "", "  ")
	if err == nil {
		err = os.WriteFile(path, append(data, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("write --summary: %w", err)
	}
	return nil
}

func logger(c *Common, w io.Writer) *slog.Logger {
	level := slog.LevelInfo
	switch {
	case c.Quiet:
		level = slog.LevelError
	case c.Verbose:
		level = slog.LevelDebug
	}
	opts := &slog.HandlerOptions{Level: level}
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, opts))
	}
	opts.ReplaceAttr = func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && a.Key == slog.TimeKey {
			a.Value = slog.StringValue(a.Value.Time().Format(time.TimeOnly))
		}
		return a
	}
	return slog.New(slog.NewTextHandler(w, opts))
}

// List splits a flag of names at commas and drops blanks.
func List(s string) []string {
	var out []string
	for _, f := range strings.Split(s, ",") {
		if f = strings.TrimSpace(f); f != "" {
			out = append(out, f)
		}
	}
	return out
}
