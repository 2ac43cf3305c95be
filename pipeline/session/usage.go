package session

import (
	"cmp"
	"slices"

	"github.com/tracejury/tracejury/pipeline/convention"
	"github.com/tracejury/tracejury/schema"
)

// sameCallWindow is how far apart two tellings of one model call may be.
const sameCallWindow = int64(50e6)

// maxSameTime bounds the tellings that are compared where very many share one time.
const maxSameTime = 256

// modelCall is one call of a model, told once or more.
type modelCall struct {
	tellings []*usage
}

// usage is one telling; tellings of one call form a tree by their parent.
type usage struct {
	it     *item
	u      *convention.Usage
	rank   int
	parent *usage
}

// root is the first telling of the call.
func (u *usage) root() *usage {
	for u.parent != nil {
		if u.parent.parent != nil {
			u.parent = u.parent.parent
		}
		u = u.parent
	}
	return u
}

// join makes two tellings one call; the earlier one leads it.
func join(x, y *usage) {
	x, y = x.root(), y.root()
	switch {
	case x.rank < y.rank:
		y.parent = x
	case y.rank < x.rank:
		x.parent = y
	}
}

// modelCalls groups tellings of usage into calls: one response id, a call within a call, or two instrumentations that saw the
// same model, tokens and time. Sums that agents and workflows repeat are left out.
func (b *builder) modelCalls() (calls []modelCall, totals []*usage) {
	var list []*usage
	for i := range b.rd.items {
		it := &b.rd.items[i]
		if u, ok := it.event.(*convention.Usage); ok {
			if u.Total {
				totals = append(totals, &usage{it: it, u: u})
			} else {
				list = append(list, &usage{it: it, u: u, rank: len(list)})
			}
		}
	}
	below := b.usageBelow(list)
	var leaves []*usage
	for _, u := range list {
		if n := below[u]; len(n) > 1 {
			totals = append(totals, u) // a model span over several calls repeats their sum
			continue
		}
		leaves = append(leaves, u)
	}
	byResponse := map[string]*usage{}
	for _, u := range leaves {
		if id := u.u.ResponseID; id != "" {
			if known := byResponse[id]; known != nil {
				join(known, u)
			} else {
				byResponse[id] = u
			}
		}
		for _, inner := range below[u] {
			join(u, inner)
		}
	}
	joinNear(leaves, func(u *usage) int64 { return u.it.row.StartedUnixNano })
	joinNear(leaves, func(u *usage) int64 { return u.u.At })
	index := map[*usage]int{}
	for _, u := range leaves {
		k, ok := index[u.root()]
		if !ok {
			k = len(calls)
			index[u.root()] = k
			calls = append(calls, modelCall{})
		}
		calls[k].tellings = append(calls[k].tellings, u)
	}
	return calls, totals
}

// joinNear joins tellings of one call by two instrumentations, whose times lie close together.
func joinNear(list []*usage, at func(*usage) int64) {
	byTime := slices.Clone(list)
	slices.SortStableFunc(byTime, func(x, y *usage) int { return cmp.Compare(at(x), at(y)) })
	for i, x := range byTime {
		if at(x) == 0 {
			continue
		}
		for _, y := range byTime[i+1 : min(len(byTime), i+1+maxSameTime)] {
			if at(y)-at(x) > sameCallWindow {
				break
			}
			if x.root() != y.root() && sameCall(x, y) {
				join(x, y)
			}
		}
	}
}

// usageBelow lists, for every telling, those of spans right below it, without further tellings between.
func (b *builder) usageBelow(list []*usage) map[*usage][]*usage {
	bySpan := map[spanID]*usage{}
	for _, u := range list {
		if u.it.row.Signal != "log" && u.it.row.SpanID != "" {
			bySpan[u.it.span()] = u
		}
	}
	below := map[*usage][]*usage{}
	for _, u := range list {
		if u.it.row.Signal == "log" {
			continue
		}
		b.rd.up(u.it.span(), func(s spanID) bool {
			if above := bySpan[s]; above != nil && above != u {
				below[above] = append(below[above], u)
				return false
			}
			return true
		})
	}
	return below
}

// sameCall says whether two instrumentations, whose times agree, tell of one call.
func sameCall(x, y *usage) bool {
	if x.it.scope == y.it.scope && x.it.row.Signal == y.it.row.Signal && x.it.witness == y.it.witness {
		return false // one instrumentation tells once
	}
	if x.u.ResponseID != "" && y.u.ResponseID != "" {
		return x.u.ResponseID == y.u.ResponseID
	}
	if x.u.Model != y.u.Model || x.u.OutputTokens == nil || y.u.OutputTokens == nil {
		return false
	}
	if ox, oy := *x.u.OutputTokens, *y.u.OutputTokens; ox != oy && ox-x.u.ThoughtTokens != oy && ox != oy-y.u.ThoughtTokens {
		return false
	}
	return x.u.InputTokens != nil && y.u.InputTokens != nil && *x.u.InputTokens == *y.u.InputTokens
}

// count fills in model calls, tokens, cost and models.
func (b *builder) count(s *schema.Session) {
	calls, totals := b.modelCalls()
	s.NModelCalls = int32(len(calls))
	models := map[string]bool{}
	var partial bool
	unpriced := 0
	for _, c := range calls {
		var in, read, write, out, cost *int64
		model, at := "", int64(0)
		for _, t := range c.tellings {
			in, read, write, out, cost = first(in, t.u.InputTokens), first(read, t.u.CacheReadTokens), first(write, t.u.CacheWriteTokens),
				larger(out, t.u.OutputTokens), first(cost, t.u.CostMicroUSD)
			if t.u.Model != "" {
				models[t.u.Model] = true
				if model == "" {
					model = t.u.Model
				}
			}
			at = max(at, t.u.At)
		}
		if cost == nil {
			cost = priced(b.opts.Prices, model, at, in, read, write, out)
		}
		if cost == nil {
			unpriced++
		}
		partial = partial || in == nil || out == nil
		b.addUsage(s, in, read, write, out, cost)
	}
	if s.InputTokens == nil && s.OutputTokens == nil && len(totals) > 0 {
		b.countTotals(s, totals, models)
	} else if partial && s.OutputTokens != nil {
		b.warnings["model_calls_without_tokens"]++
	}
	if unpriced > 0 && b.warnings["tokens_from_totals"] == 0 {
		told := s.CostUSD
		if s.CostUSD = b.totalCost(calls, totals); s.CostUSD == nil && told != nil { // a part of the cost is no cost
			b.warnings["model_calls_without_cost"] = unpriced
		}
	}
	for m := range models {
		s.Models = append(s.Models, m)
	}
	slices.Sort(s.Models)
}

// totalCost is the cost that the topmost spans tell, where the calls below them tell none; nil unless all of them do and every
// call lies below one.
func (b *builder) totalCost(calls []modelCall, totals []*usage) *int64 {
	top := b.topmost(totals)
	spans := map[spanID]bool{}
	var sum *int64
	for _, t := range top {
		if t.u.CostMicroUSD == nil {
			return nil
		}
		spans[t.it.span()] = true
		sum = add(sum, t.u.CostMicroUSD)
	}
	for _, c := range calls {
		below := false
		for _, t := range c.tellings {
			b.rd.up(t.it.span(), func(u spanID) bool {
				below = below || spans[u]
				return !below
			})
		}
		if !below {
			return nil
		}
	}
	return sum
}

// topmost are the sums that no other sum holds.
func (b *builder) topmost(totals []*usage) (out []*usage) {
	bySpan := map[spanID]bool{}
	for _, t := range totals {
		bySpan[t.it.span()] = true
	}
	for _, t := range totals {
		inner := false
		b.rd.up(t.it.span(), func(u spanID) bool {
			inner = inner || u != t.it.span() && bySpan[u]
			return !inner
		})
		if !inner {
			out = append(out, t)
		}
	}
	return out
}

// countTotals takes the sums of the topmost spans where no call tells its own.
func (b *builder) countTotals(s *schema.Session, totals []*usage, models map[string]bool) {
	for _, t := range b.topmost(totals) {
		if t.u.Model != "" {
			models[t.u.Model] = true
		}
		b.addUsage(s, t.u.InputTokens, t.u.CacheReadTokens, t.u.CacheWriteTokens, t.u.OutputTokens, t.u.CostMicroUSD)
	}
	if s.InputTokens != nil || s.OutputTokens != nil {
		b.warnings["tokens_from_totals"]++
	}
}

func (b *builder) addUsage(s *schema.Session, in, read, write, out, cost *int64) {
	s.InputTokens, s.CacheReadTokens, s.CacheWriteTokens = add(s.InputTokens, in), add(s.CacheReadTokens, read), add(s.CacheWriteTokens, write)
	s.OutputTokens, s.CostUSD = add(s.OutputTokens, out), add(s.CostUSD, cost)
}

func first(a, b *int64) *int64 {
	if a != nil {
		return a
	}
	return b
}

// larger is the greater of two tellings of one number: one may leave a part out.
func larger(a, b *int64) *int64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

// add is a sum in which unknown adds nothing; of nothing known it is unknown. It stops at the largest number.
func add(a, b *int64) *int64 {
	if b == nil {
		return a
	}
	if a == nil {
		v := *b
		return &v
	}
	sum := *a + *b
	if sum < *a {
		sum = 1<<63 - 1
	}
	return &sum
}
