package mask

import (
	"bytes"
	"strings"
)

const (
	maxLabel   = 64
	privateKey = "PRIVATE KEY"
	// privateKeyBare is privateKey without the blank, which a wrapped line may have lost.
	privateKeyBare = "PRIVATEKEY"
)

// pem matches a block from BEGIN … PRIVATE KEY to its END, or to the end of the value; at is BEGIN. Quoting signs,
// line numbers and escapes inside go with it. Certificates and public keys stay.
func pem(sc *scanner, at int) int {
	s := sc.s
	start, ok := dashesBefore(s, at)
	if !ok {
		return 0
	}
	body, ok := pemLabel(s, at+len("BEGIN"))
	if !ok {
		return 0
	}
	// Every END of another block on the way belongs to the secret too.
	for i := body; ; {
		k := strings.Index(s[i:], "END")
		if k < 0 {
			return sc.add(start, len(s), PrivateKey)
		}
		i += k + len("END")
		if _, ok := dashesBefore(s, i-len("END")); ok {
			if end, ok := pemLabel(s, i); ok {
				return sc.add(start, end, PrivateKey)
			}
		}
	}
}

// dashesBefore is where the four to eight dashes before i begin. Line breaks and what leads a line may lie between them.
func dashesBefore(s string, i int) (int, bool) {
	start, dashes := i, 0
	for at := i; at > 0 && dashes < 8 && i-at < maxLabel; at-- {
		switch c := s[at-1]; {
		case c == '-':
			dashes++
			start = at - 1
			continue
		case dashes < 5 && (c == ' ' || broken(c)):
			continue
		}
		break
	}
	return start, dashes >= 4
}

// pemLabel parses " RSA PRIVATE KEY-----" at i and returns its end. Line breaks may lie anywhere in it, with what quotes or indents the
// next line: a key that was wrapped at a width of its own is still one.
func pemLabel(s string, i int) (int, bool) {
	var label [maxLabel]byte
	n, k := 0, i
	for ; k < len(s) && k-i < 2*maxLabel; k++ {
		c := s[k]
		if is(c, cUpper|cDigit) && n < maxLabel {
			label[n] = c
			n++
		} else if c != ' ' && c != '+' && !broken(c) { // + is a blank in forms
			break
		}
	}
	if !bytes.Contains(label[:n], []byte(privateKeyBare)) {
		return 0, false
	}
	end, dashes := k, 0
	for at := k; at < len(s) && dashes < 8 && (s[at] == '-' || dashes < 5 && (broken(s[at]) || s[at] == ' ' && at > k)); at++ {
		if s[at] == '-' {
			dashes++
			end = at + 1
		}
	}
	return end, dashes >= 4 || end == len(s)
}

// broken reports what a wrapped line ends or begins with.
func broken(c byte) bool { return c == '\n' || c == '\r' || c == '\t' || c == '>' }
