package transcript

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/schema"
)

// MaskFailed replaces a text whose masking failed: raw text is never shown instead.
const MaskFailed = "[MASKED:error]"

// Lines masks the steps, makes the invisible visible and gives calls short ids in order of appearance. Nothing is cut
// yet: facts are computed on these lines.
func Lines(in Input, opts Options) []judge.Line {
	m := opts.masker()
	calls := map[string]string{}
	out := make([]judge.Line, len(in.Steps))
	for i := range in.Steps {
		s := &in.Steps[i]
		l := judge.Line{
			Step: int(s.Step), Turn: int(s.Turn), Role: clean(s.Role), Kind: clean(s.Kind), Agent: m.text(s.Agent),
			Tool: m.text(s.Tool), Arguments: m.text(s.Arguments), Outcome: clean(s.Outcome), Text: m.text(s.Text),
		}
		if s.ExitCode != nil {
			code := int(*s.ExitCode)
			l.ExitCode = &code
		}
		if s.CallID != "" {
			if calls[s.CallID] == "" {
				calls[s.CallID] = fmt.Sprintf("c%d", len(calls)+1)
			}
			l.CallID = calls[s.CallID]
		}
		if s.Truncated {
			l.Note = "the harness cut this text"
		}
		out[i] = l
	}
	m.acrossSteps(in.Steps, out)
	return out
}

// masker masks one text at a time and fails closed.
type masker struct{ mask func(string) string }

func (o Options) masker() masker { return masker{o.Mask} }

func (m masker) text(s string) string {
	if s == "" {
		return ""
	}
	return clean(m.apply(s))
}

func (m masker) apply(s string) (out string) {
	if m.mask == nil {
		return s
	}
	defer func() {
		if recover() != nil {
			out = MaskFailed
		}
	}()
	return m.mask(s)
}

// acrossSteps finds secrets that were told in two pieces: neighbouring texts of one speaker (streamed deltas, split
// parts) are masked as one. Where that finds more than the pieces did, the joined text stands in the first of them.
func (m masker) acrossSteps(steps []schema.Step, lines []judge.Line) {
	if m.mask == nil {
		return
	}
	for from := 0; from < len(steps); {
		to := from + 1
		for to < len(steps) && continues(&steps[to-1], &steps[to]) {
			to++
		}
		if to-from > 1 {
			m.join(steps[from:to], lines[from:to])
		}
		from = to
	}
}

func continues(a, b *schema.Step) bool {
	return a.Kind == b.Kind && a.Role == b.Role && a.Agent == b.Agent && a.CallID == b.CallID &&
		(a.Kind == "message" || a.Kind == "reasoning" || a.Kind == "tool_result")
}

func (m masker) join(steps []schema.Step, lines []judge.Line) {
	var raw, pieces strings.Builder
	for i := range steps {
		raw.WriteString(steps[i].Text)
		pieces.WriteString(lines[i].Text)
	}
	joined := m.text(raw.String())
	if joined == pieces.String() {
		return
	}
	lines[0].Text = joined
	lines[0].Note = addNote(lines[0].Note, fmt.Sprintf("texts of steps %d to %d joined here to mask across them", lines[0].Step, lines[len(lines)-1].Step))
	for i := range lines[1:] {
		lines[i+1].Text = ""
		lines[i+1].Note = addNote(lines[i+1].Note, fmt.Sprintf("text joined to step %d", lines[0].Step))
	}
}

func addNote(note, more string) string {
	if note == "" {
		return more
	}
	return note + "; " + more
}

// clean makes text safe to show: valid UTF-8, invisible characters visible, marker look-alikes neutralised.
func clean(s string) string {
	if plainASCII(s) {
		return s
	}
	return neutralise(visible(s))
}

// plainASCII says that a text needs no work: printable ASCII, tabs and line feeds, and no marker.
func plainASCII(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c >= 0x7f || c < ' ' && c != '\n' && c != '\t' || c == '<' && i+1 < len(s) && s[i+1] == '<' {
			return false
		}
	}
	return true
}

// visible writes control, bidi, zero-width and other invisible characters as [U+202E]; a run of the same one is counted.
// CRLF becomes a line feed.
func visible(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if !invisible(r) {
			b.WriteRune(r) // an invalid byte becomes U+FFFD
			i += n
			continue
		}
		run := 0
		for i < len(s) {
			next, n := utf8.DecodeRuneInString(s[i:])
			if next != r {
				break
			}
			run++
			i += n
		}
		if run == 1 {
			fmt.Fprintf(&b, "[U+%04X]", r)
		} else {
			fmt.Fprintf(&b, "[U+%04X ×%d]", r, run)
		}
	}
	return b.String()
}

func invisible(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < ' ', r >= 0x7f && r <= 0x9f: // C0, DEL, C1
		return true
	case r < 0xad:
		return false
	case r == 0xad, r == 0x34f, r == 0x61c, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r == 0x3164, r == 0xffa0, r == 0x2800:
		return true
	case r >= 0x180b && r <= 0x180f: // Mongolian selectors
		return true
	case r >= 0x200b && r <= 0x200f, r >= 0x2028 && r <= 0x202e, r >= 0x2060 && r <= 0x206f: // zero width, separators, bidi
		return true
	case r == 0xfeff, r >= 0xfff0 && r <= 0xfffb: // byte order mark, interlinear
		return true
	case r >= 0x1d173 && r <= 0x1d17a, r >= 0xe0000 && r <= 0xe0fff: // musical controls, tags, selectors
		return true
	}
	return false
}

// neutralise takes the force from what looks like our fence: two or more opening brackets of any kind before the word
// "data". The brackets become words, so a reader still sees that they were there.
func neutralise(s string) string {
	var b strings.Builder
	kept := 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if !opening(r) {
			i += n
			continue
		}
		from, count := i, 0
		for i < len(s) {
			r, n := utf8.DecodeRuneInString(s[i:])
			if !opening(r) {
				break
			}
			count++
			if r == '«' || r == '≪' || r == '《' || r == '⟪' {
				count++
			}
			i += n
		}
		if count < 2 || !namesMarker(s[i:]) {
			continue
		}
		b.WriteString(s[kept:from])
		b.WriteString("[two brackets]")
		kept = i
	}
	if kept == 0 {
		return s
	}
	b.WriteString(s[kept:])
	return b.String()
}

func opening(r rune) bool {
	switch r {
	case '<', '＜', '‹', '\u3008', '\u2329', '⟨', '«', '≪', '《', '⟪', '﹤', '˂', 'ᐸ', '❮', '❰':
		return true
	}
	return false
}

// namesMarker says whether a text begins, after blanks and slashes, with the word "data" in any case or width.
func namesMarker(s string) bool {
	word := "data"
	for seen := 0; s != "" && seen < 80; seen++ {
		r, n := utf8.DecodeRuneInString(s)
		s = s[n:]
		if r >= 0xff01 && r <= 0xff5e { // full width
			r -= 0xfee0
		}
		if r >= 'A' && r <= 'Z' {
			r += 'a' - 'A'
		}
		if r == rune(word[0]) {
			if word = word[1:]; word == "" {
				return true
			}
			continue
		}
		if word != "data" {
			return false
		}
		switch r {
		case ' ', '\t', '\n', '/', '\\', '∕', '⁄', 0x00a0, 0x3000:
		default:
			return false
		}
	}
	return false
}
