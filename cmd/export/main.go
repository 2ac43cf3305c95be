// Command export writes the rubric and the graded sessions of a run in the formats of evaluation platforms.
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

const help = `Write the rubric and the graded sessions of a run as files that evaluation platforms import.

  export --data s3://lake/tracejury --to agentcore,foundry,outcomes,jsonl --out out/exports`

type job struct {
	cli.Common
	RunID            string `name:"run" help:"A run id, or latest." placeholder:"ID"`
	To               string `help:"Targets, separated by commas: agentarts, agentcore, csv, foundry, jsonl, labels, otlp, outcomes, parquet." placeholder:"NAMES"`
	Out              string `help:"Directory to write to." placeholder:"DIR"`
	WithExplanations bool   `help:"Let the judge's short explanations out. They are content."`
	AllowPartial     bool   `help:"Export a run that has no result or is partial."`
	DryRun           bool   `help:"Check everything and name the files, write nothing."`
}

// Run implements cli.Job.
func (j *job) Run(ctx context.Context, log *slog.Logger, stdout io.Writer) (any, error) {
	cfg, err := j.Load()
	if err != nil {
		return nil, err
	}
	cli.Over(&cfg.Export.Run, j.RunID)
	cli.Over(&cfg.Export.Out, j.Out)
	cli.Over(&cfg.Export.WithExplanations, j.WithExplanations)
	cli.Over(&cfg.Export.AllowPartial, j.AllowPartial)
	if to := cli.List(j.To); len(to) > 0 {
		cfg.Export.To = to
	}
	if err := cfg.Complete(time.Now()); err != nil {
		return nil, err
	}
	sum, err := pipeline.Export(ctx, cfg, pipeline.ExportOptions{DryRun: j.DryRun}, log)
	if sum == nil {
		return nil, err
	}
	sum.WriteText(stdout)
	return sum, err
}

func main() { os.Exit(cli.Main("export", help, new(job), os.Args[1:], os.Stdout, os.Stderr)) }
