package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/schema"
)

// dimension is a property of a session by which numbers are grouped.
type dimension uint8

// The dimensions. A session has one service, agent, harness and day; it may have any number of models, skills and servers.
const (
	dimService dimension = iota
	dimAgent
	dimHarness
	dimModel
	dimDay
	dimSkill
	dimServer
	dimensions = 7
)

var dimensionNames = [dimensions]string{"service", "agent", "harness", "model", "day", "skill", "server"}

func (d dimension) String() string { return dimensionNames[d] }

// facts is one evaluator's part of a run in the form in which it is counted: names as numbers, and verdicts as counts of every
// combination of groups. A million verdicts take a few megabytes.
type facts struct {
	run      schema.Run
	strata   strata               // nil where no weights are needed
	names    [dimensions][]string // the groups of each dimension, ascending; "" is none
	criteria []factCriterion      // ascending by id
	combos   []combo
	subjects []factSubject // ascending by id
	idText   string
	counts   [][]verdictCount
	scores   []factScore   // of scored verdicts, in order of subjects
	verdicts []factVerdict // in order of subjects; only where they were asked for
}

type factCriterion struct {
	id     string
	safety bool
}

// combo is what groups a subject is in: numbers of names by dimension, ascending; one at least. Many subjects share one.
type combo [dimensions][]int32

// verdictCount is how many verdicts on one criterion came out how, in one combo: facts.counts[criterion][combo].
type verdictCount [results]int32

type factSubject struct {
	from, to     uint32 // its id in idText: no pointer, for there may be very many
	combo        int32
	run          int32 // of those that were counted together, the one that it was taken from
	passed, safe result
	undecided    bool
	turns        turns
}

type factVerdict struct {
	subject, criterion int32
	verdict            result
}

type factScore struct {
	subject, criterion int32
	score              float64
}

// result is a verdict, or what passed and safe amount to.
type result uint8

const (
	resultUngraded result = iota
	resultMet
	resultNotMet
	resultNotApplicable
	resultUnclear
	resultOther // counted nowhere: a scored verdict without pass or fail
	results     = 6
)

// resultOf is how a verdict counts; that of a score depends on more.
func resultOf(v judge.Verdict) result {
	switch v {
	case judge.Met:
		return resultMet
	case judge.NotMet:
		return resultNotMet
	case judge.NotApplicable:
		return resultNotApplicable
	case judge.Unclear:
		return resultUnclear
	case judge.Ungraded:
		return resultUngraded
	}
	return resultOther
}

// turns says what an unclear verdict of a subject could turn.
type turns uint8

const (
	turnsPassed turns = 1 << iota
	turnsSafe
)

// subjectID tells the arms of a paired subject apart.
func subjectID(subject, arm string) string {
	if arm == "" {
		return subject
	}
	return subject + "\x00" + arm
}

// id is the subject's id, with its arm.
func (f *facts) id(s *factSubject) string { return f.idText[s.from:s.to] }

// of are the groups of a subject.
func (f *facts) of(s *factSubject) *combo { return &f.combos[s.combo] }

// setCriteria gives criteria, which were numbered as they came, their numbers in order of their ids.
func (f *facts) setCriteria(came []factCriterion) {
	f.criteria = slices.SortedFunc(slices.Values(came), func(a, b factCriterion) int { return strings.Compare(a.id, b.id) })
	to := make([]int32, len(came))
	counts := make([][]verdictCount, len(came))
	for i, c := range came {
		at, _ := slices.BinarySearchFunc(f.criteria, c.id, func(x factCriterion, id string) int { return strings.Compare(x.id, id) })
		to[i], counts[at] = int32(at), f.counts[i]
	}
	f.counts = counts
	for i := range f.scores {
		f.scores[i].criterion = to[f.scores[i].criterion]
	}
	for i := range f.verdicts {
		f.verdicts[i].criterion = to[f.verdicts[i].criterion]
	}
}

// comboBook numbers combinations of groups as they come.
type comboBook struct {
	book   [dimensions]nameBook
	combos []combo
	plain  map[[dimensions]int32]int32 // with one group in every dimension
	rich   map[string]int32
}

// one is the number of a combo with one group in every dimension.
func (b *comboBook) one(ids [dimensions]int32) int32 {
	n, ok := b.plain[ids]
	if !ok {
		if b.plain == nil {
			b.plain = map[[dimensions]int32]int32{}
		}
		var c combo
		for d, id := range ids {
			c[d] = []int32{id}
		}
		n = int32(len(b.combos))
		b.combos = append(b.combos, c)
		b.plain[ids] = n
	}
	return n
}

// with is the number of the combo base in which some dimensions are replaced by names; an empty list replaces nothing.
func (b *comboBook) with(base int32, names map[dimension][]string) int32 {
	c := b.combos[base]
	for d, list := range names {
		if len(list) > 0 {
			c[d] = b.book[d].some(list)
		}
	}
	key := fmt.Sprint(c)
	n, ok := b.rich[key]
	if !ok {
		if b.rich == nil {
			b.rich = map[string]int32{}
		}
		n = int32(len(b.combos))
		b.combos = append(b.combos, c)
		b.rich[key] = n
	}
	return n
}

// finish numbers the combos that subjects have, and gives the names of every dimension their numbers in ascending order, so that
// nothing depends on the order of rows.
func (b *comboBook) finish(subjects []factSubject) (names [dimensions][]string, combos []combo) {
	place := make([]int32, len(b.combos)) // in combos, + 1
	for i := range subjects {
		at := &place[subjects[i].combo]
		if *at == 0 {
			combos = append(combos, b.combos[subjects[i].combo])
			*at = int32(len(combos))
		}
		subjects[i].combo = *at - 1
	}
	var used [dimensions]map[int32]bool
	for d := range used {
		used[d] = map[int32]bool{}
		for i := range combos {
			for _, id := range combos[i][d] {
				used[d][id] = true
			}
		}
		for id := range used[d] {
			names[d] = append(names[d], b.book[d].names[id])
		}
		slices.Sort(names[d])
	}
	for i := range combos {
		for d := range combos[i] {
			ids := slices.Clone(combos[i][d])
			for j, id := range ids {
				at, _ := slices.BinarySearch(names[d], b.book[d].names[id])
				ids[j] = int32(at)
			}
			slices.Sort(ids)
			combos[i][d] = ids
		}
	}
	return names, combos
}

// nameBook numbers names as they come.
type nameBook struct {
	number map[string]int32
	names  []string
}

func (b *nameBook) id(name string) int32 {
	if n, ok := b.number[name]; ok {
		return n
	}
	if b.number == nil {
		b.number = map[string]int32{}
	}
	n := int32(len(b.names))
	b.number[name] = n
	b.names = append(b.names, name)
	return n
}

func (b *nameBook) some(names []string) []int32 {
	ids := make([]int32, 0, len(names))
	for _, n := range names {
		if id := b.id(n); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}
