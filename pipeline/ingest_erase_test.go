package pipeline_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/pipeline"
	"github.com/tracejury/tracejury/pipeline/session"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// An erased session is nowhere, its neighbours are untouched, and no later reading brings it back: not even of its records
// without an id.
func TestEraseIsForGood(t *testing.T) {
	from, data := filepath.Join(t.TempDir(), "in"), filepath.Join(t.TempDir(), "lake")
	putFile(t, from, "a.json", oneSpan(traceA, "0000000000000001", "gone-for-good")+oneSpan(traceA, "0000000000000002", ""))
	putFile(t, from, "b.json", oneSpan("1af7651916cd43dd8448eb211c80319c", "0000000000000003", "stays"))
	mustIngest(t, config(t, from, data), pipeline.IngestOptions{})
	key := session.Key("default", "svc", "gone-for-good")
	sum, err := pipeline.Ingest(t.Context(), config(t, "", data), pipeline.IngestOptions{Erase: "session:" + key}, quiet())
	if err != nil || sum.Commit != 2 {
		t.Fatalf("erase: commit %+v, %v", sum, err)
	}
	nowhere := func(when string) {
		t.Helper()
		err := filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			raw, err := os.ReadFile(path)
			if bytes.Contains(raw, []byte(key)) || bytes.Contains(raw, []byte("gone-for-good")) {
				t.Errorf("%s: %s still names it", when, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	nowhere("after the erasure")
	if n := sessions(t, data); n != 1 {
		t.Errorf("%d sessions are left, want the other one", n)
	}
	putFile(t, from, "c.json", oneSpan(traceA, "0000000000000004", ""))
	c := mustIngest(t, config(t, from, data), pipeline.IngestOptions{Full: true}).Counts
	if c.FilteredBy["erased"] != 3 {
		t.Errorf("filtered %v, want 3 erased", c.FilteredBy)
	}
	nowhere("after --full")
	if n := sessions(t, data); n != 1 {
		t.Errorf("%d sessions after --full, want 1", n)
	}
	var exit *pipeline.ExitError
	if _, err := pipeline.Ingest(t.Context(), config(t, "", data), pipeline.IngestOptions{Erase: "session:nonsense"}, quiet()); !errors.As(err, &exit) || exit.Code != pipeline.ExitUsage {
		t.Errorf("erase of nonsense: %v, want a usage error", err)
	}
}

// sessions counts the rows of the table sessions.
func sessions(tb testing.TB, data string) int {
	tb.Helper()
	n := 0
	for key := range tree(tb, data, "sessions/") {
		raw, err := os.ReadFile(filepath.Join(data, filepath.FromSlash(key)))
		if err != nil {
			tb.Fatal(err)
		}
		rows, err := table.Decode[schema.Session](raw)
		if err != nil {
			tb.Fatal(err)
		}
		n += len(rows)
	}
	return n
}

// --check reads everything and leaves no trace.
func TestIngestCheckWritesNothing(t *testing.T) {
	data := filepath.Join(t.TempDir(), "lake")
	sum := mustIngest(t, config(t, demoArchive, data), pipeline.IngestOptions{Check: true})
	if !sum.Checked || sum.Counts.Records < 100 || sum.Counts.Quarantined == 0 {
		t.Errorf("check: %+v", sum)
	}
	if _, err := os.Stat(data); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("check made the data root: %v", err)
	}
	var out strings.Builder
	if sum.WriteText(&out); !strings.Contains(out.String(), "nothing was written") {
		t.Errorf("the summary does not say so: %s", out.String())
	}
}
