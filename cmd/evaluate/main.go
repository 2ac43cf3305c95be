// Command evaluate asks a judge about sessions, skills, tools and skill packages and stores its verdicts.
package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/tracejury/tracejury/pipeline"
	"github.com/tracejury/tracejury/pipeline/cli"
)

const help = `Draw a sample of finished sessions and have a judge answer the rubric's criteria for each; or grade the skills in
them, the tool descriptions of MCP servers, or skill packages.

  evaluate --data s3://lake/tracejury --judge bedrock:eu.anthropic.claude-haiku-4-5-20251001-v1:0
  evaluate --data out/lake --judge rules          (offline: verdicts come from code, not from a model)
  evaluate skills --data out/lake                 (were skills well chosen, and followed)
  evaluate tools --data out/lake --mcp-stdio 'npx -y @modelcontextprotocol/server-everything'
  evaluate package --data out/lake skills/pdf skills/ocr --task 'Summarise a PDF'
  evaluate paired --data out/lake --suite infra-ops-practice --skill skills/runbooks --agent-model bedrock:eu.amazon.nova-pro-v1:0 \
      --judge bedrock:eu.anthropic.claude-haiku-4-5-20251001-v1:0
  evaluate suites                                 (task suites: what they ask for, and how answers are scored)

Without --judge nothing is sent to a model: the judge is rules, which is code.

Killed or stopped, run the same command again: no completed call is repeated.

The flags below are those of every kind of evaluation. Which sessions, and by which evaluators (--evaluators, --sample, --service,
--agent, --per, --seed, --rows, --compat, --expect): evaluate sessions --help. Each command has a help of its own.`

type job struct {
	cli.Common
	shared
	Sessions  sessions  `cmd:"" default:"withargs" help:"Grade sessions (the default)."`
	Skills    sessions  `cmd:"" help:"Grade how agents chose and followed skills."`
	Tools     tools     `cmd:"" help:"Grade the tool descriptions of MCP servers from A to F: those of the table tools, or of one server."`
	Package   packages  `cmd:"" help:"Grade skill packages: relevance for a task, completeness, threat."`
	Paired    paired    `cmd:"" help:"Have a model answer the tasks of a suite twice, alone and with skills, and compare."`
	Calibrate calibrate `cmd:"" help:"Find out how far a judge can be trusted, by a rubric of sessions or on a suite: the five checks."`
	Suites    suites    `cmd:"" help:"List task suites: their kinds, categories, rubric and calibration."`

	command string
}

// Selected implements cli.Selector.
func (j *job) Selected(command string) { j.command, _, _ = strings.Cut(command, " ") }

// textual is a summary that can be printed.
type textual interface{ WriteText(w io.Writer) }

// Run implements cli.Job.
func (j *job) Run(ctx context.Context, log *slog.Logger, stdout io.Writer) (any, error) {
	if j.PrintRubric != "" {
		return nil, pipeline.PrintRubric(stdout, j.PrintRubric)
	}
	if j.Suites.Print != "" {
		return nil, pipeline.PrintSuite(stdout, j.Suites.Print)
	}
	cfg, err := j.Load()
	if err != nil {
		return nil, err
	}
	j.shared.over(&cfg.Evaluate)
	var run func() (textual, error)
	switch j.command {
	case "tools":
		run = j.Tools.job(ctx, cfg, j.DryRun, log)
	case "paired":
		run = j.Paired.job(ctx, cfg, j.DryRun, log)
	case "calibrate":
		run = j.Calibrate.job(ctx, cfg, j.DryRun, log)
	case "suites":
		run = j.Suites.job(ctx, cfg, log)
	case "package":
		run = j.Package.job(ctx, cfg, j.DryRun, log)
	case "skills":
		run = j.Skills.job(ctx, cfg, j.DryRun, log, "skill-selection", "skill-following")
	default:
		run = j.Sessions.job(ctx, cfg, j.DryRun, log)
	}
	if j.command != "suites" || cfg.Data != "" { // suites can be listed without tables
		if err := cfg.Complete(time.Now()); err != nil {
			return nil, err
		}
	}
	sum, err := run()
	if sum == nil {
		return nil, err
	}
	sum.WriteText(stdout)
	return sum, err
}

func main() { os.Exit(cli.Main("evaluate", help, new(job), os.Args[1:], os.Stdout, os.Stderr)) }
