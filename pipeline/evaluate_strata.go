package pipeline

import (
	"maps"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/pipeline/stats"
)

// perService is the value of --per that draws a sample of every service.
const perService = "service"

// maxStrataShown is how many services a terminal lists.
const maxStrataShown = 20

// Stratum is a service of a run that drew a sample of each.
type Stratum struct {
	Service   string `json:"service"`
	Eligible  int    `json:"eligible"`
	Sampled   int    `json:"sampled"`
	Attempted int    `json:"attempted"` // of the sampled, those that a budget or an interrupt did not leave
}

// drawPerService takes of every service the n eligible sessions with the smallest hash of seed and key. The first of every service come
// first, then the second of each: a budget stop then leaves a smaller sample of every service.
func drawPerService(eligible []candidate, seed string, n int) []candidate {
	byService := map[string][]candidate{}
	for _, c := range eligible {
		byService[c.row.Service] = append(byService[c.row.Service], c)
	}
	services := slices.Sorted(maps.Keys(byService))
	drawn := make([][]candidate, len(services))
	for i, s := range services {
		drawn[i] = drawSample(byService[s], seed, n)
	}
	var out []candidate
	for round := range n {
		before := len(out)
		for _, d := range drawn {
			if round < len(d) {
				out = append(out, d[round])
			}
		}
		if len(out) == before {
			break
		}
	}
	return out
}

// strataOf counts the services of what is eligible and of what was drawn of it. More than most drawn is refused: services may be many.
func strataOf(eligible, sample []candidate, most int) ([]Stratum, error) {
	if len(sample) > most {
		return nil, usagef("--per service draws %d sessions; at most %d (20 times limits.max_sample) are judged: take a smaller --sample, or one --service at a time", len(sample), most)
	}
	byService := map[string]*Stratum{}
	for i := range eligible {
		s := byService[eligible[i].row.Service]
		if s == nil {
			s = &Stratum{Service: eligible[i].row.Service}
			byService[s.Service] = s
		}
		s.Eligible++
	}
	for i := range sample {
		byService[sample[i].row.Service].Sampled++
	}
	out := make([]Stratum, 0, len(byService))
	for _, name := range slices.Sorted(maps.Keys(byService)) {
		out = append(out, *byService[name])
	}
	return out, nil
}

// countAttempted counts the sessions of every service that were attempted.
func countAttempted(strata []Stratum, attempted []candidate) {
	for i := range strata {
		strata[i].Attempted = 0
	}
	for i := range attempted {
		at, ok := slices.BinarySearchFunc(strata, attempted[i].row.Service, func(s Stratum, name string) int { return strings.Compare(s.Service, name) })
		if ok {
			strata[at].Attempted++
		}
	}
}

// drawProportional draws n of the eligible sessions, of every service as many as its share of them: a small service is in the sample as
// surely as chance lets it be.
func drawProportional(eligible []candidate, seed string, n int) []candidate {
	byService := map[string][]candidate{}
	for _, c := range eligible {
		byService[c.row.Service] = append(byService[c.row.Service], c)
	}
	services := slices.Sorted(maps.Keys(byService))
	sizes := make([]int, len(services))
	for i, s := range services {
		sizes[i] = len(byService[s])
	}
	shares, err := stats.Allocate(sizes, n)
	if err != nil {
		panic("BUG: allocate a sample: " + err.Error()) // of counts of what is there
	}
	var out []candidate
	for i, s := range services {
		out = append(out, drawSample(byService[s], seed, shares[i])...)
	}
	return drawSample(out, seed, n) // in the order of the draw
}
