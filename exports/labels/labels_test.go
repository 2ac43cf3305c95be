package labels

import (
	"bytes"
	"encoding/csv"
	"reflect"
	"slices"
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

// The sheet says nothing that the judge said, whatever it said.
func TestSheet_Blind(t *testing.T) {
	in := exporttest.Small()
	files := exporttest.Write(t, in, Target{})
	err := exports.EachSession(t.Context(), in, func(s *exports.Session) error {
		for _, c := range s.Criteria {
			if c.Explanation != "" && bytes.Contains(files[SheetFile], []byte(c.Explanation)) {
				t.Errorf("the sheet holds %q", c.Explanation)
			}
		}
		if n := bytes.Count(files[SheetFile], []byte(",transcript:"+s.Key+",")); n != len(in.Rubric.Criteria) {
			t.Errorf("session %s has %d rows", s.Key, n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A sheet that people filled in comes back as what they wrote, saved as any spreadsheet saves it.
func TestRead_Sheet(t *testing.T) {
	files := exporttest.Write(t, exporttest.Small(), Target{})
	records, err := csv.NewReader(bytes.NewReader(files[SheetFile])).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	words := []string{"met", "Not met", "n/a", "UNCLEAR", ""}
	verdicts := []judge.Verdict{judge.Met, judge.NotMet, judge.NotApplicable, judge.Unclear}
	var want []Label
	for i, r := range records[1:] {
		r[6], r[7] = words[i%len(words)], "pk"
		if r[6] != "" {
			want = append(want, Label{RunID: r[0], Subject: r[1], Criterion: r[3], Verdict: verdicts[i%len(words)], Labeller: "pk"})
		}
	}
	slices.SortFunc(want, func(a, b Label) int {
		return strings.Compare(a.Subject+"\x00"+a.Criterion, b.Subject+"\x00"+b.Criterion)
	})
	for _, comma := range ",;\t" {
		for _, crlf := range []bool{false, true} {
			var buf bytes.Buffer
			buf.WriteString("\ufeff")
			w := csv.NewWriter(&buf)
			w.Comma, w.UseCRLF = comma, crlf
			if err := w.WriteAll(records); err != nil {
				t.Fatal(err)
			}
			got, err := Read(&buf)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("delimiter %q: %v, got %d labels, want %d", comma, err, len(got), len(want))
			}
		}
	}
}

func TestRead(t *testing.T) {
	half := 0.5
	head := "run_id,subject,criterion,verdict,labeller\n"
	one := Label{RunID: "r", Subject: "s", Criterion: "c", Verdict: judge.Met, Labeller: "a"}
	scored := one
	scored.Verdict, scored.Score = judge.Scored, &half
	for name, test := range map[string]struct {
		in   string
		want []Label
		err  string
	}{
		"nothing":              {"", nil, ""},
		"a header only":        {head, []Label{}, ""},
		"one":                  {head + "r,s,c,met,a\n", []Label{one}, ""},
		"twice the same":       {head + "r,s,c,met,a\nr,s,c,Met,a\n", []Label{one}, ""},
		"twice otherwise":      {head + "r,s,c,met,a\nr,s,c,unclear,a\n", nil, "line 3"},
		"a score":              {head + "r,s,c,0.5,a\n", []Label{scored}, ""},
		"a score off scale":    {head + "r,s,c,0.6,a\n", nil, "want 1, 0.75"},
		"an unknown word":      {head + "r,s,c,fine,a\n", nil, "line 2: verdict \"fine\""},
		"somebody":             {head + "r,s,c,met,\nr,s,c,not_met,\n", []Label{{RunID: "r", Subject: "s", Criterion: "c", Verdict: judge.Met}, {RunID: "r", Subject: "s", Criterion: "c", Verdict: judge.NotMet}}, ""},
		"people's own":         {"\ufeffverdict,Session,criterion,comment\nNot-Met,s,c,why\n", []Label{{Subject: "s", Criterion: "c", Verdict: judge.NotMet}}, ""},
		"people's own lines":   {`{"session":"s","criterion":"c","verdict":"met","comment":"x"}`, []Label{{Subject: "s", Criterion: "c", Verdict: judge.Met}}, ""},
		"no session":           {"session,criterion,verdict\n,c,met\n", nil, "line 2: session is empty"},
		"no session column":    {"criterion,verdict\nc,met\n", nil, "column session (or subject) is missing"},
		"no column":            {"run_id,subject\n", nil, "column criterion is missing"},
		"an unknown column":    {"run_id,subjct\n", nil, "subjct"},
		"twice one column":     {"run_id,run_id\n", nil, "twice"},
		"a short row":          {head + "r,s\n", nil, "wrong number of fields"},
		"json":                 {`{"run_id":"r","subject":"s","criterion":"c","verdict":"met","labeller":"a"}` + "\n", []Label{one}, ""},
		"json with a score":    {`{"run_id":"r","subject":"s","criterion":"c","verdict":"scored","score":0.5,"labeller":"a"}`, []Label{scored}, ""},
		"json unknown":         {`{"run":"r"}`, nil, "line 1"},
		"json scoreless":       {`{"run_id":"r","subject":"s","criterion":"c","verdict":"scored","labeller":"a"}`, nil, "without a score"},
		"json met with score":  {`{"run_id":"r","subject":"s","criterion":"c","verdict":"met","score":1,"labeller":"a"}`, nil, "has a score"},
		"json, two on a line":  {`{"run_id":"r","subject":"s","criterion":"c","verdict":"met","labeller":"a"} {}`, nil, "more than one"},
		"a neutralised number": {"run_id,subject,criterion,verdict,labeller\n'-r,s,c,met,a\n", []Label{{RunID: "-r", Subject: "s", Criterion: "c", Verdict: judge.Met, Labeller: "a"}}, ""},
	} {
		got, err := Read(strings.NewReader(test.in))
		if test.err != "" {
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s: error %v, want %q", name, err, test.err)
			}
		} else if err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %v, %+v", name, err, got)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("run_id,subject,criterion,verdict,labeller\nr,s,c,met,a\n"))
	f.Add([]byte("\ufeffrun_id;subject;criterion;verdict;labeller\r\nr;s;c;0,5;a\r\n"))
	f.Add([]byte(`{"run_id":"r","subject":"s","criterion":"c","verdict":"scored","score":0.5,"labeller":"a"}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		var buf bytes.Buffer // what was read, written as lines of JSON, reads the same
		for _, l := range got {
			line, err := exports.JSON(l)
			if err != nil {
				t.Fatal(err)
			}
			buf.Write(append(line, '\n'))
		}
		if again, err := Read(&buf); err != nil && bytes.ContainsRune(data, 0xfffd) == false && bytes.Equal(bytes.ToValidUTF8(data, nil), data) {
			t.Fatalf("%v", err)
		} else if err == nil && len(again) > len(got) {
			t.Fatalf("%d labels became %d", len(got), len(again))
		}
	})
}
