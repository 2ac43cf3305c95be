package pipeline_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/pipeline"
)

// A stored object that was cut, emptied or overwritten ends an ingest that needs it with its name and the mend; --full, without
// anybody deleting anything, brings the tables back byte by byte.
func TestFullMendsDamagedTables(t *testing.T) {
	from, data := filepath.Join(t.TempDir(), "in"), filepath.Join(t.TempDir(), "lake")
	putFile(t, from, "1.json", oneSpan(traceA, "0000000000000001", "a")+oneSpan("1af7651916cd43dd8448eb211c80319c", "0000000000000002", "b"))
	putFile(t, from, "2.json", strings.ReplaceAll(oneSpan("2af7651916cd43dd8448eb211c80319c", "0000000000000003", "c"), "17959", "17957"))
	run := func(data string, opts pipeline.IngestOptions) (string, int) {
		cfg := config(t, from, data)
		cfg.Layout.Buckets = 1
		_, err := pipeline.Ingest(context.Background(), cfg, opts, quiet())
		var out bytes.Buffer
		code := pipeline.Exit(&out, err)
		return out.String(), code
	}
	run(data, pipeline.IngestOptions{})
	night := filepath.Join(t.TempDir(), "night")
	if err := os.CopyFS(night, os.DirFS(data)); err != nil {
		t.Fatal(err)
	}
	// Late records of the sessions ask for their days.
	putFile(t, from, "late.json", oneSpan(traceA, "0000000000000009", "a")+strings.ReplaceAll(oneSpan("2af7651916cd43dd8448eb211c80319c", "0000000000000008", "c"), "17959", "17957"))
	run(data, pipeline.IngestOptions{})
	want := tree(t, data, sessionTables...)
	for key := range tree(t, night, append([]string{"objects/", "_commits/"}, sessionTables...)...) {
		for name, damage := range map[string]func([]byte) []byte{
			"cut":         func(b []byte) []byte { return b[:len(b)/2] },
			"emptied":     func([]byte) []byte { return nil },
			"overwritten": func(b []byte) []byte { return bytes.Repeat([]byte("x"), len(b)) },
		} {
			t.Run(name+" "+key, func(t *testing.T) {
				data := filepath.Join(t.TempDir(), "lake")
				if err := os.CopyFS(data, os.DirFS(night)); err != nil {
					t.Fatal(err)
				}
				path := filepath.Join(data, filepath.FromSlash(key))
				good, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, damage(good), 0o600); err != nil {
					t.Fatal(err)
				}
				out, code := run(data, pipeline.IngestOptions{})
				if code != pipeline.ExitService || !strings.Contains(out, key) || !strings.Contains(out, "damaged") || !strings.Contains(out, "ingest --full") {
					t.Errorf("exit %d: %s", code, out)
				}
				if out, code := run(data, pipeline.IngestOptions{Full: true}); code != 0 {
					t.Fatalf("--full: exit %d: %s", code, out)
				}
				diffTrees(t, tree(t, data, sessionTables...), want)
				if out, code := run(data, pipeline.IngestOptions{}); code != 0 {
					t.Errorf("afterwards: exit %d: %s", code, out)
				}
			})
		}
	}
}

// A layout that someone changed, or lost and had written anew, is told before anything is looked for in wrong buckets.
func TestLayoutIsCheckedAgainstTheLake(t *testing.T) {
	from, data := filepath.Join(t.TempDir(), "in"), filepath.Join(t.TempDir(), "lake")
	putFile(t, from, "1.json", oneSpan(traceA, "0000000000000001", "a"))
	cfg := config(t, from, data)
	cfg.Layout.Buckets = 4
	mustIngest(t, cfg, pipeline.IngestOptions{})
	before := tree(t, data, sessionTables...)
	putFile(t, from, "2.json", oneSpan(traceA, "0000000000000002", "a"))
	layout := filepath.Join(data, "_layout.json")
	for name, do := range map[string]func() error{
		"edited": func() error { return os.WriteFile(layout, []byte(`{"schema_version":1,"buckets":8}`), 0o600) },
		"lost":   func() error { return os.Remove(layout) },
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
		_, err := pipeline.Ingest(context.Background(), config(t, from, data), pipeline.IngestOptions{}, quiet())
		var out strings.Builder
		if code := pipeline.Exit(io.Writer(&out), err); code != pipeline.ExitUsage || !strings.Contains(out.String(), `"buckets":4`) {
			t.Errorf("%s: exit %d: %s", name, code, out.String())
		}
	}
	diffTrees(t, tree(t, data, sessionTables...), before)
}
