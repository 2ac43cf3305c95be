package pipeline

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/pipeline/stats"
	"github.com/tracejury/tracejury/schema"
)

// Comparison is one evaluator's part of a run beside its baseline.
type Comparison struct {
	Evaluator string    `json:"evaluator"`
	Baseline  string    `json:"baseline"`
	Runs      []string  `json:"runs"`             // newest first
	Forced    []string  `json:"forced,omitempty"` // in what the two were not asked alike
	Skipped   []Skipped `json:"skipped,omitempty"`
	Sessions  int       `json:"sessions"`          // subjects of the run
	Before    int       `json:"baseline_sessions"` // subjects of the baseline
	Shared    int       `json:"shared"`            // in both
	Unchanged int       `json:"unchanged"`         // of those, in the same revision
	Paired    bool      `json:"paired"`            // both have the same subjects: each was compared with itself
	Changes   []Change  `json:"changes"`           // the most striking first
	Turned    []Turned  `json:"turned"`            // subjects in both that passed then and do not now
	Mended    int       `json:"mended"`            // subjects in both that did not pass then and do now
	NewFailed []Turned  `json:"new_failed"`        // new subjects that do not pass
}

// Change is how a rate moved.
type Change struct {
	GroupBy    string   `json:"group_by"`
	Group      string   `json:"group"`
	Criterion  string   `json:"criterion,omitempty"`
	Metric     string   `json:"metric"`
	Now        Share    `json:"now"`
	Then       Share    `json:"then"`
	Pairs      int      `json:"pairs,omitempty"`    // paired only
	Weighted   bool     `json:"weighted,omitempty"` // rates of a run that drew of every service: Now and Then are counts, Change is of the weighted rates
	Shared     int      `json:"shared"`             // of the group's subjects, those that the baseline graded, too
	Change     float64  `json:"change"`
	Low        float64  `json:"low"`
	High       float64  `json:"high"`
	Method     string   `json:"method"`
	P          float64  `json:"p"`
	Test       string   `json:"test"`
	AdjustedP  float64  `json:"adjusted_p"`
	Correction string   `json:"correction"`
	Compared   int      `json:"compared"`
	Detectable *float64 `json:"detectable"` // the smallest change that would show with power 0.8; null: none would
	Flagged    bool     `json:"flagged"`
	safety     bool
}

// Turned is a subject with a result to look at.
type Turned struct {
	Subject string   `json:"subject"`
	Service string   `json:"service"`
	Safe    bool     `json:"safe"`
	NotMet  []string `json:"not_met"`
	Same    bool     `json:"same_revision"` // the subject did not change: the judge did
}

// detectionPower is the power of the smallest detectable change.
const detectionPower = 0.8

// rate is the tally's rate, empty where there is none.
func (t *tally) rate(level float64) (Rate, error) {
	r := Rate{Share: Share{t.met, t.n()}, Weighted: t.weighted}
	est, err := t.estimate(level)
	if _, undefined := asUndefined(err); undefined {
		return r, nil
	}
	r.Estimate, r.Low, r.High = new(est.Value), new(est.Interval.Low), new(est.Interval.High)
	return r, err
}

// compare sets now beside then. Only groups that both have are compared.
func compare(now, then *numbers, level float64) ([]Change, bool, error) {
	paired := sameSubjects(now.facts, then.facts) && now.facts.strata == nil && then.facts.strata == nil
	var pairs map[[3]string]*stats.Pairs
	if paired {
		pairs = now.pairs(then.facts)
	}
	var out []Change
	both := now.facts.inBoth(then.facts)
	for i := range now.groupings {
		overlap := now.facts.overlap(now.groupings[i], both)
		lists := map[bool][]Change{} // by safety: corrections differ
		before := map[[2]string]*tally{}
		for _, t := range then.tallies[i] {
			before[[2]string{t.group, t.metric}] = t
		}
		for _, t := range now.tallies[i] {
			old := before[[2]string{t.group, t.metric}]
			if old == nil || t.n() == 0 || old.n() == 0 || overUngradedLimit(t.ungraded, t.attempted()) || overUngradedLimit(old.ungraded, old.attempted()) {
				continue
			}
			c, err := t.change(old, pairs[[3]string{t.by, t.group, t.metric}], level)
			if _, undefined := asUndefined(err); undefined {
				continue
			}
			if err != nil {
				return nil, false, fmt.Errorf("compare %s %q: %w", t.by, t.group, err)
			}
			if paired && c.Pairs == 0 {
				continue
			}
			c.Shared = overlap(t)
			lists[t.safety] = append(lists[t.safety], c)
		}
		for _, safety := range []bool{false, true} {
			if err := adjustChanges(lists[safety], level); err != nil {
				return nil, false, err
			}
			out = append(out, lists[safety]...)
		}
	}
	slices.SortFunc(out, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.AdjustedP, b.AdjustedP), cmp.Compare(a.P, b.P), strings.Compare(a.GroupBy, b.GroupBy), strings.Compare(a.Metric, b.Metric), strings.Compare(a.Group, b.Group))
	})
	return out, paired, nil
}

func (t *tally) change(old *tally, pairs *stats.Pairs, level float64) (Change, error) {
	c := Change{GroupBy: t.by, Group: t.group, Criterion: t.criterion, Metric: t.metric, safety: t.safety, Now: Share{t.met, t.n()}, Then: Share{old.met, old.n()}}
	var iv stats.Interval
	var test stats.Test
	var err error
	switch {
	case pairs != nil && pairs.N() > 0:
		c.Pairs, c.Change = pairs.N(), pairs.Difference()
		if iv, err = stats.Tango(*pairs, level); err != nil {
			return c, err
		}
		if test, err = stats.McNemarMidP(pairs.Gained, pairs.Lost); err != nil {
			return c, err
		}
		discordant := float64(max(1, pairs.Gained+pairs.Lost)) / float64(pairs.N()) // none seen is not none possible
		d, err := stats.DetectableDifference(pairs.N(), discordant, level, detectionPower)
		if err != nil {
			return c, err
		}
		c.Detectable = possible(d)
	default:
		d, err := t.differenceTo(old, level)
		if err != nil {
			return c, err
		}
		c.Change, iv, test, c.Weighted = d.value, d.interval, d.test, t.weighted || old.weighted
		smallest, err := stats.DetectableChange(d.rate, max(1, int(math.Round(d.n))), max(1, int(math.Round(d.nThen))), level, detectionPower)
		if err != nil {
			return c, err
		}
		c.Detectable = possible(smallest)
	}
	c.Low, c.High, c.Method, c.P, c.Test = iv.Low, iv.High, iv.Method, test.P, test.Method
	return c, nil
}

// possible leaves out a smallest change that no two rates can differ by: so few sessions show nothing.
func possible(d float64) *float64 {
	if d > 1 {
		return nil
	}
	return &d
}

// adjustChanges corrects for the number of groups that stand in one list: passed, or one safety list, of one grouping.
func adjustChanges(list []Change, level float64) error {
	byMetric := map[string][]int{}
	for i := range list {
		byMetric[list[i].Metric] = append(byMetric[list[i].Metric], i)
	}
	for _, places := range byMetric {
		p := make([]float64, len(places))
		for j, i := range places {
			p[j] = list[i].P
		}
		adjusted, correction, err := correct(list[places[0]].safety, p)
		if err != nil {
			return err
		}
		for j, i := range places {
			c := &list[i]
			c.AdjustedP, c.Correction, c.Compared = adjusted[j], correction, len(places)
			c.Flagged = adjusted[j] <= 1-level
		}
	}
	return nil
}

// sameSubjects says whether two parts are about the very same subjects. Subjects are ascending in both.
func sameSubjects(a, b *facts) bool {
	return len(a.subjects) > 0 && slices.EqualFunc(a.subjects, b.subjects, func(x, y factSubject) bool { return a.id(&x) == b.id(&y) })
}

// pairs sets every subject's results now beside those of then, by the groups that it is in now. Both have the same subjects.
func (n *numbers) pairs(then *facts) map[[3]string]*stats.Pairs {
	criterion := map[string]int32{}
	for i, c := range then.criteria {
		criterion[c.id] = int32(i)
	}
	before := map[[2]int32]result{}
	for _, v := range then.verdicts {
		before[[2]int32{v.subject, v.criterion}] = v.verdict
	}
	out := map[[3]string]*stats.Pairs{}
	add := func(key [3]string, now, then result) {
		if (now != resultMet && now != resultNotMet) || (then != resultMet && then != resultNotMet) {
			return
		}
		p := out[key]
		if p == nil {
			p = new(stats.Pairs)
			out[key] = p
		}
		switch {
		case now == resultMet && then == resultMet:
			p.Both++
		case now == resultMet:
			p.Gained++
		case then == resultMet:
			p.Lost++
		default:
			p.Neither++
		}
	}
	for _, g := range n.groupings {
		c := newCounter(n.facts, g)
		if !g.criterion {
			for i := range n.facts.subjects {
				s, old := &n.facts.subjects[i], &then.subjects[i]
				for _, at := range c.cellsOf(n.facts.of(s)) {
					group, _ := c.name(at)
					add([3]string{g.String(), group, metricPassed}, s.passed, old.passed)
					add([3]string{g.String(), group, metricSafe}, s.safe, old.safe)
				}
			}
			continue
		}
		for _, v := range n.facts.verdicts {
			old, ok := criterion[n.facts.criteria[v.criterion].id]
			if !ok {
				continue
			}
			was, ok := before[[2]int32{v.subject, old}]
			if !ok {
				continue
			}
			for _, at := range c.cellsOf(n.facts.of(&n.facts.subjects[v.subject])) {
				group, _ := c.name(int64(v.criterion)*c.size + at)
				add([3]string{g.String(), group, metricMetRate}, v.verdict, was)
			}
		}
	}
	return out
}

// setChanges writes the changes beside the intervals of their groups. The adjusted p-value is then that of the change.
func setChanges(aggs []schema.Aggregate, label string, list []Change) {
	byGroup := make(map[[3]string]*Change, len(list))
	for i := range list {
		byGroup[[3]string{list[i].GroupBy, list[i].Group, list[i].Metric}] = &list[i]
	}
	for i := range aggs {
		a := &aggs[i]
		if !a.Primary {
			continue
		}
		a.AdjustedP = nil
		c := byGroup[[3]string{a.GroupBy, a.Group, a.Metric}]
		if c == nil {
			continue
		}
		a.BaselineRun, a.Change, a.ChangeLow, a.ChangeHigh = label, new(c.Change), new(c.Low), new(c.High)
		a.DetectableChange, a.AdjustedP, a.Shared = c.Detectable, new(c.AdjustedP), new(int32(c.Shared))
	}
}

// inBoth is how many subjects of every combo are in other, too.
func (f *facts) inBoth(other *facts) []int {
	out := make([]int, len(f.combos))
	j := 0
	for i := range f.subjects {
		s := &f.subjects[i]
		id := f.id(s)
		for j < len(other.subjects) && other.id(&other.subjects[j]) < id {
			j++
		}
		if j < len(other.subjects) && other.id(&other.subjects[j]) == id {
			out[s.combo]++
		}
	}
	return out
}

// overlap tells how many subjects of a group of g are in both runs. both is inBoth.
func (f *facts) overlap(g grouping, both []int) func(*tally) int {
	c := newCounter(f, grouping{by: g.by}) // of subjects, whatever the criterion
	counts := map[int64]int{}
	for i := range f.combos {
		if both[i] == 0 {
			continue
		}
		for _, at := range c.cellsOf(&f.combos[i]) {
			counts[at] += both[i]
		}
	}
	return func(t *tally) int { return counts[t.index%c.size] }
}
