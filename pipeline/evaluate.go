package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/transcript"
	"github.com/tracejury/tracejury/pipeline/mask"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// EvaluateOptions are the flags of one evaluation that are not configuration.
type EvaluateOptions struct {
	DryRun bool // print the sample, the calls and the cost to expect

	given    *given // nil: sessions are drawn from the tables
	controls bool   // the sessions that are drawn calibrate a judge
}

// EvaluateSummary is what an evaluation reports.
type EvaluateSummary struct {
	RunID        string         `json:"run_id"`
	Noun         string         `json:"noun"` // of what is sampled: session, tool, skill package
	State        string         `json:"state"`
	Judge        string         `json:"judge"`
	Offline      bool           `json:"offline"`
	Window       [2]string      `json:"window"`
	Eligible     int            `json:"eligible"`
	LeftOut      map[string]int `json:"left_out"` // sessions of the window, by why they are not eligible
	Sampled      int            `json:"sampled"`
	Strata       []Stratum      `json:"strata,omitempty"` // with --per service
	Graded       int            `json:"graded"`
	Ungraded     int            `json:"ungraded"`
	NotAttempted int            `json:"not_attempted"`
	UngradedBy   map[string]int `json:"ungraded_by,omitempty"` // subjects by reason
	Calls        int            `json:"calls"`                 // attempts made by this command
	FromLedger   int            `json:"from_ledger"`           // questions that an earlier command had answered
	FromBatch    int            `json:"from_batch,omitempty"`  // of the calls: answered by a batch job
	FromCache    int            `json:"from_cache,omitempty"`  // questions that the shared cache answered
	Batch        []string       `json:"batch,omitempty"`       // what becomes of the questions of judges that take many at once
	CostMicroUSD *int64         `json:"cost_micro_usd,omitempty"`
	Already      bool           `json:"already"` // the run was finished before this command
	DryRun       bool           `json:"dry_run"`
	InputTokens  int64          `json:"input_tokens_estimate,omitempty"` // dry run: characters / 3
	OnRefusal    string         `json:"on_refusal,omitempty"`            // what the second model graded
	Agreement    []Agreement    `json:"agreement,omitempty"`             // of several judges or repeats
	Warnings     []string       `json:"warnings,omitempty"`

	Causes map[string]string `json:"causes,omitempty"` // of failed calls: the first error of each class
}

// evaluateRun is the state of one evaluation.
type evaluateRun struct {
	cfg          *Config
	opts         EvaluateOptions
	log          *slog.Logger
	root         *Root
	mask         *mask.Masker
	contentSince time.Time
	met          metSessions
	parts        []*part      // one an evaluator, in order of their names
	panel        []seat       // the judges; most runs have one
	cache        *sharedCache // nil: there is none
	second       *seat        // asked what a judge refuses; nil nobody is
	agent        *seat        // the model that answers tasks, of a run on a suite
	entries      []evaluator.Entry
	runID        string
	window       window
	sum          EvaluateSummary
	sent         sentMaterials
	strata       []Stratum // of a run that draws of every service
}

// part is one evaluator's part of the run.
type part struct {
	evaluator evaluator.Evaluator
	version   evaluator.Version
}

func (e *evaluateRun) maskText(s string) string { return e.mask.String(s, nil) }

// Evaluate draws a sample of finished sessions and has a judge grade them. The same evaluation asked twice is one run: what a
// run has been told already is never asked again.
func Evaluate(ctx context.Context, cfg *Config, opts EvaluateOptions, log *slog.Logger) (*EvaluateSummary, error) {
	for {
		sum, err := evaluateOnce(ctx, cfg, opts, log)
		refused, ok := errors.AsType[*refusedError](err)
		if !ok {
			return sum, err
		}
		// How a judge is asked is part of the run's identity, so that it is another run now. Nothing of this one was answered.
		log.Warn("the service refuses to be asked so; asking in another way", "judge", refused.spec, "refuses", refused.what, "mode", refused.next.Mode, "temperature", refused.next.Temperature, "err", refused.err)
		if err := rememberWay(ctx, cfg.StateDir, refused.spec, refused.next); err != nil {
			return nil, err
		}
	}
}

// evaluateOnce is Evaluate with the judges asked in one way.
func evaluateOnce(ctx context.Context, cfg *Config, opts EvaluateOptions, log *slog.Logger) (*EvaluateSummary, error) {
	if opts.given != nil {
		opts.given.taken = 0
	}
	e := &evaluateRun{cfg: cfg, opts: opts, log: log, window: newWindow(cfg.asOf, cfg.Evaluate.Days)}
	if err := e.open(ctx); err != nil {
		return nil, err
	}
	eligible, sample, left, err := e.candidates(ctx)
	if err != nil {
		return nil, err
	}
	if opts.given == nil && cfg.Evaluate.Per != "" {
		if e.strata, err = strataOf(eligible, sample, 20*cfg.Limits.MaxSample); err != nil {
			return nil, err
		}
	}
	if g := opts.given; g != nil && !g.windowed {
		e.window.from = e.window.to // of no days: the day of the run
	}
	e.runID = runID(cfg.asOf, e.identify(sample))
	e.sum = EvaluateSummary{RunID: e.runID, Noun: e.noun(), Judge: cfg.Evaluate.Judge, Offline: e.offline(), Window: [2]string{e.window.from, e.window.to},
		Eligible: len(eligible), Strata: e.strata, LeftOut: left, Sampled: len(sample), DryRun: opts.DryRun, UngradedBy: map[string]int{}}
	if done, err := e.alreadyDone(ctx); err != nil || done {
		return &e.sum, errors.Join(err, e.stateError())
	}
	if opts.DryRun {
		return &e.sum, e.forecast(ctx, sample)
	}
	if err := e.run(ctx, sample); err != nil && e.sum.State == "" {
		return nil, err // it ended before there was anything to tell
	} else {
		return &e.sum, err
	}
}

// open checks the configuration and opens everything that the evaluation needs.
func (e *evaluateRun) open(ctx context.Context) error {
	c := &e.cfg.Evaluate
	switch {
	case c.Days < 1 || c.Days > e.cfg.Limits.MaxDays:
		return usagef("--days %d: want 1 to %d (limits.max_days)", c.Days, e.cfg.Limits.MaxDays)
	case c.Sample < 1 || c.Sample > e.maxSample():
		return usagef("--sample %d: want 1 to %d (%s)", c.Sample, e.maxSample(), e.sampleLimit())
	case c.Per != "" && c.Per != perService:
		return usagef("--per %q: want %s", c.Per, perService)
	case c.Repeat < 0 || c.Repeat > 10:
		return usagef("--repeat %d: want 1 to 10", c.Repeat)
	case c.Concurrency < 1:
		return usagef("--concurrency %d: want at least 1", c.Concurrency)
	case strings.Contains(c.Judge, "bedrock-batch:") && (c.BudgetUSD > 0 || c.BudgetCalls > 0):
		return usagef("a batch job is ordered whole and cannot stop at a budget: use --sample to bound it, or the online judge")
	case c.Cache != "" && liesBelow(c.Cache, e.cfg.Data):
		return usagef("evaluate.cache: %s lies below --data: replies there would outlive the retention of content; name a place of its own, with a lifecycle rule", c.Cache)
	}
	var err error
	if e.mask, err = e.cfg.masker(); err != nil {
		return err
	}
	if err := e.openEvaluators(); err != nil {
		return err
	}
	e.judgeOptions()
	if err := e.openPanel(ctx); err != nil {
		return err
	}
	if err := e.openAgent(ctx); err != nil {
		return err
	}
	if err := e.withoutEffect(); err != nil {
		return err
	}
	if w := e.unpriced(); c.BudgetUSD > 0 && len(w) > 0 {
		return &ExitError{Code: ExitUsage, Err: fmt.Errorf("--budget-usd cannot be kept: %s", w[0]), Hint: "add the price to evaluate.prices, or use --budget-calls"}
	}
	if e.opts.given != nil && !e.opts.given.tables {
		e.root, err = e.newRoot(ctx)
		return err
	}
	if e.root, err = openRoot(ctx, e.cfg, e.log); err != nil {
		return err
	}
	last, err := lastCommit(ctx, e.root.Store)
	if err != nil {
		return err
	}
	if last == nil {
		return &ExitError{Code: ExitNoResult, Err: fmt.Errorf("no ingest has finished in %s", e.root.Store.URI()), Hint: "run ingest to its end first"}
	}
	e.contentSince = last.ContentSince
	return nil
}

func (e *evaluateRun) identify(sample []candidate) runIdentity {
	id := runIdentity{Schema: schema.Version, Judge: e.panel[0].identity, MaxTokens: e.cfg.Evaluate.MaxTokens, Unanimous: e.cfg.Evaluate.SafetyUnanimous,
		MaskVersion: e.mask.Version(), WindowFrom: e.window.from, WindowTo: e.window.to, Service: e.cfg.Evaluate.Service, Agent: e.cfg.Evaluate.Agent,
		Per: e.cfg.Evaluate.Per, Seed: e.cfg.Evaluate.Seed, Repeat: e.cfg.Evaluate.Repeat}
	for _, s := range e.panel[1:] {
		id.Panel = append(id.Panel, s.identity)
	}
	if e.second != nil {
		id.Second = &e.second.identity
	}
	for _, p := range e.parts {
		id.Evaluators = append(id.Evaluators, identityOf(p.version))
	}
	id.Tasks = e.taskIdentity()
	for _, c := range sample {
		id.Sample = append(id.Sample, c.pair())
	}
	return id
}

// alreadyDone says whether the run was completed before, and fills the summary from its row if so.
func (e *evaluateRun) alreadyDone(ctx context.Context) (bool, error) {
	rows, _, err := table.Read[schema.Run](ctx, e.root.Store, schema.Runs.RunKey(e.runID))
	if err != nil || len(rows) == 0 {
		return false, err
	}
	for _, r := range rows {
		if r.State != "finished" && r.State != "no_result" {
			return false, nil
		}
		e.sum.add(r.State, int(r.Graded), int(r.Ungraded))
	}
	if l := e.cfg.Evaluate.Label; l != "" && l != rows[0].Label {
		e.sum.Warnings = append(e.sum.Warnings, fmt.Sprintf("the run was finished before, with %s: %q was not put in its place", orNo("the label", rows[0].Label), printable(l, 64)))
	}
	e.sum.Already = true
	return true, nil
}

// renderError blames a template of the user's, where there is one.
func (e *evaluateRun) renderError(subject string, err error) error {
	if c := &e.cfg.Evaluate; c.UserPrompt != "" {
		return usagef("--user-prompt %s: %w", c.UserPrompt, err)
	}
	return fmt.Errorf("render %s: %w", subject, err)
}

// orNo is `the label "x"`, or no label.
func orNo(what, value string) string {
	if value == "" {
		return strings.Replace(what, "the", "no", 1)
	}
	return fmt.Sprintf("%s %q", what, printable(value, 64))
}

// add counts one evaluator's part. The summary's state is the worst of its parts.
func (s *EvaluateSummary) add(state string, graded, ungraded int) {
	order := []string{"", "finished", "no_result", "partial", "failed"}
	if slices.Index(order, state) > slices.Index(order, s.State) {
		s.State = state
	}
	s.Graded += graded
	s.Ungraded += ungraded
}

// stateError is the error that the run's state ends the command with.
func (e *evaluateRun) stateError() error {
	s := &e.sum
	switch s.State {
	case "no_result":
		return &ExitError{Code: ExitNoResult, Err: errors.New(e.noResult()), Hint: e.noResultHint()}
	case "partial":
		if s.NotAttempted == 0 {
			return &ExitError{Code: ExitService, Err: fmt.Errorf("the judge service failed for %d of %d subjects of run %s%s", s.Ungraded, s.Graded+s.Ungraded, s.RunID, s.causes()),
				Hint: "run the same command again when the service is back; what was answered is not asked again"}
		}
		return &ExitError{Code: ExitPartial, Err: fmt.Errorf("run %s is partial: %d of %d sampled %s were not attempted", s.RunID, s.NotAttempted, s.Sampled, plural(s.Noun)),
			Hint: "run the same command again to go on; what was answered is not asked again"}
	}
	return nil
}

// causes lists the first error of each class.
func (s *EvaluateSummary) causes() string {
	var out []string
	for _, class := range slices.Sorted(maps.Keys(s.Causes)) {
		out = append(out, class+": "+s.Causes[class])
	}
	if len(out) == 0 {
		return ""
	}
	return " (" + strings.Join(out, "; ") + ")"
}

// forecast prints what the evaluation would cost, without a call.
func (e *evaluateRun) forecast(ctx context.Context, sample []candidate) error {
	e.sum.State = "dry_run"
	votes := len(e.panel) * e.cfg.Evaluate.Repeat
	var agent forecastAgent
	err := e.walk(ctx, sample, func(places []int, subjects []evaluator.Subject) error {
		asked := make([][]question, len(places))
		for n, i := range places {
			asked[n] = e.questions(i, &sample[i], subjects[n])
		}
		if err := e.takeOver(ctx, asked); err != nil {
			return err
		}
		for _, list := range asked {
			for _, q := range list {
				if q.ballots != nil {
					continue // an earlier run answered it
				}
				item, err := e.preview(&q, &agent)
				if err != nil && !errors.Is(err, transcript.ErrTooLong) {
					return e.renderError(q.subject.ID, err)
				}
				if item == nil {
					continue
				}
				for _, it := range append([]evaluator.Item{*item}, item.More...) {
					e.sum.Calls += votes
					e.sum.InputTokens += int64(votes) * int64(len(it.Request.System)+len(it.Request.User)+len(it.Request.Schema)) / charsPerToken
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	in, out := e.sum.InputTokens/int64(len(e.panel)), int64(e.sum.Calls/len(e.panel))*expectedReply
	for i := range e.panel {
		s := &e.panel[i]
		e.noteBatch(s, e.sum.Calls/len(e.panel))
		if cost := microUSD(s.price, s.priced, judge.Usage{InputTokens: &in, OutputTokens: &out}); cost != nil {
			if e.sum.CostMicroUSD == nil {
				e.sum.CostMicroUSD = new(int64)
			}
			*e.sum.CostMicroUSD += e.forecastBatch(s, e.sum.Calls/len(e.panel), *cost)
		}
	}
	e.addAgent(&agent)
	e.sum.Warnings = append(e.sum.Warnings, e.unpriced()...)
	return nil
}

const (
	charsPerToken = 3   // of JSON-like text; what a dry run and the rendering budget assume
	expectedReply = 900 // output tokens of six criteria with short reasons
)

// noResult says why the run has no result.
func (e *evaluateRun) noResult() string {
	if e.sum.Eligible == 0 {
		return fmt.Sprintf("run %s has no result: no eligible %s from %s to %s", e.runID, e.sum.Noun, e.window.from, e.window.to)
	}
	return fmt.Sprintf("run %s has no result: %d of %d subjects could not be graded (more than 10 %%)", e.runID, e.sum.Ungraded, e.sum.Graded+e.sum.Ungraded)
}

// noResultHint says what to change where nothing was eligible.
func (e *evaluateRun) noResultHint() string {
	if e.sum.Eligible > 0 || e.window.from == "" {
		return ""
	}
	return e.met.hint(&e.cfg.Evaluate)
}

// runRow is the row of runs of one part.
func (e *evaluateRun) runRow(p *part, rows *runRows, state string, cost *int64, sample string) schema.Run {
	c, v := &e.cfg.Evaluate, &p.version
	run := schema.Run{
		RunID: e.runID, Evaluator: v.Evaluator, Kind: v.Kind, Label: c.Label, State: state,
		AsOf: e.cfg.asOf.UnixMicro(), AsOfUnixNano: e.cfg.asOf.UnixNano(), WindowFrom: e.window.from, WindowTo: e.window.to, Seed: c.Seed,
		Eligible: int32(e.sum.Eligible), Sampled: int32(e.sum.Sampled), Graded: int32(rows.graded), Ungraded: int32(rows.ungraded),
		NotAttempted: int32(e.sum.NotAttempted), Repeat: int32(c.Repeat), FilterService: c.Service, FilterAgent: c.Agent,
		JudgeModels: e.judgesOf(p), JudgeMode: e.modesOf(p), Rubric: v.Rubric.Name, RubricSHA256: v.RubricSHA256,
		PromptVersion: v.PromptVersion, PromptSHA256: v.PromptSHA256, SchemaSHA256: v.SchemaSHA256, RenderingSHA256: v.Rendering,
		MaskVersion: e.mask.Version(), SampleSHA256: sample, Calibration: "not_calibrated", Offline: e.offline() || e.modesOf(p) == byCode, CostUSD: cost,
		SchemaVersion: schema.Version, Materials: e.sent.hashes(),
	}
	e.describeTasks(&run)
	for _, s := range e.strata {
		run.Strata, run.StrataEligible, run.StrataAttempted = append(run.Strata, s.Service), append(run.StrataEligible, int32(s.Eligible)), append(run.StrataAttempted, int32(s.Attempted))
	}
	return run
}
