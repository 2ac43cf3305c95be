package otlp

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestAppendValue(t *testing.T) {
	for _, c := range []struct {
		v    Value
		want string
	}{
		{Value{}, `null`},
		{IntValue(5), `5`},
		{IntValue(math.MinInt64), `-9223372036854775808`},
		{DoubleValue(5), `5.0`},
		{DoubleValue(math.Copysign(0, -1)), `-0.0`},
		{DoubleValue(1e300), `1e+300`},
		{DoubleValue(0.1), `0.1`},
		{DoubleValue(math.NaN()), `{"$double":"NaN"}`},
		{DoubleValue(math.Inf(-1)), `{"$double":"-Infinity"}`},
		{BoolValue(true), `true`},
		{StringValue("a\"\\\n\r\t\x01é\u2028<"), `"a\"\\\n\r\t\u0001é` + "\u2028" + `<"`},
		{BytesValue("\xff\x00"), `{"$bytes":"/wA="}`},
		{ArrayValue([]Value{IntValue(1), DoubleValue(1), StringValue("1")}), `[1,1.0,"1"]`},
		{MapValue([]KeyValue{{"$bytes", StringValue("x")}, {"$double", IntValue(1)}, {"a", Value{}}}), `{"$$bytes":"x","$$double":1,"a":null}`},
		{MapValue(nil), `{}`},
	} {
		if got := string(AppendValue(nil, c.v)); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
		back, err := ParseValue(c.want)
		if err != nil || string(AppendValue(nil, back)) != c.want {
			t.Errorf("%s comes back as %s, error %v", c.want, AppendValue(nil, back), err)
		}
	}
}

func TestAppendAttributesSortsAStranger(t *testing.T) {
	kvs := []KeyValue{{"b", IntValue(1)}, {"a", IntValue(2)}, {"b", IntValue(3)}}
	if got := string(AppendAttributes(nil, kvs)); got != `{"a":2,"b":3}` {
		t.Errorf("got %s", got)
	}
	if kvs[0].Key != "b" {
		t.Error("the argument was changed")
	}
}

func TestParseRefuses(t *testing.T) {
	for _, s := range []string{"", "{", "[1,", `{"a":}`, `{"$bytes":"!"}`, `{"$double":"1"}`, `"a`, "5 6", "{}x", `{"$bytes":"/w==","x":1}`, strings.Repeat("[", 5000)} {
		if _, err := ParseValue(s); !errors.Is(err, errCanonical) {
			t.Errorf("ParseValue(%.20q): error %v", s, err)
		}
	}
	for _, s := range []string{"", "[]", "null", "{} {}"} {
		if _, err := ParseAttributes(s); err == nil {
			t.Errorf("ParseAttributes(%q): no error", s)
		}
	}
	for _, s := range []string{"", "{}", `[{"name":5}]`, `[{"at_unix_nano":"x"}]`, "[5]"} {
		if _, err := ParseEvents(s); err == nil {
			t.Errorf("ParseEvents(%q): no error", s)
		}
	}
}

// anyValue draws a value of at most the given depth.
func anyValue(depth int) *rapid.Generator[Value] {
	text := rapid.StringOf(rapid.RuneFrom([]rune("ab$\"\\\n\x01é😀 \u2028")))
	return rapid.Custom(func(t *rapid.T) Value {
		kinds := 8
		if depth == 0 {
			kinds = 6
		}
		switch Kind(rapid.IntRange(0, kinds-1).Draw(t, "kind")) {
		case KindString:
			return StringValue(text.Draw(t, "s"))
		case KindBool:
			return BoolValue(rapid.Bool().Draw(t, "b"))
		case KindInt:
			return IntValue(rapid.Int64().Draw(t, "i"))
		case KindDouble:
			return DoubleValue(rapid.Float64().Draw(t, "f"))
		case KindBytes:
			return BytesValue(string(rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(t, "raw")))
		case KindArray:
			return ArrayValue(rapid.SliceOfN(anyValue(depth-1), 0, 4).Draw(t, "list"))
		case KindMap:
			m := rapid.MapOfN(text, anyValue(depth-1), 0, 4).Draw(t, "map")
			return MapValue(sortedMap(m))
		}
		return Value{}
	})
}

func sortedMap(m map[string]Value) []KeyValue {
	var kvs []KeyValue
	for k, v := range m {
		kvs = append(kvs, KeyValue{k, v})
	}
	kvs, _ = new(sorter).into(new(slab[KeyValue]), kvs)
	return kvs
}

// TestCanonicalRoundTrip: what was appended parses to a deeply equal value.
func TestCanonicalRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := anyValue(4).Draw(t, "value")
		text := string(AppendValue(nil, v))
		back, err := ParseValue(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if !reflect.DeepEqual(normal(back), normal(v)) {
			t.Fatalf("%s comes back as %s", text, AppendValue(nil, back))
		}
		ev := []SpanEvent{{Name: "n", TimeUnixNano: 5, Attributes: []KeyValue{{"k", v}}}, {}}
		text = string(AppendEvents(nil, ev))
		events, err := ParseEvents(text)
		if err != nil || string(AppendEvents(nil, events)) != text || len(events) != 2 || events[0].TimeUnixNano != 5 {
			t.Fatalf("%s comes back as %s, error %v", text, AppendEvents(nil, events), err)
		}
	})
}

// A parser that is used again, after errors too, gives what a new one gives, and what it gave before stays as it was.
func TestParserIsUsedAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			text := string(AppendValue(nil, anyValue(4).Draw(t, "value")))
			return text[:len(text)-rapid.SampledFrom([]int{0, 0, 1}).Draw(t, "cut")]
		}), 1, 8).Draw(t, "texts")
		var p Parser
		var got []Value
		for _, text := range texts {
			v, err := p.Value(text)
			if _, wantErr := ParseValue(text); (err == nil) != (wantErr == nil) {
				t.Fatalf("%s: error %v, of a new parser %v", text, err, wantErr)
			}
			got = append(got, v)
		}
		for i, text := range texts {
			if want, err := ParseValue(text); err == nil && !reflect.DeepEqual(got[i], want) {
				t.Fatalf("%s became %s", text, AppendValue(nil, got[i]))
			}
		}
	})
}

// normal makes empty lists nil, so that values can be compared.
func normal(v Value) Value {
	if len(v.list) == 0 {
		v.list = nil
	}
	if len(v.kvs) == 0 {
		v.kvs = nil
	}
	for i := range v.list {
		v.list[i] = normal(v.list[i])
	}
	for i := range v.kvs {
		v.kvs[i].Value = normal(v.kvs[i].Value)
	}
	return v
}

func FuzzCanonicalRoundTrip(f *testing.F) {
	for _, s := range []string{`null`, `{"a":[1,1.0,"x",{"$bytes":"/w=="},{"$double":"NaN"}],"$$a":true}`, `[-0.0,1e+300]`, `"\u0001é"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := ParseValue(s)
		if err != nil {
			return
		}
		once := string(AppendValue(nil, v))
		back, err := ParseValue(once)
		if err != nil {
			t.Fatalf("%q was appended as %q: %v", s, once, err)
		}
		if twice := string(AppendValue(nil, back)); twice != once {
			t.Fatalf("%q, then %q", once, twice)
		}
	})
}

func TestValidUTF8(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := []byte(rapid.StringOf(rapid.RuneFrom([]rune("abcdefgh é漢😀"))).Draw(t, "s"))
		if len(b) > 0 && rapid.Bool().Draw(t, "break it") {
			b[rapid.IntRange(0, len(b)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "with")
		}
		if got, want := validUTF8(b), utf8.Valid(b); got != want {
			t.Fatalf("%q: %v, want %v", b, got, want)
		}
	})
}
