package pipeline

import (
	"testing"

	"github.com/tracejury/tracejury/judge"
)

func TestVote(t *testing.T) {
	one := func(verdicts ...judge.Verdict) []ballot {
		var out []ballot
		for i, v := range verdicts {
			a := judge.Answer{Criterion: "c", Verdict: v}
			if v == judge.Ungraded {
				a.Reason = "timeout"
			}
			out = append(out, ballot{seat: i, answers: []judge.Answer{a}})
		}
		return out
	}
	const m, n, na, u, un = judge.Met, judge.NotMet, judge.NotApplicable, judge.Unclear, judge.Ungraded
	for _, c := range []struct {
		votes     []judge.Verdict
		unanimous bool
		want      judge.Verdict
		reason    string
	}{
		{[]judge.Verdict{m}, false, m, ""},
		{[]judge.Verdict{m, m, n}, false, m, ""},
		{[]judge.Verdict{m, m, n}, true, n, ""},
		{[]judge.Verdict{m, n}, false, u, ""},
		{[]judge.Verdict{m, n, na}, false, u, ""},
		{[]judge.Verdict{m, m, n, na, u}, false, u, ""}, // the most, but no majority
		{[]judge.Verdict{m, un, m}, false, m, ""},
		{[]judge.Verdict{n, un}, false, n, ""},
		{[]judge.Verdict{un, un}, true, un, "timeout"},
		{[]judge.Verdict{na, na, n}, false, na, ""},
	} {
		got := vote(one(c.votes...), map[string]bool{"c": true}, c.unanimous)
		if len(got) != 1 || got[0].Verdict != c.want || got[0].Reason != c.reason {
			t.Errorf("%v, unanimous %v: got %+v, want %s %s", c.votes, c.unanimous, got, c.want, c.reason)
		}
	}
	var scored []ballot
	for _, s := range []float64{1, 0.25, 0.75} {
		scored = append(scored, ballot{answers: []judge.Answer{{Criterion: "c", Verdict: judge.Scored, Score: &s}}})
	}
	if got := vote(scored, nil, false); *got[0].Score != 0.75 {
		t.Errorf("median of the scores is %v", *got[0].Score)
	}
}
