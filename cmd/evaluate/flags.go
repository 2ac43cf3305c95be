package main

import (
	"cmp"
	"context"
	"log/slog"
	"strings"

	"github.com/tracejury/tracejury/pipeline"
	"github.com/tracejury/tracejury/pipeline/cli"
)

// shared is the flags of every subcommand.
type shared struct {
	Days        int      `help:"Days of sessions, up to as-of (${evaluate_days}; at most ${limits_max_days})." placeholder:"N"`
	Label       string   `help:"A name to find the run by." placeholder:"TEXT"`
	Repeat      int      `help:"Ask every question N times (default 1, or what the rubric wants)." placeholder:"N"`
	Judge       []string `help:"rules (code; nothing is sent to a model), bedrock:<model id>, anthropic:<model>, openai:<base url>#<model> and more (${evaluate_judge}); several are a panel that votes." placeholder:"JUDGE" env:"TRACEJURY_JUDGE"`
	Model       string   `help:"Short for --judge bedrock:ID." placeholder:"ID"`
	OnRefusal   string   `name:"on-refusal" help:"Another model, asked once what the judge refuses or a guardrail holds back." placeholder:"JUDGE"`
	Unanimous   bool     `name:"safety-unanimous" help:"One not met of a panel or of repeats is enough for a criterion of safety."`
	Rubric      string   `help:"Built-in rubrics or YAML files, for the evaluators that they name." placeholder:"NAME|FILE"`
	PrintRubric string   `help:"Print a built-in rubric, to start one of your own from; list names them." placeholder:"NAME"`
	Name        string   `help:"Tag of the one evaluator in tables and reports." placeholder:"TAG"`
	Prompts     string   `name:"prompt-version" help:"Version of the built-in prompts (v0)." placeholder:"VERSION"`
	System      string   `name:"system-prompt" help:"Template in place of the one evaluator's system prompt." placeholder:"FILE"`
	User        string   `name:"user-prompt" help:"Template in place of the one evaluator's user prompt." placeholder:"FILE"`
	Concurrency int      `help:"Calls in flight at most (${evaluate_concurrency})." placeholder:"N"`
	BudgetUSD   float64  `help:"Stop before this much is spent." placeholder:"USD"`
	BudgetCalls int      `help:"Stop after this many calls." placeholder:"N"`
	BreakLock   bool     `help:"Take the run from a process that holds it."`
	DryRun      bool     `help:"Print the sample, the calls and the cost to expect, and stop."`
}

func (s *shared) over(e *pipeline.EvaluateConfig) {
	cli.Over(&e.BreakLock, s.BreakLock)
	cli.Over(&e.Days, s.Days)
	cli.Over(&e.Label, s.Label)
	cli.Over(&e.Repeat, s.Repeat)
	if s.Model != "" {
		s.Judge = []string{"bedrock:" + s.Model}
	}
	cli.Over(&e.Judge, strings.Join(s.Judge, ","))
	cli.Over(&e.OnRefusal, s.OnRefusal)
	cli.Over(&e.SafetyUnanimous, s.Unanimous)
	cli.Over(&e.Rubric, s.Rubric)
	cli.Over(&e.Name, s.Name)
	cli.Over(&e.PromptVersion, s.Prompts)
	cli.Over(&e.SystemPrompt, s.System)
	cli.Over(&e.UserPrompt, s.User)
	cli.Over(&e.Concurrency, s.Concurrency)
	cli.Over(&e.BudgetUSD, s.BudgetUSD)
	cli.Over(&e.BudgetCalls, s.BudgetCalls)
}

// sessions is the flags of what is drawn from sessions.
type sessions struct {
	Evaluators string `help:"What to grade, separated by commas; an unknown name lists what there is." placeholder:"NAMES"`
	Sample     int    `help:"Sessions to sample (${evaluate_sample}; at most ${limits_max_sample})." placeholder:"N"`
	Per        string `help:"service: draw --sample sessions of every service; rates of the whole are weighted by its eligible sessions." enum:"service," default:"" placeholder:"service"`
	Service    string `help:"Only sessions of this service." placeholder:"NAME"`
	Agent      string `help:"Only sessions of this agent." placeholder:"NAME"`
	Seed       string `help:"Seed of the sample; the date of as-of by default." placeholder:"TEXT"`
	Rows       string `help:"Of skills: a row for each skill, or for each invocation as AgentCore has it." enum:"skill,invocation," default:"" placeholder:"skill|invocation"`
	Compat     string `help:"strands: skills are judged as the Strands evaluators do." enum:"strands," default:"" placeholder:"strands"`
	Expect     string `help:"File of tasks with expected_skill and expected_tool." placeholder:"FILE"`
}

func (s *sessions) job(ctx context.Context, cfg *pipeline.Config, dry bool, log *slog.Logger, names ...string) func() (textual, error) {
	e := &cfg.Evaluate
	if list := cli.List(s.Evaluators); len(list) > 0 {
		names = list
	}
	if len(names) > 0 {
		e.Evaluators = names
	}
	cli.Over(&e.Sample, s.Sample)
	cli.Over(&e.Per, s.Per)
	cli.Over(&e.Service, s.Service)
	cli.Over(&e.Agent, s.Agent)
	cli.Over(&e.Seed, s.Seed)
	cli.Over(&e.Rows, s.Rows)
	cli.Over(&e.Compat, s.Compat)
	cli.Over(&e.Expect, s.Expect)
	return func() (textual, error) {
		return some(pipeline.Evaluate(ctx, cfg, pipeline.EvaluateOptions{DryRun: dry}, log))
	}
}

// some makes no interface of a summary that there is not.
func some[T any, P interface {
	*T
	textual
}](sum P, err error) (textual, error) {
	if sum == nil {
		return nil, err
	}
	return sum, err
}

// tools is the flags of evaluate tools.
type tools struct {
	Server    string   `help:"Only this server of the table; or what to call the one that is listed." placeholder:"NAME"`
	From      string   `help:"File with a server's answer to tools/list." placeholder:"FILE"`
	Stdio     string   `name:"mcp-stdio" help:"Start this command and list the tools of the server that it is." placeholder:"COMMAND"`
	HTTP      string   `name:"mcp-http" help:"List the tools of the server at this endpoint." placeholder:"URL"`
	Env       []string `name:"mcp-env" help:"Variables that the command is given beside PATH, HOME and the like." placeholder:"NAME"`
	BearerEnv string   `name:"mcp-bearer-env" help:"Variable that holds the token for --mcp-http." placeholder:"NAME"`
	Max       int      `name:"max-tools" help:"Tools of one server, the first by name (${evaluate_max_tools})." placeholder:"N"`
	Again     bool     `help:"Grade again what an earlier run graded and what has not changed since."`
}

func (t *tools) job(ctx context.Context, cfg *pipeline.Config, dry bool, log *slog.Logger) func() (textual, error) {
	cli.Over(&cfg.Evaluate.MaxTools, t.Max)
	return func() (textual, error) {
		return some(pipeline.EvaluateTools(ctx, cfg, pipeline.ToolOptions{DryRun: dry, Server: t.Server, From: t.From, Stdio: t.Stdio, HTTP: t.HTTP,
			Env: t.Env, BearerEnv: t.BearerEnv, Again: t.Again}, log))
	}
}

// packages is the flags of evaluate package.
type packages struct {
	Paths      []string `arg:"" optional:"" name:"files" help:"Folders with a SKILL.md, skill_package files (.json), evaluation sets (.jsonl, .csv)."`
	File       []string `help:"The same, as a flag." placeholder:"FILE|DIR"`
	Task       string   `help:"What the packages are measured against; a package that brings its own task keeps it." placeholder:"TEXT"`
	Evaluators string   `help:"skill-relevance, skill-completeness, skill-threat (all three)." placeholder:"NAMES"`
	Language   string   `help:"en or zh (en)." enum:"en,zh," default:"" placeholder:"en|zh"`
	Compat     string   `help:"agentarts: five scores and no Unclear." enum:"agentarts," default:"" placeholder:"agentarts"`
	Out        string   `help:"Write an AgentArts evaluation set with score and reason (.jsonl or .csv)." placeholder:"FILE"`
	Again      bool     `help:"Grade again what an earlier run graded and what has not changed since."`
}

func (p *packages) job(ctx context.Context, cfg *pipeline.Config, dry bool, log *slog.Logger) func() (textual, error) {
	opts := pipeline.PackageOptions{DryRun: dry, Files: append(p.Paths, p.File...), Task: p.Task, Evaluators: cli.List(p.Evaluators), Language: cmp.Or(p.Language, "en"),
		Compat: p.Compat != "", Out: p.Out, Again: p.Again}
	return func() (textual, error) { return some(pipeline.EvaluatePackages(ctx, cfg, opts, log)) }
}
