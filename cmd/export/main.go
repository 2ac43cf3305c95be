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
	RunID              string `name:"run" help:"A run id or its beginning, label:NAME, or latest: the newest up to --as-of, where that is given." placeholder:"ID"`
	To                 string `help:"Targets, separated by commas: agentarts, agentcore, csv, foundry, jsonl, labels, otlp, outcomes, parquet." placeholder:"NAMES"`
	Out                string `help:"Directory to write to (${export_out})." placeholder:"DIR"`
	Rubric             string `help:"A built-in rubric or a YAML file that goes out without a run, with the tasks of --suite where given." placeholder:"NAME|FILE"`
	Suite              string `help:"Built-in suite, or file of tasks, that goes out with the rubric. A sealed suite is refused." placeholder:"NAME|FILE"`
	Tools              string `help:"Tool descriptions that go out: with the grades of a run (an id, or latest), or ungraded." placeholder:"RUN"`
	Server             string `help:"With --tools, those of one MCP server, or of one service that has its own." placeholder:"NAME"`
	WithExplanations   bool   `help:"Let the judge's short explanations out. They are content."`
	AllowPartial       bool   `help:"Export a run that has no result or is partial."`
	DryRun             bool   `help:"Check everything and name the files, write nothing; with --push, print each call and its body, make none."`
	Push               string `help:"Send to platforms, separated by commas: agentcore, foundry, outcomes." placeholder:"NAMES"`
	Yes                bool   `help:"Agree to paid work that a push starts."`
	DatasetS3          string `name:"dataset-s3" help:"Where AgentCore takes the lines of datasets from, s3://bucket/folder; without it they go inside of requests." placeholder:"URI"`
	FoundryEndpoint    string `help:"Project of Microsoft Foundry: https://ACCOUNT.services.ai.azure.com/api/projects/PROJECT." placeholder:"URL" env:"AZURE_AI_PROJECT_ENDPOINT"`
	FoundryDeployment  string `help:"Deployment of that project that judges answers to tasks." placeholder:"NAME"`
	ClaudeEndpoint     string `help:"Address of the Claude platform." placeholder:"URL" env:"ANTHROPIC_BASE_URL"`
	OutcomeSession     string `help:"Managed Agents session to start the task in, judged by the rubric: paid work." placeholder:"ID"`
	OutcomeTask        string `help:"What the agent of that session is to produce." placeholder:"TEXT"`
	OutcomeAgent       string `help:"Managed Agents agent with which every task of --suite becomes a session: paid work." placeholder:"ID"`
	OutcomeEnvironment string `help:"Environment of those sessions." placeholder:"ID"`
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
	cli.Over(&cfg.Export.Suite, j.Suite)
	cli.Over(&cfg.Export.Rubric, j.Rubric)
	cli.Over(&cfg.Export.Tools, j.Tools)
	cli.Over(&cfg.Export.Server, j.Server)
	j.push(&cfg.Export.Push)
	if to := cli.List(j.To); len(to) > 0 {
		cfg.Export.To = to
	}
	if err := cfg.Complete(time.Now()); err != nil {
		return nil, err
	}
	push := pipeline.PushOptions{Yes: j.Yes, Now: time.Now(), Out: stdout}
	sum, err := pipeline.Export(ctx, cfg, pipeline.ExportOptions{DryRun: j.DryRun, Push: push}, log)
	if sum == nil {
		return nil, err
	}
	sum.WriteText(stdout)
	sum.WritePushText(stdout)
	return sum, err
}

// push lays the flags over the configuration.
func (j *job) push(p *pipeline.PushConfig) {
	if to := cli.List(j.Push); len(to) > 0 {
		p.To = to
	}
	cli.Over(&p.AgentCore.DatasetS3, j.DatasetS3)
	cli.Over(&p.Foundry.Endpoint, j.FoundryEndpoint)
	cli.Over(&p.Foundry.Deployment, j.FoundryDeployment)
	cli.Over(&p.Outcomes.Endpoint, j.ClaudeEndpoint)
	cli.Over(&p.Outcomes.Session, j.OutcomeSession)
	cli.Over(&p.Outcomes.Task, j.OutcomeTask)
	cli.Over(&p.Outcomes.Agent, j.OutcomeAgent)
	cli.Over(&p.Outcomes.Environment, j.OutcomeEnvironment)
}

func main() { os.Exit(cli.Main("export", help, new(job), os.Args[1:], os.Stdout, os.Stderr)) }
