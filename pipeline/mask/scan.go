package mask

// gramBits is the size of the prefilter: three bytes, of which the lower five bits count. Letters of either case are one,
// and what else falls on a letter is rare enough beside it.
const gramBits = 15

// matcher names the function that looks around a hit. It is a number and no function value so that a scanner stays on
// the stack.
type matcher uint8

const (
	matchToken matcher = iota
	matchNamed
	matchOpenAI
	matchAnthropic
	matchTwilio
	matchSendGrid
	matchTelegram
	matchEntra
	matchJWT
	matchSlackHook
	matchDocSecret
	matchPEM
	matchUserInfo
	matchBearer
	matchParameter
	matchProgram
	matchNetrc
	matchNetrcDefault
	matchPgpass
	matchPPK
	matchSQL
	matchKube
	matchVendor
	matchTeams
	matchAround
)

// anchor ties three bytes that a secret or a telling name must contain to the matcher that looks around them.
type anchor struct {
	lit   string // in lower case with fold
	fold  bool
	off   int // of the three bytes in lit
	match matcher
	index int // of the token or parameter
}

// anchors lists everything that is looked for. Of each literal the three bytes that are rarest in English, code and
// JSON lead to it.
func anchors(tokens []token, params []urlParameter, programs []program, vendors []vendor) []anchor {
	list := []anchor{
		{"sk-", false, 0, matchOpenAI, 0},
		{"sk-ant-", false, 1, matchAnthropic, 0},
		{"SG.", false, 0, matchSendGrid, 0},
		{":AA", false, 0, matchTelegram, 0},
		{"eyJ", false, 0, matchJWT, 0},
		{"hooks.slack", false, 3, matchSlackHook, 0},
		{"EXAMPLEKEY", false, 5, matchDocSecret, 0},
		{"BEGIN", false, 0, matchPEM, 0},
		{"://", false, 0, matchUserInfo, 0},
		{"bearer", true, 0, matchBearer, 0},
		{"machine", false, 2, matchNetrc, 0},
		{"default login", false, 6, matchNetrcDefault, 0},
		{":*:", false, 0, matchPgpass, 0},
		{"Private-Lines:", false, 6, matchPPK, 0},
		{"identified by", true, 6, matchSQL, 0},
		{"kind: secret", true, 2, matchKube, 0},
		{"office.com/webhookb2/", false, 14, matchTeams, 0},
		{".atlasv1.", false, 3, matchAround, 0},
		{"_mmk", false, 1, matchAround, 0},
		{".acc_", false, 0, matchAround, 0},
		{".acc-", false, 0, matchAround, 0},
	}
	for _, port := range []string{"5432", "5433", "5439", "6432", "26257"} {
		list = append(list, anchor{":" + port + ":", false, 1, matchPgpass, 0})
	}
	for _, c := range "0123456789abcdefABCDEF" {
		list = append(list, anchor{"SK" + string(c), false, 0, matchTwilio, 0})
		if c <= '9' {
			list = append(list, anchor{string(c) + "Q~", false, 0, matchEntra, 0})
		}
	}
	for _, n := range []anchor{
		{lit: "password", off: 2}, {lit: "passwd", off: 3}, {lit: "passphrase", off: 3}, {lit: "passcode", off: 3}, {lit: "pwd"},
		{lit: "secret", off: 1}, {lit: "token"}, {lit: "key"}, {lit: "credential", off: 2}, {lit: "creds", off: 2}, {lit: "authorization", off: 5},
		{lit: "cookie", off: 3}, {lit: "jwt"}, {lit: "ass=", off: 1}, {lit: "ass:", off: 1}, {lit: "ass\"", off: 1}, {lit: "ass'", off: 1},
		{lit: "auth=", off: 2}, {lit: "auth:", off: 2}, {lit: "auth\"", off: 2}, {lit: "auth =", off: 3}, {lit: "-passin", off: 0}, {lit: "storepass", off: 3}, {lit: "keypass", off: 1},
	} {
		n.fold, n.match = true, matchNamed
		list = append(list, n)
	}
	for i, t := range tokens {
		list = append(list, anchor{t.lit, false, t.off, matchToken, i})
	}
	for i, p := range params {
		list = append(list, anchor{p.lit, true, p.off, matchParameter, i})
	}
	for i, p := range programs {
		list = append(list, anchor{p.lit, false, p.off, matchProgram, i})
	}
	for i, v := range vendors {
		list = append(list, anchor{v.lit, true, v.off, matchVendor, i})
	}
	return list
}

// prefilter finds, in one pass, the places worth a look.
type prefilter struct {
	slot    [1 << gramBits]uint8 // 0 or an index into buckets
	buckets [][]anchor
}

func newPrefilter(list []anchor) *prefilter {
	p := &prefilter{buckets: make([][]anchor, 1)}
	for _, a := range list {
		h := gramAt(a.lit, a.off)
		switch {
		case p.slot[h] != 0:
		case len(p.buckets) > 0xFF: // shared by several grams: the literals tell them apart
			p.slot[h] = uint8(1 + h%0xFF)
		default:
			p.slot[h] = uint8(len(p.buckets))
			p.buckets = append(p.buckets, nil)
		}
		p.buckets[p.slot[h]] = append(p.buckets[p.slot[h]], a)
	}
	return p
}

// gramAt is the place of the three bytes at i in the prefilter.
func gramAt(s string, i int) uint32 {
	return uint32(s[i]&31) | uint32(s[i+1]&31)<<5 | uint32(s[i+2]&31)<<10
}

// scanner looks through one text. Matchers append to spans and return the position from which to go on, or 0.
type scanner struct {
	m          *Masker
	s          string
	spans      []span
	tokensOnly bool // inside a value that is already known to be secret
	barren     int  // up to here a generic sk- token was looked for in vain
	command    int  // up to here options of commands were looked for
	line       int  // and lines of password files
	manifest   int  // and manifests of secrets
}

// scan runs the prefilter over the text, six positions at a time.
func (sc *scanner) scan() {
	s := sc.s
	slot := &sc.m.filter.slot
	i := 0
next:
	for ; i+8 <= len(s); i += 6 {
		even := word(s, i)
		odd := even >> 8
		even = gramsOf(even)
		odd = gramsOf(odd)
		a, b, c := slot[even&gramMask], slot[even>>16&gramMask], slot[even>>32&gramMask]
		d, e, f := slot[odd&gramMask], slot[odd>>16&gramMask], slot[odd>>32&gramMask]
		if a|b|c|d|e|f == 0 {
			continue
		}
		for k, id := range [...]uint8{a, d, b, e, c, f} {
			if id == 0 {
				continue
			}
			if end := sc.hit(id, i+k); end > i+k+1 {
				i = end
				goto next
			}
		}
	}
	for i+3 <= len(s) {
		if id := slot[gramAt(s, i)]; id != 0 {
			if end := sc.hit(id, i); end > i+1 {
				i = end
				continue
			}
		}
		i++
	}
}

// word is the eight bytes at i, the first one lowest.
func word(s string, i int) uint64 {
	w := s[i : i+8]
	return uint64(w[0]) | uint64(w[1])<<8 | uint64(w[2])<<16 | uint64(w[3])<<24 |
		uint64(w[4])<<32 | uint64(w[5])<<40 | uint64(w[6])<<48 | uint64(w[7])<<56
}

const gramMask = 1<<gramBits - 1

// gramsOf gives each of the lower three pairs of bytes the place of the three bytes that begin with it.
func gramsOf(w uint64) uint64 {
	const low, high = 0x001f001f001f001f, 0x03e003e003e003e0
	w = w&low | w>>3&high
	return w | w>>16&low<<10
}

func (sc *scanner) hit(id uint8, at int) (next int) {
	bucket := sc.m.filter.buckets[id]
	for i := range bucket {
		a := &bucket[i]
		start := at - a.off
		if a.fold && hasFold(sc.s, start, a.lit) || !a.fold && has(sc.s, start, a.lit) {
			next = max(next, sc.look(a, start))
		}
	}
	return next
}

func (sc *scanner) look(a *anchor, at int) int {
	switch a.match {
	case matchToken:
		return sc.m.tokens[a.index].match(sc, at)
	case matchNamed:
		return named(sc, at)
	case matchOpenAI:
		return openAI(sc, at)
	case matchAnthropic:
		return looseAnthropic(sc, at)
	case matchTwilio:
		return twilio(sc, at)
	case matchSendGrid:
		return sendGrid(sc, at)
	case matchTelegram:
		return telegram(sc, at)
	case matchEntra:
		return entra(sc, at)
	case matchJWT:
		return jwt(sc, at)
	case matchSlackHook:
		return slackHook(sc, at)
	case matchDocSecret:
		return docSecret(sc, at)
	case matchPEM:
		return pem(sc, at)
	case matchUserInfo:
		return userInfo(sc, at)
	case matchBearer:
		return bearer(sc, at)
	case matchProgram:
		return sc.m.programs[a.index].match(sc, at)
	case matchNetrc:
		return netrc(sc, at)
	case matchNetrcDefault:
		return netrcDefault(sc, at)
	case matchPgpass:
		return pgpass(sc, at)
	case matchPPK:
		return ppk(sc, at)
	case matchSQL:
		return sqlPassword(sc, at)
	case matchKube:
		return kubeSecret(sc, at)
	case matchTeams:
		return teamsHook(sc, at)
	case matchAround:
		return around(sc, at)
	case matchVendor:
		return sc.m.vendors[a.index].match(sc, at)
	default:
		return sc.m.params[a.index].match(sc, at)
	}
}

// add notes a secret and returns its end.
func (sc *scanner) add(start, end int, k Kind) int {
	sc.spans = append(sc.spans, sc.m.span(sc.s, start, end, k))
	return end
}

// open reports whether no letter or digit precedes i, so that a token may begin there. A letter that belongs to an
// escape such as \n is no part of a word.
func (sc *scanner) open(i int, class uint16) bool {
	if i == 0 || !is(sc.s[i-1], class) {
		return true
	}
	return sc.escaped(i - 1)
}

// escaped reports whether the character at i is the letter of an escape.
func (sc *scanner) escaped(i int) bool {
	if i < 1 || sc.s[i-1] != '\\' {
		return false
	}
	switch sc.s[i] {
	case 'n', 'r', 't', 'b', 'f':
		return true
	}
	return false
}

// cut reports whether the value ends at i, by itself or by a sign that somebody truncated it. There a shorter rest
// of a token is enough.
func (sc *scanner) cut(i int) bool {
	i += halfEscape(sc.s[min(i, len(sc.s)):])
	if i >= len(sc.s) {
		return true
	}
	for _, sign := range [...]string{"...", "\u2026", "[trunc", "<trunc", " [trunc", "\n[trunc"} {
		if has(sc.s, i, sign) {
			return true
		}
	}
	return false
}

// halfEscape returns the length of the beginning of an escape that is cut off: %2, a backslash, \u00, &#10.
func halfEscape(s string) int {
	if s == "" {
		return 0
	}
	i := 0
	switch s[0] {
	case '%':
		k := 1
		for has(s, k, "25") {
			k += 2
		}
		if i = runEnd(s, k, cHexUp); i > k+1 {
			return 0
		}
	case '&':
		if i = runEnd(s[:min(len(s), maxEntity)], 1+b2i(has(s, 1, "#")), cAlnum); i == maxEntity {
			return 0
		}
	case '\\':
		if i = skip(s, 0, '\\'); i < len(s) && (s[i] == 'u' || s[i] == 'x') {
			i = runEnd(s[:min(len(s), i+5)], i+1, cHexUp)
		}
	}
	return i
}
