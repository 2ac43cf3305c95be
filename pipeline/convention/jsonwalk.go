package convention

import (
	"encoding/json"
	"strings"
)

// walkMembers calls visit with each member of the JSON object in text, in its order, until it says no: what comes before a cut
// is read. whole is false for a value that is cut.
func walkMembers(text string, visit func(key, value string, whole bool) bool) {
	at := skipSpace(text, 0)
	if at == len(text) || text[at] != '{' {
		return
	}
	for first := true; ; first = false {
		at = skipSpace(text, at+1)
		if first && at < len(text) && text[at] == '}' {
			return
		}
		end, ok := skipValue(text, at)
		var key string
		if !ok || json.Unmarshal([]byte(text[at:end]), &key) != nil {
			return
		}
		if at = skipSpace(text, end); at == len(text) || text[at] != ':' {
			return
		}
		at = skipSpace(text, at+1)
		end, ok = skipValue(text, at)
		if !visit(key, text[at:end], ok) || !ok {
			return
		}
		if at = skipSpace(text, end); at == len(text) || text[at] != ',' {
			return
		}
	}
}

// walkElements calls visit with each whole element of the JSON array in text until it says no; a value of another kind has none.
// It tells whether all were visited.
func walkElements(text string, visit func(i int, element string) bool) bool {
	if text == "" || text[0] != '[' {
		return true
	}
	at := 0
	for i := 0; ; i++ {
		at = skipSpace(text, at+1)
		if i == 0 && at < len(text) && text[at] == ']' {
			return true
		}
		end, ok := skipValue(text, at)
		if !ok || !visit(i, text[at:end]) {
			return false
		}
		if at = skipSpace(text, end); at == len(text) || text[at] != ',' {
			return at < len(text) && text[at] == ']'
		}
	}
}

func skipSpace(s string, at int) int {
	for at < len(s) && (s[at] == ' ' || s[at] == '\n' || s[at] == '\t' || s[at] == '\r') {
		at++
	}
	return at
}

// skipValue is where the JSON value at ends; ok is false when it does not. It finds the end and judges nothing else.
func skipValue(s string, at int) (end int, ok bool) {
	depth := 0
	for at < len(s) {
		switch c := s[at]; c {
		case '"':
			for at++; ; at++ {
				i := strings.IndexAny(s[at:], "\"\\")
				if i < 0 || at+i+1 > len(s) {
					return len(s), false
				}
				if at += i; s[at] == '"' {
					break
				}
				if at++; at >= len(s) {
					return len(s), false
				}
			}
			at++
		case '{', '[':
			depth++
			at++
			continue
		case '}', ']':
			if depth--; depth < 0 {
				return at, false
			}
			at++
		case ',', ':', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return at, false
			}
			at++
			continue
		default:
			for at < len(s) && strings.IndexByte(",:]} \n\t\r\"", s[at]) < 0 {
				at++
			}
			if at == len(s) {
				return at, false // a number may go on
			}
		}
		if depth == 0 {
			return at, true
		}
	}
	return at, false
}

// walkArray calls visit for each element of the array that d stands before; a value of another kind is skipped.
func walkArray(d *json.Decoder, visit func(i int) error) error {
	open, err := d.Token()
	if err != nil {
		return err
	}
	delim, ok := open.(json.Delim)
	if !ok {
		return nil
	}
	if delim != '[' {
		for depth := 1; depth > 0; {
			token, err := d.Token()
			if err != nil {
				return err
			}
			switch token {
			case json.Delim('{'), json.Delim('['):
				depth++
			case json.Delim('}'), json.Delim(']'):
				depth--
			}
		}
		return nil
	}
	for i := 0; d.More(); i++ {
		if err := visit(i); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}
