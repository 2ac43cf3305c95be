package otlpgen

// raw is JSON text with the keys in the order in which the client writes them.
type raw string

func jstr(s string) raw { return raw(appendJSONString(nil, s)) }

// jobj makes an object of keys and values by turns; a value is a raw, a string is quoted. Entries whose value is an
// empty raw are left out.
func jobj(pairs ...any) raw {
	b := []byte{'{'}
	for i := 0; i+1 < len(pairs); i += 2 {
		value := jval(pairs[i+1])
		if value == "" {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = appendJSONString(b, pairs[i].(string))
		b = append(b, ':')
		b = append(b, value...)
	}
	return raw(append(b, '}'))
}

func jarr(values ...raw) raw {
	b := []byte{'['}
	for i, v := range values {
		b = append(comma(b, i), v...)
	}
	return raw(append(b, ']'))
}

func jval(v any) raw {
	if s, ok := v.(string); ok {
		return jstr(s)
	}
	return v.(raw)
}
