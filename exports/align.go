package exports

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/tracejury/tracejury/judge"
)

var snakeCase = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// ReasonMissing is the ungraded reason of a criterion of which a session holds no verdict.
const ReasonMissing = "missing_verdict"

// Check says whether a verdict is one: a known word, and a score in 0 to 1 exactly where it is scored; an item below a criterion may
// have a label alone.
func (c *Criterion) Check() error {
	switch c.Verdict {
	case judge.Met, judge.NotMet, judge.NotApplicable, judge.Unclear, judge.Ungraded:
	case judge.Scored:
		if c.Score == nil && (c.Item == "" || c.Label == "") {
			return fmt.Errorf("criterion %s: scored without a score", Cut(c.ID, 64))
		}
	default:
		return fmt.Errorf("criterion %s: verdict %q is unknown", Cut(c.ID, 64), Cut(string(c.Verdict), 64))
	}
	if c.Score != nil && !(*c.Score >= 0 && *c.Score <= 1) { // also NaN
		return fmt.Errorf("criterion %s: score %v: want 0 to 1", Cut(c.ID, 64), *c.Score)
	}
	return nil
}

// Align returns the verdicts in the order of the rubric and of their items. What a session lacks is ungraded, never defaulted; a
// verdict that the rubric does not ask for, or two for one criterion and item, would be lost in a file and is an error. Of a graded
// task a criterion without a verdict was not asked, as the task has no item of it: it has no row.
func Align(r *judge.Rubric, s *Session) ([]Criterion, error) {
	place := make(map[string]int, len(r.Criteria))
	out := make([]Criterion, len(r.Criteria))
	for i, c := range r.Criteria {
		place[c.ID] = i
		out[i] = Criterion{ID: c.ID, Safety: c.Safety, Verdict: judge.Ungraded, UngradedReason: cmp.Or(s.UngradedReason, ReasonMissing)}
	}
	filled := make([]bool, len(out))
	var items []Criterion // beyond the first of a criterion
	for _, c := range s.Criteria {
		i, ok := place[c.ID]
		if !ok {
			return nil, fmt.Errorf("session %s: criterion %q is not in the rubric", Cut(s.Key, 64), Cut(c.ID, 64))
		}
		if err := c.Check(); err != nil {
			return nil, fmt.Errorf("session %s: %w", Cut(s.Key, 64), err)
		}
		if !filled[i] {
			out[i], filled[i] = c, true
			continue
		}
		same := func(o Criterion) bool { return o.ID == c.ID && o.Item == c.Item }
		if same(out[i]) || slices.ContainsFunc(items, same) {
			return nil, fmt.Errorf("session %s: criterion %s has two verdicts", Cut(s.Key, 64), c.ID)
		}
		items = append(items, c)
	}
	if s.Graded && s.Subject != nil && s.Subject.Kind == "task" {
		asked := out[:0]
		for i := range out {
			if filled[i] {
				asked = append(asked, out[i])
			}
		}
		out = asked
	}
	if len(items) == 0 {
		return out, nil
	}
	out = append(out, items...)
	slices.SortStableFunc(out, func(a, b Criterion) int {
		return cmp.Or(cmp.Compare(place[a.ID], place[b.ID]), compareItems(a.Item, b.Item))
	})
	return out, nil
}

// compareItems orders numbers by their value, and all else as text.
func compareItems(a, b string) int {
	x, errX := strconv.Atoi(a)
	y, errY := strconv.Atoi(b)
	if errX == nil && errY == nil {
		return cmp.Compare(x, y)
	}
	return cmp.Compare(a, b)
}

// Weighted says whether the criteria of a rubric have different weights, so that something is lost where weights are.
func Weighted(r *judge.Rubric) bool {
	for _, c := range r.Criteria {
		if cmp.Or(c.Weight, 1) != cmp.Or(r.Criteria[0].Weight, 1) {
			return true
		}
	}
	return false
}

// Complete says whether a session counts as graded: it is called so and every criterion has a verdict.
func Complete(s *Session, aligned []Criterion) bool {
	if !s.Graded {
		return false
	}
	for i := range aligned {
		if aligned[i].Verdict == judge.Ungraded {
			return false
		}
	}
	return true
}

// Ordered is a copy of a session's verdicts in the rubric's order, those that it does not ask for last, by id and item: the order
// in which a table yields them reaches no file.
func Ordered(r *judge.Rubric, list []Criterion) []Criterion {
	place := make(map[string]int, len(r.Criteria))
	for i, c := range r.Criteria {
		place[c.ID] = i + 1
	}
	out := slices.Clone(list)
	slices.SortStableFunc(out, func(a, b Criterion) int {
		return cmp.Or(cmp.Compare(cmp.Or(place[a.ID], len(place)+1), cmp.Or(place[b.ID], len(place)+1)), cmp.Compare(a.ID, b.ID), compareItems(a.Item, b.Item))
	})
	return out
}
