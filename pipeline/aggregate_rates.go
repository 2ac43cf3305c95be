package pipeline

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/tracejury/tracejury/pipeline/stats"
	"github.com/tracejury/tracejury/schema"
)

// ungradedLimit is the share of ungraded subjects above which a group has no result. Exactly this share is allowed.
const ungradedLimit = 0.10

func overUngradedLimit(ungraded, sampled int) bool {
	return float64(ungraded) > ungradedLimit*float64(sampled)
}

// censusReason is what stands beside the interval of a run that looked at everything.
func censusReason(run schema.Run) string {
	if ofSessions(run) {
		return "census: every eligible session of the window was sampled; the interval is for sessions like these, not for these"
	}
	noun := strings.ReplaceAll(run.Kind, "_", " ")
	return "census: every " + noun + " was looked at; the interval is for " + noun + "s like these, not for these"
}

// numbers are every tally of a run's part, by grouping.
type numbers struct {
	facts     *facts
	groupings []grouping
	tallies   [][]*tally // of each grouping
	subjects  []cell     // counts of subjects by combo
}

func count(f *facts, gs []grouping) *numbers {
	n := &numbers{facts: f, groupings: gs, tallies: make([][]*tally, len(gs)), subjects: f.bySubject()}
	for i, g := range gs {
		n.tallies[i] = f.tallies(g, n.subjects)
	}
	return n
}

// all lists the tallies of all groupings.
func (n *numbers) all() []*tally { return slices.Concat(n.tallies...) }

// find is the tally of a group, nil where there is none.
func (n *numbers) find(by, group, metric string) *tally {
	for i, g := range n.groupings {
		if g.String() != by {
			continue
		}
		for _, t := range n.tallies[i] {
			if t.group == group && t.metric == metric {
				return t
			}
		}
	}
	return nil
}

// talliesAtOnce is how many intervals one goroutine computes before it takes more.
const talliesAtOnce = 64

// rows are the aggregates of every tally, and of the mean of scores where verdicts carry any.
func (n *numbers) rows(ctx context.Context, level float64) ([]schema.Aggregate, error) {
	all := n.all()
	parts := make([][]schema.Aggregate, (len(all)+talliesAtOnce-1)/talliesAtOnce)
	eg := new(errgroup.Group)
	eg.SetLimit(runtime.GOMAXPROCS(0))
	for i := range parts {
		eg.Go(func() error {
			for _, t := range all[i*talliesAtOnce : min(len(all), (i+1)*talliesAtOnce)] {
				rows, err := t.aggregates(n.facts.run, level)
				if err != nil {
					return err
				}
				parts[i] = append(parts[i], rows...)
			}
			return nil
		})
	}
	if err := eg.Wait(); err != nil {
		return nil, err
	}
	out := slices.Concat(parts...)
	scores, err := n.facts.scoreRows(ctx, n.subjects, level)
	if err != nil {
		return nil, err
	}
	out = append(out, scores...)
	slices.SortFunc(out, func(a, b schema.Aggregate) int { return a.Compare(b) })
	return out, nil
}

// aggregates makes the rows of one tally: Wilson first, the exact bootstrap beside it, Clopper–Pearson for safety, and for the
// whole run what is known of its finite window.
func (t *tally) aggregates(run schema.Run, level float64) ([]schema.Aggregate, error) {
	base := schema.Aggregate{
		RunID: run.RunID, Evaluator: run.Evaluator, GroupBy: t.by, Group: t.group, Criterion: t.criterion, Metric: t.metric, Level: level,
		N: int32(t.n()), Met: int32(t.met), NotMet: int32(t.notMet), NotApplicable: int32(t.notApplicable), Unclear: int32(t.unclear),
		Ungraded: int32(t.ungraded), Undecided: int32(t.undecided),
	}
	base.NoResult = overUngradedLimit(t.ungraded, t.attempted())
	if t.n() > 0 {
		base.Estimate = new(float64(t.met) / float64(t.n()))
	}
	if t.weighted {
		return t.weightedRows(base, level)
	}
	base.Worst, base.Best = t.bounds()
	intervals, err := t.intervals(run, level)
	if err != nil {
		return nil, err
	}
	var rows []schema.Aggregate
	for _, iv := range intervals {
		row := base
		row.Method, row.FallbackFrom, row.Reason = iv.Method, iv.FallbackFrom, iv.Reason
		if t.n() > 0 {
			row.Low, row.High = new(iv.Low), new(iv.High)
		}
		if i := slices.IndexFunc(rows, func(r schema.Aggregate) bool { return r.Method == row.Method }); i >= 0 {
			rows[i].FallbackFrom, rows[i].Reason = row.FallbackFrom, row.Reason // the bootstrap fell back to what stands there
			continue
		}
		row.Primary = len(rows) == 0
		rows = append(rows, row)
	}
	if rows[0].Reason == "" && isCensus(run) {
		rows[0].Reason = censusReason(run)
	}
	return rows, nil
}

func isCensus(run schema.Run) bool { return run.Sampled > 0 && run.Sampled == run.Eligible }

// intervals are those of a tally, the one to print first.
func (t *tally) intervals(run schema.Run, level float64) ([]stats.Interval, error) {
	methods := []func(k, n int, level float64) (stats.Interval, error){stats.Wilson, stats.BootstrapProportion}
	if t.safety {
		methods = append(methods, stats.ClopperPearson)
	}
	// The window is a finite population only for a rate over all that was drawn from it.
	if window := int(run.Eligible); t.by == overallGroup && t.n() > 0 && t.n() == int(run.Sampled) && window > t.n() {
		methods = append(methods, func(k, n int, level float64) (stats.Interval, error) { return stats.WilsonFinite(k, n, window, level) })
	}
	var out []stats.Interval
	for _, method := range methods {
		iv, err := method(t.met, t.n(), level)
		if err != nil {
			return nil, err
		}
		out = append(out, iv)
	}
	return out, nil
}

// bounds are the rate with every Unclear counted as not met, and as met. Nil when nothing could count.
func (t *tally) bounds() (worst, best *float64) {
	if t.weighted {
		return t.weightedBounds()
	}
	total := t.n() + t.unclear
	if total == 0 {
		return nil, nil
	}
	return new(float64(t.met-t.metUnclear) / float64(total)), new(float64(t.met+t.unclear) / float64(total))
}

// metricMeanScore is the mean of the scores of scored verdicts.
const metricMeanScore = "mean_score"

// scoreRows are the mean scores of criteria that are scored, overall and by service.
func (f *facts) scoreRows(ctx context.Context, bySubject []cell, level float64) ([]schema.Aggregate, error) {
	type key struct {
		criterion, service int32 // service -1: overall
	}
	values := map[key][]float64{}
	for _, s := range f.scores {
		for _, svc := range []int32{-1, f.of(&f.subjects[s.subject])[dimService][0]} {
			k := key{s.criterion, svc}
			values[k] = append(values[k], s.score)
		}
	}
	keys := make([]key, 0, len(values))
	for k := range values {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b key) int {
		return cmp.Or(cmp.Compare(a.criterion, b.criterion), cmp.Compare(a.service, b.service))
	})
	var whole map[[2]string][2]int
	if f.strata != nil {
		whole = f.perService(true, bySubject)
	}
	var out []schema.Aggregate
	for _, k := range keys {
		c := f.criteria[k.criterion].id
		row := schema.Aggregate{RunID: f.run.RunID, Evaluator: f.run.Evaluator, GroupBy: "criterion", Group: c, Criterion: c, Metric: metricMeanScore,
			Level: level, N: int32(len(values[k])), Primary: true, Method: stats.MethodBCa}
		if k.service >= 0 {
			row.GroupBy, row.Group = "criterion_service", joinGroup([]string{c, f.names[dimService][k.service]})
		}
		fill := func() error { return fillMean(ctx, &row, values[k]) }
		if k.service < 0 && f.strata != nil {
			parts := map[string][]float64{}
			for i, name := range f.names[dimService] {
				parts[name] = values[key{k.criterion, int32(i)}]
			}
			fill = func() error { return f.fillWeightedMean(&row, parts, whole) }
		}
		if err := fill(); err != nil {
			return nil, err
		}
		out = append(out, row)
	}
	return out, nil
}

// scoreInterval is the interval of a mean of scores, which lie from 0 to 1. Scores of yes and no are a proportion.
func scoreInterval(ctx context.Context, values []float64, row *schema.Aggregate) (stats.Interval, error) {
	ones := 0
	for _, v := range values {
		switch v {
		case 1:
			ones++
		case 0:
		default:
			iv, err := stats.MeanInterval(ctx, values, row.Level, stats.Resampling{Seed: row.RunID + "/" + row.Group})
			iv.Low, iv.High = max(iv.Low, 0), min(iv.High, 1)
			return iv, err
		}
	}
	return stats.Wilson(ones, len(values), row.Level)
}

// fillMean is the mean of values with its interval, or why it has none.
func fillMean(ctx context.Context, row *schema.Aggregate, values []float64) error {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	row.Estimate = new(sum / float64(len(values)))
	iv, err := scoreInterval(ctx, values, row)
	if undefined, ok := asUndefined(err); ok {
		row.Method, row.Reason = "none", undefined.Reason
		return nil
	}
	if err != nil {
		return err
	}
	row.Method, row.FallbackFrom, row.Reason = iv.Method, iv.FallbackFrom, iv.Reason
	row.Low, row.High = new(iv.Low), new(iv.High)
	return nil
}
