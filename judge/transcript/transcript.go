// Package transcript owns how a session becomes text for a judge: masking, numbering, making the invisible visible, the
// token budget with its reduction ladder, and the fence that keeps the text evidence and never instruction.
//
// It knows nothing of verdicts: what is asked about a transcript is the evaluators' matter.
//
// Rules that hold for every rendering:
//
//  1. Text is masked before anything is cut, so that a secret at a cut is still whole when it is looked for.
//  2. The same steps and options give the same bytes. The nonce is outside of the hash.
//  3. Whatever is cut leaves a note where it was; evidence about safety is cut last.
package transcript

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/schema"
)

// Version of the rendering: part of its settings hash, so that verdicts of two renderings are never mixed.
const Version = 2

// DefaultBudget is the number of tokens that a rendering may take: it leaves room for instructions and the reply in a
// window of 200,000.
const DefaultBudget = 120_000

// ErrTooLong says that even the fully reduced transcript is over the budget.
var ErrTooLong = errors.New("transcript is over the budget after every reduction")

// Input is what is rendered: one session with its steps in order.
type Input struct {
	Session *schema.Session // names and missing content; nil where there is none
	Steps   []schema.Step
	Skills  []schema.Skill
	Facts   []judge.Fact // computed by code; their Steps that are not shown are left out
}

// Options tunes a rendering. The zero value is right for models with a window of 200,000 tokens.
type Options struct {
	Nonce  string              // fences the data; letters and digits, required by Render
	Budget int                 // tokens; 0 means DefaultBudget
	Tokens func(string) int    // counts tokens; nil means a token per 3 bytes
	Mask   func(string) string // replaces secrets by markers; nil leaves text as it is
	// MaskVersion names what Mask does; it enters the settings hash.
	MaskVersion string

	keepEvidence bool // do not take the last rung
	part         Part
}

func (o Options) budget() int { return cmp.Or(o.Budget, DefaultBudget) }

func (o Options) tokens(s string) int {
	if o.Tokens != nil {
		return o.Tokens(s)
	}
	return (len(s) + 2) / 3
}

// SettingsSHA256 is the hash of the rendering version and of the options that shape a rendering.
func (o Options) SettingsSHA256() string {
	counter := "bytes/3"
	if o.Tokens != nil {
		counter = "custom"
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "transcript v%d\x00budget %d\x00tokens %s\x00mask %s", Version, o.budget(), counter, o.MaskVersion))
	return hex.EncodeToString(sum[:])
}

// Rendering is a session as a judge is shown it.
type Rendering struct {
	Text       string       // fenced JSON lines: for the prompt
	Facts      string       // one line a fact: trusted, outside the fence
	Plain      string       // the texts shown, unescaped: to check explanations for quotation
	Lines      []judge.Line // what is shown, step by step, for judges that are code
	ShownFacts []judge.Fact // the facts, with only steps that are shown
	SHA256     string       // of what is shown, without the nonce
	Tokens     int
	Reductions []Reduction
	Gaps       []Gap
	Part       Part // zero: the whole session
}

// Reduction is one rung of the ladder that had to be taken.
type Reduction struct {
	Rung   string `json:"rung"`
	Pieces int    `json:"pieces"` // texts that it changed or dropped
	Before int    `json:"before"` // bytes of the transcript
	After  int    `json:"after"`
}

func (r Reduction) String() string {
	return fmt.Sprintf("%s: %d pieces, %d to %d bytes", r.Rung, r.Pieces, r.Before, r.After)
}

// Gap is a run of steps that are not shown.
type Gap struct {
	From, To int // step numbers, both included
}

var nonceForm = regexp.MustCompile(`^[A-Za-z0-9]{8,64}$`)

// Render renders a session: [Lines], then [RenderLines].
func Render(in Input, opts Options) (Rendering, error) {
	return RenderLines(Lines(in, opts), in, opts)
}

// RenderLines reduces prepared lines to the budget and fences them. It does not change lines.
func RenderLines(lines []judge.Line, in Input, opts Options) (Rendering, error) {
	if !nonceForm.MatchString(opts.Nonce) {
		return Rendering{}, fmt.Errorf("render transcript: nonce of %d characters: want 8 to 64 letters and digits", len(opts.Nonce))
	}
	header, err := headerLine(in, opts)
	if err != nil {
		return Rendering{}, err
	}
	room := opts.budget() - opts.tokens(header) - opts.tokens(fence(opts.Nonce, "", ""))
	shown, reductions, err := reduce(lines, opts, room)
	if err != nil {
		return Rendering{}, err
	}
	var body, plain strings.Builder
	body.WriteString(header)
	shownSteps := make(map[int]bool, len(shown))
	out := Rendering{Reductions: reductions, Lines: make([]judge.Line, 0, len(shown))}
	for i := range shown {
		p := &shown[i]
		text, err := p.encode()
		if err != nil {
			return Rendering{}, err
		}
		body.WriteString(text)
		if p.gapTo > 0 {
			out.Gaps = append(out.Gaps, Gap{From: p.line.Step, To: p.gapTo})
		}
		l := &p.line
		out.Lines = append(out.Lines, *l)
		if p.gapTo > 0 {
			continue
		}
		shownSteps[l.Step] = true
		for _, s := range []string{l.Text, l.Arguments} {
			if s != "" {
				plain.WriteString(s)
				plain.WriteByte('\n')
			}
		}
	}
	out.ShownFacts = factsOn(in.Facts, shownSteps)
	out.Facts = factLines(out.ShownFacts)
	out.Plain = plain.String()
	out.Text = fence(opts.Nonce, body.String(), "\n")
	out.Tokens = opts.tokens(out.Text)
	sum := sha256.New()
	for _, part := range []string{opts.SettingsSHA256(), out.Facts, body.String()} {
		sum.Write([]byte(part))
		sum.Write([]byte{0})
	}
	out.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return out, nil
}

func fence(nonce, body, end string) string {
	return "<<DATA " + nonce + ">>\n" + body + "<</DATA " + nonce + ">>" + end
}

// header is the first line inside the fence: names come from the session and are data like everything else.
type header struct {
	Service   string   `json:"service,omitempty"`
	Agent     string   `json:"agent,omitempty"`
	Harness   string   `json:"harness,omitempty"`
	Steps     int      `json:"steps"`
	Part      string   `json:"part,omitempty"` // 2 of 3: steps 40 to 81
	Turns     int      `json:"turns"`
	Missing   []string `json:"never_exported,omitempty"`
	Skills    []skill  `json:"skills,omitempty"`
	MoreSkill int      `json:"more_skills,omitempty"`
}

type skill struct {
	Skill   string `json:"skill"`
	Via     string `json:"via"`
	Outcome string `json:"outcome"`
	Step    *int32 `json:"step,omitempty"`
}

const maxSkills = 40

func headerLine(in Input, opts Options) (string, error) {
	h := header{}
	m := opts.masker()
	name := func(s string) string { return clipRunes(m.text(s), 200) }
	if s := in.Session; s != nil {
		h.Service, h.Agent, h.Harness, h.Turns = name(s.Service), name(s.Agent), name(s.Harness), int(s.NTurns)
		for _, missing := range s.Missing {
			h.Missing = append(h.Missing, name(missing))
		}
	}
	h.Steps = len(in.Steps)
	h.Part = opts.part.String()
	for i := range in.Skills {
		if i == maxSkills {
			h.MoreSkill = len(in.Skills) - maxSkills
			break
		}
		k := &in.Skills[i]
		h.Skills = append(h.Skills, skill{Skill: name(k.Skill), Via: k.Via, Outcome: k.Outcome, Step: k.Step})
	}
	return encode(&struct {
		Session header `json:"session"`
	}{h})
}

// encode writes v as one line of JSON. Marker look-alikes were neutralised in the strings before.
func encode(v any) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", fmt.Errorf("encode a line of the transcript: %w", err)
	}
	return b.String(), nil
}

func factsOn(facts []judge.Fact, shown map[int]bool) []judge.Fact {
	out := make([]judge.Fact, len(facts))
	for i, f := range facts {
		var steps []int
		for _, s := range f.Steps {
			if shown[s] {
				steps = append(steps, s)
			}
		}
		f.Steps = steps
		out[i] = f
	}
	return out
}

const maxFactSteps = 20

func factLines(facts []judge.Fact) string {
	var b strings.Builder
	for _, f := range facts {
		b.WriteString(f.Name)
		b.WriteString(": ")
		b.WriteString(string(f.Truth))
		if f.Detail != "" {
			b.WriteString("; ")
			b.WriteString(f.Detail)
		}
		for i, s := range f.Steps {
			switch {
			case i == 0:
				b.WriteString("; steps ")
			case i == maxFactSteps:
				fmt.Fprintf(&b, " and %d more", len(f.Steps)-i)
			default:
				b.WriteString(", ")
			}
			if i == maxFactSteps {
				break
			}
			b.WriteString(strconv.Itoa(s))
		}
		b.WriteByte('\n')
	}
	return b.String()
}
