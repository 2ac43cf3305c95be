package report

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxName   = 96   // of a service, an agent, a session id: characters shown
	maxPhrase = 2000 // of a question, a reason, a path
	maxMarks  = 3    // combining marks on one character; more pile up over the lines around it
)

// name makes an identifier of untrusted origin fit to print: one line, nothing invisible, nothing that turns the direction
// of what stands around it, and not longer than a table bears. Two long names keep their ends apart.
func name(s string) string { return clean(s, maxName) }

// phrase is name for sentences.
func phrase(s string) string { return clean(s, maxPhrase) }

func clean(s string, limit int) string {
	if len(s) > 16*limit { // far beyond what is shown: do not walk through megabytes
		s = s[:8*limit] + "…" + s[len(s)-8*limit:]
	}
	out := make([]rune, 0, min(len(s), 2*limit))
	marks := 0
	for _, r := range strings.ToValidUTF8(s, "�") {
		if unicode.In(r, unicode.Mn, unicode.Me) {
			if marks++; marks > maxMarks {
				continue
			}
		} else {
			marks = 0
		}
		switch {
		case r == '\n', r == '\r', r == '\t', unicode.Is(unicode.Zs, r):
			if len(out) > 0 && out[len(out)-1] != ' ' {
				out = append(out, ' ')
			}
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co) || !unicode.IsPrint(r):
			out = append(out, []rune(fmt.Sprintf("‹U+%04X›", r))...)
		default:
			out = append(out, r)
		}
	}
	if len(out) > limit {
		tail := limit / 3
		out = append(append(out[:limit-tail-1:limit-tail-1], '…'), out[len(out)-tail:]...)
	}
	return strings.TrimSpace(string(out))
}

// Marks around a text whose direction shall not reach beyond it.
const (
	isolateStart = '\u2068'
	isolateEnd   = '\u2069'
)

// isolate keeps a name of a right-to-left script from pulling the numbers beside it to its other side. HTML has bdi for it.
func isolate(s string) string {
	for _, r := range s {
		if unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko) {
			return string(isolateStart) + s + string(isolateEnd)
		}
	}
	return s
}

// width counts the columns of s on a terminal: marks take none, East Asian wide characters and pictures two.
func width(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

func runeWidth(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0x303e, r >= 0x3041 && r <= 0xa4cf, r >= 0xac00 && r <= 0xd7a3,
		r >= 0xf900 && r <= 0xfaff, r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60, r >= 0xffe0 && r <= 0xffe6,
		r >= 0x1f300 && r <= 0x1faff, r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}

// fit cuts s to at most columns and pads it to exactly columns.
func fit(s string, columns int) string {
	if w := width(s); w > columns {
		n, end := 0, 0
		for i, r := range s {
			if n += runeWidth(r); n > columns-1 {
				break
			}
			end = i + utf8.RuneLen(r)
		}
		s = s[:end] + "…"
	}
	return s + strings.Repeat(" ", max(0, columns-width(s)))
}
