package csv

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/exports/exporttest"
	"github.com/tracejury/tracejury/judge"
)

func TestTarget(t *testing.T) { exporttest.Run(t, Target{}) }

func TestTarget_Golden(t *testing.T) {
	exporttest.Golden(t, "small", exporttest.Small(), Target{})
	exporttest.Golden(t, "weighted", exporttest.Weighted(), Target{})
}

func records(t *testing.T, data []byte) []map[string]string {
	t.Helper()
	all, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]string
	for _, r := range all[1:] {
		row := map[string]string{}
		for i, name := range all[0] {
			row[name] = r[i]
		}
		out = append(out, row)
	}
	return out
}

func TestFiles_NothingRuns(t *testing.T) {
	s := exporttest.Session(1, judge.Met, judge.NotMet, judge.Met)
	s.ID, s.Service, s.Agent = "=cmd|' /C calc'!A0", "@SUM(1+1)", "plain, with \"quotes\""
	s.Criteria[0].Explanation = "-2+3\nsecond line"
	files := exporttest.Write(t, exporttest.Input(s), Target{})
	row := records(t, files[SessionsFile])[0]
	if row["session_id"] != "'=cmd|' /C calc'!A0" || row["service"] != "'@SUM(1+1)" || row["agent"] != "plain, with \"quotes\"" {
		t.Errorf("got %q", row)
	}
	if got := records(t, files[VerdictsFile])[0]["explanation"]; got != "'-2+3 second line" {
		t.Errorf("explanation %q", got)
	}
}

// What the losses do not name comes back from the files.
func TestFiles_ReadBack(t *testing.T) {
	in := exporttest.Small()
	files := exporttest.Write(t, in, Target{})
	sessions, verdicts := records(t, files[SessionsFile]), records(t, files[VerdictsFile])
	i, j := 0, 0
	err := exports.EachSession(t.Context(), in, func(s *exports.Session) error {
		row := sessions[i]
		i++
		if row["session_key"] != s.Key || row["pass"] != truth(s.Pass) || row["safe"] != truth(s.Safe) || row["undecided"] != truth(&s.Undecided) {
			t.Errorf("session %s came back as %v", s.Key, row)
		}
		criteria, err := exports.Align(&in.Rubric, s)
		if err != nil {
			return err
		}
		for _, c := range criteria {
			v := verdicts[j]
			j++
			if v["criterion"] != c.ID || v["verdict"] != string(c.Verdict) || v["explanation"] != c.Explanation || v["evidence_steps"] != steps(c.EvidenceSteps) || v["ungraded_reason"] != c.UngradedReason {
				t.Errorf("verdict %+v came back as %v", c, v)
			}
			if row["verdict_"+c.ID] != string(c.Verdict) {
				t.Errorf("%s: %s", c.ID, row["verdict_"+c.ID])
			}
		}
		return nil
	})
	if err != nil || i != len(sessions) || j != len(verdicts) {
		t.Errorf("%v: %d of %d sessions, %d of %d verdicts", err, i, len(sessions), j, len(verdicts))
	}
	if strings.Contains(string(files[VerdictsFile]), "\r") {
		t.Error("carriage return")
	}
}
