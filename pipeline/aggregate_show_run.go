package pipeline

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// RunShow is what aggregate --show run:… reports: how a run came about, and which of its subjects did not pass.
type RunShow struct {
	Parts []RunPart `json:"parts"`
}

// RunPart is one evaluator's part of a run.
type RunPart struct {
	Run      schema.Run       `json:"run"`
	Passed   Share            `json:"passed"`
	Safe     Share            `json:"safe"`
	Failed   []FailedSubject  `json:"failed"`   // not safe first
	Ungraded map[string]int64 `json:"ungraded"` // by reason
}

// FailedSubject is a subject that did not pass, and on which criteria.
type FailedSubject struct {
	Grade  schema.Grade `json:"grade"`
	NotMet []string     `json:"not_met"`
}

// ShowRun gathers what a run did.
func ShowRun(ctx context.Context, cfg *Config, id string, log *slog.Logger) (*RunShow, error) {
	root, err := openRoot(ctx, cfg, log)
	if err != nil {
		return nil, err
	}
	runs, err := findRun(ctx, root.Store, id, cfg.latestUntil())
	if err != nil {
		return nil, err
	}
	grades, _, err := table.Read[schema.Grade](ctx, root.Store, schema.Grades.RunKey(runs[0].RunID))
	if err != nil {
		return nil, fmt.Errorf("read grades: %w", err)
	}
	out := &RunShow{}
	for _, run := range runs {
		if !isCalibration(&run) {
			if run.Calibration, err = calibrationOf(ctx, root.Store, &run); err != nil {
				return nil, err
			}
		}
		notMet, err := readNotMet(ctx, root.Store, &run, nil)
		if err != nil {
			return nil, err
		}
		out.Parts = append(out.Parts, runPart(run, grades, notMet))
	}
	return out, nil
}

func runPart(run schema.Run, grades []schema.Grade, notMet map[string][]string) RunPart {
	p := RunPart{Run: run, Ungraded: map[string]int64{}}
	for _, g := range grades {
		switch {
		case g.Evaluator != run.Evaluator:
		case g.State != "graded":
			p.Ungraded[g.UngradedReason]++
		default:
			p.Passed.add(g.Pass)
			p.Safe.add(g.Safe)
			if g.Pass != nil && !*g.Pass {
				p.Failed = append(p.Failed, FailedSubject{g, notMet[subjectID(g.Subject, g.Arm)]})
			}
		}
	}
	unsafe := func(f FailedSubject) bool { return f.Grade.Safe != nil && !*f.Grade.Safe }
	slices.SortStableFunc(p.Failed, func(a, b FailedSubject) int {
		switch {
		case unsafe(a) == unsafe(b):
			return 0
		case unsafe(a):
			return -1
		}
		return 1
	})
	return p
}

// WriteText prints the run for a person.
func (s *RunShow) WriteText(w io.Writer) {
	for i, p := range s.Parts {
		if i > 0 {
			fmt.Fprintln(w)
		}
		r := &p.Run
		fmt.Fprintf(w, "run       %s: %s, %s%s\n", r.RunID, printable(r.Evaluator, 32), r.State, parens(printable(r.Label, 64)))
		fmt.Fprintf(w, "as of     %s, window %s to %s\n", asOfRun(*r).Format(time.RFC3339), r.WindowFrom, r.WindowTo)
		offline := ""
		if r.Offline {
			offline = " (offline: verdicts come from code, not from a model)"
		}
		fmt.Fprintf(w, "judge     %s, mode %s%s, calibration %s\n", printable(strings.Join(r.JudgeModels, ", "), 120), r.JudgeMode, offline, r.Calibration)
		fmt.Fprintf(w, "asked     rubric %s %.12s, prompt %s %.12s, rendering %.12s, mask %s, repeat %d, seed %s\n", printable(r.Rubric, 48), r.RubricSHA256, printable(r.PromptVersion, 32), r.PromptSHA256, r.RenderingSHA256, printable(r.MaskVersion, 32), r.Repeat, printable(r.Seed, 48))
		if r.FilterService != "" || r.FilterAgent != "" {
			fmt.Fprintf(w, "only      service %s, agent %s\n", dash(printable(r.FilterService, 64)), dash(printable(r.FilterAgent, 64)))
		}
		fmt.Fprintf(w, "%-9s %d eligible, %d sampled, %d not attempted\n", sampledNoun(r.Kind), r.Eligible, r.Sampled, r.NotAttempted)
		fmt.Fprintf(w, "graded    %d %s, %d ungraded%s\n", r.Graded, gradedNoun(r.Kind), r.Ungraded, parens(byName(p.Ungraded, "")))
		if isCalibration(r) {
			fmt.Fprintln(w, "no rates  this is a calibration: evaluate calibrate --labels SHEET tells its checks")
			continue
		}
		if r.State == "no_result" {
			fmt.Fprintln(w, "no result more than 10 % could not be graded, or nothing was eligible: no rate is given")
		} else {
			fmt.Fprintf(w, "passed    %s\nsafe      %s\n", p.Passed, p.Safe)
		}
		for _, f := range p.Failed {
			mark := "failed"
			if f.Grade.Safe != nil && !*f.Grade.Safe {
				mark = "unsafe"
			}
			fmt.Fprintf(w, "%s    %s  %s  %s\n", mark, printable(f.Grade.Subject, 64), dash(printable(f.Grade.Service, 32)), printable(strings.Join(f.NotMet, ", "), 200))
		}
		if len(p.Failed) > 0 && r.Kind == "session" {
			fmt.Fprintf(w, "look at   aggregate --show session:%.12s\n", printable(p.Failed[0].Grade.SessionKey, 64))
		}
	}
}

// sampledNoun is what was drawn, gradedNoun what of it was graded.
func sampledNoun(kind string) string {
	switch kind {
	case evaluator.OfTools:
		return "tools"
	case evaluator.OfPackages:
		return "packages"
	case evaluator.OfTasks:
		return "tasks"
	case evaluator.OfControls:
		return "answers"
	case evaluator.OfSessionControls:
		return "sessions"
	}
	return "sessions"
}

func gradedNoun(kind string) string {
	switch kind {
	case "skill":
		return "choices or loads of skills"
	case "tool_call":
		return "calls"
	case evaluator.OfSessionControls:
		return "variants of sessions"
	}
	return sampledNoun(kind)
}

// Shower is what a --show ends in.
type Shower interface{ WriteText(w io.Writer) }

// Show shows what --show names: session: or transcript:<id, key or the beginning of either>, or run:<id or latest>.
func Show(ctx context.Context, cfg *Config, what string, log *slog.Logger) (Shower, error) {
	kinds := map[string]func() (Shower, error){}
	kind, name, found := strings.Cut(what, ":")
	kinds["session"] = func() (Shower, error) { return ShowSession(ctx, cfg, name, log) }
	kinds["transcript"] = func() (Shower, error) { return ShowTranscript(ctx, cfg, name, log) }
	kinds["run"] = func() (Shower, error) { return ShowRun(ctx, cfg, name, log) }
	show := kinds[kind]
	if show == nil || !found {
		return nil, usagef("--show %q: want session:<id or key>, transcript:<id or key> or run:<id>: %s", printable(what, 64), suggest(kind, slices.Sorted(maps.Keys(kinds))))
	}
	return show()
}
