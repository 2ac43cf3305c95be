package report

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strconv"
)

// maxPageSessions keeps the page one that a browser opens at once.
const maxPageSessions = 5000

// firstSessions is how many of them it lays out before it is asked for more; filters and sorting are of all. The script knows it, too.
const firstSessions = 200

//go:embed page/page.tmpl page/style.css page/script.js
var pageFiles embed.FS

// page is what the template sees.
type page struct {
	*view
	Policy, Style, Script template.HTML
	Headline              string
	PassedStrip           *strip
	SafeStrip             *strip
	CriterionPlots        []plotRow
	ServicePlots          []servicePlots
	Matrix                []matrixRow
	Bars                  []barRow
	Verdicts              []legendItem
	Counts                string
	NightPassed           *lineChart
	NightSafe             *lineChart
	PartBars              []partBars
}

type plotRow struct {
	Label  string
	Safety bool
	Figure figure
	Strip  *strip
}

// servicePlots is one service with both of its rates.
type servicePlots struct {
	Label        string
	Nameless     bool
	Passed, Safe plotRow
}

type matrixRow struct {
	Label    string
	Nameless bool
	Cells    []plotRow
}

// partBars is another evaluator with the bars of its criteria.
type partBars struct {
	partView
	Bars []barRow
}

type barRow struct {
	Label  string
	Safety bool
	Figure figure
	Bar    *bar
}

type legendItem struct{ Verdict, Text, Symbol string }

// HTML writes the report as one page that needs nothing beside it: no network, no font, no script to be readable.
func HTML(w io.Writer, m *Model) error {
	style, err := pageFiles.ReadFile("page/style.css")
	if err != nil {
		return fmt.Errorf("read the page's style: %w", err)
	}
	script, err := pageFiles.ReadFile("page/script.js")
	if err != nil {
		return fmt.Errorf("read the page's script: %w", err)
	}
	tmpl, err := template.New("page.tmpl").ParseFS(pageFiles, "page/page.tmpl")
	if err != nil {
		return fmt.Errorf("parse the page: %w", err)
	}
	v := look(m, maxPageSessions)
	for i := range v.Sessions {
		v.Sessions[i].Detail = v.detail(&m.Sessions[i])
		v.Sessions[i].Far = i >= firstSessions
	}
	p := newPage(v)
	// The three are constants of this package: nothing of a model is in them.
	p.Style = template.HTML("<style>" + string(style) + "</style>")
	p.Script = template.HTML("<script>" + string(script) + "</script>")
	p.Policy = template.HTML(`<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src '` + digest(style) +
		`'; script-src '` + digest(script) + `'; img-src data:; base-uri 'none'; form-action 'none'">`)
	var b bytes.Buffer // a page that fails half way is not written
	if err := tmpl.Execute(&b, p); err != nil {
		return fmt.Errorf("fill the page: %w", err)
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

func newPage(v *view) *page {
	p := &page{view: v, Headline: v.headline(), Counts: v.counts()}
	p.PassedStrip = newStrip("plot-passed", "Passed, overall", v.Passed, nil, false)
	p.SafeStrip = newStrip("plot-safe", "Safe, overall", v.Safe, nil, true)
	p.NightPassed, p.NightSafe = v.Past.nightLines()
	for i, part := range v.Parts {
		bars := partBars{partView: part}
		for j, c := range part.Rows {
			id := strconv.Itoa(i) + "-" + strconv.Itoa(j)
			bars.Bars = append(bars.Bars, barRow{Label: c.Label, Figure: c.Figure, Bar: newBar("pbar-"+id, "Verdicts: "+c.Label, c.Figure)})
		}
		p.PartBars = append(p.PartBars, bars)
	}
	for i, c := range v.Criteria {
		id := strconv.Itoa(i)
		p.CriterionPlots = append(p.CriterionPlots, plotRow{
			Label: c.Label, Safety: c.Safety, Figure: c.Figure,
			Strip: newStrip("plot-c"+id, c.Label, c.Figure, nil, c.Safety),
		})
		p.Bars = append(p.Bars, barRow{
			Label: c.Label, Safety: c.Safety, Figure: c.Figure, Bar: newBar("bar-"+id, "Verdicts: "+c.Label, c.Figure),
		})
	}
	for i, s := range v.Services {
		id := strconv.Itoa(i)
		label := s.Name
		if label == "" {
			label = noService
		}
		row := func(metric string, f, overall figure, safety bool) plotRow {
			var reference *float64
			if overall.Shown() {
				reference = overall.point
			}
			strip := newStrip("plot-"+metric+id, metric+", "+label, f, reference, safety)
			return plotRow{Label: label, Figure: f, Safety: safety, Strip: strip}
		}
		p.ServicePlots = append(p.ServicePlots, servicePlots{
			Label: label, Nameless: s.Name == "",
			Passed: row("passed", s.Passed, v.Passed, false), Safe: row("safe", s.Safe, v.Safe, true),
		})
		m := matrixRow{Label: label, Nameless: s.Name == ""}
		for j, f := range s.Cells {
			c := v.Criteria[j]
			cell := plotRow{Label: c.Label, Figure: f, Safety: c.Safety}
			if cell.Strip = newStrip("plot-m"+id+"-"+strconv.Itoa(j), c.Label+", "+label, f, nil, c.Safety); cell.Strip != nil {
				cell.Strip.Small = true
			}
			m.Cells = append(m.Cells, cell)
		}
		p.Matrix = append(p.Matrix, m)
	}
	for _, verdict := range verdictOrder {
		p.Verdicts = append(p.Verdicts, legendItem{string(verdict), verdictText(string(verdict)), symbol(string(verdict))})
	}
	return p
}

// headline is the sentence for a reader who reads one.
func (v *view) headline() string {
	switch {
	case v.NoResult && len(v.Parts) > 0 && v.Catalogue != nil && v.Catalogue.all > 0: // the other parts may have one
		return v.Catalogue.headline()
	case v.NoResult:
		return "There is no result for these " + plural(v.Noun) + "."
	case v.Graded == 0:
		return "No " + v.Noun + " was graded."
	case v.Tasks != nil:
		return v.Tasks.Reading
	case v.Catalogue != nil && v.Catalogue.all > 0:
		return v.Catalogue.headline()
	case !v.Passed.Shown():
		return "No " + v.Noun + " had anything to pass."
	}
	if v.Passed.Weighted {
		s := v.Passed.Rate() + " of " + plural(v.Noun) + " passed"
		if v.Safe.Shown() {
			s += ", " + v.Safe.Rate() + " were safe"
		}
		return s + "."
	}
	s := v.Passed.Share() + " " + plural(v.Noun) + " passed"
	if v.Safe.Shown() {
		s += ", " + v.Safe.Share() + " were safe"
	}
	return s + "."
}
