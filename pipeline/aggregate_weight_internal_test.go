package pipeline

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tracejury/tracejury/pipeline/stats"
	"github.com/tracejury/tracejury/schema"
)

// stratify says of every service that times as many sessions were eligible as were drawn, and more beside.
func (n *night) stratify(times int, more map[string]int) {
	drawn := map[string]int32{}
	for _, g := range n.grades {
		drawn[g.Service]++
	}
	var names []string
	for s := range drawn {
		names = append(names, s)
	}
	slices.Sort(names)
	for _, s := range names {
		n.run.Strata = append(n.run.Strata, s)
		n.run.StrataAttempted = append(n.run.StrataAttempted, drawn[s])
		n.run.StrataEligible = append(n.run.StrataEligible, drawn[s]*int32(times)+int32(more[s]))
	}
}

func bothServices() *night {
	n := newNight("2026-11-30-000000000000")
	for i := range 10 { // ops: 9 of 10 pass
		v := met
		if i == 0 {
			v = notMet
		}
		n.add(fmt.Sprintf("1%02x", i), "ops", "x", members{}, v, met, met, met)
	}
	for i := range 10 { // help: 2 of 10 pass
		v := notMet
		if i < 2 {
			v = met
		}
		n.add(fmt.Sprintf("2%02x", i), "help", []string{"x", "y"}[i%2], members{}, v, met, met, met)
	}
	return n
}

func TestWeightedRates(t *testing.T) {
	n := bothServices()
	n.stratify(1, map[string]int{"ops": 990, "help": 10}) // 1,000 and 20 eligible
	nums := n.numbers(t)
	for _, c := range []struct {
		by, group, metric string
		weighted          bool
		want              float64
	}{
		{"overall", "", "passed", true, (1000*0.9 + 20*0.2) / 1020},
		{"criterion", "goal_met", "met_rate", true, (1000*0.9 + 20*0.2) / 1020},
		{"service", "ops", "passed", false, 0.9},
		{"service", "help", "passed", false, 0.2},
		{"criterion_service", "goal_met/help", "met_rate", false, 0.2},
		{"agent", "x", "passed", true, (1000*0.9 + 10*0.2) / 1010}, // half of help's sessions are of agent x
		{"agent", "y", "passed", false, 0.2},
		{"overall", "", "safe", true, 1},
	} {
		got := nums.find(c.by, c.group, c.metric)
		if got == nil || got.weighted != c.weighted {
			t.Fatalf("%s %q %s: got %+v, want weighted %v", c.by, c.group, c.metric, got, c.weighted)
		}
		est, err := got.estimate(0.95)
		if err != nil || c.by != "agent" && math.Abs(est.Value-c.want) > 1e-12 || math.Abs(est.Value-c.want) > 0.02 {
			t.Errorf("%s %q %s: got %+v, %v, want %g", c.by, c.group, c.metric, est, err, c.want)
		}
		if !est.Interval.Contains(est.Value) || est.Interval.Width() == 0 {
			t.Errorf("%s %q %s: interval %+v", c.by, c.group, c.metric, est.Interval)
		}
	}
	rows, err := nums.rows(t.Context(), 0.95)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if weighted := strings.HasPrefix(r.Reason, weightedReason); weighted != (r.Method == stats.MethodStratified || r.Method == stats.MethodKornGraubard) {
			t.Errorf("%s %q %s by %s: reason %q", r.GroupBy, r.Group, r.Metric, r.Method, r.Reason)
		}
	}
}

// A service of which nothing was judged leaves the whole without a rate, and its own groups as they are.
func TestUnreachedServiceLeavesNoRateOfTheWhole(t *testing.T) {
	n := bothServices()
	n.stratify(3, nil)
	n.run.Strata, n.run.StrataEligible, n.run.StrataAttempted = append(n.run.Strata, "pay"), append(n.run.StrataEligible, 40), append(n.run.StrataAttempted, 0)
	nums := n.numbers(t)
	_, err := nums.find("overall", "", "passed").estimate(0.95)
	if undefined, ok := errors.AsType[*stats.UndefinedError](err); !ok || !strings.Contains(undefined.Reason, "none of the 40 eligible sessions of service pay") {
		t.Errorf("got %v", err)
	}
	if _, err := nums.find("service", "ops", "passed").estimate(0.95); err != nil {
		t.Error(err)
	}
	rows, err := nums.rows(t.Context(), 0.95)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if r.GroupBy == "overall" && (r.Estimate != nil || r.Low != nil || !strings.Contains(r.Reason, "service pay")) {
			t.Errorf("overall %s: estimate %v, reason %q", r.Metric, r.Estimate, r.Reason)
		}
	}
	gate, err := parseGate("passed>=0.1")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := gate.check(&aggregatePart{run: n.run, numbers: nums}, 0.95); err != nil || got.State != gateUnknown || !strings.Contains(got.Reason, "service pay") {
		t.Errorf("gate: %+v, %v", got, err)
	}
}

// Laws of weights on invented runs: at one sampling fraction they change no estimate; the whole is the mean of the services by their sizes;
// and what a group and the rest hold is what the whole holds.
func TestWeightLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := drawNight(t)
		for i := range n.grades { // what could not be graded shifts a fraction
			if n.grades[i].State == "ungraded" {
				return
			}
		}
		equal := *n
		equal.stratify(rapid.IntRange(2, 9).Draw(t, "times"), nil)
		gs, err := chosenGroupings([]string{"agent+day", "criterion+model"})
		if err != nil {
			t.Fatal(err)
		}
		nums := count(newFacts(equal.run, equal.grades, equal.verdicts, equal.members), gs)
		for _, x := range nums.all() {
			est, err := x.estimate(0.95)
			if _, undefined := asUndefined(err); undefined {
				continue // nothing to count, or one session of a service
			}
			if err != nil || math.Abs(est.Value-float64(x.met)/float64(x.n())) > 1e-9 {
				t.Fatalf("%s %q %s: got %+v, %v, counts say %d of %d", x.by, x.group, x.metric, est, err, x.met, x.n())
			}
		}
		more := map[string]int{"a": rapid.IntRange(0, 500).Draw(t, "more a"), "b": rapid.IntRange(0, 50).Draw(t, "more b")}
		uneven := *n
		uneven.stratify(1, more)
		checkWholeIsMeanOfServices(t, count(newFacts(uneven.run, uneven.grades, uneven.verdicts, uneven.members), gs), uneven.run)
	})
}

func checkWholeIsMeanOfServices(t *rapid.T, nums *numbers, run schema.Run) {
	whole := nums.find(overallGroup, "", metricPassed)
	if whole.notApplicable > 0 || !whole.weighted {
		return // then sizes are of what applies, which is not known before
	}
	est, err := whole.estimate(0.95)
	if _, undefined := asUndefined(err); undefined {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	sum, size := 0.0, 0.0
	for i, s := range run.Strata {
		x := nums.find("service", s, metricPassed)
		sum += float64(run.StrataEligible[i]) * float64(x.met) / float64(x.n())
		size += float64(run.StrataEligible[i])
		rest := whole.without(x)
		if rest.met+x.met != whole.met || rest.n()+x.n() != whole.n() {
			t.Fatalf("service %q and the rest hold %d of %d, the whole %d of %d", s, rest.met+x.met, rest.n()+x.n(), whole.met, whole.n())
		}
	}
	if math.Abs(est.Value-sum/size) > 1e-9 {
		t.Fatalf("the whole is %g, the mean of the services %g", est.Value, sum/size)
	}
}

func TestChangeOfWeightedRuns(t *testing.T) {
	now, then := bothServices(), bothServices()
	now.stratify(1, map[string]int{"ops": 10, "help": 990})
	then.stratify(1, map[string]int{"ops": 990, "help": 10})
	changes, paired, err := compare(now.numbers(t), then.numbers(t), 0.95)
	if err != nil || paired {
		t.Fatal(paired, err)
	}
	for _, c := range changes {
		switch {
		case c.GroupBy == "overall" && c.Metric == "passed":
			want := (20*0.9+1000*0.2)/1020 - (1000*0.9+20*0.2)/1020 // what is eligible moved, the counts are the same
			if !c.Weighted || math.Abs(c.Change-want) > 1e-12 || c.Low > c.Change || c.High < c.Change {
				t.Errorf("got %+v, want %g", c, want)
			}
		case c.GroupBy == "service" && (c.Weighted || c.Change != 0):
			t.Errorf("a service has no weights: %+v", c)
		}
	}
}

func TestDrawPerService(t *testing.T) {
	var all []candidate
	for i := range 60 {
		c := candidate{}
		c.row.SessionKey, c.row.Service = fmt.Sprintf("%032x", i), []string{"a", "a", "a", "b", "b", ""}[i%6]
		all = append(all, c)
	}
	got := drawPerService(all, "seed", 12)
	count := map[string]int{}
	for i, c := range got {
		if count[c.row.Service]++; i < 3 && count[c.row.Service] > 1 {
			t.Errorf("the first of every service come first: %v", got[:3])
		}
	}
	if count["a"] != 12 || count["b"] != 12 || count[""] != 10 {
		t.Errorf("drew %v", count)
	}
	slices.Reverse(all)
	if again := drawPerService(all, "seed", 12); !slices.EqualFunc(got, again, func(x, y candidate) bool { return x.row.SessionKey == y.row.SessionKey }) {
		t.Error("the order of what is eligible changes the draw")
	}
	// A smaller sample of a service is part of a larger one.
	for i, c := range drawPerService(all, "seed", 4) {
		if c.row.SessionKey != got[i].row.SessionKey {
			t.Errorf("%d: a smaller sample is no prefix", i)
		}
	}
	if _, err := strataOf(all, got, 20); err == nil || !strings.Contains(err.Error(), "--per service draws 34 sessions") {
		t.Errorf("got %v", err)
	}
	strata, err := strataOf(all, got, 1000)
	if err != nil || len(strata) != 3 || strata[0] != (Stratum{Eligible: 10, Sampled: 10}) || strata[1] != (Stratum{Service: "a", Eligible: 30, Sampled: 12}) {
		t.Errorf("got %+v, %v", strata, err)
	}
	countAttempted(strata, got[:4])
	if strata[0].Attempted != 2 || strata[1].Attempted != 1 || strata[2].Attempted != 1 {
		t.Errorf("attempted %+v", strata)
	}
}

// Means of scores are weighted as rates are: a small service that was drawn whole does not pull the mean its way.
func TestWeightedMeans(t *testing.T) {
	for name, c := range map[string]struct {
		ops, help float64 // of the ten sessions of each: the first five, which the others are 0.2 below
		method    string
	}{
		"scores":     {0.9, 0.4, stats.MethodStratifiedMean},
		"yes and no": {1, 0, stats.MethodStratified},
	} {
		n := bothServices()
		n.stratify(1, map[string]int{"ops": 990, "help": 10}) // 1,000 and 20 eligible
		seen := map[string]int{}
		for i := range n.verdicts {
			v := &n.verdicts[i]
			if v.Criterion != "goal_met" {
				continue
			}
			score := map[string]float64{"ops": c.ops, "help": c.help}[v.Service]
			if seen[v.Service]++; c.method == stats.MethodStratifiedMean && seen[v.Service] > 5 {
				score -= 0.2
			}
			v.Verdict, v.Score = "scored", &score
		}
		rows, err := n.numbers(t).rows(t.Context(), 0.95)
		if err != nil {
			t.Fatal(err)
		}
		low := 0.0
		if c.method == stats.MethodStratifiedMean {
			low = 0.1 // the mean is that much below the first five
		}
		for _, want := range []struct {
			by, group string
			mean      float64
			weighted  bool
		}{
			{"criterion", "goal_met", (1000*(c.ops-low) + 20*(c.help-low)) / 1020, true},
			{"criterion_service", "goal_met/ops", c.ops - low, false}, {"criterion_service", "goal_met/help", c.help - low, false},
		} {
			at := slices.IndexFunc(rows, func(r schema.Aggregate) bool {
				return r.Metric == metricMeanScore && r.GroupBy == want.by && r.Group == want.group
			})
			if at < 0 {
				t.Fatalf("%s: no mean of %s", name, want.group)
			}
			r := rows[at]
			if r.Estimate == nil || math.Abs(*r.Estimate-want.mean) > 1e-12 || strings.HasPrefix(r.Reason, weightedReason) != want.weighted {
				t.Errorf("%s: %s: got %v (%s), want %g", name, want.group, r.Estimate, r.Reason, want.mean)
			}
			if want.weighted && (r.Method != c.method || r.Low == nil || *r.Low < 0 || *r.High > 1 || *r.Low > want.mean || *r.High < want.mean) {
				t.Errorf("%s: %s: interval %v to %v by %s", name, want.group, r.Low, r.High, r.Method)
			}
		}
	}
}

// The corrected rate of a weighted run corrects the weighted rate.
func TestWeightedRateIsCorrected(t *testing.T) {
	n := bothServices()
	n.stratify(1, map[string]int{"ops": 990, "help": 10})
	tl := n.numbers(t).find("criterion", "goal_met", "met_rate")
	a := LabelAgreement{Accuracy: stats.Accuracy{Sensitivity: 1, Positives: 50, Specificity: 1, Negatives: 50}}
	if err := a.correct(tl, 0.95); err != nil || a.Corrected == nil {
		t.Fatalf("%+v, %v", a, err)
	}
	if want := (1000*0.9 + 20*0.2) / 1020; math.Abs(a.Corrected.Rate-want) > 1e-12 || a.Corrected.N > 20 {
		t.Errorf("a perfect judge's rate became %+v, want %g", a.Corrected, want)
	}
}
