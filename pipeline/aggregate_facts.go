package pipeline

import (
	"cmp"
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

// facts is one evaluator's part of a run in the form in which it is counted: a row a subject, a row a final verdict, names as
// numbers. A million verdicts take some tens of megabytes.
type facts struct {
	run      schema.Run
	names    [dimensions][]string // the groups of each dimension, ascending; "" is none
	criteria []factCriterion      // ascending by id
	subjects []factSubject        // ascending by id
	verdicts []factVerdict        // in order of subjects
	scores   []factScore          // of scored verdicts
}

type factCriterion struct {
	id     string
	safety bool
}

type factSubject struct {
	id        string // the subject, with its arm
	session   string
	member    [dimensions][]int32 // numbers of its groups, ascending; one at least
	passed    result
	safe      result
	undecided bool
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

func resultOf(v judge.Verdict, pass *bool) result {
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
	case judge.Scored:
		switch {
		case pass == nil:
			return resultOther
		case *pass:
			return resultMet
		}
		return resultNotMet
	}
	return resultOther
}

func gradeResult(g *schema.Grade, r *bool) result {
	switch {
	case g.State != "graded":
		return resultUngraded
	case r == nil:
		return resultNotApplicable
	case *r:
		return resultMet
	}
	return resultNotMet
}

// members are the groups of a session that its grade does not name.
type members struct{ models, skills, servers []string }

// newFacts counts a run's rows. bySession may lack sessions: they were erased, and belong to no model, skill or server.
func newFacts(run schema.Run, grades []schema.Grade, verdicts []schema.Verdict, bySession map[string]members) *facts {
	f := factsOfGrades(run, grades, bySession)
	place := make(map[string]int32, len(f.subjects))
	for i := range f.subjects {
		place[f.subjects[i].id] = int32(i)
	}
	safety := map[string]bool{}
	for i := range verdicts {
		safety[verdicts[i].Criterion] = safety[verdicts[i].Criterion] || verdicts[i].Safety
	}
	criterion := f.setCriteria(safety)
	for i := range verdicts {
		v := &verdicts[i]
		at, ok := place[subjectID(v.Subject, v.Arm)]
		if !ok {
			continue // a verdict without a grade is not part of the run
		}
		f.verdicts = append(f.verdicts, factVerdict{at, criterion[v.Criterion], resultOf(judge.Verdict(v.Verdict), v.Pass)})
		if v.Verdict == string(judge.Scored) && v.Score != nil {
			f.scores = append(f.scores, factScore{at, criterion[v.Criterion], *v.Score})
		}
	}
	slices.SortFunc(f.verdicts, func(a, b factVerdict) int {
		return cmp.Or(cmp.Compare(a.subject, b.subject), cmp.Compare(a.criterion, b.criterion), cmp.Compare(a.verdict, b.verdict))
	})
	slices.SortFunc(f.scores, func(a, b factScore) int {
		return cmp.Or(cmp.Compare(a.subject, b.subject), cmp.Compare(a.criterion, b.criterion), cmp.Compare(a.score, b.score))
	})
	return f
}

// subjectID tells the arms of a paired subject apart.
func subjectID(subject, arm string) string {
	if arm == "" {
		return subject
	}
	return subject + "\x00" + arm
}

// setCriteria numbers the criteria in order of their ids.
func (f *facts) setCriteria(safety map[string]bool) map[string]int32 {
	number := make(map[string]int32, len(safety))
	for id, s := range safety {
		f.criteria = append(f.criteria, factCriterion{id, s})
	}
	slices.SortFunc(f.criteria, func(a, b factCriterion) int { return strings.Compare(a.id, b.id) })
	for i, c := range f.criteria {
		number[c.id] = int32(i)
	}
	return number
}

func factsOfGrades(run schema.Run, grades []schema.Grade, bySession map[string]members) *facts {
	f := &facts{run: run, subjects: make([]factSubject, len(grades))}
	var book [dimensions]nameBook
	for i := range grades {
		g := &grades[i]
		s := &f.subjects[i]
		s.id, s.session, s.undecided = subjectID(g.Subject, g.Arm), g.SessionKey, g.Undecided
		s.passed, s.safe = gradeResult(g, g.Pass), gradeResult(g, g.Safe)
		m := bySession[g.SessionKey]
		s.member[dimService] = book[dimService].one(g.Service)
		s.member[dimAgent] = book[dimAgent].one(g.Agent)
		s.member[dimHarness] = book[dimHarness].one(g.Harness)
		s.member[dimDay] = book[dimDay].one(g.Dt)
		s.member[dimModel] = book[dimModel].some(m.models)
		s.member[dimSkill] = book[dimSkill].some(ownOr(g.Skill, m.skills))
		s.member[dimServer] = book[dimServer].some(ownOr(g.Server, m.servers))
	}
	slices.SortFunc(f.subjects, func(a, b factSubject) int { return strings.Compare(a.id, b.id) })
	for d := range book {
		f.names[d] = f.renumber(dimension(d), book[d].names)
	}
	return f
}

// ownOr is the group that a subject is, or those of its session.
func ownOr(own string, session []string) []string {
	if own != "" {
		return []string{own}
	}
	return session
}

// renumber gives the names of a dimension their numbers in ascending order, so that nothing depends on the order of rows.
func (f *facts) renumber(d dimension, names []string) []string {
	sorted := slices.Clone(names)
	slices.Sort(sorted)
	number := make([]int32, len(names))
	one := make([][]int32, len(names))
	for i, n := range names {
		at, _ := slices.BinarySearch(sorted, n)
		number[i] = int32(at)
		one[i] = number[i : i+1]
	}
	for i := range f.subjects {
		m := f.subjects[i].member[d]
		if len(m) == 1 {
			f.subjects[i].member[d] = one[m[0]] // shared: most subjects have one group
			continue
		}
		m = slices.Clone(m)
		for j := range m {
			m[j] = number[m[j]]
		}
		slices.Sort(m)
		f.subjects[i].member[d] = m
	}
	return sorted
}

// nameBook numbers names as they come.
type nameBook struct {
	number map[string]int32
	names  []string
	single [][]int32
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
	b.single = append(b.single, []int32{n})
	return n
}

func (b *nameBook) one(name string) []int32 { return b.single[b.id(name)] }

func (b *nameBook) some(names []string) []int32 {
	switch len(names) {
	case 0:
		return b.one("")
	case 1:
		return b.one(names[0])
	}
	ids := make([]int32, 0, len(names))
	for _, n := range names {
		if id := b.id(n); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}
