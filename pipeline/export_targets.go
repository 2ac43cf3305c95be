package pipeline

import (
	"fmt"
	"maps"
	"slices"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/exports/agentarts"
	"github.com/tracejury/tracejury/exports/agentcore"
	"github.com/tracejury/tracejury/exports/csv"
	"github.com/tracejury/tracejury/exports/foundry"
	"github.com/tracejury/tracejury/exports/jsonl"
	"github.com/tracejury/tracejury/exports/labels"
	"github.com/tracejury/tracejury/exports/otlp"
	"github.com/tracejury/tracejury/exports/outcomes"
	"github.com/tracejury/tracejury/exports/parquet"
)

// targets builds the targets of --to.
func targets(cfg *Config) ([]exports.Target, error) {
	known := map[string]exports.Target{}
	for _, t := range []exports.Target{agentarts.Target{}, agentcore.Target{JudgeModel: cfg.Export.JudgeModel, DatasetS3: cfg.Export.Push.AgentCore.DatasetS3}, csv.Target{},
		foundry.Target{Deployment: cfg.Export.Push.Foundry.Deployment}, jsonl.Target{},
		labels.Target{}, otlp.Target{}, outcomes.Target{}, parquet.Target{}} {
		known[t.Name()] = t
	}
	var out []exports.Target
	seen := map[string]bool{}
	for _, name := range cfg.Export.To {
		t := known[name]
		if t == nil {
			return nil, &ExitError{Code: ExitUsage, Err: fmt.Errorf("--to %q: no such target: %s", name, suggest(name, slices.Sorted(maps.Keys(known))))}
		}
		if !seen[name] { // named twice it is still written once
			out = append(out, t)
		}
		seen[name] = true
	}
	return out, nil
}
