package pipeline

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/pipeline/report"
	"github.com/tracejury/tracejury/pipeline/stats"
	"github.com/tracejury/tracejury/schema"
)

// weightedReason stands beside every rate over several services of a run that drew of each.
const weightedReason = report.WeightedReason

// strata are the services of a run that drew a sample of each: how many sessions were eligible and were attempted, by name. Nil is a run
// that needs no weights: it drew one sample of all, or all that there was.
type strata map[string]*runStratum

type runStratum struct{ eligible, attempted int }

// strataOfRuns adds the services of runs. Nil unless all of them drew so.
func strataOfRuns(runs []schema.Run) strata {
	out := strata{}
	census := true
	for i := range runs {
		r := &runs[i]
		if len(r.Strata) == 0 || len(r.Strata) != len(r.StrataEligible) || len(r.Strata) != len(r.StrataAttempted) {
			return nil
		}
		for j, name := range r.Strata {
			s := out[name]
			if s == nil {
				s = new(runStratum)
				out[name] = s
			}
			s.eligible += int(max(0, r.StrataEligible[j]))
			s.attempted += int(max(0, r.StrataAttempted[j]))
			census = census && r.StrataEligible[j] == r.StrataAttempted[j]
		}
	}
	if census || len(out) < 2 {
		return nil
	}
	return out
}

// unreached names a service of which nothing was attempted, "" where there is none.
func (s strata) unreached() (name string, eligible int) {
	var names []string
	for n, x := range s {
		if x.eligible > 0 && x.attempted == 0 {
			names = append(names, n)
		}
	}
	if len(names) == 0 {
		return "", 0
	}
	first := slices.Min(names)
	return first, s[first].eligible
}

// servicePart is what of a service is in a group, and what of it was graded in all.
type servicePart struct {
	service                      string
	met, in, unclear, metUnclear int
	all, graded                  int // of the service, whatever the group
}

// weigh gives every tally of a grouping what it holds of every service. Groups within one service need no weights.
func (f *facts) weigh(g grouping, tallies []*tally, bySubject []cell) {
	services := int64(len(f.names[dimService]))
	if f.strata == nil || services == 0 {
		return
	}
	whole := f.perService(g.criterion, bySubject)
	add := func(t, x *tally, service string) {
		total := whole[[2]string{t.criterion + "\x00" + t.metric, service}]
		t.parts = append(t.parts, servicePart{service: service, met: x.met, in: x.n(), unclear: x.unclear, metUnclear: x.metUnclear, all: total[0], graded: total[1]})
	}
	if place := slices.Index(g.by, dimService); place >= 0 {
		stride := newCounter(f, g).stride[place]
		for _, t := range tallies {
			add(t, t, f.names[dimService][t.index/stride%services])
		}
	} else {
		at := make(map[int64][]*tally, len(tallies))
		for _, t := range tallies {
			at[t.index] = append(at[t.index], t)
		}
		split := grouping{criterion: g.criterion, by: append(slices.Clone(g.by), dimService)}
		for _, x := range f.plainTallies(split, bySubject) {
			for _, t := range at[x.index/services] {
				if t.metric == x.metric {
					add(t, x, f.names[dimService][x.index%services])
				}
			}
		}
	}
	for _, t := range tallies {
		touched := 0
		for _, p := range t.parts {
			if p.in+p.unclear > 0 {
				touched++
			}
		}
		t.strata = f.strata
		t.weighted = touched > 1 || len(g.by) == 0 && t.n() > 0
	}
}

// perService counts all units and the graded ones of every service: sessions, or verdicts on a criterion.
func (f *facts) perService(criterion bool, bySubject []cell) map[[2]string][2]int {
	out := map[[2]string][2]int{}
	for _, t := range f.plainTallies(grouping{criterion: criterion, by: []dimension{dimService}}, bySubject) {
		service := t.group
		if criterion {
			service = f.names[dimService][t.index%int64(len(f.names[dimService]))]
		}
		all := t.attempted() + t.other
		out[[2]string{t.criterion + "\x00" + t.metric, service}] = [2]int{all, all - t.ungraded}
	}
	return out
}

// size is how many units a service has. A session may hold several, such as skills: there are as many more of them as of sessions.
func (s *runStratum) size(p *servicePart) int {
	return max(int(math.Round(float64(s.eligible)/float64(s.attempted)*float64(p.all))), p.graded)
}

// domain is the tally as a stratified sample. met and in say what of a part counts.
func (t *tally) domain(met, in func(p *servicePart) int) []stats.DomainStratum {
	out := make([]stats.DomainStratum, 0, len(t.parts))
	for i := range t.parts {
		p := &t.parts[i]
		s := t.strata[p.service]
		if s == nil || s.attempted == 0 || p.all == 0 {
			continue
		}
		out = append(out, stats.DomainStratum{Size: s.size(p), Sampled: p.graded, In: in(p), Met: met(p)})
	}
	return out
}

// estimate is the rate of a tally with its interval: weighted where the run drew of every service and the group holds several. The error is
// a [stats.UndefinedError] where there is no such rate.
func (t *tally) estimate(level float64) (stats.Estimate, error) {
	if !t.weighted {
		return stats.RateEstimate(t.met, t.n(), level)
	}
	if name, eligible := t.strata.unreached(); eligible > 0 {
		return stats.Estimate{}, &stats.UndefinedError{Func: "estimate", Reason: fmt.Sprintf("none of the %d eligible sessions of service %s was judged", eligible, dash(printable(name, 64)))}
	}
	domain := t.domain(func(p *servicePart) int { return p.met }, func(p *servicePart) int { return p.in })
	for i := range domain {
		if domain[i].Sampled == 0 {
			return stats.Estimate{}, &stats.UndefinedError{Func: "estimate", Reason: "nothing of a service could be graded"}
		}
	}
	return stats.StratifiedDomain(domain, level)
}

// weightedBounds are bounds of a weighted rate; they have no level.
func (t *tally) weightedBounds() (worst, best *float64) {
	total := func(p *servicePart) int { return p.in + p.unclear }
	low, err1 := stats.StratifiedDomain(t.domain(func(p *servicePart) int { return p.met - p.metUnclear }, total), 0.95)
	high, err2 := stats.StratifiedDomain(t.domain(func(p *servicePart) int { return p.met + p.unclear }, total), 0.95)
	if err1 != nil || err2 != nil {
		return nil, nil
	}
	return new(low.Value), new(high.Value)
}

// weightedRows are the aggregates of a weighted tally: the interval that knows the design, and for safety one that never covers less than
// it says.
func (t *tally) weightedRows(base schema.Aggregate, level float64) ([]schema.Aggregate, error) {
	row := base
	row.Primary, row.Reason, row.Method = true, weightedReason, stats.MethodStratified
	row.Worst, row.Best = t.weightedBounds()
	est, err := t.estimate(level)
	if undefined, ok := asUndefined(err); ok {
		row.Estimate, row.Reason = nil, weightedReason+"; "+undefined.Reason
		if est.Value > 0 || est.SE > 0 || strings.Contains(undefined.Reason, "one sampled unit") {
			row.Estimate = new(est.Value)
		}
		return []schema.Aggregate{row}, nil
	}
	if err != nil {
		return nil, err
	}
	row.Estimate, row.Low, row.High, row.Method = new(est.Value), new(est.Interval.Low), new(est.Interval.High), est.Interval.Method
	if est.Interval.Reason != "" {
		row.Reason += "; " + est.Interval.Reason
	}
	rows := []schema.Aggregate{row}
	if !t.safety || est.Interval.Method == stats.MethodCensus {
		return rows, nil
	}
	iv, err := stats.KornGraubard(est, level)
	if err != nil {
		return nil, err
	}
	exact := row
	exact.Primary, exact.Low, exact.High, exact.Method, exact.Reason = false, new(iv.Low), new(iv.High), iv.Method, weightedReason
	return append(rows, exact), nil
}

// fillWeightedMean is the mean of the scores on a criterion, by service, in which every service counts by its eligible sessions.
func (f *facts) fillWeightedMean(row *schema.Aggregate, scores map[string][]float64, whole map[[2]string][2]int) error {
	row.Method, row.Reason = "none", weightedReason
	if name, eligible := f.strata.unreached(); eligible > 0 {
		row.Reason += fmt.Sprintf("; none of the %d eligible sessions of service %s was judged", eligible, dash(printable(name, 64)))
		return nil
	}
	var rate []stats.DomainStratum
	var mean []stats.ScoreStratum
	proportion := true
	for _, name := range slices.Sorted(maps.Keys(scores)) {
		s, total := f.strata[name], whole[[2]string{row.Criterion + "\x00" + metricMetRate, name}]
		if s == nil || s.attempted == 0 || total[0] == 0 {
			continue
		}
		part := servicePart{all: total[0], graded: total[1], in: len(scores[name])}
		for _, v := range scores[name] {
			if v == 1 {
				part.met++
			}
			proportion = proportion && (v == 0 || v == 1)
		}
		size := s.size(&part)
		rate = append(rate, stats.DomainStratum{Size: size, Sampled: part.graded, In: part.in, Met: part.met})
		mean = append(mean, stats.ScoreStratum{Size: size, Sampled: part.graded, Values: scores[name]})
	}
	estimate := func() (stats.Estimate, error) { return stats.StratifiedMean(mean, row.Level) }
	if proportion {
		estimate = func() (stats.Estimate, error) { return stats.StratifiedDomain(rate, row.Level) }
	}
	est, err := estimate()
	undefined, isUndefined := asUndefined(err)
	if err != nil && !isUndefined {
		return err
	}
	if err == nil || est.Value > 0 {
		row.Estimate = new(est.Value)
	}
	if isUndefined {
		row.Reason += "; " + undefined.Reason
		return nil
	}
	row.Method, row.Low, row.High = est.Interval.Method, new(max(est.Interval.Low, 0)), new(min(est.Interval.High, 1))
	if est.Interval.Reason != "" {
		row.Reason += "; " + est.Interval.Reason
	}
	return nil
}

// without is what of the whole is not in part. Both are of one run and one metric.
func (t *tally) without(part *tally) *tally {
	rest := &tally{by: t.by, criterion: t.criterion, metric: t.metric, safety: t.safety, strata: t.strata, weighted: t.weighted,
		met: t.met - part.met, notMet: t.notMet - part.notMet, parts: slices.Clone(t.parts)}
	for i := range rest.parts {
		p := &rest.parts[i]
		for _, q := range part.parts {
			if q.service == p.service {
				p.met, p.in = p.met-q.met, p.in-q.in
			}
		}
	}
	return rest
}

// difference is how two rates differ.
type difference struct {
	value    float64
	interval stats.Interval
	test     stats.Test
	rate     float64 // of both together
	n, nThen float64 // observations that the two amount to
}

// differenceTo sets t beside another, independent group. Rates that need no weights are compared by their counts.
func (t *tally) differenceTo(old *tally, level float64) (d difference, err error) {
	if !t.weighted && !old.weighted {
		d.value = float64(t.met)/float64(t.n()) - float64(old.met)/float64(old.n())
		d.rate, d.n, d.nThen = float64(t.met+old.met)/float64(t.n()+old.n()), float64(t.n()), float64(old.n())
		if d.interval, err = stats.NewcombeDifference(t.met, t.n(), old.met, old.n(), level); err != nil {
			return d, err
		}
		d.test, err = stats.CompareRates(t.met, t.n(), old.met, old.n())
		return d, err
	}
	now, err := t.estimate(level)
	if err != nil {
		return d, err
	}
	then, err := old.estimate(level)
	if err != nil {
		return d, err
	}
	d.value, d.n, d.nThen = now.Value-then.Value, now.Effective, then.Effective
	d.rate = (now.Value*d.n + then.Value*d.nThen) / (d.n + d.nThen)
	d.interval, d.test, err = stats.EstimatesDifference(now, then, level)
	return d, err
}

// atLeast is what a rate is at least, with confidence level.
func (t *tally) atLeast(est stats.Estimate, level float64) (float64, error) {
	if t.weighted {
		return stats.KornGraubardLower(est, level)
	}
	return stats.ClopperPearsonLower(t.met, t.n(), level)
}

// valueOr is a bound, or the widest where there is none.
func valueOr(v *float64, widest float64) float64 {
	if v == nil {
		return widest
	}
	return *v
}
