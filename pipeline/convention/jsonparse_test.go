package convention

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// slowTree is what encoding/json reads.
func slowTree(text string) (t tree, ok bool) {
	s := strings.TrimSpace(text)
	if s == "" || !strings.ContainsRune(`[{"`, rune(s[0])) {
		return nil, false
	}
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	if dec.Decode(&t) != nil || dec.More() {
		return nil, false
	}
	return t, true
}

var trees = []string{
	`{}`, `[]`, `""`, `{"a":1,"a":[null,true,false,-0.5e+10,"x"]}`, `[1,]`, `{"a"}`, `{"a":}`, `[01]`, `[1.]`, `[-]`, `[1e]`, `[.5]`, `"\u00e9\ud83d\ude00\ud83d"`,
	`"\ud83d\u0041"`, `"\ud83d\ud83d\ude00"`, `"\q"`, `"a` + "\n" + `b"`, "\"\xff\xfe\"", "\"\\n\xff\"", `"cut`, `"cut\`, `"\u12`, `"\u12g4"`, `"\u+123"`, `[[[[]]]]`, `{"a":{}}]`, `{"a":1} x`, `[tru]`, `[truex]`,
	"{\"a\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}", ` [ 1 , 2 ] `, `"a" "b"`, `{"\ud800":"\udc00"}`, "\"\x7f\u2028\"",
}

func FuzzParseTree(f *testing.F) {
	for _, s := range trees {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := parseTree(s)
		want, wantOK := slowTree(s)
		if ok != wantOK || ok && !reflect.DeepEqual(got, want) {
			t.Errorf("parseTree(%q) = %#v, %t; encoding/json: %#v, %t", s, got, ok, want, wantOK)
		}
	})
}
