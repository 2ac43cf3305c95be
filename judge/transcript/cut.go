package transcript

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"
)

// minEncoded is the length from which a run of base64 characters is data and not a word, a path or a hash.
const minEncoded = 256

// encodedData replaces long runs of base64 in every text by their size and hash.
func (l *ladder) encodedData() int {
	n := 0
	for i := range l.pieces {
		p := &l.pieces[i]
		text, a := withoutEncoded(p.line.Text)
		arguments, b := withoutEncoded(p.line.Arguments)
		if p.dropped || a+b == 0 {
			continue
		}
		p.line.Text, p.line.Arguments = text, arguments
		l.remeasure(p)
		n++
	}
	return n
}

func withoutEncoded(s string) (string, int) {
	if len(s) < minEncoded {
		return s, 0
	}
	var b strings.Builder
	kept, n := 0, 0
	for i := 0; i < len(s); {
		if !base64Byte(s[i]) {
			i++
			continue
		}
		from := i
		breaks := 0
		for i < len(s) && (base64Byte(s[i]) || lineBreak(s, i, from)) {
			if s[i] == '\n' {
				breaks++
			}
			i++
		}
		if i-from-breaks < minEncoded || !mixed(s[from:i]) {
			continue
		}
		sum := sha256.Sum256([]byte(s[from:i]))
		b.WriteString(s[kept:from])
		fmt.Fprintf(&b, "[encoded data, %d characters, sha256 %s]", i-from, hex.EncodeToString(sum[:4]))
		kept = i
		n++
	}
	if n == 0 {
		return s, 0
	}
	b.WriteString(s[kept:])
	return b.String(), n
}

// lineBreak says that a line feed at i continues wrapped base64: the line before it was full.
func lineBreak(s string, i, from int) bool {
	if s[i] != '\n' || i+1 >= len(s) || !base64Byte(s[i+1]) {
		return false
	}
	start := max(from, i-76)
	return i-start >= 60 && !strings.Contains(s[start:i], "\n")
}

func base64Byte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '+' || c == '/' || c == '=' || c == '_' || c == '-'
}

// mixed tells data from rulers and repeated letters: several characters of more than one class.
func mixed(s string) bool {
	var seen [256]bool
	distinct, classes := 0, [3]bool{}
	for i := range min(len(s), 512) {
		c := s[i]
		if !seen[c] {
			seen[c] = true
			distinct++
		}
		switch {
		case c >= 'a' && c <= 'z':
			classes[0] = true
		case c >= 'A' && c <= 'Z':
			classes[1] = true
		case c >= '0' && c <= '9':
			classes[2] = true
		}
	}
	return distinct >= 12 && (classes[0] || classes[1]) && (classes[2] || classes[0] && classes[1])
}

// minRepeated is the length from which a repeated result is worth a reference.
const minRepeated = 200

// repeatedResults replaces a tool result that was shown before by a reference to it.
func (l *ladder) repeatedResults() int {
	first := map[[sha256.Size]byte]int{}
	n := 0
	for i := range l.pieces {
		p := &l.pieces[i]
		if p.dropped || !isResult(p) || len(p.line.Text) < minRepeated {
			continue
		}
		sum := sha256.Sum256([]byte(p.line.Text))
		step, seen := first[sum]
		if !seen {
			first[sum] = p.line.Step
			continue
		}
		p.line.Text = ""
		p.line.Note = addNote(p.line.Note, fmt.Sprintf("same text as step %d", step))
		l.remeasure(p)
		n++
	}
	return n
}

// cap keeps head and tail characters of each text that fits which.
func (l *ladder) cap(which func(*piece) bool, head, tail int) int {
	n := 0
	for i := range l.pieces {
		p := &l.pieces[i]
		if p.dropped || !which(p) {
			continue
		}
		text, cut := headAndTail(p.line.Text, head, tail)
		if !cut {
			continue
		}
		p.line.Text = text
		l.remeasure(p)
		n++
	}
	return n
}

// capArguments is cap for the arguments of calls.
func (l *ladder) capArguments(head, tail int) int {
	n := 0
	for i := range l.pieces {
		p := &l.pieces[i]
		text, cut := headAndTail(p.line.Arguments, head, tail)
		if p.dropped || !cut {
			continue
		}
		p.line.Arguments = text
		l.remeasure(p)
		n++
	}
	return n
}

// headAndTail cuts the middle of a text of more than head+tail characters and says how much is gone. The note's own
// length is left: a text that the note would not shorten stays.
func headAndTail(s string, head, tail int) (string, bool) {
	const note = 40
	if len(s) <= head+tail+note {
		return s, false
	}
	total := utf8.RuneCountInString(s)
	if total <= head+tail+note {
		return s, false
	}
	from := 0
	for range head {
		_, n := utf8.DecodeRuneInString(s[from:])
		from += n
	}
	to := len(s)
	for range tail {
		_, n := utf8.DecodeLastRuneInString(s[:to])
		to -= n
	}
	// A mask marker at the cut stays whole: half of one would read as text.
	from, to = outsideMarker(s, from, to)
	return fmt.Sprintf("%s[%d characters omitted]%s", s[:from], utf8.RuneCountInString(s[from:to]), s[to:]), true
}

const (
	markerOpen = "[MASKED:"
	maxMarker  = 80
)

func outsideMarker(s string, from, to int) (int, int) {
	if open := strings.LastIndex(s[max(0, from-maxMarker):from], markerOpen); open >= 0 {
		open += max(0, from-maxMarker)
		if end := strings.IndexByte(s[open:], ']'); end >= 0 && end < maxMarker && open+end+1 > from && open+end+1 < to {
			from = open + end + 1
		}
	}
	window := s[max(from, to-maxMarker):to]
	if open := strings.LastIndex(window, markerOpen); open >= 0 && !strings.Contains(window[open:], "]") {
		to = max(from, to-maxMarker) + open
	}
	return from, to
}

func clipRunes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	at := 0
	for range n {
		_, size := utf8.DecodeRuneInString(s[at:])
		at += size
	}
	return s[:at] + "…"
}
