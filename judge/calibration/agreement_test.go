package calibration

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// labelled makes labels of a confusion matrix [people][judge].
func labelled(table [4][4]int) Labels {
	var l Labels
	for p, row := range table {
		for j, n := range row {
			for range n {
				l.People, l.Judge = append(l.People, Category(p)), append(l.Judge, Category(j))
			}
		}
	}
	return l
}

func TestHumanOn(t *testing.T) {
	for name, c := range map[string]struct {
		table [4][4]int
		want  State
		n     int
		more  bool
		text  string
	}{
		"agree":                   {[4][4]int{{70, 2}, {2, 30}}, Passed, 104, false, "AC1"},
		"few":                     {[4][4]int{{20, 0}, {0, 20}}, Missing, 40, true, "40 labels, want 100"},
		"one kind":                {[4][4]int{{110}}, Missing, 110, false, "every label is met"},
		"other kind":              {[4][4]int{{}, {0, 110}}, Missing, 110, false, "every label is not met"},
		"disagree":                {[4][4]int{{40, 25}, {20, 35}}, Failed, 120, false, "more labels will not mend that"},
		"close":                   {[4][4]int{{54, 6}, {9, 33}}, Missing, 102, true, "more labels at this agreement would do"},
		"unclear is no vote":      {[4][4]int{{70, 2, 0, 20}, {2, 30, 0, 15}}, Failed, 139, false, "of 35 the judge said unclear"},
		"what applies to neither": {[4][4]int{{70, 2}, {2, 30}, {0, 0, 500}}, Passed, 104, false, "500 that apply to neither left out"},
		"not applicable wrongly":  {[4][4]int{{50, 2, 30}, {2, 30, 20}}, Failed, 134, false, "AC1"},
	} {
		got, err := humanOn(labelled(c.table), Thresholds{}.WithDefaults())
		if err != nil || got.State != c.want || got.N != c.n || (got.More > 0) != c.more || !strings.Contains(got.Text, c.text) {
			t.Errorf("%s: %v %+v", name, err, got)
		}
	}
}

// Labels that were drawn by what the judge said say of all that it said what labels of all would.
func TestAgreement_WeighsWhatWasDrawn(t *testing.T) {
	whole := labelled([4][4]int{{900, 10}, {100, 90}})
	drawn := labelled([4][4]int{{90, 5}, {10, 45}}) // a tenth of the met, half of the not met
	drawn.Population = map[Category]int{Met: 1000, NotMet: 100}
	a, err := whole.agreement(whole.table())
	if err != nil {
		t.Fatal(err)
	}
	b, err := drawn.agreement(drawn.table())
	if err != nil || math.Abs(a.AC1-b.AC1) > 1e-3 || math.Abs(a.Raw-b.Raw) > 1e-3 || b.High-b.Low <= a.High-a.Low || !b.Weighted {
		t.Errorf("%v\n%+v\n%+v", err, a, b)
	}
	unseen := labelled([4][4]int{{}, {0, 100}})
	unseen.Population = map[Category]int{Met: 1000, NotMet: 100}
	if c, err := humanOn(unseen, Thresholds{}.WithDefaults()); err != nil || c.State != Missing {
		t.Errorf("%v %+v", err, c)
	}
}

func TestAgreementLaws(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var table [4][4]int
		total := 0
		for p := range table {
			for j := range table[p] {
				table[p][j] = rapid.IntRange(0, 40).Draw(r, "n")
				total += table[p][j]
			}
		}
		l := labelled(table)
		if rapid.Bool().Draw(r, "weighted") {
			l.Population = map[Category]int{Met: rapid.IntRange(0, 500).Draw(r, "met"), NotMet: rapid.IntRange(0, 500).Draw(r, "not met")}
		}
		c, err := humanOn(l, Thresholds{MinLabels: 1}.WithDefaults())
		if err != nil {
			r.Fatal(err)
		}
		if c.N != total-table[NotApplicable][NotApplicable] || c.Text == "" {
			r.Fatalf("%+v", c)
		}
		if a := c.Agreement; a != nil && (a.Low > a.AC1+1e-9 || a.High < a.AC1-1e-9 || a.Raw < 0 || a.Raw > 1 || math.IsNaN(a.AC1)) {
			r.Fatalf("%+v", a)
		}
	})
}
