package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// RunList is what aggregate --list reports: the runs, newest first.
type RunList struct {
	Data string    `json:"data"`
	Runs []RunLine `json:"runs"`
}

// RunLine is one evaluator's part of one run, in a line.
type RunLine struct {
	RunID        string    `json:"run_id"`
	AsOf         time.Time `json:"as_of"`
	Label        string    `json:"label,omitempty"`
	Evaluator    string    `json:"evaluator"`
	Rubric       string    `json:"rubric"`
	RubricSHA256 string    `json:"rubric_sha256"`
	Kind         string    `json:"kind"` // what was graded: session, skill, tool_call, tool, skill_package, task
	Judges       []string  `json:"judges"`
	Mode         string    `json:"judge_mode"`
	Offline      bool      `json:"offline"`
	State        string    `json:"state"`
	Eligible     int       `json:"eligible"`
	Sampled      int       `json:"sampled"`
	Graded       int       `json:"graded"`
	Ungraded     int       `json:"ungraded"`
	NotAttempted int       `json:"not_attempted"`
	PerService   bool      `json:"per_service,omitempty"` // a sample of every service: the shares are counts, without weights
	Passed       Share     `json:"passed"`
	Safe         Share     `json:"safe"`
}

// Share is k of n.
type Share struct {
	K int `json:"k"`
	N int `json:"n"`
}

func (s Share) String() string {
	if s.N == 0 {
		return "-"
	}
	return fmt.Sprintf("%d of %d", s.K, s.N)
}

func (s *Share) add(result *bool) {
	if result == nil {
		return
	}
	s.N++
	if *result {
		s.K++
	}
}

// readersOfRuns bounds how many runs are read at once.
const readersOfRuns = 8

// allRuns reads the rows of runs, newest first, the parts of a run in order of their evaluators.
func allRuns(ctx context.Context, st store.Store) ([]schema.Run, error) {
	var keys []string
	for obj, err := range st.List(ctx, schema.Runs.Name+"/", store.ListOptions{KeysOnly: true}) {
		if err != nil {
			return nil, fmt.Errorf("list runs: %w", err)
		}
		keys = append(keys, obj.Key)
	}
	rows := make([][]schema.Run, len(keys))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(readersOfRuns)
	for i, key := range keys {
		g.Go(func() (err error) {
			rows[i], _, err = table.Read[schema.Run](ctx, st, key)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, fmt.Errorf("read runs: %w", err)
	}
	all := slices.Concat(rows...)
	slices.SortFunc(all, func(a, b schema.Run) int {
		return cmp.Or(strings.Compare(runDay(b.RunID), runDay(a.RunID)), cmp.Compare(b.AsOfUnixNano, a.AsOfUnixNano), strings.Compare(a.RunID, b.RunID), strings.Compare(a.Evaluator, b.Evaluator))
	})
	return all, nil
}

// runDay is the date that a run's id begins with.
func runDay(id string) string {
	if len(id) < len(time.DateOnly) {
		return id
	}
	return id[:len(time.DateOnly)]
}

// ListRuns lists the runs below the data root.
func ListRuns(ctx context.Context, cfg *Config, log *slog.Logger) (*RunList, error) {
	root, err := openRoot(ctx, cfg, log)
	if err != nil {
		return nil, err
	}
	runs, err := allRuns(ctx, root.Store)
	if err != nil {
		return nil, err
	}
	out := &RunList{Data: root.Store.URI(), Runs: make([]RunLine, len(runs))}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(readersOfRuns)
	for i, r := range runs {
		g.Go(func() error {
			line := RunLine{RunID: r.RunID, AsOf: asOfRun(r), Label: r.Label, Evaluator: r.Evaluator, Rubric: r.Rubric, RubricSHA256: r.RubricSHA256, Kind: r.Kind, Judges: r.JudgeModels, Mode: r.JudgeMode, Offline: r.Offline, State: r.State,
				Eligible: int(r.Eligible), Sampled: int(r.Sampled), Graded: int(r.Graded), Ungraded: int(r.Ungraded), NotAttempted: int(r.NotAttempted)}
			if r.Kind == evaluator.OfTasks || isCalibration(&r) { // a rate over both arms, or over variants, would mean nothing
				out.Runs[i] = line
				return nil
			}
			var b factBuilder
			if err := b.scanGrades(ctx, root.Store, r, 0); err != nil {
				return fmt.Errorf("read grades of run %s: %w", r.RunID, err)
			}
			b.finish()
			line.PerService = len(r.Strata) > 0
			for _, whole := range b.plainTallies(grouping{}, b.bySubject()) {
				if share := (Share{whole.met, whole.n()}); whole.metric == metricPassed {
					line.Passed = share
				} else {
					line.Safe = share
				}
			}
			out.Runs[i] = line
			return nil
		})
	}
	return out, g.Wait()
}

// WriteText prints the list for a person.
func (l *RunList) WriteText(w io.Writer) {
	if len(l.Runs) == 0 {
		fmt.Fprintf(w, "%s holds no run: run evaluate with the same --data first\n", printable(l.Data, 200))
		return
	}
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(tw, "RUN\tAS OF\tLABEL\tEVALUATOR\tRUBRIC\tJUDGE\tSTATE\tGRADED\tPASSED\tSAFE")
	for _, r := range l.Runs {
		judge := strings.Join(r.Judges, ",")
		if r.Offline {
			judge += " (offline)"
		}
		graded := fmt.Sprintf("%d of %d", r.Graded, r.Sampled)
		if noun := gradedNoun(r.Kind); noun != sampledNoun(r.Kind) { // parts of the sampled sessions
			graded = fmt.Sprintf("%d in %d sessions", r.Graded, r.Sampled)
		}
		if r.PerService {
			graded += " per service"
		}
		passed, safe := r.Passed.String(), r.Safe.String()
		if r.State == "no_result" {
			passed, safe = "no result", "no result"
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", printable(r.RunID, 40), r.AsOf.Format("2006-01-02 15:04"), dash(printable(r.Label, 24)),
			printable(r.Evaluator, 24), printable(r.Rubric, 24)+" "+shortHash(r.RubricSHA256), printable(judge, 48), r.State, graded, passed, safe)
	}
	_ = tw.Flush() // stdout: nobody could be told
}

// shortHash is enough of a hash to tell two by eye.
func shortHash(s string) string { return printable(s[:min(len(s), 8)], 8) }

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
