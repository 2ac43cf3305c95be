package mask

import (
	"math/big"
	"net/netip"
	"strings"
)

// personal appends the spans of personal data: mail addresses, E.164 numbers, IBANs, payment cards, public addresses
// of the internet and US social security numbers. Where a checksum exists, it must be right.
func (m *Masker) personal(dst []span, s string) []span {
	for i := 0; i < len(s); i++ {
		c := s[i]
		var end int
		var kind Kind
		from := i
		switch {
		case c == '@':
			from, end = emailAt(s, i)
			kind = Email
		case i > 0 && is(s[i-1], cAlnum|cDash):
			continue
		case c == '+':
			end, kind = phoneEnd(s, i), Phone
		case is(c, cUpper):
			end, kind = ibanEnd(s, i), IBAN
			if end == 0 && is(c, cHexUp) {
				end, kind = addressEnd(s, i), IPAddress
			}
		case is(c, cDigit) && (i == 0 || s[i-1] != '.'):
			if end, kind = ssnEnd(s, i), USSSN; end == 0 {
				end, kind = cardEnd(s, i), Card
			}
			if end == 0 {
				end, kind = addressEnd(s, i), IPAddress
			}
		case is(c, cHexUp), c == ':':
			end, kind = addressEnd(s, i), IPAddress
		}
		if end > from {
			dst = append(dst, m.span(s, from, end, kind))
			i = end - 1
		}
	}
	return dst
}

func emailChar(c byte) bool { return is(c, cAlnum|cDash) || c == '.' || c == '+' || c == '%' }

// emailAt returns the mail address around the @ at i. One whose host is no name stays: git@host:path has no user.
func emailAt(s string, i int) (start, end int) {
	start = i
	for start > 0 && i-start < 64 && emailChar(s[start-1]) {
		start--
	}
	for start < i && !is(s[start], cAlnum) {
		start++
	}
	end = i + 1
	for end < len(s) && end-i < 254 && (is(s[end], cAlnum) || s[end] == '-' || s[end] == '.') {
		end++
	}
	for end > i+1 && !is(s[end-1], cAlnum) {
		end--
	}
	host := s[i+1 : end]
	dot := strings.LastIndexByte(host, '.')
	if start == i || dot < 1 || len(host)-dot < 3 || mix(host[dot+1:])&(cDigit|cDash) != 0 || s[start:i] == "git" && has(s, end, ":") {
		return 0, 0
	}
	return start, end
}

// phoneEnd matches + and 8 to 15 digits in groups.
func phoneEnd(s string, i int) int {
	n, end := 0, i+1
	if end >= len(s) || s[end] == '0' {
		return 0
	}
	for k := i + 1; k < len(s) && k-i < 24; k++ {
		switch {
		case is(s[k], cDigit):
			n++
			end = k + 1
		case (s[k] == ' ' || s[k] == '-' || s[k] == '.' || s[k] == '(' || s[k] == ')') && !(k > i+1 && (s[k-1] == ' ' || s[k-1] == '-')):
		default:
			k = len(s)
		}
	}
	if n < 8 || n > 15 || end < len(s) && is(s[end], cAlnum) {
		return 0
	}
	return end
}

// compact copies letters and digits from s[i:], over single separators of the set, and returns where each ended.
func compact(s string, i int, class uint16, sep string, limit int) (text []byte, ends []int) {
	for k := i; k < len(s) && len(text) < limit; k++ {
		switch {
		case is(s[k], class):
			text, ends = append(text, s[k]), append(ends, k+1)
		case k > i && strings.IndexByte(sep, s[k]) >= 0 && is(s[k-1], class):
		default:
			return text, ends
		}
	}
	return text, ends
}

// ibanEnd checks the length of 15 to 34 and the remainder 1 modulo 97.
func ibanEnd(s string, i int) int {
	if i+4 > len(s) || !is(s[i+1], cUpper) || !is(s[i+2], cDigit) || !is(s[i+3], cDigit) {
		return 0
	}
	text, ends := compact(s, i, cUpper|cDigit, " ", 34)
	for n := len(text); n >= 15; n-- {
		if e := ends[n-1]; e < len(s) && is(s[e], cAlnum) {
			continue
		}
		var digits strings.Builder
		for _, c := range append(append([]byte(nil), text[4:n]...), text[:4]...) {
			if is(c, cDigit) {
				digits.WriteByte(c)
			} else { // A is 10, Z is 35
				digits.WriteByte('1' + (c-'A')/10)
				digits.WriteByte('0' + (c-'A')%10)
			}
		}
		if v, ok := new(big.Int).SetString(digits.String(), 10); ok && v.Mod(v, big.NewInt(97)).Int64() == 1 {
			return ends[n-1]
		}
	}
	return 0
}

// cardEnd checks the issuer's prefix, the length and the Luhn digit.
func cardEnd(s string, i int) int {
	text, ends := compact(s, i, cDigit, " -", 19)
	for n := len(text); n >= 13; n-- {
		if e := ends[n-1]; e < len(s) && is(s[e], cAlnum) {
			continue
		}
		if issuer(text[:n]) && luhn(text[:n]) {
			return ends[n-1]
		}
	}
	return 0
}

func issuer(d []byte) bool {
	p := int(d[0]-'0')*1000 + int(d[1]-'0')*100 + int(d[2]-'0')*10 + int(d[3]-'0')
	switch n := len(d); {
	case d[0] == '4':
		return n == 13 || n == 16 || n == 19
	case p >= 5100 && p < 5600, p >= 2221 && p <= 2720:
		return n == 16
	case p/100 == 34, p/100 == 37:
		return n == 15
	case p == 6011, p/100 == 65, p/10 >= 644 && p/10 <= 649, p >= 3528 && p <= 3589:
		return n == 16
	case p/100 == 36, p/100 == 38, p/10 >= 300 && p/10 <= 305:
		return n == 14
	case p/100 == 62:
		return n >= 16
	}
	return false
}

func luhn(d []byte) bool {
	sum := 0
	for i := range d {
		v := int(d[len(d)-1-i] - '0')
		if i%2 == 1 {
			if v *= 2; v > 9 {
				v -= 9
			}
		}
		sum += v
	}
	return sum%10 == 0
}

// ssnEnd matches 3-2-4 digits in the ranges that are given out.
func ssnEnd(s string, i int) int {
	if i+11 > len(s) || s[i+3] != '-' || s[i+6] != '-' || digits(s[i:i+11]) != 9 {
		return 0
	}
	area := s[i : i+3]
	if area == "000" || area == "666" || area[0] == '9' || s[i+4:i+6] == "00" || s[i+7:i+11] == "0000" || i+11 < len(s) && is(s[i+11], cAlnum|cDash) {
		return 0
	}
	return i + 11
}

// addressEnd matches a public IPv4 or IPv6 address.
func addressEnd(s string, i int) int {
	end, dots, colons := i, 0, 0
	for end < len(s) && end-i < 45 && (is(s[end], cHexUp) || s[end] == '.' || s[end] == ':') {
		dots += b2i(s[end] == '.')
		colons += b2i(s[end] == ':')
		end++
	}
	if end < len(s) && is(s[end], cAlnum|cDash) {
		return 0
	}
	if colons < 2 { // a port or the end of a sentence may follow
		if k := strings.IndexByte(s[i:end], ':'); k >= 0 {
			end = i + k
		}
	}
	for end > i && s[end-1] == '.' || end > i+1 && s[end-1] == ':' && s[end-2] != ':' {
		end--
	}
	if dots < 3 && colons < 2 {
		return 0
	}
	a, err := netip.ParseAddr(s[i:end])
	if err != nil || a.IsPrivate() || a.IsLoopback() || a.IsUnspecified() || a.IsLinkLocalUnicast() || a.IsMulticast() || reserved(a) {
		return 0
	}
	if b := a.As16(); a.Is6() && b[0]>>5 != 1 { // the global unicast range
		return 0
	}
	return end
}

// reserved reports addresses of documentation, tests and shared carrier networks.
func reserved(a netip.Addr) bool {
	for _, p := range []string{"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4", "2001:db8::/32"} {
		if netip.MustParsePrefix(p).Contains(a) {
			return true
		}
	}
	return false
}
