package skillpackage

import (
	"cmp"
	"slices"

	"github.com/tracejury/tracejury/judge"
)

// Ranked is the place of one package among those that were measured against one task.
type Ranked struct {
	Subject  string
	Place    int // from 1, equal for equals; 0 without a score
	Score    *float64
	Findings []string
}

// Rank orders packages for a task: the better score first, among equals the one with fewer findings. Packages without a score
// come last and have no place.
func Rank(answers map[string]judge.Answer) []Ranked {
	out := make([]Ranked, 0, len(answers))
	for subject, a := range answers {
		out = append(out, Ranked{Subject: subject, Score: a.Score, Findings: a.Findings})
	}
	score := func(r Ranked) float64 {
		if r.Score == nil {
			return -1
		}
		return *r.Score
	}
	better := func(a, b Ranked) int {
		return cmp.Or(cmp.Compare(score(b), score(a)), cmp.Compare(len(a.Findings), len(b.Findings)))
	}
	slices.SortFunc(out, func(a, b Ranked) int { return cmp.Or(better(a, b), cmp.Compare(a.Subject, b.Subject)) })
	for i := range out {
		switch {
		case out[i].Score == nil:
		case i > 0 && better(out[i-1], out[i]) == 0:
			out[i].Place = out[i-1].Place
		default:
			out[i].Place = i + 1
		}
	}
	return out
}
