package mask

// Character classes of the anchored matchers.
const (
	cUpper = 1 << iota
	cLower
	cDigit
	cHex       // 0-9 a-f
	cDash      // - _
	cStd       // + /
	cName      // characters of a name in running text: letters, digits, _ . -
	cSpace     // blank and tab
	cEnd       // ends an unquoted value
	cTok       // characters of a bearer token: letters, digits, +/=_.~:-
	cHexUp     // 0-9 a-f A-F
	cPlain     // hides nothing: ASCII but backslash, percent sign, ampersand, escape and NUL
	cBase64    // letters, digits, - _ + /
	cSep       // may follow a name that has a value
	cRun       // characters of tokens and URLs
	cKey       // letters, digits, - _ = .
	cAlpha     = cUpper | cLower
	cAlnum     = cAlpha | cDigit
	cURLSafe   = cAlnum | cDash
	cAnyBase64 = cURLSafe | cStd
)

// classes is never written after its initialisation.
var classes = classTable()

func classTable() (t [256]uint16) {
	mark := func(set string, class uint16) {
		for i := range len(set) {
			t[set[i]] |= class
		}
	}
	const (
		upper, lower = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"
		digit        = "0123456789"
	)
	mark(upper, cUpper)
	mark(lower, cLower)
	mark(digit, cDigit)
	mark(digit+"abcdef", cHex)
	mark(digit+"abcdefABCDEF", cHexUp)
	mark(upper+lower+digit+"-_+/", cBase64)
	mark("-_", cDash)
	mark("+/", cStd)
	mark(upper+lower+digit+"_.-", cName)
	mark(" \t", cSpace)
	mark(" \t\r\n\v\f\"'`\\,;}{[]()<>", cEnd)
	mark(upper+lower+digit+"+/=_.~:-", cTok)
	mark("\"'`=:,>*]\\\r\n", cSep)
	mark(upper+lower+digit+"+/=_.~:-&?%@", cRun)
	mark(upper+lower+digit+"-_=.", cKey)
	for c := byte(1); c < 0x80; c++ {
		if c != '\\' && c != '%' && c != '&' && c != esc {
			t[c] |= cPlain
		}
	}
	return t
}

func is(b byte, class uint16) bool { return classes[b]&class != 0 }

// runEnd returns the end of the run of class that starts at i.
func runEnd(s string, i int, class uint16) int {
	for i < len(s) && classes[s[i]]&class != 0 {
		i++
	}
	return i
}

// runStart returns the start of the run of class that ends before i, looking back limit bytes at most.
func runStart(s string, i int, class uint16, limit int) int {
	low := max(0, i-limit)
	for i > low && classes[s[i-1]]&class != 0 {
		i--
	}
	return i
}

// mix returns the classes that occur in s.
func mix(s string) (m uint16) {
	for i := range len(s) {
		m |= classes[s[i]]
	}
	return m
}

func lower(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b | 0x20
	}
	return b
}

// hasFold reports whether s has lit, which is lower case, at i, whatever the case in s.
func hasFold(s string, i int, lit string) bool {
	if i < 0 || i+len(lit) > len(s) {
		return false
	}
	for j := range len(lit) {
		if lower(s[i+j]) != lit[j] {
			return false
		}
	}
	return true
}

func has(s string, i int, lit string) bool {
	return i >= 0 && i+len(lit) <= len(s) && s[i:i+len(lit)] == lit
}
