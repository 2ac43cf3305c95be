package otlp

import (
	"math"
	"strconv"
	"time"
)

// instant is a time with what is known of its quality. The zero instant is missing.
type instant struct {
	nano    int64
	quality Quality // ok, imprecise or clamped; meaningless when nano is 0
}

// timeUnit says what a bare number means.
type timeUnit int

const (
	unitNano  timeUnit = iota // nanoseconds, by the field's name
	unitMicro                 // microseconds, by the format
	unitGuess                 // seconds, if its size says nothing else
)

// time reads a time: a number or string of nanoseconds, a float, ISO text, [seconds, nanoseconds], or a JavaScript Long.
func (d *Decoder) time(unit timeUnit) (instant, bool) {
	switch d.peek() {
	case '"':
		s, ok := d.str()
		return parseTime(s, unit), ok
	case '[':
		return d.hrTime()
	case '{':
		return d.longTime()
	}
	tok, ok := d.token()
	if !ok || tok[0] > '9' {
		return instant{}, ok
	}
	t := parseTime(alias(tok), unit)
	if d.bareTimes && t.nano != 0 && t.quality == QualityOK {
		t.quality = QualityImprecise
	}
	return t, true
}

func (d *Decoder) hrTime() (instant, bool) {
	if !d.open('[') {
		return instant{}, false
	}
	var part [2]float64
	for n := 0; ; n++ {
		more, ok := d.element()
		if !ok {
			return instant{}, false
		}
		if !more {
			if n != 2 {
				return instant{}, true
			}
			break
		}
		s, ok := d.text()
		if !ok {
			return instant{}, false
		}
		if n < 2 {
			part[n], _ = strconv.ParseFloat(s, 64)
		}
	}
	if part[0] >= math.MaxInt64/1e9 || !(part[1] >= 0 && part[1] < 1e10) {
		return clamp(part[0]*1e9 + part[1]), true
	}
	if part[0] < 0 {
		return instant{quality: QualityClamped}, true
	}
	return instant{nano: int64(part[0])*1e9 + int64(part[1])}, true
}

// longTime reads {low, high}: the two halves of a 64-bit number.
func (d *Decoder) longTime() (instant, bool) {
	if !d.open('{') {
		return instant{}, false
	}
	var low, high int64
	for {
		name, more, ok := d.member()
		if !ok {
			return instant{}, false
		}
		if !more {
			return unsigned(uint64(uint32(high))<<32 | uint64(uint32(low))), true
		}
		s, ok := d.text()
		if !ok {
			return instant{}, false
		}
		switch n, _ := parseInt(s); name {
		case "low":
			low = n
		case "high":
			high = n
		}
	}
}

// unsigned is the time of a fixed64.
func unsigned(n uint64) instant {
	if n > math.MaxInt64 {
		return instant{nano: math.MaxInt64, quality: QualityClamped}
	}
	return whole(int64(n), unitNano)
}

// whole is the time of a whole number, not negative, in the unit that it was written in.
func whole(n int64, unit timeUnit) instant {
	switch scale := scaleOf(float64(n), unit); {
	case scale == 1 || n == 0:
		return instant{nano: n}
	case n > math.MaxInt64/scale:
		return instant{nano: math.MaxInt64, quality: QualityClamped}
	default:
		return instant{nano: n * scale, quality: QualityImprecise}
	}
}

// clamp is the time of nanoseconds held in a float.
func clamp(f float64) instant {
	switch {
	case f < 0:
		return instant{quality: QualityClamped}
	case f >= 1<<63:
		return instant{nano: math.MaxInt64, quality: QualityClamped}
	}
	return instant{nano: int64(f), quality: QualityImprecise}
}

// fractional is the time of f units of scale nanoseconds. The whole part is scaled by itself, so that no digit is lost.
func fractional(f float64, scale int64) instant {
	n, part := math.Modf(f)
	if f < 0 || !(n < float64(math.MaxInt64/scale)) {
		return clamp(f * float64(scale))
	}
	return instant{nano: int64(n)*scale + int64(math.Round(part*float64(scale))), quality: QualityImprecise}
}

func parseTime(s string, unit timeUnit) instant {
	if s == "" {
		return instant{}
	}
	if n, ok := parseInt(s); ok {
		if n < 0 {
			return instant{quality: QualityClamped}
		}
		return whole(n, unit)
	}
	if n, err := strconv.ParseUint(s, 10, 64); err == nil {
		return unsigned(n)
	}
	if s[0] >= '0' && s[0] <= '9' || s[0] == '-' || s[0] == '.' {
		if f, err := strconv.ParseFloat(s, 64); err == nil || math.IsInf(f, 0) {
			return fractional(f, scaleOf(f, unit))
		}
	}
	for _, layout := range isoLayouts {
		if t, err := time.Parse(layout, s); err == nil {
			if y := t.Year(); y < 1970 || y > 2261 {
				return clamp(float64(t.Unix()) * 1e9)
			}
			return instant{nano: t.UnixNano(), quality: QualityImprecise}
		}
	}
	return instant{}
}

// isoLayouts are tried in order; a text without zone is taken as UTC.
var isoLayouts = [...]string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999Z0700"}

// scaleOf is the nanoseconds in one unit of f. Whatever a field promises, writers put seconds, milliseconds and microseconds
// into it: its size tells, since no telemetry is older than 1973. What is smaller than any of these counts in the unit that
// the field has.
func scaleOf(f float64, unit timeUnit) int64 {
	switch {
	case f >= 1e17: // 1973
		return 1
	case f >= 1e14:
		return 1e3
	case f >= 1e11:
		return 1e6
	case f >= 1e8:
		return 1e9
	}
	return [...]int64{unitNano: 1, unitMicro: 1e3, unitGuess: 1e9}[unit]
}
