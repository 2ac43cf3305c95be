package convention

import "strings"

// responseItem reads a tool call that an instrumentation of OpenAI's Agents SDK for Python printed in place of encoding it:
// ResponseFunctionToolCall(arguments='{}', call_id='call_1', name='f', …). ok is false for any other text.
func responseItem(text string) (call part, ok bool) {
	s := strings.TrimSpace(text)
	inner, ok := strings.CutPrefix(s, "ResponseFunctionToolCall(")
	if !ok || !strings.HasSuffix(inner, ")") {
		return part{}, false
	}
	call = part{kind: partCall, id: reprField(inner, "call_id"), name: reprField(inner, "name"), args: reprField(inner, "arguments")}
	call.args = argumentsText(call.args)
	return call, call.name != ""
}

// reprField is the string given for a keyword in the text of a Python object.
func reprField(s, key string) string {
	for i := 0; i < len(s); {
		j := strings.Index(s[i:], key+"=")
		if j < 0 {
			return ""
		}
		at := i + j
		i = at + len(key) + 1
		if at > 0 && s[at-1] != ' ' && s[at-1] != '(' || i >= len(s) {
			continue
		}
		if q := s[i]; q == '\'' || q == '"' {
			return reprString(s[i+1:], q)
		}
	}
	return ""
}

// reprString reads a Python string literal up to its closing quote.
func reprString(s string, quote byte) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == quote:
			return b.String()
		case c == '\\' && i+1 < len(s):
			i++
			switch s[i] {
			case 'n':
				b.WriteByte('\n')
			case 't':
				b.WriteByte('\t')
			case 'r':
				b.WriteByte('\r')
			case '\\', '\'', '"':
				b.WriteByte(s[i])
			default:
				b.WriteByte('\\')
				b.WriteByte(s[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// isRepr says whether text is a Python value that was printed, which nobody wrote.
func isRepr(text string) bool {
	s := strings.TrimSpace(text)
	return strings.HasPrefix(s, "{'") && strings.HasSuffix(s, "}") || strings.HasPrefix(s, "[{'") && strings.HasSuffix(s, "]")
}
