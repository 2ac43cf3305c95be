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

  export --data s3://lake/tracejury --to agentcore,foundry,outcomes,jsonl --out out/exports
  export --data s3://lake/tracejury --to agentcore --push agentcore --dry-run

Credentials for --push come from the AWS chain, from Entra (azidentity) and from ANTHROPIC_API_KEY.`

type job struct {
	cli.Common
	RunID            string `name:"run" help:"A run id, or latest." placeholder:"ID"`
	To               string `help:"Targets, separated by commas: agentarts, agentcore, csv, foundry, jsonl, labels, otlp, outcomes, parquet." placeholder:"NAMES"`
	Out              string `help:"Directory to write to (${export_out})." placeholder:"DIR"`
	WithExplanations bool   `help:"Let the judge's short explanations out. They are content."`
	AllowPartial     bool   `help:"Export a run that has no result or is partial."`
	DryRun           bool   `help:"Check everything and name the files, write nothing; with --push, print each call and its body, make none."`
	Push             string `help:"Send to platforms, separated by commas: agentcore, foundry, outcomes." placeholder:"NAMES"`
	Yes              bool   `help:"Agree to paid work that a push starts."`
	FoundryEndpoint  string `help:"Project of Microsoft Foundry." placeholder:"URL" env:"AZURE_AI_PROJECT_ENDPOINT"`
	ClaudeEndpoint   string `help:"Address of the Claude platform." placeholder:"URL" env:"ANTHROPIC_BASE_URL"`
	OutcomeSession   string `help:"Managed Agents session to start the task in, judged by the rubric: paid work." placeholder:"ID"`
	OutcomeTask      string `help:"What the agent of that session is to produce." placeholder:"TEXT"`
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
	push := pipeline.PushOptions{To: cli.List(j.Push), Yes: j.Yes, Now: time.Now(), FoundryEndpoint: j.FoundryEndpoint, ClaudeEndpoint: j.ClaudeEndpoint,
		Session: j.OutcomeSession, Task: j.OutcomeTask, Out: stdout}
	sum, err := pipeline.Export(ctx, cfg, pipeline.ExportOptions{DryRun: j.DryRun, Push: push}, log)
	if sum == nil {
		return nil, err
	}
	sum.WriteText(stdout)
	sum.WritePushText(stdout)
	return sum, err
}

func main() { os.Exit(cli.Main("export", help, new(job), os.Args[1:], os.Stdout, os.Stderr)) }
