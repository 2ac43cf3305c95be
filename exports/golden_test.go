package exports_test

import (
	"bytes"
	"context"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	pq "github.com/parquet-go/parquet-go"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/exports/agentarts"
	"github.com/tracejury/tracejury/exports/exporttest"
	"github.com/tracejury/tracejury/exports/parquet"
	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/schema"
)

// goldenDir holds an example of every file that an export can write, for people and for whoever reads them by machine.
const goldenDir = "../testdata/golden"

// examples are two exports: everything that a run of sessions gives, and a run of skill packages.
func examples() map[string]struct {
	in      *exports.Input
	targets []exports.Target
} {
	sessions := exporttest.Full()
	packages := exporttest.Input()
	packages.Packages = &exports.Packages{Rubric: packages.Rubric, All: func(context.Context) iter.Seq2[exports.Package, error] {
		return func(yield func(exports.Package, error) bool) {
			yield(exports.Package{Name: "tables", Manifest: "name: tables", Body: "1. Read the file.\n2. Draw the table.", Task: "Show the rows of a file.",
				Criteria: []exports.Criterion{{ID: "goal_met", Verdict: judge.Met, Label: "met"}, {ID: "no_unapproved_action", Safety: true, Verdict: judge.NotApplicable}, {ID: "polite", Verdict: judge.Unclear}}}, nil)
		}
	}}
	packages.Rubric, packages.Sessions = judge.Rubric{}, nil
	return map[string]struct {
		in      *exports.Input
		targets []exports.Target
	}{"export": {sessions, slices.DeleteFunc(allTargets(), func(t exports.Target) bool { return t.Name() == "parquet" })}, "export_parquet": {sessions, []exports.Target{parquet.Target{}}}, "export_packages": {packages, []exports.Target{agentarts.Target{}}}}
}

// An example of each file lies in testdata/golden: go test ./exports -run Examples -update writes them again.
func TestExamples(t *testing.T) {
	for name, e := range examples() {
		dir := filepath.Join(goldenDir, name)
		files := exporttest.Files(t, e.in, e.targets...)
		if name == "export_parquet" { // its hashes are of the tables of the day
			delete(files, "manifest.json")
		}
		if exporttest.Update() {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			if err := os.CopyFS(dir, files); err != nil {
				t.Fatal(err)
			}
			continue
		}
		var there []string
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			path, err = filepath.Rel(dir, path)
			there = append(there, filepath.ToSlash(path))
			return err
		})
		if err != nil {
			t.Fatalf("%v: run go test ./exports -run Examples -update", err)
		}
		if want := slices.Sorted(maps.Keys(files)); !slices.Equal(there, want) {
			t.Errorf("%s holds %s, want %s", dir, strings.Join(there, " "), strings.Join(want, " "))
		}
		for path, file := range files {
			got, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(path)))
			if err != nil || !bytes.Equal(got, file.Data) && !sameRows(path, got, file.Data) {
				t.Errorf("%s: %v: not what an export writes: run go test ./exports -run Examples -update and read the diff", path, err)
			}
		}
	}
}

// sameRows compares tables by what stands in them: a column that was added since is null in an older file.
func sameRows(path string, a, b []byte) bool {
	switch filepath.Base(path) {
	case "verdicts.parquet":
		return equalRows[schema.Verdict](a, b)
	case "grades.parquet":
		return equalRows[schema.Grade](a, b)
	case "explanations.parquet":
		return equalRows[schema.Explanation](a, b)
	}
	return false
}

func equalRows[T any](a, b []byte) bool {
	before, err := pq.Read[T](bytes.NewReader(a), int64(len(a)))
	if err != nil {
		return false
	}
	after, err := pq.Read[T](bytes.NewReader(b), int64(len(b)))
	return err == nil && len(after) > 0 && reflect.DeepEqual(before, after)
}
