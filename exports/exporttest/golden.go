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
	for _, same := range []string{"criteria.json", "criteria_tools.json"} { // the same for every target: the tests of package exports hold them
		delete(files, same)
	}
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

// Files is the file set of the targets for in, as a push reads it.
func Files(t testing.TB, in *exports.Input, targets ...exports.Target) fstest.MapFS {
	t.Helper()
	out := fstest.MapFS{}
	for name, data := range Write(t, in, targets...) {
		out[name] = &fstest.MapFile{Data: data, Mode: 0o644}
	}
	return out
}

// Update says that golden files are to be written again.
func Update() bool { return *update }
