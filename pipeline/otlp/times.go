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
	unitGuess                 // by its size
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
	return instant{nano: int64(n)}
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

func parseTime(s string, unit timeUnit) instant {
	if s == "" {
		return instant{}
	}
	if n, ok := parseInt(s); ok {
		if n < 0 {
			return instant{quality: QualityClamped}
		}
		scale := scaleOf(float64(n), unit)
		switch {
		case scale == 1:
			return instant{nano: n}
		case n > math.MaxInt64/scale:
			return instant{nano: math.MaxInt64, quality: QualityClamped}
		case n == 0:
			return instant{}
		}
		return instant{nano: n * scale, quality: QualityImprecise}
	}
	if n, err := strconv.ParseUint(s, 10, 64); err == nil {
		return unsigned(n)
	}
	if s[0] >= '0' && s[0] <= '9' || s[0] == '-' || s[0] == '.' {
		if f, err := strconv.ParseFloat(s, 64); err == nil || math.IsInf(f, 0) {
			return clamp(f * float64(scaleOf(f, unit)))
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

// scaleOf is the nanoseconds in one unit. Guessed units are those in which the number lies between 1973 and 2286 or so.
func scaleOf(f float64, unit timeUnit) int64 {
	switch {
	case unit == unitMicro:
		return 1e3
	case unit == unitNano || f >= 1e17:
		return 1
	case f >= 1e14:
		return 1e3
	case f >= 1e11:
		return 1e6
	}
	return 1e9
}
