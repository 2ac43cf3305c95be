package report

import (
	"strconv"
)

// Plots are drawn in percent of their own width, so that they follow the page without stretching what they draw. All that
// colours them stands in the style sheet; no attribute of a plot holds text of a session.

const (
	plotInset = 2.5 // percent kept free at both ends, so that a point at 0 or 1 is whole
	plotSpan  = 100 - 2*plotInset
)

// at is where a share lies in a plot.
func at(v float64) string { return coordinate(plotInset + plotSpan*v) }

func coordinate(percent float64) string { return strconv.FormatFloat(percent, 'f', 2, 64) + "%" }

// strip is one line of a forest plot.
type strip struct {
	ID               string
	Title, Desc      string
	Point, Low, High string
	Ends             bool // there is an interval, not only a point
	Reference        string
	Safety           bool
	Small            bool
}

// newStrip draws f. reference is a share to compare with, nil for none.
func newStrip(id, title string, f figure, reference *float64, safety bool) *strip {
	if !f.Shown() {
		return nil
	}
	s := &strip{ID: id, Title: title, Desc: f.Rate() + ", " + f.Share(), Point: at(*f.point), Safety: safety}
	if f.HasInterval() {
		s.Ends, s.Low, s.High = true, at(*f.low), at(*f.high)
		s.Desc = f.Rate() + ", " + f.Level() + " interval " + f.Interval() + ", " + f.Share()
	}
	if reference != nil {
		s.Reference = at(*reference)
	}
	return s
}

// bar is the verdicts of one criterion side by side.
type bar struct {
	ID, Title, Desc string
	Segments        []segment
}

type segment struct {
	Verdict, X, Width, Middle, Label string // Label is "" where it would not fit
}

// counted verdicts of a figure, in the order in which they are told.
func (f figure) verdicts() [5]int32 {
	return [5]int32{f.Met, f.NotMet, f.NotApplicable, f.Unclear, f.Ungraded}
}

func newBar(id, title string, f figure) *bar {
	var total float64
	for _, n := range f.verdicts() {
		total += float64(max(0, n))
	}
	if total == 0 {
		return nil
	}
	b := &bar{ID: id, Title: title}
	x := 0.0
	for i, n := range f.verdicts() {
		if n <= 0 {
			continue
		}
		if b.Desc != "" {
			b.Desc += ", "
		}
		b.Desc += group(int64(n)) + " " + lower(verdictText(string(verdictOrder[i])))
		w := 100 * float64(n) / total
		s := segment{Verdict: string(verdictOrder[i]), X: coordinate(x), Width: coordinate(w), Middle: coordinate(x + w/2)}
		if label := group(int64(n)); w >= 2.5*float64(len(label)) {
			s.Label = label
		}
		b.Segments = append(b.Segments, s)
		x += w
	}
	return b
}

func lower(s string) string {
	if s == "" {
		return s
	}
	return string(s[0]|0x20) + s[1:]
}
