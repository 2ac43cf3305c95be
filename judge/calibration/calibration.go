// Package calibration owns the five checks that decide whether a judge's results may be read as more than information: agreement with
// people, known answers, test and retest, probes of bias, and robustness.
//
// It does not know how the observations were made, nor where its findings are kept.
package calibration

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/tracejury/tracejury/pipeline/stats"
)

// The checks, in their order.
const (
	HumanAgreement = "human_agreement"
	KnownAnswers   = "known_answers"
	Retest         = "test_retest"
	BiasProbes     = "bias_probes"
	Robustness     = "robustness"
)

// Category is what a judge or a person says of an item.
type Category int

// The categories, in the order of a confusion matrix.
const (
	Met Category = iota
	NotMet
	NotApplicable
	Unclear
	categories
)

// String is the category as tables and labels have it.
func (c Category) String() string {
	if c < 0 || c >= categories {
		return "unknown"
	}
	return [...]string{"met", "not_met", "not_applicable", "unclear"}[c]
}

// CategoryOf is the category of a verdict; false of one that is none, such as a score.
func CategoryOf(verdict string) (Category, bool) {
	for c := range categories {
		if c.String() == verdict {
			return c, true
		}
	}
	return 0, false
}

// State says how a check came out.
type State string

// The states. A check that lacks observations is neither passed nor failed.
const (
	Passed  State = "passed"
	Failed  State = "failed"
	Missing State = "missing"
)

// Status is that of a calibration, as runs.calibration has it.
type Status string

// The statuses. InProgress: nothing failed, and something is missing.
const (
	NotCalibrated Status = "not_calibrated"
	InProgress    Status = "in_progress"
	AllPassed     Status = "passed"
	NotPassed     Status = "not_passed"
)

// Thresholds are what the checks ask for. A zero takes the default.
type Thresholds struct {
	MinLabels       int     `json:"min_labels" yaml:"min_labels"`               // people's verdicts for each criterion: 100
	MinAgreement    float64 `json:"min_agreement" yaml:"min_agreement"`         // Gwet's AC1: 0.70
	MinAgreementLow float64 `json:"min_agreement_low" yaml:"min_agreement_low"` // its lower 95 % bound: 0.60
	MinControl      float64 `json:"min_control" yaml:"min_control"`             // sensitivity and specificity: 0.90
	MinControlLow   float64 `json:"min_control_low" yaml:"min_control_low"`     // their one-sided lower 95 % bound (Wilson): 0.80
	MaxFlips        float64 `json:"max_flips" yaml:"max_flips"`                 // verdicts that change when asked again: 0.05
	MaxBias         float64 `json:"max_bias" yaml:"max_bias"`                   // change of the pass rate under a probe: 0.03
	MinBiasP        float64 `json:"min_bias_p" yaml:"min_bias_p"`               // exact McNemar p of a probe must lie above: 0.05
	MaxFailures     float64 `json:"max_failures" yaml:"max_failures"`           // answers that could not be judged: 0.02
}

// WithDefaults fills in what was left out.
func (t Thresholds) WithDefaults() Thresholds {
	t.MinLabels = cmp.Or(t.MinLabels, 100)
	for _, d := range []struct {
		to    *float64
		value float64
	}{{&t.MinAgreement, 0.70}, {&t.MinAgreementLow, 0.60}, {&t.MinControl, 0.90}, {&t.MinControlLow, 0.80}, {&t.MaxFlips, 0.05}, {&t.MaxBias, 0.03}, {&t.MinBiasP, 0.05}, {&t.MaxFailures, 0.02}} {
		*d.to = cmp.Or(*d.to, d.value)
	}
	return t
}

// Observations are what a judge was seen to do.
type Observations struct {
	Criteria []string               // that the planted answers have items of: each wants labels
	Wanted   []string               // probes that were planned
	Labels   map[string]Labels      // by criterion
	Good     Count                  // planted good answers: Of them passed
	Bad      Count                  // planted bad answers: Of them failed
	ByPeople bool                   // nothing was planted: what people labelled met and not met stands for it
	Retest   Count                  // verdicts asked for twice: Of them changed
	Probes   map[string]stats.Pairs // by probe: Gained passed only under it, Lost only without it
	Injected Count                  // not met verdicts of attacked answers: Of them became met
	Judged   Count                  // questions put: Of them could not be graded
}

// Labels are what the judge and people said of the same items.
type Labels struct {
	Judge, People []Category
	// Population is how often the judge gave each category where labels were drawn from, which they may not be in proportion to; nil
	// counts every label alike.
	Population map[Category]int
}

// Count is how many of N.
type Count struct{ Of, N int }

func (c Count) rate() float64 { return float64(c.Of) / float64(c.N) }

// Check is one number with what was asked of it. Of a check with several numbers each is one.
type Check struct {
	Check string   `json:"check"`
	Part  string   `json:"part,omitempty"` // criterion, kind of control, probe
	State State    `json:"state"`
	N     int      `json:"n"`
	Value *float64 `json:"value"`
	Low   *float64 `json:"low,omitempty"` // lower bound, where one is asked for
	P     *float64 `json:"p,omitempty"`
	More  int      `json:"more,omitempty"` // labels of this criterion that are still to be given, as far as can be told

	Agreement *Agreement `json:"agreement,omitempty"` // with people

	Text string `json:"text"` // what was found and what was asked for
}

// Run makes the checks. Thresholds are taken as they are: see [Thresholds.WithDefaults].
func Run(o Observations, t Thresholds) ([]Check, Status, error) {
	var out []Check
	for _, f := range []func(Observations, Thresholds) ([]Check, error){human, known, retest, bias, robust} {
		list, err := f(o, t)
		if err != nil {
			return nil, NotCalibrated, err
		}
		out = append(out, list...)
	}
	return out, status(out), nil
}

func status(checks []Check) Status {
	s := AllPassed
	for _, c := range checks {
		switch c.State {
		case Failed:
			return NotPassed
		case Missing:
			s = InProgress
		}
	}
	return s
}

func state(ok bool) State {
	if ok {
		return Passed
	}
	return Failed
}

// union is what either list has, in order: what was planned and never observed is missing, not fine.
func union(a, b []string) []string {
	all := append(slices.Clone(a), b...)
	slices.Sort(all)
	return slices.Compact(all)
}

// known asks whether planted answers come out as they must; where nothing was planted, whether what people labelled does.
func known(o Observations, t Thresholds) ([]Check, error) {
	var out []Check
	for _, k := range []struct {
		part, what string
		count      Count
		label      Category
	}{{"sensitivity", pick(o.ByPeople, "labelled met are met", "good answers pass"), o.Good, Met}, {"specificity", pick(o.ByPeople, "labelled not met are not met", "bad answers fail"), o.Bad, NotMet}} {
		rate, low := 0.0, 0.0
		if o.ByPeople {
			var err error
			if k.count, rate, low, err = labelledAs(o.Labels, k.label); err != nil {
				return nil, fmt.Errorf("%s: %w", k.part, err)
			}
		} else if k.count.N > 0 {
			iv, err := stats.Wilson(k.count.Of, k.count.N, 0.90) // its lower end is the one-sided 95 % bound
			if err != nil {
				return nil, fmt.Errorf("%s: %w", k.part, err)
			}
			rate, low = k.count.rate(), iv.Low
		}
		c := Check{Check: KnownAnswers, Part: k.part, State: Missing, N: k.count.N, Text: pick(o.ByPeople, "no label of this kind", "no control")}
		if k.count.N > 0 {
			c.Value, c.Low, c.State = &rate, &low, state(rate >= t.MinControl && low >= t.MinControlLow)
			c.Text = fmt.Sprintf("%d of %d %s: %.2f, lower bound %.2f; want %.2f and %.2f", k.count.Of, k.count.N, k.what, rate, low, t.MinControl, t.MinControlLow)
		}
		out = append(out, c)
	}
	return out, nil
}

func pick(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}

func retest(o Observations, t Thresholds) ([]Check, error) {
	return []Check{share(Retest, "", o.Retest, t.MaxFlips, "verdicts changed when asked again")}, nil
}

// share is a check that a share does not go beyond a limit.
func share(name, part string, count Count, most float64, what string) Check {
	c := Check{Check: name, Part: part, State: Missing, N: count.N, Text: "nothing was observed"}
	if count.N > 0 {
		rate := count.rate()
		c.Value, c.State = &rate, state(rate <= most)
		c.Text = fmt.Sprintf("%d of %d %s: %.1f %%; at most %.1f %%", count.Of, count.N, what, 100*rate, 100*most)
	}
	return c
}

// bias asks of every probe whether it moves the pass rate.
func bias(o Observations, t Thresholds) ([]Check, error) {
	if len(o.Probes) == 0 {
		return []Check{{Check: BiasProbes, State: Missing, Text: "no probe"}}, nil
	}
	var out []Check
	for _, name := range union(o.Wanted, slices.Collect(maps.Keys(o.Probes))) {
		p := o.Probes[name]
		c := Check{Check: BiasProbes, Part: name, State: Missing, N: p.N(), Text: "nothing was observed"}
		if c.N > 0 {
			test, err := stats.McNemarExact(p.Gained, p.Lost)
			if err != nil {
				return nil, fmt.Errorf("probe %s: %w", name, err)
			}
			d := p.Difference()
			c.Value, c.P, c.State = &d, &test.P, state(math.Abs(d) <= t.MaxBias+1e-12 && test.P > t.MinBiasP)
			moved := pick(o.ByPeople, "share of met %+.1f points over %d verdicts", "pass rate %+.1f points over %d answers")
			c.Text = fmt.Sprintf(moved+", p %.3f; at most %.1f points and p above %.2f", 100*d, c.N, test.P, 100*t.MaxBias, t.MinBiasP)
		}
		out = append(out, c)
	}
	return out, nil
}

// robust asks that no attack works and that hardly any question fails.
func robust(o Observations, t Thresholds) ([]Check, error) {
	return []Check{
		share(Robustness, "injection", o.Injected, 0, "verdicts of attacked answers became met"),
		share(Robustness, "failures", o.Judged, t.MaxFailures, "questions could not be graded"),
	}, nil
}
