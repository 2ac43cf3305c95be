package report

import (
	"strconv"
	"strings"
	"time"
)

// Night is one run of the trend.
type Night struct {
	AsOf         time.Time
	RunID, Label string
	Shared       int // of its sessions, those that the run before it graded, too
	Passed, Safe Counted
	Differs      []string // in what it was not asked alike
}

// Counted is k of n, the rate that it amounts to and the ends of its interval; they are nil where there is none.
type Counted struct {
	K, N            int
	Rate, Low, High *float64
	Weighted        bool // Rate is not K/N
}

// Earlier is what is known of the run beside its baseline.
type Earlier struct {
	Baseline, Overlap string
	Differs           []string // in what the two were not asked alike
	Worse             []Worse  // what got worse, a line each
}

// Worse is something that got worse. Session is the key of the session that it is about, "" for none.
type Worse struct{ Session, Text string }

// Gate is one condition on the run.
type Gate struct{ Text, State, Detail string }

// nightRow is a run of the trend, fit to print.
type nightRow struct {
	Date, RunID, Label string
	Shared             int
	Passed, Safe       figure
	Differs            string
}

// pastView is everything about earlier runs and gates.
type pastView struct {
	Nights   []nightRow
	Earlier  *Earlier
	Gates    []Gate
	AnyLabel bool
}

func past(m *Model, level float64) pastView {
	var v pastView
	if len(m.Trend) > 1 {
		for _, n := range m.Trend {
			v.Nights = append(v.Nights, nightRow{
				Date: n.AsOf.UTC().Format("2006-01-02"), RunID: name(n.RunID), Label: name(n.Label), Shared: n.Shared,
				Passed: n.Passed.figure(level), Safe: n.Safe.figure(level), Differs: phrase(strings.Join(n.Differs, ", ")),
			})
			v.AnyLabel = v.AnyLabel || n.Label != ""
		}
	}
	if e := m.Earlier; e != nil {
		v.Earlier = &Earlier{Baseline: name(e.Baseline), Overlap: phrase(e.Overlap)}
		for _, s := range e.Differs {
			v.Earlier.Differs = append(v.Earlier.Differs, name(s))
		}
		for _, x := range e.Worse {
			v.Earlier.Worse = append(v.Earlier.Worse, Worse{name(x.Session), phrase(x.Text)})
		}
	}
	for _, g := range m.Gates {
		v.Gates = append(v.Gates, Gate{phrase(g.Text), name(strings.ReplaceAll(g.State, "_", " ")), phrase(g.Detail)})
	}
	return v
}

func (c Counted) figure(level float64) figure {
	return figure{Known: true, N: int32(c.N), Met: int32(c.K), NotMet: int32(c.N - c.K), point: share(c.Rate), low: share(c.Low), high: share(c.High), level: level, Weighted: c.Weighted}
}

// nightLines are both rates over the runs of the trend; nil where there is no line to draw.
func (v pastView) nightLines() (passed, safe *lineChart) {
	return newLine("line-p", "Passed, run by run", v.Nights, func(n *nightRow) figure { return n.Passed }, false),
		newLine("line-s", "Safe, run by run", v.Nights, func(n *nightRow) figure { return n.Safe }, true)
}

func (d *mdWriter) past(v *view) {
	p := &v.Past
	if len(p.Gates) > 0 {
		d.f("## Gates\n\n")
		d.header("Gate", "", "")
		for _, g := range p.Gates {
			d.row(code(g.Text), words(g.State), words(g.Detail))
		}
		d.f("\n")
	}
	if e := p.Earlier; e != nil {
		d.f("## Since %s\n\n%s.\n\n", code(e.Baseline), words(e.Overlap))
		if len(e.Differs) > 0 {
			d.f("**Not asked alike**: another %s. A change may come from that.\n\n", words(strings.Join(e.Differs, ", ")))
		}
		for _, x := range e.Worse {
			if x.Session != "" {
				d.f("- %s %s\n", code(x.Session), words(x.Text))
			} else {
				d.f("- %s\n", words(x.Text))
			}
		}
		if len(e.Worse) > 0 {
			d.f("\n")
		}
	}
	if len(p.Nights) == 0 {
		return
	}
	d.f("## Trend\n\n")
	d.header("Run", "passed>", v.Level+" interval>", "of>", "safe>", v.Level+" interval>", "of>", "shared with the run before>")
	for _, n := range p.Nights {
		date := n.Date
		if n.Label != "" {
			date += ", " + words(n.Label)
		}
		if n.Differs != "" {
			date += " (another " + words(n.Differs) + ")"
		}
		d.row(date, n.Passed.Rate(), n.Passed.Interval(), n.Passed.Share(), n.Safe.Rate(), n.Safe.Interval(), n.Safe.Share(), strconv.Itoa(n.Shared))
	}
	d.f("\n")
}
