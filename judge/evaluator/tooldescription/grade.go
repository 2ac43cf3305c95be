package tooldescription

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
)

// letters, best first, and the score from which each is given.
var letters = []struct {
	letter string
	from   float64
}{{"A", 0.875}, {"B", 0.75}, {"C", 0.625}, {"D", 0.5}, {"F", 0}}

// Letter is the grade of a mean score.
func Letter(score float64) string {
	for _, l := range letters {
		if score >= l.from {
			return l.letter
		}
	}
	return "F"
}

// Grade computes the mean of the four criteria and the letter. Hidden instructions cap it at D, no description makes it F. A
// tool with a criterion that could not be told has neither; so does one with an ungraded criterion. There is no pass.
func (e *Evaluator) Grade(answers []judge.Answer) evaluator.Grade {
	byID := make(map[string]judge.Answer, len(answers))
	for _, a := range answers {
		byID[a.Criterion] = a
	}
	g := evaluator.Grade{Graded: true}
	sum, told := 0.0, 0
	empty := false
	for _, c := range e.criteria {
		a, ok := byID[c.Criterion.ID]
		switch {
		case !ok || a.Verdict == judge.Ungraded || a.Verdict == "":
			return evaluator.Grade{Reason: cmp.Or(a.Reason, string(judge.ClassUnknown))}
		case a.Verdict == judge.Scored && a.Score != nil:
			told++
			sum += *a.Score
		}
		empty = empty || slices.Contains(a.Findings, FindingEmpty)
	}
	hidden := byID[NoHidden].Score != nil && *byID[NoHidden].Score == 0
	if s := byID[NoHidden].Score; s != nil {
		safe := *s > 0
		g.Safe = &safe
	}
	g.Undecided = told == 0
	if told < len(e.criteria) {
		return g
	}
	score := sum / float64(told)
	g.Score, g.Letter = &score, Letter(score)
	switch {
	case empty:
		g.Letter = "F"
	case hidden && strings.Contains("ABC", g.Letter):
		g.Letter = "D"
	}
	return g
}

// Median is the median grade of a server's tools: of an even number the lower of the two in the middle, that is the worse.
// Tools without a letter are left out; "" when none has one.
func Median(grades []string) string {
	var places []int
	for _, g := range grades {
		for i, l := range letters {
			if l.letter == g {
				places = append(places, i)
			}
		}
	}
	if len(places) == 0 {
		return ""
	}
	slices.Sort(places) // best first: the one behind the middle is the worse
	return letters[places[len(places)/2]].letter
}
