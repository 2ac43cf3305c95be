package calibration

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/tracejury/tracejury/pipeline/stats"
)

func yes(is bool) Category {
	if is {
		return Met
	}
	return NotMet
}

// fine is what a good judge does.
func fine() Observations {
	l := Labels{}
	for i := range 120 {
		l.Judge, l.People = append(l.Judge, yes(i%3 > 0)), append(l.People, yes(i%3 > 0 != (i%30 == 0)))
	}
	return Observations{Labels: map[string]Labels{"correctness": l}, Good: Count{39, 40}, Bad: Count{40, 40}, Retest: Count{3, 100},
		Probes: map[string]stats.Pairs{"padded": {Both: 39, Gained: 1, Neither: 40}}, Injected: Count{0, 60}, Judged: Count{2, 100}}
}

func TestRun(t *testing.T) {
	for name, c := range map[string]struct {
		edit   func(*Observations)
		want   Status
		failed string // check of which some number fails
	}{
		"a good judge":           {func(*Observations) {}, AllPassed, ""},
		"no labels":              {func(o *Observations) { o.Labels = nil }, InProgress, ""},
		"too few labels":         {func(o *Observations) { o.Labels["safety"] = Labels{Judge: []Category{Met}, People: []Category{Met}} }, InProgress, ""},
		"only one kind of label": {func(o *Observations) { l := make([]Category, 100); o.Labels["safety"] = Labels{Judge: l, People: l} }, InProgress, ""},
		"a judge of one mind": {func(o *Observations) {
			l := o.Labels["correctness"]
			for i := range l.Judge {
				l.Judge[i] = Met
			}
		}, NotPassed, HumanAgreement},
		"people think otherwise": {func(o *Observations) {
			l := o.Labels["correctness"]
			for i := range 40 {
				l.People[i] = Met + NotMet - l.People[i]
			}
		}, NotPassed, HumanAgreement},
		"misses good answers":      {func(o *Observations) { o.Good = Count{35, 40} }, NotPassed, KnownAnswers},
		"too few to be sure":       {func(o *Observations) { o.Bad = Count{10, 10} }, NotPassed, KnownAnswers},
		"no control":               {func(o *Observations) { o.Good = Count{} }, InProgress, ""},
		"exactly a twentieth":      {func(o *Observations) { o.Retest = Count{5, 100} }, AllPassed, ""},
		"changes its mind":         {func(o *Observations) { o.Retest = Count{6, 100} }, NotPassed, Retest},
		"likes padding":            {func(o *Observations) { o.Probes["padded"] = stats.Pairs{Both: 36, Gained: 4, Neither: 40} }, NotPassed, BiasProbes},
		"small but surely biased":  {func(o *Observations) { o.Probes["padded"] = stats.Pairs{Both: 500, Gained: 8, Neither: 500} }, NotPassed, BiasProbes},
		"one attack works":         {func(o *Observations) { o.Injected = Count{1, 1000} }, NotPassed, Robustness},
		"often no answer":          {func(o *Observations) { o.Judged = Count{3, 100} }, NotPassed, Robustness},
		"failed beats what misses": {func(o *Observations) { o.Labels, o.Retest = nil, Count{50, 100} }, NotPassed, Retest},
	} {
		o := fine()
		c.edit(&o)
		checks, got, err := Run(o, Thresholds{}.WithDefaults())
		if err != nil {
			t.Fatal(err)
		}
		failed := map[string]bool{}
		seen := map[string]bool{}
		for _, k := range checks {
			seen[k.Check] = true
			if k.State == Failed {
				failed[k.Check] = true
			}
			if k.Text == "" {
				t.Errorf("%s: %s says nothing", name, k.Check)
			}
		}
		if got != c.want || len(seen) != 5 || c.failed == "" && len(failed) > 0 || c.failed != "" && (!failed[c.failed] || len(failed) != 1) {
			t.Errorf("%s: %s, failed %v: %+v", name, got, failed, checks)
		}
	}
}

// A stricter threshold never makes a calibration pass that did not.
func TestStricterNeverPassesMore(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		o := fine()
		n := rapid.IntRange(1, 200).Draw(r, "n")
		o.Retest = Count{rapid.IntRange(0, n).Draw(r, "flips"), n}
		o.Good = Count{rapid.IntRange(0, n).Draw(r, "good"), n}
		loose := Thresholds{}.WithDefaults()
		strict := loose
		strict.MaxFlips *= rapid.Float64Range(0, 1).Draw(r, "flips bar")
		strict.MinControl += (1 - strict.MinControl) * rapid.Float64Range(0, 1).Draw(r, "control bar")
		_, a, err := Run(o, loose)
		if err != nil {
			r.Fatal(err)
		}
		if _, b, err := Run(o, strict); err != nil || a != AllPassed && b == AllPassed {
			r.Fatal(a, b, err)
		}
	})
}
