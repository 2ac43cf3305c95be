package pipeline_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/pipeline"
)

// Links below --from lead nowhere: not out of the archive, not round in circles, and what they lead to within is read once, where
// it is. A link as --from itself is what the user named.
func TestIngestFollowsNoLinks(t *testing.T) {
	dir := t.TempDir()
	from := filepath.Join(dir, "in")
	putFile(t, from, "a/1.json", oneSpan(traceA, "0000000000000001", "a"))
	putFile(t, filepath.Join(dir, "secret"), "2.json", oneSpan(traceA, "0000000000000002", "a"))
	for name, target := range map[string]string{
		"a/loop": "..", "latest": "a", "again.json": "a/1.json", "out": filepath.Join(dir, "secret"), "out.json": filepath.Join(dir, "secret", "2.json"), "up": "../..", "self": "self", "gone": "nowhere",
	} {
		if err := os.Symlink(target, filepath.Join(from, name)); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("in", link); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{from, link} {
		var log bytes.Buffer
		sum, err := pipeline.Ingest(t.Context(), config(t, from, filepath.Join(t.TempDir(), "lake")), pipeline.IngestOptions{}, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		if sum.Counts.Listed != 1 || sum.Counts.Written != 1 {
			t.Errorf("%d listed, %d written, want the one file", sum.Counts.Listed, sum.Counts.Written)
		}
		if n := strings.Count(log.String(), "not followed"); n != 3 {
			t.Errorf("%d warnings, want one for each link out of the archive: %s", n, log.String())
		}
	}
}
