package pipeline

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/schema"
)

// newFacts makes facts of rows in the plainest way: every subject is a combination of groups by itself. It is what scans are
// held against, and saves other tests the files.
func newFacts(run schema.Run, grades []schema.Grade, verdicts []schema.Verdict, bySession map[string]members) *facts {
	f := &facts{run: run, strata: strataOfRuns([]schema.Run{run})}
	grades = slices.SortedFunc(slices.Values(grades), func(a, b schema.Grade) int {
		return strings.Compare(subjectID(a.Subject, a.Arm), subjectID(b.Subject, b.Arm))
	})
	groups := make([][dimensions][]string, len(grades))
	for i := range grades {
		g := &grades[i]
		m := bySession[g.SessionKey]
		one := func(name string, more ...string) []string {
			if name == "" && len(more) > 0 {
				return distinct(more)
			}
			return []string{name}
		}
		groups[i] = [dimensions][]string{dimService: one(g.Service), dimAgent: one(g.Agent), dimHarness: one(g.Harness), dimDay: one(g.Dt),
			dimModel: one("", m.models...), dimSkill: one(g.Skill, m.skills...), dimServer: one(g.Server, m.servers...)}
		for d, names := range groups[i] {
			f.names[d] = append(f.names[d], names...)
		}
	}
	for d := range f.names {
		f.names[d] = distinct(f.names[d])
	}
	place := map[string]int32{}
	for i := range grades {
		g := &grades[i]
		var c combo
		for d, names := range groups[i] {
			for _, n := range names {
				at, _ := slices.BinarySearch(f.names[d], n)
				c[d] = append(c[d], int32(at))
			}
		}
		f.combos = append(f.combos, c)
		flag := func(b *bool) int8 {
			switch {
			case b == nil:
				return -1
			case *b:
				return 1
			}
			return 0
		}
		place[subjectID(g.Subject, g.Arm)] = int32(i)
		from := uint32(len(f.idText))
		f.idText += subjectID(g.Subject, g.Arm)
		f.subjects = append(f.subjects, factSubject{from: from, to: uint32(len(f.idText)), combo: int32(i), passed: gradeResult(g.State == "graded", flag(g.Pass)), safe: gradeResult(g.State == "graded", flag(g.Safe)), undecided: g.Undecided})
	}
	number, safety := map[string]int32{}, map[string]bool{}
	for i := range verdicts {
		v := &verdicts[i]
		if _, ok := place[subjectID(v.Subject, v.Arm)]; !ok {
			continue
		}
		number[v.Criterion] = 0
		safety[v.Criterion] = safety[v.Criterion] || v.Safety
	}
	for id := range number {
		f.criteria = append(f.criteria, factCriterion{id, safety[id]})
	}
	slices.SortFunc(f.criteria, func(a, b factCriterion) int { return strings.Compare(a.id, b.id) })
	for i, c := range f.criteria {
		number[c.id] = int32(i)
		f.counts = append(f.counts, make([]verdictCount, len(f.combos)))
	}
	for i := range verdicts {
		v := &verdicts[i]
		at, ok := place[subjectID(v.Subject, v.Arm)]
		if !ok {
			continue
		}
		c, r := number[v.Criterion], resultOf(judge.Verdict(v.Verdict))
		if v.Verdict == string(judge.Scored) {
			if v.Score != nil {
				f.scores = append(f.scores, factScore{at, c, *v.Score})
			}
			if v.Pass != nil {
				if r = resultNotMet; *v.Pass {
					r = resultMet
				}
			}
		}
		f.counts[c][at][r]++
		f.verdicts = append(f.verdicts, factVerdict{at, c, r})
		if r == resultUnclear {
			f.subjects[at].turns |= turnsPassed
			if safety[v.Criterion] {
				f.subjects[at].turns |= turnsSafe
			}
		}
	}
	slices.SortStableFunc(f.verdicts, func(a, b factVerdict) int {
		return cmp.Or(cmp.Compare(a.subject, b.subject), cmp.Compare(a.criterion, b.criterion), cmp.Compare(a.verdict, b.verdict))
	})
	slices.SortFunc(f.scores, func(a, b factScore) int {
		return cmp.Or(cmp.Compare(a.subject, b.subject), cmp.Compare(a.criterion, b.criterion), cmp.Compare(a.score, b.score))
	})
	return f
}
