package mask

import "strings"

const (
	seamContext = 160     // bytes on either side of a seam that are looked at: a name, an opening line of a key
	seamRun     = 4 << 10 // and how far a run without blanks is followed
)

// piece is a text of a message inside a document.
type piece struct {
	text  string
	view  *view
	from  int  // where it lies in the document
	plain bool // an element of a list, not a text of a message: only what is unmistakable counts across its ends
}

// seams remembers the texts of one message, to find what was cut over two or more of them.
type seams struct {
	run  []piece
	role string // a change of it ends the message
	pem  bool   // inside a private key that an earlier text began
}

func (b *seams) reset() { b.run, b.pem = b.run[:0], false }

// TextKey reports whether a key holds the text of a message or a part of it, over which a secret may be cut: see [Masker.Joined].
func TextKey(key string) bool { return textLike(key) }

// textLike reports keys that hold the texts of messages, whole or in deltas.
func textLike(key string) bool {
	switch key {
	case "content", "text", "delta", "thinking", "reasoning", "message", "output_text", "completion", "partial_json", "input", "output":
		return true
	}
	return false
}

// seam looks at where the text before ends and this one begins. spans are what was found in this one alone.
func (w *walker) seam(p piece, spans []span) {
	b := &w.seams
	if b.pem {
		end, closed := keyEnd(b.tail(maxLabel), p.text)
		w.cover(p, 0, end, span{kind: PrivateKey})
		b.pem = !closed
	} else {
		b.pem = !p.plain && openKey(p.text, spans)
		if len(b.run) > 0 && seamWorthLooking(b.run[len(b.run)-1].text, p.text) {
			w.across(p)
		}
	}
	if p.text == "" {
		return
	}
	b.run = append(b.run, p)
	for size, i := 0, len(b.run)-1; i > 0; i-- {
		if size += len(b.run[i].text); size > seamRun {
			b.run = b.run[:copy(b.run, b.run[i:])]
			return
		}
	}
}

// seamWorthLooking skips where prose ends: a secret goes on without a blank, and a name that waits for its value ends
// with a separator.
func seamWorthLooking(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	if a[len(a)-1] > ' ' && b[0] > ' ' {
		return true
	}
	a = strings.TrimRight(a, " \t\r\n")
	return a != "" && (strings.IndexByte(":=\"'`-", a[len(a)-1]) >= 0 || schemeEnd(a[strings.LastIndexAny(a, " \t\r\n:")+1:]+" ") > 0)
}

// tail returns the last bytes of the texts so far, n at least and the run without blanks that they end with.
func (b *seams) tail(n int) string {
	var tail string
	for i := len(b.run) - 1; i >= 0 && len(tail) < seamRun; i-- {
		text := b.run[i].text
		part := cutTail(text, max(1, n-len(tail)))
		tail = part + tail
		if len(part) < len(text) {
			break
		}
	}
	return tail
}

// cutTail returns the last bytes of s, n at least and the run without blanks that they end with.
func cutTail(s string, n int) string {
	from := max(0, len(s)-n)
	for from > 0 && len(s)-from < seamRun && s[from-1] > ' ' {
		from--
	}
	return s[from:]
}

// head returns the first bytes of s, n at least and the run without blanks that they end with.
func head(s string, n int) string {
	to := min(len(s), n)
	for to < len(s) && to < seamRun && s[to] > ' ' {
		to++
	}
	return s[:to]
}

// rests appends what goes on behind a marker that ends a part: there a token was cut, and masked when it came alone.
func (m *Masker) rests(dst []span, parts []string) []span {
	at := 0
	for i, p := range parts {
		if i > 0 && len(p) >= tailMin && strings.HasSuffix(parts[i-1], "]") {
			before := parts[i-1]
			k := max(0, strings.LastIndex(before, markerOpen))
			n, kind := markerAt(before[k:])
			if end := runEnd(p, 0, cURLSafe); n > 0 && n == len(before)-k && end >= tailMin && !wordy(p[:end]) {
				s := m.span(p, 0, end, kind)
				s.start, s.end = at, at+end
				dst = append(dst, s)
			}
		}
		at += len(p)
	}
	return dst
}

// wordy reports a run that a sentence may begin with: letters of one case but for the first one, in which vowels are not far.
func wordy(v string) bool {
	mute := 0
	for i := range len(v) {
		switch {
		case is(v[i], cDigit), i > 0 && is(v[i], cUpper):
			return false
		case strings.IndexByte("aeiouy-_", lower(v[i])) >= 0:
			mute = 0
		default:
			mute++
		}
		if mute > 5 {
			return false
		}
	}
	return true
}

// across finds what begins in the texts before p and ends in p.
func (w *walker) across(p piece) {
	before, after := w.seams.tail(seamContext), head(p.text, seamContext)
	at, joined := len(before), before+after
	sc := scanner{m: w.m, s: joined, tokensOnly: p.plain}
	if len(after) < len(p.text) {
		sc.s += " " // the text goes on: a token that ends here is not cut
	}
	sc.scan()
	for _, found := range merge(sc.spans) {
		end := min(found.end, len(joined)) - at
		if end < 0 {
			continue
		}
		if found.kind == PrivateKey && found.end == len(sc.s) && !p.plain {
			var closed bool
			end, closed = keyEnd("", p.text)
			w.seams.pem = !closed
		} else if found.end >= len(joined) && end < len(p.text) {
			end = runEnd(p.text, end, cTok) // longer than what was looked at
		}
		w.cover(p, max(0, found.start-at), end, found)
		for i, left := len(w.seams.run)-1, at-found.start; i >= 0 && left > 0; i-- {
			earlier := w.seams.run[i]
			w.cover(earlier, max(0, len(earlier.text)-left), len(earlier.text), found)
			left -= len(earlier.text)
		}
	}
}

// cover notes that a stretch of a text belongs to the secret that was found. Each piece carries the hash of the whole.
func (w *walker) cover(p piece, from, to int, found span) {
	if from >= to || onlyMarkers(p.text[from:to]) {
		return
	}
	w.lift([]span{{start: from, end: to, kind: found.kind, hash: found.hash}}, p.view, p.from)
}

// openKey reports whether a private key begins in the text and goes on behind it.
func openKey(text string, spans []span) bool {
	for _, s := range spans {
		if s.kind == PrivateKey && s.end == len(text) {
			_, closed := keyEnd("", text[s.start:])
			return !closed
		}
	}
	return false
}

// keyEnd returns where a private key that began before text ends in it, or its end if it does not.
func keyEnd(before, text string) (int, bool) {
	s := before + text
	for i := 0; ; {
		k := strings.Index(s[i:], "END")
		if k < 0 {
			return len(text), false
		}
		i += k + len("END")
		if _, ok := dashesBefore(s, i-len("END")); ok {
			if end, ok := pemLabel(s, i); ok && end > len(before) {
				return end - len(before), true
			}
		}
	}
}
