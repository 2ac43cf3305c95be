package pipeline_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tracejury/tracejury/pipeline"
)

// Places and times that cannot be meant are bad usage, told with the mend, before anything is committed.
func TestIngest_ImpossiblePlacesAndTimesAreUsage(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "spans.json")
	if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "lake")
	for name, c := range map[string]struct{ from, data, asOf, want string }{
		"a file to read":          {file, data, "", "give the folder that holds it"},
		"a file to write":         {demoArchive, file, "", "give the folder that holds it"},
		"nothing to read":         {filepath.Join(dir, "none"), data, "", "does not exist"},
		"before agents":           {demoArchive, data, "1900-01-01", "the year must lie between 2000 and 2200"},
		"beyond a table's times":  {demoArchive, data, "2300-01-01T00:00:00Z", "the year must lie between 2000 and 2200"},
		"no time":                 {demoArchive, data, "yesterday", "want a time such as"},
		"a day that is not there": {demoArchive, data, "2026-02-30", "want a time such as"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := &pipeline.Config{Data: c.data, AsOf: c.asOf, Sources: []pipeline.Source{{URI: c.from}}}
			err := cfg.Complete(time.Now())
			if err == nil {
				_, err = pipeline.Ingest(context.Background(), cfg, pipeline.IngestOptions{}, quiet())
			}
			var out bytes.Buffer
			if code := pipeline.Exit(&out, err); code != pipeline.ExitUsage || !strings.Contains(out.String(), c.want) {
				t.Errorf("exit %d: %s", code, out.String())
			}
			if _, err := os.Stat(filepath.Join(data, "_commits")); err == nil {
				t.Error("a commit was written")
			}
		})
	}
}
