package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/judge/judgetest"
)

// bench is a lake that is read once; each test of a judge gets a copy.
func bench(t *testing.T) func(t *testing.T) *world {
	base := newWorld(t)
	base.ingest()
	return func(t *testing.T) *world {
		w := newWorld(t)
		copyLake(t, base.data, w.data)
		return w
	}
}

// TestBadJudge: whatever a judge does wrong has a name, nothing of it becomes a verdict, and over 10 % of it is no result.
func TestBadJudge(t *testing.T) {
	next := bench(t)
	for _, c := range []struct {
		name   string
		opts   judgetest.Options
		reason string
		calls  int  // for one session
		outage bool // the service's fault: the run stays open
	}{
		{"prose", judgetest.Options{Faults: judgetest.Faults{Malformed: 1}}, "schema_error", 2, false},
		{"another schema", judgetest.Options{Faults: judgetest.Faults{WrongSchema: 1}}, "schema_error", 2, false},
		{"cut off", judgetest.Options{Faults: judgetest.Faults{Truncated: 1}}, "truncated", 1, false},
		{"refused", judgetest.Options{Faults: judgetest.Faults{Refused: 1}}, "judge_refused", 1, false},
		{"throttled", judgetest.Options{Faults: judgetest.Faults{Throttle: 1}}, "throttled", 2, true},
		{"down", judgetest.Options{Faults: judgetest.Faults{Unavailable: 1}}, "transient", 2, true},
		{"connection cut", judgetest.Options{Faults: judgetest.Faults{Reset: 1}}, "transient", 2, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := next(t)
			server := w.withBedrock(c.opts)
			w.configure("evaluate: {max_attempts: 2}")
			code, state := exitNoResult, "no_result"
			if c.outage {
				code, state = exitService, "partial"
			}
			ev := w.evaluate([]int{code}, "--sample", "6")
			if ev.State != state || ev.Graded != 0 || ev.Ungraded != 6 || ev.NotAttempted != 0 || server.Calls() != 6*c.calls {
				t.Errorf("%+v, %d calls", ev, server.Calls())
			}
			l := openLake(t, w.data)
			l.check()
			l.none("verdicts of a judge that gave none", "SELECT subject, criterion, verdict, ungraded_reason FROM verdicts WHERE verdict <> 'ungraded' OR ungraded_reason <> ?", c.reason)
			l.none("grades of a judge that gave none", "FROM grades WHERE state <> 'ungraded' OR pass IS NOT NULL OR safe IS NOT NULL OR score IS NOT NULL OR grade IS NOT NULL OR ungraded_reason <> ?", c.reason)
			l.none("a run that says more", "FROM runs WHERE state <> ? OR ungraded <> 6", state)
			l.none("calls without their class", "SELECT request_sha256, attempt, error_class FROM calls WHERE error_class IS DISTINCT FROM ? AND error_class IS NOT NULL", c.reason)
			if got := l.value("SELECT count(*) FROM calls"); got != fmt.Sprint(6*c.calls) {
				t.Errorf("%s calls in the table, want %d", got, 6*c.calls)
			}
			calls := server.Calls()
			if again := w.evaluate([]int{code}, "--sample", "6"); again.Already == c.outage || (server.Calls() != calls) != c.outage {
				t.Errorf("asked again: %+v", again)
			}
			w.run([]int{code}, "aggregate", "--report", "report.html")
			refused := code
			if c.outage {
				refused = exitPartial
			}
			w.run([]int{refused}, "export", "--to", "jsonl", "--out", "exports")
			if exists(filepath.Join(w.dir, "exports")) {
				t.Error("no result, yet something was exported")
			}
			w.run(nil, "export", "--to", "jsonl", "--out", "exports", "--allow-partial")
		})
	}
}

// configure writes tracejury.yaml, which the commands find by themselves.
func (w *world) configure(yaml string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, "tracejury.yaml"), []byte(yaml+"\n"), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// TestUngradedLimit: exactly 10 % ungraded is a result, one more is none.
func TestUngradedLimit(t *testing.T) {
	next := bench(t)
	for bad, code := range map[int]int{3: exitOK, 4: exitNoResult} {
		w := next(t)
		w.withBedrock(judgetest.Options{Script: failFirst(bad, judgetest.Answer{Text: "I would rather not say."})})
		ev := w.evaluate([]int{code}, "--sample", "30", "--concurrency", "1")
		if ev.Ungraded != bad || ev.Sampled != 30 || ev.State != map[int]string{exitOK: "finished", exitNoResult: "no_result"}[code] {
			t.Errorf("%d of 30: %+v", bad, ev)
		}
		w.run([]int{code}, "aggregate")
		l := openLake(t, w.data)
		l.checkAggregates()
		if got := l.value(`SELECT no_result FROM aggregates WHERE group_by = 'overall' AND metric = 'passed' AND "primary"`); got != fmt.Sprint(code == exitNoResult) {
			t.Errorf("%d of 30: no_result is %s", bad, got)
		}
	}
}

// TestAccessDenied: an error that no call can survive ends the run at once, by name.
func TestAccessDenied(t *testing.T) {
	w := bench(t)(t)
	server := w.withBedrock(judgetest.Options{Script: func(judgetest.Call) judgetest.Answer {
		return judgetest.Answer{Status: 403, Code: "AccessDeniedException"}
	}})
	o := w.start("evaluate", "--sample", "50").wait()
	if o.code != exitService || !strings.Contains(o.errorLine(), "access_denied") || !strings.Contains(o.stderr, "hint: ") {
		t.Errorf("exit %d: %s", o.code, o.stderr)
	}
	if n := server.Calls(); n > 16 {
		t.Errorf("%d calls after the first was denied", n)
	}
	w.run([]int{exitService}, "aggregate")
}

// TestBudget: a budget ends a run with what it could pay for, and the next command goes on from there to the same tables.
func TestBudget(t *testing.T) {
	next := bench(t)
	w, plain := next(t), next(t)
	server := w.withBedrock(judgetest.Options{Script: leakyJudge})
	plain.judge, plain.env = w.judge, w.env
	want := plain.evaluate(nil)
	before := server.Calls()

	part := w.evaluate([]int{exitPartial}, "--budget-calls", "10")
	if part.State != "partial" || part.Calls != 10 || server.Calls()-before != 10 || part.RunID != want.RunID || part.Graded > 10 || part.NotAttempted != part.Sampled-part.Graded {
		t.Errorf("%+v, %d calls", part, server.Calls()-before)
	}
	l := openLake(t, w.data)
	l.check()
	l.none("verdicts beyond the longest complete prefix", "SELECT count(DISTINCT subject) AS n FROM verdicts HAVING n <> ?", part.Graded)
	w.run([]int{exitPartial}, "aggregate")
	w.run([]int{exitPartial}, "export", "--to", "jsonl", "--out", "exports")

	// The same again: no more may be spent than was, and then without a limit.
	if again := w.evaluate([]int{exitPartial}, "--budget-calls", "10"); again.Calls > 10 {
		t.Errorf("%+v", again)
	}
	end := w.evaluate(nil)
	if end.State != "finished" || end.Graded != want.Graded || server.Calls()-before != want.Calls {
		t.Errorf("%+v, %d calls of %d", end, server.Calls()-before, want.Calls)
	}
	w.run(nil, "aggregate")
	plain.run(nil, "aggregate")
	same(t, "stopped by a budget and not", hashes(t, plain.data), hashes(t, w.data), byteIdentical...)

	// A price makes money a budget too; without a price --budget-usd cannot stop anything, and that is said.
	dear := next(t)
	dear.judge, dear.env = w.judge, w.env
	dear.configure("evaluate: {prices: [{model: \"eu.anthropic.claude-haiku-4-5-20251001-v1:0\", since: 2026-01-01, input: 1, output: 5}]}")
	o := dear.evaluate([]int{exitPartial}, "--budget-usd", "0.05")
	if o.State != "partial" || o.Calls == 0 || o.Calls >= want.Calls {
		t.Errorf("%+v", o)
	}
	d := openLake(t, dear.data)
	if spent := number(t, d.value("SELECT sum(cost_usd)::DOUBLE FROM calls")); spent <= 0 || spent > 0.05 {
		t.Errorf("%v dollars were spent of 0.05", spent)
	}
}
