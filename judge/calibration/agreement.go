package calibration

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/tracejury/tracejury/pipeline/stats"
)

// Agreement is how a judge stands beside people on one criterion.
type Agreement struct {
	Confusion [][]int  `json:"confusion"` // [people][judge], in the order of the categories
	Raw       float64  `json:"raw"`       // share of agreement, of items that apply to either
	AC1       float64  `json:"ac1"`
	Low       float64  `json:"ac1_low"` // 95 %, of the raw agreement with the agreement by chance as it was seen
	High      float64  `json:"ac1_high"`
	Kappa     *float64 `json:"kappa"` // null where it does not exist
	KappaLow  *float64 `json:"kappa_low,omitempty"`
	KappaHigh *float64 `json:"kappa_high,omitempty"`
	Unclear   int      `json:"unclear"` // items of which the judge said unclear
	expected  float64  // agreement by chance
	Weighted  bool     `json:"weighted"` // labels were drawn by what the judge said, and weigh as often as it says so
}

// maxMore is where looking for a sufficient number of labels ends.
const maxMore = 10_000

// human compares with people's labels, criterion by criterion.
func human(o Observations, t Thresholds) ([]Check, error) {
	if len(o.Labels) == 0 {
		return []Check{{Check: HumanAgreement, State: Missing, More: t.MinLabels * max(1, len(o.Criteria)), Text: fmt.Sprintf("no labels; want %d for each criterion", t.MinLabels)}}, nil
	}
	var out []Check
	for _, criterion := range union(o.Criteria, slices.Collect(maps.Keys(o.Labels))) {
		c, err := humanOn(o.Labels[criterion], t)
		if err != nil {
			return nil, fmt.Errorf("agreement on %s: %w", criterion, err)
		}
		c.Part = criterion
		out = append(out, c)
	}
	return out, nil
}

// humanOn is the check on one criterion. Items that both say do not apply agree on nothing that the criterion asks: they are left out.
func humanOn(l Labels, t Thresholds) (Check, error) {
	c := Check{Check: HumanAgreement, State: Missing}
	table := l.table()
	met, notMet := 0, 0
	for p, row := range table {
		for j, n := range row {
			if p != int(NotApplicable) || j != int(NotApplicable) {
				c.N += n
			}
		}
	}
	for j := range categories {
		met, notMet = met+table[Met][j], notMet+table[NotMet][j]
	}
	if c.N > 0 {
		var err error
		if c.Agreement, err = l.agreement(table); err != nil {
			return c, err
		}
	}
	aside := l.aside(table)
	switch {
	case c.N < t.MinLabels:
		c.More = t.MinLabels - c.N
		c.Text = fmt.Sprintf("%d labels, want %d%s", c.N, t.MinLabels, aside)
		return c, nil
	case met == 0 || notMet == 0:
		c.Text = fmt.Sprintf("every label is %s: agreement says nothing; label some that are not%s", pick(notMet == 0, "met", "not met"), aside)
		return c, nil
	case c.Agreement == nil:
		c.Text = "what the judge said most has no label: agreement cannot be told" + aside
		return c, nil
	}
	a := c.Agreement
	c.Value, c.Low = &a.AC1, &a.Low
	c.State = state(a.AC1 >= t.MinAgreement && a.Low >= t.MinAgreementLow)
	kappa := "undefined"
	if a.Kappa != nil {
		kappa = fmt.Sprintf("%.2f", *a.Kappa)
		if a.KappaLow != nil {
			kappa += fmt.Sprintf(" (%.2f to %.2f)", *a.KappaLow, *a.KappaHigh)
		}
	}
	verdict := ""
	switch {
	case c.State == Passed:
	case a.AC1 < t.MinAgreement:
		verdict = "; more labels will not mend that: mend the criterion's question and anchors, or take another judge"
	default:
		if c.More = moreLabels(c.N, a, t); c.More > 0 {
			c.State = Missing // neither shown nor refuted
			verdict = fmt.Sprintf("; about %d more labels at this agreement would do", c.More)
		}
	}
	c.Text = fmt.Sprintf("AC1 %.2f (%.2f to %.2f), kappa %s, raw %.2f; want %.2f, lower bound %.2f%s%s", a.AC1, a.Low, a.High, kappa, a.Raw, t.MinAgreement, t.MinAgreementLow, aside, verdict)
	return c, nil
}

// table counts people's categories beside the judge's.
func (l Labels) table() [][]int {
	out := make([][]int, categories)
	for i := range out {
		out[i] = make([]int, categories)
	}
	for i := range l.Judge {
		out[l.People[i]][l.Judge[i]]++
	}
	return out
}

// aside tells what is easily overlooked: verdicts that decided nothing, and what was left out.
func (l Labels) aside(table [][]int) string {
	out := ""
	unclear := 0
	for p := range table {
		unclear += table[p][Unclear]
	}
	if unclear > 0 {
		out += fmt.Sprintf("; of %d the judge said unclear", unclear)
	}
	if n := table[NotApplicable][NotApplicable]; n > 0 {
		out += fmt.Sprintf("; %d that apply to neither left out", n)
	}
	return out
}

// agreement computes the coefficients; nil where what the judge said most has no label.
func (l Labels) agreement(table [][]int) (*Agreement, error) {
	a := &Agreement{Confusion: table, Weighted: l.Population != nil}
	shown := make([][]int, len(table)) // without what applies to neither, each label by its weight
	var strata []stats.DomainStratum
	largest, unseen := 0, 0
	for i := range shown {
		shown[i] = make([]int, len(table))
	}
	for j := range table {
		s := stats.DomainStratum{}
		for p := range table {
			n := table[p][j]
			s.Sampled += n
			if p == int(NotApplicable) && j == p {
				continue
			}
			s.In += n
			if p == j {
				s.Met += n
			}
		}
		if j == int(Unclear) {
			a.Unclear = s.Sampled
		}
		size := s.Sampled
		if l.Population != nil {
			size = max(size, l.Population[Category(j)])
		}
		largest = max(largest, size)
		if s.Sampled == 0 {
			unseen = max(unseen, size)
			continue
		}
		for p := range table {
			if p != int(NotApplicable) || j != p {
				shown[p][j] = int(math.Round(weightScale * float64(table[p][j]) * float64(size) / float64(s.Sampled)))
			}
		}
		s.Size = size * weightScale // as if drawn from many more: the judge is trusted on sessions to come
		strata = append(strata, s)
	}
	if unseen == largest {
		return nil, nil
	}
	ac1, err := stats.GwetAC(stats.Used(shown), stats.Nominal)
	if err != nil {
		if _, undefined := errors.AsType[*stats.UndefinedError](err); undefined {
			return nil, nil
		}
		return nil, err
	}
	raw, err := rawInterval(l, strata, ac1.Observed)
	if err != nil {
		return nil, err
	}
	a.Raw, a.AC1, a.expected = ac1.Observed, ac1.Coefficient, ac1.Expected
	a.Low, a.High = (raw.Low-ac1.Expected)/(1-ac1.Expected), (raw.High-ac1.Expected)/(1-ac1.Expected)
	plain := make([][]int, len(table))
	for p := range table {
		plain[p] = slices.Clone(table[p])
	}
	plain[NotApplicable][NotApplicable] = 0
	if k, err := stats.CohenKappa(plain, stats.Nominal); err == nil {
		a.Kappa = &k.Coefficient
		if k.SE > 0 { // where all agree it would be a point, and say more than is known
			low, high := max(-1, k.Coefficient-1.96*k.SE), min(1, k.Coefficient+1.96*k.SE)
			a.KappaLow, a.KappaHigh = &low, &high
		}
	}
	return a, nil
}

// weightScale keeps three digits of a weight in whole numbers.
const weightScale = 1000

// rawInterval is Wilson's of the raw agreement: of plain counts, or of a sample that was drawn by what the judge said.
func rawInterval(l Labels, strata []stats.DomainStratum, observed float64) (stats.Interval, error) {
	in, met := 0, 0
	for _, s := range strata {
		in, met = in+s.In, met+s.Met
	}
	if l.Population != nil {
		if len(strata) > 1 { // of a category with a single label no spread can be told: it only counts for the value
			strata = slices.DeleteFunc(slices.Clone(strata), func(s stats.DomainStratum) bool { return s.Sampled < 2 })
		}
		if e, err := stats.StratifiedDomain(strata, 0.95); err == nil {
			return e.Interval, nil
		}
		met = int(math.Floor(observed * float64(in)))
	}
	return stats.Wilson(met, in, 0.95)
}

// moreLabels is about how many further labels would lift the lower bound over the threshold, were agreement to stay as it is; 0 where
// none would.
func moreLabels(have int, a *Agreement, t Thresholds) int {
	for n := have + 1; n <= have+maxMore; n++ {
		iv, err := stats.Wilson(int(math.Floor(a.Raw*float64(n))), n, 0.95)
		if err != nil {
			return 0
		}
		if (iv.Low-a.expected)/(1-a.expected) >= t.MinAgreementLow {
			return n - have
		}
	}
	return 0
}

// labelledAs is how many of the items that people gave a category the judge gave it, too, over all criteria: the share that this makes of
// all that labels were drawn from, and its one-sided lower 95 % bound.
func labelledAs(labels map[string]Labels, label Category) (Count, float64, float64, error) {
	var count Count
	var strata []stats.DomainStratum
	for _, criterion := range slices.Sorted(maps.Keys(labels)) {
		l := labels[criterion]
		table := l.table()
		for j := range table {
			s := stats.DomainStratum{In: table[label][j]}
			for p := range table {
				s.Sampled += table[p][j]
			}
			if j == int(label) {
				s.Met = s.In
			}
			count.Of, count.N = count.Of+s.Met, count.N+s.In
			if s.Size = max(s.Sampled, l.Population[Category(j)]) * weightScale; s.Sampled > 0 {
				strata = append(strata, s)
			}
		}
	}
	if count.N == 0 {
		return count, 0, 0, nil
	}
	many := slices.DeleteFunc(slices.Clone(strata), func(s stats.DomainStratum) bool { return s.Sampled < 2 })
	if e, err := stats.StratifiedDomain(many, 0.90); err == nil {
		return count, e.Value, e.Interval.Low, nil
	}
	iv, err := stats.Wilson(count.Of, count.N, 0.90)
	return count, count.rate(), iv.Low, err
}
