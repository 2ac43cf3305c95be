package convention

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// encodeTree is compact JSON with sorted keys, so that the same arguments told by two instrumentations are equal. It is what
// encoding/json makes of the tree without HTML escapes, several times faster.
func encodeTree(t tree) string {
	b, ok := appendTree(nil, t)
	if !ok {
		return ""
	}
	return string(b)
}

// CanonicalJSON is the JSON in text, compact and with sorted keys, so that equal values have equal texts; other text as it is.
func CanonicalJSON(text string) string {
	if t, ok := parseTree(text); ok {
		return encodeTree(t)
	}
	return text
}

// appendTree reports false for a tree that is none.
func appendTree(b []byte, t tree) ([]byte, bool) {
	ok := true
	switch v := t.(type) {
	case nil:
		return append(b, "null"...), true
	case bool:
		if v {
			return append(b, "true"...), true
		}
		return append(b, "false"...), true
	case string:
		return appendQuoted(b, v), true
	case []any:
		b = append(b, '[')
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			if b, ok = appendTree(b, e); !ok {
				return b, false
			}
		}
		return append(b, ']'), true
	case map[string]any:
		b = append(b, '{')
		for i, k := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendQuoted(b, k), ':')
			if b, ok = appendTree(b, v[k]); !ok {
				return b, false
			}
		}
		return append(b, '}'), true
	default: // a number, whose form is checked
		n, err := json.Marshal(v)
		return append(b, n...), err == nil
	}
}

// appendQuoted appends s as encoding/json does.
func appendQuoted(b []byte, s string) []byte {
	const digits = "0123456789abcdef"
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			switch {
			case r == utf8.RuneError && n == 1:
				b = append(append(b, s[from:i]...), `\ufffd`...)
				from = i + n
			case r == '\u2028' || r == '\u2029':
				b = append(append(b, s[from:i]...), `\u202`...)
				b = append(b, digits[r&15])
				from = i + n
			}
			i += n
			continue
		}
		b = append(b, s[from:i]...)
		if k := strings.IndexByte("\"\\\b\f\n\r\t", c); k >= 0 {
			b = append(b, '\\', `"\bfnrt`[k])
		} else {
			b = append(b, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		}
		i++
		from = i
	}
	return append(append(b, s[from:]...), '"')
}
