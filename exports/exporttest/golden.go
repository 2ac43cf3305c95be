package exporttest

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/tracejury/tracejury/exports"
)

// update is the flag of tests that rewrites golden files; only test binaries link this package.
var update = flag.Bool("update", false, "rewrite golden files")

// Golden compares the files of target with those below testdata/<name>. A missing file is an error, never an empty wish.
func Golden(t *testing.T, name string, in *exports.Input, target exports.Target) {
	t.Helper()
	dir := filepath.Join("testdata", name)
	files := Write(t, in, target)
	delete(files, "criteria.json") // the same for every target: the tests of package exports hold it
	if *update {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		file := filepath.Join(dir, filepath.FromSlash(path))
		if *update {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, files[path], 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatalf("golden file: %v: run go test -update and read the diff", err)
		}
		if !bytes.Equal(files[path], want) {
			t.Errorf("%s: got:\n%s\nwant:\n%s\nrun go test -update and read the diff", path, files[path], want)
		}
	}
}

// Files is the file set of target for in, as a push reads it.
func Files(t testing.TB, in *exports.Input, target exports.Target) fstest.MapFS {
	t.Helper()
	var sink Sink
	if err := target.Check(t.Context(), in); err != nil {
		t.Fatalf("check %s: %v", target.Name(), err)
	}
	if _, err := exports.Write(t.Context(), in, []exports.Target{target}, &sink); err != nil {
		t.Fatalf("write: %v", err)
	}
	out := fstest.MapFS{}
	for name, buf := range sink.Files {
		out[name] = &fstest.MapFile{Data: buf.Bytes()}
	}
	return out
}
