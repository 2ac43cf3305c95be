package pipeline

import (
	"maps"
	"slices"
	"strings"
)

// metrics of the aggregates.
const (
	metricPassed  = "passed"
	metricSafe    = "safe"
	metricMetRate = "met_rate"
)

// grouping is one way to divide a run: by none, one or more dimensions, with or without the criterion. Without it sessions are
// counted (passed, safe), with it verdicts (met_rate).
type grouping struct {
	criterion bool
	by        []dimension
}

const overallGroup = "overall"

// String is the column group_by.
func (g grouping) String() string {
	var parts []string
	if g.criterion {
		parts = append(parts, "criterion")
	}
	for _, d := range g.by {
		parts = append(parts, d.String())
	}
	if len(parts) == 0 {
		return overallGroup
	}
	return strings.Join(parts, "_")
}

// defaultGroupings are those of every run: overall, every dimension, criteria, and the pairs that people ask for first.
func defaultGroupings() []grouping {
	all := []grouping{{}, {criterion: true}, {criterion: true, by: []dimension{dimService}}, {by: []dimension{dimSkill, dimService}}}
	for d := range dimension(dimensions) {
		all = append(all, grouping{by: []dimension{d}})
	}
	return all
}

// maxGroupingParts keeps groups large enough to say something of.
const maxGroupingParts = 3

// parseGrouping reads one further pair of --group-by, such as criterion+skill or agent+model.
func parseGrouping(s string) (grouping, error) {
	var g grouping
	parts := strings.Split(s, "+")
	if len(parts) > maxGroupingParts {
		return g, usagef("--group-by %q: want at most %d parts", s, maxGroupingParts)
	}
	known := append([]string{"criterion"}, dimensionNames[:]...)
	for i, p := range parts {
		at := slices.Index(dimensionNames[:], p)
		switch {
		case p == "criterion" && i == 0:
			g.criterion = true
		case p == "criterion":
			return g, usagef("--group-by %q: criterion comes first", s)
		case at < 0:
			return g, usagef("--group-by %q: no such group: %s", p, suggest(p, known))
		case slices.Contains(g.by, dimension(at)):
			return g, usagef("--group-by %q: %s stands there twice", s, p)
		default:
			g.by = append(g.by, dimension(at))
		}
	}
	return g, nil
}

// chosenGroupings are the default ones and those that the configuration adds.
func chosenGroupings(extra []string) ([]grouping, error) {
	all := defaultGroupings()
	seen := map[string]bool{}
	for _, g := range all {
		seen[g.String()] = true
	}
	for _, s := range extra {
		g, err := parseGrouping(s)
		if err != nil {
			return nil, err
		}
		if !seen[g.String()] {
			seen[g.String()] = true
			all = append(all, g)
		}
	}
	return all, nil
}

// groupSlash is how a slash in a name is written where it would be taken for the one between two names.
var groupSlash = strings.NewReplacer("%", "%25", "/", "%2F")

// joinGroup is the column group: the names with slashes between, those in the last of them left as they are.
func joinGroup(names []string) string {
	if len(names) == 0 {
		return ""
	}
	var b strings.Builder
	for _, n := range names[:len(names)-1] {
		b.WriteString(groupSlash.Replace(n))
		b.WriteByte('/')
	}
	b.WriteString(names[len(names)-1])
	return b.String()
}

// tally counts one metric of one group.
type tally struct {
	by, group, criterion, metric string
	safety                       bool
	index                        int64 // of the group, for one and the same grouping of one run

	met, notMet, notApplicable, unclear, ungraded, undecided int
	metUnclear                                               int // of met, those that an unclear verdict could turn
	other                                                    int // graded, and counted nowhere

	strata   strata        // of the run, where it drew a sample of every service
	parts    []servicePart // then: what of every service is in the group
	weighted bool          // the group holds several services of such a run
}

// n is the denominator.
func (t *tally) n() int { return t.met + t.notMet }

// attempted is everything that was to be graded.
func (t *tally) attempted() int { return t.n() + t.notApplicable + t.unclear + t.ungraded }

// ungradedShare is the share of what was to be graded and was not; 0 of 0 is 0.
func (t *tally) ungradedShare() float64 {
	if t.ungraded == 0 {
		return 0
	}
	return float64(t.ungraded) / float64(t.attempted())
}

// counter counts the groups of one grouping. Cells are dense while they are few.
type counter struct {
	f       *facts
	g       grouping
	stride  []int64 // of each dimension in by
	size    int64   // cells without the criterion
	dense   []cell
	sparse  map[int64]*cell
	scratch []int64
}

// cell is the counts of one group: of verdicts, or of passed and of safe.
type cell struct {
	verdicts             [results]int32
	passed, safe         [results]int32
	undecided            int32
	passedTurn, safeTurn int32 // met, with an unclear verdict
}

// maxDenseCells bounds the memory of a counter without a map: about 90 bytes a cell.
const maxDenseCells = 1 << 18

func newCounter(f *facts, g grouping) *counter {
	c := &counter{f: f, g: g, size: 1, stride: make([]int64, len(g.by))}
	for i := len(g.by) - 1; i >= 0; i-- {
		c.stride[i] = c.size
		c.size *= int64(len(f.names[g.by[i]]))
	}
	cells := c.size
	if g.criterion {
		cells *= int64(len(f.criteria))
	}
	if cells <= maxDenseCells {
		c.dense = make([]cell, cells)
	} else {
		c.sparse = map[int64]*cell{}
	}
	return c
}

func (c *counter) at(i int64) *cell {
	if c.dense != nil {
		return &c.dense[i]
	}
	x := c.sparse[i]
	if x == nil {
		x = new(cell)
		c.sparse[i] = x
	}
	return x
}

// cellsOf are the cells that a combo counts in: one for each combination of its groups. The result is lent.
func (c *counter) cellsOf(groups *combo) []int64 {
	cells := append(c.scratch[:0], 0)
	for i, d := range c.g.by {
		m, n := groups[d], len(cells)
		for _, id := range m[1:] {
			for _, have := range cells[:n] {
				cells = append(cells, have+int64(id)*c.stride[i])
			}
		}
		for j := range cells[:n] {
			cells[j] += int64(m[0]) * c.stride[i]
		}
	}
	c.scratch = cells
	return cells
}

// count counts everything once. bySubject are the counts of subjects by combo.
func (c *counter) count(bySubject []cell) {
	for i := range c.f.combos {
		for _, at := range c.cellsOf(&c.f.combos[i]) {
			if !c.g.criterion {
				if bySubject[i] != (cell{}) {
					c.at(at).add(&bySubject[i])
				}
				continue
			}
			for k, counts := range c.f.counts {
				if counts[i] == (verdictCount{}) {
					continue
				}
				x := c.at(int64(k)*c.size + at)
				for r, n := range counts[i] {
					x.verdicts[r] += n
				}
			}
		}
	}
}

func (x *cell) add(y *cell) {
	for r := range x.passed {
		x.passed[r] += y.passed[r]
		x.safe[r] += y.safe[r]
	}
	x.undecided += y.undecided
	x.passedTurn += y.passedTurn
	x.safeTurn += y.safeTurn
}

// bySubject counts passed and safe of the subjects of every combo.
func (f *facts) bySubject() []cell {
	out := make([]cell, len(f.combos))
	for i := range f.subjects {
		s := &f.subjects[i]
		x := &out[s.combo]
		x.passed[s.passed]++
		x.safe[s.safe]++
		if s.undecided {
			x.undecided++
		}
		if s.turns&turnsPassed != 0 && s.passed == resultMet {
			x.passedTurn++
		}
		if s.turns&turnsSafe != 0 && s.safe == resultMet {
			x.safeTurn++
		}
	}
	return out
}

// tallies are the groups of one grouping that hold anything, in order of their names.
func (f *facts) tallies(g grouping, bySubject []cell) []*tally {
	out := f.plainTallies(g, bySubject)
	f.weigh(g, out, bySubject)
	return out
}

// plainTallies are tallies that do not know how the run was drawn.
func (f *facts) plainTallies(g grouping, bySubject []cell) []*tally {
	c := newCounter(f, g)
	c.count(bySubject)
	var out []*tally
	each := func(i int64, x *cell) {
		if *x == (cell{}) && !(len(g.by) == 0 && !g.criterion) { // overall exists also where nothing was graded: 0 of 0, not a gap
			return
		}
		group, criterion := c.name(i)
		if g.criterion {
			t := &tally{by: g.String(), group: group, criterion: f.criteria[criterion].id, metric: metricMetRate, safety: f.criteria[criterion].safety, index: i}
			t.set(&x.verdicts)
			out = append(out, t)
			return
		}
		passed := &tally{by: g.String(), group: group, metric: metricPassed, index: i, undecided: int(x.undecided), metUnclear: int(x.passedTurn)}
		safe := &tally{by: g.String(), group: group, metric: metricSafe, safety: true, index: i, undecided: int(x.undecided), metUnclear: int(x.safeTurn)}
		passed.set(&x.passed)
		safe.set(&x.safe)
		out = append(out, passed, safe)
	}
	if c.dense != nil {
		for i := range c.dense {
			each(int64(i), &c.dense[i])
		}
		return out
	}
	for _, i := range slices.Sorted(maps.Keys(c.sparse)) {
		each(i, c.sparse[i])
	}
	return out
}

// name is the column group of a cell, and its criterion.
func (c *counter) name(i int64) (group string, criterion int) {
	var names []string
	if c.g.criterion {
		criterion = int(i / c.size)
		names = append(names, c.f.criteria[criterion].id)
	}
	rest := i % c.size
	for j, d := range c.g.by {
		names = append(names, c.f.names[d][rest/c.stride[j]])
		rest %= c.stride[j]
	}
	return joinGroup(names), criterion
}

func (t *tally) set(n *[results]int32) {
	t.met, t.notMet, t.notApplicable = int(n[resultMet]), int(n[resultNotMet]), int(n[resultNotApplicable])
	t.unclear, t.ungraded, t.other = int(n[resultUnclear]), int(n[resultUngraded]), int(n[resultOther])
}
