package session

import (
	"slices"
	"testing"
	"time"
)

func TestCost(t *testing.T) {
	day := func(s string) time.Time {
		d, err := time.Parse(time.DateOnly, s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	prices := []Price{{Model: "m", Since: "2026-01-01", Input: 1, CacheRead: 0.1, CacheWrite: 2, Output: 10}, {Model: "m", Since: "2026-06-01", Input: 2, CacheRead: 0.2, CacheWrite: 4, Output: 20},
		{Model: "m", Since: "2999-01-01", Input: 1000}, {Model: "m2", Input: 1}}
	n := func(v int64) *int64 { return &v }
	for _, c := range []struct {
		name  string
		model string
		at    time.Time
		read  *int64
		want  *int64
	}{
		{"the price of its time", "m", day("2026-03-01"), nil, n(100*1 + 10*10)},
		{"a later price", "m", day("2026-11-30"), nil, n(100*2 + 10*20)},
		{"cached input", "m", day("2026-11-30"), n(50), n(50*2 + 10 + 10*20)},
		{"before any price", "m", day("2025-01-01"), nil, nil},
		{"a model that only begins alike", "m-large", day("2026-11-30"), nil, nil},
		{"more cached than there is", "m", day("2026-11-30"), n(500), nil},
		{"no time", "m", time.Unix(0, 0), nil, nil},
	} {
		got := priced(prices, c.model, c.at.UnixNano(), n(100), c.read, nil, n(10))
		if (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("%s: %s, want %s", c.name, number(got), number(c.want))
		}
	}
	if priced(prices, "m", day("2026-11-30").UnixNano(), n(1), nil, nil, nil) != nil {
		t.Error("a call of unknown output has a price")
	}

	build := func(costs [2]any, total any, prices []Price) Built {
		m := newRows(t)
		root := m.span("invoke_agent a", "", map[string]any{"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a", "gen_ai.usage.cost": total}).SpanID
		for _, c := range costs {
			m.span("chat", root, map[string]any{"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 10, "gen_ai.usage.cost": c})
		}
		return m.buildWith(Options{Prices: prices})
	}
	for _, c := range []struct {
		name   string
		costs  [2]any
		total  any
		prices []Price
		want   *int64
		warned bool
	}{
		{"told by every call", [2]any{0.5, 0.25}, 9.0, prices, n(750_000), false},
		{"told by none, and no price", [2]any{nil, nil}, nil, nil, nil, false},
		{"told by one: a part is no cost", [2]any{0.5, nil}, nil, nil, nil, true},
		{"told by the agent's span only", [2]any{nil, nil}, 0.125, nil, n(125_000), false},
		{"by the table", [2]any{nil, nil}, nil, prices, n(2 * (100*2 + 10*20)), false},
		{"one told, the other by the table", [2]any{0.5, nil}, nil, prices, n(500_000 + 100*2 + 10*20), false},
	} {
		b := build(c.costs, c.total, c.prices)
		if got := b.Session.CostUSD; (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("%s: %s, want %s", c.name, number(got), number(c.want))
		}
		if got := slices.Contains(b.Session.Warnings, "model_calls_without_cost:1"); got != c.warned {
			t.Errorf("%s: warnings %q", c.name, b.Session.Warnings)
		}
	}
}
