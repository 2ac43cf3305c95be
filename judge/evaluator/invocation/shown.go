package invocation

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/transcript"
	"github.com/tracejury/tracejury/schema"
)

// Cuts says in words what of a record is not shown; "" when all of it is.
func Cuts(r *transcript.Rendering) string {
	var cuts []string
	for _, x := range r.Reductions {
		cuts = append(cuts, x.Rung)
	}
	if n := len(r.Gaps); n > 0 {
		cuts = append(cuts, fmt.Sprintf("%d gaps", n))
	}
	return strings.Join(cuts, ", ")
}

// Reductions is what the ladder cut, in order.
func Reductions(r *transcript.Rendering) []string {
	out := make([]string, 0, len(r.Reductions))
	for _, x := range r.Reductions {
		out = append(out, x.String())
	}
	return out
}

// Shown is the numbers of the steps that a judge may name as evidence.
func Shown(lines []judge.Line) map[int]bool {
	out := make(map[int]bool, len(lines))
	for _, l := range lines {
		if l.Kind != transcript.KindGap && l.Step > 0 {
			out[l.Step] = true
		}
	}
	return out
}

// Clip cuts text to most characters and says so.
func Clip(s string, most int) string {
	n := utf8.RuneCountInString(s)
	if n <= most {
		return s
	}
	return fmt.Sprintf("%s[%d characters omitted]", string([]rune(s)[:most]), n-most)
}

// WithoutCatalogue is the steps with each catalogue replaced by a word: it is told apart from the record, and long.
func WithoutCatalogue(steps []schema.Step) []schema.Step {
	out := slices.Clone(steps)
	for i := range out {
		if out[i].Kind == "skill_catalogue" && out[i].Text != "" {
			out[i].Text = "(the skills on offer)"
		}
	}
	return out
}
