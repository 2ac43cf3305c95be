package convention

import (
	"testing"

	"github.com/tracejury/tracejury/pipeline/otlp"
)

// A text that a processor made a map or a list of is still the text.
func TestStrOfStructuredValues(t *testing.T) {
	a := Attributes{
		{Key: "a", Value: otlp.StringValue("")}, {Key: "b", Value: otlp.MapValue([]otlp.KeyValue{{Key: "x", Value: otlp.IntValue(1)}})},
		{Key: "c", Value: otlp.ArrayValue([]otlp.Value{otlp.StringValue("y")})}, {Key: "d", Value: otlp.IntValue(5)},
	}
	for _, c := range []struct {
		keys []string
		want string
	}{{[]string{"a"}, ""}, {[]string{"b"}, `{"x":1}`}, {[]string{"a", "c"}, `["y"]`}, {[]string{"d"}, ""}, {[]string{"none", "b"}, `{"x":1}`}} {
		if got := a.Str(c.keys...); got != c.want {
			t.Errorf("%v: %q, want %q", c.keys, got, c.want)
		}
	}
}
