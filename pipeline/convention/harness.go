package convention

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/tracejury/tracejury/pipeline/otlp"
)

// This file holds what the readers of harnesses with telemetry of their own (logs beside spans) share: how a number, a
// yes or no, a withheld or a shortened text look when each emitter writes them in its own way.

// teller emits the events of one record, giving each the record's place and the next index.
type teller struct {
	meta Meta
	emit func(Event)
	next int
	memo *Memo
}

func newTeller(r *Record, convention string, emit func(Event)) *teller {
	return &teller{meta: harnessMeta(r, convention), emit: emit, memo: r.Memo}
}

func harnessMeta(r *Record, convention string) Meta {
	return Meta{
		Convention: convention,
		TraceID:    r.Row.TraceID,
		SpanID:     r.Row.SpanID,
		ParentID:   r.Row.ParentSpanID,
		At:         r.Row.StartedUnixNano,
	}
}

// tell emits e at the record's place.
func (t *teller) tell(e Event) {
	m := t.meta
	m.Index = t.next
	t.next++
	*e.Info() = m
	t.emit(e)
}

// tellAt emits e at another time than the record's: the end of a span.
func (t *teller) tellAt(at int64, e Event) {
	if at <= 0 {
		t.tell(e)
		return
	}
	was := t.meta.At
	t.meta.At = at
	t.tell(e)
	t.meta.At = was
}

// intIn is the whole number in v, which emitters write as an int, a double or digits.
func intIn(v otlp.Value) (int64, bool) {
	switch v.Kind() {
	case otlp.KindInt:
		return v.Int(), true
	case otlp.KindDouble:
		f := v.Double()
		if math.IsNaN(f) || math.Abs(f) > 1<<53 {
			return 0, false
		}
		return int64(f), true
	case otlp.KindString:
		n, err := strconv.ParseInt(strings.TrimSpace(v.Str()), 10, 64)
		return n, err == nil
	}
	return 0, false
}

// count is the first of keys that holds a whole number of at least 0; nil when none does.
func (a Attributes) count(keys ...string) *int64 {
	for _, k := range keys {
		if v, ok := a.Get(k); ok {
			if n, ok := intIn(v); ok && n >= 0 {
				return &n
			}
		}
	}
	return nil
}

// flag is the yes or no at key, written as a bool or as the text "true" or "false".
func (a Attributes) flag(key string) (yes, known bool) {
	v, ok := a.Get(key)
	if !ok {
		return false, false
	}
	if v.Kind() == otlp.KindBool {
		return v.Bool(), true
	}
	switch strings.ToLower(v.Str()) {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	return false, false
}

// outcomeOf is the outcome that a success flag states.
func (a Attributes) outcomeOf(key string) Outcome {
	yes, known := a.flag(key)
	switch {
	case !known:
		return OutcomeUnknown
	case yes:
		return OutcomeOK
	}
	return OutcomeError
}

// microUSD is a price in millionths of a dollar, from key given in dollars.
func (a Attributes) microUSD(key string) *int64 {
	v, ok := a.Get(key)
	if !ok {
		return nil
	}
	var f float64
	switch v.Kind() {
	case otlp.KindInt:
		f = float64(v.Int())
	case otlp.KindDouble:
		f = v.Double()
	case otlp.KindString:
		parsed, err := strconv.ParseFloat(strings.TrimSpace(v.Str()), 64)
		if err != nil {
			return nil
		}
		f = parsed
	default: // an empty value is no price of 0
		return nil
	}
	if math.IsNaN(f) || f < 0 || f > 1e9 {
		return nil
	}
	n := int64(math.Round(f * 1e6))
	return &n
}

// milliseconds is the duration at key in nanoseconds; 0 unknown.
func (a Attributes) milliseconds(key string) int64 {
	v, ok := a.Get(key)
	if !ok {
		return 0
	}
	f := v.Double()
	if n, ok := intIn(v); ok && v.Kind() != otlp.KindDouble {
		f = float64(n)
	}
	if math.IsNaN(f) || f <= 0 || f > 1e12 {
		return 0
	}
	return int64(f * 1e6)
}

// decimal is n in digits.
func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// sumOf adds what is known; nil when nothing is.
func sumOf(parts ...*int64) *int64 {
	var sum int64
	known := false
	for _, p := range parts {
		if p != nil {
			sum, known = sum+*p, true
		}
	}
	if !known {
		return nil
	}
	return &sum
}

// isWithheld says that a harness wrote a placeholder in place of content.
func isWithheld(text string) bool {
	switch strings.TrimSpace(text) {
	case "<REDACTED>", "[REDACTED]", "<redacted>", "[redacted]":
		return true
	}
	return false
}

// isCut says that text carries a mark, at its end or in its middle, of having been shortened by the harness.
func isCut(text string) bool {
	tail := text
	if len(tail) > 400 {
		tail = tail[len(tail)-400:]
	}
	for _, mark := range [...]string{"[TRUNCATED", "[truncated", "[Truncated", "telemetry preview truncated", "… truncated", "<truncated>"} {
		if strings.Contains(tail, mark) {
			return true
		}
	}
	return strings.Contains(text, "[... telemetry preview truncated ...]") || strings.Contains(text, "tokens truncated…")
}

// cutAttribute says that the harness marked the attribute key itself as shortened.
func (a Attributes) cutAttribute(key string) bool {
	yes, _ := a.flag(key + "_truncated")
	return yes
}

// exitCodeAfter is the number that follows label in text, as in "Exit code 3" and "Process exited with code 3".
func exitCodeAfter(text, label string) *int32 {
	_, rest, found := strings.Cut(text, label)
	if !found {
		return nil
	}
	rest = strings.TrimLeft(rest, " :")
	end := 0
	for end < len(rest) && (rest[end] >= '0' && rest[end] <= '9' || end == 0 && rest[end] == '-') {
		end++
	}
	n, err := strconv.ParseInt(rest[:end], 10, 32)
	if err != nil {
		return nil
	}
	code := int32(n)
	return &code
}

// jsonObject is the JSON object in text, nil when text is anything else.
func jsonObject(text string) map[string]json.RawMessage {
	if !strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{") {
		return nil
	}
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &object) != nil {
		return nil
	}
	return object
}

// jsonText is the string that raw holds; "" when it holds anything else.
func jsonText(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// compact is object as JSON with sorted keys; "" for an empty one.
func compact(object map[string]json.RawMessage) string {
	if len(object) == 0 {
		return ""
	}
	out, err := json.Marshal(object)
	if err != nil {
		return ""
	}
	return string(out)
}

// jsonPair is a JSON object of one text.
func jsonPair(key, text string) string { return jsonPairs(key, text) }

// jsonPairs is a JSON object of texts, given as key, text, key, text.
func jsonPairs(pairs ...string) string {
	object := make(map[string]string, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		object[pairs[i]] = pairs[i+1]
	}
	out, err := json.Marshal(object)
	if err != nil {
		return ""
	}
	return string(out)
}
