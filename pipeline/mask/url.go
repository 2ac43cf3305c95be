package mask

import "strings"

// maxAuthority is how far user information is looked for behind a scheme.
const maxAuthority = 1 << 10

// userInfo matches scheme://user:password@host and takes the password; at is the colon.
func userInfo(sc *scanner, at int) int {
	s := sc.s
	if at == 0 || !is(s[at-1], cAlnum) {
		return 0
	}
	from := at + len("://")
	limit := min(len(s), from+maxAuthority)
	last, colon := -1, -1
	i := from
scan:
	for ; i < limit; i++ {
		switch c := s[i]; c {
		case '@':
			last = i
		case ':':
			if colon < 0 {
				colon = i
			}
		case '/', '?', '#', '"', '\'', '<', '>', '\\', '`':
			if c == '<' && colon == i-1 { // user:<password>@host
				continue
			}
			break scan
		default:
			if c <= ' ' {
				break scan
			}
		}
	}
	switch {
	case last < 0:
		return sc.cutUserInfo(from, colon, i)
	case colon >= 0 && colon < last:
		v := s[colon+1 : last]
		if v == "" || exempt(v) && !smallNumber(v) || strings.Trim(v, "${}<>%()_ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" && strings.ContainsAny(v[:1], "${<%") || identifierIn(v) {
			return 0
		}
		return sc.takeURL(colon+1, last)
	case colon < 0:
		// A token in the place of the user.
		if v := s[from:last]; len(v) >= 20 && mix(v)&cDigit != 0 && mix(v)&cAlpha != 0 && !onlyMarkers(v) && !exempt(v) {
			return sc.takeURL(from, last)
		}
	}
	return 0
}

// cutUserInfo takes what follows the colon at the end of a text that was cut before its @, unless it is a port. end is where the
// authority ends at last.
func (sc *scanner) cutUserInfo(from, colon, end int) int {
	s := sc.s
	if colon <= from || s[from] == '[' || has(s, from-len("docker://"), "docker://") || has(s, from-len("oci://"), "oci://") {
		return 0
	}
	for i := colon + 1 + tailMin; i <= end; i++ {
		if !sc.cut(i) {
			continue
		}
		if v := s[colon+1 : i]; !exempt(v) && !identifierIn(v) && !strings.HasPrefix(v, markerOpen) && mix(v)&cAlpha != 0 {
			return sc.takeURL(colon+1, i)
		}
		return 0
	}
	return 0
}

// identifierIn reports {name} and ${name}, as templates write it.
func identifierIn(v string) bool {
	v = strings.TrimPrefix(v, "$")
	return len(v) > 2 && v[0] == '{' && v[len(v)-1] == '}' && identifier(v[1:len(v)-1], true)
}

func (sc *scanner) takeURL(start, end int) int {
	if onlyMarkers(sc.s[start:end]) {
		return 0
	}
	return sc.take(start, end, URLPassword)
}

// urlParameter is a secret parameter of a URL whose name tells little elsewhere.
type urlParameter struct {
	lit  string
	off  int // of the rarest three bytes
	min  int
	kind Kind
}

func urlParameters() []urlParameter {
	return []urlParameter{
		{"sig=", 1, 16, URLSignature},
		{"signature=", 7, 16, URLSignature},
		{"x-amz-signature=", 13, 16, URLSignature},
		{"x-goog-signature=", 14, 16, URLSignature},
		{"code=", 2, 12, URLPassword},
		{"key=", 1, 20, URLPassword},
		{"auth=", 2, 12, URLPassword},
	}
}

// match looks at the parameter whose name begins at at.
func (p *urlParameter) match(sc *scanner, at int) int {
	s := sc.s
	if at == 0 || s[at-1] != '?' && s[at-1] != '&' && !has(s, at-4, "amp;") {
		return 0
	}
	from := at + len(p.lit)
	end := from
	for end < len(s) && (is(s[end], cTok) || s[end] == '%') {
		end++
	}
	v := s[from:end]
	if len(v) < p.min && !(len(v) >= tailMin && sc.cut(end)) {
		return 0
	}
	set := mix(v)
	if p.kind != URLSignature && (set&cDigit == 0 || set&cAlpha == 0) || exempt(v) {
		return 0
	}
	return sc.take(from, end, p.kind)
}
