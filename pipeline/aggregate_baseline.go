package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/schema"
)

// baseline is what one evaluator's part of a run is compared with: another run, or all comparable ones of a window.
type baseline struct {
	label   string       // the column baseline_run: a run id, or the window
	runs    []schema.Run // newest first
	differs []string     // in what they were not asked alike; only under --force-compare
	skipped []Skipped    // runs that came into question and are not comparable
}

// Skipped is a run that was left out, and in what it differs.
type Skipped struct {
	RunID   string   `json:"run_id"`
	Differs []string `json:"differs"`
}

// differences names what makes the numbers of two runs incomparable: they were not asked the same, or not of the same sessions.
func differences(a, b *schema.Run) []string {
	var out []string
	for _, c := range []struct {
		name string
		same bool
	}{
		{"evaluator", a.Evaluator == b.Evaluator},
		{"rubric", a.RubricSHA256 == b.RubricSHA256},
		{"judge", slices.Equal(a.JudgeModels, b.JudgeModels)},
		{"judge mode", a.JudgeMode == b.JudgeMode},
		{"prompt", a.PromptSHA256 == b.PromptSHA256 && a.PromptVersion == b.PromptVersion},
		{"reply schema", a.SchemaSHA256 == b.SchemaSHA256},
		{"rendering", a.RenderingSHA256 == b.RenderingSHA256},
		{"mask version", a.MaskVersion == b.MaskVersion},
		{"service filter", a.FilterService == b.FilterService},
		{"agent filter", a.FilterAgent == b.FilterAgent},
		{"way of sampling", (len(a.Strata) > 0) == (len(b.Strata) > 0)},
	} {
		if !c.same {
			out = append(out, c.name)
		}
	}
	return out
}

// hasNumbers says whether a run's rates may be looked at: a partial run is a valid sample, one without result is not, nor one that an
// outage left over the limit of ungraded subjects.
func hasNumbers(r *schema.Run) bool {
	return (r.State == "finished" || r.State == "partial") && !overUngradedLimit(int(r.Ungraded), int(r.Graded+r.Ungraded))
}

// pickBaseline finds what run is compared with, among all runs newest first. Nil without an error: there is nothing yet.
func pickBaseline(all []schema.Run, run *schema.Run, spec string, force bool) (*baseline, error) {
	b := &baseline{label: spec}
	days, isWindow := strings.CutSuffix(spec, "d")
	var from int64
	switch {
	case spec == "previous":
	case isWindow && strings.Trim(days, "0123456789") == "":
		span, err := parseSpan(spec)
		if err != nil || span == 0 || span > 10*366*24*time.Hour {
			return nil, usagef("--baseline %q: want previous, a run id, or a window such as 7d", spec)
		}
		from = run.AsOfUnixNano - span.Nanoseconds()
	default:
		return b, b.take(all, run, spec, force)
	}
	for i := range all {
		r := &all[i]
		if r.Evaluator != run.Evaluator || r.AsOfUnixNano >= run.AsOfUnixNano || from != 0 && r.AsOfUnixNano < from || !hasNumbers(r) {
			continue
		}
		diff := differences(run, r)
		if len(diff) > 0 && !force {
			b.skipped = append(b.skipped, Skipped{r.RunID, diff})
			continue
		}
		b.runs = append(b.runs, *r)
		b.addDiffers(diff)
		if from == 0 {
			b.label = r.RunID
			break
		}
	}
	return b, nil
}

// take takes the run that was named.
func (b *baseline) take(all []schema.Run, run *schema.Run, id string, force bool) error {
	var ids []string
	named := false
	for i := range all {
		r := &all[i]
		ids = append(ids, r.RunID)
		if r.RunID != id {
			continue
		}
		named = true
		if r.Evaluator != run.Evaluator {
			continue
		}
		if r.RunID == run.RunID {
			return usagef("--baseline %s: that is the run itself", id)
		}
		if !hasNumbers(r) {
			return usagef("--baseline %s: that run's state is %s", id, r.State)
		}
		diff := differences(run, r)
		if len(diff) > 0 && !force {
			return &ExitError{Code: ExitUsage, Err: fmt.Errorf("--baseline %s cannot be compared with run %s: another %s", id, run.RunID, strings.Join(diff, ", ")),
				Hint: "--force-compare compares them all the same, and says so"}
		}
		b.runs = append(b.runs, *r)
		b.addDiffers(diff)
	}
	if !named {
		known := append([]string{"previous"}, ids...)
		return usagef("--baseline %q: no such run: %s", id, suggest(id, known))
	}
	return nil
}

func (b *baseline) addDiffers(diff []string) {
	for _, d := range diff {
		if !slices.Contains(b.differs, d) {
			b.differs = append(b.differs, d)
		}
	}
}

// TrendPoint is one run of the trend.
type TrendPoint struct {
	RunID    string    `json:"run_id"`
	AsOf     time.Time `json:"as_of"`
	Label    string    `json:"label,omitempty"`
	State    string    `json:"state"`
	Sampled  int       `json:"sampled"`
	Graded   int       `json:"graded"`
	Ungraded int       `json:"ungraded"`
	Shared   int       `json:"shared"` // of its sessions, those that the run before it in the trend graded, too
	Passed   Rate      `json:"passed"`
	Safe     Rate      `json:"safe"`
	Differs  []string  `json:"differs,omitempty"` // only under --force-compare
}

// Rate is k of n, what rate that amounts to, and its interval; these are nil where there is none, such as for 0 of 0.
type Rate struct {
	Share
	Estimate *float64 `json:"estimate"`
	Low      *float64 `json:"low"`
	High     *float64 `json:"high"`
	Weighted bool     `json:"weighted,omitempty"` // Estimate is not K/N: every service counts by its eligible sessions
}

// Trend is the last runs that can be compared with one, oldest first, and those that were left out.
type Trend struct {
	Evaluator string       `json:"evaluator"`
	Points    []TrendPoint `json:"points"`
	Skipped   []Skipped    `json:"skipped,omitempty"`
}

// trend reads the last n runs up to that of main, oldest first.
func trend(ctx context.Context, st store.Store, all []schema.Run, main *aggregatePart, n int, force bool, level float64) (Trend, error) {
	run := &main.run
	t := Trend{Evaluator: run.Evaluator}
	for i := range all {
		r := &all[i]
		later := r.AsOfUnixNano > run.AsOfUnixNano || r.AsOfUnixNano == run.AsOfUnixNano && r.RunID != run.RunID
		if len(t.Points) == n || r.Evaluator != run.Evaluator || later || !hasNumbers(r) && r.RunID != run.RunID {
			continue
		}
		diff := differences(run, r)
		if len(diff) > 0 && !force {
			t.Skipped = append(t.Skipped, Skipped{r.RunID, diff})
			continue
		}
		t.Points = append(t.Points, TrendPoint{RunID: r.RunID, AsOf: asOfRun(*r), Label: r.Label, State: r.State, Sampled: int(r.Sampled), Graded: int(r.Graded), Ungraded: int(r.Ungraded), Differs: diff})
	}
	slices.SortStableFunc(t.Points, func(a, b TrendPoint) int { return cmp.Compare(a.AsOf.UnixNano(), b.AsOf.UnixNano()) })
	var before []string
	for i := range t.Points {
		p := &t.Points[i]
		f, subjects := main.numbers.facts, main.numbers.subjects
		if p.RunID != run.RunID {
			other := partOf(all, p.RunID, run.Evaluator)
			b := &factBuilder{facts: facts{strata: strataOfRuns([]schema.Run{other})}}
			if err := b.scanGrades(ctx, st, other, 0); err != nil {
				return t, fmt.Errorf("read grades of run %s: %w", p.RunID, err)
			}
			b.finish()
			f = &b.facts
			subjects = f.bySubject()
		}
		for _, whole := range f.tallies(grouping{}, subjects) {
			rate, err := whole.rate(level)
			if err != nil {
				return t, err
			}
			if whole.metric == metricPassed {
				p.Passed = rate
			} else {
				p.Safe = rate
			}
		}
		if len(t.Points) > 1 {
			here := f.graded()
			p.Shared, before = shared(before, here), here
		}
	}
	return t, nil
}

// partOf finds the row of one evaluator's part of a run.
func partOf(all []schema.Run, id, evaluator string) schema.Run {
	i := slices.IndexFunc(all, func(r schema.Run) bool { return r.RunID == id && r.Evaluator == evaluator })
	return all[i]
}

// graded are the subjects that were graded, ascending.
func (f *facts) graded() []string {
	out := make([]string, 0, len(f.subjects))
	for i := range f.subjects {
		if s := &f.subjects[i]; s.passed != resultUngraded {
			out = append(out, f.id(s))
		}
	}
	return out
}

// shared is how many are in both of two ascending lists.
func shared(a, b []string) (n int) {
	for len(a) > 0 && len(b) > 0 {
		switch d := strings.Compare(a[0], b[0]); {
		case d < 0:
			a = a[1:]
		case d > 0:
			b = b[1:]
		default:
			n, a, b = n+1, a[1:], b[1:]
		}
	}
	return n
}
