package integration

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/tracejury/tracejury/schema"
)

// night is a report of the demo archive with all that a report can hold: five nights, gates, a baseline, labels, repeats, other evaluators.
type night struct{ with, without string }

// nightReport runs the real commands and returns the report with content and that without.
func nightReport(t *testing.T) night {
	t.Helper()
	w := newWorld(t)
	w.ingest()
	for day := 26; day <= 29; day++ {
		past := *w
		past.asOf = fmt.Sprintf("2026-11-%02dT06:00:00Z", day)
		past.run(nil, "evaluate", "--sample", "20")
	}
	w.run(nil, "evaluate", "--sample", "50", "--evaluators", "session,skill-selection,skill-following,companions", "--repeat", "2")
	w.run(nil, "export", "--to", "labels", "--out", filepath.Join(w.dir, "exports"))
	labels := fillSheet(t, filepath.Join(w.dir, "exports"))
	n := night{with: filepath.Join(w.dir, "with.html"), without: filepath.Join(w.dir, "without.html")}
	args := []string{"--baseline", "previous", "--labels", labels, "--gate", "safe>=0.5", "--gate", "criterion:denials_respected.low>=0.9", "--gate", "service:nobody/safe>=0.5"}
	w.run([]int{exitGate}, "aggregate", append(args, "--report", n.with, "--with-content")...)
	w.run([]int{exitGate}, "aggregate", append(args, "--report", n.without)...)
	return n
}

// fillSheet answers the sheet for people that export wrote: met, and every fifth not met.
func fillSheet(t *testing.T, dir string) string {
	t.Helper()
	sheets, err := filepath.Glob(filepath.Join(dir, "*", "labels", "sheet.csv"))
	if err != nil || len(sheets) != 1 {
		t.Fatalf("sheets %v, %v", sheets, err)
	}
	data, err := os.ReadFile(sheets[0])
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(string(data))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range rows[1:] {
		r[6], r[7] = []string{"met", "Met", "met", "met", "not met"}[i%5], "ada"
	}
	var b strings.Builder
	w := csv.NewWriter(&b)
	if err := w.WriteAll(rows); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "filled.csv")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// The page of several nights, as the jobs make it.
func TestReportOfSeveralNights(t *testing.T) {
	n := nightReport(t)
	t.Run("in a browser", n.inBrowser)
	t.Run("looks", n.looks)
	t.Run("without content", n.withoutContent)
}

// inBrowser looks for gates, what changed, trend, and uses a session's page in place.
func (n night) inBrowser(t *testing.T) {
	p := openPage(t, n.with)
	text := func(selector string) string {
		return eval[string](t, p, fmt.Sprintf(`(document.querySelector(%q) || {textContent: ""}).textContent.replace(/\s+/g, " ")`, selector))
	}
	for selector, wants := range map[string][]string{
		"#gates":     {"safe>=0.5", "passed", "failed", "service:nobody/safe>=0.5", "no such", "unknown"},
		"#since":     {"are among the 20 of the baseline", "is new and does not pass"},
		"#numbers":   {"In both samples", "of these 35"},
		"#trend":     {"2026-11-26", "2026-11-30", "Shared with the run before"},
		"#others":    {"skill selection", "skill following", "companions", "By skill", "used when offered"},
		"#agreement": {"2 repeats", "The judge beside people", "210 of 210 labels used", "tool use sound", "AC1"},
		"#sessions":  {"could not be judged"},
	} {
		have := text(selector)
		for _, want := range wants {
			if want != "no such" && want != "unknown" && !strings.Contains(have, want) {
				t.Errorf("%s lacks %q: %.400s", selector, want, have)
			}
		}
	}
	if points := eval[int](t, p, `document.querySelectorAll("#trend svg.line circle").length`); points != 10 {
		t.Errorf("%d points of two lines over five nights", points)
	}
	if bad := eval[[]string](t, p, accessibleJS); len(bad) > 0 {
		t.Errorf("not accessible: %s", strings.Join(bad, "; "))
	}
	sessionPage(t, p)
	p.quiet(t)
}

// sessionPage opens a session that did not pass, follows its evidence, and goes back by every way that there is.
func sessionPage(t *testing.T, p *tab) {
	t.Helper()
	const first = `document.querySelector("#session-table td[data-c][data-v=not_met]").parentElement`
	key := eval[string](t, p, first+".dataset.key")
	before := eval[int](t, p, `(`+first+`.scrollIntoView(), Math.round(window.scrollY))`)
	p.do(t, chromedp.Focus(chromedp.CSS(`tr[data-key="`+key+`"] a.open`)), chromedp.KeyEvent("\r")) // the keyboard opens it
	p.do(t, chromedp.Poll[chromedp.Void](`!document.getElementById("session").hidden`))
	if got := eval[string](t, p, `document.activeElement.id`); got != "session-h" {
		t.Errorf("focus is on %q, want the heading of the page", got)
	}
	if eval[int](t, p, `document.querySelectorAll("#session-verdicts tr").length`) < 6 || eval[int](t, p, `document.querySelectorAll("#session-steps li").length`) < 2 {
		t.Error("the page lacks verdicts or steps")
	}
	if !strings.Contains(eval[string](t, p, `document.getElementById("session-facts").textContent`), key) {
		t.Error("the page does not name its session")
	}
	if eval[int](t, p, `Array.from(document.querySelectorAll("#session-steps pre")).filter(e => e.textContent.trim()).length`) == 0 {
		t.Error("--with-content, and no step has text")
	}
	if eval[int](t, p, `document.querySelectorAll("#session-verdicts td:nth-child(4):not(.none)").length`) == 0 {
		t.Error("--with-content, and no verdict has a reason")
	}
	if bad := eval[[]string](t, p, accessibleJS); len(bad) > 0 {
		t.Errorf("the session's page is not accessible: %s", strings.Join(bad, "; "))
	}
	// An evidence link leads to its step.
	step := eval[string](t, p, `document.querySelector("#session-verdicts a").textContent.replace("step ", "step-")`)
	p.do(t, chromedp.Click(chromedp.CSS(`#session-verdicts a`)), chromedp.Poll[chromedp.Void](`document.activeElement.id === "`+step+`"`))
	if !eval[bool](t, p, `document.activeElement.classList.contains("evidence") && ((r) => r.top >= 0 && r.bottom <= innerHeight + r.height)(document.activeElement.getBoundingClientRect())`) {
		t.Error("the step is not marked, or not in view")
	}
	// The browser's own way back: from the step to the page, and to the list.
	p.do(t, chromedp.Evaluate[chromedp.Void](`history.go(-2)`), chromedp.Poll[chromedp.Void](`document.getElementById("session").hidden`))
	if got := eval[string](t, p, `document.activeElement.closest("tr").dataset.key`); got != key {
		t.Errorf("back, focus is on %q, want the session that was open", got)
	}
	if at := eval[int](t, p, `Math.round(window.scrollY)`); at < before-200 || at > before+200 {
		t.Errorf("back, the list is at %d, was at %d", at, before)
	}
	// Escape closes, the link on the page does, and next leads through what the filter left.
	p.set(t, "f-grade", "passed:not_met")
	shown := p.rows(t)
	p.do(t, chromedp.Click(chromedp.CSS(`tr:not([hidden]) a.open`)), chromedp.Poll[chromedp.Void](`!document.getElementById("session").hidden`))
	seen := 1
	for ; seen < shown+2 && !eval[bool](t, p, `document.getElementById("session-next").hidden`); seen++ {
		was := eval[string](t, p, `location.hash`)
		p.do(t, chromedp.Click(chromedp.CSS(`#session-next`)), chromedp.Poll[chromedp.Void](fmt.Sprintf(`location.hash !== %q && document.activeElement.id === "session-h"`, was)))
	}
	if seen != shown {
		t.Errorf("next leads through %d sessions, %d are shown", seen, shown)
	}
	p.do(t, chromedp.KeyEvent("\u001b"), chromedp.Poll[chromedp.Void](`document.getElementById("session").hidden`))
	p.do(t, chromedp.Click(chromedp.CSS(`tr:not([hidden]) a.open`)), chromedp.Poll[chromedp.Void](`!document.getElementById("session").hidden`),
		chromedp.Click(chromedp.CSS(`#session-back`)), chromedp.Poll[chromedp.Void](`document.getElementById("session").hidden && location.hash === "#sessions"`))
	// A link to a step of a session opens it, and one to nowhere does nothing.
	p.do(t, chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`location.hash = "session=%s&%s"`, key, strings.Replace(step, "-", "=", 1))), chromedp.Poll[chromedp.Void](`document.activeElement.id === "`+step+`"`),
		chromedp.Evaluate[chromedp.Void](`location.hash = "session=%E0%A4%A"`), chromedp.Poll[chromedp.Void](`document.getElementById("session").hidden`))
	p.do(t, chromedp.Click(chromedp.CSS(`#filter button[type=reset]`)))
}

// withoutContent: without --with-content nothing that a session said is in the file.
func (n night) withoutContent(t *testing.T) {
	file, err := os.ReadFile(n.without)
	if err != nil {
		t.Fatal(err)
	}
	with, err := os.ReadFile(n.with)
	if err != nil {
		t.Fatal(err)
	}
	l := openLake(t, filepath.Join(filepath.Dir(n.with), "lake"))
	found := 0
	for _, row := range l.rows(`SELECT DISTINCT text FROM steps WHERE length(text) BETWEEN 30 AND 200 AND text NOT LIKE '%"%' AND text NOT LIKE '%\%' AND text NOT LIKE '%''%' AND text NOT LIKE '%<%' AND text NOT LIKE '%>%' AND text NOT LIKE '%&%' LIMIT 200`) {
		words := strings.Join(strings.Fields(strings.Split(row[0], "\n")[0]), " ")
		if len(words) < 30 {
			continue
		}
		if strings.Contains(string(file), words) {
			t.Errorf("the report without content holds %q", words)
		}
		if strings.Contains(string(with), words) {
			found++
		}
	}
	if found < 20 {
		t.Errorf("the report with content holds %d of the texts: the test shows nothing", found)
	}
}

// accessibleJS looks for what a screen reader or a keyboard stumbles over: fields and buttons without a name, pictures without one, headings
// that skip a level, ids that are there twice or are referred to and missing, tables without caption or scope, what can be clicked and not reached.
const accessibleJS = `(() => {
  const bad = new Set(), seen = new Set();
  const shown = (e) => e.getClientRects().length > 0;
  const named = (e) => (e.getAttribute("aria-label") || "").trim() || (e.getAttribute("aria-labelledby") || "").split(/\s+/).some(id => id && document.getElementById(id)?.textContent.trim()) || e.textContent.trim() || Array.from(e.labels || []).some(l => l.textContent.trim());
  for (const e of document.querySelectorAll("[id]")) { if (seen.has(e.id)) bad.add("id twice: " + e.id); seen.add(e.id) }
  for (const e of document.querySelectorAll("[aria-labelledby],[aria-describedby],[aria-controls]")) for (const a of ["aria-labelledby", "aria-describedby", "aria-controls"])
    for (const id of (e.getAttribute(a) || "").split(/\s+/).filter(Boolean)) if (!document.getElementById(id)) bad.add(a + " to nowhere: " + id);
  for (const e of document.querySelectorAll("a[href],button,input,select,summary,[tabindex='0'],[role=region],section")) if (shown(e) && !named(e)) bad.add("no name: " + e.outerHTML.slice(0, 80));
  for (const e of document.querySelectorAll("svg:not([aria-hidden=true])")) if (e.getAttribute("role") !== "img" || !named(e)) bad.add("picture without a name: " + e.outerHTML.slice(0, 80));
  let level = 0;
  for (const h of document.querySelectorAll("h1,h2,h3,h4,h5,h6")) { if (!shown(h)) continue; const n = Number(h.tagName[1]); if (n > level + 1) bad.add("heading skips a level: " + h.textContent.slice(0, 40)); level = n }
  for (const t of document.querySelectorAll("table")) { if (!shown(t)) continue; if (!t.caption?.textContent.trim()) bad.add("table without a caption: " + t.className);
    for (const th of t.querySelectorAll("th")) if (!th.scope) bad.add("th without a scope: " + th.textContent.slice(0, 40)) }
  for (const e of document.querySelectorAll("[tabindex]")) if (e.tabIndex > 0) bad.add("tabindex above 0");
  if (!document.documentElement.lang || !document.title.trim()) bad.add("no language or title");
  if (document.querySelectorAll("main").length !== 1 || document.querySelectorAll("h1").length !== 1) bad.add("not one main and one h1");
  return [...bad];
})()`

// looks checks that nothing is wider than the screen, in both schemes, wide, narrow and as printed, and that the safety columns are in view at
// 1280 pixels. With TRACEJURY_SCREENSHOTS it leaves pictures there for a person to look at.
func (n night) looks(t *testing.T) {
	dir := os.Getenv("TRACEJURY_SCREENSHOTS")
	p := openPage(t, n.with)
	key := eval[string](t, p, `document.querySelector("#session-table td[data-c][data-v=not_met]").parentElement.dataset.key`)
	for _, look := range []struct {
		name, media, scheme string
		width, height       int64
	}{
		{"night-light", "screen", "light", 1400, 1000}, {"night-dark", "screen", "dark", 1400, 1000}, {"night-1280", "screen", "light", 1280, 800},
		{"night-phone", "screen", "light", 390, 844}, {"night-phone-dark", "screen", "dark", 390, 844}, {"night-paper", "print", "light", 1030, 720},
	} {
		scheme := emulation.SetEmulatedMediaParams{Media: look.media, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: look.scheme}}}
		if _, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, scheme); err != nil {
			t.Fatal(err)
		}
		p.do(t, chromedp.EmulateViewport(look.width, look.height), chromedp.Evaluate[chromedp.Void](`location.hash = "sessions"`))
		fits := func(what string) {
			if wide := eval[int64](t, p, `document.documentElement.scrollWidth`); wide > look.width {
				t.Errorf("%s: %s is %d wide, want at most %d", look.name, what, wide, look.width)
			}
			if bad := eval[[]string](t, p, contrastJS); len(bad) > 0 {
				t.Errorf("%s: %s: too little contrast: %s", look.name, what, strings.Join(bad, "; "))
			}
		}
		picture := func(part string) {
			if dir == "" {
				return
			}
			png, err := chromedp.Run(p.ctx, chromedp.Screenshot(chromedp.CSS(part)))
			if err != nil {
				t.Fatalf("%s: picture of %s: %v", look.name, part, err)
			}
			if err := os.WriteFile(filepath.Join(dir, look.name+"-"+strings.TrimPrefix(part, "#")+".png"), png, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		fits("the page")
		if look.width == 1280 {
			if out := eval[[]string](t, p, `Array.from(document.querySelectorAll("#session-table thead th")).filter(h => h.querySelector(".safety") || h.textContent.startsWith("Safety")).filter(h => h.getBoundingClientRect().right > document.querySelector("#sessions .scroll").getBoundingClientRect().right + 1).map(h => h.textContent)`); len(out) > 0 {
				t.Errorf("safety columns out of view at 1280 pixels: %v", out)
			}
		}
		for _, part := range []string{"header", "#numbers", "#gates", "#since", "#trend", "#others", "#agreement", "#sessions"} {
			picture(part)
		}
		p.do(t, chromedp.Evaluate[chromedp.Void](`location.hash = "session=`+key+`"`), chromedp.Poll[chromedp.Void](`!document.getElementById("session").hidden`))
		fits("a session")
		picture("#session")
	}
	p.quiet(t)
}

// Two thousand sessions with their steps open at once. The bound is loose, for the machine may be busy; the time is printed.
func TestReportOf2000SessionsOpens(t *testing.T) {
	m := reportModel(t, 2000, []string{"billing-agent", "infra-ops", "support-desk"})
	for i := range m.Sessions {
		for n := range int32(25) {
			m.Sessions[i].Steps = append(m.Sessions[i].Steps, schema.Step{Step: n + 1, Turn: 1 + n/8, Role: "assistant", Kind: "tool_call", Tool: "lookup_ticket", Outcome: "ok"})
		}
	}
	began := time.Now()
	p := openReport(t, m)
	whole := time.Since(began)
	took := eval[float64](t, p, `(() => { const n = performance.getEntriesByType("navigation")[0]; return n.loadEventEnd - n.startTime })()`)
	began = time.Now()
	p.set(t, "f-grade", "safe:not_met")
	filtered := time.Since(began)
	began = time.Now()
	p.do(t, chromedp.Click(chromedp.CSS(`#session-table th:nth-child(13) button`)))
	sorted := time.Since(began)
	began = time.Now()
	p.do(t, chromedp.Evaluate[chromedp.Void](`location.hash = "session=" + document.querySelector("#session-table tr[data-key]").dataset.key`), chromedp.Poll[chromedp.Void](`!document.getElementById("session").hidden`))
	t.Logf("2,000 sessions of 25 steps: loaded in %.0f ms (%.1f s with the start of the browser), filtered in %d ms, sorted in %d ms, a session opened in %d ms",
		took, whole.Seconds(), filtered.Milliseconds(), sorted.Milliseconds(), time.Since(began).Milliseconds())
	if took > 8000 {
		t.Errorf("the page took %.0f ms to load, want under 2,000 on a quiet machine", took)
	}
	p.quiet(t)
}
