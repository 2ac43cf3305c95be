package convention

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// encodeTree writes what encoding/json would.
func TestEncodeTreeIsEncodingJSON(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"a\u2028b\u2029", "\x00\x1f\x7f", "<&>\"\\/\b\f\n\r\t", "\xff\xc3x\xed\xa0\x80", "\ufffd", ""}))
	leaf := rapid.Custom(func(t *rapid.T) any {
		return rapid.SampledFrom([]any{nil, true, false, json.Number("-1.50e+7"), json.Number("0"), text.Draw(t, "text")}).Draw(t, "leaf")
	})
	var node func(depth int) *rapid.Generator[any]
	node = func(depth int) *rapid.Generator[any] {
		if depth == 0 {
			return leaf
		}
		list := rapid.Map(rapid.SliceOfN(node(depth-1), 0, 4), func(l []any) any { return l })
		object := rapid.Map(rapid.MapOfN(text, node(depth-1), 0, 4), func(m map[string]any) any { return m })
		return rapid.OneOf(leaf, list, object)
	}
	rapid.Check(t, func(t *rapid.T) {
		v := node(3).Draw(t, "tree")
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(v); err != nil {
			t.Fatal(err)
		}
		if got := encodeTree(v); got != strings.TrimSuffix(want.String(), "\n") {
			t.Fatalf("got %q, want %q", got, want.String())
		}
	})
	if got := encodeTree([]any{json.Number("no number")}); got != "" {
		t.Errorf("a wrong number gave %q", got)
	}
}
