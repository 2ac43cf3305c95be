package report

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/tracejury/tracejury/schema"
)

var update = flag.Bool("update", false, "write the golden files anew")

// formats are the three ways out.
var formats = map[string]func(io.Writer, *Model) error{"html": HTML, "md": Markdown, "txt": Text}

func render(tb testing.TB, format string, m *Model) string {
	tb.Helper()
	var b bytes.Buffer
	if err := formats[format](&b, m); err != nil {
		tb.Fatalf("%s: %v", format, err)
	}
	return b.String()
}

// empty is a run over a window without sessions.
func empty(tb testing.TB) *Model {
	tb.Helper()
	return modelOf(tb, nil, 0)
}

func allPass(tb testing.TB) *Model {
	tb.Helper()
	plans := make([]plan, 20)
	for i := range plans {
		plans[i] = plan{"support-desk", "triage", "strands", "mmmmam"}
	}
	m := modelOf(tb, plans, 20)
	m.Run.Calibration = "passed"
	return m
}

// noResult has three of twenty ungraded.
func noResult(tb testing.TB) *Model {
	tb.Helper()
	plans := make([]plan, 20)
	for i := range plans {
		plans[i] = plan{"support-desk", "triage", "strands", "mmmmam"}
		if i%7 == 0 {
			plans[i].verdicts = "mmxxxx"
		}
	}
	return modelOf(tb, plans, 90)
}

func partial(tb testing.TB) *Model {
	tb.Helper()
	m := small(tb)
	m.Run.State, m.Run.Sampled, m.Run.NotAttempted, m.Run.Offline = "partial", 50, 30, true
	m.Run.Calibration = "in_progress"
	cost := int64(1_234_567)
	m.Run.CostUSD = &cost
	return m
}

func TestGolden(t *testing.T) {
	models := map[string]*Model{
		"small": small(t), "empty": empty(t), "all-pass": allPass(t), "no-result": noResult(t), "partial": partial(t), "hostile": hostile(t),
		"bare": {}, "tools": toolRun(t), "packages": packageRun(t),
	}
	for name, m := range models {
		for format := range formats {
			if format == "html" && name != "small" && name != "bare" {
				continue // one page shows the form; what the others say is tested by its words
			}
			t.Run(name+"."+format, func(t *testing.T) {
				got := render(t, format, m)
				file := filepath.Join("testdata", name+"."+format)
				if *update {
					if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
						t.Fatal(err)
					}
					return
				}
				want, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if got != string(want) {
					t.Errorf("%s differs; look at it and run go test -update\n%s", file, firstDifference(got, string(want)))
				}
			})
		}
	}
}

func firstDifference(got, want string) string {
	g, w := bytes.Split([]byte(got), []byte("\n")), bytes.Split([]byte(want), []byte("\n"))
	for i := range min(len(g), len(w)) {
		if !bytes.Equal(g[i], w[i]) {
			return "got  " + string(g[i]) + "\nwant " + string(w[i])
		}
	}
	return "one is longer"
}

// failing refuses to write.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestWriteErrors(t *testing.T) {
	for name, write := range formats {
		if err := write(failing{}, &Model{Run: schema.Run{Kind: "session"}}); err == nil {
			t.Errorf("%s: no error from a writer that fails", name)
		}
	}
}
