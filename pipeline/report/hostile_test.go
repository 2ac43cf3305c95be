package report

import (
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/tracejury/tracejury/schema"
)

// hostileNames want to be markup, script, a link, a mention, a colour of the terminal or a direction.
var hostileNames = []string{
	"<script>alert(1)</script>",
	`"><img src=x onerror=alert(1)>`,
	"</title></style></svg><script>alert(1)</script>",
	"javascript:alert(1)",
	"a|b`c``d|[x](javascript:alert(1))![y](http://example.test/y.png)",
	"https://example.test/ www.example.test a@example.test @someone #12 <!-- \\| **b** :tada:",
	"abc\u202edcba\u2066x\u200b\u2028y\x00\x1b[31mred\x1b]8;;http://example.test\x07\r\n# heading\n- item",
	"\u05d0\u05d1\u05d2 \u0645\u0631\u062d\u0628\u0627",
	"z" + strings.Repeat("\u0301", 40) + strings.Repeat("long", 100),
	"服务-テスト-🚀",
	"\xff\xfe{{.}}{{template \"x\"}}",
	"",
	"trailing\\",
	"`",
}

func hostile(tb testing.TB) *Model {
	tb.Helper()
	var plans []plan
	for _, n := range hostileNames {
		plans = append(plans, plan{n, n, n, "mnmuam"})
	}
	m := modelOf(tb, plans, 40)
	for i := range m.Sessions {
		s, n := &m.Sessions[i], hostileNames[i]
		s.Row.SessionID, s.Row.HarnessVersion, s.Row.SessionKey, s.Grade.SessionKey = n, n, n, n
		s.Verdicts[0].Verdict, s.Verdicts[2].Criterion = n, n
		s.Grade.UngradedReason = n
		if i%5 == 1 {
			s.Grade.State = "ungraded"
		}
	}
	x := hostileNames[2] + hostileNames[4] + hostileNames[6]
	m.Data, m.Run.Label, m.Run.JudgeModels, m.Run.FilterService, m.Run.FilterAgent = x, x, []string{x, x}, x, x
	m.Run.RunID, m.Run.WindowFrom, m.Run.Seed, m.Run.State, m.Run.Rubric, m.Run.MaskVersion = x, x, x, x, x, x
	m.Commit = &Ingest{Masked: map[string]int64{x: 1, hostileNames[0]: 2}}
	for i := range m.Aggregates {
		m.Aggregates[i].Reason = x
		if i%3 == 0 {
			m.Aggregates[i].FallbackFrom = x
		}
	}
	fill(m, func(i int) string { return hostileNames[i%len(hostileNames)] })
	m.Aggregates = append(m.Aggregates, schema.Aggregate{
		GroupBy: byCriterion, Group: x, Criterion: x, Metric: metricMet, Method: x, N: 3, Met: 1, Primary: true, Level: 0.95,
	})
	return m
}

// tags are what the page's own template may write.
var (
	tags       = regexp.MustCompile(`<(/?[a-zA-Z!][a-zA-Z0-9]*)`)
	start      = regexp.MustCompile(`<[a-zA-Z](?:[^<>"]|"[^"]*")*>`)
	quoted     = regexp.MustCompile(`"[^"]*"`)
	attributes = regexp.MustCompile(`(?i)['` + "`" + `]|\s(on[a-z]+|style|src|srcset|action|formaction|xlink:href|srcdoc|http-equiv)\b`)
	addresses  = regexp.MustCompile(`\shref="([^"]*)"`)
)

func TestHostileHTML(t *testing.T) {
	page := render(t, "html", hostile(t))
	clean := map[string]bool{"<i": true, "</i": true} // a service without a name
	for _, tag := range tags.FindAllString(render(t, "html", small(t)), -1) {
		clean[tag] = true
	}
	for _, tag := range tags.FindAllString(page, -1) {
		if !clean[tag] {
			t.Errorf("a name made a tag: %s", tag)
		}
	}
	data := blocks(t, page)
	if n := strings.Count(page, "<script"); n != 1+len(data) || strings.Count(page, "<script>") != 1 {
		t.Errorf("%d scripts beside %d data blocks, want the page's own", n-len(data), len(data))
	}
	for i := range data { // and there it is whole, but for what cannot be seen
		if n := name(hostileNames[i]); n != "" && !strings.Contains(data[i].Steps[0].Tool, n) {
			t.Errorf("session %d: step of tool %q, want %q", i, data[i].Steps[0].Tool, n)
		}
	}
	body := page[strings.Index(page, "<body>"):strings.LastIndex(page, "<script>")]
	for _, tag := range start.FindAllString(body, -1) {
		if a := attributes.FindString(quoted.ReplaceAllString(tag, "")); a != "" {
			t.Errorf("an attribute that runs or loads: %s", tag)
		}
	}
	if strings.Count(body, "<") != len(start.FindAllString(body, -1))+strings.Count(body, "</") {
		t.Error("a < that does not begin a tag")
	}
	for _, a := range addresses.FindAllStringSubmatch(page, -1) {
		if !strings.HasPrefix(a[1], "#") && a[1] != "data:," {
			t.Errorf("a link leads out of the page: %s", a[1])
		}
	}
	noControls(t, page)
}

func TestHostileMarkdown(t *testing.T) {
	md := render(t, "md", hostile(t))
	for line := range strings.Lines(md) {
		rest := outsideCode(strings.TrimSuffix(line, "\n"))
		for _, own := range []string{
			"<details>", "</details>", "<summary>", "</summary>", "[!CAUTION]", "[!WARNING]", "[!IMPORTANT]", "[!NOTE]",
		} {
			rest = strings.ReplaceAll(rest, own, "")
		}
		rest = strings.TrimPrefix(rest, "> ")
		for _, bad := range []string{"<", "[", "](", "://", "www.", "@", "javascript", "alert", "\x1b", "heading", "`"} {
			if strings.Contains(rest, bad) {
				t.Errorf("%q stands outside code: %s", bad, line)
			}
		}
	}
	noControls(t, md)
	// All rows of a table have as many cells as its head.
	cells := 0
	for line := range strings.Lines(md) {
		if !strings.HasPrefix(line, "|") {
			cells = 0
			continue
		}
		n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
		if cells != 0 && n != cells {
			t.Errorf("%d cells, want %d: %s", n-1, cells-1, line)
		}
		cells = n
	}
}

// outsideCode drops code spans as CommonMark finds them: a run of backticks up to the next run of the same length.
func outsideCode(line string) string {
	var out strings.Builder
	for i := 0; i < len(line); {
		if line[i] != '`' {
			out.WriteByte(line[i])
			i++
			continue
		}
		run := len(line[i:]) - len(strings.TrimLeft(line[i:], "`"))
		end := -1
		for j := i + run; j < len(line); {
			if line[j] != '`' {
				j++
				continue
			}
			n := len(line[j:]) - len(strings.TrimLeft(line[j:], "`"))
			if n == run {
				end = j + n
				break
			}
			j += n
		}
		if end < 0 {
			out.WriteString(line[i:])
			break
		}
		i = end
	}
	return out.String()
}

func TestHostileText(t *testing.T) {
	text := render(t, "txt", hostile(t))
	noControls(t, text)
	for line := range strings.Lines(text) {
		if w := width(strings.TrimSuffix(line, "\n")); w > textColumns {
			t.Errorf("%d columns: %s", w, line)
		}
	}
}

// noControls fails on anything that a reader cannot see but that changes what is seen. Isolates in pairs are the report's own.
func noControls(t *testing.T, s string) {
	t.Helper()
	depth := 0
	for _, r := range s {
		switch r {
		case '\u2068':
			depth++
		case '\u2069':
			depth--
		case '\u2060', '\n':
		default:
			if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
				t.Errorf("U+%04X in the report", r)
			}
		}
		if depth < 0 || depth > 1 || r == '\n' && depth != 0 {
			t.Fatal("an isolate is not closed where it was opened")
		}
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                     "plain",
		"a\tb\nc  d":                "a b c d",
		"a\u202eb":                  "a‹U+202E›b",
		"a\u200bb\x00":              "a‹U+200B›b‹U+0000›",
		"\xffa":                     "�a",
		"  x ":                      "x",
		strings.Repeat("a", 200):    strings.Repeat("a", 63) + "…" + strings.Repeat("a", 32),
		"e\u0301\u0301\u0301\u0301": "e\u0301\u0301\u0301",
		"服务":                        "服务",
	} {
		if got := name(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if n := len([]rune(name(strings.Repeat("\u202e", 1<<20)))); n > maxName {
		t.Errorf("%d characters of a name, want at most %d", n, maxName)
	}
}

func TestFit(t *testing.T) {
	for _, s := range append([]string{"服务服务服务", "e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301"}, hostileNames...) {
		for columns := 1; columns < 12; columns++ {
			if got := width(fit(name(s), columns)); got != columns {
				t.Errorf("%q in %d columns takes %d", s, columns, got)
			}
		}
	}
}
