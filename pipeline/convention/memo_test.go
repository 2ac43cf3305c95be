package convention

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tracejury/tracejury/pipeline/otlp"
)

// TestMemoChangesNothing reads histories that grow, branch, are cut and are damaged, with a memory and without.
func TestMemoChangesNothing(t *testing.T) {
	pad := strings.Repeat("long enough to be remembered ", 90)
	element := rapid.OneOf(
		rapid.Just(`{"role":"user","content":"a `+pad+`"}`), rapid.Just(`{"role":"assistant","content":[{"type":"text","text":"b \u00e9 \" ] }"}]}`),
		rapid.Just(`{"role":"tool","tool_call_id":"c1","content":"`+pad+`"}`), rapid.Just(`"plain"`), rapid.Just(`[{"role":"user","content":"nested"}]`),
		rapid.Just(`{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"}`), rapid.Just(`1`), rapid.Just(`12`), rapid.Just(`null`), rapid.Just(` { } `))
	rapid.Check(t, func(rt *rapid.T) {
		memo := &Memo{}
		with, without := &teller{memo: memo}, &teller{}
		var history []string
		for range rapid.IntRange(1, 12).Draw(rt, "calls") {
			history = append(history[:rapid.IntRange(0, len(history)).Draw(rt, "kept")], rapid.SliceOfN(element, 0, 4).Draw(rt, "new")...)
			text := "[" + strings.Join(history, rapid.SampledFrom([]string{",", " , "}).Draw(rt, "comma")) + "]"
			switch rapid.IntRange(0, 9).Draw(rt, "damage") {
			case 0:
				text = text[:rapid.IntRange(0, len(text)).Draw(rt, "cut")]
			case 1:
				text += rapid.SampledFrom([]string{"]", "}", " x", ","}).Draw(rt, "tail")
			}
			v := otlp.StringValue(text)
			if got, want := with.parseMessages(v), without.parseMessages(v); !sameMessages(got, want) {
				rt.Fatalf("%s\nread %+v\nwant %+v", text, got, want)
			}
			body := rapid.SampledFrom([]string{`{"model":"m","messages":H,"tools":[{"name":"f"}]}`, `{"system":"s","contents":H}`, `{"input":H,"messages":[]}`,
				`{"messages":H,"messages":H}`, `{"messages":null,"input":H}`, `{"input":"x","messages":H}`, `{"x":1 "messages":H}`, `H`, `{"prompt":H}`}).Draw(rt, "body")
			body = strings.ReplaceAll(body, "H", text)
			got, gotOK := with.requestOf(body)
			want, wantOK := without.requestOf(body)
			if gotOK != wantOK || got.system != want.system || !sameMessages(got.messages, want.messages) || !reflect.DeepEqual(got.tools, want.tools) {
				rt.Fatalf("%s\nread %+v %t\nwant %+v %t", body, got, gotOK, want, wantOK)
			}
		}
	})
}

func sameMessages(a, b []message) bool {
	return len(a) == len(b) && (len(a) == 0 || reflect.DeepEqual(a, b))
}

func FuzzMemo(f *testing.F) {
	f.Add(`[{"role":"user","content":"x"}]`, `[{"role":"user","content":"x"},{"role":"user","content":"y"}]`)
	f.Add(`{"messages":[1]}`, `{"messages":[12]}`)
	f.Fuzz(func(t *testing.T, a, b string) {
		pad, _ := json.Marshal(strings.Repeat("p", memoBytes))
		with, without := &teller{memo: &Memo{}}, &teller{}
		for _, s := range []string{a, b, "[" + string(pad) + "," + a + "]", "[" + string(pad) + "," + b + "]", `{"messages":[` + string(pad) + "," + a + `],"x":` + b + "}"} {
			if got, want := with.parseMessages(otlp.StringValue(s)), without.parseMessages(otlp.StringValue(s)); !sameMessages(got, want) {
				t.Errorf("%q: %+v, want %+v", s, got, want)
			}
			got, gotOK := with.requestOf(s)
			want, wantOK := without.requestOf(s)
			if gotOK != wantOK || !sameMessages(got.messages, want.messages) || got.system != want.system {
				t.Errorf("%q: %+v, want %+v", s, got, want)
			}
		}
	})
}
