// Command ingest reads OTLP archives into session tables.
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

const help = `Read what is new in OpenTelemetry archives into session tables.

  ingest --from s3://otel/archive --data s3://lake/tracejury

Run it again at any time: what was read is not read again, and nothing is lost or counted twice.`

type job struct {
	cli.Common
	From          []string `help:"Archive to read: a directory or s3://bucket/prefix; may be given more than once." placeholder:"URL" env:"TRACEJURY_FROM" sep:","`
	Tenant        string   `help:"Tenant of the archives of --from." placeholder:"NAME"`
	Since         string   `help:"Read only objects newer than this, e.g. 2d." placeholder:"SPAN"`
	Full          bool     `help:"Read every object again."`
	DryRun        bool     `help:"List what would be read, and stop."`
	Check         bool     `help:"Read and decode what is new, report, and write nothing."`
	Erase         string   `help:"Remove one session everywhere, for good." placeholder:"session:KEY"`
	Explain       string   `help:"Print what is made of one object (a URI, a key of --from, or a file), and stop." placeholder:"OBJECT"`
	RetentionOnly bool     `help:"Only delete what has expired."`
	BreakLock     bool     `help:"Take the lock from whoever holds it."`
	ExpireAhead   bool     `help:"Delete expired content also where --as-of lies ahead of this machine's clock."`
	KeepInternal  bool     `help:"Keep spans without content that a harness makes of its own workings."`
	Concurrency   int      `help:"Objects read at once (${ingest_concurrency})." placeholder:"N"`
	Memory        string   `help:"Memory for grouping before spilling to disk (${ingest_memory})." placeholder:"SIZE"`
}

// Run implements cli.Job.
func (j *job) Run(ctx context.Context, log *slog.Logger, stdout io.Writer) (any, error) {
	cfg, err := j.Load()
	if err != nil {
		return nil, err
	}
	if len(j.From) > 0 {
		cfg.Sources = nil
		for _, uri := range j.From {
			cfg.Sources = append(cfg.Sources, pipeline.Source{URI: uri, Tenant: j.Tenant})
		}
	}
	cli.Over(&cfg.Ingest.Since, j.Since)
	cli.Over(&cfg.Ingest.Concurrency, j.Concurrency)
	cli.Over(&cfg.Ingest.Memory, j.Memory)
	cli.Over(&cfg.Ingest.KeepInternal, j.KeepInternal)
	if j.Explain != "" {
		return pipeline.Explain(ctx, cfg, j.Explain, log, stdout)
	}
	if err := cfg.Complete(time.Now()); err != nil {
		return nil, err
	}
	sum, err := pipeline.Ingest(ctx, cfg, pipeline.IngestOptions{Full: j.Full, RetentionOnly: j.RetentionOnly, BreakLock: j.BreakLock, ExpireAhead: j.ExpireAhead, DryRun: j.DryRun, Check: j.Check, Erase: j.Erase}, log)
	if sum == nil {
		return nil, err
	}
	sum.WriteText(stdout)
	return sum, err
}

func main() { os.Exit(cli.Main("ingest", help, new(job), os.Args[1:], os.Stdout, os.Stderr)) }
