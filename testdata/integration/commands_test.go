package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// What commands say by their exit codes. Repeated here on purpose: scripts of users depend on the numbers.
const (
	exitOK       = 0
	exitGate     = 1
	exitUsage    = 2
	exitNoResult = 3
	exitPartial  = 4
	exitService  = 5
	exitLocked   = 6
)

const (
	demoAsOf       = "2026-11-30T06:00:00Z"
	commandTimeout = 2 * time.Minute
)

func TestMain(m *testing.M) {
	code := m.Run()
	if commandsDir != "" {
		_ = os.RemoveAll(commandsDir) // a temporary directory
	}
	os.Exit(code)
}

var commandsDir string // set by buildCommands, for TestMain

// buildCommands builds the four commands once, as a user would, and returns their directory.
var buildCommands = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "tracejury-commands-")
	if err != nil {
		return "", err
	}
	commandsDir = dir
	cmd := exec.Command("go", "build", "-trimpath", "-o", dir+string(filepath.Separator), "./cmd/...")
	cmd.Dir = repository()
	if out, err := cmd.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("go build ./cmd/...: %w: %s", err, out)
	}
	return dir, nil
})

// repository is the root of the product's module.
func repository() string {
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		panic(err)
	}
	return dir
}

// world is a place to run the commands in: a working directory, an environment, and what they read and write.
type world struct {
	t     testing.TB
	dir   string
	from  []string
	data  string
	state string
	judge string
	asOf  string
	env   []string // beside PATH, HOME and the like
}

// newWorld reads the demo archive into a local directory with the offline judge.
func newWorld(t testing.TB) *world {
	t.Helper()
	dir := t.TempDir()
	return &world{t: t, dir: dir, from: []string{filepath.Join(repository(), "testdata", "archive")}, data: filepath.Join(dir, "lake"),
		state: filepath.Join(dir, "state"), judge: "rules", asOf: demoAsOf}
}

// with is another world on the same working directory with another data root.
func (w *world) with(data string) *world {
	v := *w
	v.data = filepath.Join(w.dir, data)
	v.state = filepath.Join(w.dir, data+"-state")
	return &v
}

// outcome is how a command ended.
type outcome struct {
	code           int
	stdout, stderr string
	summary        []byte // of --summary
}

// errorLine is what was said as the error. There is exactly one such line; a hint may follow.
func (o outcome) errorLine() string {
	for line := range strings.Lines(o.stderr) {
		if rest, ok := strings.CutPrefix(line, "error: "); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// running is a command that was started.
type running struct {
	w       *world
	name    string
	cmd     *exec.Cmd
	out     bytes.Buffer
	err     syncBuffer
	summary string
	cancel  context.CancelFunc
}

var summaries struct {
	sync.Mutex
	n int
}

// start starts a command with the flags of the world and further ones.
func (w *world) start(name string, args ...string) *running {
	w.t.Helper()
	dir, err := buildCommands()
	if err != nil {
		w.t.Fatal(err)
	}
	summaries.Lock()
	summaries.n++
	summary := filepath.Join(w.dir, fmt.Sprintf("%s-%d.json", name, summaries.n))
	summaries.Unlock()
	full := []string{"--data", w.data, "--state-dir", w.state, "--summary", summary}
	switch name {
	case "ingest":
		for _, f := range w.from {
			full = append(full, "--from", f)
		}
	case "evaluate":
		full = append(full, "--judge", w.judge)
	}
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	r := &running{w: w, name: name, summary: summary, cancel: cancel, cmd: exec.CommandContext(ctx, filepath.Join(dir, name), append(full, args...)...)}
	r.cmd.Dir, r.cmd.Stdout, r.cmd.Stderr = w.dir, &r.out, &r.err
	r.cmd.Env = append(cleanEnv(), append([]string{"TRACEJURY_AS_OF=" + w.asOf}, w.env...)...)
	if err := r.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	return r
}

// cleanEnv is the environment without what would steer the commands.
func cleanEnv() []string {
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "TRACEJURY_") && !strings.HasPrefix(kv, "AWS_") && !strings.HasPrefix(kv, "OPENAI_") {
			env = append(env, kv)
		}
	}
	return env
}

// wait waits for the end. A command that was killed has the code -1.
func (r *running) wait() outcome {
	r.w.t.Helper()
	defer r.cancel()
	err := r.cmd.Wait()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		r.w.t.Fatalf("%s: %v", r.name, err)
	}
	o := outcome{code: r.cmd.ProcessState.ExitCode(), stdout: r.out.String(), stderr: r.err.String()}
	if data, err := os.ReadFile(r.summary); err == nil {
		o.summary = data
	}
	return o
}

// kill ends the command as a crash of the machine would.
func (r *running) kill() outcome {
	r.w.t.Helper()
	_ = r.cmd.Process.Kill() // it may have ended by itself
	return r.wait()
}

// run runs a command and fails the test unless it ends with one of codes; none means exitOK.
func (w *world) run(codes []int, name string, args ...string) outcome {
	w.t.Helper()
	o := w.start(name, args...).wait()
	if len(codes) == 0 {
		codes = []int{exitOK}
	}
	for _, c := range codes {
		if o.code == c {
			return o
		}
	}
	w.t.Fatalf("%s %s: exit %d, want %v\n%s%s", name, strings.Join(args, " "), o.code, codes, o.stdout, o.stderr)
	return o
}

// ingestSummary is what ingest writes with --summary; the names are a contract.
type ingestSummary struct {
	Commit int64 `json:"commit"`
	Counts struct {
		Listed      int64            `json:"objects_listed"`
		New         int64            `json:"objects_new"`
		Objects     map[string]int64 `json:"objects_by_status"`
		Records     int64            `json:"records"`
		Written     int64            `json:"records_written"`
		Duplicates  int64            `json:"records_duplicate"`
		Filtered    int64            `json:"records_filtered"`
		FilteredBy  map[string]int64 `json:"records_filtered_by"`
		Quarantined int64            `json:"records_quarantined"`
		NoIDs       int64            `json:"spans_without_id"`
		Sessions    int64            `json:"sessions_written"`
		Moved       int64            `json:"sessions_moved"`
		Masked      map[string]int64 `json:"masked"`
		Shapes      map[string]int64 `json:"documents_by_shape"`
	} `json:"counts"`
}

// evaluateSummary is what evaluate writes with --summary.
type evaluateSummary struct {
	RunID        string         `json:"run_id"`
	State        string         `json:"state"`
	Offline      bool           `json:"offline"`
	Window       [2]string      `json:"window"`
	Eligible     int            `json:"eligible"`
	LeftOut      map[string]int `json:"left_out"`
	Sampled      int            `json:"sampled"`
	Graded       int            `json:"graded"`
	Ungraded     int            `json:"ungraded"`
	NotAttempted int            `json:"not_attempted"`
	Calls        int            `json:"calls"`
	FromLedger   int            `json:"from_ledger"`
	FromBatch    int            `json:"from_batch"`
	FromCache    int            `json:"from_cache"`
	Already      bool           `json:"already"`
}

// exportSummary is what export writes with --summary.
type exportSummary struct {
	RunID string `json:"run_id"`
	Dir   string `json:"dir"`
	Files []struct {
		Path   string `json:"path"`
		SHA256 string `json:"sha256"`
		Bytes  int64  `json:"bytes"`
	} `json:"files"`
}

func summaryOf[T any](t testing.TB, o outcome) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(o.summary, &v); err != nil {
		t.Fatalf("read --summary: %v\n%s%s", err, o.stdout, o.stderr)
	}
	return v
}

// ingest runs ingest and checks that its counts add up, always.
func (w *world) ingest(args ...string) ingestSummary {
	w.t.Helper()
	s := summaryOf[ingestSummary](w.t, w.run(nil, "ingest", args...))
	if c := s.Counts; c.Records != c.Written+c.Duplicates+c.Filtered+c.Quarantined {
		w.t.Errorf("records do not add up: %+v", c)
	}
	return s
}

// evaluate runs evaluate with a sample of all.
func (w *world) evaluate(codes []int, args ...string) evaluateSummary {
	w.t.Helper()
	o := w.run(codes, "evaluate", append([]string{"--sample", "50"}, args...)...)
	s := summaryOf[evaluateSummary](w.t, o)
	if s.Graded+s.Ungraded+s.NotAttempted != s.Sampled {
		w.t.Errorf("sessions do not add up: %+v", s)
	}
	return s
}
