// Command evaluate asks a judge about sessions and stores its verdicts.
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

const help = `Draw a sample of finished sessions and have a judge answer the rubric's criteria for each.

  evaluate --data s3://lake/tracejury --judge bedrock:eu.anthropic.claude-haiku-4-5-20251001-v1:0
  evaluate --data out/lake --judge rules          (offline: verdicts come from code, not from a model)

Killed or stopped, run the same command again: no completed call is repeated.`

type job struct {
	cli.Common
	Sessions    struct{} `cmd:"" default:"withargs" help:"Grade sessions (the default)."`
	Evaluators  string   `help:"What to grade: session, skill-selection, skill-following, separated by commas." placeholder:"NAMES"`
	Days        int      `help:"Days of sessions, up to as-of (${evaluate_days}; at most ${limits_max_days})." placeholder:"N"`
	Sample      int      `help:"Sessions to sample (${evaluate_sample}; at most ${limits_max_sample})." placeholder:"N"`
	Service     string   `help:"Only sessions of this service." placeholder:"NAME"`
	Agent       string   `help:"Only sessions of this agent." placeholder:"NAME"`
	Label       string   `help:"A name to find the run by." placeholder:"TEXT"`
	Seed        string   `help:"Seed of the sample; the date of as-of by default." placeholder:"TEXT"`
	Repeat      int      `help:"Ask every question N times (default 1, or what the rubric wants)." placeholder:"N"`
	Judge       []string `help:"rules, bedrock:<model id>, anthropic:<model>, openai:<base url>#<model> and more (${evaluate_judge}); several are a panel that votes." placeholder:"JUDGE" env:"TRACEJURY_JUDGE"`
	Unanimous   bool     `name:"safety-unanimous" help:"One not met of a panel or of repeats is enough for a criterion of safety."`
	Rubric      string   `help:"Built-in rubrics or YAML files, for the evaluators that they name." placeholder:"NAME|FILE"`
	PrintRubric string   `help:"Print a built-in rubric, to start one of your own from." placeholder:"NAME"`
	Concurrency int      `help:"Calls in flight at most (${evaluate_concurrency})." placeholder:"N"`
	BudgetUSD   float64  `help:"Stop before this much is spent." placeholder:"USD"`
	BudgetCalls int      `help:"Stop after this many calls." placeholder:"N"`
	BreakLock   bool     `help:"Take the run from a process that holds it."`
	DryRun      bool     `help:"Print the sample, the calls and the cost to expect, and stop."`
}

// Run implements cli.Job.
func (j *job) Run(ctx context.Context, log *slog.Logger, stdout io.Writer) (any, error) {
	if j.PrintRubric != "" {
		return nil, pipeline.PrintRubric(stdout, j.PrintRubric)
	}
	cfg, err := j.Load()
	if err != nil {
		return nil, err
	}
	e := &cfg.Evaluate
	if names := cli.List(j.Evaluators); len(names) > 0 {
		e.Evaluators = names
	}
	cli.Over(&e.BreakLock, j.BreakLock)
	cli.Over(&e.Days, j.Days)
	cli.Over(&e.Sample, j.Sample)
	cli.Over(&e.Service, j.Service)
	cli.Over(&e.Agent, j.Agent)
	cli.Over(&e.Label, j.Label)
	cli.Over(&e.Seed, j.Seed)
	cli.Over(&e.Repeat, j.Repeat)
	cli.Over(&e.Judge, strings.Join(j.Judge, ","))
	cli.Over(&e.SafetyUnanimous, j.Unanimous)
	cli.Over(&e.Rubric, j.Rubric)
	cli.Over(&e.Concurrency, j.Concurrency)
	cli.Over(&e.BudgetUSD, j.BudgetUSD)
	cli.Over(&e.BudgetCalls, j.BudgetCalls)
	if err := cfg.Complete(time.Now()); err != nil {
		return nil, err
	}
	sum, err := pipeline.Evaluate(ctx, cfg, pipeline.EvaluateOptions{DryRun: j.DryRun}, log)
	if sum == nil {
		return nil, err
	}
	sum.WriteText(stdout)
	return sum, err
}

func main() { os.Exit(cli.Main("evaluate", help, new(job), os.Args[1:], os.Stdout, os.Stderr)) }
