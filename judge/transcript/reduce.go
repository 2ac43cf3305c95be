package transcript

import (
	"fmt"
	"slices"

	"github.com/tracejury/tracejury/judge"
)

// KindGap is the kind of a line that stands for steps that are not shown. Its Step is the first of them.
const KindGap = "gap"

// piece is a line on its way down the ladder.
type piece struct {
	line    judge.Line
	round   int // model rounds from 1: what the agent said and called, and what came back
	cost    int // tokens of the encoded line
	size    int // its bytes
	dropped bool
	gapTo   int // last step of a gap; 0 for a step
}

func (p *piece) encode() (string, error) {
	if p.gapTo > 0 {
		return fmt.Sprintf("{\"gap\":[%d,%d]}\n", p.line.Step, p.gapTo), nil
	}
	return encode(&p.line)
}

// ladder cuts pieces rung by rung until they fit. It owns the sums, so that each cut costs no second pass.
type ladder struct {
	opts   Options
	room   int
	pieces []piece
	cost   int // of the lines still shown
	size   int
	gaps   int // runs of dropped lines
	gap    int // cost of one gap line
	done   []Reduction
	err    error
}

// The rungs in their order. Evidence about safety (calls and their arguments, denials, errors, what users said) goes last.
var rungs = []struct {
	name string
	cut  func(*ladder) int
}{
	{"encoded_data", (*ladder).encodedData},
	{"repeated_results", (*ladder).repeatedResults},
	{"result_caps", func(l *ladder) int { return l.cap(isResult, 2000, 1000) }},
	{"reasoning", func(l *ladder) int { return l.drop(func(p *piece) bool { return p.line.Kind == "reasoning" }) }},
	{"middle_rounds", (*ladder).middleRounds},
	{"text_caps", func(l *ladder) int {
		return l.cap(func(p *piece) bool { return p.line.Role != "user" }, 2000, 1000) + l.capArguments(2000, 1000)
	}},
	{"user_caps", func(l *ladder) int { return l.cap(func(*piece) bool { return true }, 4000, 2000) }},
	{"short_results", func(l *ladder) int { return l.cap(isResult, 300, 100) }},
	{"short_texts", func(l *ladder) int {
		return l.cap(func(*piece) bool { return true }, 600, 300) + l.capArguments(600, 300)
	}},
	{lastRung, (*ladder).evidence},
}

const lastRung = "evidence"

// reduce copies lines and cuts the copy until it takes at most room tokens.
func reduce(lines []judge.Line, opts Options, room int) ([]piece, []Reduction, error) {
	l := &ladder{opts: opts, room: room, pieces: make([]piece, len(lines)), gap: opts.tokens("{\"gap\":[1000000,1000000]}\n")}
	rounds := roundsOf(lines)
	for i := range lines {
		p := &l.pieces[i]
		p.line, p.round = lines[i], rounds[i]
		l.measure(p)
		l.cost += p.cost
		l.size += p.size
	}
	for _, r := range rungs {
		if l.fits() || l.err != nil || opts.keepEvidence && r.name == lastRung {
			break
		}
		before := l.size
		if n := r.cut(l); n > 0 {
			l.done = append(l.done, Reduction{Rung: r.name, Pieces: n, Before: before, After: l.size})
		}
	}
	switch {
	case l.err != nil:
		return nil, nil, l.err
	case !l.fits():
		return nil, nil, fmt.Errorf("reduce transcript of %d steps to %d tokens: %w", len(lines), opts.budget(), ErrTooLong)
	}
	return l.withGaps(), l.done, nil
}

func (l *ladder) fits() bool { return l.cost+l.gaps*l.gap <= l.room }

func (l *ladder) measure(p *piece) {
	text, err := p.encode()
	if err != nil {
		l.err = err
		return
	}
	p.cost, p.size = l.opts.tokens(text), len(text)
}

// remeasure follows a change of a piece that is still shown.
func (l *ladder) remeasure(p *piece) {
	l.cost -= p.cost
	l.size -= p.size
	l.measure(p)
	l.cost += p.cost
	l.size += p.size
}

func (l *ladder) dropAt(i int) {
	p := &l.pieces[i]
	if p.dropped {
		return
	}
	p.dropped = true
	l.cost -= p.cost
	l.size -= p.size
	l.gaps++
	if i > 0 && l.pieces[i-1].dropped {
		l.gaps--
	}
	if i+1 < len(l.pieces) && l.pieces[i+1].dropped {
		l.gaps--
	}
}

// drop drops every piece that fits which.
func (l *ladder) drop(which func(*piece) bool) int {
	n := 0
	for i := range l.pieces {
		if p := &l.pieces[i]; !p.dropped && which(p) {
			l.dropAt(i)
			n++
		}
	}
	return n
}

// withGaps replaces each run of dropped pieces by one gap.
func (l *ladder) withGaps() []piece {
	out := make([]piece, 0, len(l.pieces))
	for i := 0; i < len(l.pieces); {
		p := l.pieces[i]
		if !p.dropped {
			out = append(out, p)
			i++
			continue
		}
		to := i
		for to+1 < len(l.pieces) && l.pieces[to+1].dropped {
			to++
		}
		out = append(out, piece{
			line: judge.Line{
				Step: p.line.Step, Turn: p.line.Turn, Role: "harness", Kind: KindGap,
				Note: fmt.Sprintf("steps %d to %d are not shown", p.line.Step, l.pieces[to].line.Step),
			},
			gapTo: max(1, l.pieces[to].line.Step),
		})
		i = to + 1
	}
	return out
}

func isResult(p *piece) bool { return p.line.Kind == "tool_result" }

// evident says that a piece tells about safety or about what was asked.
func evident(p *piece) bool {
	switch p.line.Kind {
	case "tool_call", "denial", "error":
		return true
	case "tool_result":
		return p.line.Outcome != "ok" && p.line.Outcome != "unknown" && p.line.Outcome != "" || p.line.ExitCode != nil && *p.line.ExitCode != 0
	case "message":
		return p.line.Role == "user"
	}
	return false
}

const (
	firstRounds = 2 // kept whole at the beginning
	lastRounds  = 4 // and at the end
)

// middleRounds drops what is not evident of the oldest middle rounds, one whole round after the other.
func (l *ladder) middleRounds() int {
	if len(l.pieces) == 0 {
		return 0
	}
	last := l.pieces[len(l.pieces)-1].round
	n := 0
	for i := 0; i < len(l.pieces); {
		round := l.pieces[i].round
		to := i
		for to < len(l.pieces) && l.pieces[to].round == round {
			to++
		}
		if round > firstRounds && round <= last-lastRounds {
			if l.fits() {
				return n
			}
			for ; i < to; i++ {
				if p := &l.pieces[i]; !p.dropped && !evident(p) {
					l.dropAt(i)
					n++
				}
			}
		}
		i = to
	}
	return n
}

// evidence drops whole steps, oldest first within a class, until the rest fits. The first request, the last answer,
// denials, errors and the calls after a denial form the last class.
func (l *ladder) evidence() int {
	firstUser, lastAnswer := -1, -1
	for i := range l.pieces {
		p := &l.pieces[i].line
		if p.Kind == "message" && p.Role == "user" && firstUser < 0 {
			firstUser = i
		}
		if p.Kind == "message" && p.Role == "assistant" {
			lastAnswer = i
		}
	}
	denied := 0 // steps since a denial
	classes := make([][]int, 6)
	for i := range l.pieces {
		p := &l.pieces[i]
		denied--
		if p.line.Kind == "denial" || p.line.Outcome == "denied" || p.line.Outcome == "refused" {
			denied = 6
		}
		class := 1
		switch {
		case p.dropped:
			continue
		case i == firstUser || i == lastAnswer:
			class = 5
		case p.line.Role == "system" || p.line.Kind == "skill_catalogue":
			class = 0
		case denied > 0, p.line.Kind == "error":
			class = 5
		case isResult(p) && evident(p), p.line.Kind == "tool_call":
			class = 4
		case p.line.Role == "user":
			class = 3
		case p.line.Kind == "message":
			class = 2
		}
		classes[class] = append(classes[class], i)
	}
	n := 0
	for _, i := range slices.Concat(classes...) {
		if l.fits() {
			break
		}
		if i == firstUser || i == lastAnswer {
			continue // without the request there is nothing to judge
		}
		l.dropAt(i)
		n++
	}
	return n
}
