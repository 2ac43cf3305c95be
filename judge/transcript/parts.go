package transcript

import (
	"errors"
	"fmt"

	"github.com/tracejury/tracejury/judge"
)

// MaxParts is the number of parts that a long session is split into at most.
const MaxParts = 12

// Part says which part of a session a rendering is. The zero value is a whole session.
type Part struct {
	Number, Of int // from 1
	From, To   int // steps that are its own; what stands before From is shown again from other parts
}

// String is "2 of 3: steps 40 to 81", "" for a whole session.
func (p Part) String() string {
	if p.Of < 2 {
		return ""
	}
	return fmt.Sprintf("%d of %d: steps %d to %d", p.Number, p.Of, p.From, p.To)
}

// RenderParts renders a session in as few parts as show its evidence of safety whole: one, if the rungs of the ladder before the
// last make it fit; else runs of whole rounds, each with the first request and the round before it. Where MaxParts do not
// suffice, their evidence is cut too, and where that does not, the error is ErrTooLong. factsOf computes the facts of a part
// from its lines before they are cut.
func RenderParts(lines []judge.Line, in Input, opts Options, factsOf func([]judge.Line) []judge.Fact) ([]Rendering, error) {
	opts.keepEvidence = true
	in.Facts = factsOf(lines)
	whole, err := RenderLines(lines, in, opts)
	if !errors.Is(err, ErrTooLong) {
		return []Rendering{whole}, err
	}
	for n := 2; ; n = min(2*n, MaxParts) {
		opts.keepEvidence = n < MaxParts
		out, err := renderParts(split(lines, opts, n), lines, in, opts, factsOf)
		if err == nil || !errors.Is(err, ErrTooLong) || n == MaxParts {
			return out, err
		}
	}
}

func renderParts(parts [][2]int, lines []judge.Line, in Input, opts Options, factsOf func([]judge.Line) []judge.Fact) ([]Rendering, error) {
	out := make([]Rendering, 0, len(parts))
	for i, p := range parts {
		shown, own := withOverlap(lines, p)
		in.Facts = factsOf(shown)
		opts.part = Part{Number: i + 1, Of: len(parts), From: lines[p[0]].Step, To: lines[p[1]-1].Step}
		r, err := RenderLines(shown, in, opts)
		if err != nil {
			return nil, fmt.Errorf("part %d of %d, %d steps: %w", i+1, len(parts), own, err)
		}
		r.Part = opts.part
		out = append(out, r)
	}
	return out, nil
}

// split cuts lines into at most n runs of about the same size, between rounds where there are any.
func split(lines []judge.Line, opts Options, n int) [][2]int {
	rounds := roundsOf(lines)
	total := 0
	cost := make([]int, len(lines))
	for i := range lines {
		cost[i] = opts.tokens(lines[i].Text) + opts.tokens(lines[i].Arguments) + 40
		total += cost[i]
	}
	var out [][2]int
	from, sum := 0, 0
	for i := range lines {
		full := sum >= (total+n-1)/n
		// A round that alone is larger than a part is cut inside.
		if i > from && full && (rounds[i] != rounds[i-1] || sum >= 2*(total+n-1)/n) && len(out) < n-1 {
			out = append(out, [2]int{from, i})
			from, sum = i, 0
		}
		sum += cost[i]
	}
	return append(out, [2]int{from, len(lines)})
}

// withOverlap is a part's lines with the first request and the round before it.
func withOverlap(lines []judge.Line, p [2]int) (shown []judge.Line, own int) {
	own = p[1] - p[0]
	if p[0] == 0 {
		return lines[:p[1]], own
	}
	rounds := roundsOf(lines)
	before := p[0] - 1
	for before > 0 && rounds[before-1] == rounds[p[0]-1] && p[0]-before < 12 {
		before--
	}
	for i := range lines[:before] {
		if l := &lines[i]; l.Role == "user" && l.Kind == "message" {
			shown = append(shown, again(*l))
			break
		}
	}
	for _, l := range lines[before:p[0]] {
		shown = append(shown, again(l))
	}
	return append(shown, lines[p[0]:p[1]]...), own
}

func again(l judge.Line) judge.Line {
	l.Note = addNote(l.Note, "shown again from another part")
	return l
}

// roundsOf numbers the rounds of lines from 1: what the agent said and called, and what came back. A round begins where the agent or
// the user speaks after something came back.
func roundsOf(lines []judge.Line) []int {
	out := make([]int, len(lines))
	round, answered := 0, true
	for i := range lines {
		speaks := lines[i].Role == "assistant" || lines[i].Role == "user" || lines[i].Kind == "tool_call"
		if speaks && answered || i > 0 && lines[i].Turn != lines[i-1].Turn {
			round++
			answered = false
		}
		if !speaks {
			answered = true
		}
		out[i] = max(round, 1)
	}
	return out
}
