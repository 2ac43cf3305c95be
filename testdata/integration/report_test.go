package integration

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/tracejury/tracejury/pipeline/report"
)

// tab is a page in a browser that remembers all that went wrong on it.
type tab struct {
	ctx context.Context

	mu       sync.Mutex
	troubles []string
	requests []string
}

// openReport writes m as a page and opens it. The test is skipped without chromium.
func openReport(t *testing.T, m *report.Model) *tab {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.html")
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := report.HTML(out, m); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return openPage(t, file)
}

// openPage opens a report that was written. The test is skipped without chromium.
func openPage(t *testing.T, file string) *tab {
	t.Helper()
	return openUntil(t, file, "#filter")
}

// openUntil opens a report and waits until the element is visible.
func openUntil(t *testing.T, file, element string) *tab {
	t.Helper()
	binary, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium is not installed: the page was not opened in a browser")
	}
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(binary), chromedp.UserDataDir(t.TempDir()), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck, chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.WSURLReadTimeout(time.Minute),
	}
	alloc, cancelAlloc := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	t.Cleanup(cancelAlloc)
	quiet := func(string, ...any) {} // an event that is newer than the client is no failure
	browser, cancel := chromedp.NewContext(alloc, chromedp.WithErrorf(quiet), chromedp.WithLogf(quiet))
	t.Cleanup(func() {
		if err := chromedp.Cancel(browser); err != nil { // waits, so that the profile can be removed
			t.Logf("close the browser: %v", err)
		}
		cancel()
	})
	p := &tab{}
	if err := chromedp.Listen(browser, p.hear); err != nil {
		t.Fatalf("start chromium: %v", err)
	}
	ctx, cancelTime := context.WithTimeout(browser, 2*time.Minute)
	t.Cleanup(cancelTime)
	p.ctx = ctx
	if _, err := chromedp.Call(ctx, cdplog.Enable, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	p.do(t, chromedp.EmulateViewport(1400, 1000),
		chromedp.Navigate((&url.URL{Scheme: "file", Path: file}).String()), chromedp.WaitVisible(chromedp.CSS(element)))
	return p
}

// hear notes what an event of the browser says of trouble.
func (p *tab) hear(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		p.troubles = append(p.troubles, "exception: "+e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		p.troubles = append(p.troubles, fmt.Sprintf("console.%v", e.Type))
	case *cdplog.EventEntryAdded:
		p.troubles = append(p.troubles, fmt.Sprintf("%v: %s", e.Entry.Source, e.Entry.Text))
	case *network.EventRequestWillBeSent:
		p.requests = append(p.requests, e.Request.URL)
	}
}

func (p *tab) do(t *testing.T, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(p.ctx, actions...); err != nil {
		t.Fatalf("drive the page: %v", err)
	}
}

// eval runs an expression in the page. It goes through the debugger, which the page's policy does not bind.
func eval[T any](t *testing.T, p *tab, js string) T {
	t.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](js))
	if err != nil {
		t.Fatalf("evaluate %s: %v", js, err)
	}
	return v
}

// quiet fails if the page said anything on its console, broke its policy or asked for anything but itself.
func (p *tab) quiet(t *testing.T) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.troubles {
		t.Errorf("the page said: %s", s)
	}
	for i, u := range p.requests {
		if i > 0 && !strings.HasPrefix(u, "data:") {
			t.Errorf("the page asked for %s", u)
		}
	}
}

const (
	visibleRows = `Array.from(document.querySelectorAll("#session-table tbody tr")).filter(r => !r.hidden && r.getClientRects().length > 0)`
	setValue    = `((id, v) => { const e = document.getElementById(id); e.value = v; e.dispatchEvent(new Event("input", {bubbles: true})) })(%q, %q)`
)

func (p *tab) set(t *testing.T, id, value string) {
	t.Helper()
	p.do(t, chromedp.Evaluate[chromedp.Void](fmt.Sprintf(setValue, id, value)))
}

func (p *tab) rows(t *testing.T) int {
	t.Helper()
	return eval[int](t, p, visibleRows+".length")
}

func TestReportInBrowser(t *testing.T) {
	p := openReport(t, reportModel(t, 24, []string{"billing-agent", "infra-ops", "support-desk"}))
	if got := p.rows(t); got != 24 {
		t.Fatalf("%d rows at first, want 24", got)
	}

	p.set(t, "f-service", "s1")
	if got := p.rows(t); got != 8 {
		t.Errorf("%d rows of one of three services, want 8", got)
	}
	if got := eval[string](t, p, `document.getElementById("f-count").textContent`); got != "8 of 24 shown" {
		t.Errorf("the count says %q", got)
	}
	p.set(t, "f-text", "infra-ops nothing-like-this")
	if got := p.rows(t); got != 0 {
		t.Errorf("%d rows with a text that is nowhere", got)
	}
	p.do(t, chromedp.Click(chromedp.CSS(`#filter button[type=reset]`)))
	p.do(t, chromedp.Poll[chromedp.Void](visibleRows+".length === 24"))

	for name, ask := range map[string]struct{ id, value, want string }{
		"verdict":  {"f-verdict", "not_met", `td[data-c][data-v=not_met]`},
		"ungraded": {"f-grade", "passed:ungraded", `td[data-grade=passed][data-v=ungraded]`},
		"not safe": {"f-grade", "safe:not_met", `td[data-grade=safe][data-v=not_met]`},
	} {
		p.set(t, ask.id, ask.value)
		want := eval[int](t, p, fmt.Sprintf(`Array.from(document.querySelectorAll("#session-table tbody tr")).filter(r => r.querySelector(%q)).length`, ask.want))
		if got := p.rows(t); got != want {
			t.Errorf("%s: %d rows, want %d", name, got, want)
		}
		p.set(t, ask.id, "")
	}
	p.set(t, "f-criterion", "0")
	p.set(t, "f-verdict", "not_met")
	want := eval[int](t, p, `document.querySelectorAll("td[data-c='0'][data-v=not_met]").length`)
	if got := p.rows(t); got != want || got == 0 {
		t.Errorf("first criterion not met: %d rows, want %d", got, want)
	}
	p.do(t, chromedp.Click(chromedp.CSS(`#filter button[type=reset]`)), chromedp.Poll[chromedp.Void](visibleRows+".length === 24"))
	p.quiet(t)
}

func TestReportSorts(t *testing.T) {
	p := openReport(t, reportModel(t, 24, []string{"billing-agent", "infra-ops", "support-desk"}))
	column := func(i int) []float64 {
		return eval[[]float64](t, p, fmt.Sprintf(`%s.map(r => parseFloat(r.cells[%d].textContent))`, visibleRows, i))
	}
	sorted := func(v []float64, sign float64) bool {
		for i := 1; i < len(v); i++ {
			if (v[i]-v[i-1])*sign < 0 {
				return false
			}
		}
		return true
	}
	const tools = `#session-table th:nth-child(13)`
	if sorted(column(12), 1) {
		t.Fatal("tool calls are in order before they were sorted: the test shows nothing")
	}
	p.do(t, chromedp.Click(chromedp.CSS(tools+" button")))
	if v := column(12); !sorted(v, 1) {
		t.Errorf("not ascending: %v", v)
	}
	p.do(t, chromedp.Focus(chromedp.CSS(tools+" button")), chromedp.KeyEvent("\r")) // the keyboard reaches it too
	if v := column(12); !sorted(v, -1) {
		t.Errorf("not descending: %v", v)
	}
	if got := eval[[]string](t, p, `Array.from(document.querySelectorAll("#session-table th[aria-sort]"), h => h.ariaSort)`); len(got) != 1 || got[0] != "descending" {
		t.Errorf("aria-sort: %v", got)
	}
	p.do(t, chromedp.Click(chromedp.CSS(`#session-table th:nth-child(4) button`)))
	if got := eval[string](t, p, visibleRows+`[0].cells[3].dataset.v`); got != "not_met" {
		t.Errorf("sorted by grade, the first row is %q, want the one to look at", got)
	}
	p.do(t, chromedp.Click(chromedp.CSS(`#filter button[type=reset]`)), chromedp.Poll[chromedp.Void](`!document.querySelector("#session-table th[aria-sort]")`))
	p.quiet(t)
}

func TestReportHostileInBrowser(t *testing.T) {
	m := reportModel(t, 28, hostileNames)
	for i := range m.Sessions {
		name := hostileNames[i%len(hostileNames)]
		m.Sessions[i].Row.SessionID, m.Sessions[i].Grade.Agent, m.Sessions[i].Grade.Harness = name, name, name
		m.Sessions[i].Verdicts[0].Verdict = name
	}
	m.Run.FilterService, m.Run.Label, m.Data, m.Run.RunID = hostileNames[2], hostileNames[0], hostileNames[1], hostileNames[4]
	p := openReport(t, m)
	if eval[bool](t, p, `"hit" in window`) {
		t.Error("a name ran as script")
	}
	for what, js := range map[string]string{
		"scripts":        `document.querySelectorAll("script:not(.session-data)").length - 1`,
		"images":         `document.querySelectorAll("img, iframe, object, embed, form:not(#filter), base").length`,
		"handlers":       `Array.from(document.querySelectorAll("*")).filter(e => Array.from(e.attributes).some(a => a.name.startsWith("on"))).length`,
		"inline styles":  `document.querySelectorAll("[style]").length`,
		"outbound links": `Array.from(document.querySelectorAll("[href]")).filter(e => !/^(#|data:)/.test(e.getAttribute("href"))).length`,
	} {
		if got := eval[int](t, p, js); got != 0 {
			t.Errorf("%s: %d, want none", what, got)
		}
	}
	for i := range hostileNames {
		p.set(t, "f-service", fmt.Sprintf("s%d", i))
		if got := p.rows(t); got != 4 {
			t.Errorf("service %d: %d rows, want 4", i, got)
		}
	}
	p.quiet(t)
}

// TestReportFits checks the page in both colour schemes and on a phone. With TRACEJURY_SCREENSHOTS it leaves pictures there for a person to
// look at.
func TestReportFits(t *testing.T) {
	p := openReport(t, reportModel(t, 24, []string{"billing-agent", "infra-ops", "support-desk"}))
	p.fits(t, "night", "header", "#numbers", "#criteria", "#services", "#sessions", "#basis", "#rubric", "#run", "#reading")
	p.quiet(t)
}

// contrastJS lists texts whose contrast to the ground behind them is below 4.5 to 1 (WCAG 2.2 AA).
const contrastJS = `(() => {
  const parse = (c) => (c.match(/[\d.]+/g) || []).map(Number);
  const lum = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((s, v, i) => s + v * [.2126, .7152, .0722][i], 0);
  const ground = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c.length === 3 || c[3] > 0) return c } return [255, 255, 255] };
  const bad = new Set();
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n; (n = walk.nextNode());) {
    const e = n.parentElement;
    if (!n.textContent.trim() || e.closest("svg, script, style, [hidden], option, .skip") || e.getClientRects().length === 0) continue;
    const a = lum(parse(getComputedStyle(e).color)), b = lum(ground(e));
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < 4.5) bad.add(e.tagName + "." + e.className + " " + ratio.toFixed(2));
  }
  return [...bad];
})()`
