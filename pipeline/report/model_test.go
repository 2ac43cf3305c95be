package report

import (
	"fmt"
	"testing"
	"time"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/pipeline/stats"
	"github.com/tracejury/tracejury/schema"
)

// asOf is the only date of the invented runs.
var asOf = time.Date(2026, 11, 30, 2, 30, 0, 0, time.UTC)

// plan says what one invented session looks like: verdicts as one letter per criterion, m n a u x.
type plan struct{ service, agent, harness, verdicts string }

func testRubric(tb testing.TB) judge.Rubric {
	tb.Helper()
	r, err := judge.Builtin("session")
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// modelOf grades invented sessions the way the jobs do, so that counts and rates of a test model agree with each other.
func modelOf(tb testing.TB, plans []plan, eligible int) *Model {
	tb.Helper()
	m := &Model{Data: "s3://lake/tracejury", AsOf: asOf, Rubric: testRubric(tb)}
	letters := map[byte]judge.Verdict{'m': judge.Met, 'n': judge.NotMet, 'a': judge.NotApplicable, 'u': judge.Unclear, 'x': judge.Ungraded}
	for i, p := range plans {
		key := fmt.Sprintf("%032x", 0x5eed0000+i*7919)
		start := asOf.Add(-time.Duration(26+i*5) * time.Hour).UnixNano()
		s := Session{
			Grade: schema.Grade{Subject: key, SessionKey: key, Service: p.service, Agent: p.agent, Harness: p.harness, State: "graded"},
			Row: schema.Session{
				SessionKey: key, SessionID: fmt.Sprintf("7c9e6679-7425-40de-944b-%012x", i), Service: p.service, Agent: p.agent, Harness: p.harness,
				HarnessVersion: "2.1.4", StartedUnixNano: start, NTurns: int32(1 + i%4), NToolCalls: int32(3 * (i % 7)), NToolErrors: int32(i % 3 / 2),
			},
		}
		pass, safe, applied, decided := true, true, false, false
		for j := range m.Rubric.Criteria {
			c := &m.Rubric.Criteria[j]
			v := letters[p.verdicts[j]]
			row := schema.Verdict{Criterion: c.ID, Verdict: string(v), Safety: c.Safety, Vote: "final", Service: p.service}
			switch v {
			case judge.NotMet:
				pass, applied, decided = false, true, true
				safe = safe && !c.Safety
				row.EvidenceSteps = []int32{int32(2 + i), int32(4 + i)}
			case judge.Met:
				applied, decided = true, true
			case judge.Unclear:
				applied = true
			case judge.Ungraded:
				s.Grade.State, s.Grade.UngradedReason, row.UngradedReason = "ungraded", "context_overflow", "context_overflow"
			}
			s.Verdicts = append(s.Verdicts, row)
		}
		m.Run.Sampled++
		if s.Grade.State == "ungraded" {
			m.Run.Ungraded++
		} else {
			m.Run.Graded++
			s.Grade.Undecided = !decided
			s.Grade.Safe = &safe
			if applied {
				s.Grade.Pass = &pass
			}
		}
		m.Sessions = append(m.Sessions, s)
	}
	m.Run = schema.Run{
		RunID: "2026-11-30-0f1e2d3c4b5a", Evaluator: "session", Kind: "session", State: "finished", AsOfUnixNano: asOf.UnixNano(),
		WindowFrom: "2026-11-24", WindowTo: "2026-11-30", Seed: "2026-11-30", Eligible: int32(eligible), Sampled: m.Run.Sampled,
		Graded: m.Run.Graded, Ungraded: m.Run.Ungraded, Repeat: 1, JudgeModels: []string{"eu.example.judge-large-v2"}, JudgeMode: "tool",
		Rubric: "session", RubricSHA256: hash("a1"), PromptVersion: "v0", PromptSHA256: hash("b2"), SchemaSHA256: hash("c3"),
		RenderingSHA256: hash("d4"), MaskVersion: "3", SampleSHA256: hash("e5"), Calibration: "not_calibrated", SchemaVersion: 1,
	}
	if t := m.Run.Ungraded; float64(t) > 0.1*float64(m.Run.Sampled) {
		m.Run.State = "no_result"
	}
	m.Aggregates = aggregatesOf(tb, m)
	return m
}

func hash(two string) string {
	s := ""
	for range 32 {
		s += two
	}
	return s
}

// aggregatesOf counts what the sessions say. It is the test's own arithmetic: the package has none.
func aggregatesOf(tb testing.TB, m *Model) []schema.Aggregate {
	tb.Helper()
	services := []string{""}
	seen := map[string]bool{}
	for _, s := range m.Sessions {
		if !seen[s.Grade.Service] {
			seen[s.Grade.Service] = true
			services = append(services, s.Grade.Service)
		}
	}
	var out []schema.Aggregate
	for i, service := range services {
		all := i == 0
		by, group := byService, service
		if all {
			by, group = byOverall, ""
		}
		passed := schema.Aggregate{GroupBy: by, Group: group, Metric: metricPassed}
		safe := schema.Aggregate{GroupBy: by, Group: group, Metric: metricSafe}
		met := make([]schema.Aggregate, len(m.Rubric.Criteria))
		for j, c := range m.Rubric.Criteria {
			met[j] = schema.Aggregate{GroupBy: byCriterionService, Group: c.ID + "/" + service, Criterion: c.ID, Metric: metricMet}
			if all {
				met[j].GroupBy, met[j].Group = byCriterion, c.ID
			}
		}
		for _, s := range m.Sessions {
			if !all && s.Grade.Service != service {
				continue
			}
			count(&passed, s.Grade.Pass, &s.Grade)
			count(&safe, s.Grade.Safe, &s.Grade)
			for j, v := range s.Verdicts {
				switch judge.Verdict(v.Verdict) {
				case judge.Met:
					met[j].Met++
				case judge.NotMet:
					met[j].NotMet++
				case judge.NotApplicable:
					met[j].NotApplicable++
				case judge.Unclear:
					met[j].Unclear++
				case judge.Ungraded:
					met[j].Ungraded++
				}
			}
		}
		for _, a := range append([]schema.Aggregate{passed, safe}, met...) {
			out = append(out, rated(tb, a, m.Run.State == "no_result")...)
		}
	}
	return out
}

func count(a *schema.Aggregate, b *bool, g *schema.Grade) {
	switch {
	case g.State == "ungraded":
		a.Ungraded++
	case b == nil:
		a.NotApplicable++
	case *b:
		a.Met++
	default:
		a.NotMet++
	}
	if g.Undecided {
		a.Undecided++
	}
}

// rated gives a row its interval and the rows beside it.
func rated(tb testing.TB, a schema.Aggregate, noResult bool) []schema.Aggregate {
	tb.Helper()
	a.RunID, a.Evaluator, a.Level, a.N, a.NoResult = "2026-11-30-0f1e2d3c4b5a", "session", 0.95, a.Met+a.NotMet, noResult
	if a.N == 0 {
		a.Method, a.Primary = stats.MethodWilson, true
		return []schema.Aggregate{a}
	}
	set := func(iv stats.Interval, err error) schema.Aggregate {
		if err != nil {
			tb.Fatal(err)
		}
		b, rate := a, float64(a.Met)/float64(a.N)
		b.Estimate, b.Low, b.High, b.Method, b.FallbackFrom, b.Reason = &rate, &iv.Low, &iv.High, iv.Method, iv.FallbackFrom, iv.Reason
		return b
	}
	k, n := int(a.Met), int(a.N)
	primary := set(stats.Wilson(k, n, 0.95))
	primary.Primary = true
	worst, best := float64(a.Met)/float64(a.N+a.Unclear), float64(a.Met+a.Unclear)/float64(a.N+a.Unclear)
	primary.Worst, primary.Best = &worst, &best
	boot := set(stats.BootstrapProportion(k, n, 0.95))
	var out []schema.Aggregate
	if boot.Method == stats.MethodWilson {
		primary.FallbackFrom, primary.Reason = boot.FallbackFrom, boot.Reason
		out = append(out, primary)
	} else {
		out = append(out, primary, boot)
	}
	if a.Metric == metricSafe {
		out = append(out, set(stats.ClopperPearson(k, n, 0.95)))
	}
	return out
}

// small is the model of the golden files: three services, five verdicts, one session that is gone.
func small(tb testing.TB) *Model {
	tb.Helper()
	m := modelOf(tb, []plan{
		{"billing-agent", "refunds", "openai_agents", "mmmmam"},
		{"billing-agent", "refunds", "openai_agents", "mmmmam"},
		{"billing-agent", "refunds", "openai_agents", "mnmmam"},
		{"billing-agent", "refunds", "openai_agents", "mmmaam"},
		{"billing-agent", "disputes", "openai_agents", "mmmmmm"},
		{"billing-agent", "disputes", "openai_agents", "nummam"},
		{"infra-ops", "oncall", "claude_code", "mmmmmm"},
		{"infra-ops", "oncall", "claude_code", "mmnnam"},
		{"infra-ops", "oncall", "claude_code", "mmmmnm"},
		{"infra-ops", "oncall", "claude_code", "mmmmam"},
		{"infra-ops", "planner", "codex", "xxxxxx"},
		{"infra-ops", "planner", "codex", "mmmmam"},
		{"infra-ops", "planner", "codex", "mmmmam"},
		{"support-desk", "triage", "strands", "mmmaam"},
		{"support-desk", "triage", "strands", "mummam"},
		{"support-desk", "triage", "strands", "ummaau"},
		{"support-desk", "triage", "strands", "mmmmam"},
		{"support-desk", "triage", "strands", "uuaaaa"},
		{"support-desk", "triage", "strands", "mmmmam"},
		{"support-desk", "triage", "strands", "mmmmam"},
	}, 57)
	m.Sessions[3].Row = schema.Session{}
	m.Commit = &Ingest{
		Objects: 412, Records: 1_204_377, Written: 1_190_220, Duplicates: 14_101, Filtered: 40, Quarantined: 16,
		Masked: map[string]int64{"email": 1204, "aws_access_key": 3, "jwt": 41},
	}
	change, low, high, detectable := 0.0526, -0.182, 0.287, 0.31
	m.Aggregates[0].Change, m.Aggregates[0].ChangeLow, m.Aggregates[0].ChangeHigh = &change, &low, &high
	m.Aggregates[0].DetectableChange, m.Aggregates[0].BaselineRun = &detectable, "2026-11-29-aa11bb22cc33"
	return m
}
