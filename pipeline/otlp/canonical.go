package otlp

import (
	"encoding/base64"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The canonical JSON form keeps every type: an int has digits only, a double always a point or an exponent, and what
// JSON lacks is an object of one member: {"$bytes":"base64"}, {"$double":"NaN"}. A member name that begins with $ gets one
// more. Members are sorted by name, and there is no white space, so equal values have equal bytes.

// AppendAttributes appends a list of attributes as a JSON object. The list should be sorted; if not, a sorted copy is
// used, in which the last of equal keys is kept.
func AppendAttributes(dst []byte, kvs []KeyValue) []byte {
	for i := 1; i < len(kvs); i++ {
		if kvs[i-1].Key >= kvs[i].Key {
			kvs, _ = new(sorter).into(new(slab[KeyValue]), kvs)
			break
		}
	}
	dst = append(dst, '{')
	for i := range kvs {
		if i > 0 {
			dst = append(dst, ',')
		}
		if strings.HasPrefix(kvs[i].Key, "$") {
			dst = appendString(dst, "$", kvs[i].Key)
		} else {
			dst = appendString(dst, "", kvs[i].Key)
		}
		dst = append(dst, ':')
		dst = AppendValue(dst, kvs[i].Value)
	}
	return append(dst, '}')
}

// AppendValue appends one value.
func AppendValue(dst []byte, v Value) []byte {
	switch v.kind {
	case KindString:
		return appendString(dst, "", v.str)
	case KindBool:
		return strconv.AppendBool(dst, v.num == 1)
	case KindInt:
		return strconv.AppendInt(dst, int64(v.num), 10)
	case KindDouble:
		return appendDouble(dst, v.Double())
	case KindBytes:
		dst = append(dst, `{"$bytes":"`...)
		dst = base64.StdEncoding.AppendEncode(dst, []byte(v.str))
		return append(dst, `"}`...)
	case KindArray:
		dst = append(dst, '[')
		for i := range v.list {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendValue(dst, v.list[i])
		}
		return append(dst, ']')
	case KindMap:
		return AppendAttributes(dst, v.kvs)
	}
	return append(dst, "null"...)
}

func appendDouble(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, `{"$double":"NaN"}`...)
	case math.IsInf(f, 1):
		return append(dst, `{"$double":"Infinity"}`...)
	case math.IsInf(f, -1):
		return append(dst, `{"$double":"-Infinity"}`...)
	}
	at := len(dst)
	dst = strconv.AppendFloat(dst, f, 'g', -1, 64)
	if !slices.ContainsFunc(dst[at:], func(r byte) bool { return r == '.' || r == 'e' }) {
		dst = append(dst, '.', '0')
	}
	return dst
}

// AppendEvents appends span events in their order, with sorted member names.
func AppendEvents(dst []byte, ev []SpanEvent) []byte {
	dst = append(dst, '[')
	for i := range ev {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"at_unix_nano":`...)
		dst = strconv.AppendInt(dst, ev[i].TimeUnixNano, 10)
		dst = append(dst, `,"attributes":`...)
		dst = AppendAttributes(dst, ev[i].Attributes)
		dst = append(dst, `,"name":`...)
		dst = appendString(dst, "", ev[i].Name)
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

const lowerHex = "0123456789abcdef"

// appendString appends prefix and s as one JSON string. Only what JSON demands is escaped; wrong UTF-8 and NUL become
// U+FFFD.
func appendString(dst []byte, prefix, s string) []byte {
	dst = append(dst, '"')
	dst = append(dst, prefix...)
	start := 0
	for i := plainPrefix(s, 0); i < len(s); {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf || c == 0 {
			r, n := utf8.DecodeRuneInString(s[i:])
			if c != 0 && (r != utf8.RuneError || n > 1) {
				i += n
				continue
			}
			dst = append(dst, s[start:i]...)
			dst = append(dst, "\uFFFD"...)
			i++
			start = i
			continue
		}
		dst = append(dst, s[start:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', lowerHex[c>>4], lowerHex[c&15])
		}
		i++
		start = i
		i = plainPrefix(s, i)
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// plainPrefix goes on from i while whole words of eight bytes are ASCII that needs no escape.
func plainPrefix(s string, i int) int {
	for ; i+8 <= len(s); i += 8 {
		w := s[i : i+8]
		x := uint64(w[0]) | uint64(w[1])<<8 | uint64(w[2])<<16 | uint64(w[3])<<24 |
			uint64(w[4])<<32 | uint64(w[5])<<40 | uint64(w[6])<<48 | uint64(w[7])<<56
		q, b := x^quotes, x^slashes
		if ((q-lowBits)&^q|(b-lowBits)&^b|(x-lowBits*' ')&^x|x)&highBits != 0 {
			return i
		}
	}
	return i
}
