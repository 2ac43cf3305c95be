package otlp

import (
	"slices"
	"testing"
)

// FuzzJSON: whatever the bytes, nothing panics, every record keeps its contract, and a used decoder reads like a new one.
func FuzzJSON(f *testing.F) {
	for _, q := range append(quirks, shapes...) {
		f.Add([]byte(q.doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		fresh, stats, faults := oursModels(t, doc, false)
		used := NewDecoder(Limits{})
		used.JSON([]byte(shapes[0].doc), func(*Record) error { return nil })
		used.Proto([]byte("\x0a\x03\x0a\x01\x00"), func(*Record) error { return nil })
		var again []string
		stats2, faults2, err := used.JSON(slices.Clone(doc), func(r *Record) error {
			again = append(again, model(r))
			return nil
		})
		if err != nil || !slices.Equal(fresh, again) || stats != stats2 || !slices.Equal(faults, faults2) {
			t.Fatalf("a used decoder reads otherwise:\n%q %+v %v\n%q %+v %v", fresh, stats, faults, again, stats2, faults2)
		}
	})
}

// FuzzProto: nothing panics, and what pdata accepts as spans or logs, and we read without a fault, are the same records.
func FuzzProto(f *testing.F) {
	f.Add(protoTraces(f, "a", "b"))
	f.Add(protoLogs(f))
	f.Add(protoMetrics(f))
	f.Add(join(protoTraces(f, "a"), protoTraces(f, "b")))
	f.Fuzz(func(t *testing.T, doc []byte) {
		got, stats, faults := oursModels(t, doc, true)
		if len(faults) > 0 || len(got) == 0 || stats.OddIDs > 0 || stats.TooDeep > 0 || stats.Logs > 0 && stats.Spans > 0 || stats.MetricPoints > 0 {
			return
		}
		var want []string
		if stats.Spans > 0 {
			traces, err := unmarshalTraces(doc, true)
			if err != nil {
				return
			}
			for _, rs := range traces.ResourceSpans().All() {
				for _, ss := range rs.ScopeSpans().All() {
					for _, s := range ss.Spans().All() {
						want = append(want, model(pdataSpan(rs.Resource(), ss.Scope(), s)))
					}
				}
			}
		} else {
			logs, err := unmarshalLogs(doc, true)
			if err != nil {
				return
			}
			for _, rs := range logs.ResourceLogs().All() {
				for _, ss := range rs.ScopeLogs().All() {
					for _, l := range ss.LogRecords().All() {
						want = append(want, model(pdataLog(rs.Resource(), ss.Scope(), l)))
					}
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("both accept, but not the same records:\n got %q\nwant %q", got, want)
		}
	})
}
