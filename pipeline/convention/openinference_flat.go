package convention

import (
	"sort"
	"strconv"
	"strings"

	"github.com/tracejury/tracejury/pipeline/otlp"
)

// numbered collects attributes of the form prefix<N>.<rest> into one object per N, in the order of N. Numbers are sparse in
// the wild, so nothing is allocated by them.
func numbered(a Attributes, prefix string) []map[string]any {
	lo := sort.Search(len(a), func(i int) bool { return a[i].Key >= prefix })
	byIndex := map[int]map[string]any{}
	var order []int
	for ; lo < len(a) && strings.HasPrefix(a[lo].Key, prefix); lo++ {
		num, rest, ok := strings.Cut(a[lo].Key[len(prefix):], ".")
		n, err := strconv.Atoi(num)
		if !ok || err != nil || n < 0 {
			continue
		}
		m := byIndex[n]
		if m == nil {
			m = map[string]any{}
			byIndex[n] = m
			order = append(order, n)
		}
		m[rest] = flatValue(a[lo].Value)
	}
	sort.Ints(order)
	out := make([]map[string]any, 0, len(order))
	for _, n := range order {
		out = append(out, byIndex[n])
	}
	return out
}

func flatValue(v otlp.Value) any {
	switch v.Kind() {
	case otlp.KindString, otlp.KindMap, otlp.KindArray:
		return textOf(v)
	}
	return structured(v, 0)
}

// sub is numbered over the members of one object.
func sub(m map[string]any, prefix string) []map[string]any {
	a := make(Attributes, 0, len(m))
	for k, v := range m {
		if s, ok := v.(string); ok && strings.HasPrefix(k, prefix) {
			a = append(a, otlp.KeyValue{Key: k, Value: otlp.StringValue(s)})
		}
	}
	sort.Slice(a, func(i, j int) bool { return a[i].Key < a[j].Key })
	return numbered(a, prefix)
}

// flatMessages reads llm.input_messages.N.message… or llm.output_messages.N.message….
func flatMessages(a Attributes, prefix string) []message {
	var out []message
	for _, f := range numbered(a, prefix) {
		role := str(f, "message.role")
		if role == "" {
			continue
		}
		m := message{role: foldRole(role), name: str(f, "message.name")}
		text := str(f, "message.content")
		id := str(f, "message.tool_call_id")
		if id != "" || m.role == "tool" {
			if text == "" {
				text = flatContents(f)
			}
			m.parts = []part{{kind: partResult, id: id, name: m.name, text: text, outcome: OutcomeUnknown}}
			out = append(out, m)
			continue
		}
		m.parts = textParts(text)
		for _, c := range sub(f, "message.contents.") {
			switch s := str(c, "message_content.text"); str(c, "message_content.type") {
			case "reasoning", "thinking":
				m.parts = append(m.parts, part{kind: partReasoning, text: s})
			default:
				if s != "" && s != text {
					m.parts = append(m.parts, textParts(s)...)
				}
			}
		}
		for _, c := range sub(f, "message.tool_calls.") {
			m.parts = append(m.parts, part{kind: partCall, id: str(c, "tool_call.id"), name: str(c, "tool_call.function.name"),
				args: argumentsText(str(c, "tool_call.function.arguments"))})
		}
		out = append(out, m)
	}
	return out
}

func flatContents(f map[string]any) string {
	var texts []string
	for _, c := range sub(f, "message.contents.") {
		if s := str(c, "message_content.text"); s != "" {
			texts = append(texts, s)
		}
	}
	return strings.Join(texts, "\n")
}
