package otlp

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"math/big"
	"strings"
)

// Hexadecimal digits of the ids.
const (
	traceDigits = 32
	spanDigits  = 16
)

// id reads an id in any of the forms that writers use, as lower-case hex of the given number of digits; "" when it is
// missing or zero.
func (d *Decoder) id(digits int) (string, bool) {
	switch d.peek() {
	case '"':
		s, ok := d.str()
		return d.idOfText(s, digits), ok
	case '[':
		raw, ok := d.byteArray()
		return d.idOfBytes(raw, digits), ok
	case '{': // Node's Buffer
		d.pos++
		d.depth++
		var raw []byte
		for {
			name, more, ok := d.member()
			if !ok {
				return "", false
			}
			if !more {
				return d.idOfBytes(raw, digits), true
			}
			if name == "data" && d.peek() == '[' {
				raw, ok = d.byteArray()
			} else {
				ok = d.skip()
			}
			if !ok {
				return "", false
			}
		}
	}
	tok, ok := d.token()
	if !ok || tok[0] < '0' || tok[0] > '9' {
		return "", ok
	}
	return d.decimalID(alias(tok), digits), true
}

// byteArray reads an array of small numbers.
func (d *Decoder) byteArray() ([]byte, bool) {
	if !d.open('[') {
		return nil, false
	}
	raw := make([]byte, 0, 16)
	for {
		more, ok := d.element()
		if !ok || !more {
			return raw, ok
		}
		s, ok := d.text()
		if !ok {
			return nil, false
		}
		if n, isInt := parseInt(s); isInt && n >= 0 && n < 256 && len(raw) <= traceDigits {
			raw = append(raw, byte(n))
		}
	}
}

// idOfText normalises an id. s may be changed where it stands: only letters of hex become small.
func (d *Decoder) idOfText(s string, digits int) string {
	if len(s) == digits {
		lower, upper := true, true
		zero := true
		for i := range len(s) {
			c := s[i]
			zero = zero && c == '0'
			lower = lower && (c >= '0' && c <= '9' || c >= 'a' && c <= 'f')
			upper = upper && hexDigit(c) < 16
		}
		switch {
		case zero:
			return ""
		case lower:
			return s
		case upper:
			return strings.ToLower(s)
		}
	}
	if s = strings.TrimSpace(s); s == "" {
		return ""
	}
	if len(s) > 2 && s[0] == '0' && s[1]|0x20 == 'x' {
		return d.idOfText(s[2:], digits)
	}
	if allDigits(s) && len(s) > digits {
		return d.decimalID(s, digits)
	}
	if allHex(s) && len(s) < digits { // leading zeros were dropped
		d.stats.OddIDs++
		return d.idOfText(strings.Repeat("0", digits-len(s))+strings.ToLower(s), digits)
	}
	// 12 and 24 characters are base64 of 8 and 16 bytes, padded or not.
	if n := base64.StdEncoding.EncodedLen(digits / 2); len(s) == n || len(s) == n-1 && digits == spanDigits || len(s) == n-2 && digits == traceDigits {
		raw, ok := decodeBase64(&d.mem.bytes, s)
		if ok && len(raw) == digits/2 {
			return d.idOfBytes([]byte(raw), digits)
		}
	}
	return d.hashedID(s, digits)
}

func allDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }

func allHex(s string) bool {
	for i := range len(s) {
		if hexDigit(s[i]) > 15 {
			return false
		}
	}
	return true
}

// decimalID reads an id that was written as a decimal number.
func (d *Decoder) decimalID(s string, digits int) string {
	n, ok := new(big.Int), len(s) <= 40
	if ok {
		_, ok = n.SetString(s, 10)
	}
	if !ok || n.BitLen() > digits*4 {
		return d.hashedID(s, digits)
	}
	return d.idOfBytes(n.FillBytes(make([]byte, digits/2)), digits)
}

// idOfBytes is the hex of a binary id. One and a half times the right length is what comes of reading hex as base64.
func (d *Decoder) idOfBytes(raw []byte, digits int) string {
	zero := true
	for _, c := range raw {
		zero = zero && c == 0
	}
	switch {
	case zero:
		return ""
	case len(raw) == digits/2:
		out := d.mem.bytes.take(digits)
		hex.Encode(out, raw)
		return alias(out)
	case len(raw) == digits/4*3:
		if s := base64.StdEncoding.EncodeToString(raw); allHex(s) {
			return d.idOfText(s, digits)
		}
	case len(raw) == digits && allHex(string(raw)):
		return d.idOfText(string(raw), digits)
	}
	return d.hashedID(string(raw), digits)
}

// hashedID stands in for an id of no known form: equal ones stay equal, so parents and children still find each other.
func (d *Decoder) hashedID(s string, digits int) string {
	d.stats.OddIDs++
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:digits/2])
}
