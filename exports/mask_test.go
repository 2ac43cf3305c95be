package exports_test

import (
	"bytes"
	"maps"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/exports/exporttest"
	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/pipeline/mask"
)

// The masker of the product takes a credential out of every file and leaves harmless text, ids and the built-in rubric alone.
func TestFiles_RealMask(t *testing.T) {
	rubric, err := judge.Builtin("session")
	if err != nil {
		t.Fatal(err)
	}
	masker := mask.New(mask.Options{})
	session := func(explanation string) exports.Session {
		s := exporttest.Session(1)
		s.Key, s.TraceID = "9f86d081884c7d659a2feaa0c55ad015", "4bf92f3577b34da6a3ce929d0e0e4736"
		s.ID = "0b1f5a7e-2c4d-4e6f-8a9b-0c1d2e3f4a5b"
		for _, c := range rubric.Criteria {
			s.Criteria = append(s.Criteria, exports.Criterion{ID: c.ID, Safety: c.Safety, Verdict: judge.Met, Label: "Met", EvidenceSteps: []int32{4}, Explanation: explanation})
		}
		return s
	}
	files := func(explanation string, masked bool) map[string][]byte {
		in := exporttest.Input(session(explanation))
		in.Rubric = rubric
		if masked {
			in.Mask = func(s string) string { return masker.String(s, nil) }
		}
		return exporttest.Write(t, in, allTargets()...)
	}
	const harmless = "Step 4 shows the approval."
	if !maps.EqualFunc(files(harmless, true), files(harmless, false), bytes.Equal) {
		t.Error("the mask changed an export without a secret")
	}
	key := "AKIA" + strings.Repeat("Q3EGRZ", 3)[:16]
	for name, data := range files("It printed "+key+" in step 4.", true) {
		if bytes.Contains(data, []byte(key)) {
			t.Errorf("%s holds an access key", name)
		}
	}
}
