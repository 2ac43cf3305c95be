package report

import "strconv"

// lineChart is a rate over the runs of the trend: a point and an interval each, joined by lines where nothing lies between.
type lineChart struct {
	ID, Title, Desc string
	Safety          bool
	Points          []linePoint
	Lines           []lineSegment
	Ticks           []lineTick
}

// Positions across are in percent, those upward in pixels.
type linePoint struct {
	X, Y, Low, High string
	Ends            bool
	Title           string
}

type lineSegment struct{ X1, Y1, X2, Y2 string }

type lineTick struct{ X, Label, Anchor string }

const (
	lineTop    = 12.0  // of 100 %
	lineBottom = 152.0 // of 0 %
	lineLeft   = 12.0  // percent, right of the scale
	lineRight  = 97.0
	lineTicks  = 5 // dates at most, so that they do not run into each other on a phone
)

func lineY(v float64) string {
	return strconv.FormatFloat(lineBottom-(lineBottom-lineTop)*v, 'f', 1, 64)
}

// newLine draws the nights. It answers nil where fewer than two of them have a rate.
func newLine(id, title string, nights []nightRow, of func(*nightRow) figure, safety bool) *lineChart {
	c := &lineChart{ID: id, Title: title, Safety: safety}
	shown, before := 0, -1
	step := max(1, (len(nights)+lineTicks-2)/(lineTicks-1))
	x := func(i int) string {
		return coordinate(lineLeft + (lineRight-lineLeft)*float64(i)/float64(max(1, len(nights)-1)))
	}
	for i := range nights {
		n := &nights[i]
		last := i == len(nights)-1
		if i == 0 || last || i%step == 0 && len(nights)-1-i >= step {
			tick := lineTick{X: x(i), Label: n.Date[min(5, len(n.Date)):], Anchor: "middle"}
			if i == 0 {
				tick.Anchor = "start"
			} else if last {
				tick.Anchor = "end"
			}
			c.Ticks = append(c.Ticks, tick)
		}
		f := of(n)
		if !f.Shown() {
			continue
		}
		p := linePoint{X: x(i), Y: lineY(*f.point), Title: n.Date + ": " + f.Rate() + ", " + f.Share()}
		if f.HasInterval() {
			p.Ends, p.Low, p.High = true, lineY(*f.low), lineY(*f.high)
			p.Title = n.Date + ": " + f.Rate() + " (" + f.Interval() + "), " + f.Share()
		}
		if c.Desc != "" {
			c.Desc += "; "
		}
		c.Desc += p.Title
		if before == i-1 && shown > 0 {
			from := c.Points[len(c.Points)-1]
			c.Lines = append(c.Lines, lineSegment{from.X, from.Y, p.X, p.Y})
		}
		c.Points = append(c.Points, p)
		before = i
		shown++
	}
	if shown < 2 {
		return nil
	}
	return c
}
