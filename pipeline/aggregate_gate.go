package pipeline

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tracejury/tracejury/pipeline/stats"
	"github.com/tracejury/tracejury/schema"
)

// gate is a condition on one number of a run, such as service:ops-agent/safe.low>=0.9.
type gate struct {
	text   string
	groups []gateGroup // dimensions and their values; none: the whole run
	metric string      // passed, safe, or met_rate
	crit   string      // of met_rate
	stat   string      // "" is the rate
	op     string
	want   float64
}

type gateGroup struct {
	by    dimension
	value string
}

// gateStats are what a gate may look at beside the rate itself.
var gateStats = []string{"low", "high", "worst", "best", "ungraded", "n", "change", "change_low", "change_high"}

// States of a gate.
const (
	gatePassed  = "passed"
	gateFailed  = "failed"
	gateSkipped = "skipped"   // nothing of the run is what the gate is about: not applicable everywhere
	gateUnknown = "no_result" // there should be a number and there is none
)

// GateResult is how a gate came out.
type GateResult struct {
	Gate       string   `json:"gate"`
	State      string   `json:"state"`
	Value      *float64 `json:"value"`
	Want       float64  `json:"want"`
	K          int      `json:"k"`
	N          int      `json:"n"`
	Method     string   `json:"method,omitempty"`
	Weighted   bool     `json:"weighted,omitempty"` // Value is not K/N: every service counts by its eligible sessions
	Reason     string   `json:"reason,omitempty"`
	AdjustedP  *float64 `json:"adjusted_p,omitempty"` // safety gates with a least rate: of such a result or a better one were the true rate at the limit; Holm
	evaluator  string
	safetyTest *float64
}

// parseGate reads a gate: [dimension:value/]…metric[.stat] and >=, <=, > or < and a number.
func parseGate(s string) (gate, error) {
	g := gate{text: strings.TrimSpace(s)}
	at := strings.LastIndexAny(s, "<>") // a value may hold one
	if at < 0 {
		return g, usagef("--gate %q: want a number and a limit, such as safe>=0.95", s)
	}
	left, right := strings.TrimSpace(s[:at]), s[at+1:]
	g.op = s[at : at+1]
	if rest, ok := strings.CutPrefix(right, "="); ok {
		g.op, right = g.op+"=", rest
	}
	var err error
	if g.want, err = gateNumber(right); err != nil {
		return g, usagef("--gate %q: %w", s, err)
	}
	last := strings.LastIndex(left, "/")
	for _, part := range splitGroups(left[:max(last, 0)]) {
		kind, value, ok := strings.Cut(part, ":")
		d := slices.Index(dimensionNames[:], kind)
		if !ok || d < 0 {
			return g, usagef("--gate %q: %q is no group: %s", s, part, suggest(kind, dimensionNames[:]))
		}
		g.groups = append(g.groups, gateGroup{dimension(d), value})
	}
	if err := g.parseMetric(s, left[last+1:]); err != nil {
		return g, err
	}
	return g, g.checkLimit(s, strings.TrimSpace(right))
}

// checkLimit refuses a limit that the number can not lie at: the gate would always hold, or never.
func (g *gate) checkLimit(s, limit string) error {
	low, high, what := 0.0, 1.0, "a rate"
	switch g.stat {
	case "n":
		high, what = math.Inf(1), "a count"
	case "change", "change_low", "change_high":
		low, what = -1, "a change of a rate"
	}
	if g.want >= low && g.want <= high {
		return nil
	}
	between := fmt.Sprintf("%s lies between %g and %g", what, low, high)
	switch {
	case g.stat == "n":
		return usagef("--gate %q: %s is not negative", s, what)
	case math.Abs(g.want) <= 100 && g.want >= 100*low && !strings.HasSuffix(limit, "%"):
		return usagef("--gate %q: %s: write %g%% or %g", s, between, g.want, g.want/100)
	}
	return usagef("--gate %q: %s", s, between)
}

// gateNumber reads 0.95 and 95%.
func gateNumber(s string) (float64, error) {
	s = strings.TrimSpace(s)
	num, percent := strings.CutSuffix(s, "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(num), 64)
	if err != nil || v != v || v > 1e12 || v < -1e12 {
		return 0, fmt.Errorf("%q is not a limit such as 0.95 or 95%%", s)
	}
	if percent {
		v /= 100
	}
	return v, nil
}

// splitGroups splits service:a/b/agent:c at the slashes after which a dimension stands, so that a value may hold slashes.
func splitGroups(s string) []string {
	if s == "" {
		return nil
	}
	var out []string
	for _, part := range strings.Split(s, "/") {
		kind, _, ok := strings.Cut(part, ":")
		if len(out) > 0 && !(ok && slices.Contains(dimensionNames[:], kind)) {
			out[len(out)-1] += "/" + part
			continue
		}
		out = append(out, part)
	}
	return out
}

func (g *gate) parseMetric(s, m string) error {
	name, stat, _ := strings.Cut(m, ".")
	g.stat = stat
	if stat != "" && !slices.Contains(gateStats, stat) {
		return usagef("--gate %q: no such number %q: %s", s, stat, suggest(stat, gateStats))
	}
	if id, ok := strings.CutPrefix(name, "criterion:"); ok {
		g.metric, g.crit = metricMetRate, id
		return nil
	}
	if name != metricPassed && name != metricSafe {
		return usagef("--gate %q: no such metric %q: %s", s, name, suggest(name, []string{metricPassed, metricSafe, "criterion:<id>"}))
	}
	g.metric = name
	return nil
}

// parseGates reads all gates.
func parseGates(list []string) ([]gate, error) {
	var out []gate
	for _, s := range list {
		g, err := parseGate(s)
		if err != nil {
			return nil, err
		}
		out = append(out, g)
	}
	return out, nil
}

// grouping is the groups that the gate needs.
func (g *gate) grouping() grouping {
	out := grouping{criterion: g.metric == metricMetRate}
	for _, x := range g.groups {
		out.by = append(out.by, x.by)
	}
	return out
}

// check holds the gate against a part of a run.
func (g *gate) check(p *aggregatePart, level float64) (GateResult, error) {
	r := GateResult{Gate: g.text, Want: g.want, evaluator: p.run.Evaluator}
	if g.crit != "" {
		if err := g.knownCriterion(p); err != nil {
			return r, err
		}
	}
	var names []string
	if g.crit != "" {
		names = append(names, g.crit)
	}
	for _, x := range g.groups {
		names = append(names, x.value)
	}
	group := joinGroup(names)
	gr := g.grouping()
	var t *tally
	for _, x := range p.numbers.facts.tallies(gr, p.numbers.subjects) {
		if x.group == group && x.metric == g.metric {
			t = x
		}
	}
	if t == nil {
		r.State, r.Reason = gateUnknown, g.absent(p)
		return r, nil
	}
	r.K, r.N = t.met, t.n()
	if g.stat == "n" {
		r.decide(g, float64(t.n()))
		return r, nil
	}
	if g.stat == "ungraded" {
		r.decide(g, t.ungradedShare())
		return r, nil
	}
	switch {
	case overUngradedLimit(t.ungraded, t.attempted()):
		r.State, r.Reason = gateUnknown, fmt.Sprintf("%d of %d could not be graded (more than 10 %%)", t.ungraded, t.attempted())
		return r, nil
	case t.n() == 0 && t.unclear == 0 && t.ungraded == 0:
		r.State, r.Reason = gateSkipped, fmt.Sprintf("not applicable to any of %d", t.notApplicable)
		return r, nil
	case t.n() == 0:
		r.State, r.Reason = gateUnknown, fmt.Sprintf("nothing was decided: %d unclear, %d ungraded", t.unclear, t.ungraded)
		return r, nil
	}
	return r, g.measure(&r, t, p, gr, level)
}

// measure takes the number that the gate asks for.
func (g *gate) measure(r *GateResult, t *tally, p *aggregatePart, gr grouping, level float64) error {
	est, err := t.estimate(level)
	if undefined, ok := asUndefined(err); ok {
		r.State, r.Reason = gateUnknown, undefined.Reason
		return nil
	}
	if err != nil {
		return err
	}
	wilson := est.Interval
	r.Weighted = t.weighted
	worst, best := t.bounds()
	switch g.stat {
	case "":
		r.decide(g, est.Value)
	case "low":
		r.Method = fmt.Sprintf("%s, level %g", wilson.Method, level)
		low := wilson.Low
		if t.safety { // a promise: what the rate is at least, with this confidence
			r.Method = fmt.Sprintf("%s one-sided, level %g", stats.MethodClopperPearson, level)
			if t.weighted {
				r.Method = fmt.Sprintf("%s one-sided, level %g", stats.MethodKornGraubard, level)
			}
			if low, err = t.atLeast(est, level); err != nil {
				return err
			}
		}
		r.decide(g, low)
	case "high":
		r.Method = fmt.Sprintf("%s, level %g", wilson.Method, level)
		r.decide(g, wilson.High)
	case "worst":
		r.decide(g, valueOr(worst, 0))
	case "best":
		r.decide(g, valueOr(best, 1))
	default:
		g.measureChange(r, t, p, gr)
	}
	if t.safety && strings.HasPrefix(g.op, ">") && (g.stat == "" || g.stat == "low") && g.want > 0 && g.want < 1 {
		test, err := stats.AtLeastEstimate(est, g.want)
		if !t.weighted {
			test, err = stats.AtLeast(t.met, t.n(), g.want)
		}
		if err != nil {
			return err
		}
		r.safetyTest = &test.P
	}
	return nil
}

func (g *gate) measureChange(r *GateResult, t *tally, p *aggregatePart, gr grouping) {
	if p.comparison == nil {
		r.State, r.Reason = gateUnknown, "there is no baseline to compare with (--baseline)"
		return
	}
	for _, c := range p.comparison.Changes {
		if c.GroupBy != gr.String() || c.Group != t.group || c.Metric != t.metric {
			continue
		}
		r.Method = c.Method
		r.decide(g, map[string]float64{"change": c.Change, "change_low": c.Low, "change_high": c.High}[g.stat])
		return
	}
	r.State, r.Reason = gateUnknown, "the baseline has no such group"
}

func (r *GateResult) decide(g *gate, v float64) {
	r.Value = &v
	ok := false
	switch g.op {
	case ">=":
		ok = v >= g.want
	case "<=":
		ok = v <= g.want
	case ">":
		ok = v > g.want
	case "<":
		ok = v < g.want
	}
	r.State = gateFailed
	if ok {
		r.State = gatePassed
	}
}

// knownCriterion refuses a criterion that the rubric does not have.
func (g *gate) knownCriterion(p *aggregatePart) error {
	var ids []string
	for _, c := range p.rubric.Criteria {
		ids = append(ids, c.ID)
	}
	for _, c := range p.numbers.facts.criteria {
		if !slices.Contains(ids, c.id) {
			ids = append(ids, c.id)
		}
	}
	if slices.Contains(ids, g.crit) {
		return nil
	}
	return usagef("--gate %q: no such criterion %q: %s", g.text, g.crit, suggest(g.crit, ids))
}

// absent says why there is no such group: its name may be wrong, or none of it was drawn.
func (g *gate) absent(p *aggregatePart) string {
	for _, x := range g.groups {
		known := p.numbers.facts.names[x.by]
		if slices.Contains(known, x.value) {
			continue
		}
		return fmt.Sprintf("the run has no %s %q: %s", x.by, x.value, suggest(x.value, known))
	}
	return "no session of the run is in this group"
}

// checkGates holds all gates against a run. Gates are about sessions: the main evaluator, or the only one.
func checkGates(gates []gate, p *aggregatePart, level float64) ([]GateResult, error) {
	var out []GateResult
	var p0 []float64
	var at []int
	for i := range gates {
		r, err := gates[i].check(p, level)
		if err != nil {
			return nil, err
		}
		if r.safetyTest != nil {
			p0, at = append(p0, *r.safetyTest), append(at, i)
		}
		out = append(out, r)
	}
	adjusted, err := stats.Holm(p0)
	if err != nil {
		return nil, err
	}
	for i, j := range at {
		out[j].AdjustedP = &adjusted[i]
	}
	return out, nil
}

// gateError is the error that gates end a command with: nil when all passed or were skipped.
func gateError(results []GateResult, run schema.Run) error {
	var failed, unknown []string
	for _, r := range results {
		switch r.State {
		case gateFailed:
			failed = append(failed, r.text())
		case gateUnknown:
			unknown = append(unknown, r.text())
		}
	}
	switch {
	case len(failed) > 0:
		return &ExitError{Code: ExitGate, Err: fmt.Errorf("%d of %d gates failed on run %s: %s", len(failed), len(results), run.RunID, strings.Join(failed, "; ")), Hint: "aggregate --show run:" + run.RunID + " names the sessions"}
	case len(unknown) > 0:
		return &ExitError{Code: ExitNoResult, Err: fmt.Errorf("%d of %d gates have no result on run %s: %s", len(unknown), len(results), run.RunID, strings.Join(unknown, "; "))}
	}
	return nil
}

func (r *GateResult) text() string {
	s := printable(r.Gate, 160)
	if r.Value != nil {
		weighted := ""
		if r.Weighted {
			weighted = ", weighted"
		}
		s += fmt.Sprintf(" is %.4g (%d of %d%s)", *r.Value, r.K, r.N, weighted)
	}
	if r.Reason != "" {
		s += ": " + printable(r.Reason, 200)
	}
	return s
}
