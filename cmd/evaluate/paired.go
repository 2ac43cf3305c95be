package main

import (
	"context"
	"log/slog"

	"github.com/tracejury/tracejury/pipeline"
	"github.com/tracejury/tracejury/pipeline/cli"
)

// suites is the flags of evaluate suites.
type suites struct {
	Paths []string `arg:"" optional:"" name:"files" help:"Suite files to check and list beside the built-in ones."`
	Print string   `help:"Print a built-in suite, to start one of your own from." placeholder:"NAME"`
}

func (s *suites) job(ctx context.Context, cfg *pipeline.Config, log *slog.Logger) func() (textual, error) {
	return func() (textual, error) {
		return some(pipeline.ListSuites(ctx, cfg, pipeline.SuitesOptions{Files: s.Paths}, log))
	}
}

// paired is the flags of evaluate paired.
type paired struct {
	Suite       string   `help:"Built-in suite, or file of tasks." placeholder:"NAME|FILE"`
	Skill       []string `help:"Folder with a SKILL.md that one arm is given; 1 to 20 of them." placeholder:"DIR"`
	AgentModel  string   `help:"The model that answers the tasks, named as --judge names models." placeholder:"MODEL"`
	AgentTokens int      `help:"Tokens of an answer at most (8192)." placeholder:"N"`
	Seed        string   `help:"Any text: another one is another run of the same tasks." placeholder:"TEXT"`
}

func (p *paired) job(ctx context.Context, cfg *pipeline.Config, dry bool, log *slog.Logger) func() (textual, error) {
	opts := pipeline.PairedOptions{DryRun: dry, Suite: p.Suite, Skills: p.Skill, AgentModel: p.AgentModel, AgentTokens: p.AgentTokens, Seed: p.Seed}
	return func() (textual, error) { return some(pipeline.EvaluatePaired(ctx, cfg, opts, log)) }
}

// calibrate is the flags of evaluate calibrate.
type calibrate struct {
	Suite    string `help:"Built-in suite, or file of tasks, on which the judge is calibrated; without it the --rubric of sessions is, on sessions." placeholder:"NAME|FILE"`
	Sample   int    `help:"Of sessions: how many to draw, of every service its share (as many as labels are wanted, 100)." placeholder:"N"`
	Service  string `help:"Of sessions: only those of this service." placeholder:"NAME"`
	Agent    string `help:"Of sessions: only those of this agent." placeholder:"NAME"`
	Seed     string `help:"Of sessions: seed of the sample; the date of as-of by default." placeholder:"TEXT"`
	Controls string `help:"Of a suite: file of planted answers (task, answer, passes); without it the suite's references: a task's own must pass, another's must not." placeholder:"FILE"`
	Labels   string `help:"People's verdicts: the filled sheet, on any later day and without a call; or a file of subject, criterion and verdict." placeholder:"FILE"`
	Sheet    string `help:"Write a sheet for people to label, which tells nothing of what the judge said." placeholder:"FILE"`
}

func (c *calibrate) job(ctx context.Context, cfg *pipeline.Config, dry bool, log *slog.Logger) func() (textual, error) {
	e := &cfg.Evaluate
	cli.Over(&e.Service, c.Service)
	cli.Over(&e.Agent, c.Agent)
	cli.Over(&e.Seed, c.Seed)
	opts := pipeline.CalibrateOptions{DryRun: dry, Suite: c.Suite, Sample: c.Sample, Controls: c.Controls, Labels: c.Labels, Sheet: c.Sheet}
	return func() (textual, error) { return some(pipeline.Calibrate(ctx, cfg, opts, log)) }
}
