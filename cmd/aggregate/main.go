// Command aggregate turns the verdicts of a run into rates with intervals, and draws the report.
package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/alecthomas/kong"

	"github.com/tracejury/tracejury/pipeline"
	"github.com/tracejury/tracejury/pipeline/cli"
)

const help = `Turn the verdicts of a run into rates with intervals, and draw the report.

  aggregate --data s3://lake/tracejury --report out/report.html
  aggregate --data s3://lake/tracejury --baseline previous --gate 'safe.low>=0.8' --junit out/gates.xml
  aggregate --data s3://lake/tracejury --list
  aggregate --data s3://lake/tracejury --show session:9f2c41`

type job struct {
	cli.Common
	RunID        string   `name:"run" help:"A run id or its beginning, label:NAME for the newest with that label, or latest: of the newest date up to --as-of, without filter and label where there is one." placeholder:"ID"`
	Level        float64  `help:"Confidence level of the intervals (${aggregate_level})." placeholder:"P"`
	Width        float64  `help:"A width of an interval to plan for (${aggregate_width})." placeholder:"W"`
	GroupBy      string   `help:"Further groups: pairs such as agent+model,criterion+skill." placeholder:"PAIRS"`
	Baseline     string   `help:"Compare with previous, a run id, or the runs of a window such as 7d." placeholder:"RUN"`
	ForceCompare bool     `help:"Compare also runs that were not asked alike, and say so."`
	Trend        int      `help:"Runs in the trend (${aggregate_trend})." placeholder:"N"`
	Report       string   `help:"Write the report to this HTML file, and Markdown beside it." placeholder:"FILE"`
	WithContent  bool     `help:"Put what sessions said and did, and the judge's reasons, on the pages of the report while content is kept. The file is then content, and yours to delete."`
	Gate         []string `help:"Exit 1 unless this holds, e.g. safe>=0.95, passed.low>=0.8, service:ops-agent/criterion:denials_respected.low>=0.9. Repeatable." sep:"none" placeholder:"GATE"`
	JUnit        string   `name:"junit" help:"Write the gates as JUnit XML." placeholder:"FILE"`
	SummaryMD    string   `name:"summary-md" help:"Append a Markdown summary, as CI pages show it." placeholder:"FILE" env:"GITHUB_STEP_SUMMARY"`
	Labels       string   `help:"Labels of people to set beside the judge: JSON lines or CSV of session, criterion, verdict." placeholder:"FILE"`
	List         bool     `help:"List the runs."`
	Show         string   `help:"Show session:<id, key or beginning of either> or run:<id>." placeholder:"WHAT"`
	SQL          engine   `name:"sql" help:"Print the definitions of tables and views for duckdb, athena or spark: --sql, --sql=athena." placeholder:"ENGINE"`
}

// engine is a flag that may stand without a value.
type engine string

// Decode implements kong.MapperValue.
func (e *engine) Decode(ctx *kong.DecodeContext) error {
	*e = "duckdb"
	if ctx.Scan.Peek().Type == kong.FlagValueToken {
		*e = engine(ctx.Scan.Pop().String())
	}
	return nil
}

// IsBool lets the flag stand without a value.
func (e *engine) IsBool() bool { return true }

// Run implements cli.Job.
func (j *job) Run(ctx context.Context, log *slog.Logger, stdout io.Writer) (any, error) {
	cfg, err := j.Load()
	if err != nil {
		return nil, err
	}
	a := &cfg.Aggregate
	cli.Over(&a.Run, j.RunID)
	cli.Over(&a.Level, j.Level)
	cli.Over(&a.Width, j.Width)
	cli.Over(&a.Report, j.Report)
	cli.Over(&a.WithContent, j.WithContent)
	cli.Over(&a.Baseline, j.Baseline)
	cli.Over(&a.ForceCompare, j.ForceCompare)
	cli.Over(&a.Trend, j.Trend)
	cli.Over(&a.JUnit, j.JUnit)
	cli.Over(&a.Labels, j.Labels)
	cli.Over(&a.SummaryMD, j.SummaryMD)
	a.Gates = append(a.Gates, j.Gate...)
	a.GroupBy = append(a.GroupBy, cli.List(j.GroupBy)...)
	if err := cfg.Complete(time.Now()); err != nil {
		return nil, err
	}
	return j.do(ctx, cfg, log, stdout)
}

// do does what the flags ask for: list, show, or aggregate.
func (j *job) do(ctx context.Context, cfg *pipeline.Config, log *slog.Logger, stdout io.Writer) (any, error) {
	var sum pipeline.Shower
	var err error
	switch {
	case j.List:
		sum, err = pipeline.ListRuns(ctx, cfg, log)
	case j.SQL != "":
		sum, err = pipeline.PrintSQL(ctx, cfg, string(j.SQL), log)
	case j.Show != "":
		sum, err = pipeline.Show(ctx, cfg, j.Show, log)
	default:
		s, err := pipeline.Aggregate(ctx, cfg, log)
		if s == nil {
			return nil, err
		}
		s.WriteText(stdout)
		return s, err
	}
	if err != nil {
		return nil, err
	}
	sum.WriteText(stdout)
	return sum, nil
}

func main() { os.Exit(cli.Main("aggregate", help, new(job), os.Args[1:], os.Stdout, os.Stderr)) }
