// Command aggregate turns the verdicts of a run into rates with intervals, and draws the report.
package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/tracejury/tracejury/pipeline"
	"github.com/tracejury/tracejury/pipeline/cli"
)

const help = `Turn the verdicts of a run into rates with intervals, and draw the report.

  aggregate --data s3://lake/tracejury --report out/report.html`

type job struct {
	cli.Common
	RunID  string  `name:"run" help:"A run id, or latest." placeholder:"ID"`
	Level  float64 `help:"Confidence level of the intervals." placeholder:"P"`
	Report string  `help:"Write the report to this HTML file, and Markdown beside it." placeholder:"FILE"`
}

// Run implements cli.Job.
func (j *job) Run(ctx context.Context, log *slog.Logger, stdout io.Writer) (any, error) {
	cfg, err := j.Load()
	if err != nil {
		return nil, err
	}
	cli.Over(&cfg.Aggregate.Run, j.RunID)
	cli.Over(&cfg.Aggregate.Level, j.Level)
	cli.Over(&cfg.Aggregate.Report, j.Report)
	if err := cfg.Complete(time.Now()); err != nil {
		return nil, err
	}
	sum, err := pipeline.Aggregate(ctx, cfg, log)
	if sum == nil {
		return nil, err
	}
	sum.WriteText(stdout)
	return sum, err
}

func main() { os.Exit(cli.Main("aggregate", help, new(job), os.Args[1:], os.Stdout, os.Stderr)) }
