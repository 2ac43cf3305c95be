package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go/logging"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/exports/agentcore"
	"github.com/tracejury/tracejury/exports/foundry"
	"github.com/tracejury/tracejury/exports/outcomes"
)

// PushOptions are what of a push is no configuration.
type PushOptions struct {
	Yes bool // the user agreed to paid work
	Now time.Time
	Out io.Writer
}

// withPush gives the targets that are pushed the way to their platform, and adds those that --to left out.
func withPush(ts []exports.Target, cfg *Config) ([]exports.Target, []exports.Pusher, error) {
	o := &cfg.Export.Push
	if err := o.check(); err != nil {
		return nil, nil, err
	}
	known := map[string]exports.Pusher{
		"agentcore": agentcore.Target{JudgeModel: cfg.Export.JudgeModel, DatasetS3: o.AgentCore.DatasetS3, Account: awsAccount{cfg.Store.Region}},
		"foundry":   foundry.Target{Endpoint: o.Foundry.Endpoint, Deployment: o.Foundry.Deployment, Tokens: &entra{}},
		"outcomes":  outcomes.Target{Endpoint: o.Outcomes.Endpoint, Key: os.Getenv("ANTHROPIC_API_KEY"), Task: task(o), Agent: o.Outcomes.Agent, Environment: o.Outcomes.Environment},
	}
	var push []exports.Pusher
	for _, name := range o.To {
		p := known[name]
		if p == nil {
			return nil, nil, usagef("--push %q: no such platform: %s", name, suggest(name, []string{"agentcore", "foundry", "outcomes"}))
		}
		if slices.ContainsFunc(push, func(x exports.Pusher) bool { return x.Name() == name }) {
			continue
		}
		push = append(push, p)
		if i := slices.IndexFunc(ts, func(t exports.Target) bool { return t.Name() == name }); i >= 0 {
			ts[i] = p
		} else {
			ts = append(ts, p)
		}
	}
	return ts, push, nil
}

// check refuses what lacks its other half.
func (o *PushConfig) check() error {
	to := slices.Contains(o.To, "outcomes")
	switch x := &o.Outcomes; {
	case (x.Session == "") != (x.Task == ""):
		return usagef("--outcome-session and --outcome-task go together")
	case (x.Agent == "") != (x.Environment == ""):
		return usagef("--outcome-agent and --outcome-environment go together")
	case x.Task != "" && !to:
		return usagef("--outcome-task: want --push outcomes as well")
	case x.Agent != "" && !to:
		return usagef("--outcome-agent: want --push outcomes as well")
	}
	return nil
}

func task(o *PushConfig) *outcomes.Task {
	if o.Outcomes.Task == "" {
		return nil
	}
	return &outcomes.Task{SessionID: o.Outcomes.Session, Description: o.Outcomes.Task}
}

// awsAccount is what the standard AWS chain finds. The region of the tables counts where no other is set.
type awsAccount struct{ region string }

// Config implements agentcore.Account.
func (a awsAccount) Config(ctx context.Context) (aws.Config, error) {
	return config.LoadDefaultConfig(ctx, config.WithLogger(logging.Nop{}), config.WithRegion(cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"), a.region)))
}

// entra asks the environment, a managed identity or the Azure CLI for tokens, the first time that one is wanted.
type entra struct {
	cred    *azidentity.DefaultAzureCredential
	options *azidentity.DefaultAzureCredentialOptions // nil but in tests
}

// Token implements foundry.TokenSource.
func (e *entra) Token(ctx context.Context) (string, error) {
	if e.cred == nil {
		cred, err := azidentity.NewDefaultAzureCredential(e.options)
		if err != nil {
			return "", fmt.Errorf("find Entra credentials: %w", err)
		}
		e.cred = cred
	}
	t, err := e.cred.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{foundry.Scope}})
	if err != nil {
		return "", &noToken{err}
	}
	return t.Token, nil
}

// noToken is that nobody gives a token, in one line: the library tells each way that it tried, with whole answers of servers.
type noToken struct{ err error }

func (e *noToken) Error() string {
	words := slices.DeleteFunc(strings.Fields(e.err.Error()), func(w string) bool { return strings.Trim(w, "-") == "" })
	return "no Entra token: set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET, or run az login: " + strings.Join(words, " ")
}

func (e *noToken) Unwrap() error { return e.err }

// pushLedger is the file below the state directory that remembers what was sent.
const pushLedger = "push.jsonl"

// push sends what stands in dir. What failed does not keep the rest back.
func push(ctx context.Context, cfg *Config, dir string, to []exports.Pusher, o *PushOptions, dryRun bool, log *slog.Logger) ([]exports.Result, error) {
	masked, err := pushMask(cfg)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(cfg.StateDir, pushLedger)
	open := exports.OpenLedger
	if dryRun {
		open = exports.ReadLedger
	}
	ledger, err := open(path)
	if errors.Is(err, exports.ErrLedgerHeld) {
		return nil, &ExitError{Code: ExitLocked, Err: err}
	}
	if err != nil {
		return nil, err
	}
	defer ledger.Close()
	var results []exports.Result
	box := &exports.Outbox{Ledger: ledger, DryRun: dryRun, Yes: o.Yes, Now: o.Now, Mask: masked, Report: func(r exports.Result) {
		results = append(results, r)
		log.Info("push", "target", r.Target, "kind", r.Kind, "name", r.Name, "id", r.ID, "state", r.State, "count", r.Count, "error", r.Error)
	}}
	box.Tap = &exports.Tap{Show: func(c exports.Call) { log.Debug("call", "method", c.Method, "url", c.URL, "operation", c.Operation) }}
	if dryRun {
		box.Tap.Show = func(c exports.Call) {
			if o.Out != nil {
				c.WriteText(o.Out)
			}
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("read export: %w", err)
	}
	defer root.Close()
	var all []error
	for _, p := range to {
		if err := p.Push(ctx, root.FS(), box); err != nil {
			all = append(all, fmt.Errorf("push %s: %w", p.Name(), maskedError{masked(err.Error()), err}))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return results, pushError(ctx, results, errors.Join(all...))
}

// pushError gives what failed its exit code: partial where something was done, so that running again goes on.
func pushError(ctx context.Context, results []exports.Result, err error) error {
	if err == nil {
		return nil
	}
	failed := 0
	for _, r := range results {
		if r.State == exports.Failed {
			failed++
		}
	}
	switch {
	case errors.Is(err, exports.ErrConsent):
		return &ExitError{Code: ExitUsage, Err: err, Hint: "--yes agrees to it; everything else was pushed as the summary says"}
	case ctx.Err() != nil || failed < len(results):
		return &ExitError{Code: ExitPartial, Err: err, Hint: "run the same command again to go on: what was sent is not sent twice"}
	}
	return &ExitError{Code: ExitService, Err: err}
}

// pushMask hides what a server may repeat: the credentials of the environment, and what any text is masked for.
func pushMask(cfg *Config) (func(string) string, error) {
	m, err := cfg.masker()
	if err != nil {
		return nil, err
	}
	secrets := strings.NewReplacer(secretPairs(os.Getenv("ANTHROPIC_API_KEY"), os.Getenv("AWS_SECRET_ACCESS_KEY"), os.Getenv("AWS_SESSION_TOKEN"), os.Getenv("AZURE_CLIENT_SECRET"))...)
	return func(s string) string { return m.String(secrets.Replace(s), nil) }, nil
}

// maskedError shows nothing but masked text; what it wraps can still be asked for.
type maskedError struct {
	text string
	err  error
}

func (e maskedError) Error() string { return e.text }
func (e maskedError) Unwrap() error { return e.err }

// secretPairs replaces secrets, also as they stand in a URL.
func secretPairs(secrets ...string) []string {
	var out []string
	for _, s := range secrets {
		if len(s) >= 8 { // shorter is no secret, and would tear texts apart
			out = append(out, s, "[MASKED:credential]", url.QueryEscape(s), "[MASKED:credential]")
		}
	}
	return out
}

// WritePushText prints the results of a push for a person.
func (s *ExportSummary) WritePushText(w io.Writer) {
	for _, r := range s.Pushed {
		fmt.Fprintf(w, "push      %s: %s %s %s", r.Target, r.Kind, r.Name, r.State)
		if r.Count > 0 {
			fmt.Fprintf(w, ", %d records", r.Count)
		}
		if r.ID != "" && r.ID != r.Name {
			fmt.Fprintf(w, " (%s)", r.ID)
		}
		if r.Error != "" {
			fmt.Fprintf(w, ": %s", r.Error)
		}
		fmt.Fprintln(w)
	}
}
