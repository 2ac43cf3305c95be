package report

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
)

// maxMarkdownSessions keeps the file below what GitHub renders.
const maxMarkdownSessions = 200

// Markdown writes the report for a pull request, an issue or a chat: the numbers of the page, GitHub-flavoured.
//
// Text of a session stands in code spans only. Nothing is interpreted there: no markup, no link made of an address, no
// mention of a person, no reference to an issue.
func Markdown(w io.Writer, m *Model) error {
	v := look(m, maxMarkdownSessions)
	var d mdWriter
	d.head(v)
	if v.Tasks != nil {
		d.tasks(v.Tasks)
	} else if v.canPass() || v.hasSafety() {
		d.short(v)
	}
	d.past(v)
	if v.Catalogue != nil {
		d.scores(v)
		d.catalogue(v.Catalogue)
	} else {
		d.criteria(v)
		d.scores(v)
		d.services(v)
		d.others(v)
	}
	d.sessions(v)
	d.leftOut(v)
	if v.Catalogue == nil {
		d.basis(v)
	}
	d.rubric(v)
	d.run(v)
	if _, err := io.WriteString(w, d.String()); err != nil {
		return fmt.Errorf("write markdown report: %w", err)
	}
	return nil
}

// code is a code span of s that holds in a table, too.
func code(s string) string {
	if s == "" {
		return unknown
	}
	// A table is cut into cells before spans are read. There \| is a pipe, but what \\| is depends on the reader.
	s = strings.ReplaceAll(s, `\|`, "‹U+005C›|")
	s = strings.ReplaceAll(s, "|", `\|`)
	longest, run := 0, 0
	for _, r := range s {
		if run++; r != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", longest+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	if !strings.ContainsRune(s, isolateStart) {
		s = isolate(s)
	}
	return fence + s + fence
}

// words is s as it is where it holds nothing but words, else a code span. Reasons and methods are ours, but come from a table.
func words(s string) string {
	for _, r := range s {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(" ,.;%()/–−-", r) {
			return code(s)
		}
	}
	if strings.Contains(strings.ToLower(s), "www.") {
		return code(s)
	}
	return cmp.Or(s, unknown)
}

// plain is text of the rubric or of this package in which nothing is markup.
func plain(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '<':
			b.WriteString("&lt;")
		case r == '&':
			b.WriteString("&amp;")
		case r == '@':
			b.WriteString("@\u2060") // a mention ends where it begins
		case strings.ContainsRune("\\`*_{}[]#|~>$!", r), r == ':':
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	s = b.String()
	for _, bare := range []string{"www.", "WWW."} {
		s = strings.ReplaceAll(s, bare, bare[:3]+`\.`)
	}
	return isolate(s)
}

type mdWriter struct{ strings.Builder }

func (d *mdWriter) f(format string, args ...any) { fmt.Fprintf(&d.Builder, format, args...) }

// row writes cells that are markup already.
func (d *mdWriter) row(cells ...string) { d.f("| %s |\n", strings.Join(cells, " | ")) }

// header writes the head of a table; a name that ends in > is a column aligned right.
func (d *mdWriter) header(names ...string) {
	rule := make([]string, len(names))
	for i, n := range names {
		rule[i] = "---"
		if strings.HasSuffix(n, ">") {
			names[i], rule[i] = strings.TrimSuffix(n, ">"), "--:"
		}
	}
	d.row(names...)
	d.row(rule...)
}

func (d *mdWriter) head(v *view) {
	d.f("# %s, %s\n\n**%s**\n\n%s\n\n", plain(v.Title), v.Date, v.headline(), d.sentence(v))
	for _, b := range v.Banners {
		kind := map[string]string{bannerStop: "CAUTION", bannerWarn: "WARNING", bannerInfo: "IMPORTANT", bannerGood: "NOTE"}[b.Kind]
		d.f("> [!%s]\n> **%s.** %s\n\n", kind, b.Title, b.Text)
	}
}

// sentence is counts with the filter, which is untrusted, in a code span.
func (d *mdWriter) sentence(v *view) string {
	trusted := *v
	trusted.Filters = ""
	trusted.Window = ""
	s := trusted.counts()
	if v.Window != "" {
		s += " Window: " + code(v.Window) + "."
	}
	if v.Filters != "" {
		s += " Only " + code(v.Filters) + "."
	}
	return s
}

func (d *mdWriter) short(v *view) {
	d.header("", "rate>", v.Level+" interval>", "of>", "method", "worst–best>")
	for _, r := range []struct {
		name string
		f    figure
	}{{"**Passed**", v.Passed}, {"**Safe**", v.Safe}} {
		if !v.canPass() && r.name == "**Passed**" {
			continue
		}
		d.row(r.name, "**"+r.f.Rate()+"**", r.f.Interval(), r.f.Share(), words(r.f.Method), cmp.Or(r.f.Bounds(), unknown))
	}
	if iv := v.SafeExact; iv != nil {
		d.row("Safe, exact", iv.Rate, iv.Interval, iv.Share, iv.Method, unknown)
	}
	d.f("\n")
	for _, r := range []struct {
		name string
		f    figure
	}{{"Passed", v.Passed}, {"Safe", v.Safe}} {
		switch f := r.f; {
		case f.NoResult || f.Note() == "" || r.name == "Passed" && !v.canPass():
		case f.fallback == "":
			d.f("%s: %s.\n\n", r.name, words(f.Reason))
		case f.Reason == "":
			d.f("%s: the %s could not be used.\n\n", r.name, words(f.fallback))
		default:
			d.f("%s: the %s could not be used: %s.\n\n", r.name, words(f.fallback), words(f.Reason))
		}
	}
	for _, c := range v.Change {
		if c.Metric != "Passed" && c.Metric != "Safe" {
			continue
		}
		d.f("%s: %s since run %s.", c.Metric, c.Change, code(c.Baseline))
		if c.Overlap != "" {
			d.f(" Both runs graded %s %s.", c.Overlap, plural(v.Noun))
		}
		if c.Detectable != "" {
			d.f(" The smallest change that this many would show is %s.", c.Detectable)
		}
		d.f("\n\n")
	}
}

func (d *mdWriter) criteria(v *view) {
	if len(v.Criteria) == 0 {
		return
	}
	d.f("## By criterion\n\n")
	d.header("Criterion", "rate>", v.Level+" interval>", "met>", "not met>", "n/a>", "unclear>", "ungraded>", "worst–best>")
	for _, c := range v.Criteria {
		f := c.Figure
		counts := []string{unknown, unknown, unknown, unknown, unknown}
		if f.Known {
			for i, n := range f.verdicts() {
				counts[i] = group(int64(n))
			}
		}
		label := code(c.ID)
		if c.Safety {
			label += " (safety)"
		}
		d.row(append(append([]string{label, f.Rate(), f.Interval()}, counts...), cmp.Or(f.Bounds(), unknown))...)
	}
	d.f("\n")
}

func service(s string) string {
	if s == "" {
		return "*no service*"
	}
	return code(s)
}

func (d *mdWriter) services(v *view) {
	if len(v.Services) == 0 {
		return
	}
	d.f("## By service\n\n")
	d.header("Service", "passed>", "interval>", "of>", "safe>", "interval>", "of>")
	for _, s := range v.Services {
		d.row(service(s.Name), s.Passed.Rate(), s.Passed.Interval(), s.Passed.Share(), s.Safe.Rate(), s.Safe.Interval(), s.Safe.Share())
	}
	d.f("\n")
	if v.ServicesLeft > 0 {
		d.f("%d more services are not shown here.\n\n", v.ServicesLeft)
	}
	if len(v.Criteria) == 0 {
		return
	}
	d.f("### Met, by service and criterion\n\n")
	names := []string{"Service"}
	for _, c := range v.Criteria {
		names = append(names, code(c.ID)+">")
	}
	d.header(names...)
	for _, s := range v.Services {
		row := []string{service(s.Name)}
		for _, f := range s.Cells {
			switch {
			case f.Shown():
				row = append(row, fmt.Sprintf("%s (%s), %s", f.Rate(), f.Interval(), f.Share()))
			default:
				row = append(row, f.Rate())
			}
		}
		d.row(row...)
	}
	d.f("\n")
}

func (d *mdWriter) sessions(v *view) {
	if len(v.Sessions) == 0 {
		return
	}
	d.f("## Sessions\n\n<details>\n<summary>%s</summary>\n\n", counted(int64(len(v.Sessions)), v.Noun))
	names := []string{"Session", "Service", "Agent", "Harness", "Started (UTC)", "Turns>", "Tool calls>", "Grade", "Safety"}
	for _, c := range v.Columns {
		names = append(names, code(c.ID))
	}
	d.header(names...)
	for _, s := range v.Sessions {
		grade := s.Pass.Symbol + " " + s.Pass.Text
		if s.Undecided {
			grade += ", undecided"
		}
		if s.Reason != "" {
			grade += ": " + code(s.Reason)
		}
		row := []string{
			code(s.Key), service(s.Service), code(s.Agent), code(s.Harness), s.Started, s.Turns, s.Tools, grade, s.Safe.Symbol + " " + s.Safe.Text,
		}
		for _, c := range s.Chips {
			switch {
			case c.Verdict == "":
				row = append(row, unknown)
			case c.Class == "other":
				row = append(row, code(c.Text))
			default:
				row = append(row, c.Symbol+" "+c.Text)
			}
		}
		d.row(row...)
	}
	d.f("\n")
	if v.SessionsLeft > 0 {
		d.f("%s more are not shown here. The grades table has them.\n\n", counted(int64(v.SessionsLeft), v.Noun))
	}
	d.f("</details>\n\n")
}

func (d *mdWriter) basis(v *view) {
	d.f("## What the numbers rest on\n\n")
	if v.ingest == nil {
		d.f("What the last ingest read is not known.\n\n")
		return
	}
	d.header("Last ingest", "count>")
	for _, p := range v.Basis {
		d.row(p.Name, p.Value)
	}
	for _, p := range v.Masked {
		d.row("Masked: "+code(p.Name), p.Value)
	}
	d.f("\n")
}

func (d *mdWriter) rubric(v *view) {
	if len(v.Rubric.Criteria) == 0 {
		return
	}
	d.f("## The questions\n\n")
	for i, q := range v.Rubric.Criteria {
		d.f("%s. %s", strconv.Itoa(i+1), code(q.ID))
		if q.Safety {
			d.f(" (safety)")
		}
		d.f(": %s\n", plain(q.Question))
	}
	d.f("\n%s\n\n", v.PassRule())
}

func (d *mdWriter) run(v *view) {
	d.f("## Where the numbers come from\n\n")
	d.header("", "")
	for _, p := range v.Run {
		d.row(p.Name, code(p.Value))
	}
	if v.Data != "" {
		d.row("Tables", code(v.Data))
	}
	d.f(`
Not applicable and unclear are in neither numerator nor denominator. An interval covers the luck of the draw, not a judge that
is wrong in the same way every time. Intervals are %s where no other method is named, each for itself, not adjusted for looking
at many. Where all or none passed a bootstrap would have no width, so none is given. Worst and best count all that is unclear as
not met and as met. Above 10%% ungraded there is no result.
`, words(cmp.Or(v.Passed.Method, "Wilson")))
}
