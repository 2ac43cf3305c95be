package pipeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/pipeline/stats"
	"github.com/tracejury/tracejury/schema"
)

// Apart is a group whose rate was compared with that of all that is not in it.
type Apart struct {
	GroupBy    string  `json:"group_by"`
	Group      string  `json:"group"`
	Criterion  string  `json:"criterion,omitempty"`
	Metric     string  `json:"metric"`
	Met        int     `json:"met"`
	N          int     `json:"n"`
	RestMet    int     `json:"rest_met"`
	RestN      int     `json:"rest_n"`
	Difference float64 `json:"difference"` // of the group's rate and that of the rest
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
	Method     string  `json:"method"`
	P          float64 `json:"p"`
	AdjustedP  float64 `json:"adjusted_p"`
	Test       string  `json:"test"`
	Correction string  `json:"correction"` // holm for safety, benjamini_hochberg for lists
	Compared   int     `json:"compared"`   // groups among which AdjustedP holds
	Flagged    bool    `json:"flagged"`    // AdjustedP is at most 1 − level
}

// Corrections for many comparisons.
const (
	correctionHolm = "holm"
	correctionBH   = "benjamini_hochberg"
)

func correct(safety bool, p []float64) (adjusted []float64, correction string, err error) {
	if safety {
		adjusted, err = stats.Holm(p)
		return adjusted, correctionHolm, err
	}
	adjusted, err = stats.BenjaminiHochberg(p)
	return adjusted, correctionBH, err
}

// apart compares every group with the rest of the run, among the groups of its grouping and metric. Groups of a run without any
// contrast (one group, or nothing to compare with) are left out, and so are those that have no result.
func (n *numbers) apart(level float64) ([]Apart, error) {
	var out []Apart
	for i, g := range n.groupings {
		if len(g.by) == 0 {
			continue
		}
		lists := map[string][]Apart{}
		var names []string
		for _, t := range n.tallies[i] {
			whole := n.find(overallGroup, "", t.metric)
			if g.criterion {
				whole = n.find("criterion", t.criterion, t.metric)
			}
			if whole == nil || t.n() == 0 || whole.n() == t.n() || overUngradedLimit(t.ungraded, t.attempted()) {
				continue
			}
			list := t.metric
			if t.safety {
				list += " safety"
			}
			if lists[list] == nil {
				names = append(names, list)
			}
			a, err := t.against(whole, level)
			if _, undefined := asUndefined(err); undefined {
				continue
			}
			if err != nil {
				return nil, err
			}
			lists[list] = append(lists[list], a)
		}
		slices.Sort(names)
		for _, name := range names {
			if err := adjustList(lists[name], strings.HasSuffix(name, " safety"), level); err != nil {
				return nil, err
			}
			out = append(out, lists[name]...)
		}
	}
	slices.SortFunc(out, func(a, b Apart) int {
		return cmp.Or(cmp.Compare(a.AdjustedP, b.AdjustedP), cmp.Compare(a.P, b.P), strings.Compare(a.GroupBy, b.GroupBy), strings.Compare(a.Metric, b.Metric), strings.Compare(a.Group, b.Group))
	})
	return out, nil
}

func (t *tally) against(whole *tally, level float64) (Apart, error) {
	a := Apart{GroupBy: t.by, Group: t.group, Criterion: t.criterion, Metric: t.metric, Met: t.met, N: t.n(), RestMet: whole.met - t.met, RestN: whole.n() - t.n()}
	d, err := t.differenceTo(whole.without(t), level)
	if err != nil {
		return a, fmt.Errorf("compare %s %q with the rest: %w", t.by, t.group, err)
	}
	a.P, a.Test, a.Difference = d.test.P, d.test.Method, d.value
	a.Low, a.High, a.Method = d.interval.Low, d.interval.High, d.interval.Method
	return a, nil
}

func adjustList(list []Apart, safety bool, level float64) error {
	p := make([]float64, len(list))
	for i := range list {
		p[i] = list[i].P
	}
	adjusted, correction, err := correct(safety, p)
	if err != nil {
		return err
	}
	for i := range list {
		list[i].AdjustedP, list[i].Correction, list[i].Compared = adjusted[i], correction, len(list)
		list[i].Flagged = adjusted[i] <= 1-level
	}
	return nil
}

// setApart writes the adjusted p-values beside the intervals of their groups.
func setApart(aggs []schema.Aggregate, list []Apart) {
	p := make(map[[3]string]float64, len(list))
	for _, a := range list {
		p[[3]string{a.GroupBy, a.Group, a.Metric}] = a.AdjustedP
	}
	for i := range aggs {
		a := &aggs[i]
		if v, ok := p[[3]string{a.GroupBy, a.Group, a.Metric}]; ok && a.Primary {
			a.AdjustedP = new(v)
		}
	}
}

// Wished is how many sessions a group would need for an interval of the wished width, at the rate that was seen.
type Wished struct {
	GroupBy string  `json:"group_by"`
	Group   string  `json:"group"`
	Metric  string  `json:"metric"`
	Rate    float64 `json:"rate"`
	N       int     `json:"n"`
	Width   float64 `json:"width"`  // of the interval now
	Wish    float64 `json:"wish"`   // the wished width
	Needed  int     `json:"needed"` // in all; not more than N where the wish is fulfilled
}

// wished plans for the groups of one dimension at most: pairs have no sample of their own.
func (n *numbers) wished(width, level float64) ([]Wished, error) {
	var out []Wished
	for i, g := range n.groupings {
		if g.criterion && len(g.by) > 0 || len(g.by) > 1 {
			continue
		}
		for _, t := range n.tallies[i] {
			if t.n() == 0 {
				continue
			}
			est, err := t.estimate(level)
			if _, undefined := asUndefined(err); undefined {
				continue
			}
			if err != nil {
				return nil, err
			}
			rate, iv := est.Value, est.Interval
			needed, err := stats.RequiredForWidth(rate, width, level)
			if err != nil {
				return nil, err
			}
			out = append(out, Wished{t.by, t.group, t.metric, rate, t.n(), iv.Width(), width, needed})
		}
	}
	return out, nil
}
