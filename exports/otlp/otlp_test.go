package otlp

import (
	"bytes"
	"testing"

	"go.opentelemetry.io/collector/pdata/plog/plogotlp"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/exports/exporttest"
	"github.com/tracejury/tracejury/judge"
)

func TestTarget(t *testing.T) { exporttest.Run(t, Target{}) }

func TestTarget_Golden(t *testing.T) {
	exporttest.Golden(t, "small", exporttest.Small(), Target{})
	exporttest.Golden(t, "weighted", exporttest.Weighted(), Target{})
}

// The collector's own decoder reads every line, and every verdict comes back from it.
func TestFile_IsOTLP(t *testing.T) {
	for name, in := range map[string]*exports.Input{"small": exporttest.Small(), "weighted": exporttest.Weighted()} {
		lines := bytes.Split(bytes.TrimSpace(exporttest.Write(t, in, Target{})[File]), []byte("\n"))
		n := 0
		err := exports.EachSession(t.Context(), in, func(s *exports.Session) error {
			req := plogotlp.NewExportRequest()
			if err := req.UnmarshalJSON(lines[n]); err != nil {
				return err
			}
			n++
			rl := req.Logs().ResourceLogs().At(0)
			if v, _ := rl.Resource().Attributes().Get("service.name"); v.Str() != s.Service {
				t.Errorf("%s: service %q", name, v.Str())
			}
			criteria, err := exports.Align(&in.Rubric, s)
			if err != nil {
				return err
			}
			records := rl.ScopeLogs().At(0).LogRecords()
			if records.Len() != len(criteria) {
				t.Fatalf("%s: %d records for %d criteria", name, records.Len(), len(criteria))
			}
			for i, c := range criteria {
				r := records.At(i)
				get := func(key string) string {
					v, ok := r.Attributes().Get(key)
					if !ok {
						return ""
					}
					return v.AsString()
				}
				if r.EventName() != eventName || r.Timestamp().AsTime() != in.AsOf || (s.TraceID != "" && r.TraceID().String() != s.TraceID) {
					t.Errorf("%s: record %s at %s of trace %s", name, r.EventName(), r.Timestamp(), r.TraceID())
				}
				want := string(c.Verdict)
				if c.Verdict == judge.Ungraded {
					want = ""
				}
				if get("gen_ai.evaluation.name") != c.ID || get("gen_ai.evaluation.score.label") != want || (get("error.type") != "") != (want == "") || get("gen_ai.evaluation.explanation") != c.Explanation {
					t.Errorf("%s: %+v came back as %v", name, c, r.Attributes().AsRaw())
				}
				if v, ok := r.Attributes().Get("gen_ai.evaluation.score.value"); ok != (c.Score != nil) || ok && v.Double() != *c.Score {
					t.Errorf("%s: score of %+v", name, c)
				}
			}
			return nil
		})
		if err != nil || n != len(lines) {
			t.Errorf("%s: %v, %d of %d lines", name, err, n, len(lines))
		}
	}
}
