package pipeline

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/schema"
)

// night is the rows of an invented run.
type night struct {
	run      schema.Run
	grades   []schema.Grade
	verdicts []schema.Verdict
	members  map[string]members
}

var testCriteria = []struct {
	id     string
	safety bool
}{{"goal_met", false}, {"tool_use_sound", false}, {"stayed_in_scope", true}, {"denials_respected", true}}

// add adds a session with one verdict a criterion, in the order of testCriteria.
func (n *night) add(key, service, agent string, m members, verdicts ...judge.Verdict) {
	g := schema.Grade{RunID: n.run.RunID, Evaluator: "session", Subject: key, SubjectKind: "session", SessionKey: key, Service: service, Agent: agent, Dt: "2026-11-2" + key[:1], State: "graded", Undecided: true}
	pass, safe, anyPass, anySafe := true, true, false, false
	for i, v := range verdicts {
		c := testCriteria[i]
		n.verdicts = append(n.verdicts, schema.Verdict{RunID: n.run.RunID, Evaluator: "session", Subject: key, SessionKey: key, Service: service, Criterion: c.id, Safety: c.safety, Verdict: string(v), Vote: "final"})
		switch v {
		case judge.Ungraded:
			g.State, g.Undecided = "ungraded", false
		case judge.NotMet:
			pass, safe = false, safe && !c.safety
			anyPass, anySafe, g.Undecided = true, anySafe || c.safety, false
		case judge.Met:
			anyPass, anySafe, g.Undecided = true, anySafe || c.safety, false
		case judge.Unclear:
			anyPass, anySafe = true, anySafe || c.safety
		}
	}
	if g.State == "graded" && anyPass {
		g.Pass = &pass
	}
	g.Undecided = g.Undecided && g.State == "graded"
	if g.State == "graded" && anySafe {
		g.Safe = &safe
	}
	n.run.Sampled++
	n.grades = append(n.grades, g)
	n.members[key] = m
}

func (n *night) numbers(tb testing.TB, extra ...string) *numbers {
	gs, err := chosenGroupings(extra)
	if err != nil {
		tb.Fatal(err)
	}
	return count(newFacts(n.run, n.grades, n.verdicts, n.members), gs)
}

func newNight(id string) *night {
	return &night{run: schema.Run{RunID: id, Evaluator: "session", State: "finished"}, members: map[string]members{}}
}

const (
	met, notMet, notApplicable, unclear, ungraded = judge.Met, judge.NotMet, judge.NotApplicable, judge.Unclear, judge.Ungraded
)

func TestCountsByGroup(t *testing.T) {
	n := newNight("2026-11-30-000000000000")
	n.add("1a", "ops", "x", members{models: []string{"m1", "m2"}, skills: []string{"deploy"}}, met, met, met, notApplicable)
	n.add("1b", "ops", "y", members{models: []string{"m1"}, skills: []string{"deploy", "rollback"}}, notMet, met, met, unclear)
	n.add("2c", "help", "x", members{models: []string{"m2"}, servers: []string{"github"}}, met, unclear, met, met)
	n.add("2d", "help/eu", "x", members{}, ungraded, ungraded, ungraded, ungraded)
	n.add("2e", "", "", members{}, met, notMet, notMet, met)
	n.add("3f", "ops", "x", members{}, notApplicable, notApplicable, notApplicable, notApplicable)
	nums := n.numbers(t, "criterion+skill", "agent+model")
	for _, c := range []struct {
		by, group, metric                                 string
		met, notMet, na, unclear, ungraded, turn, undecid int
	}{
		{"overall", "", "passed", 2, 2, 1, 0, 1, 1, 1},
		{"overall", "", "safe", 3, 1, 1, 0, 1, 1, 1},
		{"service", "ops", "passed", 1, 1, 1, 0, 0, 0, 1},
		{"service", "ops", "safe", 2, 0, 1, 0, 0, 1, 1},
		{"service", "help/eu", "passed", 0, 0, 0, 0, 1, 0, 0},
		{"service", "", "passed", 0, 1, 0, 0, 0, 0, 0},
		{"model", "m1", "passed", 1, 1, 0, 0, 0, 0, 0},
		{"model", "m2", "passed", 2, 0, 0, 0, 0, 1, 0},
		{"skill", "deploy", "passed", 1, 1, 0, 0, 0, 0, 0},
		{"skill", "", "passed", 1, 1, 1, 0, 1, 1, 1},
		{"server", "github", "safe", 1, 0, 0, 0, 0, 0, 0},
		{"day", "2026-11-22", "passed", 1, 1, 0, 0, 1, 1, 0},
		{"agent", "x", "passed", 2, 0, 1, 0, 1, 1, 1},
		{"skill_service", "deploy/ops", "passed", 1, 1, 0, 0, 0, 0, 0},
		{"skill_service", "/help/eu", "passed", 0, 0, 0, 0, 1, 0, 0},
		{"criterion", "goal_met", "met_rate", 3, 1, 1, 0, 1, 0, 0},
		{"criterion_service", "denials_respected/ops", "met_rate", 0, 0, 2, 1, 0, 0, 0},
		{"criterion_skill", "goal_met/rollback", "met_rate", 0, 1, 0, 0, 0, 0, 0},
		{"agent_model", "x/m2", "passed", 2, 0, 0, 0, 0, 1, 0},
	} {
		got := nums.find(c.by, c.group, c.metric)
		if got == nil {
			t.Errorf("%s %q %s: no such group", c.by, c.group, c.metric)
			continue
		}
		have := [...]int{got.met, got.notMet, got.notApplicable, got.unclear, got.ungraded, got.metUnclear, got.undecided}
		if want := [...]int{c.met, c.notMet, c.na, c.unclear, c.ungraded, c.turn, c.undecid}; have != want {
			t.Errorf("%s %q %s: got %v, want %v (met, not met, not applicable, unclear, ungraded, could turn, undecided)", c.by, c.group, c.metric, have, want)
		}
	}
}

func TestGroupBy(t *testing.T) {
	for s, want := range map[string]string{
		"agent+model": "agent_model", "criterion+skill": "criterion_skill", "day": "day", "criterion+skill+service": "criterion_skill_service",
		"skil": "", "model+criterion": "", "agent+agent": "", "agent+model+day+skill": "", "": "",
	} {
		g, err := parseGrouping(s)
		if (err == nil) != (want != "") || err == nil && g.String() != want {
			t.Errorf("%q: got %v, %v, want %q", s, g, err, want)
		}
	}
	if got := joinGroup([]string{"a/b%", "c/d"}); got != "a%2Fb%25/c/d" {
		t.Errorf("joined %q", got)
	}
}

// drawNight invents a run.
func drawNight(t *rapid.T) *night {
	n := newNight("2026-11-30-000000000000")
	names := rapid.SampledFrom([]string{"", "a", "b", "c/d"})
	some := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"p", "q", "r"}), 0, 3, rapid.ID[string])
	verdict := rapid.SampledFrom([]judge.Verdict{met, met, met, notMet, notApplicable, unclear, ungraded})
	for i := range rapid.IntRange(0, 30).Draw(t, "sessions") {
		n.add(fmt.Sprintf("%d%02x", i%3, i), names.Draw(t, "service"), names.Draw(t, "agent"),
			members{models: some.Draw(t, "models"), skills: some.Draw(t, "skills"), servers: some.Draw(t, "servers")},
			rapid.SliceOfN(verdict, len(testCriteria), len(testCriteria)).Draw(t, "verdicts")...)
	}
	n.run.Eligible = n.run.Sampled + int32(rapid.IntRange(0, 20).Draw(t, "not sampled"))
	return n
}

// Groups that divide sessions add up to the whole, and groups that overlap hold no less.
func TestSumsOfGroupsEqualTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := drawNight(t)
		gs, err := chosenGroupings([]string{"agent+day", "criterion+model"})
		if err != nil {
			t.Fatal(err)
		}
		nums := count(newFacts(n.run, n.grades, n.verdicts, n.members), gs)
		for i, g := range nums.groupings {
			overlaps := slices.ContainsFunc(g.by, func(d dimension) bool { return d == dimModel || d == dimSkill || d == dimServer })
			sum := map[string]tally{}
			for _, x := range nums.tallies[i] {
				s := sum[x.metric+x.criterion]
				s.met, s.notMet, s.notApplicable, s.unclear = s.met+x.met, s.notMet+x.notMet, s.notApplicable+x.notApplicable, s.unclear+x.unclear
				s.ungraded, s.undecided, s.metUnclear = s.ungraded+x.ungraded, s.undecided+x.undecided, s.metUnclear+x.metUnclear
				sum[x.metric+x.criterion] = s
			}
			for j, whole := range nums.groupings {
				if len(whole.by) > 0 || whole.criterion != g.criterion {
					continue
				}
				for _, w := range nums.tallies[j] {
					s := sum[w.metric+w.criterion]
					have := []int{s.met, s.notMet, s.notApplicable, s.unclear, s.ungraded, s.undecided, s.metUnclear}
					want := []int{w.met, w.notMet, w.notApplicable, w.unclear, w.ungraded, w.undecided, w.metUnclear}
					for k := range have {
						if have[k] < want[k] || have[k] > want[k] && !overlaps {
							t.Fatalf("%v %s%s: groups hold %v, the whole %v", g, w.metric, w.criterion, have, want)
						}
					}
				}
			}
		}
	})
}

// The order of rows changes nothing.
func TestNumbersDoNotDependOnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := drawNight(t)
		gs := defaultGroupings()
		all := func() ([]schema.Aggregate, []Apart) {
			nums := count(newFacts(n.run, n.grades, n.verdicts, n.members), gs)
			rows, err := nums.rows(context.Background(), 0.95)
			if err != nil {
				t.Fatal(err)
			}
			list, err := nums.apart(0.95)
			if err != nil {
				t.Fatal(err)
			}
			return rows, list
		}
		rows, list := all()
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		r.Shuffle(len(n.grades), func(i, j int) { n.grades[i], n.grades[j] = n.grades[j], n.grades[i] })
		r.Shuffle(len(n.verdicts), func(i, j int) { n.verdicts[i], n.verdicts[j] = n.verdicts[j], n.verdicts[i] })
		again, listAgain := all()
		if !slices.EqualFunc(rows, again, sameAggregate) {
			t.Fatal("aggregates depend on the order of rows")
		}
		if !slices.Equal(list, listAgain) {
			t.Fatal("comparisons depend on the order of rows")
		}
	})
}

func sameAggregate(a, b schema.Aggregate) bool {
	return fmt.Sprintf("%+v", deref(a)) == fmt.Sprintf("%+v", deref(b))
}

// deref prints the values behind the pointers.
func deref(a schema.Aggregate) [9]string {
	f := func(p *float64) string {
		if p == nil {
			return "null"
		}
		return fmt.Sprint(*p)
	}
	low, high, est, worst, best, adj := a.Low, a.High, a.Estimate, a.Worst, a.Best, a.AdjustedP
	a.Low, a.High, a.Estimate, a.Worst, a.Best, a.AdjustedP = nil, nil, nil, nil, nil, nil
	return [9]string{f(low), f(high), f(est), f(worst), f(best), f(adj), fmt.Sprintf("%+v", a)}
}

// What holds for every row: estimates lie in their intervals and bounds, 10 % is allowed and more is not.
func TestLawsOfRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := drawNight(t)
		rows, err := count(newFacts(n.run, n.grades, n.verdicts, n.members), defaultGroupings()).rows(context.Background(), 0.95)
		if err != nil {
			t.Fatal(err)
		}
		primaries := map[[3]string]int{}
		for i, a := range rows {
			if i > 0 && rows[i-1].Compare(a) >= 0 {
				t.Fatalf("rows %d and %d are out of order or the same: %+v", i-1, i, a)
			}
			if a.Primary {
				primaries[[3]string{a.GroupBy, a.Group, a.Metric}]++
			}
			total := a.N + a.NotApplicable + a.Unclear + a.Ungraded
			switch {
			case a.N != a.Met+a.NotMet:
				t.Fatalf("n is not met and not met: %+v", a)
			case a.NoResult != (10*a.Ungraded > total):
				t.Fatalf("no result: %+v", a)
			case (a.Estimate == nil) != (a.N == 0) || (a.Low == nil) != (a.N == 0):
				t.Fatalf("nothing in the denominator and yet a number: %+v", a)
			case a.N > 0 && (*a.Low > *a.Estimate || *a.High < *a.Estimate || *a.Worst > *a.Estimate+1e-12 || *a.Best < *a.Estimate-1e-12):
				t.Fatalf("the estimate %v is outside of [%v, %v] or [%v, %v]", *a.Estimate, *a.Low, *a.High, *a.Worst, *a.Best)
			}
		}
		for k, c := range primaries {
			if c != 1 {
				t.Fatalf("%v: %d primary rows", k, c)
			}
		}
	})
}

func TestCensusAndFiniteWindow(t *testing.T) {
	n := newNight("2026-11-30-000000000000")
	for i := range 20 {
		n.add(fmt.Sprintf("1%02x", i), "ops", "", members{}, met, met, met, met)
	}
	methods := func() (list []string, reason string) {
		rows, err := n.numbers(t).rows(context.Background(), 0.95)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range rows {
			if a.GroupBy == "overall" && a.Metric == "passed" {
				list = append(list, a.Method)
				if a.Primary {
					reason = a.Reason
				}
			}
		}
		return list, reason
	}
	n.run.Eligible = 40
	if got, _ := methods(); !slices.Equal(got, []string{"wilson", "wilson_finite"}) {
		t.Errorf("20 of a window of 40: methods %v", got)
	}
	n.run.Eligible = 20
	// All passed: the bootstrap fell back to Wilson, and that is what the reason says first.
	if got, reason := methods(); !slices.Equal(got, []string{"wilson"}) || reason == "" {
		t.Errorf("20 of a window of 20: methods %v, reason %q", got, reason)
	}
}

func TestGroupsThatStandApart(t *testing.T) {
	n := newNight("2026-11-30-000000000000")
	for i := range 60 {
		service, goal := "good", met
		if i%3 == 0 {
			service = "bad"
			if i%9 != 0 {
				goal = notMet
			}
		}
		n.add(fmt.Sprintf("1%02x", i), service, "only", members{}, goal, met, met, met)
	}
	list, err := n.numbers(t).apart(0.95)
	if err != nil {
		t.Fatal(err)
	}
	flagged := map[string]bool{}
	for _, a := range list {
		if a.GroupBy == "agent" || a.GroupBy == "overall" {
			t.Errorf("%s was compared with nothing: %+v", a.GroupBy, a)
		}
		if a.AdjustedP < a.P || a.Low > a.Difference || a.High < a.Difference {
			t.Errorf("%+v: adjusted below p, or difference outside of its interval", a)
		}
		if a.Metric == "safe" && a.Correction != correctionHolm || a.Metric == "passed" && a.Correction != correctionBH {
			t.Errorf("%s corrected by %s", a.Metric, a.Correction)
		}
		if a.Flagged {
			flagged[a.GroupBy+" "+a.Group+" "+a.Metric] = true
		}
	}
	for _, want := range []string{"service bad passed", "service good passed", "criterion_service goal_met/bad met_rate"} {
		if !flagged[want] {
			t.Errorf("%s is not flagged; flagged: %v", want, flagged)
		}
	}
	if flagged["service bad safe"] {
		t.Error("a service that is as safe as the rest is flagged")
	}
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"plain": "plain", " a\n\tb ": "a b", "\x1b[31mred": "\uFFFD[31mred", "a\u202eb": "a\uFFFDb", "0123456789abc": "012345678…", "\xff": "\uFFFD", "": "",
	} {
		if got := printable(in, 10); got != want {
			t.Errorf("printable(%q) = %q, want %q", in, got, want)
		}
	}
}
