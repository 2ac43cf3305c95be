package exports

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// hashID is the form of ids that code made: they carry nothing of their own and must survive to be joined on.
var hashID = regexp.MustCompile(`^[0-9a-f]{16,64}$`)

// Masked is s as it may leave: masked and valid UTF-8.
func (in *Input) Masked(s string) string {
	return strings.ToValidUTF8(in.Mask(strings.ToValidUTF8(s, "\uFFFD")), "\uFFFD")
}

// Text is s masked, without control characters but tab and newline, and of at most limit characters; 0 is no limit.
func (in *Input) Text(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (r < 0x20 || r >= 0x7f && r < 0xa0) {
			return '\uFFFD'
		}
		return r
	}, in.Masked(s))
	if limit <= 0 {
		return s
	}
	return Cut(s, limit)
}

// HashID is an id that code made, as it is, and anything else masked and cut.
func (in *Input) HashID(s string) string {
	if hashID.MatchString(s) {
		return s
	}
	return in.Text(s, 256)
}

// Cut shortens s to at most limit characters, the last of them an ellipsis. A mask marker is kept whole or left out: half a
// marker would read as content.
func Cut(s string, limit int) string {
	if len(s) <= limit || utf8.RuneCountInString(s) <= limit {
		return s
	}
	at := 0
	for range limit - 1 {
		_, n := utf8.DecodeRuneInString(s[at:])
		at += n
	}
	if i := strings.LastIndexByte(s[:at], '['); i >= 0 && strings.HasPrefix(s[i:], "[MASKED:") && !strings.Contains(s[i:at], "]") {
		at = i
	}
	return s[:at] + "…"
}

// masked is every string masked: a judge model's name may hold the address of a server.
func masked(in *Input, list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = in.Masked(s)
	}
	return out
}

// Schema is a JSON Schema of someone else's as it may leave: canonical JSON with every text in it masked. ok is false where it is
// no JSON object.
func (in *Input) Schema(text string) (schema map[string]any, ok bool) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	if dec.Decode(&schema) != nil || schema == nil || dec.More() {
		return nil, false
	}
	return in.maskTree(schema).(map[string]any), true
}

// maskTree masks the texts of decoded JSON, keys too: what decoded is nested no deeper than encoding/json allows.
func (in *Input) maskTree(v any) any {
	switch v := v.(type) {
	case string:
		return in.Text(v, 0)
	case []any:
		for i := range v {
			v[i] = in.maskTree(v[i])
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) { // in order, as two names may become one
			out[in.Text(k, 0)] = in.maskTree(v[k])
		}
		return out
	}
	return v
}
