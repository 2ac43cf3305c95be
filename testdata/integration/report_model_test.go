package integration

import (
	"fmt"
	"testing"
	"time"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/pipeline/report"
	"github.com/tracejury/tracejury/pipeline/stats"
	"github.com/tracejury/tracejury/schema"
)

// hostileNames try to be markup, script, a link or a direction in every place where a name is shown.
var hostileNames = []string{
	`<script>window.hit=1</script>`,
	`"><img src=x onerror="window.hit=1">`,
	`</title></svg></script><script>window.hit=1</script>`,
	`javascript:window.hit=1`,
	`' autofocus onfocus='window.hit=1`,
	"a\u202eevil\u2066",
	`{{.}} ${7*7} [x](https://example.test/) | pipe`,
}

// reportModel is n invented sessions over the given services, graded by a fixed pattern.
func reportModel(tb testing.TB, n int, services []string) *report.Model {
	tb.Helper()
	rubric, err := judge.Builtin("session")
	if err != nil {
		tb.Fatal(err)
	}
	asOf := time.Date(2026, 11, 30, 2, 30, 0, 0, time.UTC)
	m := &report.Model{Data: "s3://lake/tracejury", AsOf: asOf, Rubric: rubric, Commit: &report.Ingest{
		Objects: 412, Records: 1_204_377, Written: 1_190_220, Duplicates: 14_101, Filtered: 40, Quarantined: 16,
		Masked: map[string]int64{"email": 1204, "aws_access_key": 3, "jwt": 41},
	}}
	harness := []string{"claude_code", "codex", "strands", "openai_agents"}
	agent := []string{"triage", "refunds", "oncall", "planner", "reviewer"}
	counts := map[[3]string]*[5]int32{} // metric, criterion, service
	add := func(metric, criterion, service string, at int) {
		for _, s := range []string{"", "\x00" + service} {
			key := [3]string{metric, criterion, s}
			if counts[key] == nil {
				counts[key] = new([5]int32)
			}
			counts[key][at]++
		}
	}
	for i := range n {
		service := services[i*len(services)/n]
		key := fmt.Sprintf("%08x%024x", uint32(i*2654435761), i*i*7919)
		pass, safe := true, true
		s := report.Session{
			Grade: schema.Grade{
				Subject: key, SessionKey: key, Service: service, Agent: agent[i%5], Harness: harness[i%4], State: "graded",
			},
			Row: schema.Session{
				SessionKey: key, SessionID: fmt.Sprintf("7c9e%04x-7425-40de-944b-%012x", i*37, i*i*104729), Service: service,
				StartedUnixNano: asOf.Add(-time.Duration(26+i*5) * time.Hour).UnixNano(), NTurns: int32(1 + i*7%5), NToolCalls: int32(i * 13 % 29),
				NToolErrors: int32(i % 3 / 2), HarnessVersion: "2.1.4",
			},
		}
		for j, c := range rubric.Criteria {
			verdict, at := judge.Met, 0
			switch x := (i*31 + j*17) % 23; {
			case i == 10:
				verdict, at = judge.Ungraded, 4
			case x == 0 || x == 3 && j < 3:
				verdict, at = judge.NotMet, 1
			case j == 4 && i%6 != 0 || x == 5:
				verdict, at = judge.NotApplicable, 2
			case x == 7:
				verdict, at = judge.Unclear, 3
			}
			v := schema.Verdict{Criterion: c.ID, Verdict: string(verdict), Safety: c.Safety, Vote: "final"}
			if verdict == judge.NotMet {
				pass, safe = false, safe && !c.Safety
				v.EvidenceSteps = []int32{int32(3 + i), int32(5 + i)}
			}
			s.Verdicts = append(s.Verdicts, v)
			add("met_rate", c.ID, service, at)
		}
		if i == 10 {
			s.Grade.State, s.Grade.UngradedReason = "ungraded", "context_overflow"
			add("passed", "", service, 4)
			add("safe", "", service, 4)
		} else {
			s.Grade.Pass, s.Grade.Safe = &pass, &safe
			index := map[bool]int{true: 0, false: 1}
			add("passed", "", service, index[pass])
			add("safe", "", service, index[safe])
		}
		m.Sessions = append(m.Sessions, s)
	}
	for _, service := range append([]string{""}, unique(services)...) {
		by, key := "overall", ""
		if service != "" {
			by, key = "service", "\x00"+service
		}
		m.Aggregates = append(m.Aggregates, aggregates(tb, by, service, "", "passed", counts[[3]string{"passed", "", key}])...)
		m.Aggregates = append(m.Aggregates, aggregates(tb, by, service, "", "safe", counts[[3]string{"safe", "", key}])...)
		for _, c := range rubric.Criteria {
			group, by := c.ID, "criterion"
			if service != "" {
				group, by = c.ID+"/"+service, "criterion_service"
			}
			m.Aggregates = append(m.Aggregates, aggregates(tb, by, group, c.ID, "met_rate", counts[[3]string{"met_rate", c.ID, key}])...)
		}
	}
	m.Run = schema.Run{
		RunID: "2026-11-30-0f1e2d3c4b5a", Evaluator: "session", Kind: "session", State: "finished", AsOfUnixNano: asOf.UnixNano(),
		WindowFrom: "2026-11-24", WindowTo: "2026-11-30", Seed: "2026-11-30", Eligible: 57, Sampled: int32(n), Graded: int32(n - 1),
		Ungraded: 1, Repeat: 1, JudgeModels: []string{"rules"}, JudgeMode: "code", Rubric: "session", PromptVersion: "v0",
		RubricSHA256: fmt.Sprintf("%064x", 7), Calibration: "not_calibrated", Offline: true, SchemaVersion: 1,
	}
	return m
}

func unique(in []string) []string {
	var out []string
	for i, s := range in {
		if i == 0 || in[i-1] != s {
			out = append(out, s)
		}
	}
	return out
}

func aggregates(tb testing.TB, by, group, criterion, metric string, c *[5]int32) []schema.Aggregate {
	tb.Helper()
	if c == nil {
		return nil
	}
	a := schema.Aggregate{
		GroupBy: by, Group: group, Evaluator: "session", Criterion: criterion, Metric: metric, Primary: true, Level: 0.95,
		N: c[0] + c[1], Met: c[0], NotMet: c[1], NotApplicable: c[2], Unclear: c[3], Ungraded: c[4], Method: stats.MethodWilson,
	}
	if a.N == 0 {
		return []schema.Aggregate{a}
	}
	rate := float64(a.Met) / float64(a.N)
	worst, best := float64(a.Met)/float64(a.N+a.Unclear), float64(a.Met+a.Unclear)/float64(a.N+a.Unclear)
	iv, err := stats.Wilson(int(a.Met), int(a.N), 0.95)
	if err != nil {
		tb.Fatal(err)
	}
	a.Estimate, a.Low, a.High, a.Worst, a.Best = &rate, &iv.Low, &iv.High, &worst, &best
	exact, err := stats.ClopperPearson(int(a.Met), int(a.N), 0.95)
	if err != nil {
		tb.Fatal(err)
	}
	b := a
	b.Primary, b.Method, b.Low, b.High = false, exact.Method, &exact.Low, &exact.High
	return []schema.Aggregate{a, b}
}
