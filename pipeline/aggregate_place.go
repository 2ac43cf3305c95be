package pipeline

import (
	"cmp"
	"slices"
	"strings"
)

// verdictCounter counts verdicts by criterion and combo of their subjects.
type verdictCounter struct {
	facts    *facts
	keep     bool
	number   map[string]int32 // of criteria, as they come
	criteria []factCriterion
	unclear  [][2]int32 // subject and criterion of verdicts that could turn
}

// add counts the blocks of one of the runs. It counts nothing and answers false when subjects that were not read cannot be told.
func (v *verdictCounter) add(blocks []verdictBlock, run int32) bool {
	subjects := make([][]int32, len(blocks))
	for i := range blocks {
		var ok bool
		if subjects[i], ok = v.facts.place(&blocks[i], run); !ok {
			return false
		}
	}
	for i := range blocks {
		v.count(&blocks[i], subjects[i])
	}
	return true
}

// place finds the subjects of a block; -1 is one that has no grade, and so is not part of the run. Subjects that were not read are as
// many as there are from the first to the last: grades and verdicts are of the same subjects, or, while a run goes on, one of them of
// some of the other's, so that as many are the same.
func (f *facts) place(b *verdictBlock, run int32) ([]int32, bool) {
	out := make([]int32, len(b.starts))
	if len(b.starts) == 0 {
		return out, true
	}
	if b.ids == nil {
		from, last := f.find(b.first), f.find(b.last)
		if from < 0 || last < 0 || int(last-from)+1 != len(out) {
			return nil, false
		}
		for i := range out {
			out[i] = from + int32(i)
		}
		return out, true
	}
	next := int32(0)
	for i, id := range b.ids {
		at := next // mostly it is the next
		if int(at) >= len(f.subjects) || f.id(&f.subjects[at]) != id {
			at = f.find(id)
		}
		if out[i] = at; at >= 0 {
			if next = at + 1; f.subjects[at].run != run {
				out[i] = -1
			}
		}
	}
	return out, true
}

// find is the number of the subject of an id, -1 if there is none.
func (f *facts) find(id string) int32 {
	at, ok := slices.BinarySearchFunc(f.subjects, id, func(s factSubject, id string) int { return strings.Compare(f.id(&s), id) })
	if !ok {
		return -1
	}
	return int32(at)
}

// count counts a block whose subjects are known.
func (v *verdictCounter) count(b *verdictBlock, subjects []int32) {
	f := v.facts
	number := v.numbers(b, subjects)
	tables := make([][]verdictCount, len(number)) // of the block's criteria
	for i, n := range number {
		if int(n) < len(f.counts) {
			tables[i] = f.counts[n]
		}
	}
	for i, subject := range subjects {
		if subject < 0 {
			continue
		}
		end := len(b.verdicts)
		if i+1 < len(b.starts) {
			end = int(b.starts[i+1])
		}
		combo := f.subjects[subject].combo
		for _, p := range b.verdicts[b.starts[i]:end] {
			r := p.result()
			tables[p.criterion()][combo][r]++
			if r == resultUnclear {
				v.unclear = append(v.unclear, [2]int32{subject, number[p.criterion()]})
			}
			if v.keep {
				f.verdicts = append(f.verdicts, factVerdict{subject, number[p.criterion()], r})
			}
		}
	}
	for _, s := range b.scores {
		if subject := subjects[s.subject]; subject >= 0 {
			f.scores = append(f.scores, factScore{subject, number[s.criterion], s.score})
		}
	}
}

// numbers are those of the block's criteria; new ones among those that count get the next.
func (v *verdictCounter) numbers(b *verdictBlock, subjects []int32) []int32 {
	used := make([]bool, len(b.criteria))
	for i, subject := range subjects {
		end := len(b.verdicts)
		if i+1 < len(b.starts) {
			end = int(b.starts[i+1])
		}
		if subject >= 0 {
			for _, p := range b.verdicts[b.starts[i]:end] {
				used[p.criterion()] = true
			}
		}
	}
	out := make([]int32, len(b.criteria))
	for i, id := range b.criteria {
		if !used[i] {
			continue
		}
		n, ok := v.number[id]
		if !ok {
			n = int32(len(v.criteria))
			v.number[id] = n
			v.criteria = append(v.criteria, factCriterion{id: id})
			v.facts.counts = append(v.facts.counts, make([]verdictCount, len(v.facts.combos)))
		}
		out[i] = n
		v.criteria[n].safety = v.criteria[n].safety || b.safety[i]
	}
	return out
}

// finish gives everything its order.
func (v *verdictCounter) finish() {
	f := v.facts
	for _, u := range v.unclear {
		s := &f.subjects[u[0]]
		s.turns |= turnsPassed
		if v.criteria[u[1]].safety {
			s.turns |= turnsSafe
		}
	}
	f.setCriteria(v.criteria)
	slices.SortFunc(f.scores, func(a, b factScore) int {
		return cmp.Or(cmp.Compare(a.subject, b.subject), cmp.Compare(a.criterion, b.criterion), cmp.Compare(a.score, b.score))
	})
	slices.SortFunc(f.verdicts, func(a, b factVerdict) int {
		return cmp.Or(cmp.Compare(a.subject, b.subject), cmp.Compare(a.criterion, b.criterion), cmp.Compare(a.verdict, b.verdict))
	})
}
