package report

import (
	"strconv"
	"strings"

	"github.com/tracejury/tracejury/schema"
)

// Metrics and groupings of the aggregates that a report shows.
const (
	metricPassed = "passed"
	metricSafe   = "safe"
	metricMet    = "met_rate"
	metricScore  = "mean_score"

	byOverall          = "overall"
	byService          = "service"
	byCriterion        = "criterion"
	byCriterionService = "criterion_service"
)

// WeightedReason begins the reason of every aggregate whose estimate is not Met of N.
const WeightedReason = "weighted: every service counts by its eligible sessions"

// figure is one rate of one group with everything that says how far to believe it. Its zero value is a figure that no
// aggregate told of.
type figure struct {
	Known                                                       bool
	N, Met, NotMet, NotApplicable, Unclear, Ungraded, Undecided int32
	point, low, high, worst, best                               *float64
	level                                                       float64
	Method                                                      string
	Census                                                      bool
	Weighted                                                    bool // the rate is not Met of N: groups weigh by their size
	NoResult                                                    bool
	Reason                                                      string
	fallback                                                    string
	change, changeLow, changeHigh, detectable, adjusted         *float64
	baseline                                                    string
	shared                                                      *int32
	others                                                      []figure
	primary                                                     bool
}

func newFigure(a *schema.Aggregate) figure {
	f := figure{
		Known: true,
		N:     a.N, Met: a.Met, NotMet: a.NotMet, NotApplicable: a.NotApplicable,
		Unclear: a.Unclear, Ungraded: a.Ungraded, Undecided: a.Undecided,
		point: share(a.Estimate), low: share(a.Low), high: share(a.High), worst: share(a.Worst), best: share(a.Best),
		level: a.Level, Method: methodText(a.Method), NoResult: a.NoResult, Reason: phrase(a.Reason),
		change: finite(a.Change), changeLow: finite(a.ChangeLow), changeHigh: finite(a.ChangeHigh),
		detectable: finite(a.DetectableChange), adjusted: share(a.AdjustedP), baseline: name(a.BaselineRun), shared: a.Shared,
	}
	if a.FallbackFrom != "" {
		f.fallback = methodText(a.FallbackFrom)
	}
	if rest, ok := strings.CutPrefix(f.Reason, WeightedReason); ok { // the mark says it
		f.Weighted, f.Reason = true, strings.TrimPrefix(rest, "; ")
	}
	f.Census = f.Method == "census" || strings.HasPrefix(a.Reason, "census")
	if f.N == 0 {
		f.point = nil // 0 of 0 is not a rate, whatever an interval for it would be
	}
	return f
}

// Shown says whether there is a rate to print: one that exists and that the 10 % rule lets stand.
func (f figure) Shown() bool { return f.Known && !f.NoResult && f.point != nil }

// Rate is the estimate, or why there is none in two words.
func (f figure) Rate() string {
	switch {
	case f.Known && f.NoResult:
		return "no result"
	case !f.Shown():
		return unknown
	}
	return percent(*f.point)
}

// Short is Rate without a needless .0, for a headline.
func (f figure) Short() string { return strings.Replace(f.Rate(), ".0%", "%", 1) }

// HasInterval says whether Interval is one.
func (f figure) HasInterval() bool { return f.Shown() && f.low != nil && f.high != nil }

// Interval is both ends, or a dash.
func (f figure) Interval() string {
	if !f.HasInterval() {
		return unknown
	}
	return tenth(*f.low) + "–" + percent(*f.high)
}

// Share is the fraction that Rate comes from.
func (f figure) Share() string {
	if !f.Known {
		return unknown
	}
	return group(int64(f.Met)) + " of " + group(int64(f.N)) + f.mark()
}

// mark stands behind counts that do not divide to the rate beside them.
func (f figure) mark() string {
	if f.Weighted {
		return " †"
	}
	return ""
}

// Level is the level of the interval as a percentage.
func (f figure) Level() string { return levelText(f.level) }

// Bounds is what Rate could be if everything unclear were decided: all of it against, all of it for. "" when nothing is.
func (f figure) Bounds() string {
	if !f.Shown() || f.worst == nil || f.best == nil || *f.worst == *f.best {
		return ""
	}
	return tenth(*f.worst) + "–" + percent(*f.best)
}

// Note is what a reader must know beside the interval: a fallback, a census, a warning.
func (f figure) Note() string {
	switch {
	case !f.Known:
		return ""
	case f.NoResult:
		return "over 10% ungraded"
	case f.fallback != "" && f.Reason != "":
		return "the " + f.fallback + " could not be used: " + f.Reason
	case f.fallback != "":
		return "the " + f.fallback + " could not be used"
	}
	return f.Reason
}

// Change is the difference to the baseline run with its interval, in points. "" when nothing was compared.
func (f figure) Change() string {
	if !f.Shown() || f.change == nil {
		return ""
	}
	s := points(*f.change) + " points"
	if f.changeLow != nil && f.changeHigh != nil {
		s += " (" + points(*f.changeLow) + " to " + points(*f.changeHigh) + ")"
	}
	return s
}

// Overlap is how many of the subjects of the group the baseline graded, too. "" when nothing was compared.
func (f figure) Overlap() string {
	if f.shared == nil || f.change == nil {
		return ""
	}
	return group(int64(*f.shared)) + " of these " + group(int64(f.N+f.NotApplicable+f.Unclear+f.Ungraded))
}

// Detectable is the smallest change that this many sessions would show. "" when it was not computed.
func (f figure) Detectable() string {
	if f.detectable == nil || f.change == nil {
		return ""
	}
	return strings.TrimPrefix(points(*f.detectable), "+") + " points"
}

// interval is one row of the list of all intervals.
type interval struct {
	Metric, Group, Share, Method, Rate, Interval, Level, Note string
	Primary                                                   bool
}

// intervals lists the printed interval first and those beside it after, in the order of the aggregates.
func (f figure) intervals(metric, group string) []interval {
	rows := make([]interval, 0, 1+len(f.others))
	for i, o := range append([]figure{f}, f.others...) {
		if !o.Known {
			continue
		}
		o.NoResult = o.NoResult || f.NoResult
		note := o.Note()
		if o.adjusted != nil && !o.NoResult {
			note = strings.TrimPrefix(note+"; adjusted p "+strconv.FormatFloat(*o.adjusted, 'g', 2, 64), "; ")
		}
		rows = append(rows, interval{
			Metric: metric, Group: group, Share: o.Share(), Method: o.Method, Rate: o.Rate(), Interval: o.Interval(),
			Level: o.Level(), Note: note, Primary: i == 0,
		})
	}
	return rows
}

// figureKey is where a figure belongs. Fields are as in the aggregates: untrusted, compared, never printed.
type figureKey struct{ metric, groupBy, criterion, service string }

// collect sorts the aggregates of one evaluator by what they are about. The primary row leads; without one the first does.
func collect(rows []schema.Aggregate, evaluator string) map[figureKey]figure {
	out := make(map[figureKey]figure)
	for i := range rows {
		a := &rows[i]
		if a.Evaluator != "" && evaluator != "" && a.Evaluator != evaluator {
			continue
		}
		key, ok := keyOf(a)
		if !ok {
			continue
		}
		f := newFigure(a)
		had, seen := out[key]
		switch {
		case !seen:
			f.primary = a.Primary
		case a.Primary && !had.primary:
			rest := had.others
			had.others = nil
			f.primary, f.others = true, append([]figure{had}, rest...)
		default:
			had.others = append(had.others, f)
			f = had
		}
		out[key] = f
	}
	return out
}

func keyOf(a *schema.Aggregate) (figureKey, bool) {
	key := figureKey{metric: a.Metric, groupBy: a.GroupBy}
	switch a.GroupBy {
	case byOverall:
	case byService, bySkill:
		key.service = a.Group
	case byCriterion:
		key.criterion = a.Group
	case byCriterionService:
		// A criterion holds no slash, a service may.
		key.criterion, key.service, _ = strings.Cut(a.Group, "/")
		if a.Criterion != "" {
			key.criterion, key.service = a.Criterion, strings.TrimPrefix(a.Group, a.Criterion+"/")
		}
	default:
		return key, false
	}
	return key, true
}
