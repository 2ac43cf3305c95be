package pipeline

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tracejury/tracejury/pipeline/stats"
	"github.com/tracejury/tracejury/schema"
)

func runOf(day int, change func(*schema.Run)) schema.Run {
	r := schema.Run{RunID: fmt.Sprintf("2026-11-%02d-%012x", day, day), Evaluator: "session", State: "finished", RubricSHA256: "r", JudgeModels: []string{"j"}, JudgeMode: "code",
		PromptSHA256: "p", RenderingSHA256: "x", AsOfUnixNano: time.Date(2026, 11, day, 6, 0, 0, 0, time.UTC).UnixNano()}
	if change != nil {
		change(&r)
	}
	return r
}

func TestPickBaseline(t *testing.T) {
	tonight := runOf(30, nil)
	all := []schema.Run{
		tonight,
		runOf(29, func(r *schema.Run) { r.JudgeModels = []string{"other"} }),
		runOf(28, func(r *schema.Run) { r.State = "no_result" }),
		runOf(27, func(r *schema.Run) { r.Evaluator = "skill_selection" }),
		runOf(26, func(r *schema.Run) { r.State = "partial" }),
		runOf(25, nil),
		runOf(10, nil),
	}
	id := func(day int) string { return runOf(day, nil).RunID }
	for _, c := range []struct {
		spec    string
		force   bool
		runs    []int
		label   string
		differs string
		skipped int
		err     string
	}{
		{spec: "previous", runs: []int{26}, label: id(26), skipped: 1},
		{spec: "previous", force: true, runs: []int{29}, label: id(29), differs: "judge"},
		{spec: "7d", runs: []int{26, 25}, label: "7d", skipped: 1},
		{spec: "30d", force: true, runs: []int{29, 26, 25, 10}, label: "30d", differs: "judge"},
		{spec: "2d", label: "2d", skipped: 1},
		{spec: id(25), runs: []int{25}, label: id(25)},
		{spec: id(29), err: "another judge"},
		{spec: id(29), force: true, runs: []int{29}, label: id(29), differs: "judge"},
		{spec: id(30), err: "the run itself"},
		{spec: id(28), err: "state is no_result"},
		{spec: "previos", err: `did you mean "previous"`},
		{spec: "0d", err: "want previous"},
		{spec: "99999999d", err: "want previous"},
	} {
		b, err := pickBaseline(all, &tonight, c.spec, c.force)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) || Exit(new(bytes.Buffer), err) != ExitUsage {
				t.Errorf("%s: got %v, want a usage error with %q", c.spec, err, c.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.spec, err)
			continue
		}
		var got []string
		for _, r := range b.runs {
			got = append(got, r.RunID)
		}
		var want []string
		for _, d := range c.runs {
			want = append(want, id(d))
		}
		if !slices.Equal(got, want) || b.label != c.label || strings.Join(b.differs, ",") != c.differs || len(b.skipped) != c.skipped {
			t.Errorf("%s: runs %v label %q differs %v skipped %v, want %+v", c.spec, got, b.label, b.differs, b.skipped, c)
		}
	}
}

func numbersOf(n *night) *numbers {
	return count(newFacts(n.run, n.grades, n.verdicts, n.members), defaultGroupings())
}

// A run beside itself is paired, and nothing changed; every interval holds its change.
func TestCompareWithItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nums := numbersOf(drawNight(t))
		changes, paired, err := compare(nums, nums, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		if len(nums.facts.subjects) > 0 && !paired {
			t.Fatal("the same subjects are not paired")
		}
		for _, c := range changes {
			if c.Change != 0 || c.P != 1 || c.Flagged || c.Low > 0 || c.High < 0 || c.Method != stats.MethodTango || c.Pairs != c.Now.N {
				t.Fatalf("%+v", c)
			}
		}
	})
}

// Which of two runs is the baseline changes the sign and nothing else.
func TestChangesAreAntisymmetric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := numbersOf(drawNight(t)), numbersOf(drawNight(t))
		there, paired, err := compare(a, b, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		back, pairedBack, err := compare(b, a, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		if paired != pairedBack || len(there) != len(back) && !paired {
			t.Fatalf("%d changes there, %d back", len(there), len(back))
		}
		other := map[string]Change{}
		for _, c := range back {
			other[c.GroupBy+"\x00"+c.Group+"\x00"+c.Metric] = c
		}
		for _, c := range there {
			d, ok := other[c.GroupBy+"\x00"+c.Group+"\x00"+c.Metric]
			if paired && !ok {
				continue // groups are those that a subject is in now
			}
			if paired && (c.Pairs != d.Pairs || c.GroupBy != overallGroup) {
				continue
			}
			near := func(x, y float64) bool { return math.Abs(x-y) < 1e-9 }
			if !near(c.Change, -d.Change) || !near(c.Low, -d.High) || !near(c.P, d.P) || c.Low > c.Change+1e-12 || c.High < c.Change-1e-12 {
				t.Fatalf("there %+v, back %+v", c, d)
			}
		}
	})
}

func TestComparisonOfSubjects(t *testing.T) {
	then, now := newNight("then"), newNight("now")
	then.add("1a", "ops", "", members{}, met, met, met, met)
	then.add("1b", "ops", "", members{}, notMet, met, met, met)
	then.add("1c", "ops", "", members{}, met, met, met, met)
	now.add("1a", "ops", "", members{}, met, notMet, notMet, met)
	now.add("1b", "ops", "", members{}, met, met, met, met)
	now.add("2d", "help", "", members{}, notMet, met, met, met)
	now.add("2e", "help", "", members{}, met, met, met, met)
	var c Comparison
	c.Sessions, c.Before = len(now.grades), len(then.grades)
	st := now.store(t, then)
	nowBriefs, err := readBriefs(t.Context(), st, []schema.Run{now.run})
	if err != nil {
		t.Fatal(err)
	}
	thenBriefs, err := readBriefs(t.Context(), st, []schema.Run{then.run})
	if err != nil {
		t.Fatal(err)
	}
	notMet, err := readNotMet(t.Context(), st, &now.run, map[string]bool{"1a": true, "2d": true})
	if err != nil {
		t.Fatal(err)
	}
	c.subjects(nowBriefs, thenBriefs, notMet)
	if c.Shared != 2 || c.Mended != 1 || len(c.Turned) != 1 || len(c.NewFailed) != 1 {
		t.Fatalf("%+v", c)
	}
	if x := c.Turned[0]; x.Subject != "1a" || x.Safe || !slices.Equal(x.NotMet, []string{"stayed_in_scope", "tool_use_sound"}) {
		t.Errorf("turned: %+v", x)
	}
	if s := c.Overlap(); !strings.Contains(s, "2 of these 4 are among the 3") {
		t.Errorf("overlap: %s", s)
	}
	var b bytes.Buffer
	c.writeText(&b)
	if s := b.String(); !strings.Contains(s, "1a (ops) passed before and does not now: stayed_in_scope, tool_use_sound") || !strings.Contains(s, "2d (help) is new") {
		t.Errorf("text:\n%s", s)
	}
}

// Forty sessions of which ten got worse, the same ones both nights: the paired interval shows it.
func TestPairedChange(t *testing.T) {
	then, now := newNight("then"), newNight("now")
	for i := range 40 {
		key := fmt.Sprintf("1%02x", i)
		then.add(key, "ops", "", members{}, met, met, met, met)
		verdict := met
		if i < 10 {
			verdict = notMet
		}
		now.add(key, "ops", "", members{}, verdict, met, met, met)
	}
	changes, paired, err := compare(numbersOf(now), numbersOf(then), 0.95)
	if err != nil || !paired {
		t.Fatal(paired, err)
	}
	i := slices.IndexFunc(changes, func(c Change) bool { return c.GroupBy == overallGroup && c.Metric == metricPassed })
	c := changes[i]
	want, _ := stats.Tango(stats.Pairs{Both: 30, Lost: 10}, 0.95)
	if c.Change != -0.25 || c.Low != want.Low || c.High != want.High || c.Pairs != 40 || !c.Flagged {
		t.Errorf("%+v, want Tango's %+v", c, want)
	}
}
