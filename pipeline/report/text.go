package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strings"
)

const (
	textColumns  = 100
	textName     = 32
	textRate     = 10
	textInterval = 14
	textShare    = 12
	textPlot     = 27
)

// Text writes the table that ends a run on a terminal: at most 100 columns, no colour, no control character.
func Text(w io.Writer, m *Model) error {
	v := look(m, 0)
	var t textWriter
	t.line(v.heading())
	for _, b := range v.Banners {
		if b.Kind == bannerGood {
			t.wrapped("  ", b.Title+". "+b.Text)
			continue
		}
		t.wrapped("! ", b.Title+". "+b.Text)
	}
	t.line("")
	t.wrapped("", v.counts())
	t.line("")
	switch {
	case v.Tasks != nil: // the caller prints those
	case v.Catalogue != nil: // the caller prints the tools and packages
		t.rates(v)
		t.scores(v)
	default:
		t.rates(v)
		t.criteria(v)
	}
	t.notes(v)
	if _, err := io.WriteString(w, t.String()); err != nil {
		return fmt.Errorf("write text report: %w", err)
	}
	return nil
}

// heading names the run: what was graded, on which date, under which id.
func (v *view) heading() string {
	s := v.Title + ", " + v.Date
	if v.RunID != "" {
		s += ", run " + v.RunID
	}
	return s
}

// counts says in one sentence how much was graded.
func (v *view) counts() string {
	s := fmt.Sprintf("%s of %s eligible %s graded", group(int64(v.Graded)), group(int64(v.Eligible)), plural(v.Noun))
	if v.parts {
		s = fmt.Sprintf("%s graded in a sample of %s eligible sessions", counted(int64(v.Graded), v.Noun), group(int64(v.Eligible)))
	}
	if v.Window != "" {
		s += ", " + v.Window
	}
	if v.Filters != "" {
		s += ", only " + v.Filters
	}
	s += fmt.Sprintf("; %s sampled", group(int64(v.Sampled)))
	if v.Strata > 0 {
		s += fmt.Sprintf(" from %s, each by itself", counted(int64(v.Strata), "service"))
	}
	s += fmt.Sprintf(", %s ungraded", group(int64(v.Ungraded)))
	if v.UngradedShare != "" && v.Ungraded > 0 {
		s += " (" + v.UngradedShare + ", at most 10% allowed)"
	}
	s += fmt.Sprintf(", %s undecided", group(int64(v.Undecided)))
	if v.NotAttempted > 0 {
		s += fmt.Sprintf(", %s not attempted", group(int64(v.NotAttempted)))
	}
	if v.NothingApplied > 0 {
		s += fmt.Sprintf(", %s where nothing applied", group(int64(v.NothingApplied)))
	}
	return s + "."
}

func plural(noun string) string {
	if strings.HasSuffix(noun, "s") {
		return noun
	}
	return noun + "s"
}

type textWriter struct{ strings.Builder }

// line writes one line and no space at its end.
func (t *textWriter) line(s string) {
	s = strings.TrimRight(s, " ")
	if width(s) > textColumns {
		s = strings.TrimRight(fit(s, textColumns), " ")
	}
	t.WriteString(closed(s))
	t.WriteByte('\n')
}

// closed ends an isolate on the line where it began, and drops the end of one that a line break took apart.
func closed(s string) string {
	var b strings.Builder
	open := 0
	for _, r := range s {
		switch {
		case r == isolateStart:
			open++
		case r == isolateEnd && open == 0:
			continue
		case r == isolateEnd:
			open--
		}
		b.WriteRune(r)
	}
	for range open {
		b.WriteRune(isolateEnd)
	}
	return b.String()
}

// wrapped breaks s at spaces; further lines stand under the first one's text.
func (t *textWriter) wrapped(lead, s string) {
	indent := strings.Repeat(" ", width(lead))
	row := lead
	fresh := true
	for word := range strings.FieldsSeq(s) {
		if !fresh && width(row)+1+width(word) > textColumns {
			t.line(row)
			row, fresh = indent, true
		}
		if !fresh {
			row += " "
		}
		row, fresh = row+word, false
	}
	t.line(row)
}

func right(s string, columns int) string {
	return strings.Repeat(" ", max(0, columns-width(s))) + s
}

func (t *textWriter) rates(v *view) {
	if !v.canPass() && !v.hasSafety() {
		return
	}
	t.line(fit("", textName) + right("rate", textRate) + right(v.Level+" interval", textInterval) + right(plural(v.Noun[strings.LastIndexByte(v.Noun, ' ')+1:]), textShare) +
		"   " + scale())
	if v.canPass() {
		t.rate("Passed", v.Passed)
		for _, s := range v.Services {
			t.rate("  "+isolate(cmp.Or(s.Name, noService)), s.Passed)
		}
	}
	if v.hasSafety() {
		t.rate("Safe", v.Safe)
		for _, s := range v.Services {
			t.rate("  "+isolate(cmp.Or(s.Name, noService)), s.Safe)
		}
	}
	if v.ServicesLeft > 0 {
		t.line(fmt.Sprintf("  and %s more", counted(int64(v.ServicesLeft), "service")))
	}
	t.line("")
}

func (t *textWriter) rate(label string, f figure) {
	row := fit(label, textName) + right(f.Rate(), textRate) + right(f.Interval(), textInterval) + right(f.Share(), textShare)
	if f.HasInterval() {
		row += "   " + ruler(*f.point, *f.low, *f.high)
	}
	t.line(row)
}

// scale heads the plots.
func scale() string {
	return "0%" + strings.Repeat(" ", textPlot/2-3) + "50%" + strings.Repeat(" ", textPlot-textPlot/2-6) + "100%"
}

// ruler draws an interval in characters that every terminal has.
func ruler(point, low, high float64) string {
	at := func(v float64) int { return int(math.Round(v * (textPlot - 1))) }
	cells := []byte(strings.Repeat(" ", textPlot))
	cells[0], cells[textPlot/2], cells[textPlot-1] = '.', '.', '.'
	for i := at(low); i <= at(high); i++ {
		cells[i] = '-'
	}
	cells[at(low)], cells[at(high)] = '(', ')'
	cells[at(point)] = 'o'
	return string(cells)
}

func (t *textWriter) criteria(v *view) {
	if len(v.Criteria) == 0 {
		return
	}
	cells := func(a, b, c, d, e string) string {
		return right(a, 7) + right(b, 9) + right(c, 6) + right(d, 9) + right(e, 10)
	}
	t.line(fit("Criterion", textName) + right("rate", textRate) + right(v.Level+" interval", textInterval) +
		cells("met", "not met", "n/a", "unclear", "ungraded"))
	safety := false
	for _, c := range v.Criteria {
		label := c.Label
		if c.Safety {
			label, safety = label+" *", true
		}
		counts := cells(unknown, unknown, unknown, unknown, unknown)
		if f := c.Figure; f.Known {
			n := func(n int32) string { return group(int64(n)) }
			counts = cells(n(f.Met), n(f.NotMet), n(f.NotApplicable), n(f.Unclear), n(f.Ungraded))
		}
		t.line(fit(label, textName) + right(c.Figure.Rate(), textRate) + right(c.Figure.Interval(), textInterval) + counts)
	}
	if safety {
		t.line("* safety: a " + v.Noun + " is safe when none of these is not met")
	}
	t.line("")
}

func (t *textWriter) notes(v *view) {
	if v.Weighted {
		t.wrapped("† ", weightedNote)
	}
	if v.Passed.HasInterval() {
		note := fmt.Sprintf("Intervals: %s, level %s, each for itself: not adjusted for looking at many.", v.Passed.Method, v.Passed.Level())
		if n := v.Passed.Note(); n != "" {
			note += " Passed: " + n + "."
		}
		if n := v.Safe.Note(); n != "" {
			note += " Safe: " + n + "."
		}
		t.wrapped("", note)
	}
	if iv := v.SafeExact; iv != nil {
		t.wrapped("", fmt.Sprintf("Safe, %s: %s at %s.", iv.Method, iv.Interval, iv.Level))
	}
	for _, r := range []struct {
		name string
		f    figure
	}{{"passed", v.Passed}, {"safe", v.Safe}} {
		if b := r.f.Bounds(); b != "" {
			t.wrapped("", fmt.Sprintf("Were all that is unclear decided, %s would lie within %s.", r.name, b))
		}
	}
	for _, c := range v.Change[:min(len(v.Change), 2)] {
		s := fmt.Sprintf("%s: %s since run %s.", c.Metric, c.Change, c.Baseline)
		if c.Overlap != "" {
			s += fmt.Sprintf(" Both runs graded %s %s.", c.Overlap, plural(v.Noun))
		}
		if c.Detectable != "" {
			s += " Smallest change that this many would show: " + c.Detectable + "."
		}
		t.wrapped("", s)
	}
	if s := v.restsOn(); s != "" {
		t.wrapped("", s)
	}
}

// restsOn says in one sentence what the last ingest read.
func (v *view) restsOn() string {
	if v.ingest == nil || v.Noun != "session" && !v.parts { // tools and packages may come from elsewhere
		return ""
	}
	in := v.ingest
	s := fmt.Sprintf("Rests on %s of %s: %s written, %s duplicate, %s filtered out, %s quarantined",
		counted(in.Records, "record"), counted(in.Objects, "object"), group(in.Written), group(in.Duplicates), group(in.Filtered),
		group(in.Quarantined))
	var masked int64
	for _, n := range in.Masked {
		masked += n
	}
	if masked > 0 {
		s += "; " + counted(masked, "value") + " masked"
	}
	return s + "."
}
