package convention

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/tracejury/tracejury/pipeline/otlp"
)

// Limits of text inside attributes, which is untrusted.
const (
	maxJSONText  = 32 << 20 // longer strings are not parsed as JSON
	maxJSONDepth = 64       // deeper trees become text
)

// tree is a JSON value as encoding/json decodes it with UseNumber: nil, bool, json.Number, string, []any or map[string]any.
// Conventions read messages from it whether they came as a JSON string or as a structured attribute.
type tree = any

// parseTree decodes text that holds one JSON array, object or string; ok is false for anything else, cut JSON included.
func parseTree(text string) (t tree, ok bool) {
	s := strings.TrimSpace(text)
	if s == "" || len(s) > maxJSONText || !strings.ContainsRune(`[{"`, rune(s[0])) {
		return nil, false
	}
	p := jsonParser{s: s}
	if t, ok = p.value(); !ok {
		return nil, false
	}
	// A bracket too many is forgiven: writers that join lists by hand leave one.
	if c := p.next(); c != 0 && c != ']' && c != '}' || c == 0 && p.at < len(p.s) {
		return nil, false
	}
	return t, true
}

// treeOf is an attribute as a tree: a string that holds JSON is decoded, a structured value converted.
func treeOf(v otlp.Value) (tree, bool) {
	switch v.Kind() {
	case otlp.KindString:
		return parseTree(v.Str())
	case otlp.KindArray, otlp.KindMap:
		return structured(v, 0), true
	default:
		return nil, false
	}
}

// textOf is a value as text: a string, or the JSON of a map or a list; "" for others.
func textOf(v otlp.Value) string {
	switch v.Kind() {
	case otlp.KindString:
		return v.Str()
	case otlp.KindArray, otlp.KindMap:
		return string(otlp.AppendValue(nil, v))
	}
	return ""
}

func structured(v otlp.Value, depth int) tree {
	if depth > maxJSONDepth {
		return nil
	}
	switch v.Kind() {
	case otlp.KindString:
		return v.Str()
	case otlp.KindBool:
		return v.Bool()
	case otlp.KindInt:
		return json.Number(decimal(v.Int()))
	case otlp.KindDouble:
		if f := v.Double(); !math.IsNaN(f) && !math.IsInf(f, 0) {
			return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
		}
		return nil
	case otlp.KindBytes:
		return v.Bytes()
	case otlp.KindArray:
		list := make([]any, 0, len(v.Array()))
		for _, e := range v.Array() {
			list = append(list, structured(e, depth+1))
		}
		return list
	case otlp.KindMap:
		m := make(map[string]any, len(v.Map()))
		for _, kv := range v.Map() {
			m[kv.Key] = structured(kv.Value, depth+1)
		}
		return m
	default:
		return nil
	}
}

// field is the member of an object at the first of keys that is present and not null.
func field(t tree, keys ...string) tree {
	m, ok := t.(map[string]any)
	if !ok {
		return nil
	}
	for _, k := range keys {
		if v, ok := m[k]; ok && v != nil {
			return v
		}
	}
	return nil
}

// str is the string member at the first of keys that holds a non-empty one.
func str(t tree, keys ...string) string {
	m, ok := t.(map[string]any)
	if !ok {
		return ""
	}
	for _, k := range keys {
		if s, ok := m[k].(string); ok && s != "" {
			return s
		}
	}
	return ""
}

// argumentsText is a tool's arguments as text: an object becomes canonical JSON, a string that holds JSON too, any other string
// stays as it is.
func argumentsText(t tree) string {
	switch v := t.(type) {
	case nil:
		return ""
	case string:
		if p, ok := parseTree(v); ok {
			if _, quoted := p.(string); !quoted {
				return encodeTree(p)
			}
		}
		return v
	default:
		return encodeTree(v)
	}
}

// textKeys are the members that hold the text of a result or block, best first.
var textKeys = [...]string{"text", "content", "instructions", "llmContent", "output", "aggregated_output", "response", "result", "value"}

// flatten is the text of a result or of message content: a string as it is, the non-empty parts of a list by lines, of an
// object the one text member if that is all it says, else its JSON.
func flatten(t tree) string { return flattenAt(t, 0) }

func flattenAt(t tree, depth int) string {
	if depth > maxJSONDepth {
		return ""
	}
	switch v := t.(type) {
	case nil:
		return ""
	case string:
		return v
	case []any:
		var parts []string
		for _, e := range v {
			if s := flattenAt(e, depth+1); s != "" {
				parts = append(parts, s)
			}
		}
		return strings.Join(parts, "\n")
	case map[string]any:
		return flattenObject(v, depth)
	default:
		return encodeTree(v)
	}
}

// wrapperKeys beside a text member say nothing about the content itself.
var wrapperKeys = map[string]bool{
	"type": true, "id": true, "annotations": true, "logprobs": true, "cache_control": true, "mimeType": true, "mime_type": true,
	"index": true, "role": true, "name": true, "status": true, "isError": true, "_meta": true,
}

func flattenObject(m map[string]any, depth int) string {
	if j, ok := m["json"]; ok && len(m) == 1 {
		return encodeTree(j)
	}
	for _, k := range textKeys {
		v, ok := m[k]
		if !ok || v == nil || !onlyWrapper(m, k) {
			continue
		}
		return flattenAt(v, depth+1)
	}
	return encodeTree(m)
}

func onlyWrapper(m map[string]any, text string) bool {
	for k, v := range m {
		if k != text && !wrapperKeys[k] && v != nil {
			return false
		}
	}
	return true
}

// unquote undoes a result that was JSON-encoded although it was a string already.
func unquote(s string) string {
	if len(s) > 1 && s[0] == '"' && s[len(s)-1] == '"' {
		if t, ok := parseTree(s); ok {
			if u, ok := t.(string); ok {
				return u
			}
		}
	}
	return s
}
