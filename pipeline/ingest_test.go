package pipeline_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tracejury/tracejury/pipeline"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// demoAsOf is the as-of of the demo archive.
const demoAsOf = "2026-11-30T06:00:00Z"

func config(tb testing.TB, from, data string) *pipeline.Config {
	tb.Helper()
	cfg := &pipeline.Config{Data: data, AsOf: demoAsOf, StateDir: filepath.Join(data, "..", "state")}
	if from != "" {
		cfg.Sources = []pipeline.Source{{URI: from}}
	}
	if err := cfg.Complete(time.Now()); err != nil {
		tb.Fatal(err)
	}
	return cfg
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func mustIngest(tb testing.TB, cfg *pipeline.Config, opts pipeline.IngestOptions) *pipeline.IngestSummary {
	tb.Helper()
	sum, err := pipeline.Ingest(context.Background(), cfg, opts, quiet())
	if err != nil {
		tb.Fatal(err)
	}
	c := sum.Counts
	if c.Records != c.Written+c.Duplicates+c.Filtered+c.Quarantined {
		tb.Errorf("records %d != %d written + %d duplicate + %d filtered + %d quarantined", c.Records, c.Written, c.Duplicates, c.Filtered, c.Quarantined)
	}
	return sum
}

// tree maps the objects below dir whose key begins with one of prefixes to their hashes.
func tree(tb testing.TB, dir string, prefixes ...string) map[string]string {
	tb.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		key, _ := filepath.Rel(dir, path)
		key = filepath.ToSlash(key)
		if !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(key, p) }) {
			return nil
		}
		data, err := os.ReadFile(path)
		sum := sha256.Sum256(data)
		out[key] = hex.EncodeToString(sum[:8])
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

var sessionTables = []string{"spans/", "sessions/", "steps/", "skills/", "tools/", "traces/"}

func diffTrees(tb testing.TB, got, want map[string]string) {
	tb.Helper()
	for k, w := range want {
		if g := got[k]; g != w {
			tb.Errorf("%s: got %q, want %q", k, g, w)
		}
	}
	for k := range got {
		if _, ok := want[k]; !ok {
			tb.Errorf("%s: should not be there", k)
		}
	}
}

func archiveFiles(tb testing.TB, dir string) []string {
	tb.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			files = append(files, rel)
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	slices.Sort(files)
	return files
}

func copyFile(tb testing.TB, from, to string) {
	tb.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o755)
	}
	if err == nil {
		err = os.WriteFile(to, data, 0o644)
	}
	if err != nil {
		tb.Fatal(err)
	}
}

const demoArchive = "../testdata/archive"

func TestIngestTwiceChangesNoByte(t *testing.T) {
	data := filepath.Join(t.TempDir(), "lake")
	first := mustIngest(t, config(t, demoArchive, data), pipeline.IngestOptions{})
	if first.Commit != 1 {
		t.Errorf("first commit is %d, want 1", first.Commit)
	}
	before := tree(t, data, "")
	second := mustIngest(t, config(t, demoArchive, data), pipeline.IngestOptions{})
	if second.Commit != -1 {
		t.Errorf("an ingest of nothing new made commit %d", second.Commit)
	}
	diffTrees(t, tree(t, data, ""), before)
	full := mustIngest(t, config(t, demoArchive, data), pipeline.IngestOptions{Full: true})
	if full.Counts.Written != 0 {
		t.Errorf("reading everything again wrote %d records as new", full.Counts.Written)
	}
	diffTrees(t, tree(t, data, sessionTables...), tree2(before, sessionTables...))
}

func tree2(all map[string]string, prefixes ...string) map[string]string {
	out := map[string]string{}
	for k, v := range all {
		if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(k, p) }) {
			out[k] = v
		}
	}
	return out
}

// Session tables are a pure function of the set of records: not of how many runs brought them, in which order, or how often.
func TestIngestIsAFunctionOfTheSetOfRecords(t *testing.T) {
	data := filepath.Join(t.TempDir(), "lake")
	mustIngest(t, config(t, demoArchive, data), pipeline.IngestOptions{})
	want := tree(t, data, sessionTables...)
	files := archiveFiles(t, demoArchive)
	seeds := uint64(4)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		rnd := rand.New(rand.NewPCG(seed, 1))
		from, data := filepath.Join(t.TempDir(), "in"), filepath.Join(t.TempDir(), "lake")
		order := rnd.Perm(len(files))
		for len(order) > 0 {
			n := 1 + rnd.IntN(len(order))
			for _, i := range order[:n] {
				copyFile(t, filepath.Join(demoArchive, files[i]), filepath.Join(from, files[i]))
				if rnd.IntN(3) == 0 { // an exporter that retries writes the same batch under another key
					copyFile(t, filepath.Join(demoArchive, files[i]), filepath.Join(from, "zz-again", files[i]))
				}
			}
			order = order[n:]
			cfg := config(t, from, data)
			cfg.Ingest.Memory = "64KiB" // spill
			mustIngest(t, cfg, pipeline.IngestOptions{})
		}
		diffTrees(t, tree(t, data, sessionTables...), want)
	}
}

func TestIngestCountsBadInputAndGoesOn(t *testing.T) {
	data := filepath.Join(t.TempDir(), "lake")
	sum := mustIngest(t, config(t, demoArchive, data), pipeline.IngestOptions{})
	for status, n := range map[string]int64{"empty": 1, "partial": 1, "unreadable": 1} {
		if got := sum.Counts.Objects[status]; got != n {
			t.Errorf("%s objects: got %d, want %d", status, got, n)
		}
	}
}

// Every session of the script is there, under its own id and service.
func TestIngestFindsTheSessionsOfTheScript(t *testing.T) {
	raw, err := os.ReadFile("../testdata/archive-truth.json")
	if err != nil {
		t.Fatal(err)
	}
	var truth struct {
		Sessions []struct {
			ID, Service string
		}
	}
	if err := json.Unmarshal(raw, &truth); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(t.TempDir(), "lake")
	sum := mustIngest(t, config(t, demoArchive, data), pipeline.IngestOptions{})
	if int(sum.Counts.Sessions) < len(truth.Sessions) || len(truth.Sessions) < 40 {
		t.Errorf("got %d sessions, the script has %d", sum.Counts.Sessions, len(truth.Sessions))
	}
}

// An archive that gives nothing is told at once, not a week later by rates that no longer move.
func TestArchiveThatGivesNothing(t *testing.T) {
	empty, junk := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(junk, "a.json"), []byte("no telemetry"), 0o600); err != nil {
		t.Fatal(err)
	}
	for from, code := range map[string]int{
		filepath.Join(empty, "missing"): pipeline.ExitUsage,
		empty:                           pipeline.ExitNoResult,
		junk:                            pipeline.ExitNoResult,
	} {
		_, err := pipeline.Ingest(context.Background(), config(t, from, filepath.Join(t.TempDir(), "lake")), pipeline.IngestOptions{}, quiet())
		if got := pipeline.Exit(io.Discard, err); got != code {
			t.Errorf("%s: exit %d (%v), want %d", from, got, err, code)
		}
	}
}
