package pipeline_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/pipeline"
)

var fence = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$")

// pages reads the README and the page of each job.
func pages(tb testing.TB) map[string]string {
	tb.Helper()
	paths, err := filepath.Glob("../cmd/*/README.md")
	if err != nil || len(paths) == 0 {
		tb.Fatalf("no page of a job: %v", err)
	}
	out := map[string]string{}
	for _, path := range append(paths, "../README.md", "../exports/README.md") {
		text, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		out[path] = string(text)
	}
	return out
}

// readme yields the fenced blocks of the README and the pages in one language.
func readme(tb testing.TB, language string) []string {
	tb.Helper()
	var blocks []string
	all := pages(tb)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		for _, m := range fence.FindAllStringSubmatch(all[path], -1) {
			if m[1] == language {
				blocks = append(blocks, m[2])
			}
		}
	}
	if len(blocks) == 0 {
		tb.Fatalf("the README has no %s block", language)
	}
	return blocks
}

var (
	link    = regexp.MustCompile(`\]\(([^)]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	noLink  = regexp.MustCompile("[^a-z0-9 -]+")
)

// Links of the README and the pages lead to files and headings that there are.
func TestReadmeLinks(t *testing.T) {
	found := 0
	for path, text := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			found++
			file, anchor, _ := strings.Cut(m[1], "#")
			to := path
			if file != "" {
				to = filepath.Join(filepath.Dir(path), file)
			}
			target, err := os.ReadFile(to)
			if info, statErr := os.Stat(to); err != nil && (statErr != nil || !info.IsDir()) {
				t.Errorf("%s links to %s: %v", path, m[1], err)
				continue
			}
			there := anchor == ""
			for _, h := range heading.FindAllStringSubmatch(string(target), -1) {
				there = there || strings.ReplaceAll(noLink.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-") == anchor
			}
			if !there {
				t.Errorf("%s links to %s: there is no such heading", path, m[1])
			}
		}
	}
	if found < 3 {
		t.Errorf("%d links", found)
	}
}

// Every command of the README is one that there is: make nightly runs and ends with the report, the four commands know every
// flag they are shown with.
func TestReadmeCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs the four commands, which are built without the race detector")
	}
	for _, tool := range []string{"make", "go"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	dir := t.TempDir()
	make := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("make", append([]string{"-C", ".."}, args...)...)
		// A newcomer has no configuration, and the outer make must not hand its flags down.
		cmd.Env = append(os.Environ(), "MAKEFLAGS=", "MFLAGS=", "TRACEJURY_CONFIG=", "TRACEJURY_STATE_DIR="+filepath.Join(dir, "state"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("make %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	vars := []string{"DATA=" + filepath.Join(dir, "lake"), "REPORT=" + filepath.Join(dir, "report.html"), "EXPORTS=" + filepath.Join(dir, "exports")}
	for _, block := range readme(t, "sh") {
		for _, line := range strings.Split(strings.TrimSpace(block), "\n") {
			words := strings.Fields(line)
			switch {
			case len(words) == 0 || strings.HasPrefix(words[0], "#") || words[0] == "export":
			case line == "make nightly":
				out := make(append([]string{"nightly"}, vars...)...)
				if !strings.Contains(out, "Passed") || !strings.Contains(out, filepath.Join(dir, "report.html")) {
					t.Errorf("make nightly does not end with rates and a report:\n%s", out)
				}
				again := make(append([]string{"nightly"}, vars...)...)
				if !strings.Contains(again, "calls     none") || !strings.Contains(again, "commit    none") {
					t.Errorf("a second make nightly did something:\n%s", again)
				}
			case words[0] == "make":
				make(append([]string{"-n"}, words[1:]...)...)
			case strings.HasPrefix(words[0], "bin/"):
				checkFlags(t, make, words)
			default:
				t.Errorf("the README shows a command that no test knows: %s", line)
			}
		}
	}
}

// checkFlags holds the flags of a command line to the command's help.
func checkFlags(t *testing.T, make func(...string) string, words []string) {
	t.Helper()
	make("build")
	command := []string{"--help"}
	switch {
	case len(words) > 1 && !strings.HasPrefix(words[1], "-"):
		command = []string{words[1], "--help"} // a subcommand has flags of its own
	case words[0] == "bin/evaluate":
		command = []string{"sessions", "--help"} // that which is meant where none is named
	}
	help, err := exec.Command(filepath.Join("..", words[0]), command...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s --help: %v\n%s", words[0], err, help)
	}
	for _, w := range words[1:] {
		if flag, _, _ := strings.Cut(w, "="); strings.HasPrefix(flag, "--") && !strings.Contains(string(help), flag) {
			t.Errorf("%s has no flag %s", words[0], flag)
		}
	}
}

// The rubrics of the pages are rubrics.
func TestReadmeRubrics(t *testing.T) {
	for _, block := range readme(t, "yml") {
		if _, err := judge.ParseRubric([]byte(block), "page"); err != nil {
			t.Errorf("%v in\n%s", err, block)
		}
	}
}

func TestReadmeConfiguration(t *testing.T) {
	for _, block := range readme(t, "yaml") {
		if _, err := pipeline.ParseConfig([]byte(block)); err != nil {
			t.Errorf("%v in\n%s", err, block)
		}
	}
}

// The examples of the page of evaluate can be copied and pasted, in their order, in a clone after make nightly: without an account, those
// that speak to a cloud left out.
func TestEvaluatePageRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs the commands")
	}
	for _, tool := range []string{"make", "go", "bash"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	clone, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir() // a clone that is written to nowhere else
	for _, name := range []string{"Makefile", "cmd", "exports", "judge", "pipeline", "schema", "testdata", "go.mod", "go.sum"} {
		if err := os.Symlink(filepath.Join(clone, name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	exit := regexp.MustCompile(`# .*exit (\d)`)
	script := []string{"set -u", "make nightly || exit"}
	for _, m := range fence.FindAllStringSubmatch(pages(t)["../cmd/evaluate/README.md"], -1) {
		for line := range strings.Lines(m[2]) {
			line = strings.TrimSpace(line)
			if m[1] != "sh" || line == "" || strings.Contains(line, "s3://") {
				continue
			}
			want := "0"
			if e := exit.FindStringSubmatch(line); e != nil {
				want = e[1]
			}
			script = append(script, line, `rc=$?; [ $rc = `+want+` ] || { echo "EXIT $rc, want `+want+`: `+strings.NewReplacer(`"`, "'", "$", `\$`).Replace(line)+`"; exit 1; }`)
		}
	}
	cmd := exec.Command("bash", "-c", strings.Join(script, "\n"))
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "MAKEFLAGS=", "MFLAGS=", "TRACEJURY_CONFIG=", "AWS_EC2_METADATA_DISABLED=true", "GOFLAGS=-mod=mod")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if len(script) < 24 {
		t.Errorf("only %d lines were found", len(script))
	}
}
