package pipeline_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/pipeline"
	"github.com/tracejury/tracejury/schema"
)

// Whatever writers put where nanoseconds belong: the record is kept, its time says how far it can be believed, and its session
// lies on the day of a time that can.
func TestIngestTimes(t *testing.T) {
	const (
		at, day = 1795900000_000000000, "2026-11-28"
		none    = schema.UnknownDay
		end     = 1<<63 - 1
	)
	cases := []struct {
		name, start, end string // as in JSON
		started, ended   int64
		quality, dt      string
	}{
		{"nanoseconds in text", `"1795900000000000000"`, `"1795900001000000000"`, at, at + 1e9, "ok", day},
		{"nanoseconds", `1795900000000000001`, `1795900001000000000`, at + 1, at + 1e9, "ok", day},
		{"a float", `1.7959e18`, `1.7959e18`, at, at, "imprecise", day},
		{"seconds", `1795900000`, `1795900001`, at, at + 1e9, "imprecise", day},
		{"seconds with a fraction", `1795900000.5`, `"1795900001.5"`, at + 5e8, at + 15e8, "imprecise", day},
		{"milliseconds", `1795900000001`, `"1795900001000"`, at + 1e6, at + 1e9, "imprecise", day},
		{"milliseconds in a float", `1.795900000e12`, `1795900001000.5`, at, at + 1_000_500_000, "imprecise", day},
		{"microseconds", `1795900000000001`, `1795900001000000`, at + 1e3, at + 1e9, "imprecise", day},
		{"microseconds in a float", `1795900000000000.0`, `1795900001000000.0`, at, at + 1e9, "imprecise", day},
		{"ISO text", `"2026-11-28T21:06:40Z"`, `"2026-11-28T21:06:41Z"`, at, at + 1e9, "imprecise", day},
		{"zero", `0`, `"0"`, 0, 0, "missing", none},
		{"null", `null`, `null`, 0, 0, "missing", none},
		{"no time", `""`, `"soon"`, 0, 0, "missing", none},
		{"an end only", `0`, `"1795900001000000000"`, 0, at + 1e9, "missing", none},
		{"a start only", `"1795900000000000000"`, `0`, at, 0, "ok", day},
		{"negative", `-1`, `"-1795900001000000000"`, 0, 0, "clamped", none},
		{"beyond int64", `"9223372036854775808"`, `18446744073709551615`, end, end, "clamped", none},
		{"beyond uint64", `"99999999999999999999999"`, `1e30`, end, end, "clamped", none},
		{"an end before the start", `"1795900000000000000"`, `"1795800000000000000"`, at, at, "clamped", day},
		{"an end beyond int64", `"1795900000000000000"`, `18446744073709551615`, at, end, "clamped", day},
		{"next year", `"1827436000000000000"`, `"1827436001000000000"`, 1827436000e9, 1827436001e9, "future", none},
		{"next year in milliseconds", `1827436000000`, `1827436001000`, 1827436000e9, 1827436001e9, "future", none},
	}
	from, data := filepath.Join(t.TempDir(), "in"), filepath.Join(t.TempDir(), "lake")
	for i, c := range cases {
		putFile(t, from, fmt.Sprintf("%02d.json", i), spanAt(fmt.Sprintf("%032x", i+1), fmt.Sprintf("%016x", i+1), c.name, c.start, c.end))
	}
	if c := mustIngest(t, config(t, from, data), pipeline.IngestOptions{}).Counts; c.Written != int64(len(cases)) || c.Quarantined != 0 {
		t.Errorf("%d written, %d quarantined, want %d and none", c.Written, c.Quarantined, len(cases))
	}
	spans, sessions, days := map[string]schema.Span{}, map[string]schema.Session{}, map[string]string{}
	for _, s := range rows[schema.Session](t, data, "sessions/") {
		sessions[s.SessionID] = s
	}
	for _, r := range rows[schema.Trace](t, data, "traces/") {
		days[r.SessionKey] = r.Dt
	}
	for _, r := range rows[schema.Span](t, data, "spans/") {
		spans[r.SessionKey] = r
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := sessions[c.name]
			r := spans[s.SessionKey]
			if r.StartedUnixNano != c.started || r.EndedUnixNano != c.ended || r.TimeQuality != c.quality {
				t.Errorf("%d to %d, %s; want %d to %d, %s", r.StartedUnixNano, r.EndedUnixNano, r.TimeQuality, c.started, c.ended, c.quality)
			}
			if got := days[s.SessionKey]; got != c.dt {
				t.Errorf("on day %q, want %s", got, c.dt)
			}
			if s.EndedUnixNano < s.StartedUnixNano || s.EndedUnixNano-s.StartedUnixNano > 24*3600*1e9 {
				t.Errorf("the session lasts from %d to %d", s.StartedUnixNano, s.EndedUnixNano)
			}
		})
	}
}

// Services whose clocks differ by hours, one without any, are one session on the day of its earliest record, whoever comes first.
func TestIngestClockSkewWithinASession(t *testing.T) {
	const hour = int64(3600e9)
	base := int64(1795900000e9) // 2026-11-28 21:06:40
	docs := []string{
		spanAt(traceA, "0000000000000001", "s", fmt.Sprint(base), fmt.Sprint(base+4e9)),
		strings.Replace(spanAt(traceA, "0000000000000002", "s", fmt.Sprint(base-26*hour), fmt.Sprint(base-26*hour+1e9)), `"svc"`, `"behind"`, 1),
		strings.Replace(spanAt(traceA, "0000000000000003", "s", fmt.Sprint(base+5*hour), fmt.Sprint(base+5*hour+1e9)), `"svc"`, `"ahead"`, 1),
		strings.Replace(spanAt(traceA, "0000000000000004", "s", "0", "0"), `"svc"`, `"without"`, 1),
	}
	var want map[string]string
	for i, order := range [][]int{{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 3, 0, 2}} {
		from, data := filepath.Join(t.TempDir(), "in"), filepath.Join(t.TempDir(), "lake")
		for _, n := range order {
			putFile(t, from, fmt.Sprintf("%d.json", n), docs[n])
			if i > 0 {
				mustIngest(t, config(t, from, data), pipeline.IngestOptions{})
			}
		}
		if i == 0 {
			mustIngest(t, config(t, from, data), pipeline.IngestOptions{})
			want = tree(t, data, sessionTables...)
		}
		diffTrees(t, tree(t, data, sessionTables...), want)
		s := rows[schema.Session](t, data, "sessions/")
		if len(s) != 1 || s[0].StartedUnixNano != base-26*hour || s[0].EndedUnixNano != base+5*hour+1e9 || len(tree(t, data, "spans/dt=2026-11-27/")) != 1 {
			t.Errorf("sessions %+v", s)
		}
	}
}
