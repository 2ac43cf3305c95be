package convention

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
)

// FuzzWalk holds that whole JSON is walked as encoding/json reads it, and that anything else does no harm.
func FuzzWalk(f *testing.F) {
	for _, s := range []string{`{"a":1,"b":[1,"x\"]",{"c":[]}],"d":{"e":"\\"}}`, `{}`, `{"a":`, `{"a":"\`, `[1,2`, `[]`, ` { "a" : [ ] } `, `{"a":-1e5,"b":null}`, `{"a"}`, `{"m":[{"role":"user"},{"ro`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := map[string]string{}
		n := 0
		walkMembers(s, func(key, value string, whole bool) bool {
			n++
			if whole {
				got[key] = value
			}
			walkElements(value, func(int, string) bool { return true })
			return true
		})
		walkElements(s, func(int, string) bool { return true })
		if !json.Valid([]byte(s)) {
			return
		}
		var object map[string]json.RawMessage
		if json.Unmarshal([]byte(s), &object) == nil && object != nil {
			if len(got) != len(object) {
				t.Errorf("%q: members %q, want %q", s, got, object)
			}
			for k, v := range object {
				if got[k] != string(v) {
					t.Errorf("%q: %s is %q, want %q", s, k, got[k], v)
				}
				checkElements(t, string(v))
			}
		}
		checkElements(t, s)
	})
}

func checkElements(t *testing.T, s string) {
	t.Helper()
	var list []json.RawMessage
	if json.Unmarshal([]byte(s), &list) != nil || s == "" || s[0] != '[' {
		return
	}
	i := 0
	if whole := walkElements(s, func(n int, element string) bool {
		if n != i || i >= len(list) || element != string(list[i]) {
			t.Errorf("%q: element %d is %q", s, n, element)
		}
		i++
		return true
	}); !whole || i != len(list) {
		t.Errorf("%q: %d elements, want %d", s, i, len(list))
	}
}

// TestMemoOfCaptures reads real records with one memory for all of a capture and with none.
func TestMemoOfCaptures(t *testing.T) {
	if os.Getenv("TRACEJURY_SHARED") == "" {
		t.Skip("TRACEJURY_SHARED is not set: no captures of real harnesses")
	}
	for _, c := range [][2]string{{"claude-code", "full_pdf__raw"}, {"claude-code", "partial_incident__raw"}, {"openai-agents-js", "full_pdf"}, {"anthropic-sdk", "full_pdf"},
		{"vercel-ai-sdk", "full_pdf__legacy"}, {"langchain-js", "full_pdf__deep"}, {"opencode", "full_pdf__fast"}, {"qwen-code", "full_pdf"}, {"strands-ts", "full_pdf__attrs"}} {
		memo := &Memo{}
		for i, r := range captured(t, c[0], c[1]) {
			without := said(r)
			r.Memo = memo
			if with := said(r); with != without {
				t.Fatalf("%s record %d %s: %s\nwant %s", c, i, r.Row.Name, with, without)
			}
			if again := said(r); again != without {
				t.Fatalf("%s record %d %s read again: %s", c, i, r.Row.Name, again)
			}
		}
		t.Log(c, fmt.Sprint(len(memo.lists), " lists, ", len(memo.claude), " messages remembered"))
	}
}
