package mask

import "strings"

const (
	maxLabel   = 64
	privateKey = "PRIVATE KEY"
)

// pem matches a block from BEGIN … PRIVATE KEY to its END, or to the end of the value; at is BEGIN. Quoting signs,
// line numbers and escapes inside go with it. Certificates and public keys stay.
func pem(sc *scanner, at int) int {
	s := sc.s
	start := at
	for start > 0 && s[start-1] == ' ' && at-start < 2 {
		start--
	}
	dashes := start
	for start > 0 && s[start-1] == '-' && dashes-start < 8 {
		start--
	}
	if dashes-start < 4 {
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
		if dashedBefore(s, i-len("END")) {
			if end, ok := pemLabel(s, i); ok {
				return sc.add(start, end, PrivateKey)
			}
		}
	}
}

func dashedBefore(s string, i int) bool {
	for n := 0; n < 2 && i > 0 && s[i-1] == ' '; n++ {
		i--
	}
	return i >= 4 && s[i-4:i] == "----"
}

// pemLabel parses " RSA PRIVATE KEY-----" at i and returns its end.
func pemLabel(s string, i int) (int, bool) {
	limit := min(len(s), i+maxLabel)
	k := i
	for k < limit && (is(s[k], cUpper|cDigit) || s[k] == ' ' || s[k] == '+') { // + is a blank in forms
		k++
	}
	if label := s[i:k]; !strings.Contains(label, privateKey) && !strings.Contains(label, "PRIVATE+KEY") {
		return 0, false
	}
	end := k
	for end < len(s) && s[end] == '-' && end-k < 8 {
		end++
	}
	return end, end-k >= 4 || end == len(s)
}
