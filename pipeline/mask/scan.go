package mask

// gramBits is the size of the prefilter: 2^14 one-byte slots stay in the first-level cache.
const (
	gramBits = 14
	gramMul  = 0x9E3779B1
	gramFold = 0x202020
)

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
func anchors(tokens []token, params []urlParameter) []anchor {
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
	}
	for _, c := range "0123456789abcdef" {
		list = append(list, anchor{"SK" + string(c), false, 0, matchTwilio, 0})
		if c <= '9' {
			list = append(list, anchor{string(c) + "Q~", false, 0, matchEntra, 0})
		}
	}
	for _, n := range []anchor{
		{lit: "password", off: 2}, {lit: "passwd", off: 3}, {lit: "passphrase", off: 3}, {lit: "passcode", off: 3}, {lit: "pwd"},
		{lit: "secret", off: 1}, {lit: "token"}, {lit: "key"}, {lit: "credential", off: 2}, {lit: "creds", off: 2}, {lit: "authorization", off: 5},
		{lit: "cookie", off: 3}, {lit: "jwt"}, {lit: "ass=", off: 1}, {lit: "ass:", off: 1}, {lit: "ass\"", off: 1}, {lit: "ass'", off: 1},
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
		h := gramHash(uint64(gram(a.lit, a.off)))
		if p.slot[h] == 0 {
			p.slot[h] = uint8(len(p.buckets))
			p.buckets = append(p.buckets, nil)
		}
		p.buckets[p.slot[h]] = append(p.buckets[p.slot[h]], a)
	}
	return p
}

func gram(s string, i int) uint32 {
	return uint32(s[i]) | uint32(s[i+1])<<8 | uint32(s[i+2])<<16
}

// gramHash is the slot of the three lowest bytes of w, whatever their case.
func gramHash(w uint64) uint32 { return (uint32(w)<<8 | gramFold<<8) * gramMul >> (32 - gramBits) }

// scanner looks through one text. Matchers append to spans and return the position from which to go on, or 0.
type scanner struct {
	m          *Masker
	s          string
	spans      []span
	tokensOnly bool // inside a value that is already known to be secret
	barren     int  // up to here a generic sk- token was looked for in vain
}

// scan runs the prefilter over the text: six grams of one word of eight bytes at a time, since most words hold none.
func (sc *scanner) scan() {
	s, slot := sc.s, &sc.m.filter.slot
	for i := 0; i+3 <= len(s); {
		at := i
		if i+8 <= len(s) {
			w := word(s, i)
			if slot[gramHash(w)]|slot[gramHash(w>>8)]|slot[gramHash(w>>16)]|slot[gramHash(w>>24)]|slot[gramHash(w>>32)]|slot[gramHash(w>>40)] == 0 {
				i += 6
				continue
			}
			for slot[gramHash(w)] == 0 {
				w >>= 8
				at++
			}
		} else if slot[gramHash(uint64(gram(s, i)))] == 0 {
			i++
			continue
		}
		i = max(at+1, sc.hit(slot[gramHash(uint64(gram(s, at)))], at))
	}
}

// word is the eight bytes at i, the first one lowest.
func word(s string, i int) uint64 {
	w := s[i : i+8]
	return uint64(w[0]) | uint64(w[1])<<8 | uint64(w[2])<<16 | uint64(w[3])<<24 |
		uint64(w[4])<<32 | uint64(w[5])<<40 | uint64(w[6])<<48 | uint64(w[7])<<56
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
	s := sc.s
	return i >= len(s) || has(s, i, "...") || has(s, i, "\u2026") || has(s, i, "[trunc") || has(s, i, "<trunc") ||
		has(s, i, " [trunc") || has(s, i, "\n[trunc")
}
