package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/ledger"
	"github.com/tracejury/tracejury/judge/model"
	"github.com/tracejury/tracejury/pipeline/store"
)

// JudgeModel says how models whose id begins with Prefix are asked. What it leaves out is as the built-in table has it.
type JudgeModel struct {
	Prefix      string `yaml:"prefix"` // of the model id, with or without region
	Mode        string `yaml:"mode"`   // native_schema, forced_tool, auto_tool, text
	Temperature *bool  `yaml:"temperature"`
	Cache       *bool  `yaml:"cache"` // takes cache points
}

// way is how a model is asked that is remembered between runs: what its service was found not to take is not tried again.
type way struct {
	Mode        string `json:"mode"`
	Temperature bool   `json:"temperature"`
}

// waysFile lies in the state directory and maps judges, as --judge names them, to the way in which they are asked.
const waysFile = "judges.json"

// refusedError says that a service refuses how a judge is asked, before it has answered anything.
type refusedError struct {
	spec, what string
	next       model.Capability
	err        error
}

func (e *refusedError) Error() string {
	return fmt.Sprintf("judge %s refuses %s: %v", e.spec, e.what, e.err)
}

// Unwrap is the service's own error.
func (e *refusedError) Unwrap() error { return e.err }

// ways is the table of how a judge is asked: as it is configured, which fixed then says, else as an earlier run found out.
func (e *evaluateRun) ways(ctx context.Context, spec string) (table []model.Capability, fixed bool, err error) {
	builtin, _ := model.CapabilityOf(spec, nil)
	for i, m := range e.cfg.Evaluate.Models {
		c := model.Capability{Prefix: m.Prefix, Mode: m.Mode, Temperature: builtin.Temperature, Cache: builtin.Cache}
		switch {
		case m.Prefix == "":
			return nil, false, usagef("evaluate.models[%d]: prefix is missing: the beginning of a model's id", i)
		case m.Mode == "":
			c.Mode = builtin.Mode
		case !slices.Contains(model.Modes, m.Mode):
			return nil, false, usagef("evaluate.models[%d]: mode %q: %s", i, m.Mode, suggest(m.Mode, model.Modes))
		}
		if m.Temperature != nil {
			c.Temperature = *m.Temperature
		}
		if m.Cache != nil {
			c.Cache = *m.Cache
		}
		table = append(table, c)
	}
	if _, listed := model.CapabilityOf(spec, table); listed {
		return table, true, nil
	}
	known, _, _, err := readWays(ctx, e.cfg.StateDir)
	if err != nil {
		return nil, false, err
	}
	if w, ok := known[spec]; ok {
		table = append(table, model.Capability{Mode: w.Mode, Temperature: w.Temperature, Cache: builtin.Cache}) // matches all
	}
	return table, false, nil
}

func readWays(ctx context.Context, dir string) (known map[string]way, etag string, st store.Store, err error) {
	known = map[string]way{}
	if st, err = store.Open(ctx, dir, store.Options{}); err != nil {
		return nil, "", nil, usagef("--state-dir: %w", err)
	}
	data, obj, err := st.Get(ctx, waysFile, "")
	if errors.Is(err, fs.ErrNotExist) {
		return known, "", st, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &known)
	}
	if err != nil {
		return nil, "", nil, usagef("read how judges are asked: %s: %w: delete the file to have it found out anew", filepath.Join(dir, waysFile), err)
	}
	return known, obj.ETag, st, nil
}

// rememberWay keeps what was found out about a judge. Another command that remembers something at the same time loses nothing: who comes
// second reads again.
func rememberWay(ctx context.Context, dir, spec string, c model.Capability) error {
	for {
		known, etag, st, err := readWays(ctx, dir)
		if err != nil {
			return err
		}
		known[spec] = way{Mode: c.Mode, Temperature: c.Temperature}
		data, err := json.MarshalIndent(known, "", "  ")
		if err == nil {
			body := bytes.NewReader(append(data, '\n'))
			if etag == "" {
				_, err = st.PutIfAbsent(ctx, waysFile, body, store.PutOptions{})
			} else {
				_, err = st.PutIfMatch(ctx, waysFile, body, etag, store.PutOptions{})
			}
		}
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, store.ErrExist) && !errors.Is(err, store.ErrChanged):
			return fmt.Errorf("remember how judge %s is asked: %w", spec, err)
		}
	}
}

// refused stops judging where a service refuses how it is asked, has answered nothing so far, and there is another way that the configuration
// does not rule out. After the first answer it is that one question that is refused.
func (j *judging) refused(s *seat, ce *judge.CallError) bool {
	j.mu.Lock()
	answered := s.answered
	j.mu.Unlock()
	if ce.Refuses == "" || answered || s.fixed || j.holdsReply() {
		return false
	}
	next, ok := model.Fallback(s.spec, s.way, ce.Refuses)
	if ok {
		j.stop.now(stopRefused, &refusedError{spec: s.spec, what: ce.Refuses, next: next, err: errors.New(oneLine(j.run.maskText(ce.Err.Error())))})
	}
	return ok
}

// holdsReply is whether the log has any reply, of an earlier command too: they were paid for, and another way could not use them.
func (j *judging) holdsReply() bool {
	all, err := j.ledger.All()
	return err != nil || slices.ContainsFunc(all, func(r ledger.Record) bool { return r.State == ledger.StateReply })
}

// dropLedger removes the log of a run that is done in another way: it holds refusals only.
func (e *evaluateRun) dropLedger(ctx context.Context, led *ledger.Ledger) error {
	if err := errors.Join(led.Remove(), deletePrefix(context.WithoutCancel(ctx), e.root.Store, ledgerPrefix(e.runID))); err != nil {
		return fmt.Errorf("remove the log of run %s: %w", e.runID, err)
	}
	return nil
}
