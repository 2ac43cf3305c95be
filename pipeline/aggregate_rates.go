package pipeline

import (
	"slices"
	"strings"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/pipeline/stats"
	"github.com/tracejury/tracejury/schema"
)

// ungradedLimit is the share of ungraded subjects above which a group has no result. Exactly this share is allowed.
const ungradedLimit = 0.10

func overUngradedLimit(ungraded, sampled int) bool {
	return float64(ungraded) > ungradedLimit*float64(sampled)
}

// tally counts the verdicts of one group and criterion, or the results of one group and metric.
type tally struct {
	group, by, criterion, metric string
	safety                       bool

	met, notMet, notApplicable, unclear, ungraded, undecided int
	metUnclear                                               int // of met, those that an unclear verdict could turn
}

func (t *tally) n() int { return t.met + t.notMet }

// aggregateRun computes every number of one evaluator's part of a run.
func aggregateRun(d *runData, level float64) ([]schema.Aggregate, error) {
	var out []schema.Aggregate
	for _, t := range tallies(d) {
		rows, err := t.aggregates(d.run, level)
		if err != nil {
			return nil, err
		}
		out = append(out, rows...)
	}
	slices.SortFunc(out, func(a, b schema.Aggregate) int { return a.Compare(b) })
	return out, nil
}

// tallies counts all groups: overall and by service for passed and safe; by criterion, and criterion and service, for verdicts.
func tallies(d *runData) []*tally {
	byKey := map[[4]string]*tally{}
	var order []*tally
	at := func(by, group, criterion, metric string) *tally {
		k := [4]string{by, group, criterion, metric}
		if byKey[k] == nil {
			byKey[k] = &tally{by: by, group: group, criterion: criterion, metric: metric}
			order = append(order, byKey[k])
		}
		return byKey[k]
	}
	// The overall rows exist also where nothing was graded: a reader sees 0 of 0, not a gap.
	at("overall", "", "", "passed")
	at("overall", "", "", "safe")
	unclear := map[string][2]bool{} // subject ─► any unclear verdict; any among safety
	for _, v := range d.verdicts {
		if v.Verdict == string(judge.Unclear) {
			u := unclear[v.Subject]
			unclear[v.Subject] = [2]bool{true, u[1] || v.Safety}
		}
		for _, t := range []*tally{at("criterion", v.Criterion, v.Criterion, "met_rate"), at("criterion_service", v.Criterion+"/"+v.Service, v.Criterion, "met_rate")} {
			t.safety = v.Safety
			t.addVerdict(judge.Verdict(v.Verdict))
		}
	}
	for _, g := range d.grades {
		for _, t := range []*tally{at("overall", "", "", "passed"), at("service", g.Service, "", "passed")} {
			t.addResult(g, g.Pass, unclear[g.Subject][0])
		}
		for _, t := range []*tally{at("overall", "", "", "safe"), at("service", g.Service, "", "safe")} {
			t.addResult(g, g.Safe, unclear[g.Subject][1])
			t.safety = true
		}
	}
	return order
}

func (t *tally) addVerdict(v judge.Verdict) {
	switch v {
	case judge.Met:
		t.met++
	case judge.NotMet:
		t.notMet++
	case judge.NotApplicable:
		t.notApplicable++
	case judge.Unclear:
		t.unclear++
	case judge.Ungraded:
		t.ungraded++
	}
}

func (t *tally) addResult(g schema.Grade, result *bool, unclear bool) {
	switch {
	case g.State != "graded":
		t.ungraded++
	case result == nil:
		t.notApplicable++
	case *result:
		t.met++
		if unclear {
			t.metUnclear++
		}
	default:
		t.notMet++
	}
	if g.Undecided {
		t.undecided++
	}
}

// aggregates makes the rows of one tally: Wilson first, the exact bootstrap beside it, Clopper–Pearson for safety.
func (t *tally) aggregates(run schema.Run, level float64) ([]schema.Aggregate, error) {
	base := schema.Aggregate{
		RunID: run.RunID, Evaluator: run.Evaluator, GroupBy: t.by, Group: t.group, Criterion: t.criterion, Metric: t.metric, Level: level,
		N: int32(t.n()), Met: int32(t.met), NotMet: int32(t.notMet), NotApplicable: int32(t.notApplicable), Unclear: int32(t.unclear),
		Ungraded: int32(t.ungraded), Undecided: int32(t.undecided),
	}
	base.NoResult = overUngradedLimit(t.ungraded, t.n()+t.notApplicable+t.unclear+t.ungraded)
	if t.n() > 0 {
		base.Estimate = new(float64(t.met) / float64(t.n()))
	}
	if total := t.n() + t.unclear; total > 0 {
		base.Worst = new(float64(t.met-t.metUnclear) / float64(total))
		base.Best = new(float64(t.met+t.unclear) / float64(total))
	}
	methods := []func(k, n int, level float64) (stats.Interval, error){stats.Wilson, stats.BootstrapProportion}
	if t.safety {
		methods = append(methods, stats.ClopperPearson)
	}
	var rows []schema.Aggregate
	for _, method := range methods {
		iv, err := method(t.met, t.n(), level)
		if err != nil {
			return nil, err
		}
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
	if rows[0].Reason == "" && run.Sampled > 0 && run.Sampled == run.Eligible {
		rows[0].Reason = "census: every eligible session of the window was sampled; the interval is for sessions like these, not for these"
	}
	return rows, nil
}

// splitGroup is the service of a criterion_service group.
func splitGroup(group string) (criterion, service string) {
	criterion, service, _ = strings.Cut(group, "/")
	return criterion, service
}
